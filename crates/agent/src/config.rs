//! The configuration: one TOML file, the environment, flags.
//!
//! A flag beats a variable, a variable beats the file, the file beats what holds by default. Each value keeps its
//! [`Origin`], so that a person who wonders why something happens is led to the line that says so.
//!
//! **Why no configuration library.** Those that merge layers (figment, config) know which file a value came from, but not
//! the line, and turn unknown keys into one error of serde's. The tables of `toml` carry the span of every key and
//! value; over them a reader of this size gives every fault at once, each with file, line and key. A setting is said
//! in one place, a [`Key`] and a field of [`Config`]; the example, `tapline config` and the names of variables come from it.
//!
//! The rules of permissions are the matter of who reads them: [`Config::permissions`] gives the table as any type, and
//! tells what does not fit with its line.
//!
//! `TAPLINE_HOME`, the journal's folder, is none of these: the journal must be found while the configuration is broken.

mod keys;
mod reader;
mod value;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;

pub use keys::{KEYS, Key};
pub use value::{Color, Fold, Policy};

use crate::catalogue::Sources;
use crate::origin::{Origin, Problem};
use crate::toml_file::TomlFile;
use reader::Reader;
use value::Value;

/// The variable that names the configuration's file.
pub const FILE_VARIABLE: &str = "TAPLINE_CONFIG";

/// The limits of this module.
pub mod limits {
    use std::time::Duration;

    /// Longest file, in bytes.
    pub const FILE: usize = 1 << 20;
    /// How much of a wrong value a message repeats, in characters.
    pub const FOUND: usize = 80;
    /// Shortest time that can be set.
    pub const LEAST_TIME: Duration = Duration::from_millis(100);
    /// Longest time that can be set.
    pub const MOST_TIME: Duration = Duration::from_secs(24 * 60 * 60);
}

/// A value, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
    /// What it is.
    pub key: &'static Key,
}

/// Everything that is set.
#[derive(Debug, Clone)]
pub struct Config {
    /// What an agent may do when it asks.
    pub policy: Setting<Policy>,
    /// The agent that is meant where none is named.
    pub agent: Setting<Option<String>>,
    /// The user's own file of agents.
    pub catalogue_agents: Setting<Option<PathBuf>>,
    /// A registry's file.
    pub catalogue_registry: Setting<Option<PathBuf>>,
    /// How long `initialize` and `session/new` may take.
    pub start: Setting<Duration>,
    /// How long `session/load` and `session/resume` may take.
    pub load: Setting<Duration>,
    /// How long a stopped turn may take to end before its process is ended.
    pub stop: Setting<Duration>,
    /// How much of a chat is shown.
    pub fold: Setting<Fold>,
    /// When colour is used.
    pub color: Setting<Color>,
    file: Option<TomlFile>,
}

/// Faults of the configuration: all of them.
#[derive(Debug)]
pub struct ConfigError(Vec<Problem>);

impl ConfigError {
    /// Each fault.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.0.iter().enumerate() {
            let end = if n > 0 { "\n" } else { "" };
            write!(f, "{end}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// A value that a flag gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The key that it sets, such as `policy`.
    pub key: String,
    /// The flag as it was typed, such as `--policy`.
    pub flag: String,
    /// The value as it was typed.
    pub value: String,
}

/// Where the configuration is read from. The environment is read in one place, [`Layers::from_env`].
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// The file, where one is known.
    pub file: Option<PathBuf>,
    /// Whether it is a fault if the file is not there: somebody named it.
    pub file_must_exist: bool,
    /// The environment.
    pub variables: BTreeMap<String, OsString>,
    /// What flags said.
    pub flags: Vec<Flag>,
}

impl Layers {
    /// What this process was given, beside its flags.
    pub fn from_env() -> Self {
        let variables: BTreeMap<String, OsString> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, value)| (name.starts_with("TAPLINE_") || name == "HOME") && !value.is_empty())
            .collect();
        let named = variables.get(FILE_VARIABLE).map(PathBuf::from);
        Self {
            file_must_exist: named.is_some(),
            file: named.or_else(|| {
                let folders = directories::ProjectDirs::from("", "", "tapline")?;
                Some(folders.config_dir().join("config.toml"))
            }),
            variables,
            flags: Vec::new(),
        }
    }
}

impl Config {
    /// Reads all layers.
    ///
    /// # Errors
    /// [`ConfigError`], with every fault that there is.
    pub fn load(layers: &Layers) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let file = layers.file.as_deref().and_then(|path| {
            let read = TomlFile::read(path, limits::FILE).and_then(|file| match file {
                None if layers.file_must_exist => Err(Problem::Unreadable {
                    path: path.to_owned(),
                    source: io::ErrorKind::NotFound.into(),
                }),
                file => Ok(file),
            });
            read.unwrap_or_else(|problem| {
                problems.push(problem);
                None
            })
        });
        let root = file.as_ref().and_then(|file| match file.parse() {
            Ok(root) => Some((file, root)),
            Err(problem) => {
                problems.push(problem);
                None
            }
        });
        let mut reader = Reader::new(layers, root.as_ref().map(|(file, root)| (*file, root)));
        let agents = layers
            .file
            .as_ref()
            .map(|path| path.with_file_name("agents.toml"));
        let config = Self {
            policy: reader.setting(&keys::POLICY, Policy::Ask),
            agent: reader.optional(&keys::AGENT, None),
            catalogue_agents: reader.optional(&keys::CATALOGUE_AGENTS, agents),
            catalogue_registry: reader.optional(&keys::CATALOGUE_REGISTRY, None),
            start: reader.setting(&keys::START, Duration::from_secs(60)),
            load: reader.setting(&keys::LOAD, Duration::from_secs(120)),
            stop: reader.setting(&keys::STOP, Duration::from_secs(4)),
            fold: reader.setting(&keys::FOLD, Fold::Usual),
            color: reader.setting(&keys::COLOR, Color::Auto),
            file: None,
        };
        problems.extend(reader.finish());
        drop(root);
        if problems.is_empty() {
            Ok(Self { file, ..config })
        } else {
            Err(ConfigError(problems))
        }
    }

    /// The file that was read. Nothing: there is none.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_ref().map(TomlFile::path)
    }

    /// The table `permissions` as whatever type reads its rules, and where it stands. Nothing: there is no such table.
    ///
    /// # Errors
    /// What does not fit, with its line.
    pub fn permissions<T: DeserializeOwned>(&self) -> Result<Option<(T, Origin)>, ConfigError> {
        let read = || {
            let Some(file) = &self.file else {
                return Ok(None);
            };
            let root = file.parse()?;
            let Some((key, value)) = root.get_key_value(keys::PERMISSIONS) else {
                return Ok(None);
            };
            Ok(Some((file.value(value)?, file.at(key.span()))))
        };
        read().map_err(|problem| ConfigError(vec![problem]))
    }

    /// Where the agent catalogue is read from.
    pub fn sources(&self) -> Sources {
        Sources {
            user: self.catalogue_agents.value.clone(),
            user_must_exist: self.catalogue_agents.origin != Origin::Default,
            registry: self.catalogue_registry.value.clone(),
        }
    }

    /// Every setting for showing: its value as JSON (`null`: not set), in the order of [`KEYS`].
    pub fn shown(&self) -> Vec<Setting<serde_json::Value>> {
        vec![
            shown(&self.policy),
            shown_option(&self.agent),
            shown(&self.color),
            shown_option(&self.catalogue_agents),
            shown_option(&self.catalogue_registry),
            shown(&self.fold),
            shown(&self.start),
            shown(&self.load),
            shown(&self.stop),
        ]
    }
}

fn shown<T: Value>(setting: &Setting<T>) -> Setting<serde_json::Value> {
    as_json(setting, setting.value.json())
}

fn shown_option<T: Value>(setting: &Setting<Option<T>>) -> Setting<serde_json::Value> {
    let value = setting.value.as_ref();
    as_json(setting, value.map_or(serde_json::Value::Null, Value::json))
}

fn as_json<T>(setting: &Setting<T>, value: serde_json::Value) -> Setting<serde_json::Value> {
    Setting {
        value,
        origin: setting.origin.clone(),
        key: setting.key,
    }
}

/// A file with every setting in it, as comments: what holds by default, or an example.
pub fn example() -> String {
    let mut text = "# The configuration of Tapline. Take the `#` from what you want to set.\n\
                    # `tapline config` shows what holds, and which file, variable or flag said so.\n"
        .to_owned();
    let mut table = "";
    for key in KEYS {
        let (in_table, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if in_table != table {
            text.push_str(&format!("\n[{in_table}]\n"));
            table = in_table;
        }
        let space = if text.ends_with("]\n") { "" } else { "\n" };
        let (about, variable) = (key.about, key.variable());
        text.push_str(&format!(
            "{space}# {about}. Variable: {variable}\n#{name} = {}\n",
            key.example
        ));
    }
    text.push_str(keys::PERMISSIONS_EXAMPLE);
    text
}

/// Writes the [`example`] to `path`, readable by its owner alone, with the folders above it.
///
/// # Errors
/// Of kind `AlreadyExists` where something stands there, which is left as it is; else what the system said.
pub fn write_example(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let written = file
        .write_all(example().as_bytes())
        .and_then(|()| file.sync_all());
    if written.is_err() {
        // Half an example would be read as a configuration.
        let _ = std::fs::remove_file(path);
    }
    written
}
