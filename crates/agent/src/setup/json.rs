//! Settings in JSON, with comments and trailing commas where the editor allows them.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

use super::{Edited, Editor, Request, SetupError};

/// Comments and trailing commas are what editors allow; what else a lenient reader would let pass they refuse, and so do we.
const READ: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// What stands in the settings under an agent's name.
enum Entry {
    /// A program and its arguments in members of their own.
    Command(String),
    /// All words in one list.
    Argv,
    /// A line that a shell reads.
    Line(String),
    /// It was wrapped before.
    Wrapped,
    /// The editor knows by itself how to start it.
    None,
}

pub(super) fn edit(editor: Editor, text: &str, request: &Request) -> Result<Edited, SetupError> {
    let name = editor.name();
    let member = editor.member().ok_or(SetupError::ByHand { editor: name })?;
    let form = |member: &str| SetupError::Form {
        editor: name,
        member: member.to_owned(),
    };
    let root = CstRootNode::parse(text, &READ).map_err(|error| SetupError::Broken {
        editor: name,
        reason: error.to_string(),
    })?;
    let top = root.object_value_or_create().ok_or_else(|| form("the whole"))?;
    let agents = top.object_value_or_create(member).ok_or_else(|| form(member))?;
    let mut edited = Edited {
        text: String::new(),
        wrapped: Vec::new(),
        added: Vec::new(),
        already: Vec::new(),
    };
    let known: Vec<(String, CstObjectProp)> = agents
        .properties()
        .into_iter()
        .filter_map(|prop| Some((prop.decoded_name()?, prop)))
        .collect();
    match &request.agent {
        Some(agent) => {
            let entry = known.iter().find(|(name, _)| name == agent).map(|(_, prop)| prop);
            let done = match entry {
                Some(prop) => wrap(editor, agent, prop, request, &mut edited)?,
                None => false,
            };
            if !done {
                if request.command.is_empty() {
                    let with_command: Vec<&str> = known
                        .iter()
                        .filter(|(_, prop)| !matches!(read(editor, prop), Some(Entry::None) | None))
                        .map(|(name, _)| name.as_str())
                        .collect();
                    return Err(SetupError::NoCommand {
                        agent: agent.clone(),
                        known: if with_command.is_empty() {
                            "none".to_owned()
                        } else {
                            with_command.join(", ")
                        },
                    });
                }
                add(editor, agent, &agents, entry, request);
                edited.added.push(agent.clone());
            }
        }
        None if !request.command.is_empty() => {
            let agent = request.agent();
            add(editor, agent, &agents, None, request);
            edited.added.push(agent.to_owned());
        }
        None => {
            for (agent, prop) in &known {
                wrap(editor, agent, prop, request, &mut edited)?;
            }
            if edited.wrapped.is_empty() && edited.already.is_empty() {
                return Err(SetupError::NoAgent);
            }
        }
    }
    edited.text = root.to_string();
    if !edited.text.ends_with('\n') && text.is_empty() {
        edited.text.push('\n');
    }
    Ok(edited)
}

/// Wraps an entry; says whether it has a command, wrapped now or before.
fn wrap(
    editor: Editor,
    agent: &str,
    prop: &CstObjectProp,
    request: &Request,
    edited: &mut Edited,
) -> Result<bool, SetupError> {
    let form = || SetupError::Form {
        editor: editor.name(),
        member: agent.to_owned(),
    };
    let object = prop.object_value().ok_or_else(form)?;
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| CstInputValue::from(*word))
            .collect::<Vec<_>>()
    };
    match read(editor, prop).ok_or_else(form)? {
        Entry::None => return Ok(false),
        Entry::Wrapped => {
            edited.already.push(agent.to_owned());
            return Ok(true);
        }
        Entry::Command(command) => {
            set(&object, "command", request.tapline.as_str().into());
            let before = words(&["wrap", "--", &command]);
            match object.get("args") {
                None => {
                    let after = object.get("command").map_or(0, |prop| prop.property_index() + 1);
                    object.insert(after, "args", CstInputValue::Array(before));
                }
                Some(args) => {
                    let args = args.array_value().ok_or_else(form)?;
                    put_before(args, before);
                }
            }
        }
        Entry::Argv => {
            let argv = object.array_value("argv").ok_or_else(form)?;
            put_before(argv, words(&[&request.tapline, "wrap", "--"]));
        }
        Entry::Line(line) => {
            let tapline = shell_word(&request.tapline);
            set(&object, "command", format!("{tapline} wrap -- {line}").into());
        }
    }
    edited.wrapped.push(agent.to_owned());
    Ok(true)
}

/// Puts words before those of a list, and keeps its lines and comments as they are.
fn put_before(list: CstArray, words: Vec<CstInputValue>) {
    let children = list.children();
    if children
        .iter()
        .any(|child| child.is_newline() || child.is_comment())
    {
        for (place, word) in words.into_iter().enumerate() {
            list.insert(place, word);
        }
        return;
    }
    // On one line it is written anew, with the blanks that people put there. All its items are strings, as was read before.
    let rest = list
        .elements()
        .into_iter()
        .filter_map(|item| item.as_string_lit()?.decoded_value().ok());
    let all = words.into_iter().chain(rest.map(CstInputValue::String)).collect();
    list.replace_with(CstInputValue::Array(all));
}

/// Reads an entry; nothing where it has a form of its own.
fn read(editor: Editor, prop: &CstObjectProp) -> Option<Entry> {
    let Some(Value::Object(entry)) = prop.value()?.to_serde_value() else {
        return None;
    };
    let list = |name: &str| -> Option<Vec<String>> {
        let items = entry.get(name)?.as_array()?;
        items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect()
    };
    if entry.contains_key("argv") {
        let argv = list("argv")?;
        return Some(match argv.get(..2) {
            Some([first, second]) if is_tapline(first) && second == "wrap" => Entry::Wrapped,
            _ if argv.is_empty() => Entry::None,
            _ => Entry::Argv,
        });
    }
    let command = match entry.get("command") {
        None => return Some(Entry::None),
        Some(command) => command.as_str()?.to_owned(),
    };
    let args = if entry.contains_key("args") {
        list("args")?
    } else {
        Vec::new()
    };
    // acpx alone gives a command without arguments to a shell; to the others it is a path, blanks included.
    let is_line = editor == Editor::Acpx && !entry.contains_key("args");
    let line_is_wrapped = command
        .split_once(" wrap -- ")
        .is_some_and(|(first, _)| is_line && is_tapline(first.trim_matches('\'')));
    Some(
        if line_is_wrapped || (is_tapline(&command) && args.first().is_some_and(|arg| arg == "wrap")) {
            Entry::Wrapped
        } else if is_line && command.contains(char::is_whitespace) {
            Entry::Line(command)
        } else {
            Entry::Command(command)
        },
    )
}

/// Adds an agent, or gives one that had no command its command.
fn add(editor: Editor, agent: &str, agents: &CstObject, entry: Option<&CstObjectProp>, request: &Request) {
    let wrapped = request.wrapped();
    let strings =
        |words: &[String]| CstInputValue::Array(words.iter().map(|word| word.as_str().into()).collect());
    let mut members = Vec::new();
    if editor == Editor::Acpx {
        members.push(("argv", strings(&wrapped)));
    } else {
        if editor == Editor::Zed {
            members.push(("type", "custom".into()));
        }
        members.push(("command", wrapped[0].as_str().into()));
        members.push(("args", strings(&wrapped[1..])));
    }
    match entry.and_then(CstObjectProp::object_value) {
        Some(object) => {
            for (name, value) in members {
                set(&object, name, value);
            }
        }
        None => {
            let members = members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            agents.append(agent, CstInputValue::Object(members));
        }
    }
}

fn set(object: &CstObject, name: &str, value: CstInputValue) {
    match object.get(name) {
        Some(prop) => prop.set_value(value),
        None => {
            object.append(name, value);
        }
    }
}

/// Whether a command is ours, under whatever path.
fn is_tapline(command: &str) -> bool {
    std::path::Path::new(command)
        .file_stem()
        .is_some_and(|name| name == "tapline")
}

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
