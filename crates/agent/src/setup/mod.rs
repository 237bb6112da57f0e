//! Putting `tapline wrap` into an editor's settings.
//!
//! An editor starts its agent by a command; wrapped, that command stands behind `tapline wrap --`. Each editor keeps it
//! somewhere else ([`Editor`]). Where the settings are JSON, [`edit`] changes the text and leaves everything else in it as it
//! is: comments, order, indentation. Emacs is given a marked block at the end of its file. Neovim's settings are a program of
//! their owner's; there [`snippet`] shows what to write.
//!
//! Nothing here reads or writes a file but [`write()`], which keeps the old text beside the new.

mod json;
mod lisp;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The editors and clients that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Editor {
    /// Zed: `agent_servers` in `settings.json`.
    Zed,
    /// The editors of JetBrains: `agent_servers` in `~/.jetbrains/acp.json`.
    JetBrains,
    /// The ACP client extension of Visual Studio Code: `acp.agents` in `settings.json`.
    VsCode,
    /// Neovim with CodeCompanion or Avante.
    Neovim,
    /// Emacs with agent-shell.
    Emacs,
    /// acpx: `agents` in `~/.acpx/config.json`.
    Acpx,
}

/// What is to be wrapped.
#[derive(Debug, Clone)]
pub struct Request {
    /// How `tapline` is called: its path, or its name where it is on the `PATH`.
    pub tapline: String,
    /// Which agent, as the editor calls it. Nothing: all that stand in the settings.
    pub agent: Option<String>,
    /// The agent's own command. Needed where the settings do not have it yet.
    pub command: Vec<String>,
}

/// Settings with the change made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole text.
    pub text: String,
    /// Agents that were there and are wrapped now.
    pub wrapped: Vec<String>,
    /// Agents that were added.
    pub added: Vec<String>,
    /// Agents that were wrapped before.
    pub already: Vec<String>,
}

/// Why settings were not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// They cannot be read.
    #[error("the settings are no JSON as {editor} reads it: {reason}. Nothing was changed.")]
    Broken {
        /// The editor.
        editor: &'static str,
        /// What the reader said.
        reason: String,
    },
    /// A member has another form than the editor takes.
    #[error("`{member}` in the settings is not of the form that {editor} takes. Nothing was changed.")]
    Form {
        /// The editor.
        editor: &'static str,
        /// The member.
        member: String,
    },
    /// The agent is not there, or the editor starts it by other means, and its command was not given.
    #[error("the settings hold no command of the agent `{agent}`; give it behind `--`. They have: {known}.")]
    NoCommand {
        /// The agent.
        agent: String,
        /// The agents that have a command.
        known: String,
    },
    /// There is no agent at all.
    #[error(
        "the settings name no agent that is started by a command; add one with `--agent NAME -- CMD ARG…`."
    )]
    NoAgent,
    /// The settings are a program.
    #[error("the settings of {editor} are a program of your own; add by hand what is shown.")]
    ByHand {
        /// The editor.
        editor: &'static str,
    },
}

/// Where settings are looked for.
#[derive(Debug, Clone)]
pub struct Places {
    /// The home folder.
    pub home: PathBuf,
    /// `XDG_CONFIG_HOME`, where it is set.
    pub config: Option<PathBuf>,
    /// The machine is a Mac.
    pub mac: bool,
}

impl Editor {
    /// All of them.
    pub const ALL: [Editor; 6] = [
        Editor::Zed,
        Editor::JetBrains,
        Editor::VsCode,
        Editor::Neovim,
        Editor::Emacs,
        Editor::Acpx,
    ];

    /// The word for it on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Editor::Zed => "zed",
            Editor::JetBrains => "jetbrains",
            Editor::VsCode => "vscode",
            Editor::Neovim => "neovim",
            Editor::Emacs => "emacs",
            Editor::Acpx => "acpx",
        }
    }

    /// What it is called in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Editor::Zed => "Zed",
            Editor::JetBrains => "JetBrains",
            Editor::VsCode => "Visual Studio Code",
            Editor::Neovim => "Neovim",
            Editor::Emacs => "Emacs",
            Editor::Acpx => "acpx",
        }
    }

    /// The editor of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|editor| editor.word() == word)
    }

    /// The file that holds its settings.
    pub fn settings(self, places: &Places) -> PathBuf {
        let home = &places.home;
        let config = places.config.clone().unwrap_or_else(|| home.join(".config"));
        match self {
            // Zed uses this folder on a Mac as well.
            Editor::Zed if places.mac => home.join(".config/zed/settings.json"),
            Editor::Zed => config.join("zed/settings.json"),
            Editor::JetBrains => home.join(".jetbrains/acp.json"),
            Editor::VsCode if places.mac => home.join("Library/Application Support/Code/User/settings.json"),
            Editor::VsCode => config.join("Code/User/settings.json"),
            Editor::Neovim => config.join("nvim/init.lua"),
            Editor::Emacs => home.join(".emacs.d/init.el"),
            Editor::Acpx => home.join(".acpx/config.json"),
        }
    }

    /// The member under which agents stand, in JSON settings.
    const fn member(self) -> Option<&'static str> {
        match self {
            Editor::Zed | Editor::JetBrains => Some("agent_servers"),
            Editor::VsCode => Some("acp.agents"),
            Editor::Acpx => Some("agents"),
            Editor::Neovim | Editor::Emacs => None,
        }
    }
}

impl Request {
    /// The command that starts the agent through `wrap`.
    fn wrapped(&self) -> Vec<String> {
        let own = [self.tapline.as_str(), "wrap", "--"].map(str::to_owned);
        own.into_iter().chain(self.command.iter().cloned()).collect()
    }

    fn agent(&self) -> &str {
        self.agent.as_deref().unwrap_or("my-agent")
    }

    /// The same with a command to show where none was given.
    fn shown(&self) -> Self {
        let mut shown = self.clone();
        if shown.command.is_empty() {
            shown.command = vec![self.agent().to_owned(), "--acp".to_owned()];
        }
        shown
    }
}

/// What to write into the settings, for someone who does it by hand.
pub fn snippet(editor: Editor, request: &Request) -> String {
    let request = request.shown();
    match editor {
        Editor::Neovim => neovim(&request),
        Editor::Emacs => lisp::block(&request),
        _ => json::edit(editor, "", &request).map_or_else(|error| error.to_string(), |edited| edited.text),
    }
}

/// Changes the text of settings. An empty text is settings that are not there yet.
///
/// # Errors
/// Where the text is not what the editor reads, or does not have what was asked for. Nothing is changed then.
pub fn edit(editor: Editor, text: &str, request: &Request) -> Result<Edited, SetupError> {
    match editor {
        Editor::Neovim => Err(SetupError::ByHand {
            editor: editor.name(),
        }),
        Editor::Emacs => Ok(lisp::edit(text, request)),
        _ => json::edit(editor, text, request),
    }
}

/// Writes settings, after a copy of what stood there was kept beside them. Gives the name of the copy, if there was anything.
///
/// A symbolic link stays one: the file that it names is written.
///
/// # Errors
/// Where the system refuses; the settings are then as they were.
pub fn write(path: &Path, text: &str) -> io::Result<Option<PathBuf>> {
    let path = match fs::canonicalize(path) {
        Ok(path) => path,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            path.to_owned()
        }
        Err(error) => return Err(error),
    };
    let backup = if path.exists() { Some(keep(&path)?) } else { None };
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut new = name.to_owned();
    new.push(".tapline-new");
    let new = path.with_file_name(new);
    let written = (|| {
        let mut file = fs::File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if backup.is_some() {
            fs::set_permissions(&new, fs::metadata(&path)?.permissions())?;
        }
        // The old text or the new one, never half of either.
        fs::rename(&new, &path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written.map(|()| backup)
}

/// Copies a file beside itself, under a name that is free.
fn keep(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or(io::ErrorKind::InvalidInput)?
        .to_string_lossy()
        .into_owned();
    let mut number = 1;
    loop {
        let backup = path.with_file_name(format!("{name}.before-tapline-{number}"));
        match fs::File::create_new(&backup) {
            Ok(mut copy) => {
                io::copy(&mut fs::File::open(path)?, &mut copy)?;
                copy.sync_all()?;
                fs::set_permissions(&backup, fs::metadata(path)?.permissions())?;
                return Ok(backup);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Both clients of Neovim.
fn neovim(request: &Request) -> String {
    let quoted = |words: &[String]| {
        words
            .iter()
            .map(|word| lua_string(word))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let wrapped = request.wrapped();
    let key = lua_string(request.agent());
    format!(
        "-- CodeCompanion: in require(\"codecompanion\").setup({{ … }})\n\
         adapters = {{\n  acp = {{\n    [{key}] = function()\n      return require(\"codecompanion.adapters\").extend({key}, {{\n        \
         commands = {{ default = {{ {} }} }},\n      }})\n    end,\n  }},\n}},\n\n\
         -- Avante: in require(\"avante\").setup({{ … }})\n\
         acp_providers = {{\n  [{key}] = {{\n    command = {},\n    args = {{ {} }},\n  }},\n}},\n",
        quoted(&wrapped),
        lua_string(&wrapped[0]),
        quoted(&wrapped[1..]),
    )
}

/// A string in the spelling that Lua and Emacs Lisp share.
fn lua_string(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}
