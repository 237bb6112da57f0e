//! The strict types of `agent-client-protocol-schema` as a second opinion.
//!
//! Whatever the strict types accept in the recordings and cases must read to the same facts here, and whatever is
//! written here they must accept without losing anything of it.

#![allow(
    clippy::unwrap_used,
    reason = "a test that panics has failed, which is what it is for"
)]

mod fixtures;

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tapline_wire::client::{
    self, Capabilities, ClientInfo, ElicitationOutcome, OptionValue, PermissionOutcome, Workspace,
};
use tapline_wire::session::{InitializeAnswer, PromptAnswer, PromptParams, SessionAnswer};
use tapline_wire::{
    Block, Elicitation, Frame, Id, Params, Patch, Permission, RawValue, ToolContent, UpdateFields, read,
};

fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap()
}

fn strict<T: DeserializeOwned>(raw: &RawValue) -> Option<T> {
    serde_json::from_str(raw.get()).ok()
}

/// The members of an update, as JSON again.
fn members(fields: UpdateFields<'_>) -> Map<String, Value> {
    let mut map = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            map.insert(name.to_owned(), value);
        }
    };
    macro_rules! raws {
        ($($name:literal: $field:ident),* $(,)?) => { $(put($name, fields.$field.map(value));)* };
    }
    macro_rules! texts {
        ($($name:literal: $field:ident),* $(,)?) => { $(put($name, fields.$field.map(Value::from));)* };
    }
    macro_rules! patches {
        ($($name:literal: $field:ident),* $(,)?) => { $(put($name, match fields.$field {
            Patch::Absent => None,
            Patch::Null => Some(Value::Null),
            Patch::Value(text) => Some(text.into()),
        });)* };
    }
    raws! {
        "content": content, "rawInput": raw_input, "rawOutput": raw_output, "locations": locations, "entries": entries,
        "plan": plan, "availableCommands": available_commands, "configOptions": config_options, "used": used,
        "size": size, "cost": cost, "error": error, "capabilities": capabilities, "state": state, "suggestions": suggestions, "anchor": anchor,
        "additionalDirectories": additional_directories, "_meta": meta,
    }
    texts! {
        "messageId": message_id, "toolCallId": tool_call_id, "name": name, "kind": kind, "status": status,
        "planId": plan_id, "currentModeId": current_mode_id, "severity": severity, "compactionId": compaction_id,
        "sessionId": session_id, "cwd": cwd, "senderSessionId": sender_session_id,
        "recipientSessionId": recipient_session_id, "senderMessageId": sender_message_id,
        "recipientMessageId": recipient_message_id, "cursorId": cursor_id, "subagentSessionId": subagent_session_id,
    }
    patches! { "title": title, "description": description, "updatedAt": updated_at }
    put(
        "summary",
        match fields.summary {
            Patch::Absent => None,
            Patch::Null => Some(Value::Null),
            Patch::Value(raw) => Some(value(raw)),
        },
    );
    map
}

/// Whether everything that the strict types kept stands in what was read here. They fill in defaults and drop what they
/// do not know or cannot read, so it may be less.
fn stands_in(strict: &Value, ours: &Value) -> bool {
    match (strict, ours) {
        (Value::Object(strict), Value::Object(ours)) => {
            strict.iter().all(|(name, member)| match ours.get(name) {
                Some(ours) => stands_in(member, ours),
                None => is_default(name, member),
            })
        }
        (Value::Array(strict), Value::Array(ours)) => {
            let mut ours = ours.iter();
            strict.iter().all(|item| ours.any(|ours| stands_in(item, ours)))
        }
        (Value::Number(strict), Value::Number(ours)) => strict.as_f64() == ours.as_f64(),
        (strict, ours) => strict == ours,
    }
}

fn is_default(name: &str, member: &Value) -> bool {
    matches!(
        (name, member.as_str()),
        ("kind", Some("other")) | ("status", Some("pending")) | ("priority", Some("medium"))
    ) || matches!(member, Value::Null | Value::Bool(false))
        || member.as_array().is_some_and(Vec::is_empty)
        || member.as_object().is_some_and(Map::is_empty)
}

/// An unknown kind or status of a tool is a default to the strict types, and kept here.
fn is_known(update: &Value, fields: &Map<String, Value>) -> bool {
    ["kind", "status"].iter().all(|name| {
        update.get(*name).is_none_or(|strict| {
            fields
                .get(*name)
                .is_none_or(|ours| ours == strict || !ours.is_string())
        })
    })
}

/// Compares what a line reads to with what the strict types make of it. Gives the kind of update, or nothing if the
/// strict types refuse the line.
fn compare(line: &str, where_: &dyn Fn() -> String) -> Option<String> {
    let Ok(Frame::Notification {
        params: Params::Update(update),
        ..
    }) = read(line)
    else {
        panic!("no update: {}", where_())
    };
    let notification = strict::<v1::SessionNotification>(update.raw_params().unwrap())?;
    let known = serde_json::to_value(&notification).unwrap();
    assert_eq!(
        update.session_id.as_deref(),
        known["sessionId"].as_str(),
        "{}",
        where_()
    );
    assert_eq!(
        update.kind.as_deref(),
        known["update"]["sessionUpdate"].as_str(),
        "{}",
        where_()
    );
    let kind = update.kind.clone().unwrap().into_owned();
    let content = update.fields.content;
    let mut ours = members(update.fields.clone());
    ours.insert("sessionUpdate".to_owned(), kind.clone().into());
    if is_known(&known["update"], &ours) {
        assert!(
            stands_in(&known["update"], &Value::Object(ours)),
            "{} is not in {update:?}",
            where_()
        );
    }
    match &notification.update {
        v1::SessionUpdate::AgentMessageChunk(chunk)
        | v1::SessionUpdate::AgentThoughtChunk(chunk)
        | v1::SessionUpdate::UserMessageChunk(chunk) => {
            let block = Block::read(content.unwrap()).unwrap();
            let strict = serde_json::to_value(&chunk.content).unwrap();
            let ours = serde_json::to_value(&block).unwrap();
            assert!(stands_in(&without_marks(strict), &ours), "{}: {ours}", where_());
        }
        v1::SessionUpdate::ToolCall(tool) => same_content(&tool.content, content, where_),
        v1::SessionUpdate::ToolCallUpdate(tool) => {
            if let Some(strict) = &tool.fields.content {
                same_content(strict, content, where_);
            }
        }
        _ => {}
    }
    Some(kind)
}

#[test]
fn what_the_strict_types_accept_reads_to_the_same_facts() {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut refused = 0;
    fixtures::each_line(|path, line| {
        if let Ok(Frame::Notification {
            params: Params::Update(_),
            ..
        }) = read(line)
        {
            match compare(line, &|| format!("{}: {line}", path.display())) {
                Some(kind) => *kinds.entry(kind).or_default() += 1,
                None => refused += 1,
            }
        }
    });
    let read: usize = kinds.values().sum();
    println!("{read} updates, {refused} refused by the strict types: {kinds:?}");
    assert!(
        read > 5_000 && kinds.len() >= 10,
        "{read} updates of {} kinds are too few to mean much",
        kinds.len()
    );
}

/// The kinds of update that no recording has yet, each with every member that the protocol gives it.
#[test]
fn new_kinds_of_update_read_to_the_same_facts() {
    let updates = [
        r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","name":"read","kind":"read","status":"completed","content":[],"locations":[{"path":"/a","line":3}],"rawInput":{"a":1},"rawOutput":[2],"_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"notice","severity":"warning","title":"T","description":"D","_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"compaction_update","compactionId":"c","status":"failed","summary":[{"type":"text","text":"S"}],"error":"E","_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed","summary":null}"#,
        r#"{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","content":{"type":"text","text":"S"},"_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[{"content":"a","priority":"low","status":"pending"}]},"_meta":{"m":1}}"#,
        r##"{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"# a"}}"##,
        r#"{"sessionUpdate":"plan_removed","planId":"p","_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"subagent_update","sessionId":"child","title":"T","description":"D","capabilities":{"cancel":{}},"state":{"state":"idle","stopReason":"end_turn"},"cwd":"/a","additionalDirectories":["/b"],"_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"session_message","messageId":"m","senderSessionId":"a","recipientSessionId":"b","senderMessageId":"c","recipientMessageId":"d","content":[{"type":"text","text":"S"}],"_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"session_message_chunk","messageId":"m","content":{"type":"text","text":"S"},"_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"cursor_update","cursorId":"c","anchor":{"type":"agent_message","messageId":"m","position":"after"},"capabilities":{"fork":{}},"_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"prompt_suggestions_update","suggestions":[],"_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"session_info_update","title":null,"updatedAt":"2026-11-29T00:00:00Z","_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"usage_update","used":5,"size":10,"cost":{"amount":0.5,"currency":"USD"},"_meta":{"m":1}}"#,
        r#"{"sessionUpdate":"config_option_update","configOptions":[{"id":"m","name":"M","type":"select","currentValue":"a","options":[{"value":"a","name":"A"}]}],"_meta":{"m":1}}"#,
    ];
    for update in updates {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#
        );
        assert!(
            compare(&line, &|| line.clone()).is_some(),
            "the strict types refuse {update}"
        );
        // All that stands in the update is a member that is known here.
        let Ok(Frame::Notification {
            params: Params::Update(read),
            ..
        }) = read(&line)
        else {
            panic!("{line}")
        };
        let mut ours = Value::Object(members(read.fields.clone()));
        ours["sessionUpdate"] = read.kind.unwrap().into_owned().into();
        assert_eq!(ours, serde_json::from_str::<Value>(update).unwrap(), "{update}");
    }
}

/// Without the members that a block's facts leave in the raw text.
fn without_marks(mut block: Value) -> Value {
    if let Some(block) = block.as_object_mut() {
        block.retain(|name, _| name != "annotations" && name != "_meta");
        if let Some(resource) = block.get_mut("resource") {
            *resource = without_marks(resource.take());
        }
    }
    block
}

fn same_content(strict: &[v1::ToolCallContent], ours: Option<&RawValue>, where_: &dyn Fn() -> String) {
    let ours = ours.map(ToolContent::read_all).unwrap_or_default();
    let known: Vec<_> = ours
        .items
        .iter()
        .filter(|part| !matches!(part, ToolContent::Unknown(_)))
        .collect();
    assert!(strict.len() <= known.len(), "{}: {ours:?}", where_());
    if strict.len() < known.len() {
        // Bare blocks read here and are refused there.
        return;
    }
    for (strict, ours) in strict.iter().zip(known) {
        let same = match (strict, ours) {
            (v1::ToolCallContent::Content(strict), ToolContent::Block(ours)) => {
                let strict = without_marks(serde_json::to_value(&strict.content).unwrap());
                stands_in(&strict, &serde_json::to_value(ours).unwrap())
            }
            (
                v1::ToolCallContent::Diff(strict),
                ToolContent::Diff {
                    path,
                    old_text,
                    new_text,
                    ..
                },
            ) => {
                strict.path.to_str() == Some(path)
                    && strict.old_text.as_deref() == old_text.as_deref()
                    && strict.new_text == *new_text
            }
            (v1::ToolCallContent::Terminal(strict), ToolContent::Terminal { terminal_id }) => {
                strict.terminal_id.0.as_ref() == &**terminal_id
            }
            _ => false,
        };
        assert!(same, "{}: {strict:?} and {ours:?}", where_());
    }
}

#[test]
fn requests_and_answers_read_to_the_same_facts() {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    fixtures::each_line(|path, line| {
        let where_ = || format!("{}: {line}", path.display());
        match read(line) {
            Ok(Frame::Request {
                method,
                params: Params::Other(raw),
                ..
            }) => {
                match &*method {
                    "session/request_permission" => {
                        let Some(strict) = strict::<v1::RequestPermissionRequest>(raw) else {
                            return;
                        };
                        let ours = Permission::read(raw).unwrap();
                        assert_eq!(ours.dropped, Vec::<String>::new(), "{}", where_());
                        let options: Vec<_> = ours
                        .options
                        .iter()
                        .map(|option| json!({"optionId": option.id, "name": option.name, "kind": option.kind}))
                        .collect();
                        let expected = serde_json::to_value(&strict.options).unwrap();
                        assert!(stands_in(&expected, &Value::Array(options)), "{}", where_());
                        let tool = serde_json::to_value(&strict.tool_call).unwrap();
                        let fields = members(ours.tool);
                        if is_known(&tool, &fields) {
                            assert!(stands_in(&tool, &Value::Object(fields)), "{}", where_());
                        }
                        assert_eq!(
                            ours.session_id.as_deref(),
                            Some(&*strict.session_id.0),
                            "{}",
                            where_()
                        );
                        *counts.entry("permission").or_default() += 1;
                    }
                    "session/prompt" => {
                        let Some(strict) = strict::<v1::PromptRequest>(raw) else {
                            return;
                        };
                        let ours = PromptParams::read(raw);
                        let expected = serde_json::to_value(&strict.prompt).unwrap();
                        let expected = expected
                            .as_array()
                            .unwrap()
                            .iter()
                            .cloned()
                            .map(without_marks)
                            .collect();
                        let blocks = serde_json::to_value(&ours.blocks.items).unwrap();
                        assert!(stands_in(&Value::Array(expected), &blocks), "{}", where_());
                        assert_eq!(ours.blocks.broken, 0, "{}", where_());
                        *counts.entry("prompt").or_default() += 1;
                    }
                    "elicitation/create" => {
                        let Some(strict) = strict::<v1::CreateElicitationRequest>(raw) else {
                            return;
                        };
                        let ours = Elicitation::read(raw).unwrap();
                        assert_eq!(ours.message.as_deref(), Some(&*strict.message), "{}", where_());
                        assert!(
                            !ours.questions.items.is_empty() && ours.questions.broken == 0,
                            "{}",
                            where_()
                        );
                        *counts.entry("elicitation").or_default() += 1;
                    }
                    _ => {}
                }
            }
            Ok(Frame::Answer { outcome: Ok(raw), .. }) => {
                if let Some(strict) = strict::<v1::InitializeResponse>(raw) {
                    let ours = InitializeAnswer::read(raw);
                    let strict = serde_json::to_value(&strict).unwrap();
                    assert_eq!(
                        ours.protocol_version,
                        strict["protocolVersion"].as_u64(),
                        "{}",
                        where_()
                    );
                    let text = |name| strict["agentInfo"][name].as_str();
                    assert_eq!(ours.agent_info.name.as_deref(), text("name"), "{}", where_());
                    assert_eq!(ours.agent_info.title.as_deref(), text("title"), "{}", where_());
                    assert_eq!(
                        ours.agent_info.version.as_deref(),
                        text("version"),
                        "{}",
                        where_()
                    );
                    let capabilities = &strict["agentCapabilities"];
                    assert_eq!(
                        ours.can_load(),
                        capabilities["loadSession"] == json!(true),
                        "{}",
                        where_()
                    );
                    for ability in ["resume", "list", "close"] {
                        let theirs = capabilities["sessionCapabilities"].get(ability).is_some();
                        assert_eq!(
                            ours.has_session_ability(ability),
                            theirs,
                            "{ability} in {}",
                            where_()
                        );
                    }
                    *counts.entry("initialize").or_default() += 1;
                } else if let Some(strict) = strict::<v1::PromptResponse>(raw) {
                    let ours = PromptAnswer::read(raw);
                    let strict = serde_json::to_value(&strict).unwrap();
                    assert_eq!(
                        ours.stop_reason.as_deref(),
                        strict["stopReason"].as_str(),
                        "{}",
                        where_()
                    );
                    let usage = ours.usage.unwrap_or_default();
                    let count = |name| strict["usage"][name].as_u64();
                    if strict.get("usage").is_some_and(|usage| !usage.is_null()) {
                        assert_eq!(usage.total, count("totalTokens"), "{}", where_());
                        assert_eq!(usage.input, count("inputTokens"), "{}", where_());
                        assert_eq!(usage.output, count("outputTokens"), "{}", where_());
                        assert_eq!(usage.thought, count("thoughtTokens"), "{}", where_());
                        assert_eq!(usage.cached_read, count("cachedReadTokens"), "{}", where_());
                        *counts.entry("usage").or_default() += 1;
                    }
                    *counts.entry("prompt answer").or_default() += 1;
                } else if let Some(strict) = strict::<v1::NewSessionResponse>(raw) {
                    let ours = SessionAnswer::read(raw);
                    assert_eq!(
                        ours.session_id.as_deref(),
                        Some(&*strict.session_id.0),
                        "{}",
                        where_()
                    );
                    *counts.entry("session").or_default() += 1;
                }
            }
            _ => {}
        }
    });
    println!("{counts:?}");
    let all = [
        "permission",
        "prompt",
        "elicitation",
        "initialize",
        "prompt answer",
        "usage",
        "session",
    ];
    assert!(
        all.iter().all(|name| counts.contains_key(name)),
        "only {counts:?}"
    );
}

/// Checks that the parameters or result in `line` come back whole from the strict type `T`.
fn keeps<T: DeserializeOwned + Serialize>(line: &str, method: Option<&str>) -> Value {
    let message: Value = serde_json::from_str(line).unwrap();
    assert_eq!(message["jsonrpc"], "2.0");
    assert_eq!(message.get("method").and_then(Value::as_str), method, "{line}");
    let member = message.get("params").or(message.get("result")).unwrap();
    let strict: T = serde_json::from_value(member.clone()).unwrap();
    let kept = serde_json::to_value(strict).unwrap();
    // The other way round: all that was written must stand in what the strict type understood.
    assert!(stands_in(member, &kept), "{member} came back as {kept}");
    assert!(!line.contains('\n') && read(line).is_ok(), "{line}");
    message
}

#[test]
fn the_strict_types_understand_every_line_that_a_client_writes() {
    let id = &Id::Integer(3);
    let raw = |source: &'static str| -> &'static serde_json::value::RawValue {
        serde_json::from_str(source).unwrap()
    };
    let info = ClientInfo {
        name: "tapline",
        title: "Tapline",
        version: "0.1.0",
    };
    let line = client::initialize(id, &info, Capabilities::all());
    let message = keeps::<v1::InitializeRequest>(&line, Some("initialize"));
    assert_eq!(
        message,
        json!({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true,
                "session": {"compaction": {}, "configOptions": {"boolean": {}}, "notices": {}},
                "subagents": {}, "plan": {}, "elicitation": {"form": {}}, "_meta": {"terminal_output": true},
            },
            "clientInfo": {"name": "tapline", "title": "Tapline", "version": "0.1.0"},
        }})
    );
    let less = Capabilities {
        files: false,
        terminal: false,
        questions: false,
    };
    let message = keeps::<v1::InitializeRequest>(&client::initialize(id, &info, less), Some("initialize"));
    assert_eq!(message["params"]["clientCapabilities"].get("elicitation"), None);

    keeps::<v1::AuthenticateRequest>(&client::authenticate(id, "key"), Some("authenticate"));
    let folders = ["/more".to_owned()];
    let servers = raw(r#"[{"name":"notes","command":"/bin/notes","args":[],"env":[]}]"#);
    let workspace = Workspace {
        cwd: "/project",
        additional_directories: &folders,
        mcp_servers: Some(servers),
    };
    keeps::<v1::NewSessionRequest>(&client::session_new(id, &workspace), Some("session/new"));
    keeps::<v1::LoadSessionRequest>(&client::session_load(id, "s", &workspace), Some("session/load"));
    keeps::<v1::ResumeSessionRequest>(
        &client::session_resume(id, "s", &workspace),
        Some("session/resume"),
    );
    let plain = client::session_new(
        id,
        &Workspace {
            cwd: "/project",
            ..Workspace::default()
        },
    );
    assert_eq!(
        plain,
        r#"{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"/project","mcpServers":[]}}"#
    );
    keeps::<v1::ListSessionsRequest>(
        &client::session_list(id, Some("/project"), Some("2")),
        Some("session/list"),
    );
    keeps::<v1::CloseSessionRequest>(&client::session_close(id, "s"), Some("session/close"));
    keeps::<v1::DeleteSessionRequest>(&client::session_delete(id, "s"), Some("session/delete"));
    keeps::<v1::SetSessionModeRequest>(&client::set_mode(id, "s", "plan"), Some("session/set_mode"));
    let choice = client::set_config_option(id, "s", "model", &OptionValue::Choice("big".into()));
    keeps::<v1::SetSessionConfigOptionRequest>(&choice, Some("session/set_config_option"));
    let switch = client::set_config_option(id, "s", "fast", &OptionValue::Boolean(true));
    let message = keeps::<v1::SetSessionConfigOptionRequest>(&switch, Some("session/set_config_option"));
    assert_eq!(message["params"]["type"], "boolean");

    let blocks = [
        Block::text("say \"hi\"\n\u{2028}"),
        Block::Image {
            data: Some("aGk=".into()),
            mime_type: Some("image/png".into()),
            uri: None,
        },
        Block::Audio {
            data: Some("aGk=".into()),
            mime_type: Some("audio/wav".into()),
        },
        Block::Link {
            uri: "file:///a".into(),
            name: None,
            title: Some("A".into()),
            description: None,
            mime_type: Some("text/plain".into()),
            size: Some(5),
        },
        Block::Resource {
            uri: Some("file:///a".into()),
            mime_type: Some("text/plain".into()),
            text: Some("hi".into()),
            blob: None,
        },
        Block::Resource {
            uri: Some("file:///b".into()),
            mime_type: None,
            text: None,
            blob: Some("aGk=".into()),
        },
    ];
    let line = client::prompt(id, "s", &blocks, Some(raw(r#"{"promptId":"p1"}"#)));
    keeps::<v1::PromptRequest>(&line, Some("session/prompt"));
    let line = client::cancel("s", Some(raw(r#"{"why":"typed"}"#)));
    let message = keeps::<v1::CancelNotification>(&line, Some("session/cancel"));
    assert_eq!(message.get("id"), None);
    keeps::<v1::CancelRequestNotification>(&client::cancel_request(&Id::from("a")), Some("$/cancel_request"));

    let line = client::permission_answer(id, &PermissionOutcome::Selected("yes".into()));
    keeps::<v1::RequestPermissionResponse>(&line, None);
    assert_eq!(
        line,
        r#"{"jsonrpc":"2.0","id":3,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}"#
    );
    let line = client::permission_answer(id, &PermissionOutcome::Cancelled);
    keeps::<v1::RequestPermissionResponse>(&line, None);
    for outcome in [
        ElicitationOutcome::Accept(Some(raw(r#"{"colour":"Red"}"#))),
        ElicitationOutcome::Decline,
        ElicitationOutcome::Cancel,
    ] {
        keeps::<v1::CreateElicitationResponse>(&client::elicitation_answer(id, &outcome), None);
    }
}

#[test]
fn answers_repeat_the_id_as_it_was_spelled() {
    for spelling in [
        "0",
        "-7",
        "1.0",
        "\"a\\\"b\"",
        "null",
        "123456789012345678901234567890",
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{spelling},"method":"m"}}"#);
        let Ok(Frame::Request { id, .. }) = read(&line) else {
            panic!("{line}")
        };
        let answer = client::error_answer(&id, client::METHOD_NOT_FOUND, "no \"m\" here", None);
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":{spelling},"error":{{"code":-32601,"message":"no \"m\" here"}}}}"#
        );
        assert_eq!(answer, expected);
        assert_eq!(
            client::empty_answer(&id),
            format!(r#"{{"jsonrpc":"2.0","id":{spelling},"result":{{}}}}"#)
        );
    }
}
