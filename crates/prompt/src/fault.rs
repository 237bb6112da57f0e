//! What is wrong with a prompt, where, and what to do about it.
//!
//! A validator that stops at the first fault, or says "no variant matched", sends its user on a hunt.
//! Here every fault is reported, each with its path, what was found, what is allowed at that place and
//! how to mend it.

use std::fmt;

use crate::json::ParseError;
use crate::path::Path;

/// The kinds of faults, for programs that decide by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The text is not a JSON document that we take.
    BadJson,
    /// A member that must be there is not.
    Missing,
    /// The value has another JSON type than the place needs.
    WrongType,
    /// The tag (`type`, `role`) is none that the place allows.
    UnknownTag,
    /// The type is right but the value is not: an unparseable URL, a kind without a dot.
    BadValue,
    /// A tool result whose call does not come before it.
    ResultWithoutCall,
    /// A tool call that nothing answers.
    CallWithoutResult,
    /// Two open calls with the same id.
    DuplicateCall,
    /// An approval response that no request in the prompt can explain.
    ApprovalWithoutRequest,
    /// A media type that is not one, or that the bytes contradict.
    MediaType,
    /// Text that is meant to be base64 and is not.
    Base64,
    /// An inline file larger than allowed.
    Oversize,
    /// Messages in an order that providers refuse.
    Order,
    /// Content, or a map, with nothing in it.
    Empty,
}

impl FaultKind {
    /// A stable name for scripts.
    pub fn code(self) -> &'static str {
        match self {
            FaultKind::BadJson => "bad-json",
            FaultKind::Missing => "missing",
            FaultKind::WrongType => "wrong-type",
            FaultKind::UnknownTag => "unknown-tag",
            FaultKind::BadValue => "bad-value",
            FaultKind::ResultWithoutCall => "result-without-call",
            FaultKind::CallWithoutResult => "call-without-result",
            FaultKind::DuplicateCall => "duplicate-call",
            FaultKind::ApprovalWithoutRequest => "approval-without-request",
            FaultKind::MediaType => "media-type",
            FaultKind::Base64 => "base64",
            FaultKind::Oversize => "oversize",
            FaultKind::Order => "order",
            FaultKind::Empty => "empty",
        }
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Where it is.
    pub path: Path,
    /// What kind of fault it is.
    pub kind: FaultKind,
    /// What stands there, in words: `a string`, `nothing`, `"imagee"`.
    pub found: String,
    /// What may stand there.
    pub allowed: String,
    /// What to do.
    pub mend: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault {
            path,
            found,
            allowed,
            mend,
            ..
        } = self;
        let path = path.to_string();
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        // What a reader of JSON says is a sentence already.
        match self.kind {
            FaultKind::BadJson => write!(f, "{found}; {mend}"),
            _ => write!(f, "found {found}, allowed is {allowed}; {mend}"),
        }
    }
}

/// Every fault that was found; never empty when it is an error.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// The faults in the order of the document.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<Fault>> for Faults {
    fn from(faults: Vec<Fault>) -> Self {
        Faults(faults)
    }
}

impl From<ParseError> for Faults {
    fn from(error: ParseError) -> Self {
        let mend = format!("mend the JSON at line {}, column {}", error.line, error.column);
        Faults(vec![Fault {
            path: error.path,
            kind: FaultKind::BadJson,
            found: error.kind.to_string(),
            allowed: "one JSON document".to_owned(),
            mend,
        }])
    }
}

impl IntoIterator for Faults {
    type Item = Fault;
    type IntoIter = std::vec::IntoIter<Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Faults {
    type Item = &'a Fault;
    type IntoIter = std::slice::Iter<'a, Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
