//! What the chat's own commands do.

use serde_json::json;
use tapline_agent::host::{OptionChoice, SessionOption, intent};
use tapline_journal::Intent;
use tapline_render::{Fold, Terminal, clean_line};
use tapline_timeline::Body;
use unicode_width::UnicodeWidthStr;

use super::command::{Command, OURS, number};
use super::prompts::gone_out;
use super::screen::{Line, Tone, wrapped};
use super::talk::{Leave, Talk, Wanted};
use crate::Outcome;
use crate::drive::inbox;
use crate::failure::Failure;
use crate::journal::failed;

/// The column in which it stands what a command is for.
const ABOUT: usize = 27;

impl Talk<'_> {
    pub(super) fn act(&mut self, command: Command) -> Outcome {
        match command {
            Command::Help => self.help(),
            Command::Stop => self.stop(),
            Command::Steer(text) if text.is_empty() => self.say_hint("Write what to send next: /steer TEXT"),
            Command::Steer(text) => self.prompt(&text, true),
            Command::Queue => self.queue(),
            Command::Edit(which, text) => self.edit(&which, &text)?,
            Command::Withdraw(which) => self.withdraw(&which)?,
            Command::Tasks => self.tasks(),
            Command::Kill(which) => self.kill(&which)?,
            Command::Mode(said) => self.mode(&said)?,
            Command::Model(said) => self.model(&said)?,
            Command::Option(option, value) => self.option(&option, &value)?,
            Command::Full(said) if said == "on" => self.fold(Fold::Open),
            Command::Full(said) if said == "off" => self.fold(Fold::Usual),
            Command::Expand(which) | Command::Full(which) => self.expand(&which)?,
            Command::Inbox => self.inbox()?,
            Command::Cancel => self.cancel(),
            Command::Quit => self.quit(Leave::Done),
        }
        Ok(())
    }

    /// Prints a line among the text. Its words must be clean.
    fn print(&mut self, line: &Line) {
        self.told.pause(&mut self.out);
        self.out.push_str(&self.screen.printed(line));
    }

    /// Prints a name and what it is, in columns.
    fn entry(&mut self, name: &str, about: &str) {
        let name = clean_line(name, self.unicode());
        let about = clean_line(about, self.unicode());
        // Where a line has no room for all of it, it goes on under its own column, or under the name on a narrow terminal.
        let width = usize::from(self.told.terminal().width);
        let column = if width >= 2 * ABOUT { ABOUT } else { 4 };
        let name = format!("  {name:<24}");
        let mut pieces = wrapped(&about, width.saturating_sub(column)).into_iter();
        let first = if name.width() < column {
            pieces.next()
        } else {
            None
        };
        let mut line = Line::of(Tone::Bold, name.trim_end());
        if let Some(first) = first {
            let pad = " ".repeat(column - name.trim_end().width());
            line = line.and(Tone::Dim, pad + first.trim_end());
        }
        self.print(&line);
        for piece in pieces {
            let rest = format!("{:column$}{}", "", piece.trim_end());
            self.print(&Line::of(Tone::Dim, rest));
        }
    }

    fn help(&mut self) {
        for (name, what, about) in OURS {
            self.entry(format!("/{name} {what}").trim_end(), about);
        }
        let commands = self.offer.commands.clone();
        if !commands.is_empty() {
            self.print(&Line::of(Tone::Plain, "Commands of the agent:"));
        }
        for command in commands {
            let hint = command.hint.unwrap_or_default();
            self.entry(
                format!("/{} {hint}", command.name).trim_end(),
                &command.description,
            );
        }
        self.entry("//NAME", "send /NAME to the agent, also where it is one of ours");
        self.entry("@FILE", "attach a file or a picture; Tab completes");
        self.entry(
            "\\ Enter, Alt-Enter",
            "a new line; Ctrl-R searches what was typed before",
        );
        self.entry("[N]", "behind something folded: /expand N shows it whole");
    }

    // --- Prompts that wait ---

    fn queue(&mut self) {
        let waiting = self.waiting.clone();
        if waiting.is_empty() {
            self.note(Tone::Dim, "No prompt waits.");
        }
        for (n, one) in waiting.iter().enumerate() {
            let prompt: intent::Prompt = serde_json::from_str(one.payload.as_str()).unwrap_or_default();
            let by = format!("by {}{}", one.by, if prompt.steer { ", goes next" } else { "" });
            let by = clean_line(&by, self.unicode());
            let text = clean_line(&prompt.text, self.unicode());
            self.print(
                &Line::of(Tone::Bold, format!("  {} ", n + 1))
                    .and(Tone::Plain, text)
                    .and(Tone::Dim, format!("  ({by})")),
            );
        }
    }

    fn waiting_one(&self, which: &str) -> Result<Intent, Failure> {
        let at = number(which, self.waiting.len(), "prompt that waits").map_err(Failure::NotThere)?;
        Ok(self.waiting[at].clone())
    }

    fn edit(&mut self, which: &str, text: &str) -> Outcome {
        let one = self.waiting_one(which)?;
        if text.is_empty() {
            let prompt: intent::Prompt = serde_json::from_str(one.payload.as_str()).unwrap_or_default();
            if self.dialogue.is_some() {
                return Err(Failure::NotThere("Answer what is asked first.".to_owned()));
            }
            self.editing = Some(one.id);
            self.writer.put(&prompt.text);
        } else {
            self.change(one.id, text);
        }
        Ok(())
    }

    fn withdraw(&mut self, which: &str) -> Outcome {
        let one = self.waiting_one(which)?;
        self.journal
            .withdraw_intent(one.id)
            .map_err(|error| Failure::NotThere(gone_out(&error)))?;
        self.waiting.retain(|waits| waits.id != one.id);
        self.note(Tone::Dim, "Taken back.");
        Ok(())
    }

    // --- Work in the background ---

    fn tasks(&mut self) {
        if self.told.work.is_empty() {
            return self.note(Tone::Dim, "Nothing runs in the background.");
        }
        let names: Vec<String> = self.told.work.values().map(|row| name_of(&row.body)).collect();
        for (n, name) in names.iter().enumerate() {
            let name = clean_line(name, self.unicode());
            self.print(&Line::of(Tone::Bold, format!("  {} ", n + 1)).and(Tone::Plain, name));
        }
    }

    fn kill(&mut self, which: &str) -> Outcome {
        let at = number(which, self.told.work.len(), "background task").map_err(Failure::NotThere)?;
        if let Some(row) = self.told.work.values().nth(at) {
            let payload = json!({ "task": row.id });
            self.want(intent::STOP, &payload, Wanted::Kill);
        }
        Ok(())
    }

    // --- Modes, models, options ---

    fn mode(&mut self, said: &str) -> Outcome {
        if let Some(option) = self.by_category("mode") {
            return self.set(&option, said);
        }
        let (modes, now) = (self.offer.modes.clone(), self.offer.mode.clone());
        if said.is_empty() {
            self.choices("mode", &modes, now.as_deref());
            return Ok(());
        }
        let mode = choose(&modes, said, "mode")?;
        let done = Wanted::Set(format!("Mode: {}", mode.name));
        self.want(intent::SET_OPTION, &json!({ "mode": mode.id }), done);
        Ok(())
    }

    fn model(&mut self, said: &str) -> Outcome {
        if let Some(option) = self.by_category("model") {
            return self.set(&option, said);
        }
        let (models, now) = (self.offer.models.clone(), self.offer.model.clone());
        if said.is_empty() {
            self.choices("model", &models, now.as_deref());
            return Ok(());
        }
        let model = choose(&models, said, "model")?;
        let done = Wanted::Set(format!("Model: {}", model.name));
        self.want(intent::SET_OPTION, &json!({ "model": model.id }), done);
        Ok(())
    }

    fn by_category(&self, category: &str) -> Option<SessionOption> {
        let of = |option: &&SessionOption| option.category.as_deref().unwrap_or(&option.id) == category;
        self.offer.options.iter().find(of).cloned()
    }

    fn option(&mut self, name: &str, value: &str) -> Outcome {
        let options = self.offer.options.clone();
        if name.is_empty() {
            if options.is_empty() {
                self.note(Tone::Dim, "The agent offers no options here.");
            }
            for option in options {
                let now = option.current.as_deref().unwrap_or("-");
                let of = option
                    .choices
                    .iter()
                    .map(|choice| choice.id.as_str())
                    .collect::<Vec<_>>();
                let of = if option.boolean {
                    "on, off".to_owned()
                } else {
                    of.join(", ")
                };
                self.entry(&option.id, &format!("{now}   {} ({of})", option.name));
            }
            return Ok(());
        }
        let same = |option: &&SessionOption| option.id == name || option.name.eq_ignore_ascii_case(name);
        let option = options.iter().find(same).ok_or_else(|| {
            let all: Vec<&str> = options.iter().map(|option| option.id.as_str()).collect();
            Failure::NotThere(format!(
                "There is no option \"{name}\". The agent has: {}.",
                all.join(", ")
            ))
        })?;
        self.set(option, value)
    }

    fn set(&mut self, option: &SessionOption, said: &str) -> Outcome {
        if said.is_empty() {
            if option.boolean {
                let now = option.current.as_deref().unwrap_or("unknown");
                self.entry(&option.name, &format!("{now} (on, off)"));
            } else {
                self.choices(&option.name, &option.choices, option.current.as_deref());
            }
            return Ok(());
        }
        let (value, name) = if option.boolean {
            match said.to_ascii_lowercase().as_str() {
                "on" | "true" | "yes" => (json!(true), "on".to_owned()),
                "off" | "false" | "no" => (json!(false), "off".to_owned()),
                _ => return Err(Failure::NotThere(format!("\"{}\" is on or off.", option.id))),
            }
        } else {
            let choice = choose(&option.choices, said, &option.name)?;
            (json!(choice.id), choice.name.clone())
        };
        let done = Wanted::Set(format!("{}: {name}", option.name));
        let payload = json!({ "option": option.id, "value": value });
        self.want(intent::SET_OPTION, &payload, done);
        Ok(())
    }

    fn choices(&mut self, what: &str, choices: &[OptionChoice], now: Option<&str>) {
        if choices.is_empty() {
            return self.note(Tone::Dim, &format!("The agent offers no {what} to choose here."));
        }
        for (n, choice) in choices.iter().enumerate() {
            let mark = if Some(choice.id.as_str()) == now {
                self.mark("▸", ">")
            } else {
                " "
            };
            let name = format!("{} {mark} {}", n + 1, choice.name);
            let about = match &choice.description {
                Some(about) => format!("{}  {about}", choice.id),
                None => choice.id.clone(),
            };
            self.entry(&name, &about);
        }
    }

    // --- The view ---

    fn fold(&mut self, fold: Fold) {
        let terminal = Terminal {
            fold,
            ..*self.told.terminal()
        };
        self.told.adapt(&terminal);
        let what = match fold {
            Fold::Open => "Nothing is folded from now on.",
            _ => "Tools and reasoning are folded from now on.",
        };
        self.note(Tone::Dim, what);
    }

    fn expand(&mut self, which: &str) -> Outcome {
        let id = self.told.folded(which).map_err(Failure::NotThere)?;
        let row = self.journal.row(&id).map_err(failed)?;
        let row = row.ok_or_else(|| Failure::NotThere("It is not in the journal any more.".to_owned()))?;
        let whole = self.told.whole(&row);
        self.told.pause(&mut self.out);
        self.out.push_str(&whole);
        Ok(())
    }

    fn inbox(&mut self) -> Outcome {
        let mut text = Vec::new();
        for row in inbox::waiting(&*self.journal)? {
            if let Body::Request(request) = &row.body {
                inbox::text(&mut text, &row, request)?;
            }
        }
        if text.is_empty() {
            self.note(Tone::Dim, "Nothing waits for you.");
        }
        self.told.pause(&mut self.out);
        self.out.push_str(&String::from_utf8_lossy(&text));
        Ok(())
    }

    fn cancel(&mut self) {
        if let Some(dialogue) = &self.dialogue {
            let id = dialogue.id().clone();
            let payload = json!({ "request": id, "cancel": true });
            return self.answer(&id, &payload);
        }
        if self.editing.take().is_none() {
            self.say_hint("Nothing is asked.");
        }
    }
}

fn choose<'c>(choices: &'c [OptionChoice], said: &str, what: &str) -> Result<&'c OptionChoice, Failure> {
    let same = |choice: &&OptionChoice| choice.id == said || choice.name.eq_ignore_ascii_case(said);
    let by_number = || {
        said.parse::<usize>()
            .ok()
            .and_then(|n| choices.get(n.checked_sub(1)?))
    };
    choices.iter().find(same).or_else(by_number).ok_or_else(|| {
        let all: Vec<&str> = choices.iter().map(|choice| choice.id.as_str()).collect();
        let offered = if all.is_empty() {
            "The agent offers none.".to_owned()
        } else {
            format!("Choose one of: {}.", all.join(", "))
        };
        Failure::NotThere(format!("There is no {what} \"{said}\". {offered}"))
    })
}

fn name_of(body: &Body) -> String {
    match body {
        Body::Task(task) => task.label.clone(),
        Body::Helper(helper) => format!("Helper \"{}\"", helper.label),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_named_by_id_name_or_number() {
        let choice = |id: &str, name: &str| OptionChoice {
            id: id.to_owned(),
            name: name.to_owned(),
            description: None,
        };
        let all = [choice("s", "Small"), choice("l", "Large")];
        for said in ["l", "large", "2"] {
            assert_eq!(
                choose(&all, said, "model").map(|c| c.id.as_str()).ok(),
                Some("l"),
                "{said}"
            );
        }
        let error = choose(&all, "huge", "model").expect_err("there is none");
        assert_eq!(
            error.to_string(),
            "There is no model \"huge\". Choose one of: s, l."
        );
    }
}
