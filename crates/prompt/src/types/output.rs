//! What a tool gave: the output of a tool result.

use super::ProviderOptions;
use super::file::FileData;
use crate::json::{Json, Text};
use crate::typed::{record, tagged};

tagged! {
    /// The output of a tool result.
    pub enum ToolOutput, "a tool result output", "type" {
        /// Text.
        Text(TextOutput) = "text",
        /// Any JSON value.
        Json(JsonOutput) = "json",
        /// The user did not let the tool run.
        Denied(DeniedOutput) = "execution-denied",
        /// The tool failed, with a text.
        ErrorText(ErrorTextOutput) = "error-text",
        /// The tool failed, with a JSON value.
        ErrorJson(ErrorJsonOutput) = "error-json",
        /// Several texts and files.
        Content(ContentOutput) = "content",
    }
}

impl ToolOutput {
    /// The provider options on the output itself. Content has them on its items only.
    pub fn provider_options(&self) -> Option<&ProviderOptions> {
        match self {
            ToolOutput::Text(output) => output.provider_options.as_ref(),
            ToolOutput::Json(output) => output.provider_options.as_ref(),
            ToolOutput::Denied(output) => output.provider_options.as_ref(),
            ToolOutput::ErrorText(output) => output.provider_options.as_ref(),
            ToolOutput::ErrorJson(output) => output.provider_options.as_ref(),
            ToolOutput::Content(_) => None,
        }
    }
}

record! {
    /// Text.
    pub struct TextOutput, "a text output", "type" = "text" {
        required {
            /// The text; may be empty.
            value: Text = "value",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// Any JSON value, `null` included.
    pub struct JsonOutput, "a JSON output", "type" = "json" {
        required {
            /// The value.
            value: Json = "value",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// The user did not let the tool run.
    pub struct DeniedOutput, "a denied output", "type" = "execution-denied" {
        required {}
        optional {
            /// Why.
            reason: Text = "reason",
            /// For providers. OpenAI's `approvalId` here says that the denial was sent already.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// The tool failed, with a text.
    pub struct ErrorTextOutput, "an error text", "type" = "error-text" {
        required {
            /// What went wrong.
            value: Text = "value",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// The tool failed, with a JSON value.
    pub struct ErrorJsonOutput, "an error value", "type" = "error-json" {
        required {
            /// What went wrong.
            value: Json = "value",
        }
        optional {
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// Several texts and files.
    pub struct ContentOutput, "a content output", "type" = "content" {
        required {
            /// The items in order.
            value: Vec<ContentItem> = "value",
        }
        optional {}
    }
}

tagged! {
    /// An item of a content output.
    pub enum ContentItem, "an item of a content output", "type" {
        /// Text.
        Text(TextItem) = "text",
        /// A file.
        File(FileItem) = "file",
        /// Something only its provider understands.
        Custom(CustomItem) = "custom",
    }
}

impl ContentItem {
    /// The provider options of the item.
    pub fn provider_options(&self) -> Option<&ProviderOptions> {
        match self {
            ContentItem::Text(item) => item.provider_options.as_ref(),
            ContentItem::File(item) => item.provider_options.as_ref(),
            ContentItem::Custom(item) => item.provider_options.as_ref(),
        }
    }
}

record! {
    /// Text.
    pub struct TextItem, "a text item", "type" = "text" {
        required {
            /// The text.
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
    pub struct FileItem, "a file item", "type" = "file" {
        required {
            /// Its media type: full, with a wildcard, or the top level alone.
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
    /// Something only its provider understands. Unlike the assistant's custom part it has no kind.
    pub struct CustomItem, "a custom item", "type" = "custom" {
        required {}
        optional {
            /// Its payload.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}
