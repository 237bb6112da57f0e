//! The dialects: one vendor, one file or folder, and one line in the table below.
//!
//! A dialect is chosen, from strong to weak, by a recording's header, the agent's own name in `agentInfo`, vendor
//! members of the answer to `initialize`, vendor methods seen, and the launch command; never from what is said.

mod grok;

use tapline_wire::RawValue;

use crate::dialect::Dialect;

/// How a dialect is known.
struct Entry {
    /// Words of which one stands in the agent's name or launch command, in lower case.
    names: &'static [&'static str],
    /// Beginnings of methods that only this vendor uses, without the leading underscore.
    methods: &'static [&'static str],
    /// A member of the `_meta` of the answer to `initialize` that only this vendor sends.
    initialize_meta: Option<&'static str>,
    /// Members of its frames that are never stored: names of machines and processes, key hints.
    private_members: &'static [&'static str],
    make: fn() -> Box<dyn Dialect>,
}

const TABLE: &[Entry] = &[Entry {
    names: &["grok"],
    methods: &["x.ai/"],
    initialize_meta: Some("grokShell"),
    private_members: grok::PRIVATE_MEMBERS,
    make: grok::make,
}];

/// The dialect that knows nothing beyond the protocol.
#[derive(Debug, Default)]
pub struct Generic;

impl Dialect for Generic {
    fn name(&self) -> &'static str {
        "generic"
    }

    fn chunks_are_plain(&self) -> bool {
        true
    }
}

/// Members of vendors' frames that are never stored, whatever they hold.
pub fn private_members() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|e| e.private_members.iter().copied())
}

/// The dialect for an agent of which nothing is known.
pub fn generic() -> Box<dyn Dialect> {
    Box::new(Generic)
}

/// The dialect of the agent with this name, or with this launch command.
pub fn by_name(name: &str) -> Option<Box<dyn Dialect>> {
    let name = name.to_ascii_lowercase();
    TABLE
        .iter()
        .find(|e| e.names.iter().any(|n| name.contains(n)))
        .map(|e| (e.make)())
}

/// The dialect whose vendor alone uses this method.
pub fn by_method(method: &str) -> Option<Box<dyn Dialect>> {
    let bare = method.strip_prefix('_').unwrap_or(method);
    TABLE
        .iter()
        .find(|e| e.methods.iter().any(|m| bare.starts_with(m)))
        .map(|e| (e.make)())
}

/// The dialect whose vendor alone puts this into the answer to `initialize`.
pub fn by_initialize_meta(meta: &RawValue) -> Option<Box<dyn Dialect>> {
    let has = |name| tapline_wire::value::member(meta, name).is_some();
    TABLE
        .iter()
        .find(|e| e.initialize_meta.is_some_and(has))
        .map(|e| (e.make)())
}

/// Name of the dialect that is known by this name, for a hint.
pub fn known_name(name: &str) -> Option<&'static str> {
    by_name(name).map(|d| d.name())
}

/// Name of the dialect that a line of recorded traffic shows by a method that only its vendor uses.
pub fn sign_in(line: &str) -> Option<&'static str> {
    let shows = |e: &&Entry| {
        e.methods
            .iter()
            .any(|m| line.contains(&format!("\"_{m}")) || line.contains(&format!("\"method\":\"{m}")))
    };
    TABLE.iter().find(shows).map(|e| (e.make)().name())
}
