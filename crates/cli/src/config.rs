//! `tapline config`: what is set, and who said so.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use serde_json::{Value, json};
use tapline_agent::config::{self, Config, Layers, Setting};
use tapline_agent::origin::Origin;

use crate::failure::Failure;
use crate::settings::{self, Set};
use crate::{Outcome, translate};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print JSON Lines: one setting each
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    set: Set,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Print the path of the configuration's file
    Path,
    /// Write a commented example where there is no file yet
    Init,
}

pub(crate) fn run(args: &Args) -> Outcome {
    match args.action {
        None => show(args),
        Some(Action::Path) => path(),
        Some(Action::Init) => init(),
    }
}

fn file() -> Result<PathBuf, Failure> {
    Layers::from_env().file.ok_or_else(|| {
        Failure::Config(format!(
            "no folder for a configuration is known on this machine; name a file in {}",
            config::FILE_VARIABLE
        ))
    })
}

fn path() -> Outcome {
    Ok(writeln!(std::io::stdout().lock(), "{}", file()?.display())?)
}

fn init() -> Outcome {
    let path = file()?;
    config::write_example(&path).map_err(|error| Failure::Io {
        path: path.display().to_string(),
        what: if error.kind() == std::io::ErrorKind::AlreadyExists {
            "is there already and was left as it is; edit it, or move it away first".to_owned()
        } else {
            format!("could not be written: {error}")
        },
    })?;
    let mut out = std::io::stdout().lock();
    Ok(writeln!(
        out,
        "{}: written. Nothing is set in it yet.",
        path.display()
    )?)
}

fn show(args: &Args) -> Outcome {
    let config = settings::load(args.set.flags())?;
    let rules = config
        .permissions::<toml::Table>()
        .map_err(|error| Failure::Config(error.to_string()))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let rules = rules.map(|(table, origin)| (json!(table), origin));
    if args.json {
        for setting in config.shown() {
            translate::line(&mut out, &object(&setting))?;
        }
        if let Some((value, origin)) = rules {
            let mut object = json!({"key": "permissions", "value": value});
            told(&origin, &mut object);
            translate::line(&mut out, &object)?;
        }
        return Ok(out.flush()?);
    }
    head(&mut out, &config)?;
    for setting in config.shown() {
        let value = words(&setting.value);
        writeln!(out, "\n{} = {value}  ({})", setting.key.name, setting.origin)?;
        writeln!(out, "    {}. {}", setting.key.about, setting.key.variable())?;
    }
    if let Some((value, origin)) = rules {
        let count = value["rules"].as_array().map_or(0, Vec::len);
        writeln!(out, "\npermissions: {count} rules  ({origin})")?;
        writeln!(out, "    Rules that decide before `policy` does.")?;
    }
    Ok(out.flush()?)
}

fn head(out: &mut impl Write, config: &Config) -> Outcome {
    match config.file() {
        Some(path) => writeln!(out, "File: {}", path.display())?,
        None => {
            let path = file().map_or_else(|_| "none".to_owned(), |path| path.display().to_string());
            writeln!(
                out,
                "File: {path} (not there; `tapline config init` writes an example)"
            )?;
        }
    }
    Ok(())
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        value => tapline_render::clean_line(&value.to_string(), true),
    }
}

fn object(setting: &Setting<Value>) -> Value {
    let mut object = json!({
        "key": setting.key.name,
        "value": setting.value,
        "about": setting.key.about,
        "variable": setting.key.variable(),
    });
    told(&setting.origin, &mut object);
    object
}

/// Says in an object where a value came from.
fn told(origin: &Origin, object: &mut Value) {
    let (from, members): (&str, &[(&str, Value)]) = match origin {
        Origin::Default => ("default", &[]),
        Origin::File { path, line } => (
            "file",
            &[("file", json!(path.display().to_string())), ("line", json!(line))],
        ),
        Origin::Variable(name) => ("variable", &[("name", json!(name))]),
        Origin::Flag(name) => ("flag", &[("name", json!(name))]),
    };
    object["from"] = from.into();
    for (name, value) in members {
        object[*name] = value.clone();
    }
}
