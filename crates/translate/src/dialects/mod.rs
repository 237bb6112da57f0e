//! The dialects: one vendor, one file or folder, and one line in the table below.
//!
//! A dialect is chosen, from strong to weak, by a recording's header, the agent's own name in `agentInfo`, vendor
//! members of the answer to `initialize`, vendor methods seen, and the launch command; never from what is said.

use tapline_wire::RawValue;

use crate::dialect::Dialect;

mod claude;
mod cline;
mod codex;
mod deepagents;
mod fast_agent;
mod gemini;
mod grok;
mod hermes;
mod kimi;
mod omp;
mod opencode;
mod pi;
mod plain;
mod qwen;
mod table;
mod text;
mod vibe;

use self::table::Tabled;

/// How a dialect is known.
struct Entry {
    /// What the agent is called: words in lower case that stand beside each other in its name or in a program's name
    /// (`pi-acp` is the words `pi` and `acp`). One that begins with `=` must be all of the name.
    names: &'static [&'static str],
    /// Beginnings of methods that only this vendor uses, without the leading underscore.
    methods: &'static [&'static str],
    /// A member of the `_meta` of the answer to `initialize` that only this vendor sends.
    initialize_meta: Option<&'static str>,
    /// Members of its frames that are never stored: names of machines and processes, key hints.
    private_members: &'static [&'static str],
    make: fn() -> Box<dyn Dialect>,
}

/// An entry of a dialect that is known by its names alone.
const fn named(names: &'static [&'static str], make: fn() -> Box<dyn Dialect>) -> Entry {
    Entry {
        names,
        methods: &[],
        initialize_meta: None,
        private_members: &[],
        make,
    }
}

const TABLE: &[Entry] = &[
    Entry {
        names: &["grok"],
        methods: &["x.ai/"],
        initialize_meta: Some("grokShell"),
        private_members: grok::PRIVATE_MEMBERS,
        make: grok::make,
    },
    Entry {
        methods: &["qwencode/", "qwen/notify/"],
        ..named(&["qwen"], || Tabled::boxed(&qwen::TABLE))
    },
    named(&["claude"], || Tabled::boxed(&claude::TABLE)),
    named(&["codex"], || Tabled::boxed(&codex::TABLE)),
    named(&["gemini"], || Tabled::boxed(&gemini::TABLE)),
    named(&["opencode", "open-code"], || Tabled::boxed(&opencode::TABLE)),
    named(&["kilo", "kilocode"], || Tabled::boxed(&opencode::KILO)),
    named(&["kimi"], || Tabled::boxed(&kimi::TABLE)),
    named(&["cline"], || Tabled::boxed(&cline::TABLE)),
    named(&["omp", "oh-my-pi"], || Tabled::boxed(&omp::TABLE)),
    named(&["=pi", "pi-acp", "pi-coding-agent"], || {
        Tabled::boxed(&pi::TABLE)
    }),
    named(&["copilot"], || Tabled::boxed(&plain::COPILOT)),
    named(&["goose"], || Tabled::boxed(&plain::GOOSE)),
    named(&["cursor"], || Tabled::boxed(&plain::CURSOR)),
    named(&["deepagents", "deep-agents"], || {
        Tabled::boxed(&deepagents::TABLE)
    }),
    named(&["=fast", "fast-agent"], || Tabled::boxed(&fast_agent::TABLE)),
    named(&["=vibe", "vibe-acp", "mistral-vibe"], || {
        Tabled::boxed(&vibe::TABLE)
    }),
    named(&["hermes"], || Tabled::boxed(&hermes::TABLE)),
];

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
///
/// Of a command only the names of programs and packages count, and the first that is known wins: what follows may be
/// a folder or a model of another vendor's.
pub fn by_name(name: &str) -> Option<Box<dyn Dialect>> {
    let name = name.to_ascii_lowercase();
    let parts = name.split_whitespace().filter(|part| !part.starts_with('-'));
    let parts: Vec<Vec<&str>> = parts.map(program).collect();
    (0..parts.len()).find_map(|at| {
        let first = &parts[at];
        let said: Vec<&str> = parts[at..].iter().flatten().copied().collect();
        let is_called = |name: &str| match name.strip_prefix('=') {
            Some(name) => *first == words(name),
            None => (0..first.len()).any(|start| said[start..].starts_with(&words(name))),
        };
        let entry = TABLE.iter().find(|e| e.names.iter().any(|n| is_called(n)));
        entry.map(|e| (e.make)())
    })
}

/// The words of a program's name: of a path, or a package with a scope, only the last piece is one; a version may follow.
fn program(part: &str) -> Vec<&str> {
    let name = part.rsplit(['/', '\\']).next().unwrap_or(part);
    words(name.split('@').next().unwrap_or(name))
}

/// The words of a name.
fn words(name: &str) -> Vec<&str> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|w| !w.is_empty()).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_is_known_by_whole_words_of_names_and_programs() {
        let known = |name: &str| by_name(name).map_or("-", |d| d.name());
        for (name, dialect) in [
            ("claude", "claude"),
            ("@agentclientprotocol/claude-agent-acp", "claude"),
            ("npx -y @zed-industries/claude-agent-acp@0.23.1", "claude"),
            ("codex-acp", "codex"),
            ("gemini-cli", "gemini"),
            ("/opt/agents/kimi/bin/gemini --acp -m gemini-2.5-flash", "gemini"),
            ("OpenCode", "opencode"),
            ("opencode acp -m anthropic/claude-sonnet", "opencode"),
            ("Kilo", "kilo"),
            ("Kimi Code CLI", "kimi"),
            ("cline --acp", "cline"),
            ("pi", "pi"),
            ("pi-acp", "pi"),
            ("oh-my-pi", "omp"),
            ("Oh My Pi", "omp"),
            ("omp acp", "omp"),
            ("qwen --acp", "qwen"),
            ("copilot --acp", "copilot"),
            ("goose acp", "goose"),
            ("cursor-agent acp", "cursor"),
            ("python deepagents-serve.py", "deepagents"),
            ("fast", "fast-agent"),
            ("fast-agent-acp --model generic.fake-model --shell", "fast-agent"),
            ("vibe-acp", "vibe"),
            ("hermes-acp", "hermes"),
            ("generic", "-"),
            ("pipeline", "-"),
            ("api-server", "-"),
            ("raspberry pi-hole", "-"),
            ("fastapi", "-"),
            ("", "-"),
        ] {
            assert_eq!(known(name), dialect, "{name}");
        }
    }
}
