//! Lenient readers of raw JSON values.
//!
//! A value is looked at only when somebody needs it, and then only as deep as needed. A value of the wrong type is
//! no value; nothing here fails.

use std::borrow::Cow;

use crate::raw::RawValue;

use crate::cursor::Cursor;

/// The text of a string. Half of a surrogate pair, which JSON can spell and text cannot hold, becomes U+FFFD.
pub fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    Cursor::within(raw).text().ok().flatten()
}

/// What names something: the text of a string, or a number in its own spelling.
pub fn name(raw: &RawValue) -> Option<Cow<'_, str>> {
    match raw.get().as_bytes().first()? {
        b'-' | b'0'..=b'9' => Some(Cow::Borrowed(raw.get())),
        _ => text(raw),
    }
}

/// A whole number from 0 on, also where it is spelled `5.0` or `5e0`; never one in a string.
pub fn u64(raw: &RawValue) -> Option<u64> {
    let source = raw.get();
    if let Ok(number) = source.parse::<u64>() {
        // `parse` takes a leading plus sign, but JSON has none.
        return Some(number);
    }
    let number = whole(source)?;
    (0.0..18_446_744_073_709_551_616.0)
        .contains(&number)
        .then_some(number as u64)
}

/// A whole number, also where it is spelled `5.0` or `5e0`; never one in a string.
pub fn i64(raw: &RawValue) -> Option<i64> {
    let source = raw.get();
    if let Ok(number) = source.parse::<i64>() {
        return Some(number);
    }
    let number = whole(source)?;
    (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0)
        .contains(&number)
        .then_some(number as i64)
}

/// Any number.
pub fn f64(raw: &RawValue) -> Option<f64> {
    let source = raw.get();
    matches!(source.as_bytes().first()?, b'-' | b'0'..=b'9').then(|| source.parse().ok())?
}

fn whole(source: &str) -> Option<f64> {
    matches!(source.as_bytes().first()?, b'-' | b'0'..=b'9').then_some(())?;
    source
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && number.fract() == 0.0)
}

/// A truth value.
pub fn bool(raw: &RawValue) -> Option<bool> {
    match raw.get() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Whether the value is `null`.
pub fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

/// Whether the value is an object.
pub fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

/// Whether the value is an array.
pub fn is_array(raw: &RawValue) -> bool {
    raw.get().starts_with('[')
}

/// The items of an array; none if the value is no array.
pub fn array(raw: &RawValue) -> Items<'_> {
    let mut cursor = Cursor::within(raw);
    let open = cursor.eat(b'[') && !cursor.eat(b']');
    Items { cursor, open }
}

/// The members of an object in their order; none if the value is no object.
pub fn members(raw: &RawValue) -> Members<'_> {
    Members::new(raw.get())
}

/// The member `name` of an object; of several the last. `null` is a value here, so that it can be told from absent.
pub fn member<'a>(raw: &'a RawValue, name: &str) -> Option<&'a RawValue> {
    members(raw)
        .filter(|(key, _)| key == name)
        .last()
        .map(|(_, value)| value)
}

/// Several members of an object in one walk; each as [`member`] gives it.
pub fn pick<'a, const N: usize>(raw: &'a RawValue, names: [&str; N]) -> [Option<&'a RawValue>; N] {
    let mut picked = [None; N];
    for (key, value) in members(raw) {
        if let Some(place) = names.iter().position(|name| key == *name) {
            picked[place] = Some(value);
        }
    }
    picked
}

/// The value at the end of a path of members, in one walk; each step as [`member`] takes it.
pub fn path<'a>(raw: &'a RawValue, names: &[&str]) -> Option<&'a RawValue> {
    Cursor::within(raw).follow(names).ok().flatten()
}

/// The text of the member `name`.
pub fn member_text<'a>(raw: &'a RawValue, name: &str) -> Option<Cow<'a, str>> {
    member(raw, name).and_then(text)
}

/// The items of an array, one raw value after the other.
#[derive(Debug, Clone)]
pub struct Items<'a> {
    cursor: Cursor<'a>,
    open: bool,
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a RawValue;

    fn next(&mut self) -> Option<&'a RawValue> {
        if !self.open {
            return None;
        }
        let item = self.cursor.raw().ok();
        self.open = item.is_some() && self.cursor.eat(b',');
        item
    }
}

/// The members of an object, one name and raw value after the other.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    cursor: Cursor<'a>,
    open: bool,
}

impl<'a> Members<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut cursor = Cursor::trusting(text);
        let open = cursor.eat(b'{') && !cursor.eat(b'}');
        Self { cursor, open }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, &'a RawValue);

    fn next(&mut self) -> Option<Self::Item> {
        if !self.open {
            return None;
        }
        let key = self.cursor.key().ok();
        let member = key.and_then(|key| Some((key, self.cursor.raw().ok()?)));
        self.open = member.is_some() && self.cursor.eat(b',');
        member
    }
}
