//! `elicitation/create`: a form of questions, or a page to visit.
//!
//! The form is a flat JSON Schema. It is read into a list of questions that a person can be asked one after the other;
//! what the schema says besides stays in [`Question::raw`].

use std::borrow::Cow;

use crate::raw::RawValue;

use crate::content::List;
use crate::id::Id;
use crate::value;

/// The parameters of `elicitation/create`.
#[derive(Debug, Clone)]
pub struct Elicitation<'a> {
    /// The session that asks.
    pub session_id: Option<Cow<'a, str>>,
    /// The tool for which it asks.
    pub tool_call_id: Option<Cow<'a, str>>,
    /// The request for which it asks, where there is no session yet.
    pub request_id: Option<Id<'a>>,
    /// What is asked, in one text.
    pub message: Option<Cow<'a, str>>,
    /// `form`, `url`, or a word of the agent's own.
    pub mode: Option<Cow<'a, str>>,
    /// The title of the form.
    pub title: Option<Cow<'a, str>>,
    /// The questions of the form, in order.
    pub questions: List<Question<'a>>,
    /// The page to visit.
    pub url: Option<Cow<'a, str>>,
    /// What `elicitation/complete` will name.
    pub elicitation_id: Option<Cow<'a, str>>,
    /// What the agent adds on its own account.
    pub meta: Option<&'a RawValue>,
}

/// One question of a form.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The member of the answer that this question fills.
    pub key: Cow<'a, str>,
    /// Its title.
    pub title: Option<Cow<'a, str>>,
    /// More words about it.
    pub description: Option<Cow<'a, str>>,
    /// What can be answered.
    pub kind: QuestionKind<'a>,
    /// Whether the form must not be accepted without an answer to it.
    pub required: bool,
    /// What to offer as the answer.
    pub default: Option<&'a RawValue>,
    /// The schema of the answer, as it stands.
    pub raw: &'a RawValue,
}

/// What can be answered to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuestionKind<'a> {
    /// Any text, perhaps of a format such as `email`.
    Text {
        /// The format.
        format: Option<Cow<'a, str>>,
    },
    /// A number.
    Number {
        /// Whether it must be a whole one.
        whole: bool,
    },
    /// Yes or no.
    Boolean,
    /// One of several values, or some of them.
    Choice {
        /// What there is to choose from.
        options: Vec<QuestionOption<'a>>,
        /// Whether several can be chosen; the answer is a list then.
        multiple: bool,
    },
    /// A type that nobody knows yet.
    Unknown,
}

/// A value that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionOption<'a> {
    /// What the answer holds.
    pub value: Cow<'a, str>,
    /// What a person reads.
    pub label: Cow<'a, str>,
    /// More words about it.
    pub description: Option<Cow<'a, str>>,
}

impl<'a> Elicitation<'a> {
    /// Reads the parameters; none if they are no object.
    pub fn read(params: &'a RawValue) -> Option<Self> {
        if !value::is_object(params) {
            return None;
        }
        let name = |key| value::member(params, key).and_then(value::name);
        let text = |key| value::member_text(params, key);
        let schema = value::member(params, "requestedSchema");
        let questions = schema.map(questions).unwrap_or_default();
        let url = text("url");
        // Without a mode, what there is to be answered says it.
        let implied = if schema.is_some() {
            Some("form")
        } else {
            url.is_some().then_some("url")
        };
        let mode = text("mode").or(implied.map(Cow::Borrowed));
        Some(Self {
            session_id: name("sessionId"),
            tool_call_id: name("toolCallId"),
            request_id: value::member(params, "requestId").and_then(Id::read),
            message: text("message"),
            mode,
            title: schema.and_then(|schema| value::member_text(schema, "title")),
            questions,
            url,
            elicitation_id: name("elicitationId"),
            meta: value::member(params, "_meta").filter(|meta| !value::is_null(meta)),
        })
    }
}

fn questions(schema: &RawValue) -> List<Question<'_>> {
    let required: Vec<_> = value::member(schema, "required").map(strings).unwrap_or_default();
    let mut list = List::default();
    for (key, raw) in value::member(schema, "properties")
        .into_iter()
        .flat_map(value::members)
    {
        if !value::is_object(raw) {
            list.broken += 1;
            continue;
        }
        list.items.push(Question {
            required: required.contains(&key),
            key,
            title: value::member_text(raw, "title"),
            description: value::member_text(raw, "description"),
            kind: QuestionKind::read(raw),
            default: value::member(raw, "default").filter(|default| !value::is_null(default)),
            raw,
        });
    }
    list
}

impl<'a> QuestionKind<'a> {
    fn read(schema: &'a RawValue) -> Self {
        let kind = value::member_text(schema, "type");
        match kind.as_deref() {
            Some("array") => {
                let options = value::member(schema, "items")
                    .and_then(options)
                    .unwrap_or_default();
                Self::Choice {
                    options,
                    multiple: true,
                }
            }
            Some("string") | None => match options(schema) {
                Some(options) => Self::Choice {
                    options,
                    multiple: false,
                },
                None if kind.is_some() => Self::Text {
                    format: value::member_text(schema, "format"),
                },
                None => Self::Unknown,
            },
            Some("number") => Self::Number { whole: false },
            Some("integer") => Self::Number { whole: true },
            Some("boolean") => Self::Boolean,
            Some(_) => Self::Unknown,
        }
    }
}

/// The values that a schema lists: as `oneOf` or `anyOf` with titles, or as `enum`, perhaps with `enumNames`.
fn options(schema: &RawValue) -> Option<Vec<QuestionOption<'_>>> {
    let list = |name| value::member(schema, name).filter(|list| value::is_array(list));
    if let Some(titled) = list("oneOf").or_else(|| list("anyOf")) {
        let titled = value::array(titled).filter_map(|option| {
            let value = value::member_text(option, "const")?;
            let label = value::member_text(option, "title").unwrap_or_else(|| value.clone());
            Some(QuestionOption {
                value,
                label,
                description: value::member_text(option, "description"),
            })
        });
        return Some(titled.collect());
    }
    let values = strings(list("enum")?);
    let labels = list("enumNames")
        .map(strings)
        .filter(|labels| labels.len() == values.len());
    let labels = labels.unwrap_or_else(|| values.clone());
    let pairs = values.into_iter().zip(labels);
    Some(
        pairs
            .map(|(value, label)| QuestionOption {
                value,
                label,
                description: None,
            })
            .collect(),
    )
}

fn strings(list: &RawValue) -> Vec<Cow<'_, str>> {
    value::array(list).filter_map(value::text).collect()
}
