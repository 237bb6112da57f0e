//! What the terminal is like: width, colour, and the pager.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tapline_agent::config::{self, Config, Flag};
use tapline_render::{Fold, Terminal};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::{clock, settings};

/// When to use colour.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` or `CLICOLOR=0` is set; everywhere with `CLICOLOR_FORCE`
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
        let flag = self
            .color
            .map(|color| settings::flag("color", "--color", color.word()));
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
    let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|v| v == value);
    let color = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto if set("NO_COLOR") => false,
        Color::Auto if set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") => true,
        Color::Auto => is_terminal && !is_dumb() && !is("CLICOLOR", "0"),
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
        minutes_east: clock::minutes_east_now(),
    }
}

/// How far something is that takes longer than a second, on a line of standard error that is taken away again. Where that
/// is no terminal, nothing is said.
pub(crate) struct Progress {
    what: String,
    /// Where it ends, if that is known.
    end: Option<u64>,
    /// When it is told next; nothing where nobody looks.
    next: Option<Instant>,
    told: bool,
}

impl Progress {
    /// The time before the first word, and between two.
    const QUIET: Duration = Duration::from_secs(1);
    const BETWEEN: Duration = Duration::from_millis(200);

    pub(crate) fn new(what: String, end: Option<u64>) -> Self {
        let looked_at = io::stderr().is_terminal() && !is_dumb();
        Self {
            what,
            end: end.filter(|end| *end > 0),
            next: looked_at.then(|| Instant::now() + Self::QUIET),
            told: false,
        }
    }

    /// It is at this place.
    pub(crate) fn at(&mut self, place: u64) {
        let now = Instant::now();
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        self.next = Some(now + Self::BETWEEN);
        self.told = true;
        let how_far = match self.end {
            Some(end) => format!("{} %", place.min(end) * 100 / end),
            None => format!("{place} bytes"),
        };
        // A name that is longer than the line would leave its beginning behind.
        let width =
            terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let what = shortened(&self.what, width.saturating_sub(how_far.len() + 4));
        let _ = write!(io::stderr().lock(), "\r\x1b[K{what}: {how_far}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.told {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// How wide the lines of a list may be: as wide as the terminal, or as `COLUMNS` says. Nothing where neither is known: who
/// reads a pipe wants whole lines.
pub(crate) fn told_width() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let of_terminal = || {
        let terminal = io::stdout().is_terminal().then(terminal_size::terminal_size)?;
        terminal.map(|(width, _)| usize::from(width.0))
    };
    let width: Option<usize> = columns.or_else(of_terminal);
    width.map(|width| width.max(tapline_render::LEAST_WIDTH))
}

/// A clean line, cut to so many columns.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut taken = 1;
    for grapheme in text.graphemes(true) {
        taken += grapheme.width();
        if taken > columns {
            break;
        }
        cut.push_str(grapheme);
    }
    format!("{}…", cut.trim_end())
}

/// A terminal that only prints.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Where a long text goes: through a pager on a terminal, else straight to standard output.
pub(crate) struct Output {
    pager: Option<Child>,
}

impl Output {
    /// Starts the pager that `PAGER` names (else `less`) where standard output is a terminal.
    pub(crate) fn paged(wanted: bool) -> Self {
        if !wanted || !io::stdout().is_terminal() || is_dumb() {
            return Self { pager: None };
        }
        let named = std::env::var("PAGER").ok().filter(|p| !p.trim().is_empty());
        let words = named.unwrap_or_else(|| "less".to_owned());
        let mut words = words.split_whitespace();
        let program = words.next().unwrap_or("less");
        if program == "cat" {
            return Self { pager: None };
        }
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // What fits on the screen stays there; colours are passed on.
            command.env("LESS", "FRX");
        }
        let pager = command.spawn().ok();
        #[cfg(unix)]
        if pager.is_some() {
            // Ctrl-C is for the pager. If it ended this process, the shell and the pager would read the same keys.
            let noticed = std::sync::Arc::default();
            let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, noticed);
        }
        Self { pager }
    }

    /// Whether somebody who has seen enough may leave without anything being amiss.
    pub(crate) fn is_paged(&self) -> bool {
        self.pager.is_some()
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
