//! What is wrong with a value that came from a client: one issue per place, in the words of the SDK's
//! schema library, and as [`Fault`]s in the words of this crate.

use std::fmt;

use crate::fault::{Fault, FaultKind, Faults};
use crate::json::{Json, object};
use crate::path::{Path, Step};

/// What kind of issue it is, with what the kind needs to explain itself.
#[derive(Debug, Clone, PartialEq)]
pub enum IssueKind {
    /// Another JSON type than the place needs, or nothing at all.
    InvalidType {
        /// The type that is needed.
        expected: &'static str,
        /// The type that was found; `undefined` if nothing was.
        received: &'static str,
    },
    /// A value that is none of those allowed.
    InvalidValue {
        /// Those allowed.
        values: Vec<Json>,
    },
    /// A tag that belongs to none of the shapes allowed at that place.
    UnknownTag {
        /// The member that holds the tag.
        key: &'static str,
        /// The tags allowed.
        options: Vec<&'static str>,
        /// What the schema says instead of its usual sentence.
        message: Option<&'static str>,
    },
    /// Text that does not start as it must.
    BadPrefix {
        /// How it must start.
        prefix: &'static str,
    },
    /// Too few items, or too small a number.
    TooSmall {
        /// What is too small: `array` or `number`.
        origin: &'static str,
        /// The least.
        minimum: usize,
        /// The sentence about it.
        message: &'static str,
    },
    /// A whole number that a double cannot tell from its neighbours.
    TooBig,
    /// A number that JSON does not have.
    NotJson,
}

/// The largest whole number that a double can tell from its neighbours.
const MAX_SAFE_INTEGER: usize = 9_007_199_254_740_991;

/// One issue at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Issue {
    /// Where.
    pub path: Path,
    /// What.
    pub kind: IssueKind,
}

impl Issue {
    /// The code that the schema library gives the issue.
    ///
    /// ```
    /// let error = tapline_prompt::ui::validate(Some(&"{}".into()), &Default::default()).unwrap_err();
    /// assert_eq!(error.issues()[0].code(), "invalid_type");
    /// ```
    pub fn code(&self) -> &'static str {
        match self.kind {
            IssueKind::InvalidType { .. } => "invalid_type",
            IssueKind::InvalidValue { .. } => "invalid_value",
            IssueKind::UnknownTag { .. } => "invalid_union",
            IssueKind::BadPrefix { .. } => "invalid_format",
            IssueKind::TooSmall { .. } => "too_small",
            IssueKind::TooBig => "too_big",
            IssueKind::NotJson => "custom",
        }
    }

    /// The sentence that the schema library has for the issue.
    pub fn message(&self) -> String {
        let listed = |values: &mut dyn Iterator<Item = String>| values.collect::<Vec<_>>().join("|");
        match &self.kind {
            IssueKind::InvalidType { expected, received } => {
                format!("Invalid input: expected {expected}, received {received}")
            }
            IssueKind::InvalidValue { values } if values.len() == 1 => {
                format!("Invalid input: expected {}", values[0].to_js())
            }
            IssueKind::InvalidValue { values } => format!(
                "Invalid option: expected one of {}",
                listed(&mut values.iter().map(Json::to_js))
            ),
            IssueKind::UnknownTag {
                message: Some(message),
                ..
            } => (*message).to_owned(),
            IssueKind::UnknownTag { options, .. } => {
                let options: Vec<String> = options.iter().map(|option| format!("'{option}'")).collect();
                format!("Invalid discriminator value. Expected {}", options.join(" | "))
            }
            IssueKind::BadPrefix { prefix } => {
                format!("Invalid string: must start with \"{prefix}\"")
            }
            IssueKind::TooSmall { message, .. } => (*message).to_owned(),
            IssueKind::TooBig => format!("Too big: expected int to be <={MAX_SAFE_INTEGER}"),
            IssueKind::NotJson => "Invalid JSON value. Expected null, a string, a finite number, a boolean, \
                                   an array, or an object."
                .to_owned(),
        }
    }

    /// The issue as the schema library reports it.
    pub fn to_json(&self) -> Json {
        let code = self.code();
        let mut json = match &self.kind {
            IssueKind::InvalidType { expected, .. } => object! { "expected": *expected, "code": code },
            IssueKind::InvalidValue { values } => {
                object! { "code": code, "values": Json::Array(values.clone()) }
            }
            IssueKind::UnknownTag { key, options, .. } => object! {
                "code": code,
                "errors": Json::Array(Vec::new()),
                "note": "No matching discriminator",
                "discriminator": *key,
                "options": options.clone(),
            },
            IssueKind::BadPrefix { prefix } => object! {
                "origin": "string",
                "code": code,
                "format": "starts_with",
                "prefix": *prefix,
            },
            IssueKind::TooSmall { origin, minimum, .. } => object! {
                "origin": *origin,
                "code": code,
                "minimum": *minimum,
                "inclusive": true,
            },
            IssueKind::TooBig => object! {
                "code": code,
                "maximum": MAX_SAFE_INTEGER,
                "note": "Integers must be within the safe integer range.",
                "origin": "int",
                "inclusive": true,
            },
            IssueKind::NotJson => object! { "code": code },
        };
        let steps = self.path.steps().iter().map(|step| match step {
            Step::Key(key) => Json::from(&**key),
            Step::Index(index) => Json::from(*index),
        });
        json.insert("path", Json::Array(steps.collect()));
        json.insert("message", self.message());
        json.into()
    }

    /// The issue in the words of this crate's own faults.
    pub fn to_fault(&self) -> Fault {
        let (kind, found, allowed, mend) = match &self.kind {
            IssueKind::InvalidType {
                expected,
                received: "undefined",
            } => (
                FaultKind::Missing,
                "nothing".to_owned(),
                (*expected).to_owned(),
                "add the member",
            ),
            IssueKind::InvalidType {
                expected: "never",
                received,
            } => (
                FaultKind::WrongType,
                (*received).to_owned(),
                "nothing".to_owned(),
                "drop the member: it does not go with this state",
            ),
            IssueKind::InvalidType { expected, received } => (
                FaultKind::WrongType,
                (*received).to_owned(),
                (*expected).to_owned(),
                "give a value of that type",
            ),
            IssueKind::InvalidValue { values } => (
                FaultKind::BadValue,
                "another value".to_owned(),
                values.iter().map(Json::to_js).collect::<Vec<_>>().join(", "),
                "use one of the allowed values",
            ),
            IssueKind::UnknownTag { options, .. } => (
                FaultKind::UnknownTag,
                "no known tag".to_owned(),
                options.join(", "),
                "use one of the allowed tags",
            ),
            IssueKind::BadPrefix { prefix } => (
                FaultKind::BadValue,
                "other text".to_owned(),
                format!("text that starts with {prefix:?}"),
                "put it in front",
            ),
            IssueKind::TooSmall { origin, minimum, .. } => (
                FaultKind::Empty,
                format!("a smaller {origin}"),
                format!("at least {minimum}"),
                "add what is missing",
            ),
            IssueKind::TooBig => (
                FaultKind::BadValue,
                "a larger number".to_owned(),
                format!("at most {MAX_SAFE_INTEGER}"),
                "give a position in the text",
            ),
            IssueKind::NotJson => (
                FaultKind::BadValue,
                "a number that is not finite".to_owned(),
                "a JSON value".to_owned(),
                "give a finite number",
            ),
        };
        Fault {
            path: self.path.clone(),
            kind,
            found,
            allowed,
            mend: mend.to_owned(),
        }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message())
    }
}

/// A value that does not have the shape it must have.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch(Box<Details>);

#[derive(Debug, Clone, PartialEq)]
struct Details {
    value: Json,
    issues: Vec<Issue>,
    context: Option<Context>,
    cause: Option<String>,
}

/// Which part of a document was checked, for the first words of the message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// Where it stands: `messages[0].metadata`.
    pub field: String,
    /// The tool or kind of data it belongs to.
    pub entity_name: Option<String>,
    /// The id of the message, part or call.
    pub entity_id: Option<String>,
}

impl Mismatch {
    /// A value in which a check of the caller's own has found something.
    pub fn because(value: Json, cause: impl Into<String>) -> Self {
        Mismatch(Box::new(Details {
            value,
            issues: Vec::new(),
            context: None,
            cause: Some(cause.into()),
        }))
    }

    /// A value of which a shape has found issues.
    pub(crate) fn found(value: Json, issues: Vec<Issue>) -> Self {
        Mismatch(Box::new(Details {
            value,
            issues,
            context: None,
            cause: None,
        }))
    }

    pub(crate) fn at(mut self, context: Context) -> Self {
        self.0.context = Some(context);
        self
    }

    /// What is wrong, each with its place. Empty if a check of the caller's own has failed.
    pub fn issues(&self) -> &[Issue] {
        &self.0.issues
    }

    /// The issues as faults.
    pub fn to_faults(&self) -> Faults {
        Faults::from(self.0.issues.iter().map(Issue::to_fault).collect::<Vec<_>>())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Type validation failed")?;
        if let Some(context) = &self.0.context {
            write!(f, " for {}", context.field)?;
            let id = context.entity_id.as_ref().map(|id| format!("id: \"{id}\""));
            let entity: Vec<String> = context.entity_name.clone().into_iter().chain(id).collect();
            if !entity.is_empty() {
                write!(f, " ({})", entity.join(", "))?;
            }
        }
        write!(f, ": Value: {}.\nError message: ", self.0.value.to_js())?;
        match &self.0.cause {
            Some(cause) => f.write_str(cause),
            None => {
                let issues = Json::Array(self.0.issues.iter().map(Issue::to_json).collect());
                write_indented(&issues, 0, f)
            }
        }
    }
}

impl std::error::Error for Mismatch {}

/// Writes JSON as `JSON.stringify` does when asked for an indentation of two.
fn write_indented(value: &Json, depth: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let line = |f: &mut fmt::Formatter<'_>, depth: usize| write!(f, "\n{}", "  ".repeat(depth));
    match value {
        Json::Array(items) if !items.is_empty() => {
            f.write_str("[")?;
            for (index, item) in items.iter().enumerate() {
                f.write_str(if index > 0 { "," } else { "" })?;
                line(f, depth + 1)?;
                write_indented(item, depth + 1, f)?;
            }
            line(f, depth)?;
            f.write_str("]")
        }
        Json::Object(members) if !members.is_empty() => {
            f.write_str("{")?;
            for (index, (key, member)) in members.iter().enumerate() {
                f.write_str(if index > 0 { "," } else { "" })?;
                line(f, depth + 1)?;
                write!(f, "{}: ", Json::from(key).to_js())?;
                write_indented(member, depth + 1, f)?;
            }
            line(f, depth)?;
            f.write_str("}")
        }
        other => f.write_str(&other.to_js()),
    }
}
