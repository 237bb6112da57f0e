//! The prompt: messages and their parts.

use schemars::{Schema, SchemaGenerator};

use super::ProviderOptions;
use super::file::{FileData, StoredData};
use super::output::ToolOutput;
use crate::fault::{FaultKind, Faults};
use crate::json::{Json, Text};
use crate::path::Path;
use crate::typed::{Form, Reader, Typed, quoted, record, tagged};

/// A conversation, ready for a model. It may be empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt(pub Vec<Message>);

impl Prompt {
    /// Reads a prompt from JSON text, or gives every fault in it, with paths that start at `prompt`.
    pub fn parse(text: &str) -> Result<Self, Faults> {
        Self::from_value(Json::parse(text)?)
    }

    /// As [`Prompt::parse`], for JSON that was read already.
    pub fn from_value(value: Json) -> Result<Self, Faults> {
        Self::from_json_at(value, Path::root().join("prompt"))
    }

    /// The messages in order.
    pub fn messages(&self) -> &[Message] {
        &self.0
    }
}

impl Typed for Prompt {
    const EXPECTED: &'static str = "an array of messages";

    fn read(value: Json, reader: &mut Reader) -> Option<Self> {
        Vec::read(value, reader).map(Prompt)
    }

    fn write(&self, form: Form) -> Option<Json> {
        self.0.write(form)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Message>::schema(generator)
    }
}

impl FromIterator<Message> for Prompt {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        Prompt(messages.into_iter().collect())
    }
}

tagged! {
    /// A message. Its role decides which parts it can hold.
    pub enum Message, "a message", "role", list "give the array of messages itself" {
        /// Instructions.
        System(SystemMessage) = "system",
        /// What the user said.
        User(UserMessage) = "user",
        /// What the model said and called.
        Assistant(AssistantMessage) = "assistant",
        /// What the tools gave.
        Tool(ToolMessage) = "tool",
    }
}

impl Message {
    /// The options on the message as a whole.
    pub fn provider_options(&self) -> Option<&ProviderOptions> {
        match self {
            Message::System(message) => message.provider_options.as_ref(),
            Message::User(message) => message.provider_options.as_ref(),
            Message::Assistant(message) => message.provider_options.as_ref(),
            Message::Tool(message) => message.provider_options.as_ref(),
        }
    }
}

record! {
    /// Instructions. The only message whose content is plain text.
    pub struct SystemMessage, "a system message", "role" = "system" {
        required {
            /// The text.
            content: Text = "content",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// What the user said.
    pub struct UserMessage, "a user message", "role" = "user" {
        required {
            /// Texts and files; may be empty.
            content: Vec<UserPart> = "content",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// What the model said, thought, made and called.
    pub struct AssistantMessage, "an assistant message", "role" = "assistant" {
        required {
            /// The parts in order; may be empty.
            content: Vec<AssistantPart> = "content",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// What the tools gave, and what the user allowed.
    pub struct ToolMessage, "a tool message", "role" = "tool" {
        required {
            /// Results and approval responses; may be empty.
            content: Vec<ToolPart> = "content",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

tagged! {
    /// A part of a user message.
    pub enum UserPart, "a part of a user message", "type",
        list "wrap the text: [{\"type\":\"text\",\"text\":…}]"
    {
        /// Text.
        Text(TextPart) = "text",
        /// A file.
        File(FilePart) = "file",
    }
}

tagged! {
    /// A part of an assistant message.
    pub enum AssistantPart, "a part of an assistant message", "type",
        list "wrap the text: [{\"type\":\"text\",\"text\":…}]"
    {
        /// Text.
        Text(TextPart) = "text",
        /// A file that the model made.
        File(FilePart) = "file",
        /// Something only its provider understands.
        Custom(CustomPart) = "custom",
        /// A thought.
        Reasoning(ReasoningPart) = "reasoning",
        /// A file among the thoughts.
        ReasoningFile(ReasoningFilePart) = "reasoning-file",
        /// A call of a tool.
        ToolCall(ToolCallPart) = "tool-call",
        /// The result of a tool that the provider ran.
        ToolResult(ToolResultPart) = "tool-result",
    }
}

impl AssistantPart {
    /// The options on the part.
    pub fn provider_options(&self) -> Option<&ProviderOptions> {
        match self {
            AssistantPart::Text(part) => part.provider_options.as_ref(),
            AssistantPart::File(part) => part.provider_options.as_ref(),
            AssistantPart::Custom(part) => part.provider_options.as_ref(),
            AssistantPart::Reasoning(part) => part.provider_options.as_ref(),
            AssistantPart::ReasoningFile(part) => part.provider_options.as_ref(),
            AssistantPart::ToolCall(part) => part.provider_options.as_ref(),
            AssistantPart::ToolResult(part) => part.provider_options.as_ref(),
        }
    }
}

tagged! {
    /// A part of a tool message.
    pub enum ToolPart, "a part of a tool message", "type",
        list "wrap the result: [{\"type\":\"tool-result\",\"toolCallId\":…,\"toolName\":…,\"output\":…}]"
    {
        /// The result of a call.
        ToolResult(ToolResultPart) = "tool-result",
        /// Whether the user lets the provider run a tool.
        ApprovalResponse(ApprovalResponsePart) = "tool-approval-response",
    }
}

record! {
    /// Text.
    pub struct TextPart, "a text part", "type" = "text" {
        required {
            /// The text; may be empty.
            text: Text = "text",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// A file.
    pub struct FilePart, "a file part", "type" = "file" {
        required {
            /// Its media type: full (`image/png`), with a wildcard (`image/*`), or `image` alone.
            media_type: Text = "mediaType",
            /// The file.
            data: FileData = "data",
        }
        optional {
            /// Its name.
            filename: Text = "filename",
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// A thought. Redacted or signature-only thoughts have empty text and live in the options.
    pub struct ReasoningPart, "a reasoning part", "type" = "reasoning" {
        required {
            /// The text; may be empty.
            text: Text = "text",
        }
        optional {
            /// For providers: signatures, encrypted content, ids.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// A file among the thoughts.
    pub struct ReasoningFilePart, "a reasoning file part", "type" = "reasoning-file" {
        required {
            /// Its media type.
            media_type: Text = "mediaType",
            /// The file: bytes or a URL.
            data: StoredData = "data",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// Something only its provider understands.
    pub struct CustomPart, "a custom part", "type" = "custom" {
        required {
            /// Whose it is, and what.
            kind: CustomKind = "kind",
        }
        optional {
            /// Its payload.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// A call of a tool.
    pub struct ToolCallPart, "a tool call", "type" = "tool-call" {
        required {
            /// The id that its result repeats.
            tool_call_id: Text = "toolCallId",
            /// The tool.
            tool_name: Text = "toolName",
        }
        optional {
            /// What it is called with: usually an object, but strings, scalars, arrays, `null` and
            /// nothing at all occur, and providers tell them apart.
            input: Json = "input",
            /// Whether the provider runs the tool.
            provider_executed: bool = "providerExecuted",
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// The result of a tool call.
    pub struct ToolResultPart, "a tool result", "type" = "tool-result" {
        required {
            /// The id of the call.
            tool_call_id: Text = "toolCallId",
            /// The tool.
            tool_name: Text = "toolName",
            /// What it gave.
            output: ToolOutput = "output",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// The user's answer to a provider that asked whether it may run a tool.
    pub struct ApprovalResponsePart, "an approval response", "type" = "tool-approval-response" {
        required {
            /// The id of the request.
            approval_id: Text = "approvalId",
            /// Whether it may.
            approved: bool = "approved",
        }
        optional {
            /// Why, or why not.
            reason: Text = "reason",
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

/// The kind of a custom part: a provider and a name of its own, as in `openai.compaction`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CustomKind(Text);

impl CustomKind {
    /// A kind, if there is text on both sides of a dot.
    pub fn new(kind: impl Into<Text>) -> Option<Self> {
        let kind = kind.into();
        let (provider, name) = kind.split_once('.')?;
        (!provider.is_empty() && !name.is_empty()).then(|| CustomKind(kind.clone()))
    }

    /// The whole kind.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The provider it belongs to: the text before the first dot.
    pub fn provider(&self) -> &str {
        self.0.split_once('.').map_or(&*self.0, |(provider, _)| provider)
    }
}

impl Typed for CustomKind {
    const EXPECTED: &'static str = "a kind such as \"openai.compaction\"";

    fn read(value: Json, reader: &mut Reader) -> Option<Self> {
        let text = Text::read(value, reader)?;
        let kind = CustomKind::new(text.clone());
        if kind.is_none() {
            let mend = "put the provider's name and a dot in front";
            reader.fault(
                FaultKind::BadValue,
                quoted(&text),
                "text on both sides of a dot",
                mend,
            );
        }
        kind
    }

    fn write(&self, _: Form) -> Option<Json> {
        Some(Json::from(&self.0))
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[^.]+\\.[\\s\\S]+$" })
    }
}
