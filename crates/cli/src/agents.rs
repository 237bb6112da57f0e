//! `tapline agents`: which agents there are, which are on this machine, and what installs the others.

mod check;

use std::io::{BufWriter, Write};
use std::time::Duration;

use serde_json::{Value, json};
use tapline_agent::catalogue::{Agent, Launch, Presence, Search, Source};
use tapline_render::Fold;
use unicode_width::UnicodeWidthStr;

use crate::failure::Failure;
use crate::settings::{self, Set};
use crate::terminal::{Color, of_standard_output};
use crate::{Outcome, translate};
use check::Checked;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Tell all that is known of this agent
    name: Option<String>,
    /// Print JSON Lines: one agent each
    #[arg(long)]
    json: bool,
    /// Also those of the registry that are not on this machine
    #[arg(long)]
    all: bool,
    /// Start each that is installed, or the one that is named, and tell whether it works and one is signed in. No prompt is sent
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    set: Set,
}

/// An agent, and what was seen of it on this machine.
struct Seen<'a> {
    agent: &'a Agent,
    presence: Presence,
    /// What came of starting it, where that was done.
    checked: Option<Checked>,
}

impl<'a> Seen<'a> {
    fn new(agent: &'a Agent, search: &Search) -> Self {
        Self {
            agent,
            presence: agent.presence_in(search),
            checked: None,
        }
    }

    /// Whether the agent itself says that one is signed in, where it was asked.
    fn signed_in(&self) -> Option<bool> {
        self.checked.as_ref()?.signed_in()
    }

    /// Why it does not work, beside that one is not signed in.
    fn fault(&self) -> Option<String> {
        let checked = self.checked.as_ref()?;
        let failure = checked.failure().filter(|_| checked.signed_in().is_none())?;
        Some(failure.to_string())
    }

    /// How it would be started here.
    fn launch(&self) -> &'a Launch {
        match (&self.presence, &self.agent.packages) {
            (Presence::Runnable { .. }, Some(packages)) => &packages.launch,
            _ => &self.agent.launch,
        }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let config = settings::load(args.set.flags())?;
    let (catalogue, failure) = settings::catalogue(&config);
    let search = Search::from_env();
    let mut out = BufWriter::new(std::io::stdout().lock());
    if let Some(name) = &args.name {
        let agent = match catalogue.get(name) {
            Ok(agent) => agent,
            // An entry that is wrong takes its agent away: the fault is the better answer.
            Err(error) => return Err(failure.unwrap_or(Failure::NotThere(error.to_string()))),
        };
        let mut seen = Seen::new(agent, &search);
        if args.check {
            if let Presence::Missing { .. } = seen.presence {
                let error = agent.start_in(&search).err().map(|error| error.to_string());
                return Err(Failure::NotThere(error.unwrap_or_default()));
            }
            checked(std::slice::from_mut(&mut seen), config.start.value)?;
        }
        if args.json {
            translate::line(&mut out, &object(&seen))?;
        } else {
            details(&mut out, &seen)?;
        }
        out.flush()?;
        if let Some(failure) = seen.checked.and_then(|checked| checked.failure()) {
            return Err(failure);
        }
    } else {
        let seen = catalogue.agents().map(|agent| Seen::new(agent, &search));
        let is_far =
            |seen: &Seen<'_>| !seen.presence.is_here() && matches!(seen.agent.source, Source::Registry(_));
        let (far, mut near): (Vec<_>, Vec<_>) = seen.partition(|seen| !args.all && is_far(seen));
        // Those that are here first, as a person looks for them.
        near.sort_by_key(|seen| rank(&seen.presence));
        if args.check {
            // A check fetches nothing: what a runner would have to fetch is checked by its name only.
            let installed = near.iter().take_while(|seen| rank(&seen.presence) == 0).count();
            checked(&mut near[..installed], config.start.value)?;
        }
        if args.json {
            near.iter()
                .try_for_each(|seen| translate::line(&mut out, &object(seen)))?;
        } else {
            list(&mut out, &near)?;
            if !far.is_empty() {
                writeln!(
                    out,
                    "\n{} more in the registry that are not here: `tapline agents --all`",
                    far.len()
                )?;
            }
        }
    }
    out.flush()?;
    failure.map_or(Ok(()), Err)
}

/// Starts agents, and notes what came of it.
fn checked(all: &mut [Seen<'_>], limit: Duration) -> Outcome {
    let agents: Vec<_> = all
        .iter()
        .map(|seen| (&*seen.agent.name, seen.launch()))
        .collect();
    let found = check::all(&agents, limit)?;
    for (seen, found) in all.iter_mut().zip(found) {
        seen.checked = Some(found);
    }
    Ok(())
}

fn rank(presence: &Presence) -> u8 {
    match presence {
        Presence::Installed(_) => 0,
        Presence::Runnable { .. } => 1,
        Presence::Missing { .. } => 2,
    }
}

/// The list for a person, under a heading for each kind of presence.
fn list(out: &mut impl Write, all: &[Seen<'_>]) -> Outcome {
    let terminal = of_standard_output(Color::Never, Fold::Usual);
    let clean = |text: &str| tapline_render::clean_line(text, terminal.unicode);
    let width = usize::from(terminal.width).max(tapline_render::LEAST_WIDTH);
    let names = column(all.iter().map(|seen| clean(&seen.agent.name)), width);
    let titles = column(all.iter().map(|seen| clean(&seen.agent.title)), width);
    let mut heading = None;
    for seen in all {
        let rank = rank(&seen.presence);
        if heading != Some(rank) {
            let end = if heading.is_some() { "\n" } else { "" };
            let words = match &seen.presence {
                Presence::Installed(_) => "Installed",
                Presence::Runnable { .. } => "Fetched when started; what installs it for good",
                Presence::Missing { .. } => "Not here; what installs it",
            };
            writeln!(out, "{end}{words}")?;
            heading = Some(rank);
        }
        let told = match &seen.presence {
            Presence::Installed(path) => path.display().to_string(),
            Presence::Runnable { by, .. } => to_install(seen.agent, by),
            Presence::Missing { program } => to_install(seen.agent, program),
        };
        let told = clean(&told);
        let head = format!(
            "  {}  {}",
            padded(&clean(&seen.agent.name), names),
            padded(&clean(&seen.agent.title), titles)
        );
        // What one is to type is never cut: where it does not fit, it stands on a line of its own.
        if head.width() + 2 + told.width() <= width {
            writeln!(out, "{head}  {told}")?;
        } else {
            writeln!(out, "{}\n      {told}", head.trim_end())?;
        }
        if let Some(words) = signed_in(seen).or_else(|| seen.fault()) {
            writeln!(out, "      {}", clean(&words))?;
        }
    }
    Ok(())
}

fn to_install(agent: &Agent, program: &str) -> String {
    match (&agent.install, &agent.homepage) {
        (Some(install), _) => install.clone(),
        (None, Some(homepage)) => format!("see {homepage}"),
        (None, None) => format!("no program `{program}` in PATH"),
    }
}

fn signed_in(seen: &Seen<'_>) -> Option<String> {
    match (seen.signed_in()?, &seen.agent.sign_in) {
        (true, _) => Some("signed in".to_owned()),
        (false, None) => Some("not signed in".to_owned()),
        (false, Some(how)) => Some(format!("not signed in: {how}")),
    }
}

/// How wide a column is: as wide as its widest cell, but never more than a third of the line.
fn column(cells: impl Iterator<Item = String>, width: usize) -> usize {
    cells.map(|cell| cell.width()).max().unwrap_or(0).min(width / 3)
}

fn padded(text: &str, width: usize) -> String {
    let space = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(space))
}

/// All that is known of one agent.
fn details(out: &mut impl Write, seen: &Seen<'_>) -> Outcome {
    let terminal = of_standard_output(Color::Never, Fold::Usual);
    let clean = |text: &str| tapline_render::clean_line(text, terminal.unicode);
    let agent = seen.agent;
    writeln!(out, "{} ({})", clean(&agent.title), clean(&agent.name))?;
    if let Some(description) = &agent.description {
        writeln!(out, "{}", clean(description))?;
    }
    let here = match &seen.presence {
        Presence::Installed(path) => path.display().to_string(),
        Presence::Runnable { by, .. } => format!("not installed; `{by}` fetches it when it is started"),
        Presence::Missing { program } => format!("no program `{program}` was found"),
    };
    let launch = seen.launch();
    let names: Vec<_> = launch
        .env
        .iter()
        .map(|(name, _)| name.to_string_lossy())
        .collect();
    let facts = [
        ("here", Some(here)),
        ("command", Some(launch.to_string())),
        ("variables", (!names.is_empty()).then(|| names.join(", "))),
        ("install", agent.install.clone()),
        ("needs", agent.needs.clone()),
        ("sign in", agent.sign_in.clone()),
        (
            "signed in",
            seen.signed_in()
                .map(|yes| if yes { "yes" } else { "no" }.to_owned()),
        ),
        ("fault", seen.fault()),
        (
            "also",
            (!agent.aliases.is_empty()).then(|| agent.aliases.join(", ")),
        ),
        ("listed", agent.version.clone()),
        ("homepage", agent.homepage.clone()),
        ("known from", Some(agent.source.to_string())),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            writeln!(out, "  {name:<10}  {}", clean(&fact))?;
        }
    }
    Ok(())
}

/// The JSON form. The values of variables may be keys and stay out.
fn object(seen: &Seen<'_>) -> Value {
    let agent = seen.agent;
    let launch = seen.launch();
    let words = std::iter::once(&launch.program).chain(&launch.args);
    let mut object = json!({
        "name": agent.name,
        "title": agent.title,
        "command": words.map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
        "variables": launch.env.iter().map(|(name, _)| name.to_string_lossy()).collect::<Vec<_>>(),
        "aliases": agent.aliases,
    });
    match &seen.presence {
        Presence::Installed(path) => {
            object["presence"] = "installed".into();
            object["path"] = path.display().to_string().into();
        }
        Presence::Runnable { by, path } => {
            object["presence"] = "runnable".into();
            object["runner"] = (*by).into();
            object["path"] = path.display().to_string().into();
        }
        Presence::Missing { program } => {
            object["presence"] = "missing".into();
            object["missing"] = program.as_str().into();
        }
    }
    let texts = [
        ("description", &agent.description),
        ("version", &agent.version),
        ("install", &agent.install),
        ("needs", &agent.needs),
        ("sign_in", &agent.sign_in),
        ("homepage", &agent.homepage),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            object[name] = text.as_str().into();
        }
    }
    if let Some(yes) = seen.signed_in() {
        object["signed_in"] = yes.into();
    }
    if let Some(fault) = seen.fault() {
        object["fault"] = fault.into();
    }
    let (source, file) = match &agent.source {
        Source::BuiltIn => ("built-in", None),
        Source::User(path) => ("user", Some(path)),
        Source::Registry(path) => ("registry", Some(path)),
    };
    object["source"] = source.into();
    if let Some(file) = file {
        object["source_file"] = file.display().to_string().into();
    }
    object
}
