//! Groups GT, J and OE of the scenarios, and those of the other groups that only the whole path can show.

use serde_json::json;
use tapline_timeline::{Body, Context, Kind, SessionState, ToolItem};

use crate::tape::*;

#[test]
fn gt_1_messages_thoughts_and_a_plan_each_have_their_row() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(chunk("agent_message_chunk", Some("m1"), "First "));
    t.update(json!({"sessionUpdate": "plan", "entries": [{"content": "Read", "status": "in_progress", "priority": "high"}]}));
    t.update(chunk("agent_message_chunk", Some("m1"), "reply"));
    t.update(chunk("agent_thought_chunk", None, "Thinking"));
    t.says("Before");
    t.update(json!({"sessionUpdate": "plan", "entries": [{"content": "Read", "status": "completed", "priority": "high"}]}));
    t.says("After");
    t.ends(1, "end_turn");
    t.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 assistant \"First reply\"",
        "1 plan [completed] Read",
        "1 reasoning \"Thinking\"",
        "1 assistant \"Before\"",
        "1 assistant \"After\"",
    ]);
}

/// Orca bounds a value at 16 KiB, makes a diff a row of its own and lets the first name stand. Here 40,000 characters are
/// kept whole, the diff stands in the tool's content, and the title is the last given.
#[test]
fn gt_2_a_tool_is_merged_from_all_its_news() {
    let mut t = Tape::new();
    let (input, output) = ("i".repeat(40_000), "o".repeat(40_000));
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "edit", "kind": "edit", "rawInput": {"text": input}}));
    t.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress", "content": [text_item("half")]}));
    t.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed", "title": "Edited a.txt",
        "content": [text_item(&output), {"type": "diff", "path": "a.txt", "oldText": "one\ntwo\n", "newText": "one\n2\n"}]}));
    let told = t.told(|t| t.tool("tool_call_update", "c1", "in_progress"));
    assert_eq!(told, ["tool-unchanged"]);
    t.ends(1, "end_turn");
    t.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 tool c1 completed \"Edited a.txt\"",
    ]);
    let tool = t.the_tool();
    assert_eq!(
        tool.input.as_ref().map(|i| i.as_str().len()),
        Some(input.len() + "{\"text\":\"\"}".len())
    );
    let [ToolItem::Text { text }, ToolItem::Diff(diff)] = &tool.content[..] else {
        panic!("{:?}", tool.content)
    };
    assert_eq!(text.len(), 40_000);
    assert_eq!(diff.patch, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
}

/// Orca never reads the answer's usage. Here it stands on the turn as usage, and the context is still the update's.
#[test]
fn gt_3_context_is_the_usage_updates_and_not_the_answers_sum() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "usage_update", "used": 42, "size": 100}));
    t.answers(1, json!({"stopReason": "end_turn", "usage": {"inputTokens": 900, "outputTokens": 9, "totalTokens": 909}}));
    t.shows(&["1 turn prompt completed 42/100", "1 user accepted \"Go\""]);
    let Body::Turn(turn) = &t.the(Kind::Turn).body else {
        unreachable!()
    };
    assert_eq!(turn.usage.as_ref().and_then(|u| u.input), Some(900));
}

#[test]
fn gt_4_refusals_and_limits_have_ends_of_their_own_and_no_status_row() {
    for (reason, end) in [
        ("refusal", "refused"),
        ("max_tokens", "limit"),
        ("max_turn_requests", "limit"),
    ] {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        t.ends(1, reason);
        t.shows(&[&format!("1 turn prompt {end}"), "1 user accepted \"Go\""]);
    }
}

#[test]
fn gt_5_an_error_answer_is_told_in_the_agents_words_or_in_a_sentence() {
    let mut t = Tape::to(Some("Scribe"));
    t.prompt(1, "One");
    t.ends(1, "end_turn");
    t.prompt(2, "Two");
    t.refuses(2, json!({"code": -32603, "message": "Upstream failed"}));
    t.prompt(3, "Three");
    t.refuses(3, json!({"code": -32603, "message": ""}));
    t.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"One\"",
        "2 turn prompt failed",
        "2 user accepted \"Two\"",
        "2 status error \"Upstream failed\"",
        "3 turn prompt failed",
        "3 user accepted \"Three\"",
        "3 status error \"Scribe ended this turn with an error.\"",
    ]);
    let mut t = Tape::new();
    t.prompt(1, "One");
    t.refuses(1, json!({"code": -32603, "message": "Internal error"}));
    t.shows(&[
        "1 turn prompt failed",
        "1 user accepted \"One\"",
        "1 status error \"The agent ended this turn with an error.\"",
    ]);
}

#[test]
fn gt_6_an_unknown_stop_reason_is_unknown_and_an_unreadable_update_opens_nothing() {
    let mut t = Tape::new();
    t.update(json!({"sessionUpdate": "agent_message_chunk", "content": 42}));
    t.prompt(1, "Go");
    t.ends(1, "because");
    t.shows(&[
        "- unknown session/update agent_message_chunk",
        "1 turn prompt unknown",
        "1 user accepted \"Go\"",
    ]);
}

/// A permission that names another session is not an error of ours to send. Here it belongs to no session and is dropped by
/// name; a request that nothing covers makes no row.
#[test]
fn gt_7_echoes_commands_and_other_sessions_make_no_row() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(chunk("user_message_chunk", None, "Go"));
    t.update(json!({"sessionUpdate": "available_commands_update", "availableCommands": []}));
    t.update_of("other", chunk("agent_message_chunk", None, "Not here"));
    let told = t.told(|t| t.asks(5, "weather/ask", json!({"sessionId": "s1"})));
    assert_eq!(told, ["unknown-request"]);
    t.ends(1, "end_turn");
    t.shows(&["1 turn prompt completed", "1 user accepted \"Go\""]);
    let told = t.told(|t| {
        t.asks(6, "session/request_permission", json!({"sessionId": "other", "toolCall": {"toolCallId": "c"}, "options": [{"optionId": "y", "name": "Y", "kind": "allow_once"}]}))
    });
    assert_eq!(told, ["request-without-session"]);
    let told = t.told(|t| t.close());
    assert!(
        told.contains(&"unknown-session"),
        "what was held is accounted for: {told:?}"
    );
}

#[test]
fn gt_8_history_of_a_load_yields_context_and_no_row() {
    let mut t = Tape::bare();
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.answers(0, json!({"protocolVersion": 1}));
    t.call(
        1,
        "session/load",
        json!({"sessionId": "s1", "cwd": "/p", "mcpServers": []}),
    );
    t.update(chunk("user_message_chunk", None, "Old ask"));
    t.update(chunk("agent_message_chunk", None, "Old reply"));
    t.tool("tool_call", "c1", "completed");
    t.update(json!({"sessionUpdate": "plan", "entries": [{"content": "Old", "status": "pending"}]}));
    t.update(json!({"sessionUpdate": "usage_update", "used": 42, "size": 100}));
    t.answers(1, json!({}));
    t.shows(&[]);
    let session = t.timelines()[0].session().expect("a session");
    assert_eq!(
        session.context,
        Some(Context {
            used: Some(42),
            size: Some(100)
        })
    );
    t.says("Live again");
    t.shows(&["1 turn agent open", "1 assistant open \"Live again\""]);
}

#[test]
fn gt_9_a_marked_frame_is_history_at_any_time() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    let params = json!({"sessionId": "s1", "_meta": {"isReplay": true}, "update": chunk("agent_message_chunk", None, "Old")});
    let told = t.told(|t| t.notice("session/update", params));
    assert_eq!(told, ["history"]);
    t.says("New");
    t.ends(1, "end_turn");
    t.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 assistant \"New\"",
    ]);
}

#[test]
fn gt_10_a_tool_keeps_its_name_and_input_over_140_others() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "first", "title": "Slow one", "name": "slow", "status": "in_progress", "rawInput": {"n": 1}}));
    for n in 0..140 {
        t.tool("tool_call", &format!("c{n}"), "in_progress");
        t.tool("tool_call_update", &format!("c{n}"), "completed");
    }
    t.tool("tool_call_update", "first", "failed");
    t.ends(1, "cancelled");
    let tools = t.all(Kind::Tool);
    assert_eq!(tools.len(), 141);
    let Body::Tool(first) = &tools[0].body else {
        unreachable!()
    };
    assert_eq!(
        (first.state.as_str(), first.name.as_deref()),
        ("failed", Some("slow"))
    );
    assert_eq!(first.input.as_ref().map(|i| i.as_str()), Some("{\"n\":1}"));
    assert!(
        tools[1..]
            .iter()
            .all(|row| matches!(&row.body, Body::Tool(t) if t.state.as_str() == "completed"))
    );
}

/// Orca gives up comparing beyond 1,024 edits and replaces the file. Here lines are compared whatever the distance; only
/// beyond `COMPARED_BYTES` the whole file is replaced. Both must be patches that turn the old text into the new.
#[test]
fn gt_11_a_large_diff_is_a_patch_that_applies() {
    let old: String = (0..520).map(|n| format!("old {n}\n")).collect();
    let new: String = (0..520).map(|n| format!("new {n}\n")).collect();
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "content": [{"type": "diff", "path": "a", "oldText": old, "newText": new}]}));
    let ToolItem::Diff(diff) = &t.the_tool().content[0] else {
        panic!("a diff")
    };
    assert_eq!((diff.added, diff.removed), (520, 520));
    assert_eq!(applied(&old, &diff.patch), new);
    assert!(t.the(Kind::Tool).truncated.is_empty());
    // A change anywhere in a file is placed where it is.
    let old: String = (0..20).map(|n| format!("{n}\n")).collect();
    for at in 0..20 {
        for with in ["", "x\n", "x\ny\n"] {
            let new: String = (0..20)
                .map(|n| {
                    if n == at {
                        with.to_owned()
                    } else {
                        format!("{n}\n")
                    }
                })
                .collect();
            assert_eq!(
                applied(&old, &tapline_timeline::diff("a", Some(&old), Some(&new)).patch),
                new
            );
        }
    }
    // A pair over the limit replaces the file whole.
    let line = "x".repeat(99);
    let old: String = (0..30_000).map(|n| format!("{line}{n}\n")).collect();
    let whole = tapline_timeline::diff("a", Some(&old), Some(&new));
    assert!(old.len() + new.len() < tapline_timeline::COMPARED_BYTES);
    assert_eq!(applied(&old, &whole.patch), new);
    let old = old.repeat(2);
    let whole = tapline_timeline::diff("a", Some(&old), Some(&new));
    assert!(whole.patch.starts_with("@@ -1,60000 +1,520 @@\n"));
    assert_eq!(applied(&old, &whole.patch), new);
}

/// A patch, applied the way `patch` does it: context and removed lines must stand in the old text.
fn applied(old: &str, patch: &str) -> String {
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut at, mut out) = (0, String::new());
    for line in patch.split_inclusive('\n') {
        let (sign, rest) = line.split_at(1);
        match sign {
            "@" => {
                let from = rest
                    .split(['-', ',', ' '])
                    .find_map(|n| n.parse::<usize>().ok())
                    .expect("a hunk's start");
                let from = from.saturating_sub(1);
                out.extend(lines[at..from].iter().copied());
                at = from;
            }
            "+" => out.push_str(rest),
            "-" | " " => {
                assert_eq!(lines[at], rest, "the patch does not fit");
                if sign == " " {
                    out.push_str(rest);
                }
                at += 1;
            }
            other => panic!("{other:?} begins no line of a patch"),
        }
    }
    out.extend(lines[at..].iter().copied());
    out
}

#[test]
fn j_1_aw_3_the_same_ids_in_two_sessions_are_rows_of_their_own() {
    let mut t = Tape::new();
    t.call(902, "session/new", json!({"cwd": "/p", "mcpServers": []}));
    t.answers(902, json!({"sessionId": "s2"}));
    for (id, session) in [(1, "s1"), (2, "s2")] {
        t.in_session(session);
        t.prompt(id, "Go");
        t.update(chunk("agent_message_chunk", Some("m1"), session));
        t.tool("tool_call", "c1", "completed");
        t.ends(id, "end_turn");
    }
    for (at, session) in ["s1", "s2"].into_iter().enumerate() {
        t.session_shows(
            at,
            &[
                "1 turn prompt completed",
                "1 user accepted \"Go\"",
                &format!("1 assistant {session:?}"),
                "1 tool c1 completed",
            ],
        );
    }
}

#[test]
fn j_2_request_ids_restart_with_each_process() {
    let permission = |session: &str| {
        json!({"sessionId": session, "toolCall": {"toolCallId": "c1", "title": "Run"},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]})
    };
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.asks(0, "session/request_permission", permission("s1"));
    t.recorder.exit("", Some(137), None, None);
    t.call(0, "initialize", json!({"protocolVersion": 1}));
    t.answers(0, json!({"protocolVersion": 1}));
    t.call(
        1,
        "session/load",
        json!({"sessionId": "s1", "cwd": "/p", "mcpServers": []}),
    );
    t.answers(1, json!({}));
    t.prompt(2, "On");
    t.asks(0, "session/request_permission", permission("s1"));
    t.shows(&[
        "1 turn prompt cut",
        "1 user accepted \"Go\"",
        "1 request permission cancelled \"Run\"",
        "1 status warning \"The agent process ended with exit code 137 in the middle of \"…",
        "2 turn prompt open",
        "2 user accepted \"On\"",
        "2 request permission pending \"Run\"",
    ]);
    let ids: Vec<&str> = t.all(Kind::Request).iter().map(|r| r.id.as_str()).collect();
    assert_ne!(ids[0], ids[1]);
    assert!(ids[0].contains(":1:0") && ids[1].contains(":2:0"), "{ids:?}");
    let session = t.timelines()[0].session().expect("a session");
    assert_eq!(session.state, SessionState::Live);
}

#[test]
fn oe_1_an_unknown_tool_kind_and_status_are_kept_and_move_nothing() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Look", "kind": "browse", "status": "pending"}));
    t.tool("tool_call_update", "c1", "paused");
    assert_eq!(t.the_tool().state.as_str(), "pending");
    t.tool("tool_call_update", "c1", "completed");
    t.ends(1, "end_turn");
    t.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 tool c1 completed \"Look\"",
    ]);
    assert_eq!(t.the_tool().tool_kind.as_deref(), Some("browse"));
}

/// Orca shows an unknown plan status as pending. Here the agent's own words are kept.
#[test]
fn oe_2_an_unknown_plan_status_and_priority_are_kept() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(json!({"sessionUpdate": "plan", "entries": [{"content": "Wait", "status": "blocked", "priority": "urgent"}, 7, {"status": "pending"}]}));
    t.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 plan [blocked] Wait",
    ]);
    assert!(
        matches!(&t.the(Kind::Plan).body, Body::Plan(p) if p.entries[0].priority.as_deref() == Some("urgent"))
    );
}

#[test]
fn oe_3_an_unknown_stop_reason_is_kept_and_is_no_success() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.ends(1, "paused_for_review");
    t.shows(&["1 turn prompt unknown", "1 user accepted \"Go\""]);
    assert!(
        matches!(&t.the(Kind::Turn).body, Body::Turn(turn) if turn.stop_reason.as_deref() == Some("paused_for_review"))
    );
}

#[test]
fn oe_4_a_permission_with_broken_members_is_still_asked() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.asks(
        7,
        "session/request_permission",
        json!({"sessionId": "s1", "toolCall": {"toolCallId": "c1", "title": 42},
        "options": [{"optionId": "allow", "kind": "allow_once"}, {"name": "no id"}]}),
    );
    t.client_answers(
        7,
        json!({"outcome": {"outcome": "selected", "optionId": "allow"}}),
    );
    t.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 request permission allowed",
    ]);
    let Body::Request(request) = &t.the(Kind::Request).body else {
        unreachable!()
    };
    assert_eq!(request.options.len(), 1);
    assert_eq!(request.options[0].label.as_deref(), Some("allow"));
    let told = t.told(|t| {
        t.asks(
            8,
            "session/request_permission",
            json!({"sessionId": "s1", "toolCall": {}, "options": [{"optionId": "y"}]}),
        );
    });
    assert_eq!(told, ["permission-unreadable"]);
}

/// The scenario of a whole process: nothing of a connection is read after its end.
#[test]
fn as_3_what_a_connection_says_after_its_end_is_dropped() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.recorder.exit("", Some(0), None, None);
    let told = t.told(|t| t.says("Too late"));
    assert_eq!(told, ["after-the-end"]);
    assert!(t.all(Kind::Assistant).is_empty());
}
