//! What was asked of a person, and what the person said.

use tapline_timeline::{Ask, Choice, Outcome, Question, Request, RequestState};

use super::head::moment;
use super::page::Page;
use crate::safe::{code, fenced, inline, line, nested};

impl Page {
    pub(super) fn request(&mut self, request: &Request) {
        let what = match request.ask {
            Ask::Permission => "Permission",
            Ask::Question => "Question",
            Ask::Plan => "Plan to approve",
        };
        let verdict = match request.outcome {
            Some(Outcome::Allowed) => "allowed",
            Some(Outcome::Rejected) => "rejected",
            Some(Outcome::Answered) => "answered",
            Some(Outcome::Cancelled) => "withdrawn",
            None if request.state == RequestState::Pending => "waits for an answer",
            None => "settled",
        };
        let answer = request.answer.as_ref();
        let by = answer.and_then(|answer| answer.by.as_deref());
        let mut facts =
            vec![by.map_or_else(|| verdict.to_owned(), |by| format!("{verdict} by {}", inline(by)))];
        facts.extend(answer.and_then(|answer| answer.at).map(moment));
        let title = request
            .title
            .as_deref()
            .map(line)
            .filter(|title| !title.is_empty());
        self.headline(what, &title.map(|title| code(&title)).unwrap_or_default(), &facts);
        if let Some(text) = &request.text {
            self.loose(&nested(text));
        }
        // A request about a tool stands after it, and the tool shows the same.
        if request.tool.is_none() || request.state == RequestState::Pending {
            if let Some(input) = &request.input {
                self.block(&fenced("json", input.as_str()));
            }
            self.items(&request.content);
        }
        if request.questions.is_empty() {
            let chosen = answer.and_then(|answer| answer.option.as_deref());
            self.choices(&request.options, |choice| Some(choice.id.as_str()) == chosen);
        }
        for question in &request.questions {
            self.question(question, request);
        }
    }

    fn choices(&mut self, choices: &[Choice], chosen: impl Fn(&Choice) -> bool) {
        let mut list = String::new();
        for choice in choices {
            let label = code(choice.label.as_deref().unwrap_or(&choice.id));
            list.push_str(&if chosen(choice) {
                format!("- **{label}** (chosen)\n")
            } else {
                format!("- {label}\n")
            });
        }
        self.loose(&list);
    }

    fn question(&mut self, question: &Question, request: &Request) {
        let several = if question.multiple {
            vec!["several may be chosen".to_owned()]
        } else {
            Vec::new()
        };
        self.headline("Asked:", &inline(&question.text), &several);
        let answer = request
            .answer
            .as_ref()
            .and_then(|answer| answer.answers.iter().find(|one| one.question == question.id));
        let picked = answer.map(|one| one.options.as_slice()).unwrap_or_default();
        let names =
            |choice: &Choice, word: &String| *word == choice.id || Some(word) == choice.label.as_ref();
        self.choices(&question.options, |choice| {
            picked.iter().any(|word| names(choice, word))
        });
        let others = picked
            .iter()
            .filter(|word| !question.options.iter().any(|choice| names(choice, word)));
        for words in others.chain(answer.and_then(|one| one.text.as_ref())) {
            self.headline("Answer:", &inline(words), &[]);
        }
    }
}
