//! `tapline setup`: the change in an editor's settings that puts `tapline wrap` before its agent.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use tapline_agent::catalogue::Launch;
use tapline_agent::setup::{self, Editor, Places, Request, SetupError};

use crate::Outcome;
use crate::failure::Failure;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  tapline setup zed
  tapline setup zed --write
  tapline setup jetbrains --agent Claude --write -- claude-agent-acp")]
pub(crate) struct Args {
    /// The editor or client
    #[arg(value_parser = ["zed", "jetbrains", "vscode", "neovim", "emacs", "acpx"])]
    editor: String,
    /// Make the change, after a backup; without this it is only shown
    #[arg(long)]
    write: bool,
    /// The agent, as the editor calls it; without it all agents in the settings are wrapped
    #[arg(long)]
    agent: Option<String>,
    /// The settings file, where it is not in its usual place
    #[arg(long, value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// The agent's own command, where the settings do not have it yet
    #[arg(last = true, value_name = "CMD ARG")]
    command: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let Some(editor) = Editor::parse(&args.editor) else {
        return Err(Failure::NotThere(format!("no editor is called {}", args.editor)));
    };
    let request = Request {
        tapline: own_name(),
        agent: args.agent.clone(),
        command: args.command.clone(),
    };
    let path = match (&args.file, places()) {
        (Some(file), _) => file.clone(),
        (None, Some(places)) => editor.settings(&places),
        (None, None) => {
            return Err(Failure::NotThere(
                "no home folder is known; name the settings with --file".to_owned(),
            ));
        }
    };
    let old = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => {
            return Err(Failure::NoInput {
                path: path.display().to_string(),
                what: e.to_string(),
            });
        }
    };
    let mut out = std::io::stdout().lock();
    if !args.write {
        writeln!(
            out,
            "In {} ({}):\n\n{}\n",
            path.display(),
            editor.name(),
            setup::snippet(editor, &request).trim_end()
        )?;
        let how = args.writing(editor);
        match setup::edit(editor, &old, &request) {
            Ok(edited) if edited.wrapped.is_empty() && edited.added.is_empty() => {
                writeln!(
                    out,
                    "Nothing is left to change there; wrapped already: {}",
                    list(&edited.already)
                )?;
            }
            Ok(edited) => {
                let names = list(&[edited.wrapped, edited.added].concat());
                writeln!(out, "`{how}` makes the change, after a backup. It wraps {names}.")?;
            }
            Err(SetupError::NoAgent) => {
                writeln!(
                    out,
                    "No agent stands there yet; `{how} --agent NAME -- CMD ARG…` adds one."
                )?;
            }
            Err(SetupError::ByHand { .. }) => {
                writeln!(
                    out,
                    "These settings are a program of your own: add by hand what fits."
                )?;
            }
            Err(error) => writeln!(out, "`{how}` cannot make the change: {error}")?,
        }
        return Ok(());
    }
    let failed = |what: String| Failure::Data {
        path: path.display().to_string(),
        what,
    };
    let edited = setup::edit(editor, &old, &request).map_err(|e| failed(e.to_string()))?;
    if edited.wrapped.is_empty() && edited.added.is_empty() {
        writeln!(
            out,
            "{}: nothing to change; wrapped already: {}",
            path.display(),
            list(&edited.already)
        )?;
        return Ok(());
    }
    let backup = setup::write(&path, &edited.text).map_err(|e| Failure::Io {
        path: path.display().to_string(),
        what: format!("could not be written: {e}"),
    })?;
    writeln!(
        out,
        "{}: wrapped {}",
        path.display(),
        list(&[edited.wrapped, edited.added].concat())
    )?;
    if let Some(backup) = backup {
        writeln!(out, "What stood there is kept in {}", backup.display())?;
    }
    Ok(())
}

impl Args {
    /// The command that makes the change which is shown.
    fn writing(&self, editor: Editor) -> String {
        let mut words: Vec<OsString> = ["tapline", "setup", editor.word()].map(Into::into).into();
        if let Some(file) = &self.file {
            words.extend(["--file".into(), file.into()]);
        }
        if let Some(agent) = &self.agent {
            words.extend(["--agent".into(), agent.into()]);
        }
        words.push("--write".into());
        if !self.command.is_empty() {
            words.push("--".into());
            words.extend(self.command.iter().map(Into::into));
        }
        Launch::from_words(words)
            .map(|line| line.to_string())
            .unwrap_or_default()
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// `tapline`, where the shell would find this very program under that name; else its path.
fn own_name() -> String {
    let Ok(own) = std::env::current_exe() else {
        return "tapline".to_owned();
    };
    let on_path = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| same(&folder.join("tapline"), &own)));
    if on_path {
        "tapline".to_owned()
    } else {
        own.display().to_string()
    }
}

fn same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn places() -> Option<Places> {
    let home = std::env::var_os("HOME").filter(|h| !h.is_empty())?;
    let config = std::env::var_os("XDG_CONFIG_HOME").filter(|c| !c.is_empty());
    Some(Places {
        home: home.into(),
        config: config.map(Into::into),
        mac: cfg!(target_os = "macos"),
    })
}
