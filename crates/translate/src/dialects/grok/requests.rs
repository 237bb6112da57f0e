//! What Grok asks beside permissions: questions, and the approval of a plan.
//!
//! Answers to questions are keyed by the question's own text and given as labels, so these are the ids here too.

use std::borrow::Cow;
use std::path::{Component, Path};

use serde_json::{Map, Value, json};
use tapline_timeline::{Answer, Ask, Choice, Outcome, Question, QuestionAnswer, RequestNews};
use tapline_wire::{RawValue, value};

use super::read::{bare, member_id, words};
use crate::dialect::{Reply, VendorRequest};

const QUESTION: &str = "x.ai/ask_user_question";
const PLAN: &str = "x.ai/exit_plan_mode";

/// The label that stands for free text.
const OTHER: &str = "Other";

/// What can be said to a plan: the word on the wire, what a person reads, the kind.
const PLAN_OPTIONS: &[(&str, &str, &str)] = &[
    ("approved", "Approve the plan", "allow_once"),
    ("cancelled", "Ask for changes", "reject_once"),
    ("abandoned", "Abandon the plan", "reject_once"),
];

/// The name under which the wish for changes stands in an answer to a plan.
pub(super) const FEEDBACK: &str = "feedback";

/// What stands in the place of a plan that was not written.
const NO_PLAN: &str = "The agent asks to leave plan mode; it wrote no plan.";

/// Methods that ask nobody in this conversation.
const SILENT: &[(&str, &str)] = &[
    ("x.ai/folder_trust/request", "folder-trust"),
    ("x.ai/hooks/run", "hook"),
    ("x.ai/mcp/sdk_call", "tool-servers"),
    ("x.ai/auth/getBearerToken", "credentials"),
];

/// Reads a request.
pub(super) fn read<'a>(key: &'a str, method: &str, params: &'a RawValue) -> Option<VendorRequest<'a>> {
    let method = bare(method);
    if let Some((_, rule)) = SILENT.iter().find(|(name, _)| *name == method) {
        return Some(VendorRequest::Silent(rule));
    }
    let (ask, title, text, options, questions) = match method {
        QUESTION => (Ask::Question, None, None, Vec::new(), questions(params)),
        PLAN => {
            let options = PLAN_OPTIONS.iter().map(|(id, label, kind)| Choice {
                id: (*id).to_owned(),
                label: Some((*label).to_owned()),
                kind: Some((*kind).to_owned()),
            });
            let plan = words(params, &["planContent"]).unwrap_or(Cow::Borrowed(NO_PLAN));
            (
                Ask::Plan,
                Some(Cow::Borrowed("Approve plan")),
                Some(plan),
                options.collect(),
                Vec::new(),
            )
        }
        _ => return None,
    };
    if fault(method, params).is_some() {
        return Some(VendorRequest::Silent("request-unreadable"));
    }
    Some(VendorRequest::Asks(Box::new(RequestNews {
        key,
        ask,
        turn: None,
        call: member_id(params, &["toolCallId"]),
        title,
        text,
        tool_kind: None,
        input: None,
        content: Vec::new(),
        locations: Vec::new(),
        options,
        questions,
        producer: None,
    })))
}

fn questions(params: &RawValue) -> Vec<Question> {
    let list = value::member(params, "questions")
        .map(value::array)
        .into_iter()
        .flatten();
    list.filter_map(|question| {
        let text = words(question, &["question"])?.into_owned();
        let options = value::member(question, "options")
            .map(value::array)
            .into_iter()
            .flatten();
        Some(Question {
            id: text.clone(),
            text,
            multiple: value::member(question, "multiSelect").and_then(value::bool) == Some(true),
            options: options
                .filter_map(|option| {
                    let id = value::text(option)
                        .or_else(|| words(option, &["label"]))?
                        .into_owned();
                    Some(Choice {
                        label: Some(id.clone()),
                        id,
                        kind: None,
                    })
                })
                .collect(),
        })
    })
    .collect()
}

/// What makes a request one that nobody can answer.
fn fault(method: &str, params: &RawValue) -> Option<&'static str> {
    let has = |name| member_id(params, &[name]).is_some();
    match method {
        _ if !has("sessionId") => Some("the request has no sessionId"),
        _ if !has("toolCallId") => Some("the request has no toolCallId"),
        QUESTION if questions(params).is_empty() => Some("the request has no question that can be read"),
        _ => None,
    }
}

/// What the client's answer says.
pub(super) fn answered(method: &str, result: &RawValue) -> Option<(Outcome, Option<Answer>)> {
    let said = words(result, &["outcome"]);
    let said = said.as_deref().unwrap_or_default();
    match bare(method) {
        QUESTION => Some(match said {
            "accepted" => (Outcome::Answered, Some(given(result, "answers", None))),
            "chat_about_this" | "skip_interview" => (
                Outcome::Rejected,
                Some(given(result, "partial_answers", Some(said))),
            ),
            _ => (Outcome::Cancelled, None),
        }),
        PLAN => {
            let outcome = match said {
                "approved" => Outcome::Allowed,
                "cancelled" | "abandoned" | "request_changes" => Outcome::Rejected,
                _ => return Some((Outcome::Cancelled, None)),
            };
            let feedback = words(result, &["feedback"]).map(|text| QuestionAnswer {
                question: FEEDBACK.to_owned(),
                text: Some(text.into_owned()),
                ..QuestionAnswer::default()
            });
            let answers = feedback.into_iter().collect();
            Some((
                outcome,
                Some(Answer {
                    option: Some(said.to_owned()),
                    answers,
                    ..Answer::default()
                }),
            ))
        }
        _ => None,
    }
}

/// Answers, by question: a label or several, with free text beside them.
fn given(result: &RawValue, name: &str, option: Option<&str>) -> Answer {
    let notes = |question: &str| {
        let note = value::member(result, "annotations").and_then(|a| value::member(a, question))?;
        words(note, &["notes"]).map(Cow::into_owned)
    };
    let answers = value::member(result, name)
        .map(value::members)
        .into_iter()
        .flatten();
    let answers = answers.map(|(question, labels)| {
        let mut options: Vec<String> = value::text(labels).into_iter().map(Cow::into_owned).collect();
        options.extend(value::array(labels).filter_map(value::text).map(Cow::into_owned));
        let text = notes(&question);
        if text.is_some() {
            options.retain(|label| label != OTHER);
        }
        QuestionAnswer {
            question: question.into_owned(),
            options,
            text,
        }
    });
    Answer {
        option: option.map(str::to_owned),
        answers: answers.collect(),
        ..Answer::default()
    }
}

/// The reply in the shape that Grok reads.
pub(super) fn reply(method: &str, params: &RawValue, answer: Option<&Answer>) -> Option<Reply> {
    let method = bare(method);
    if !matches!(method, QUESTION | PLAN) {
        return None;
    }
    if let Some(fault) = fault(method, params) {
        return Some(Reply::Fault(fault.to_owned()));
    }
    let reply = match (method, answer) {
        (QUESTION, None) => Ok(json!({ "outcome": "cancelled" })),
        (QUESTION, Some(answer)) => reply_to_questions(&questions(params), answer),
        (_, None) => Ok(json!({ "outcome": "abandoned" })),
        (_, Some(answer)) => reply_to_plan(answer),
    };
    Some(match reply {
        Ok(value) => Reply::Result(value),
        Err(sentence) => Reply::Invalid(sentence),
    })
}

/// Whether this is where Grok keeps the plan of a session: `…/sessions/FOLDER/SESSION/plan.md`. It writes the plan through
/// the client, and asks for approval of no plan at all where it cannot.
pub(super) fn is_plan_file(session: &str, path: &Path) -> bool {
    let mut parts = path.components().rev();
    let mut is = |name: &str| parts.next() == Some(Component::Normal(name.as_ref()));
    path.is_absolute()
        && is("plan.md")
        && is(session)
        && matches!(parts.next(), Some(Component::Normal(_)))
        && parts.next() == Some(Component::Normal("sessions".as_ref()))
        && parts.all(|part| !matches!(part, Component::ParentDir))
}

fn reply_to_plan(answer: &Answer) -> Result<Value, String> {
    let said = answer.option.as_deref().unwrap_or_default();
    let known = PLAN_OPTIONS.iter().any(|(id, ..)| *id == said);
    if !known {
        return Err(format!("The plan has no option \"{said}\"."));
    }
    let feedback = answer
        .answers
        .iter()
        .find(|a| a.question == FEEDBACK)
        .and_then(|a| a.text.as_deref());
    Ok(match feedback {
        Some(text) => json!({ "outcome": said, "feedback": text }),
        None => json!({ "outcome": said }),
    })
}

fn reply_to_questions(questions: &[Question], answer: &Answer) -> Result<Value, String> {
    if let Some(said) = answer.option.as_deref() {
        return Ok(json!({ "outcome": said }));
    }
    let (mut answers, mut annotations) = (Map::new(), Map::new());
    for question in questions {
        let given = answer.answers.iter().find(|a| a.question == question.id);
        let Some(given) = given else {
            return Err(format!("The question \"{}\" has no answer.", question.text));
        };
        let text = given.text.as_deref().filter(|t| !t.trim().is_empty());
        if let Some(unknown) = given
            .options
            .iter()
            .find(|id| !question.options.iter().any(|o| o.id == **id))
        {
            return Err(format!(
                "The question \"{}\" has no option \"{unknown}\".",
                question.text
            ));
        }
        let labels = match (given.options.as_slice(), text) {
            ([], None) => return Err(format!("The question \"{}\" has no answer.", question.text)),
            ([], Some(_)) if question.multiple => json!([OTHER]),
            ([], Some(_)) => json!(OTHER),
            ([one], _) if !question.multiple => json!(one),
            (many, _) if question.multiple => json!(many),
            _ => {
                return Err(format!(
                    "The question \"{}\" takes one option only.",
                    question.text
                ));
            }
        };
        answers.insert(question.text.clone(), labels);
        if let Some(text) = text {
            annotations.insert(question.text.clone(), json!({ "notes": text }));
        }
    }
    let mut reply = json!({ "outcome": "accepted", "answers": answers });
    if !annotations.is_empty() {
        reply["annotations"] = Value::Object(annotations);
    }
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_told_by_its_place() {
        let is = |path: &str| is_plan_file("s-1", Path::new(path));
        assert!(is("/home/me/.grok/sessions/%2Fhome%2Fme/s-1/plan.md"));
        for other in [
            "/home/me/.grok/sessions/%2Fhome%2Fme/s-2/plan.md",
            "/home/me/.grok/sessions/%2Fhome%2Fme/s-1/notes.md",
            "/home/me/.grok/sessions/s-1/plan.md",
            "/home/me/.grok/sessions/x/s-1/more/plan.md",
            "/home/me/sessions/x/../sessions/y/s-1/plan.md",
            "/home/sessions/../s-1/plan.md",
            "sessions/x/s-1/plan.md",
            "/s-1/plan.md",
        ] {
            assert!(!is(other), "{other}");
        }
        assert!(
            !is_plan_file("", Path::new("/sessions/x//plan.md")),
            "no session, no plan"
        );
        assert!(!is_plan_file("..", Path::new("/sessions/x/../plan.md")));
    }
}
