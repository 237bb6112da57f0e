//! Requests of other APIs to prompts: realistic requests, what is lost, and the way back.

mod common;

use tapline_prompt::error::SdkError;
use tapline_prompt::fault::Faults;
use tapline_prompt::from::{self, Imported};
use tapline_prompt::json::{Json, Object};
use tapline_prompt::providers::{Call, Profile, Target};
use tapline_prompt::typed::Typed;
use tapline_prompt::types::{CallOptions, Prompt};

fn parse(text: &str) -> Json {
    Json::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn lost(imported: &Imported) -> Vec<String> {
    imported.lost.iter().map(|lost| lost.path.to_string()).collect()
}

fn paths(faults: &Faults) -> Vec<String> {
    faults
        .iter()
        .map(|fault| format!("{} {}", fault.path, fault.kind.code()))
        .collect()
}

/// Checks what an import gives, as JSON with the members in any order.
fn assert_json(got: &Json, want: &str) {
    let difference = common::difference(&parse(want), got);
    assert_eq!(difference, None, "\n got {got}");
}

#[test]
fn a_chat_request_with_everything() {
    let request = parse(
        r#"{
        "model": "gpt-4o", "stream": true, "stream_options": {"include_usage": true},
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "terse."}]},
            {"role": "user", "name": "ann", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.jpg"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}},
                {"type": "file", "file": {"file_id": "file-1"}}
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"n\":1.0}"}},
                {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "{1}"}}
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
            {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "ok"}]},
            {"role": "assistant", "content": "A cat.", "reasoning_content": "hm", "annotations": [{"x": 1}]}
        ],
        "max_completion_tokens": 100, "temperature": 0.5, "top_p": 1, "stop": "END", "seed": 7, "n": 2,
        "presence_penalty": 0.1, "frequency_penalty": 0.2, "reasoning_effort": "low", "user": "u1",
        "parallel_tool_calls": false, "logprobs": true, "top_logprobs": 3,
        "response_format": {"type": "json_schema", "json_schema": {"name": "out", "schema": {"type": "object"}}},
        "tools": [
            {"type": "function", "function": {"name": "look", "description": "Looks", "strict": true,
                "parameters": {"type": "object", "properties": {"n": {"type": "number"}}}}},
            {"type": "custom", "custom": {"name": "run", "format": {"type": "text"}}}
        ],
        "tool_choice": {"type": "function", "function": {"name": "look"}}
    }"#,
    );
    let imported = from::openai_chat(&request).expect("a request");
    assert_json(
        &imported.prompt.to_json(),
        r#"[
        {"role": "system", "content": "Be terse."},
        {"role": "user", "providerOptions": {"openai": {"name": "ann"}}, "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": "iVBORw0K"},
                "providerOptions": {"openai": {"imageDetail": "low"}}},
            {"type": "file", "mediaType": "image/*", "data": {"type": "url", "url": "https://example.com/a.jpg"}},
            {"type": "file", "mediaType": "audio/mpeg", "data": {"type": "data", "data": "AAAA"}},
            {"type": "file", "mediaType": "application/pdf", "filename": "a.pdf",
                "data": {"type": "data", "data": "JVBERi0="}},
            {"type": "file", "mediaType": "application", "data": {"type": "reference", "reference": {"openai": "file-1"}}}
        ]},
        {"role": "assistant", "content": [
            {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"n": 1.0}},
            {"type": "tool-call", "toolCallId": "c2", "toolName": "run", "input": "{1}"}
        ]},
        {"role": "tool", "content": [
            {"type": "tool-result", "toolCallId": "c1", "toolName": "look", "output": {"type": "text", "value": "a cat"}},
            {"type": "tool-result", "toolCallId": "c2", "toolName": "run",
                "output": {"type": "text", "value": "ok"}}
        ]},
        {"role": "assistant", "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "A cat."}]}
    ]"#,
    );
    assert_json(
        &imported.options.to_json(),
        r#"{
        "maxOutputTokens": 100, "temperature": 0.5, "topP": 1, "stopSequences": ["END"], "seed": 7,
        "presencePenalty": 0.1, "frequencyPenalty": 0.2, "reasoning": "low",
        "responseFormat": {"type": "json", "name": "out", "schema": {"type": "object"}},
        "tools": [
            {"type": "function", "name": "look", "description": "Looks", "strict": true,
                "inputSchema": {"type": "object", "properties": {"n": {"type": "number"}}}},
            {"type": "provider", "id": "openai.custom", "name": "run", "args": {"format": {"type": "text"}}}
        ],
        "toolChoice": {"type": "tool", "toolName": "look"},
        "providerOptions": {"openai": {"strictJsonSchema": false, "logprobs": 3, "user": "u1", "parallelToolCalls": false}}
    }"#,
    );
    assert_eq!(imported.model.as_deref(), Some("gpt-4o"));
    assert!(imported.stream);
    assert_eq!(
        lost(&imported),
        ["messages[5].annotations", "stream_options", "n"]
    );
}

#[test]
fn the_older_form_of_functions_is_read_too() {
    let request = parse(
        r#"{"messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": ""}},
            {"role": "function", "name": "f", "content": "1"}
        ], "functions": [{"name": "f"}], "function_call": {"name": "f"}}"#,
    );
    let imported = from::openai_chat(&request).expect("a request");
    assert_json(
        &imported.prompt.to_json(),
        r#"[
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {"role": "assistant", "content": [
            {"type": "tool-call", "toolCallId": "function-call-1", "toolName": "f", "input": {}}]},
        {"role": "tool", "content": [
            {"type": "tool-result", "toolCallId": "function-call-1", "toolName": "f",
                "output": {"type": "text", "value": "1"}}]}
    ]"#,
    );
    assert_eq!(
        imported.options.tool_choice.as_ref().map(Typed::to_json),
        Some(parse(r#"{"type":"tool","toolName":"f"}"#))
    );
    assert_eq!(lost(&imported), [""; 0]);
}

#[test]
fn a_bad_chat_request_has_all_its_faults_told() {
    let request = parse(
        r#"{"messages": [
            {"role": "robot", "content": "x"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "nowhere"}}, {"type": "video"}]},
            {"role": "tool", "tool_call_id": "c9", "content": "x"},
            {"role": "user"},
            7
        ], "temperature": "hot", "tool_choice": "maybe"}"#,
    );
    let faults = from::openai_chat(&request).expect_err("bad");
    assert_eq!(
        paths(&faults),
        [
            "messages[0].role unknown-tag",
            "messages[1].content[0].image_url.url bad-value",
            "messages[1].content[1].type unknown-tag",
            "messages[2].tool_call_id result-without-call",
            "messages[3].content missing",
            "messages[4] wrong-type",
            "temperature wrong-type",
            "tool_choice bad-value",
        ]
    );
}

#[test]
fn a_responses_request_with_everything() {
    let request = parse(
        r#"{
        "model": "gpt-5", "instructions": "Be terse.", "store": false, "background": true,
        "input": [
            {"role": "user", "content": [
                {"type": "input_text", "text": "Look"},
                {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"},
                {"type": "input_image", "file_id": "file-2"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
                {"type": "input_file", "file_url": "https://example.com/a.pdf"}
            ]},
            {"type": "reasoning", "id": "rs_1", "encrypted_content": "enc",
                "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]},
            {"type": "web_search_call", "id": "ws_1", "status": "completed",
                "action": {"type": "search", "query": "cats", "sources": [{"type": "url", "url": "https://example.com"}]}},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "Found", "annotations": [], "logprobs": []}]},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}", "status": "completed"},
            {"type": "function_call_output", "call_id": "c1", "output": [
                {"type": "input_text", "text": "x"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0K"}]},
            {"type": "mcp_approval_response", "approval_request_id": "ap_1", "approve": true},
            {"type": "item_reference", "id": "msg_0"},
            {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1+1", "container_id": "cn"},
            {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"}
        ],
        "reasoning": {"effort": "high", "summary": "auto"}, "max_output_tokens": 50,
        "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "out", "strict": true, "schema": {"type": "object"}}},
        "tools": [
            {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": false},
            {"type": "web_search", "search_context_size": "low", "user_location": {"type": "approximate", "country": "DE"}}
        ],
        "tool_choice": {"type": "web_search"}, "previous_response_id": "resp_1", "conversation": {"id": "conv_1"}
    }"#,
    );
    let imported = from::openai_responses(&request).expect("a request");
    assert_json(
        &imported.prompt.to_json(),
        r#"[
        {"role": "system", "content": "Be terse."},
        {"role": "user", "content": [
            {"type": "text", "text": "Look"},
            {"type": "file", "mediaType": "image/*", "data": {"type": "url", "url": "https://example.com/a.png"},
                "providerOptions": {"openai": {"imageDetail": "auto"}}},
            {"type": "file", "mediaType": "image", "data": {"type": "reference", "reference": {"openai": "file-2"}}},
            {"type": "file", "mediaType": "application/pdf", "filename": "a.pdf",
                "data": {"type": "data", "data": "JVBERi0="}},
            {"type": "file", "mediaType": "application/pdf", "data": {"type": "url", "url": "https://example.com/a.pdf"}}
        ]},
        {"role": "assistant", "content": [
            {"type": "reasoning", "text": "one", "providerOptions": {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "enc"}}},
            {"type": "reasoning", "text": "two", "providerOptions": {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "enc"}}},
            {"type": "tool-call", "toolCallId": "ws_1", "toolName": "web_search", "input": {}, "providerExecuted": true,
                "providerOptions": {"openai": {"itemId": "ws_1"}}},
            {"type": "tool-result", "toolCallId": "ws_1", "toolName": "web_search",
                "output": {"type": "json", "value": {"action": {"type": "search", "query": "cats"},
                    "sources": [{"type": "url", "url": "https://example.com"}]}},
                "providerOptions": {"openai": {"itemId": "ws_1"}}},
            {"type": "text", "text": "Found", "providerOptions": {"openai": {"itemId": "msg_1"}}},
            {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {},
                "providerOptions": {"openai": {"itemId": "fc_1"}}}
        ]},
        {"role": "tool", "content": [
            {"type": "tool-result", "toolCallId": "c1", "toolName": "look", "output": {"type": "content", "value": [
                {"type": "text", "text": "x"},
                {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": "iVBORw0K"}}]}},
            {"type": "tool-approval-response", "approvalId": "ap_1", "approved": true}
        ]},
        {"role": "assistant", "content": [
            {"type": "tool-call", "toolCallId": "ci_1", "toolName": "code_interpreter", "input": {}, "providerExecuted": true,
                "providerOptions": {"openai": {"itemId": "ci_1"}}},
            {"type": "tool-result", "toolCallId": "ci_1", "toolName": "code_interpreter", "output": {"type": "json", "value":
                {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1+1", "containerId": "cn"}},
                "providerOptions": {"openai": {"itemId": "ci_1"}}},
            {"type": "custom", "kind": "openai.compaction",
                "providerOptions": {"openai": {"itemId": "cmp_1", "encryptedContent": "sealed"}}}
        ]}
    ]"#,
    );
    assert_json(
        &imported.options.to_json(),
        r#"{
        "maxOutputTokens": 50, "reasoning": "high",
        "responseFormat": {"type": "json", "name": "out", "schema": {"type": "object"}},
        "tools": [
            {"type": "function", "name": "look", "strict": false, "inputSchema": {"type": "object", "properties": {}}},
            {"type": "provider", "id": "openai.web_search", "name": "web_search",
                "args": {"searchContextSize": "low", "userLocation": {"type": "approximate", "country": "DE"}}}
        ],
        "toolChoice": {"type": "tool", "toolName": "web_search"},
        "providerOptions": {"openai": {"reasoningSummary": "auto", "textVerbosity": "low", "conversation": "conv_1",
            "previousResponseId": "resp_1", "store": false}}
    }"#,
    );
    assert_eq!(lost(&imported), ["input[7]", "input[8]", "background"]);
}

#[test]
fn an_anthropic_request_with_everything() {
    let request = parse(
        r#"{
        "model": "claude-sonnet-4-5", "max_tokens": 1024, "stop_sequences": ["END"], "top_k": 5, "service_tier": "auto",
        "system": [
            {"type": "text", "text": "Be terse."},
            {"type": "text", "text": "Long rules", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
        ],
        "messages": [
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {"type": "document", "title": "T", "context": "C", "citations": {"enabled": true},
                    "source": {"type": "text", "media_type": "text/plain", "data": "hello"}},
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
                {"type": "text", "text": "Go", "cache_control": {"type": "ephemeral"}}
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "redacted_thinking", "data": "red"},
                {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [
                    {"type": "web_search_result", "url": "https://example.com", "title": "E", "encrypted_content": "x", "page_age": null}]},
                {"type": "text", "text": "Let me look", "citations": [{"type": "char_location"}]},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"n": 1}}
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [
                    {"type": "text", "text": "seen"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}}]},
                {"type": "text", "text": "and?"}
            ]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t2", "name": "look", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": "broken"}]}
        ],
        "tools": [
            {"name": "look", "description": "Looks", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
        "thinking": {"type": "enabled", "budget_tokens": 2000}, "metadata": {"user_id": "u"}
    }"#,
    );
    let imported = from::anthropic_messages(&request).expect("a request");
    assert_json(
        &imported.prompt.to_json(),
        r#"[
        {"role": "system", "content": "Be terse."},
        {"role": "system", "content": "Long rules",
            "providerOptions": {"anthropic": {"cacheControl": {"type": "ephemeral", "ttl": "1h"}}}},
        {"role": "user", "content": [
            {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": "iVBORw0K"}},
            {"type": "file", "mediaType": "image/*", "data": {"type": "url", "url": "https://example.com/a.png"}},
            {"type": "file", "mediaType": "text/plain", "data": {"type": "text", "text": "hello"},
                "providerOptions": {"anthropic": {"title": "T", "context": "C", "citations": {"enabled": true}}}},
            {"type": "file", "mediaType": "application/pdf", "data": {"type": "reference", "reference": {"anthropic": "file_1"}}},
            {"type": "text", "text": "Go", "providerOptions": {"anthropic": {"cacheControl": {"type": "ephemeral"}}}}
        ]},
        {"role": "assistant", "content": [
            {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "sig"}}},
            {"type": "reasoning", "text": "", "providerOptions": {"anthropic": {"redactedData": "red"}}},
            {"type": "tool-call", "toolCallId": "srv_1", "toolName": "web_search", "input": {"query": "q"}, "providerExecuted": true},
            {"type": "tool-result", "toolCallId": "srv_1", "toolName": "web_search", "output": {"type": "json", "value": [
                {"type": "web_search_result", "url": "https://example.com", "title": "E", "encryptedContent": "x", "pageAge": null}]}},
            {"type": "text", "text": "Let me look"},
            {"type": "tool-call", "toolCallId": "t1", "toolName": "look", "input": {"n": 1}}
        ]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t1", "toolName": "look", "output": {"type": "content", "value": [
            {"type": "text", "text": "seen"},
            {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": "iVBORw0K"}}]}}]},
        {"role": "user", "content": [{"type": "text", "text": "and?"}]},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "t2", "toolName": "look", "input": {}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t2", "toolName": "look",
            "output": {"type": "error-text", "value": "broken"}}]}
    ]"#,
    );
    assert_json(
        &imported.options.to_json(),
        r#"{
        "maxOutputTokens": 1024, "topK": 5, "stopSequences": ["END"], "toolChoice": {"type": "required"},
        "tools": [
            {"type": "function", "name": "look", "description": "Looks", "inputSchema": {"type": "object"},
                "providerOptions": {"anthropic": {"cacheControl": {"type": "ephemeral"}}}},
            {"type": "provider", "id": "anthropic.web_search_20250305", "name": "web_search", "args": {"maxUses": 3}}
        ],
        "providerOptions": {"anthropic": {"disableParallelToolUse": true, "metadata": {"userId": "u"},
            "thinking": {"type": "enabled", "budgetTokens": 2000}}}
    }"#,
    );
    assert_eq!(
        lost(&imported),
        ["messages[1].content[4].citations", "service_tier"]
    );
}

#[test]
fn a_result_between_texts_keeps_its_place() {
    let request = parse(
        r#"{"messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                {"type": "text", "text": "a"}, {"type": "tool_result", "tool_use_id": "t"}, {"type": "text", "text": "b"}]}
        ]}"#,
    );
    let imported = from::anthropic_messages(&request).expect("a request");
    let roles: Vec<_> = imported
        .prompt
        .messages()
        .iter()
        .map(|message| message.tag())
        .collect();
    assert_eq!(roles, ["assistant", "user", "tool", "user"]);
}

#[test]
fn what_only_claude_knows_is_carried_in_its_own_options() {
    let request = parse(
        r#"{"messages": [
            {"role": "assistant", "content": [
                {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
                {"type": "tool_use", "id": "t", "name": "find", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
                {"type": "tool_reference", "tool_name": "edit"}]}]}
        ]}"#,
    );
    let imported = from::anthropic_messages(&request).expect("a request");
    assert_json(
        &imported.prompt.to_json(),
        r#"[
        {"role": "assistant", "content": [
            {"type": "custom", "kind": "anthropic.fallback", "providerOptions": {"anthropic":
                {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}}},
            {"type": "tool-call", "toolCallId": "t", "toolName": "find", "input": {}}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t", "toolName": "find", "output":
            {"type": "content", "value": [{"type": "custom", "providerOptions": {"anthropic":
                {"type": "tool-reference", "toolName": "edit"}}}]}}]}
    ]"#,
    );
    assert_eq!(lost(&imported), [""; 0]);
}

fn convert(
    api: &str,
    model: &str,
    settings: &Object,
    prompt: &Prompt,
    options: &CallOptions,
) -> Result<Json, SdkError> {
    let target = Target::find("openai", api).expect("a known target");
    let conversion = target.convert(&Call {
        model,
        settings,
        prompt,
        options,
        profile: Profile::Exact,
    })?;
    Ok(conversion.request.body.into())
}

/// A body without the items that are known by their id only: what stands behind an id nobody can tell.
fn without_references(body: &Json) -> Json {
    let mut body = body.as_object().expect("a body").clone();
    if let Some(Json::Array(items)) = body.get_mut("input") {
        items.retain(|item| item.get("type").and_then(Json::as_str) != Some("item_reference"));
    }
    body.into()
}

/// A body made from a prompt must come back as itself: what an import puts into parts and options is
/// what the converter reads from there.
fn bodies_come_back(api: &str, import: fn(&Json) -> Result<Imported, Faults>, known: &[&str]) {
    let mut differences = Vec::new();
    let mut equal = 0;
    for (name, vector) in common::vectors_in("prompt-to-provider/openai") {
        let Some(body) = vector
            .get("body")
            .filter(|_| vector.get("api").and_then(Json::as_str) == Some(api))
        else {
            continue;
        };
        let model = vector.get("model").and_then(Json::as_str).expect("a model");
        let settings = vector
            .get("settings")
            .and_then(Json::as_object)
            .cloned()
            .unwrap_or_default();
        let came_back = match import(body) {
            Ok(imported) => convert(api, model, &settings, &imported.prompt, &imported.options)
                .map_err(|error| error.to_string()),
            Err(faults) => Err(faults.to_string()),
        };
        let difference = match came_back {
            Ok(came_back) => common::difference(&without_references(body), &without_references(&came_back)),
            Err(error) => Some(error),
        };
        match (difference, known.contains(&&*name)) {
            (None, false) => equal += 1,
            (Some(_), true) => {}
            (Some(difference), false) => differences.push(format!("{name}: {difference}")),
            (None, true) => differences.push(format!("{name} is said not to come back, but does")),
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(equal > 50, "only {equal} bodies came back");
}

#[test]
fn chat_bodies_come_back_as_themselves() {
    // The API refuses a result without its call, and a prompt could not name its tool.
    bodies_come_back("chat", from::openai_chat, &["chat.tool-orphan-result"]);
}

#[test]
fn responses_bodies_come_back_as_themselves() {
    bodies_come_back("responses", from::openai_responses, &[]);
}

/// A prompt in which both of OpenAI's APIs lose nothing.
const LOSSLESS: &str = r#"[
    {"role": "system", "content": "Be terse."},
    {"role": "user", "content": [
        {"type": "text", "text": "Look"},
        {"type": "file", "mediaType": "image/png", "data": {"type": "data", "data": "iVBORw0K"},
            "providerOptions": {"openai": {"imageDetail": "low"}}},
        {"type": "file", "mediaType": "image/*", "data": {"type": "url", "url": "https://example.com/a.png"}},
        {"type": "file", "mediaType": "application/pdf", "filename": "a.pdf", "data": {"type": "data", "data": "JVBERi0="}}
    ]},
    {"role": "assistant", "content": [
        {"type": "text", "text": "I will"},
        {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"n": 1, "s": "é"}},
        {"type": "tool-call", "toolCallId": "c2", "toolName": "look", "input": {}}
    ]},
    {"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": "c1", "toolName": "look", "output": {"type": "text", "value": "one"}},
        {"type": "tool-result", "toolCallId": "c2", "toolName": "look", "output": {"type": "text", "value": "{\"two\":2}"}}
    ]},
    {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    {"role": "user", "content": [{"type": "text", "text": "Thanks"}]}
]"#;

#[test]
fn a_prompt_that_loses_nothing_comes_back_as_itself() {
    let prompt = Prompt::parse(LOSSLESS).expect("a prompt");
    let options = CallOptions::new();
    for (api, import) in [
        ("chat", from::openai_chat as fn(&Json) -> Result<Imported, Faults>),
        ("responses", from::openai_responses),
    ] {
        let body = convert(api, "gpt-4o", &Object::new(), &prompt, &options).expect("a body");
        let imported = import(&body).expect("a request");
        assert_json(&imported.prompt.to_json(), LOSSLESS);
        assert_eq!(imported.options, options, "{api}");
        assert_eq!(lost(&imported), [""; 0], "{api}");
    }
}
