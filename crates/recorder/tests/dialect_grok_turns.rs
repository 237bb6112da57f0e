//! Grok: turns, replay and failures (groups GD, RT, TF of the scenarios).
#![allow(clippy::unwrap_used)] // It is all test code.

mod common;

use serde_json::json;

use common::grok::{S, Talk};

#[test]
fn gd_4_the_end_notice_leaves_the_verdict_to_the_answer() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.says("p1", "working")
        .ends("p1", "end_turn")
        .answers(prompt, "cancelled");
    let told = talk.told();
    assert_eq!(told.one("turn")["end"], "stopped");
}

#[test]
fn gd_5_an_own_turn_with_an_unknown_stop_reason_has_no_verdict() {
    let mut talk = Talk::new();
    talk.runs("task-completed-2")
        .says("task-completed-2", "hm")
        .ends("task-completed-2", "future_reason");
    let told = talk.told();
    let turn = told.one("turn");
    assert_eq!(
        (&turn["origin"], &turn["end"]),
        (&json!("agent"), &json!("unknown"))
    );
    assert_eq!(turn["stop_reason"], "future_reason");
}

#[test]
fn gd_6_only_what_is_marked_is_history_during_a_load() {
    let mut talk = Talk::new();
    let load = talk.restart();
    let chunk = |text: &str| json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
    talk.update(S, chunk("Old"), json!({"promptId": "p0", "isReplay": true}));
    talk.update(S, chunk("Live"), json!({"promptId": "task-completed-1"}));
    talk.ends("task-completed-1", "end_turn");
    talk.replays(json!({"sessionUpdate": "turn_completed", "prompt_id": "p0", "stop_reason": "end_turn"}));
    talk.result(load, json!({}));
    // Marked frames are history after the answer too.
    talk.update(S, chunk("Old again"), json!({"promptId": "p0", "isReplay": true}));
    let prompt = talk.prompt("p1");
    talk.answers(prompt, "end_turn");
    let told = talk.told();
    assert_eq!(told.all("assistant", "text"), ["Live"]);
    assert_eq!(told.all("turn", "end"), ["completed", "completed"]);
}

#[test]
fn rt_1_an_own_turn_runs_while_a_prompt_waits() {
    for own in [
        "task-completed-2",
        "subagent-completed-2",
        "notifications-9",
        "future-wake",
    ] {
        let mut talk = Talk::new();
        talk.runs(own).says(own, "by itself");
        let prompt = talk.prompt("p1");
        talk.says(own, ", still").says("p1", "the reply");
        talk.ends(own, "end_turn")
            .ends("p1", "end_turn")
            .answers(prompt, "end_turn");
        let told = talk.told();
        let turns = told.of("turn");
        assert_eq!(told.all("turn", "origin"), ["agent", "prompt"], "{own}");
        assert_eq!(told.all("turn", "end"), ["completed", "completed"], "{own}");
        assert_eq!(told.said("assistant", turns[0]), ["by itself, still"], "{own}");
        assert_eq!(told.said("assistant", turns[1]), ["the reply"], "{own}");
    }
}

#[test]
fn rt_1b_an_own_turn_never_takes_the_place_of_a_prompt_without_a_name() {
    let begins = [
        "task-completed-",
        "subagent-completed-",
        "notifications-",
        "interject-fallback-",
        "workflow-completed-",
        "goal-summary-",
        "goal-classifier-nudge-",
        "scheduler-fired-",
        "plan-resume-",
        "monitor-completed-",
        "bash-completed-",
        "monitor-",
    ];
    for begin in begins {
        let own = format!("{begin}7");
        let mut talk = Talk::new();
        let prompt = talk.nameless("hello");
        // Its first frame is a chunk: no notice announced the turn.
        talk.says(&own, "by itself").ends(&own, "end_turn");
        talk.says("made-up", "the reply").answers(prompt, "end_turn");
        let told = talk.told();
        assert_eq!(told.all("turn", "origin"), ["prompt", "agent"], "{own}");
        assert_eq!(told.said("assistant", told.of("turn")[0]), ["the reply"], "{own}");
        assert_eq!(told.said("assistant", told.of("turn")[1]), ["by itself"], "{own}");
    }
}

#[test]
fn rt_1c_the_queue_names_prompts_that_have_no_name() {
    let mut talk = Talk::new();
    let first = talk.nameless("one");
    talk.notify(
        "_x.ai/queue/changed",
        json!({"sessionId": S, "entries": [{"id": "k1", "kind": "prompt", "text": "one"}]}),
    );
    talk.runs("k1");
    let second = talk.nameless("two");
    talk.notify(
        "_x.ai/queue/changed",
        json!({"sessionId": S, "entries": [{"id": "k2", "kind": "prompt", "text": "two"}], "runningPromptId": "k1"}),
    );
    // A turn of a kind that nobody knows, while both wait: it is neither's.
    talk.says("future-wake", "by itself")
        .ends("future-wake", "end_turn");
    talk.says("k1", "to one")
        .answers(first, "end_turn")
        .runs("k2")
        .says("k2", "to two")
        .answers(second, "end_turn");
    let told = talk.told();
    assert_eq!(told.all("turn", "origin"), ["prompt", "agent", "prompt"]);
    let turns = told.of("turn");
    assert_eq!(told.said("assistant", turns[0]), ["to one"]);
    assert_eq!(told.said("assistant", turns[2]), ["to two"]);
}

#[test]
fn rt_2_interleaved_turns_never_share_a_message() {
    let mut talk = Talk::new();
    let own = "task-completed-1";
    talk.runs(own).says(own, "fir");
    talk.announces(own, "c1", "run_terminal_command", json!({"command": "ls"}));
    talk.says(own, "sec");
    let prompt = talk.prompt("p1");
    talk.says("p1", "user ").says(own, "ond");
    talk.asks_permission(0, S, "c1");
    talk.says("p1", "reply");
    talk.chooses(0, "allow-once");
    talk.tool(
        own,
        json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}),
    );
    talk.ends(own, "end_turn")
        .ends("p1", "end_turn")
        .answers(prompt, "end_turn");
    let told = talk.told();
    let turns = told.of("turn");
    assert_eq!(told.said("assistant", turns[0]), ["fir", "second"]);
    assert_eq!(told.said("assistant", turns[1]), ["user reply"]);
    assert_eq!(
        told.one("request")["turn"],
        turns[0]["id"],
        "a permission is where its tool is"
    );
    assert_eq!(told.all("turn", "end"), ["completed", "completed"]);
}

#[test]
fn rt_3_a_late_answer_changes_nothing() {
    for reason in ["error", "rate_limit"] {
        let mut talk = Talk::new();
        let first = talk.prompt("p1");
        talk.says("p1", "so").ends("p1", reason);
        let second = talk.prompt("p2");
        talk.says("p2", "fine");
        talk.error(first, json!({"code": -32603, "message": "Internal error"}));
        talk.answers(second, "end_turn").answers(first, "end_turn");
        let told = talk.told();
        assert_eq!(told.all("turn", "end"), ["failed", "completed"]);
        assert_eq!(told.all("user", "delivery"), ["accepted", "accepted"]);
    }
}

#[test]
fn rt_4_an_error_answer_without_any_frame_fails_the_turn() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.error(
        first,
        json!({"code": -32603, "message": "Internal error", "data": {"message": "no luck"}}),
    );
    let second = talk.prompt("p2");
    talk.says("p2", "yes").answers(second, "end_turn");
    let told = talk.told();
    assert_eq!(told.all("turn", "end"), ["failed", "completed"]);
    assert_eq!(told.one("status")["text"], "no luck");
}

#[test]
fn rt_5_two_prompts_answered_in_reverse_order() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.says("p1", "one ");
    let second = talk.prompt("p2");
    talk.says("p2", "two").says("p1", "more");
    talk.ends("p2", "end_turn").answers(second, "end_turn");
    talk.ends("p1", "refusal").answers(first, "refusal");
    let told = talk.told();
    let turns = told.of("turn");
    assert_eq!(told.all("turn", "end"), ["refused", "completed"]);
    assert_eq!(told.said("assistant", turns[0]), ["one more"]);
    assert_eq!(told.said("assistant", turns[1]), ["two"]);
}

/// The four copies of one reason, in the usual order.
fn copies(talk: &mut Talk, prompt: u64, which: [bool; 4], words: &str) {
    if which[0] {
        talk.notice(
            json!({"sessionUpdate": "retry_state", "type": "failed", "error_type": "api", "message": words}),
        );
    }
    if which[1] {
        talk.notice(json!({"sessionUpdate": "turn_completed", "prompt_id": "p1", "stop_reason": "error", "agent_result": words}));
    }
    if which[2] {
        talk.notify(
            "_x.ai/session/prompt_complete",
            json!({"sessionId": S, "promptId": "p1", "stopReason": "error", "agentResult": words}),
        );
    }
    let data = if which[3] {
        json!({"message": words, "http_status": 400})
    } else {
        json!(null)
    };
    talk.error(
        prompt,
        json!({"code": -32603, "message": "Internal error", "data": data}),
    );
}

#[test]
fn tf_1_four_copies_are_one_row_before_the_end() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    copies(&mut talk, first, [true; 4], "API error: placeholder");
    let second = talk.prompt("p2");
    talk.says("p2", "well").answers(second, "end_turn");
    let told = talk.told();
    let turns = told.of("turn");
    let row = told.one("status");
    assert_eq!(
        (&row["tone"], &row["text"]),
        (&json!("error"), &json!("API error: placeholder"))
    );
    assert_eq!(row["turn"], turns[0]["id"]);
    assert!(
        row["frames"][0].as_u64() <= turns[0]["frames"][1].as_u64(),
        "the row stands before the end"
    );
    assert_eq!(row["detail"]["code"], "api");
    assert_eq!(told.all("turn", "end"), ["failed", "completed"]);
    assert_eq!(told.said("assistant", turns[1]), ["well"]);
}

#[test]
fn tf_2_a_sentence_gives_way_to_words_once() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.ends("p1", "error");
    assert_eq!(
        talk.told().one("status")["text"],
        "Grok ended this turn with an error."
    );
    talk.error(
        first,
        json!({"code": -32603, "message": "Internal error", "data": "the reason"}),
    );
    assert_eq!(talk.told().one("status")["text"], "the reason");
    talk.error(
        first,
        json!({"code": -32603, "message": "Internal error", "data": "another reason"}),
    );
    assert_eq!(talk.told().one("status")["text"], "the reason");
}

#[test]
fn tf_3_each_copy_alone_carries_the_reason() {
    for only in 0..4 {
        let mut talk = Talk::new();
        let first = talk.prompt("p1");
        let mut which = [false; 4];
        which[only] = true;
        copies(&mut talk, first, which, "the reason");
        let told = talk.told();
        assert_eq!(told.one("status")["text"], "the reason", "copy {only}");
        assert_eq!(told.one("turn")["end"], "failed", "copy {only}");
    }
}

#[test]
fn tf_3b_a_retry_that_was_exhausted_carries_the_reason() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.notice(
        json!({"sessionUpdate": "retry_state", "type": "retrying", "attempt": 1, "reason": "trouble"}),
    );
    talk.notice(json!({"sessionUpdate": "retry_state", "type": "exhausted", "attempts": 0, "reason": "too many", "is_rate_limited": true}));
    talk.ends("p1", "rate_limit");
    talk.error(first, json!({"code": -32003, "message": "Rate limited"}));
    let told = talk.told();
    assert_eq!(told.one("status")["text"], "too many");
    assert_eq!(told.one("status")["detail"]["code"], "rate_limit");
}

#[test]
fn tf_4_a_copy_without_words_erases_nothing() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    copies(&mut talk, first, [true, false, false, false], "the reason");
    talk.ends("p1", "error");
    assert_eq!(talk.told().one("status")["text"], "the reason");
}

#[test]
fn tf_5_a_rate_limit_without_words() {
    for error in [
        json!({"code": -32603, "message": "Internal error"}),
        json!({"code": -32003, "message": "Rate limited"}),
    ] {
        let mut talk = Talk::new();
        let first = talk.prompt("p1");
        talk.ends("p1", "rate_limit").error(first, error.clone());
        let told = talk.told();
        assert_eq!(told.one("status")["text"], "Grok usage limit reached.");
        assert_eq!(told.one("turn")["end"], "failed");
        // The answer alone says it too, where it has its own code.
        let mut talk = Talk::new();
        let first = talk.prompt("p1");
        talk.error(first, error.clone());
        let sentence = match error["code"].as_i64() {
            Some(-32003) => "Grok usage limit reached.",
            _ => "Grok ended this turn with an error.",
        };
        assert_eq!(talk.told().one("status")["text"], sentence);
    }
}

#[test]
fn tf_6_a_limit_or_a_refusal_makes_no_error_row() {
    for (reason, end) in [
        ("max_tokens", "limit"),
        ("max_turn_requests", "limit"),
        ("refusal", "refused"),
    ] {
        let mut talk = Talk::new();
        let first = talk.prompt("p1");
        talk.ends("p1", reason).answers(first, reason);
        let told = talk.told();
        assert!(told.of("status").is_empty());
        assert_eq!(told.one("turn")["end"], end);
    }
}

#[test]
fn tf_7_a_late_frame_neither_reopens_its_turn_nor_takes_later_ones() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.says("p1", "one")
        .ends("p1", "end_turn")
        .answers(first, "end_turn");
    talk.runs("task-completed-1");
    talk.streams("p1", 2, "late");
    let chunk =
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "unlabelled"}});
    talk.update(S, chunk, json!(null));
    talk.ends("task-completed-1", "end_turn");
    let told = talk.told();
    let turns = told.of("turn");
    assert_eq!(told.all("turn", "end"), ["completed", "completed"]);
    assert_eq!(told.said("assistant", turns[0]), ["one", "late"]);
    assert_eq!(told.said("assistant", turns[1]), ["unlabelled"]);
}

#[test]
fn tf_7b_a_late_frame_does_not_take_the_next_failure() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.says("p1", "one")
        .ends("p1", "end_turn")
        .answers(first, "end_turn");
    let second = talk.prompt("p2");
    talk.says("p1", " late");
    talk.notice(json!({"sessionUpdate": "retry_state", "type": "failed", "message": "the second's"}));
    talk.error(second, json!({"code": -32603, "message": "Internal error"}));
    let told = talk.told();
    assert_eq!(told.one("status")["text"], "the second's");
    assert_eq!(told.one("status")["turn"], told.of("turn")[1]["id"]);
}

#[test]
fn tf_8_a_failure_of_an_own_turn_is_told_by_notices_alone() {
    let mut talk = Talk::new();
    let waiting = talk.prompt("p1");
    talk.runs("task-completed-1");
    // It names no turn; the prompt is the older work, but the own turn runs.
    talk.notice(json!({"sessionUpdate": "retry_state", "type": "failed", "message": "own reason"}));
    talk.notice(json!({"sessionUpdate": "turn_completed", "prompt_id": "task-completed-1", "stop_reason": "error", "agent_result": "own reason"}));
    talk.says("p1", "fine").answers(waiting, "end_turn");
    let told = talk.told();
    let own = told
        .of("turn")
        .into_iter()
        .find(|t| t["origin"] == "agent")
        .unwrap();
    assert_eq!(
        (&told.one("status")["turn"], &own["end"]),
        (&own["id"], &json!("failed"))
    );
}

#[test]
fn retries_leave_the_first_row_in_its_place() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.streams("p1", 10, "The answer ");
    talk.notice(json!({"sessionUpdate": "retry_state", "type": "retrying", "attempt": 1, "reason": "cut"}));
    talk.streams("p1", 20, "The answer is four.")
        .answers(first, "end_turn");
    let told = talk.told();
    assert_eq!(
        told.all("assistant", "text"),
        ["The answer ", "The answer is four."]
    );
    assert_eq!(told.all("assistant", "superseded"), [json!(true), json!(null)]);
    assert!(told.of("status").is_empty());
}

#[test]
fn a_retry_before_the_first_word_supersedes_nothing() {
    // A model call is over by its own word, or because a tool runs.
    for by_word in [true, false] {
        let mut talk = Talk::new();
        let first = talk.prompt("p1");
        talk.streams("p1", 10, "I will look.");
        if by_word {
            talk.notice(json!({"sessionUpdate": "response_completed", "usage": {"input_tokens": 10}}));
        } else {
            talk.announces("p1", "c1", "list_dir", json!({}));
        }
        // The next one has trouble before it says anything.
        talk.notice(
            json!({"sessionUpdate": "retry_state", "type": "retrying", "attempt": 1, "reason": "busy"}),
        );
        talk.streams("p1", 20, "Here it is.").answers(first, "end_turn");
        let told = talk.told();
        assert_eq!(told.all("assistant", "text"), ["I will look.", "Here it is."]);
        assert_eq!(told.all("assistant", "superseded"), [json!(null), json!(null)]);
    }
}

#[test]
fn a_prompt_taken_from_the_queue_is_withdrawn() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.says("p1", "long");
    let second = talk.prompt("p2");
    talk.result(second, json!({"stopReason": "cancelled", "_meta": {"promptId": "p2", "completionKind": "removedFromQueue", "totalTokens": 0}}));
    talk.answers(first, "end_turn");
    let told = talk.told();
    assert_eq!(told.all("user", "delivery"), ["accepted", "withdrawn"]);
    assert_eq!(told.all("turn", "end"), ["completed"]);
}

#[test]
fn a_plan_without_marks_is_cosmetic() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    let plan = |status: &str| json!({"sessionUpdate": "plan", "entries": [{"content": "Build", "status": status, "priority": "medium"}]});
    talk.update(S, plan("in_progress"), json!({"promptId": "p1"}));
    talk.update(S, plan("completed"), json!(null));
    talk.answers(first, "end_turn");
    let told = talk.told();
    assert_eq!(told.one("plan")["entries"][0]["status"], "pending");
    assert!(told.rules().contains(&"cosmetic-plan"));
    // The same after a load that replayed the plan.
    let load = talk.restart();
    talk.update(
        S,
        plan("in_progress"),
        json!({"promptId": "p1", "isReplay": true}),
    );
    talk.result(load, json!({}));
    talk.update(S, plan("completed"), json!(null));
    assert_eq!(talk.told().of("plan").len(), 1);
}

#[test]
fn a_plan_without_marks_counts_where_nothing_is_marked() {
    let mut talk = Talk::new();
    let first = talk.nameless("plan it");
    talk.update(
        S,
        json!({"sessionUpdate": "plan", "entries": [{"content": "Build", "status": "pending"}]}),
        json!(null),
    );
    talk.answers(first, "end_turn");
    assert_eq!(talk.told().one("plan")["entries"][0]["text"], "Build");
}

#[test]
fn a_turn_that_runs_while_its_session_is_loaded_goes_on() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.runs("p1").says("p1", "before, ");
    let load = talk.call(
        "session/load",
        json!({"sessionId": S, "cwd": "/p", "mcpServers": []}),
    );
    let chunk =
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "before, "}});
    talk.update(S, chunk, json!({"promptId": "p1", "isReplay": true}));
    talk.says("p1", "during, ");
    talk.result(load, json!({"_meta": {"x.ai/runningPromptId": "p1"}}));
    talk.says("p1", "after")
        .ends("p1", "end_turn")
        .answers(first, "end_turn");
    let told = talk.told();
    assert_eq!(told.all("assistant", "text"), ["before, during, after"]);
    assert_eq!(told.all("turn", "end"), ["completed"]);
}

#[test]
fn compactions_are_rows_of_their_turn() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.runs("p1");
    let news = |kind: &str| json!({"sessionUpdate": kind, "tokens_before": 900, "tokens_after": 100, "summary_preview": "What was done."});
    talk.notice(json!({"sessionUpdate": "auto_compact_started"}))
        .notice(news("auto_compact_completed"));
    talk.notice(news("auto_compact_failed"));
    talk.replays(news("auto_compact_completed"));
    talk.answers(first, "end_turn");
    let told = talk.told();
    assert_eq!(told.all("compaction", "state"), ["completed", "failed"]);
    let row = told.of("compaction")[0];
    assert_eq!(
        (&row["text"], &row["detail"]["tokens_before"]),
        (&json!("What was done."), &json!(900))
    );
    assert_eq!(row["turn"], told.one("turn")["id"]);
}

#[test]
fn user_texts_for_the_model_alone_add_no_row() {
    let mut talk = Talk::new();
    talk.runs("notifications-1");
    let chunk = |text: &str, meta| json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}, "_meta": meta});
    talk.update(
        S,
        chunk("hidden", json!({"hideFromScrollback": true})),
        json!({"eventId": "S-1"}),
    );
    talk.update(
        S,
        chunk("<system-reminder>\nnews\n</system-reminder>", json!({})),
        json!({"eventId": "S-2"}),
    );
    talk.says("notifications-1", "I see.")
        .ends("notifications-1", "end_turn");
    let told = talk.told();
    assert!(told.of("user").is_empty());
    let rules = told.rules();
    assert!(rules.contains(&"hidden-user-chunk") && rules.contains(&"text-for-the-model"));
}

#[test]
fn steering_is_shown_once_where_it_lands() {
    let mut talk = Talk::new();
    let first = talk.prompt("p1");
    talk.runs("p1").says("p1", "on it");
    talk.notify(
        "_x.ai/session/interjection",
        json!({"sessionId": S, "text": "and tests", "interjectionId": "i1"}),
    );
    talk.says("p1", "sure")
        .ends("p1", "end_turn")
        .answers(first, "end_turn");
    // With no turn running it begins one.
    talk.notify(
        "_x.ai/session/interjection",
        json!({"sessionId": S, "text": "more?", "interjectionId": "i2"}),
    );
    talk.notify(
        "_x.ai/queue/changed",
        json!({"sessionId": S, "entries": [], "runningPromptId": "interject-fallback-1", "runningText": "more?"}),
    );
    talk.says("interject-fallback-1", "no")
        .ends("interject-fallback-1", "end_turn");
    let told = talk.told();
    let turns = told.of("turn");
    assert_eq!(told.said("user", turns[0]), ["ask p1", "and tests"]);
    assert_eq!(told.said("user", turns[1]), ["more?"]);
}

#[test]
fn explain_names_the_rule_that_took_each_notice() {
    let session = |mut params: serde_json::Value| {
        params["sessionId"] = json!(S);
        params
    };
    let kind = |kind: &str| {
        (
            "_x.ai/session_notification",
            session(json!({"update": {"sessionUpdate": kind}})),
        )
    };
    let notices = [
        (
            ("_x.ai/session/setup", session(json!({"phase": "auth"}))),
            "set-up",
        ),
        (
            ("_x.ai/mcp/servers_updated", json!({"mcpServers": []})),
            "tool-servers",
        ),
        (("_x.ai/settings/update", json!({})), "settings"),
        (("_x.ai/announcements/update", json!({})), "announcement"),
        (
            ("_x.ai/sessions/changed", json!({"upserted": []})),
            "session-list",
        ),
        (("_x.ai/queue/changed", session(json!({"entries": []}))), "queue"),
        (("_x.ai/future", session(json!({}))), "vendor-notice"),
        (
            ("_x.ai/session_notification", session(json!({}))),
            "notice-unreadable",
        ),
        (
            (
                "_x.ai/session_notification",
                json!({"update": {"sessionUpdate": "turn_completed"}}),
            ),
            "notice-without-session",
        ),
        (kind("hook_execution"), "hook"),
        (kind("tool_call_delta_chunk"), "arguments-streaming"),
        (kind("pending_interaction"), "interaction"),
        (kind("last_turn_summary"), "summary"),
        (kind("retry_state"), "retry"),
        (kind("response_completed"), "model-call"),
        (kind("of_the_future"), "vendor-notice"),
    ];
    for ((method, params), rule) in notices {
        let mut talk = Talk::new();
        talk.notify(method, params);
        let told = talk.told();
        assert_eq!(told.rules(), [rule], "{method}");
        assert!(told.rows.is_empty(), "{method}");
    }
}

#[test]
fn standard_updates_that_grok_says_nothing_more_of_keep_their_reading() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    for update in [
        json!({"sessionUpdate": "notice", "severity": "warning", "title": "Heads up"}),
        json!({"sessionUpdate": "usage_update", "used": 5, "size": 10}),
        json!({"sessionUpdate": "of the future", "x": 1}),
    ] {
        talk.tool("p1", update);
    }
    let told = talk.answers(prompt, "end_turn").told();
    assert_eq!(told.one("status")["text"], "Heads up");
    assert_eq!(told.one("turn")["context"], json!({"used": 5, "size": 10}));
    assert_eq!(told.one("unknown")["name"], "of the future");
}
