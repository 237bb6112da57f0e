//! The options under `providerOptions.anthropic`, as the SDK's schemas read them.

use crate::providers::shape::{Shape, may, need};

const EFFORT: Shape = Shape::Word(&["low", "medium", "high", "xhigh", "max"]);
const BINDING: Shape = Shape::Fields(&[need(
    "prefixMismatchBehavior",
    Shape::Word(&["error", "drop_block"]),
)]);
const SPEED: Shape = Shape::Word(&["fast", "standard"]);

/// The options of a call.
pub(super) const CALL: Shape = Shape::Fields(&[
    may("thread", THREAD),
    may("sendReasoning", Shape::Bool),
    may(
        "structuredOutputMode",
        Shape::Word(&["outputFormat", "jsonTool", "auto"]),
    ),
    may("includePings", Shape::Bool),
    may("thinking", THINKING),
    may("disableParallelToolUse", Shape::Bool),
    may("cacheControl", CACHE),
    may("metadata", Shape::Fields(&[may("userId", Shape::Text)])),
    may("mcpServers", Shape::List(&MCP_SERVER)),
    may("container", CONTAINER),
    may("toolStreaming", Shape::Bool),
    may("effort", EFFORT),
    may("taskBudget", TASK_BUDGET),
    may("speed", SPEED),
    may(
        "serviceTier",
        Shape::Word(&["auto", "standard_only", "standard", "priority"]),
    ),
    may("inferenceGeo", Shape::Word(&["us", "global"])),
    may(
        "fallbacks",
        Shape::OneOf(&[Shape::Word(&["default"]), Shape::List(&FALLBACK)]),
    ),
    may("anthropicBeta", Shape::List(&Shape::Text)),
    may("safeguards", Shape::List(&SAFEGUARD)),
    may("compaction", COMPACTION),
    may(
        "contextManagement",
        Shape::Fields(&[need("edits", Shape::List(&EDIT))]),
    ),
]);

const THREAD: Shape = Shape::OneOf(&[
    Shape::Fields(&[need("type", Shape::Word(&["create"]))]),
    Shape::Fields(&[
        need("type", Shape::Word(&["continue"])),
        need("previousMessageId", Shape::SomeText),
    ]),
]);

const THINKING: Shape = Shape::OneOf(&[
    Shape::Fields(&[
        need("type", Shape::Word(&["adaptive"])),
        may("display", Shape::Word(&["omitted", "summarized", "updates"])),
        may("blockBinding", BINDING),
    ]),
    Shape::Fields(&[
        need("type", Shape::Word(&["enabled"])),
        may("budgetTokens", Shape::Number),
    ]),
    Shape::Fields(&[need("type", Shape::Word(&["disabled", "between_tools"]))]),
    Shape::Fields(&[may("type", Shape::OneOf(&[])), need("blockBinding", BINDING)]),
]);

const CACHE: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["ephemeral"])),
    may("ttl", Shape::Word(&["5m", "1h"])),
]);

const MCP_SERVER: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["url"])),
    need("name", Shape::Text),
    need("url", Shape::Text),
    may("authorizationToken", Shape::Nullable(&Shape::Text)),
    may(
        "toolConfiguration",
        Shape::Nullable(&Shape::Fields(&[
            may("enabled", Shape::Nullable(&Shape::Bool)),
            may("allowedTools", Shape::Nullable(&Shape::List(&Shape::Text))),
        ])),
    ),
]);

const CONTAINER: Shape = Shape::Fields(&[
    may("id", Shape::Text),
    may(
        "skills",
        Shape::List(&Shape::OneOf(&[
            Shape::Fields(&[
                need("type", Shape::Word(&["anthropic"])),
                need("skillId", Shape::Text),
                may("version", Shape::Text),
            ]),
            Shape::Fields(&[
                need("type", Shape::Word(&["custom"])),
                need("providerReference", Shape::Map(&Shape::Text)),
                may("version", Shape::Text),
            ]),
        ])),
    ),
]);

const TASK_BUDGET: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["tokens"])),
    need("total", Shape::Whole(20_000)),
    may("remaining", Shape::Whole(0)),
]);

const FALLBACK: Shape = Shape::Fields(&[
    need("model", Shape::Text),
    may("max_tokens", Shape::Whole(i64::MIN)),
    may("thinking", Shape::Object),
    may("output_config", Shape::Object),
    may("speed", SPEED),
]);

const SAFEGUARD: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["dangerous_tool_use"])),
    may("classifierContext", Shape::Object),
]);

const COMPACTION: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["summarize"])),
    may("instructions", Shape::Text),
]);

const INPUT_TOKENS: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["input_tokens"])),
    need("value", Shape::Number),
]);
const TOOL_USES: Shape = Shape::Fields(&[
    need("type", Shape::Word(&["tool_uses"])),
    need("value", Shape::Number),
]);

const EDIT: Shape = Shape::OneOf(&[
    Shape::Fields(&[
        need("type", Shape::Word(&["clear_tool_uses_20250919"])),
        may("trigger", Shape::OneOf(&[INPUT_TOKENS, TOOL_USES])),
        may("keep", TOOL_USES),
        may("clearAtLeast", INPUT_TOKENS),
        may("clearToolInputs", Shape::Bool),
        may("excludeTools", Shape::List(&Shape::Text)),
    ]),
    Shape::Fields(&[
        need("type", Shape::Word(&["clear_thinking_20251015"])),
        may(
            "keep",
            Shape::OneOf(&[
                Shape::Word(&["all"]),
                Shape::Fields(&[
                    need("type", Shape::Word(&["thinking_turns"])),
                    need("value", Shape::Number),
                ]),
            ]),
        ),
    ]),
    Shape::Fields(&[
        need("type", Shape::Word(&["compact_20260112"])),
        may("trigger", INPUT_TOKENS),
        may("pauseAfterCompaction", Shape::Bool),
        may("instructions", Shape::Text),
    ]),
]);

/// The options of a system message.
pub(super) const SYSTEM: Shape = Shape::Fields(&[
    may("clearAt", Shape::Word(&["next_user_message"])),
    may("effort", EFFORT),
    may(
        "toolChanges",
        Shape::List(&Shape::OneOf(&[
            Shape::Fields(&[
                need("type", Shape::Word(&["tool_addition"])),
                need("toolName", Shape::Text),
            ]),
            Shape::Fields(&[
                need("type", Shape::Word(&["tool_addition"])),
                need(
                    "tool",
                    Shape::OneOf(&[
                        Shape::Loose(&[
                            need("type", Shape::Word(&["function"])),
                            need("name", Shape::Text),
                            need("inputSchema", Shape::Object),
                        ]),
                        Shape::Loose(&[
                            need("type", Shape::Word(&["provider"])),
                            need("id", Shape::Text),
                            need("name", Shape::Text),
                            need("args", Shape::Object),
                        ]),
                    ]),
                ),
            ]),
            Shape::Fields(&[
                need("type", Shape::Word(&["tool_removal"])),
                need("toolName", Shape::Text),
            ]),
        ])),
    ),
]);

/// The options of a file part.
pub(super) const FILE: Shape = Shape::Fields(&[
    may("containerUpload", Shape::Bool),
    may("citations", Shape::Fields(&[need("enabled", Shape::Bool)])),
    may("title", Shape::Text),
    may("context", Shape::Text),
]);

/// The options of a thought.
pub(super) const REASONING: Shape =
    Shape::Fields(&[may("signature", Shape::Text), may("redactedData", Shape::Text)]);
