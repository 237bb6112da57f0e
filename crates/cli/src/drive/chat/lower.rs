//! What stands under the text: where the session stands, what waits, what is asked, and the line that is written.

use std::time::Instant;

use tapline_agent::host::intent;
use tapline_render::clean_line;
use unicode_width::UnicodeWidthStr;

use super::hosting::Host;
use super::screen::{Line, Lower, Tone};
use super::talk::Talk;

/// Prompts that wait which are shown all the time.
const WAITING: usize = 3;
/// Lines of a completion's menu.
const MENU: usize = 8;
/// Words of a fact in the rule.
const FACT: usize = 32;

impl Talk<'_> {
    pub(super) fn lower(&self) -> Lower {
        let mut lines = vec![self.rule()];
        let waiting = self.waits();
        for (n, one) in waiting.iter().take(WAITING).enumerate() {
            let prompt: intent::Prompt = serde_json::from_str(one.payload.as_str()).unwrap_or_default();
            let steers = if prompt.steer { "goes next" } else { "waits" };
            let words = clean_line(&prompt.text, self.unicode());
            lines.push(
                Line::of(
                    Tone::Warn,
                    format!("{} {} {steers}: ", self.mark("⋯", "."), n + 1),
                )
                .and(Tone::Dim, words),
            );
        }
        if waiting.len() > WAITING {
            let more = format!("  {} more wait (/queue)", waiting.len() - WAITING);
            lines.push(Line::of(Tone::Dim, more));
        }
        if let Some(dialogue) = &self.dialogue {
            let more = self.open_requests().saturating_sub(1);
            lines.extend(dialogue.lines(more, self.unicode()));
        }
        self.menu(&mut lines);
        if let Some(words) = self.writer.searched() {
            let words = clean_line(words, self.unicode());
            lines.push(Line::of(Tone::Dim, "  history: ").and(Tone::Plain, words));
        }
        if let Some(hint) = &self.hint {
            lines.push(Line::of(
                Tone::Warn,
                format!("  {}", clean_line(hint, self.unicode())),
            ));
        }
        self.input(lines)
    }

    fn input(&self, mut lines: Vec<Line>) -> Lower {
        let mark = match (&self.dialogue, self.editing) {
            (Some(_), _) => "? ",
            (None, Some(_)) => self.mark("✎ ", "e "),
            (None, None) => self.mark("❯ ", "> "),
        };
        let picture = self
            .writer
            .draft()
            .picture(2, self.screen.width(), self.unicode());
        let room = (self.screen.height() / 3).max(3);
        // A long draft is seen around its cursor.
        let first = (picture.cursor.0 + 1).saturating_sub(room);
        let cursor = (lines.len() + picture.cursor.0 - first, picture.cursor.1);
        for (n, text) in picture.lines.iter().enumerate().skip(first).take(room) {
            let before = match n {
                0 => mark,
                n if n == first => self.mark("… ", "^ "),
                _ => "  ",
            };
            lines.push(Line::of(Tone::Accent, before).and(Tone::Plain, text.as_str()));
        }
        Lower { lines, cursor }
    }

    fn menu(&self, lines: &mut Vec<Line>) {
        let Some(menu) = self.writer.menu() else { return };
        let all = &menu.completion.candidates;
        let first = menu.chosen.unwrap_or(0).saturating_sub(MENU - 1);
        let widest = all.iter().skip(first).take(MENU).map(|c| c.name.width()).max();
        for (n, candidate) in all.iter().enumerate().skip(first).take(MENU) {
            let tone = if menu.chosen == Some(n) {
                Tone::Accent
            } else {
                Tone::Plain
            };
            let name = clean_line(&candidate.name, self.unicode());
            let gap = " ".repeat(widest.unwrap_or(0).saturating_sub(name.width()) + 2);
            let about = clean_line(&candidate.about, self.unicode());
            lines.push(Line::of(tone, format!("  {name}{gap}")).and(Tone::Dim, about));
        }
        let more = all.len().saturating_sub(first + MENU);
        if more > 0 {
            lines.push(Line::of(Tone::Dim, format!("  {more} more")));
        }
    }

    /// The rule between the text and what is written: where the session stands.
    fn rule(&self) -> Line {
        let dash = self.mark("─", "-");
        let (tone, state) = self.state();
        let mut line = Line::of(Tone::Dim, dash.repeat(2) + " ");
        let mut apart = "";
        if !state.is_empty() {
            line = line.and(tone, state);
            apart = self.mark(" · ", ", ");
        }
        for fact in self.facts() {
            line = line.and(Tone::Dim, format!("{apart}{fact}"));
            apart = self.mark(" · ", ", ");
        }
        let left = self.screen.width().saturating_sub(line.columns() + 1);
        line.and(Tone::Dim, format!(" {}", dash.repeat(left)))
    }

    fn state(&self) -> (Tone, String) {
        if self.leave.is_some() {
            return (Tone::Warn, "ending the session".to_owned());
        }
        if let Some(trouble) = &self.trouble {
            return (Tone::Bad, clean_line(trouble, self.unicode()));
        }
        if self.stopping {
            return (Tone::Warn, "stopping; Ctrl-C again ends the session".to_owned());
        }
        if let Some(since) = self.told.runs_since() {
            if self.dialogue.is_some() {
                return (Tone::Warn, "waits for you".to_owned());
            }
            return (Tone::Accent, self.spinner("working", since));
        }
        match &self.host {
            Host::Starting(_) => (Tone::Accent, self.spinner("starting", self.since)),
            Host::Gone => (
                Tone::Warn,
                "no agent; the next prompt resumes the session".to_owned(),
            ),
            Host::Elsewhere => (Tone::Dim, "held by another process".to_owned()),
            Host::Running(_) => (Tone::Plain, String::new()),
        }
    }

    fn spinner(&self, what: &str, since: Instant) -> String {
        let frames = if self.unicode() {
            ["◐", "◓", "◑", "◒"]
        } else {
            ["|", "/", "-", "\\"]
        };
        let ms = since.elapsed().as_millis();
        let frame = frames[usize::try_from(ms / 250 % 4).unwrap_or(0)];
        let seconds = match ms / 1000 {
            0 => String::new(),
            s if s < 60 => format!(" {s} s"),
            s => format!(" {} min {} s", s / 60, s % 60),
        };
        format!("{frame} {what}{seconds}")
    }

    fn facts(&self) -> Vec<String> {
        let session = self.told.session.as_ref();
        let agent = session
            .and_then(|session| session.agent.as_ref())
            .map(|agent| agent.name.as_str());
        let mut facts = vec![agent.unwrap_or(&self.agent_name).to_owned()];
        let named = |choices: &[tapline_agent::host::OptionChoice], id: &Option<String>| {
            let id = id.as_deref()?;
            let choice = choices.iter().find(|choice| choice.id == id);
            Some(choice.map_or(id, |choice| choice.name.as_str()).to_owned())
        };
        let by_option = |category: &str, id: &Option<String>| {
            let of = |o: &&tapline_agent::host::SessionOption| o.category.as_deref() == Some(category);
            let option = self.offer.options.iter().find(of)?;
            named(&option.choices, id)
        };
        let mode = named(&self.offer.modes, &self.offer.mode);
        facts.extend(mode.or_else(|| by_option("mode", &self.offer.mode)));
        let model = by_option("model", &self.offer.model);
        facts.extend(model.or_else(|| named(&self.offer.models, &self.offer.model)));
        let context = session.and_then(|session| session.context);
        if let Some((used, size)) = context.and_then(|c| c.used.zip(c.size.filter(|size| *size > 0))) {
            facts.push(format!("context {} %", used.saturating_mul(100) / size));
        }
        match self.told.work.len() {
            0 => {}
            n => facts.push(format!("{n} in the background (/tasks)")),
        }
        if self.writer.has_aside() {
            facts.push("your draft waits".to_owned());
        }
        let short = |fact: String| {
            let fact = clean_line(&fact, self.unicode());
            match fact.char_indices().nth(FACT) {
                Some((end, _)) => format!("{}{}", &fact[..end], self.mark("…", "...")),
                None => fact,
            }
        };
        facts
            .into_iter()
            .map(short)
            .filter(|fact| !fact.is_empty())
            .collect()
    }

    pub(super) fn unicode(&self) -> bool {
        self.told.terminal().unicode
    }

    pub(super) fn mark(&self, mark: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode() { mark } else { ascii }
    }
}
