//! The members of a record that its type does not show: their order, and the unknown ones.

use crate::json::{Json, Object};

/// The order in which a record's members stood in its document, and the members its type does not
/// know. A record made by hand has the order of its type and nothing unknown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Members(Vec<Member>);

#[derive(Debug, Clone, PartialEq)]
enum Member {
    Known(&'static str),
    Unknown(Box<str>, Json),
}

impl Members {
    /// Known members in an order other than that of the type. Those not named follow at the end.
    pub fn in_order(keys: impl IntoIterator<Item = &'static str>) -> Self {
        Members(keys.into_iter().map(Member::Known).collect())
    }

    /// The members that the type does not know, in their order.
    pub fn unknown(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.0.iter().filter_map(|member| match member {
            Member::Known(_) => None,
            Member::Unknown(key, value) => Some((&**key, value)),
        })
    }

    /// The unknown member of that name.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.unknown()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value)
    }

    /// Adds a member that the type does not know, at the end.
    pub fn push(&mut self, key: impl Into<Box<str>>, value: impl Into<Json>) {
        self.0.push(Member::Unknown(key.into(), value.into()));
    }

    /// Puts the members of a record into their order, the unknown ones in their places.
    pub(crate) fn arrange<const N: usize>(&self, mut known: [(&'static str, Option<Json>); N]) -> Object {
        let mut object = Object::new();
        for member in &self.0 {
            match member {
                Member::Known(key) => {
                    let value = known.iter_mut().find(|(name, _)| name == key);
                    object.insert_some(*key, value.and_then(|(_, value)| value.take()));
                }
                Member::Unknown(key, value) => object.insert(key.clone(), value.clone()),
            }
        }
        for (key, value) in known {
            object.insert_some(key, value);
        }
        object
    }
}

/// The values of a record while it is being read, each to be taken once.
pub(crate) struct Slots<const N: usize> {
    keys: [&'static str; N],
    values: [Option<Json>; N],
}

impl<const N: usize> Slots<N> {
    /// Sorts the members of an object into the slots for `keys`; what is left over goes, with the
    /// order if it is not that of `keys`, into the [`Members`].
    pub(crate) fn fill(keys: [&'static str; N], object: Object) -> (Self, Members) {
        let mut values = std::array::from_fn(|_| None);
        let mut order = Vec::new();
        let mut as_declared = true;
        let mut last = None;
        for (key, value) in object {
            match keys.iter().position(|known| **known == *key) {
                Some(slot) => {
                    as_declared &= last.is_none_or(|last| last < slot);
                    last = Some(slot);
                    values[slot] = Some(value);
                    order.push(Member::Known(keys[slot]));
                }
                None => {
                    as_declared = false;
                    order.push(Member::Unknown(key, value));
                }
            }
        }
        (
            Slots { keys, values },
            Members(if as_declared { Vec::new() } else { order }),
        )
    }

    /// The value of a member, if it is there and was not taken yet.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Json> {
        let slot = self.keys.iter().position(|known| *known == key)?;
        self.values[slot].take()
    }
}
