//! What the agent asks, answered in place.
//!
//! A permission or a plan has options, chosen by number, letter or label. A form has questions, answered one after the other.
//! What the request is about stands in the text above; here stand only the choices, and the answer that is being written.

use std::sync::Arc;

use serde_json::{Value, json};
use tapline_render::{clean, clean_line};
use tapline_timeline::{Ask, Body, Choice, Question, QuestionAnswer, Request, Row, RowId};

use super::screen::{Line, Tone};
use crate::drive::reach;

/// The name under which the wish for changes stands in an answer to a plan.
const FEEDBACK: &str = "feedback";

/// The letters of the kinds of options.
const LETTERS: &[(&str, &str)] = &[
    ("allow_once", "y"),
    ("allow_always", "a"),
    ("reject_once", "n"),
    ("reject_always", "d"),
];

/// Most lines of a question's text that are shown again below.
const TEXT_LINES: usize = 6;

/// One request that waits for a person.
pub(super) struct Dialogue {
    row: Arc<Row>,
    /// The question that is being answered.
    at: usize,
    answers: Vec<QuestionAnswer>,
}

/// What came of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Said {
    /// The payload of the answer.
    Answer(Value),
    /// There is another question.
    More,
    /// It is no answer: why.
    Unclear(String),
}

impl Dialogue {
    pub(super) fn new(row: Arc<Row>) -> Self {
        Self {
            row,
            at: 0,
            answers: Vec::new(),
        }
    }

    pub(super) fn id(&self) -> &RowId {
        &self.row.id
    }

    fn request(&self) -> Option<&Request> {
        match &self.row.body {
            Body::Request(request) => Some(request),
            _ => None,
        }
    }

    /// The same request, changed by the agent.
    pub(super) fn renew(&mut self, row: &Arc<Row>) {
        self.row = Arc::clone(row);
    }

    /// What a person can choose. `more` other requests wait behind this one.
    pub(super) fn lines(&self, more: usize, unicode: bool) -> Vec<Line> {
        let Some(request) = self.request() else {
            return Vec::new();
        };
        let mark = if unicode { "◆ " } else { "* " };
        let behind = match more {
            0 => String::new(),
            n => format!("  ({n} more behind it)"),
        };
        let line = |text: &str| clean_line(text, unicode);
        let mut lines = Vec::new();
        match request.questions.get(self.at) {
            Some(question) => {
                let mut texts: Vec<String> = clean(question.text.trim(), unicode)
                    .lines()
                    .take(TEXT_LINES)
                    .map(str::to_owned)
                    .collect();
                let count = request.questions.len();
                let of = if count > 1 {
                    format!("  ({} of {count})", self.at + 1)
                } else {
                    String::new()
                };
                let first = if texts.is_empty() {
                    String::new()
                } else {
                    texts.remove(0)
                };
                lines.push(
                    Line::of(Tone::Warn, mark)
                        .and(Tone::Bold, first)
                        .and(Tone::Dim, of + &behind),
                );
                lines.extend(
                    texts
                        .into_iter()
                        .map(|text| Line::of(Tone::Bold, format!("  {text}"))),
                );
                lines.extend(choices(&question.options, unicode, |_| None));
                lines.push(Line::of(Tone::Dim, format!("  {}", how_to_answer(question))));
            }
            None => {
                let (what, how) = match request.ask {
                    Ask::Permission => ("Permission", "number, letter or label"),
                    Ask::Plan => (
                        "Plan to approve",
                        "number, letter or label; or write what to change",
                    ),
                    Ask::Question if request.options.is_empty() => {
                        ("Question", "Enter accepts, `decline` refuses")
                    }
                    Ask::Question => ("Question", "number or label"),
                };
                let title = request.title.as_deref().map(line).unwrap_or_default();
                lines.push(
                    Line::of(Tone::Warn, format!("{mark}{what} "))
                        .and(Tone::Bold, title)
                        .and(Tone::Dim, behind),
                );
                lines.extend(choices(&request.options, unicode, |choice| {
                    letter(request, choice)
                }));
                lines.push(Line::of(Tone::Dim, format!("  {how}")));
            }
        }
        lines
    }

    /// Takes a line.
    pub(super) fn take(&mut self, said: &str) -> Said {
        let said = said.trim();
        let Some(request) = self.request() else {
            return Said::Unclear("Nothing is asked here.".to_owned());
        };
        let id = self.row.id.clone();
        let answer = |mut payload: Value| {
            payload["request"] = json!(id);
            Said::Answer(payload)
        };
        if let Some(question) = request.questions.get(self.at) {
            if said.eq_ignore_ascii_case("decline") {
                return answer(json!({ "option": "decline" }));
            }
            let given = (!said.is_empty()).then(|| reach::answer_to(question, said));
            let last = self.at + 1 >= request.questions.len();
            self.answers.extend(given);
            if !last {
                self.at += 1;
                return Said::More;
            }
            // If it is refused, it is asked from the start again.
            self.at = 0;
            return answer(json!({ "answers": std::mem::take(&mut self.answers) }));
        }
        if request.options.is_empty() {
            return match said.to_ascii_lowercase().as_str() {
                "" | "y" | "yes" | "accept" => answer(json!({ "answers": [] })),
                "decline" | "n" | "no" => answer(json!({ "option": "decline" })),
                _ => Said::Unclear("Press Enter to accept, or write `decline`.".to_owned()),
            };
        }
        if said.is_empty() {
            return Said::Unclear("Choose one of the options.".to_owned());
        }
        let by_letter = request
            .options
            .iter()
            .find(|choice| letter(request, choice).is_some_and(|letter| letter.eq_ignore_ascii_case(said)));
        let chosen = by_letter.map(|choice| choice.id.clone());
        match chosen.map_or_else(|| reach::option(request, said), Ok) {
            Ok(option) => answer(json!({ "option": option })),
            Err(_) if request.ask == Ask::Plan => match changes(request, said) {
                Some((option, text)) => answer(json!({
                    "option": option,
                    "answers": [{ "question": FEEDBACK, "text": text }],
                })),
                None => Said::Unclear(
                    "This agent takes no words to a plan; choose one of the options.".to_owned(),
                ),
            },
            Err(_) => {
                let said = clean_line(said, true);
                Said::Unclear(format!(
                    "There is no option \"{said}\"; choose by number, letter or label."
                ))
            }
        }
    }
}

/// The wish for changes in a plan: behind the number of an option that refuses, or alone.
fn changes(request: &Request, said: &str) -> Option<(String, String)> {
    let refuses = |choice: &&Choice| {
        choice
            .kind
            .as_deref()
            .is_some_and(|kind| kind.starts_with("reject"))
    };
    let numbered = said.split_once([' ', ':']).and_then(|(number, text)| {
        let choice = request
            .options
            .get(number.parse::<usize>().ok()?.checked_sub(1)?)?;
        Some((Some(choice).filter(refuses)?, text))
    });
    let (choice, text) = match numbered {
        Some(found) => found,
        None => (request.options.iter().find(refuses)?, said),
    };
    let text = text.trim().to_owned();
    Some((choice.id.clone(), text))
}

/// The letter of an option: the first of its kind has one.
fn letter<'r>(request: &Request, choice: &Choice) -> Option<&'r str> {
    let kind = choice.kind.as_deref()?;
    let first = request
        .options
        .iter()
        .find(|other| other.kind.as_deref() == Some(kind))?;
    let (_, letter) = LETTERS.iter().find(|(name, _)| *name == kind)?;
    (first.id == choice.id).then_some(*letter)
}

fn choices<'c>(
    all: &'c [Choice],
    unicode: bool,
    letter: impl Fn(&'c Choice) -> Option<&'c str>,
) -> impl Iterator<Item = Line> {
    all.iter().enumerate().map(move |(n, choice)| {
        let label = clean_line(choice.label.as_deref().unwrap_or(&choice.id), unicode);
        let line = Line::of(Tone::Accent, format!("  {} ", n + 1)).and(Tone::Plain, label);
        match letter(choice) {
            Some(letter) => line.and(Tone::Dim, format!(" ({letter})")),
            None => line,
        }
    })
}

fn how_to_answer(question: &Question) -> &'static str {
    match (question.options.is_empty(), question.multiple) {
        (true, _) => "write the answer; Enter alone skips it, `decline` refuses",
        (false, false) => "number, label, or words of your own; `decline` refuses",
        (false, true) => "numbers or labels with commas between; `decline` refuses",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialogue(request: Value) -> Dialogue {
        let mut row = json!({
            "kind": "request", "id": "s/7", "session": "s", "seq": 7, "revision": 1, "frames": [1, 1],
            "state": "pending",
        });
        let members = row.as_object_mut().expect("an object");
        members.extend(request.as_object().cloned().expect("an object"));
        Dialogue::new(Arc::new(serde_json::from_value(row).expect("a row")))
    }

    fn permission() -> Dialogue {
        dialogue(json!({ "ask": "permission", "title": "rm", "options": [
            { "id": "once", "label": "Allow once", "kind": "allow_once" },
            { "id": "ever", "label": "Always", "kind": "allow_always" },
            { "id": "not", "label": "Reject", "kind": "reject_once" },
            { "id": "never", "label": "Not now", "kind": "reject_once" },
        ]}))
    }

    #[test]
    fn an_option_is_chosen_by_number_letter_label_or_id() {
        for (said, id) in [
            ("1", "once"),
            ("y", "once"),
            ("yes", "once"),
            ("allow once", "once"),
            ("A", "ever"),
            ("n", "not"),
            ("4", "never"),
            ("never", "never"),
        ] {
            let wanted = Said::Answer(json!({ "option": id, "request": "s/7" }));
            assert_eq!(permission().take(said), wanted, "{said}");
        }
        for said in ["", "5", "0", "es please"] {
            assert!(matches!(permission().take(said), Said::Unclear(_)), "{said}");
        }
    }

    #[test]
    fn questions_come_one_after_the_other() {
        let mut form = dialogue(json!({ "ask": "question", "questions": [
            { "id": "name", "text": "Which name?" },
            { "id": "skipped", "text": "Anything else?" },
            { "id": "tests", "text": "Which tests?", "multiple": true,
              "options": [{ "id": "u", "label": "Unit" }, { "id": "e", "label": "End to end" }] },
        ]}));
        assert_eq!(form.take("Ann"), Said::More);
        assert_eq!(form.take(""), Said::More);
        let wanted = json!({ "request": "s/7", "answers": [
            { "question": "name", "text": "Ann" },
            { "question": "tests", "options": ["u", "e"] },
        ]});
        assert_eq!(form.take("1, end to end"), Said::Answer(wanted));
        let declined = json!({ "request": "s/7", "option": "decline" });
        assert_eq!(form.take("decline"), Said::Answer(declined));
    }

    #[test]
    fn a_plan_takes_words() {
        let plan = || {
            dialogue(json!({ "ask": "plan", "title": "Approve plan", "options": [
                { "id": "approved", "label": "Approve the plan", "kind": "allow_once" },
                { "id": "cancelled", "label": "Ask for changes", "kind": "reject_once" },
                { "id": "abandoned", "label": "Abandon the plan", "kind": "reject_once" },
            ]}))
        };
        assert_eq!(
            plan().take("y"),
            Said::Answer(json!({ "option": "approved", "request": "s/7" }))
        );
        for said in ["test it first", "2 test it first", "2: test it first"] {
            let wanted = json!({ "option": "cancelled", "request": "s/7",
                "answers": [{ "question": "feedback", "text": "test it first" }] });
            assert_eq!(plan().take(said), Said::Answer(wanted), "{said}");
        }
    }

    #[test]
    fn untrusted_labels_reach_the_screen_clean_and_on_one_line() {
        let hostile = dialogue(
            json!({ "ask": "permission", "title": "x\u{1b}[2J\ny", "options": [
                { "id": "a", "label": "ok\u{1b}[31m\n2 Reject", "kind": "allow_once" },
            ]}),
        );
        let lines = hostile.lines(0, true);
        assert_eq!(lines.len(), 3);
        assert!(!format!("{lines:?}").contains("\\u{1b}"), "{lines:?}");
    }
}
