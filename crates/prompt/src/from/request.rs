//! Reading a request member by member, with an account of what was not read.

use std::borrow::Cow;

use super::Lost;
use crate::fault::{Fault, FaultKind, Faults};
use crate::json::{Json, Number, Object, Text, object};
use crate::model_messages::file_data;
use crate::path::{Path, Step};
use crate::typed::quoted;
use crate::types::file::DataFile;
use crate::types::{FileData, ProviderOptions};

/// What stands behind the media type of a data URL that is base64.
const BASE64_MARK: &str = ";base64";

/// Where a reader is, and what it has found so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    path: Path,
    faults: Vec<Fault>,
    lost: Vec<Lost>,
}

/// The members of an object. Those that nobody takes are reported as lost by [`Reader::rest`].
pub(super) struct Fields<'a> {
    object: &'a Object,
    taken: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Takes a member; `null` counts as absent.
    pub(super) fn take(&mut self, key: &'static str) -> Option<&'a Json> {
        self.taken.push(key);
        self.object.get(key).filter(|value| !value.is_null())
    }

    /// Looks at a member without taking it.
    pub(super) fn peek(&self, key: &str) -> Option<&'a Json> {
        self.object.get(key).filter(|value| !value.is_null())
    }
}

impl Reader {
    /// Reads something one step deeper.
    pub(super) fn within<T>(&mut self, step: impl Into<Step>, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let value = read(self);
        self.path.pop();
        value
    }

    /// Reports a fault here.
    pub(super) fn fault(&mut self, kind: FaultKind, found: impl Into<String>, allowed: &str, mend: &str) {
        self.faults.push(Fault {
            path: self.path.clone(),
            kind,
            found: found.into(),
            allowed: allowed.to_owned(),
            mend: mend.to_owned(),
        });
    }

    /// Reports that what stands here is not what must.
    pub(super) fn wrong(&mut self, found: Option<&Json>, allowed: &str) {
        match found {
            None | Some(Json::Null) => self.fault(FaultKind::Missing, "nothing", allowed, "add the member"),
            Some(other) => {
                let mend = format!("give {allowed} instead");
                self.fault(FaultKind::WrongType, other.kind(), allowed, &mend);
            }
        }
    }

    /// Reports that what stands here cannot be carried over.
    pub(super) fn lost(&mut self, why: impl Into<Cow<'static, str>>) {
        self.lost.push(Lost {
            path: self.path.clone(),
            why: why.into(),
        });
    }

    /// As [`Reader::lost`], for a member.
    pub(super) fn lost_at(&mut self, step: impl Into<Step>, why: impl Into<Cow<'static, str>>) {
        self.within(step, |reader| reader.lost(why));
    }

    /// Everything that was lost, or all faults.
    pub(super) fn finish(self) -> Result<Vec<Lost>, Faults> {
        if self.faults.is_empty() {
            Ok(self.lost)
        } else {
            Err(Faults::from(self.faults))
        }
    }

    /// The members of an object that must stand here.
    pub(super) fn fields<'a>(&mut self, value: &'a Json, what: &str) -> Option<Fields<'a>> {
        match value {
            Json::Object(object) => Some(Fields {
                object,
                taken: Vec::new(),
            }),
            other => {
                self.wrong(Some(other), what);
                None
            }
        }
    }

    /// Reports the members that nobody took.
    pub(super) fn rest(&mut self, fields: Fields<'_>) {
        for (key, value) in fields.object.iter() {
            if !value.is_null() && !fields.taken.contains(&key) {
                self.lost_at(key.to_owned(), "a prompt has no place for it");
            }
        }
    }

    /// A text that must be there.
    pub(super) fn text(&mut self, fields: &mut Fields<'_>, key: &'static str) -> Option<Text> {
        match fields.take(key) {
            Some(Json::String(text)) => Some(text.clone()),
            other => {
                self.within(key, |reader| reader.wrong(other, "a string"));
                None
            }
        }
    }

    /// A text that may be there.
    pub(super) fn optional_text(&mut self, fields: &mut Fields<'_>, key: &'static str) -> Option<Text> {
        self.optional(fields, key, "a string", |value| value.as_text().cloned())
    }

    /// A number that may be there.
    pub(super) fn optional_number(&mut self, fields: &mut Fields<'_>, key: &'static str) -> Option<Number> {
        self.optional(fields, key, "a number", |value| value.as_number().cloned())
    }

    /// A boolean that may be there.
    pub(super) fn optional_bool(&mut self, fields: &mut Fields<'_>, key: &'static str) -> Option<bool> {
        self.optional(fields, key, "true or false", Json::as_bool)
    }

    fn optional<T>(
        &mut self,
        fields: &mut Fields<'_>,
        key: &'static str,
        what: &str,
        read: impl FnOnce(&Json) -> Option<T>,
    ) -> Option<T> {
        let value = fields.take(key)?;
        let read = read(value);
        if read.is_none() {
            self.within(key, |reader| reader.wrong(Some(value), what));
        }
        read
    }

    /// Reads every item of an array that may stand in a member.
    pub(super) fn each<T>(
        &mut self,
        fields: &mut Fields<'_>,
        key: &'static str,
        mut read: impl FnMut(&mut Self, &Json) -> Option<T>,
    ) -> Option<Vec<T>> {
        let value = fields.take(key)?;
        self.within(key, |reader| reader.items(value, &mut read))
    }

    /// Reads every item of an array that must stand here.
    pub(super) fn items<T>(
        &mut self,
        value: &Json,
        mut read: impl FnMut(&mut Self, &Json) -> Option<T>,
    ) -> Option<Vec<T>> {
        let Json::Array(items) = value else {
            self.wrong(Some(value), "an array");
            return None;
        };
        let read = items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| self.within(index, |reader| read(reader, item)));
        Some(read.collect())
    }

    /// A part of one of these kinds, which is text with OpenAI's mark of what is cached.
    pub(super) fn marked_text(
        &mut self,
        part: &Json,
        kinds: &[&str],
        usual: &str,
    ) -> Option<(Text, Option<Json>)> {
        let mut fields = self.fields(part, "a text part")?;
        let kind = fields.take("type");
        if !kind
            .and_then(Json::as_str)
            .is_some_and(|kind| kinds.contains(&kind))
        {
            self.unknown_tag("type", kind, usual);
            return None;
        }
        let text = self.text(&mut fields, "text")?;
        let mark = fields.take("prompt_cache_breakpoint").cloned();
        self.rest(fields);
        Some((text, mark))
    }

    /// Texts: one, or an array of them.
    pub(super) fn texts(&mut self, fields: &mut Fields<'_>, key: &'static str) -> Option<Vec<Text>> {
        if let Some(Json::String(text)) = fields.peek(key) {
            fields.take(key);
            return Some(vec![text.clone()]);
        }
        self.each(fields, key, |reader, item| match item {
            Json::String(text) => Some(text.clone()),
            other => {
                reader.wrong(Some(other), "a string");
                None
            }
        })
    }

    /// Reports a tag that is not known here.
    pub(super) fn unknown_tag(&mut self, key: &'static str, found: Option<&Json>, allowed: &str) {
        self.within(key, |reader| match found {
            Some(Json::String(tag)) => reader.fault(
                FaultKind::UnknownTag,
                quoted(tag),
                allowed,
                "use one of the allowed values",
            ),
            other => reader.wrong(other, allowed),
        });
    }

    /// The file at a URL or in a data URL, with its media type: that of the data URL, or the one given.
    pub(super) fn file_at(&mut self, url: &Text, otherwise: &str) -> Option<(FileData, Text)> {
        let is_data_url = |head: &str| {
            head.get(..5)
                .is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
        };
        if let Some((head, _)) = url.split_once(',')
            && is_data_url(head)
        {
            let Some(kind) = head.len().checked_sub(BASE64_MARK.len()).filter(|end| {
                head.get(*end..)
                    .is_some_and(|mark| mark.eq_ignore_ascii_case(BASE64_MARK))
            }) else {
                let found = "a data URL that is not base64";
                self.fault(
                    FaultKind::BadValue,
                    found,
                    "a base64 data URL",
                    "encode the data as base64",
                );
                return None;
            };
            let media_type = head.get(5..kind).filter(|media_type| !media_type.is_empty());
            let data = DataFile::new(url.slice(head.len() + 1, url.len()));
            return Some((data.into(), media_type.unwrap_or(otherwise).into()));
        }
        let tagged = Json::from(object! { "type": "url", "url": url });
        match file_data::normalize(Some(&tagged)) {
            Ok((data, _)) => Some((data, otherwise.into())),
            Err(error) => {
                let found = format!("{} ({error})", quoted(url));
                self.fault(
                    FaultKind::BadValue,
                    found,
                    "a URL or a data URL",
                    "give the whole URL",
                );
                None
            }
        }
    }
}

/// The options of one provider, unless there are none.
pub(super) fn options_of(provider: &str, options: Object) -> Option<ProviderOptions> {
    (!options.is_empty()).then(|| {
        let mut map = ProviderOptions::new();
        map.insert(provider, options);
        map
    })
}

/// The value that the arguments of a call spell, or their text if that is no JSON. Nothing at all stands
/// for an empty object.
pub(super) fn arguments(text: &Text) -> Json {
    if text.trim().is_empty() {
        return Object::new().into();
    }
    Json::parse_secure(text).unwrap_or_else(|| text.into())
}

/// Names of members in camel case, as the SDK's options have them. The insides of members whose names
/// are in `opaque` are the caller's own and stay.
pub(super) fn camel_cased(value: &Json, opaque: &[&str]) -> Json {
    match value {
        Json::Object(object) => camel_case_members(object, opaque).into(),
        Json::Array(items) => Json::Array(items.iter().map(|item| camel_cased(item, opaque)).collect()),
        other => other.clone(),
    }
}

/// As [`camel_cased`], for an object.
pub(super) fn camel_case_members(object: &Object, opaque: &[&str]) -> Object {
    object
        .iter()
        .map(|(key, value)| {
            let value = if opaque.contains(&key) {
                value.clone()
            } else {
                camel_cased(value, opaque)
            };
            (camel_case(key), value)
        })
        .collect()
}

fn camel_case(key: &str) -> String {
    let mut camel = String::with_capacity(key.len());
    let mut after_underscore = false;
    for character in key.chars() {
        match character {
            '_' if !camel.is_empty() => after_underscore = true,
            _ if std::mem::take(&mut after_underscore) => camel.extend(character.to_uppercase()),
            _ => camel.push(character),
        }
    }
    camel
}
