//! CN: updates, readable and not. (CN-4, a sink for diagnostics that throws, has no counterpart: there is none.)

use tapline_timeline::{End, Kind};

use crate::rig::{Rig, texts};

/// Known kinds make their rows, an unknown kind a row of its own, and a known kind with content that cannot be read breaks nothing.
#[test]
fn cn_1_known_and_unrecognised_updates() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [
  { update = { sessionUpdate = "agent_message_chunk", content = { type = "text", text = "One. " } } },
  { update = { sessionUpdate = "agent_message_chunk", content = { type = "hologram", x = 1 } } },
  { update = { sessionUpdate = "agent_message_chunk", content = "no object" } },
  { update = { sessionUpdate = "tool_call_update", toolCallId = "t", status = "levitating", kind = "juggle", title = "Juggle" } },
  { update = { sessionUpdate = "plan", entries = [7, { content = "Do it", status = "pending", priority = "high" }] } },
  { update = { sessionUpdate = "never_heard_of" } },
  { text = "Two." },
]"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    let rows = chat.rows();
    let said = texts(&rows, Kind::Assistant).concat();
    assert!(said.contains("One.") && said.contains("Two."), "{said}");
    for kind in [Kind::Tool, Kind::Plan, Kind::Unknown] {
        assert!(
            rows.iter().any(|row| row.kind() == kind),
            "{kind:?}\n{}",
            chat.told()
        );
    }
    chat.close();
}

/// An update that names no session or no kind makes no row, and what comes after it is read.
#[test]
fn cn_2_envelopes_without_session_or_kind_are_left_out() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [
  { frame = { jsonrpc = "2.0", method = "session/update", params = { update = { sessionUpdate = "agent_message_chunk", content = { type = "text", text = "lost" } } } } },
  { frame = { jsonrpc = "2.0", method = "session/update", params = { sessionId = "{{session}}", update = { content = { type = "text", text = "lost" } } } } },
  { frame = { jsonrpc = "2.0", method = "session/update", params = [] } },
  { frame = { jsonrpc = "2.0", method = "session/update" } },
  { text = "On." },
]"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    assert_eq!(texts(&chat.rows(), Kind::Assistant), ["On."]);
    assert_eq!(chat.rows().len(), 3, "{}", chat.told());
    chat.close();
}

/// Members beyond the protocol disturb nothing, and the models that older agents tell of are offered.
#[test]
fn cn_3_extra_members_and_models_are_read() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"greet '"x":1'; hear
        result 2 '{"sessionId":"s","extra":{"a":1},"models":{"currentModelId":"m1","availableModels":[{"modelId":"m1","name":"One","z":0},{"modelId":"m2"}]},"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"}]}}'
        until_heard session/prompt
        update '{"sessionUpdate":"agent_message_chunk","extra":true,"content":{"type":"text","text":"Hi.","annotations":{"x":1}},"_meta":{"y":2}}'
        done_with $id; until_heard nothing"#,
    );
    let offer = chat.hosted.standing().offer;
    let models: Vec<_> = offer
        .models
        .iter()
        .map(|m| (m.id.as_str(), m.name.as_str()))
        .collect();
    assert_eq!(models, [("m1", "One"), ("m2", "m2")]);
    assert_eq!(
        (offer.model.as_deref(), offer.mode.as_deref()),
        (Some("m1"), Some("ask"))
    );
    chat.ask("go");
    assert_eq!(texts(&chat.rows(), Kind::Assistant), ["Hi."]);
    chat.close();
}
