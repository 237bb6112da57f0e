//! Shapes: what a value must look like, declared as data and checked by one function.
//!
//! The forms that clients send (UI messages, model messages, stream chunks) have a schema in the SDK,
//! and its reports are part of what has to be equal: which issues, in which order, and what is left out
//! of the value that comes back. So the shapes here follow that library where it can be seen: an object
//! reports every member in the order of its declaration, a union is chosen by its tag, unknown members
//! are dropped unless the object is open, and a member that may hold anything must still be there.

use super::issue::{Issue, IssueKind, Mismatch};
use crate::json::{Json, Object};
use crate::path::Path;
use crate::typed::Typed;
use crate::types::Inline;

/// What a value must look like.
pub(crate) enum Shape {
    /// Anything, but not nothing.
    Any,
    Text,
    Bool,
    /// Nothing at all.
    Never,
    /// A whole number from zero on.
    Index,
    /// This text.
    Word(&'static str),
    /// This boolean.
    Exactly(bool),
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// Text that starts like this.
    Prefix(&'static str),
    /// An object whose members are texts.
    TextMap,
    /// An object of JSON values.
    JsonMap,
    /// Provider options: an object of objects of JSON values.
    Metadata,
    /// Base64 text, or bytes in one of their JSON forms.
    Inline,
    /// A URL, as the text that makes one.
    Url,
    /// An object with these members. An open one keeps the others.
    Object {
        open: bool,
        members: Vec<Member>,
    },
    /// An object whose shape is decided by the text of one of its members.
    Tagged {
        key: &'static str,
        shapes: Vec<(&'static str, Shape)>,
        message: Option<&'static str>,
    },
    /// An array of which every item is checked.
    List(Box<Shape>),
    /// An array that is checked up to its first bad item; the shape depends on the item.
    UntilBad(fn(&Json) -> &'static Shape),
    /// Text, or else this shape.
    TextOr(Box<Shape>),
    /// The first of these shapes that fits. If none does, `report` says what was expected.
    AnyOf {
        shapes: Vec<Shape>,
        report: &'static str,
    },
}

/// A member of an object shape.
pub(crate) struct Member {
    pub(crate) key: &'static str,
    pub(crate) shape: Shape,
    pub(crate) optional: bool,
}

/// A member that must be there.
pub(crate) fn need(key: &'static str, shape: Shape) -> Member {
    Member {
        key,
        shape,
        optional: false,
    }
}

/// A member that may be missing.
pub(crate) fn may(key: &'static str, shape: Shape) -> Member {
    Member {
        key,
        shape,
        optional: true,
    }
}

impl Shape {
    /// An object that drops members it does not know.
    pub(crate) fn closed(members: Vec<Member>) -> Shape {
        Shape::Object { open: false, members }
    }

    /// A choice by tag, with the tag itself as the first member of each object.
    pub(crate) fn tagged(key: &'static str, shapes: Vec<(&'static str, Vec<Member>)>) -> Shape {
        let with_tag = |(tag, mut members): (&'static str, Vec<Member>)| {
            members.insert(0, need(key, Shape::Word(tag)));
            (tag, Shape::closed(members))
        };
        Shape::Tagged {
            key,
            shapes: shapes.into_iter().map(with_tag).collect(),
            message: None,
        }
    }

    /// Checks a value. What comes back has only the members that the shape knows.
    pub(crate) fn check(&self, value: &Json) -> Result<Json, Mismatch> {
        let mut checker = Checker::default();
        match checker.check(self, Some(value)) {
            Some(checked) if checker.issues.is_empty() => Ok(checked),
            _ => Err(Mismatch::found(value.clone(), checker.issues)),
        }
    }

    fn fits(&self, value: Option<&Json>) -> Option<Json> {
        let mut checker = Checker::default();
        let checked = checker.check(self, value)?;
        checker.issues.is_empty().then_some(checked)
    }
}

#[derive(Default)]
struct Checker {
    path: Path,
    issues: Vec<Issue>,
}

impl Checker {
    fn report(&mut self, kind: IssueKind) {
        self.issues.push(Issue {
            path: self.path.clone(),
            kind,
        });
    }

    fn wrong_type(&mut self, expected: &'static str, value: Option<&Json>) -> Option<Json> {
        let received = type_name(value);
        self.report(IssueKind::InvalidType { expected, received });
        None
    }

    fn check(&mut self, shape: &Shape, value: Option<&Json>) -> Option<Json> {
        match (shape, value) {
            (Shape::Any, Some(value)) => Some(value.clone()),
            (Shape::Any, None) => self.wrong_type("nonoptional", None),
            (Shape::Text, Some(Json::String(_))) | (Shape::Bool, Some(Json::Bool(_))) => value.cloned(),
            (Shape::Text, _) => self.wrong_type("string", value),
            (Shape::Bool, _) => self.wrong_type("boolean", value),
            (Shape::Never, _) => self.wrong_type("never", value),
            (Shape::Index, Some(Json::Number(number))) => {
                match number.as_f64() {
                    index if index.fract() != 0.0 => return self.wrong_type("int", value),
                    index if index.abs() > 9_007_199_254_740_991.0 => {
                        self.report(IssueKind::TooBig);
                        return None;
                    }
                    index if index < 0.0 => {
                        self.report(IssueKind::TooSmall {
                            origin: "number",
                            minimum: 0,
                            message: "Too small: expected number to be >=0",
                        });
                        return None;
                    }
                    _ => {}
                }
                value.cloned()
            }
            (Shape::Index, _) => self.wrong_type("number", value),
            (Shape::Word(word), _) => self.one_of(&[word], value),
            (Shape::OneOf(words), _) => self.one_of(words, value),
            (Shape::Exactly(wanted), Some(Json::Bool(found))) if wanted == found => value.cloned(),
            (Shape::Exactly(wanted), _) => {
                let values = vec![Json::from(*wanted)];
                self.report(IssueKind::InvalidValue { values });
                None
            }
            (Shape::Prefix(prefix), Some(Json::String(text))) => {
                if !text.starts_with(prefix) {
                    self.report(IssueKind::BadPrefix { prefix });
                    return None;
                }
                value.cloned()
            }
            (Shape::Prefix(_), _) => self.wrong_type("string", value),
            (Shape::TextMap, _) => self.map(value, |checker, value| checker.check(&Shape::Text, Some(value))),
            (Shape::JsonMap, _) => {
                self.all_json(value)?;
                self.map(value, |_, value| Some(value.clone()))
            }
            (Shape::Metadata, _) => {
                self.all_json(value)?;
                self.map(value, |checker, value| {
                    checker.map(Some(value), |_, value| Some(value.clone()))
                })
            }
            (Shape::Inline, Some(Json::String(_))) => value.cloned(),
            (Shape::Inline, Some(value @ Json::Object(object)))
                if !object.is_empty() && Inline::from_json(value.clone()).is_ok() =>
            {
                Some(value.clone())
            }
            (Shape::Inline, _) => self.wrong_type("base64 text or bytes", value),
            (Shape::Url, Some(Json::String(text))) if url::Url::parse(text).is_ok() => value.cloned(),
            (Shape::Url, _) => self.wrong_type("URL", value),
            (Shape::Object { open, members }, Some(Json::Object(object))) => {
                self.object(*open, members, object)
            }
            (Shape::Object { .. } | Shape::Tagged { .. }, None | Some(_))
                if !matches!(value, Some(Json::Object(_))) =>
            {
                self.wrong_type("object", value)
            }
            (Shape::Object { .. }, _) => None,
            (Shape::Tagged { key, shapes, message }, _) => self.tagged(key, shapes, *message, value?),
            (Shape::List(item), Some(Json::Array(items))) => {
                let mut checked = Vec::with_capacity(items.len());
                for (index, value) in items.iter().enumerate() {
                    self.path.push(index);
                    checked.extend(self.check(item, Some(value)));
                    self.path.pop();
                }
                Some(Json::Array(checked))
            }
            (Shape::UntilBad(shape_of), Some(Json::Array(items))) => {
                let before = self.issues.len();
                let mut checked = Vec::with_capacity(items.len());
                for (index, value) in items.iter().enumerate() {
                    self.path.push(index);
                    checked.extend(self.check(shape_of(value), Some(value)));
                    self.path.pop();
                    if self.issues.len() > before {
                        return None;
                    }
                }
                Some(Json::Array(checked))
            }
            (Shape::List(_) | Shape::UntilBad(_), _) => self.wrong_type("array", value),
            (Shape::TextOr(_), Some(Json::String(_))) => value.cloned(),
            (Shape::TextOr(other), _) => self.check(other, value),
            (Shape::AnyOf { shapes, report }, _) => match shapes.iter().find_map(|shape| shape.fits(value)) {
                Some(checked) => Some(checked),
                None => self.wrong_type(report, value),
            },
        }
    }

    fn one_of(&mut self, words: &[&'static str], value: Option<&Json>) -> Option<Json> {
        let found = value.and_then(Json::as_str);
        if words.iter().any(|word| Some(*word) == found) {
            return value.cloned();
        }
        let values = words.iter().map(|word| Json::from(*word)).collect();
        self.report(IssueKind::InvalidValue { values });
        None
    }

    fn map(
        &mut self,
        value: Option<&Json>,
        mut check: impl FnMut(&mut Self, &Json) -> Option<Json>,
    ) -> Option<Json> {
        let Some(Json::Object(object)) = value else {
            return self.wrong_type("record", value);
        };
        let mut checked = Object::new();
        // A record in JavaScript cannot set this key by accident, so the schema library skips it.
        for (key, value) in object.iter().filter(|(key, _)| *key != "__proto__") {
            self.path.push(key.to_owned());
            if let Some(value) = check(self, value) {
                checked.insert(key, value);
            }
            self.path.pop();
        }
        Some(checked.into())
    }

    /// Refuses the first number that is not finite, before anything else is said about the value.
    fn all_json(&mut self, value: Option<&Json>) -> Option<()> {
        fn find(value: &Json, path: &mut Path) -> bool {
            match value {
                Json::Number(number) => !number.as_f64().is_finite(),
                Json::Array(items) => items.iter().enumerate().any(|(index, item)| {
                    path.push(index);
                    let found = find(item, path);
                    if !found {
                        path.pop();
                    }
                    found
                }),
                Json::Object(members) => members.iter().any(|(key, member)| {
                    path.push(key.to_owned());
                    let found = find(member, path);
                    if !found {
                        path.pop();
                    }
                    found
                }),
                _ => false,
            }
        }
        let mut path = self.path.clone();
        if value.is_some_and(|value| find(value, &mut path)) {
            let kind = IssueKind::NotJson;
            self.issues.push(Issue { path, kind });
            return None;
        }
        Some(())
    }

    fn object(&mut self, open: bool, members: &[Member], object: &Object) -> Option<Json> {
        let before = self.issues.len();
        let mut checked = Object::new();
        for member in members {
            let value = object.get(member.key);
            if value.is_none() && member.optional {
                continue;
            }
            self.path.push(member.key);
            if let Some(value) = self.check(&member.shape, value) {
                checked.insert(member.key, value);
            }
            self.path.pop();
        }
        if open {
            for (key, value) in object.iter() {
                if !members.iter().any(|member| member.key == key) {
                    checked.insert(key, value.clone());
                }
            }
        }
        (self.issues.len() == before).then(|| checked.into())
    }

    fn tagged(
        &mut self,
        key: &'static str,
        shapes: &[(&'static str, Shape)],
        message: Option<&'static str>,
        value: &Json,
    ) -> Option<Json> {
        let tag = value.get(key).and_then(Json::as_str);
        if let Some((_, shape)) = shapes.iter().find(|(known, _)| Some(*known) == tag) {
            return self.check(shape, Some(value));
        }
        self.path.push(key);
        self.report(IssueKind::UnknownTag {
            key,
            options: shapes.iter().map(|(tag, _)| *tag).collect(),
            message,
        });
        self.path.pop();
        None
    }
}

/// What JavaScript and the schema library call the type of a value.
fn type_name(value: Option<&Json>) -> &'static str {
    match value {
        None => "undefined",
        Some(Json::Null) => "null",
        Some(Json::Bool(_)) => "boolean",
        Some(Json::Number(_)) => "number",
        Some(Json::String(_)) => "string",
        Some(Json::Array(_)) => "array",
        Some(Json::Object(_)) => "object",
    }
}
