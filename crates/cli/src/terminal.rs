//! What the terminal is like: width, colour, and the pager.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use tapline_agent::config::{self, Config, Flag};
use tapline_render::{Fold, Terminal};

use crate::settings;

/// When to use colour.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// As the configuration spells it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Color::Auto => "auto",
            Color::Always => "always",
            Color::Never => "never",
        }
    }
}

impl From<config::Color> for Color {
    fn from(color: config::Color) -> Self {
        match color {
            config::Color::Auto => Color::Auto,
            config::Color::Always => Color::Always,
            config::Color::Never => Color::Never,
        }
    }
}

/// How a timeline is shown: flags over the settings `color` and `chat.fold`.
#[derive(clap::Args)]
pub(crate) struct ViewArgs {
    /// Show everything: whole reasoning, inputs and outputs
    #[arg(long, conflicts_with = "brief")]
    full: bool,
    /// Show a line for each tool
    #[arg(long)]
    brief: bool,
    #[command(flatten)]
    color: ColorArg,
}

/// `--color`.
#[derive(clap::Args)]
pub(crate) struct ColorArg {
    /// When to use colour; without this as the setting `color` says
    #[arg(long, value_enum)]
    color: Option<Color>,
}

impl ColorArg {
    /// As a flag of the configuration.
    pub(crate) fn flags(&self) -> Vec<Flag> {
        let flag = self.color.map(|color| settings::flag("color", "--color", color.word()));
        flag.into_iter().collect()
    }
}

impl ViewArgs {
    /// As flags of the configuration.
    pub(crate) fn flags(&self) -> Vec<Flag> {
        let mut flags = self.color.flags();
        if self.full {
            flags.push(settings::flag("chat.fold", "--full", "full"));
        }
        if self.brief {
            flags.push(settings::flag("chat.fold", "--brief", "brief"));
        }
        flags
    }
}

/// What standard output can show, under a configuration.
pub(crate) fn configured(config: &Config) -> Terminal {
    let fold = match config.fold.value {
        config::Fold::Brief => Fold::Tight,
        config::Fold::Usual => Fold::Usual,
        config::Fold::Full => Fold::Open,
    };
    of_standard_output(config.color.value.into(), fold)
}

/// What standard output can show.
pub(crate) fn of_standard_output(color: Color, fold: Fold) -> Terminal {
    let is_terminal = io::stdout().is_terminal();
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
    let color = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => !set("NO_COLOR") && (set("CLICOLOR_FORCE") || (is_terminal && !dumb)),
    };
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let width = columns
        .or_else(|| terminal_size::terminal_size().map(|(w, _)| w.0))
        .unwrap_or(100);
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|n| std::env::var(n).ok().filter(|v| !v.is_empty()));
    let unicode = locale.is_none_or(|l| {
        let l = l.to_ascii_lowercase();
        l.contains("utf-8") || l.contains("utf8")
    });
    Terminal {
        width,
        color,
        unicode,
        fold,
    }
}

/// Where a long text goes: through a pager on a terminal, else straight to standard output.
pub(crate) struct Output {
    pager: Option<Child>,
}

impl Output {
    /// Starts the pager that `PAGER` names (else `less`) where standard output is a terminal.
    pub(crate) fn paged(wanted: bool) -> Self {
        if !wanted || !io::stdout().is_terminal() {
            return Self { pager: None };
        }
        let named = std::env::var("PAGER").ok().filter(|p| !p.trim().is_empty());
        let words = named.unwrap_or_else(|| "less".to_owned());
        let mut words = words.split_whitespace();
        let program = words.next().unwrap_or("less");
        if program == "cat" {
            return Self { pager: None };
        }
        // What fits on the screen stays there; colours are passed on.
        let child = Command::new(program)
            .args(words)
            .env("LESS", "FRX")
            .stdin(Stdio::piped())
            .spawn();
        Self { pager: child.ok() }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.pager.as_mut().and_then(|p| p.stdin.as_mut()) {
            Some(input) => input.write(bytes),
            None => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.pager.as_mut().and_then(|p| p.stdin.as_mut()) {
            Some(input) => input.flush(),
            None => io::stdout().flush(),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(mut pager) = self.pager.take() {
            drop(pager.stdin.take());
            let _ = pager.wait();
        }
    }
}
