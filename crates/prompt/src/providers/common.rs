//! What several providers do alike.

use std::collections::HashMap;

use super::Profile;
use crate::error::SdkError;
use crate::json::{Json, Object, Text, object};
use crate::media_type;
use crate::path::Path;
use crate::typed::{Form, Typed};
use crate::types::output::{DeniedOutput, TextOutput};
use crate::types::prompt::{AssistantMessage, SystemMessage, ToolMessage, UserMessage};
use crate::types::{Inline, Message, Prompt, Reasoning, Tool, ToolOutput, Warning};

/// What a model is told about a tool that was not allowed to run, when nobody gave a reason.
pub const DENIED: &str = "Tool call execution denied.";

/// The path of a message.
pub fn message_path(message: usize) -> Path {
    Path::root().join("prompt").join(message)
}

/// The path of a part.
pub fn part_path(message: usize, part: usize) -> Path {
    message_path(message).join("content").join(part)
}

/// The path of an item in the content output of a tool result.
pub fn item_path(message: usize, part: usize, item: usize) -> Path {
    part_path(message, part).join("output").join("value").join(item)
}

/// Something typed as `JSON.stringify` writes it; the mended profile writes bytes as base64.
pub fn stringify(value: &impl Typed, profile: Profile) -> Text {
    let form = match profile {
        Profile::Exact => Form::Stringify,
        Profile::Fixed => Form::Wire,
    };
    value.to_json_as(form).to_js().into()
}

/// A file as a data URL. The base64 is shared, not copied.
pub fn data_url(media_type: &str, data: &Inline) -> Text {
    Text::joined(format!("data:{media_type};base64,"), data.to_base64())
}

/// How the text of a failed tool call is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorText {
    /// As it is: text plain, JSON as JSON text.
    Raw,
    /// As the JSON object `{"error": …}`.
    Wrapped,
}

/// A tool result as one text: the form that all chat-like APIs take.
pub fn output_text(output: &ToolOutput, errors: ErrorText, profile: Profile) -> Text {
    match output {
        ToolOutput::Text(TextOutput { value, .. }) => value.clone(),
        ToolOutput::Denied(DeniedOutput { reason, .. }) => reason.clone().unwrap_or_else(|| DENIED.into()),
        ToolOutput::Json(output) => stringify(&output.value, profile),
        ToolOutput::Content(output) => stringify(&output.value, profile),
        ToolOutput::ErrorText(output) => match errors {
            ErrorText::Raw => output.value.clone(),
            ErrorText::Wrapped => stringify(&Json::from(object! { "error": &output.value }), profile),
        },
        ToolOutput::ErrorJson(output) => match errors {
            ErrorText::Raw => stringify(&output.value, profile),
            ErrorText::Wrapped => stringify(&Json::from(object! { "error": &output.value }), profile),
        },
    }
}

/// The arguments of a tool call as JSON text: a string that is JSON already goes as it is, any other
/// value is stringified. Absent input gives nothing; the caller knows what that means.
pub fn arguments_text(input: Option<&Json>) -> Option<Text> {
    Some(match input? {
        Json::String(text) if Json::parse_secure(text).is_some() => text.clone(),
        value => value.to_js().into(),
    })
}

/// The arguments of a tool call as JSON text of an object; whatever is not one becomes `{}`.
pub fn arguments_object_text(input: Option<&Json>) -> Text {
    match input {
        Some(Json::String(text)) if matches!(Json::parse_secure(text), Some(Json::Object(_))) => text.clone(),
        Some(Json::Object(object)) => Json::from(object).to_js().into(),
        _ => "{}".into(),
    }
}

/// The input of a tool call as `JSON.stringify` writes it, so that a string is quoted once more even
/// if it is JSON. Absent input gives nothing. The mended profile does as [`arguments_text`].
pub fn arguments_stringified(input: Option<&Json>, profile: Profile) -> Option<Text> {
    match profile {
        Profile::Exact => Some(input?.to_js().into()),
        Profile::Fixed => arguments_text(input),
    }
}

/// Messages that one side says in a row, for APIs in which the sides must take turns.
#[derive(Debug)]
pub enum Block<'a> {
    /// Instructions.
    System(Vec<(usize, &'a SystemMessage)>),
    /// Everything that is not the model: users and tools.
    User(Vec<(usize, UserSide<'a>)>),
    /// The model.
    Assistant(Vec<(usize, &'a AssistantMessage)>),
}

/// A message of the user's side.
#[derive(Debug, Clone, Copy)]
pub enum UserSide<'a> {
    /// From the user.
    User(&'a UserMessage),
    /// From tools.
    Tool(&'a ToolMessage),
}

/// Groups messages into blocks of one side each. Every message keeps its position in the prompt.
pub fn blocks(prompt: &Prompt) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for (index, message) in prompt.messages().iter().enumerate() {
        match (message, blocks.last_mut()) {
            (Message::System(message), Some(Block::System(block))) => block.push((index, message)),
            (Message::User(message), Some(Block::User(block))) => {
                block.push((index, UserSide::User(message)))
            }
            (Message::Tool(message), Some(Block::User(block))) => {
                block.push((index, UserSide::Tool(message)))
            }
            (Message::Assistant(message), Some(Block::Assistant(block))) => block.push((index, message)),
            (Message::System(message), _) => blocks.push(Block::System(vec![(index, message)])),
            (Message::User(message), _) => blocks.push(Block::User(vec![(index, UserSide::User(message))])),
            (Message::Tool(message), _) => blocks.push(Block::User(vec![(index, UserSide::Tool(message))])),
            (Message::Assistant(message), _) => blocks.push(Block::Assistant(vec![(index, message)])),
        }
    }
    blocks
}

/// The names of a provider's own tools: a caller may give them other names, which the prompt then
/// uses.
#[derive(Debug, Default)]
pub struct ToolNames(HashMap<Text, &'static str>);

impl ToolNames {
    /// Collects the names from the tools of a call; `known` maps tool ids to the provider's names.
    pub fn new(tools: Option<&Vec<Tool>>, known: &[(&str, &'static str)]) -> Self {
        let named = tools.into_iter().flatten().filter_map(|tool| match tool {
            Tool::Provider(tool) => {
                let (_, name) = known.iter().find(|(id, _)| *id == &*tool.id)?;
                Some((tool.name.clone(), *name))
            }
            Tool::Function(_) => None,
        });
        ToolNames(named.collect())
    }

    /// The provider's name for a tool of the caller; its own name if it is not the provider's.
    pub fn to_provider<'a>(&self, name: &'a str) -> &'a str
    where
        'static: 'a,
    {
        self.0.get(name).copied().unwrap_or(name)
    }
}

/// The levels of effort from least to most, without `none`.
const LEVELS: [&str; 6] = ["minimal", "low", "medium", "high", "xhigh", "max"];

/// Maps a reasoning level to an effort that a model has: the level itself, else the next lower, else
/// the next higher. `efforts` gives the effort for each level the model has. An effort in the
/// provider's own options wins.
pub fn reasoning_effort(
    reasoning: Option<Reasoning>,
    efforts: &[(&'static str, &'static str)],
    own_option: Option<Text>,
    warn: &mut impl FnMut(Warning),
) -> Option<Text> {
    if own_option.is_some() {
        return own_option;
    }
    let wanted = reasoning.filter(|reasoning| reasoning.is_custom())?.as_str();
    let position = LEVELS.iter().position(|level| *level == wanted);
    let lower = LEVELS[..position.unwrap_or(0)].iter().rev();
    let higher = LEVELS[position.map_or(0, |position| position + 1)..].iter();
    let effort = std::iter::once(&wanted)
        .chain(lower)
        .chain(higher)
        .find_map(|level| efforts.iter().find(|(known, _)| known == level));
    let Some((_, effort)) = effort else {
        warn(Warning::unsupported_because(
            "reasoning",
            format!("reasoning \"{wanted}\" is not supported by this model."),
        ));
        return None;
    };
    if *effort != wanted {
        warn(Warning::compatibility(
            "reasoning",
            format!(
                "reasoning \"{wanted}\" is not directly supported by this model. mapped to effort \"{effort}\"."
            ),
        ));
    }
    Some((*effort).into())
}

/// A file that is neither inline nor at a URL where it must be one of them, or a media type that is
/// not handled: the error that names it.
pub fn unsupported_media_type(media_type: &str) -> SdkError {
    SdkError::unsupported(format!("file part media type {media_type}"))
}

/// The top-level type of a file's media type.
pub fn top_level(media_type: &Text) -> &str {
    media_type::top_level(media_type)
}

/// The text of an inline text file. Like JavaScript's `TextDecoder`, it drops a byte order mark and
/// replaces what is no UTF-8.
pub fn decoded(data: &Inline) -> Result<String, SdkError> {
    let bytes = data.to_bytes()?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// The words that ask a model for JSON, behind the instructions it has already. `suffix` replaces the
/// last line of those for a schema.
pub fn json_instruction(before: &str, schema: Option<&Object>, suffix: Option<&str>) -> Text {
    let mut lines = Vec::with_capacity(5);
    if !before.is_empty() {
        lines.extend([before.to_owned(), String::new()]);
    }
    match schema {
        Some(schema) => lines.extend([
            "JSON schema:".to_owned(),
            Json::from(schema).to_js(),
            suffix
                .unwrap_or("You MUST answer with a JSON object that matches the JSON schema above.")
                .to_owned(),
        ]),
        None => lines.push("You MUST answer with JSON.".to_owned()),
    }
    lines.join("\n").into()
}

/// What JavaScript finds in a table under a name that nobody put there, because every object has it: an
/// object, or a function, which JSON leaves out.
pub fn inherited(name: &str) -> Option<Option<Json>> {
    const FUNCTIONS: [&str; 11] = [
        "constructor",
        "hasOwnProperty",
        "isPrototypeOf",
        "propertyIsEnumerable",
        "toLocaleString",
        "toString",
        "valueOf",
        "__defineGetter__",
        "__defineSetter__",
        "__lookupGetter__",
        "__lookupSetter__",
    ];
    match name {
        "__proto__" => Some(Some(Object::new().into())),
        name => FUNCTIONS.contains(&name).then_some(None),
    }
}

/// Text without the blanks around it, as JavaScript's `trim` sees blanks: with U+FEFF, without U+0085.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// What JavaScript's `\s` and `trim` take for a blank.
pub fn is_blank(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

/// The level of reasoning for packages whose helpers do not know the level `max`: they warn and go on
/// without one. The mended profile keeps it.
pub fn without_max(
    reasoning: Option<Reasoning>,
    profile: Profile,
    warn: &mut impl FnMut(Warning),
) -> Option<Reasoning> {
    if reasoning == Some(Reasoning::Max) && profile == Profile::Exact {
        warn(Warning::unsupported_because(
            "reasoning",
            "reasoning \"max\" is not supported by this model.",
        ));
        return None;
    }
    reasoning
}

/// How many tokens a model may think for at a level: a share of its longest answer, within bounds.
/// `None` is for models that can do without thinking; the others get the least, with a warning.
pub fn reasoning_budget(
    reasoning: Reasoning,
    longest_answer: f64,
    most: f64,
    least: f64,
    warn: &mut impl FnMut(Warning),
) -> f64 {
    let share = match reasoning {
        Reasoning::Minimal => 0.02,
        Reasoning::Low => 0.1,
        Reasoning::Medium => 0.3,
        Reasoning::High => 0.6,
        Reasoning::ExtraHigh => 0.9,
        Reasoning::Max => 0.95,
        Reasoning::None | Reasoning::ProviderDefault => {
            warn(Warning::compatibility(
                "reasoning",
                format!(
                    "reasoning \"none\" is not supported by this model. mapped to the minimum reasoning budget \
                     of {least} tokens."
                ),
            ));
            return least;
        }
    };
    // JavaScript rounds halves up; the numbers here are positive.
    (longest_answer * share + 0.5).floor().max(least).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_tools_share_a_block_and_messages_keep_their_positions() {
        let prompt = Prompt::parse(
            r#"[{"role":"system","content":"s"},{"role":"user","content":[]},{"role":"tool","content":[]},
                {"role":"assistant","content":[]},{"role":"assistant","content":[]},{"role":"user","content":[]}]"#,
        )
        .expect("a prompt");
        let shape: Vec<String> = blocks(&prompt)
            .iter()
            .map(|block| match block {
                Block::System(messages) => format!(
                    "system {:?}",
                    messages.iter().map(|(at, _)| *at).collect::<Vec<_>>()
                ),
                Block::User(messages) => format!(
                    "user {:?}",
                    messages.iter().map(|(at, _)| *at).collect::<Vec<_>>()
                ),
                Block::Assistant(messages) => {
                    format!(
                        "assistant {:?}",
                        messages.iter().map(|(at, _)| *at).collect::<Vec<_>>()
                    )
                }
            })
            .collect();
        assert_eq!(
            shape,
            ["system [0]", "user [1, 2]", "assistant [3, 4]", "user [5]"]
        );
    }

    #[test]
    fn an_effort_the_model_lacks_becomes_the_next_lower_else_the_next_higher() {
        let efforts = [("low", "low"), ("high", "high")];
        let mut warnings = Vec::new();
        let mut effort =
            |reasoning| reasoning_effort(Some(reasoning), &efforts, None, &mut |w| warnings.push(w));
        assert_eq!(effort(Reasoning::Medium).as_deref(), Some("low"));
        assert_eq!(effort(Reasoning::Minimal).as_deref(), Some("low"));
        assert_eq!(effort(Reasoning::Max).as_deref(), Some("high"));
        assert_eq!(effort(Reasoning::None).as_deref(), Some("low"));
        assert_eq!(effort(Reasoning::ProviderDefault), None);
        assert_eq!(warnings.len(), 4);
    }

    #[test]
    fn arguments_in_all_three_forms() {
        let text = |json: &str| Json::parse(json).expect("JSON");
        assert_eq!(
            arguments_text(Some(&text(r#""{\"a\": 1}""#))).as_deref(),
            Some(r#"{"a": 1}"#)
        );
        assert_eq!(
            arguments_text(Some(&text(r#""no json""#))).as_deref(),
            Some(r#""no json""#)
        );
        assert_eq!(
            arguments_text(Some(&text(r#""{\"__proto__\":1}""#))).as_deref(),
            Some(r#""{\"__proto__\":1}""#)
        );
        assert_eq!(arguments_text(None), None);
        assert_eq!(&*arguments_object_text(Some(&text("[1]"))), "{}");
        let quoted = arguments_stringified(Some(&text(r#""{}""#)), Profile::Exact);
        assert_eq!(quoted.as_deref(), Some(r#""{}""#));
        let mended = arguments_stringified(Some(&text(r#""{}""#)), Profile::Fixed);
        assert_eq!(mended.as_deref(), Some("{}"));
    }
}
