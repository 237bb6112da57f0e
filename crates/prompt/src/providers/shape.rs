//! Shapes of JSON values, for options and results whose members have names of their own.
//!
//! The SDK checks such values with a schema that also drops every member it does not know. A
//! [`Shape`] is that schema as a constant; [`Shape::read`] gives the value with the known members
//! only, in the order of the shape, or the first thing that is wrong with it.

use crate::json::{Json, Object};

/// What a JSON value must look like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Anything.
    Any,
    /// A string.
    Text,
    /// A string with something in it.
    SomeText,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A whole number of at least this.
    Whole(i64),
    /// One of a few strings.
    Word(&'static [&'static str]),
    /// An object with any members.
    Object,
    /// The shape, or `null`.
    Nullable(&'static Shape),
    /// An array of values of the shape.
    List(&'static Shape),
    /// An object with free names and values of the shape.
    Map(&'static Shape),
    /// An object with these members; others are dropped.
    Fields(&'static [Field]),
    /// An object with these members; others are kept.
    Loose(&'static [Field]),
    /// The first of the shapes that fits.
    OneOf(&'static [Shape]),
}

/// A member of an object: its name, its shape and whether it must be there.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    key: &'static str,
    shape: Shape,
    is_needed: bool,
}

/// A member that must be there.
pub const fn need(key: &'static str, shape: Shape) -> Field {
    Field {
        key,
        shape,
        is_needed: true,
    }
}

/// A member that may be absent.
pub const fn may(key: &'static str, shape: Shape) -> Field {
    Field {
        key,
        shape,
        is_needed: false,
    }
}

impl Shape {
    /// The value without the members that the shape does not know, or what is wrong with it.
    pub fn read(&self, value: &Json) -> Result<Json, String> {
        let is_right = match (self, value) {
            (Shape::Any, _)
            | (Shape::Text, Json::String(_))
            | (Shape::Bool, Json::Bool(_))
            | (Shape::Number, Json::Number(_))
            | (Shape::Object, Json::Object(_))
            | (Shape::Nullable(_), Json::Null) => true,
            (Shape::SomeText, Json::String(text)) => !text.is_empty(),
            (Shape::Whole(least), Json::Number(number)) => {
                number.as_i64().is_some_and(|number| number >= *least)
            }
            (Shape::Word(words), Json::String(text)) => words.contains(&&**text),
            (Shape::Nullable(shape), value) => return shape.read(value),
            (Shape::List(shape), Json::Array(items)) => {
                let items: Result<Vec<Json>, String> = items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| shape.read(item).map_err(|fault| format!("[{at}] {fault}")))
                    .collect();
                return items.map(Json::Array);
            }
            (Shape::Map(shape), Json::Object(object)) => {
                let members: Result<Object, String> = object
                    .iter()
                    .map(|(key, item)| {
                        Ok((key, shape.read(item).map_err(|fault| format!("{key}: {fault}"))?))
                    })
                    .collect();
                return members.map(Json::Object);
            }
            (Shape::Fields(fields), Json::Object(object)) => {
                return read_fields(fields, object, Object::new()).map(Json::Object);
            }
            (Shape::Loose(fields), Json::Object(object)) => {
                return read_fields(fields, object, object.clone()).map(Json::Object);
            }
            (Shape::OneOf(shapes), value) => {
                let mut fault = String::new();
                for shape in *shapes {
                    match shape.read(value) {
                        Ok(value) => return Ok(value),
                        Err(found) => fault = found,
                    }
                }
                return Err(fault);
            }
            _ => false,
        };
        if is_right {
            Ok(value.clone())
        } else {
            Err(format!("must be {}, not {}", self.expected(), value.kind()))
        }
    }

    fn expected(&self) -> String {
        match self {
            Shape::Any => "a value".to_owned(),
            Shape::Text => "a string".to_owned(),
            Shape::SomeText => "a string with something in it".to_owned(),
            Shape::Bool => "true or false".to_owned(),
            Shape::Number => "a number".to_owned(),
            Shape::Whole(least) => format!("a whole number of at least {least}"),
            Shape::Word(words) => format!("one of {}", words.join(", ")),
            Shape::Object | Shape::Map(_) | Shape::Fields(_) | Shape::Loose(_) => "an object".to_owned(),
            Shape::List(_) => "an array".to_owned(),
            Shape::Nullable(shape) => format!("null or {}", shape.expected()),
            Shape::OneOf(_) => "of another shape".to_owned(),
        }
    }
}

fn read_fields(fields: &[Field], object: &Object, mut read: Object) -> Result<Object, String> {
    for field in fields {
        match object.get(field.key) {
            Some(value) => {
                let value = field
                    .shape
                    .read(value)
                    .map_err(|fault| format!("{}: {fault}", field.key))?;
                read.insert(field.key, value);
            }
            None if field.is_needed => return Err(format!("{} is missing", field.key)),
            None => {}
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape::Fields(&[
        need("type", Shape::Word(&["a", "b"])),
        may("n", Shape::Nullable(&Shape::Whole(2))),
        may("list", Shape::List(&Shape::Text)),
    ]);

    fn read(text: &str) -> Result<String, String> {
        SHAPE
            .read(&Json::parse(text).expect("JSON"))
            .map(|value| value.to_js())
    }

    #[test]
    fn keeps_what_it_knows_and_names_what_is_wrong() {
        assert_eq!(
            read(r#"{"x":1,"n":null,"type":"a"}"#),
            Ok(r#"{"type":"a","n":null}"#.to_owned())
        );
        assert_eq!(read("[]"), Err("must be an object, not an array".to_owned()));
        assert_eq!(read("{}"), Err("type is missing".to_owned()));
        assert_eq!(
            read(r#"{"type":"c"}"#),
            Err("type: must be one of a, b, not a string".to_owned())
        );
        assert_eq!(
            read(r#"{"type":"a","n":1}"#),
            Err("n: must be a whole number of at least 2, not a number".to_owned())
        );
        assert_eq!(
            read(r#"{"type":"a","list":["x",1]}"#),
            Err("list: [1] must be a string, not a number".to_owned())
        );
    }
}
