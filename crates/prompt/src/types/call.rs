//! What a caller asks of a model, besides the prompt.

use super::ProviderOptions;
use crate::json::{Json, Number, Object, Text};
use crate::typed::{Map, record, tagged, words};

record! {
    /// The options of a call. All are optional; absent means that the provider decides.
    pub struct CallOptions, "the options of a call" {
        required {}
        optional {
            /// The most tokens to generate.
            max_output_tokens: Number = "maxOutputTokens",
            /// How freely to sample.
            temperature: Number = "temperature",
            /// Texts that end the generation.
            stop_sequences: Vec<Text> = "stopSequences",
            /// Nucleus sampling.
            top_p: Number = "topP",
            /// Sampling from the best few tokens only.
            top_k: Number = "topK",
            /// Against repeating what stands in the prompt.
            presence_penalty: Number = "presencePenalty",
            /// Against repeating the same words.
            frequency_penalty: Number = "frequencyPenalty",
            /// Text or JSON.
            response_format: ResponseFormat = "responseFormat",
            /// For repeatable sampling.
            seed: Number = "seed",
            /// The tools the model may call.
            tools: Vec<Tool> = "tools",
            /// Which of them it may or must.
            tool_choice: ToolChoice = "toolChoice",
            /// Whether a stream shall hold the provider's own chunks too.
            include_raw_chunks: bool = "includeRawChunks",
            /// Headers for providers that speak HTTP.
            headers: Map<Text> = "headers",
            /// How much to think.
            reasoning: Reasoning = "reasoning",
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

tagged! {
    /// What the answer shall be.
    pub enum ResponseFormat, "a response format", "type" {
        /// Text.
        Text(TextFormat) = "text",
        /// JSON.
        Json(JsonFormat) = "json",
    }
}

record! {
    /// The answer shall be text.
    pub struct TextFormat, "the text format", "type" = "text" {
        required {}
        optional {}
    }
}

record! {
    /// The answer shall be JSON.
    pub struct JsonFormat, "the JSON format", "type" = "json" {
        required {}
        optional {
            /// The JSON Schema it shall follow.
            schema: Object = "schema",
            /// What it is called.
            name: Text = "name",
            /// What it is.
            description: Text = "description",
        }
    }
}

tagged! {
    /// A tool.
    pub enum Tool, "a tool", "type" {
        /// One that the caller runs.
        Function(FunctionTool) = "function",
        /// One that the provider has.
        Provider(ProviderTool) = "provider",
    }
}

impl Tool {
    /// The name under which the prompt calls it.
    pub fn name(&self) -> &Text {
        match self {
            Tool::Function(tool) => &tool.name,
            Tool::Provider(tool) => &tool.name,
        }
    }
}

record! {
    /// A tool that the caller runs.
    pub struct FunctionTool, "a function tool", "type" = "function" {
        required {
            /// Its name.
            name: Text = "name",
            /// The JSON Schema of its input.
            input_schema: Json = "inputSchema",
        }
        optional {
            /// What it does.
            description: Text = "description",
            /// Examples of its input.
            input_examples: Vec<InputExample> = "inputExamples",
            /// Whether the input must follow the schema.
            strict: bool = "strict",
            /// For providers.
            provider_options: ProviderOptions = "providerOptions",
        }
    }
}

record! {
    /// An example of a tool's input.
    pub struct InputExample, "an input example" {
        required {
            /// The input.
            input: Object = "input",
        }
        optional {}
    }
}

record! {
    /// A tool that a provider has, such as a web search.
    pub struct ProviderTool, "a provider tool", "type" = "provider" {
        required {
            /// Which one: `provider.name`.
            id: Text = "id",
            /// The name under which the prompt calls it.
            name: Text = "name",
            /// How it is set up.
            args: Object = "args",
        }
        optional {}
    }
}

tagged! {
    /// Which tools the model may or must call.
    pub enum ToolChoice, "a tool choice", "type" {
        /// As it likes.
        Auto(AutoChoice) = "auto",
        /// None.
        None(NoChoice) = "none",
        /// At least one.
        Required(RequiredChoice) = "required",
        /// This one.
        Tool(NamedChoice) = "tool",
    }
}

record! {
    /// The model calls tools as it likes.
    pub struct AutoChoice, "the choice auto", "type" = "auto" { required {} optional {} }
}

record! {
    /// The model calls no tool.
    pub struct NoChoice, "the choice none", "type" = "none" { required {} optional {} }
}

record! {
    /// The model calls a tool.
    pub struct RequiredChoice, "the choice required", "type" = "required" { required {} optional {} }
}

record! {
    /// The model calls this tool.
    pub struct NamedChoice, "the choice of one tool", "type" = "tool" {
        required {
            /// Its name.
            tool_name: Text = "toolName",
        }
        optional {}
    }
}

words! {
    /// How much a model shall think.
    pub enum Reasoning, "a reasoning level" {
        /// As the provider likes.
        ProviderDefault = "provider-default",
        /// Not at all.
        None = "none",
        /// As little as possible.
        Minimal = "minimal",
        /// Little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Very much.
        ExtraHigh = "xhigh",
        /// As much as possible.
        Max = "max",
    }
}

impl Reasoning {
    /// Whether the caller wants something other than the provider's default.
    pub fn is_custom(self) -> bool {
        self != Reasoning::ProviderDefault
    }
}
