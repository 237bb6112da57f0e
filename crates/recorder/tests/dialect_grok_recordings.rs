//! Grok: golden facts of recordings (groups RC and RV of the scenarios), and context usage.
//!
//! The recordings of the first part are no part of the project; a test that misses them says so.
#![allow(clippy::unwrap_used)] // It is all test code.

mod common;

use serde_json::{Value, json};

use common::grok::{S, Talk};
use common::{Told, files, fixtures, shared};

fn orca(name: &str) -> Option<Told> {
    shared(&format!("orca/{name}.jsonl")).map(|path| files(&[path]))
}

fn grok(names: &[&str]) -> Told {
    let paths: Vec<_> = names
        .iter()
        .map(|n| fixtures().join(format!("recordings/{n}.jsonl")))
        .collect();
    files(&paths)
}

#[test]
fn rc_1_basic() {
    let Some(told) = orca("s1-basic") else { return };
    let turn = told.one("turn");
    assert_eq!(
        (&turn["end"], &turn["duration_ms"]),
        (&json!("completed"), &json!(5289))
    );
    assert_eq!(turn["context"]["used"], 34_622);
    assert_eq!(told.all("tool", "name"), ["list_dir", "read_file"]);
    assert_eq!(told.all("tool", "call"), ["call-1", "call-2"]);
    assert_eq!(told.all("tool", "state"), ["completed", "completed"]);
    assert_eq!(told.one("assistant")["text"], "I'll list");
    assert!(told.of("tool").iter().all(|t| t["turn"] == turn["id"]));
}

#[test]
fn rc_2_permission() {
    let Some(told) = orca("s2-permission") else { return };
    assert_eq!(told.sessions.len(), 2);
    let options: Vec<&Value> = told.of("request")[0]["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|o| &o["id"])
        .collect();
    assert_eq!(options, ["allow-edits-session", "allow-once", "reject-once"]);
    assert_eq!(told.all("request", "outcome"), ["allowed", "rejected"]);
    assert_eq!(told.of("request")[1]["answer"]["option"], "reject-once");
    assert_eq!(told.all("turn", "end"), ["completed", "stopped"]);
    // A tool whose permission was refused is rejected, and its diff discarded.
    assert_eq!(told.all("tool", "state"), ["completed", "rejected"]);
    let effect = |tool: &Value| {
        let items = tool["content"].as_array().unwrap();
        items.iter().find(|i| i["type"] == "diff").unwrap()["effect"].clone()
    };
    assert_eq!(
        told.of("tool").into_iter().map(effect).collect::<Vec<_>>(),
        ["applied", "discarded"]
    );
}

#[test]
fn rc_3_cancel() {
    let Some(told) = orca("s3-cancel") else { return };
    assert_eq!(told.one("tool")["state"], "interrupted");
    assert_eq!(told.all("turn", "end"), ["stopped", "completed"]);
    assert_eq!(told.of("turn")[0]["duration_ms"], 7773);
    assert_eq!(told.said("assistant", told.of("turn")[1]), ["ok"]);
}

#[test]
fn rc_4_resume() {
    let Some(path) = shared("orca/s4-resume.jsonl") else {
        return;
    };
    let told = files(std::slice::from_ref(&path));
    assert_eq!(told.all("turn", "end"), ["completed", "completed"]);
    assert_eq!(told.of("tool").len(), 2, "the load adds nothing");
    assert_eq!(told.of("user").len(), 2);
    let last = told.of("turn")[1]["id"].clone();
    assert_eq!(told.said("assistant", &json!({"id": last})), ["The second"]);
}

#[test]
fn rc_4b_a_replayed_measure_changes_the_session_alone() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    talk.says("p1", "one").answers(prompt, "end_turn");
    let load = talk.restart();
    let before = talk.told();
    let usage = json!({"sessionUpdate": "usage_update", "used": 5000, "size": 256_000});
    talk.update(S, usage, json!({"isReplay": true}))
        .result(load, json!({}));
    let after = talk.told();
    assert_eq!(
        after.sessions[0]["context"],
        json!({"used": 5000, "size": 256_000})
    );
    assert_eq!(before.rows, after.rows);
}

#[test]
fn rc_5_rv_2_plan_approved() {
    let Some(told) = orca("s5-plan-approved") else {
        return;
    };
    assert_eq!(told.all("request", "ask"), ["question", "plan"]);
    assert_eq!(told.all("request", "outcome"), ["answered", "allowed"]);
    let question = told.of("request")[0];
    let answer = &question["answer"]["answers"][0];
    assert_eq!(answer["question"], question["questions"][0]["id"]);
    assert_eq!(answer["options"][0], question["questions"][0]["options"][0]["id"]);
    assert_eq!(told.of("request")[1]["answer"]["option"], "approved");
    let turn = told.one("turn");
    assert_eq!(
        (&turn["end"], &turn["context"]["used"]),
        (&json!("completed"), &json!(39_190))
    );
}

#[test]
fn rc_6_bt_1_be_3_bw_1_background() {
    let Some(path) = shared("orca/s6-background.jsonl") else {
        return;
    };
    let told = files(std::slice::from_ref(&path));
    let turns = told.of("turn");
    assert_eq!(told.all("turn", "end"), ["completed", "completed"]);
    assert_eq!(told.all("turn", "origin"), ["prompt", "agent"]);
    assert_eq!(told.said("assistant", turns[1]), ["The background"]);
    let (tool, task) = (told.one("tool"), told.one("task"));
    assert_eq!(tool["state"], "completed");
    assert_eq!(
        (&task["turn"], &task["parent"], &task["state"]),
        (&turns[0]["id"], &tool["id"], &json!("completed"))
    );

    // Without what came after the first turn, it runs until the record ends.
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let end = lines.iter().position(|l| l.contains("task-completed-2")).unwrap();
    lines.truncate(end);
    let told = common::read(lines.into_iter());
    let task = told.one("task");
    assert_eq!(
        (&task["state"], &task["task_kind"]),
        (&json!("unknown"), &json!("command"))
    );
    assert_eq!(
        (&task["summary"], &task["parent"]),
        (&Value::Null, &told.one("tool")["id"])
    );
    assert_eq!(
        task["text"],
        "Background command \"Sleep then write bg-marker.txt\" stopped reporting"
    );
}

#[test]
fn rv_1_full_notifications() {
    let Some(told) = orca("s1-full-notifications") else {
        return;
    };
    assert!(told.of("status").is_empty());
    assert_eq!((told.of("tool").len(), told.of("turn").len()), (2, 1));
    let texts = told.all("assistant", "text");
    assert_eq!(texts.len(), 2);
    assert!(texts[0].as_str().unwrap().ends_with("read `README.md`."));
    assert!(
        texts[1]
            .as_str()
            .unwrap()
            .starts_with("This folder has three files:")
    );
    assert_eq!(
        told.one("turn")["context"],
        json!({"used": 34_622, "size": 256_000})
    );
    let all = serde_json::to_string(&told.rows).unwrap();
    assert!(!all.contains("signature") && !all.contains("FAKE-SIGNATURE"));
    let setups = told.rules().into_iter().filter(|rule| *rule == "set-up").count();
    assert!(setups >= 13, "each set-up notice is taken by its rule: {setups}");
}

#[test]
fn gs_10_subagent_background() {
    let Some(told) = orca("s7-subagent-background") else {
        return;
    };
    let helper = told.one("helper");
    assert_eq!(
        (&helper["state"], &helper["tokens"]),
        (&json!("completed"), &json!(13_829))
    );
    assert!(told.of("task").is_empty());
    let of = |id: &str| told.sessions.iter().find(|s| s["id"] == id).unwrap()["context"]["used"].clone();
    assert_eq!(of("session-1"), 22_360);
    assert_eq!(of(helper["child"].as_str().unwrap()), 13_795);
}

#[test]
fn rv_4_forty_tools_at_once() {
    let mut talk = Talk::new();
    let prompt = talk.prompt("p1");
    let data = "x".repeat(36 << 10);
    for n in 0..40 {
        talk.announces(
            "p1",
            &format!("c{n}"),
            "list_dir",
            json!({"target_directory": data}),
        );
    }
    for n in 0..40 {
        talk.tool("p1", json!({"sessionUpdate": "tool_call_update", "toolCallId": format!("c{n}"), "status": "completed"}));
    }
    talk.answers(prompt, "end_turn");
    assert!(
        talk.told()
            .all("tool", "state")
            .iter()
            .all(|state| state == "completed")
    );
}

#[test]
fn rv_5_what_measures_nothing_changes_nothing() {
    let mut talk = Talk::new();
    talk.notice(json!({"sessionUpdate": "response_completed"}));
    talk.notify(
        "x.ai/session_notification",
        json!({"sessionId": S, "update": {"sessionUpdate": "response_completed", "usage": {}}}),
    );
    talk.notify("_x.ai/of_the_future", json!({"sessionId": S}));
    talk.replays(json!({"sessionUpdate": "turn_completed", "prompt_id": "p0", "stop_reason": "end_turn"}));
    let told = talk.told();
    assert!(told.rows.is_empty());
    assert_eq!(told.sessions[0]["context"], Value::Null);
}

#[test]
fn a_load_adds_nothing_but_the_ends_of_what_was_unknown() {
    let pairs = [
        "background-session-end",
        "load-monitor-running",
        "load-cut-session",
        "load-session",
        "load-cancelled-tool",
    ];
    for name in pairs {
        let (saved, loaded) = (format!("grok/{name}-1-saved"), format!("grok/{name}-2-loaded"));
        let before = grok(&[&saved]);
        let after = grok(&[&saved, &loaded]);
        let prompt = after
            .rows
            .iter()
            .position(|r| r["text"] == "Are you still there?")
            .unwrap();
        let session = &before.sessions[0]["id"];
        let of = |told: &Told| {
            told.rows
                .iter()
                .filter(|r| r["session"] == *session)
                .cloned()
                .collect::<Vec<_>>()
        };
        let (before, after_rows) = (of(&before), of(&after));
        let added: Vec<&Value> = after_rows.iter().skip(before.len()).collect();
        let kinds: Vec<&Value> = added.iter().map(|r| &r["kind"]).collect();
        let mut want = vec!["turn", "user", "assistant"];
        if name == "load-cut-session" {
            want.insert(0, "status"); // The warning of the process's end.
        }
        assert_eq!(kinds, want, "{name}");
        assert!(prompt > 0);
        for task in after.of("task").into_iter().chain(after.of("helper")) {
            assert_ne!(task["state"], "unknown", "{name}: the load says how it ended");
        }
    }
}

#[test]
fn the_user_echo_of_1_0_5_adds_nothing() {
    for name in [
        "basic-reply",
        "background-complete",
        "load-session-1-saved",
        "monitor",
    ] {
        let told = grok(&[&format!("grok-1.0.5/{name}")]);
        assert!(told.of("user").iter().all(|u| u["by"] != "agent"), "{name}");
    }
}

#[test]
fn every_failed_recording_has_one_error_row_in_the_agents_words() {
    let failures = [
        ("error-400", "invalid_request_error: this prompt has a bad field"),
        ("error-401", "Unauthorized (401)"),
        ("error-429", "Too many requests for this key"),
        ("error-500", "the model is on fire"),
        ("error-mid-stream", "No ResponseCompleted"),
        ("stop-length", "response truncated by max_tokens"),
        ("wake-error", "invalid_request_error: this prompt has a bad field"),
    ];
    for (name, words) in failures {
        let told = grok(&[&format!("grok/{name}")]);
        let row = told.one("status");
        assert!(row["text"].as_str().unwrap().contains(words), "{name}: {row}");
        let turn = told
            .of("turn")
            .into_iter()
            .find(|t| t["id"] == row["turn"])
            .unwrap();
        assert_eq!(turn["end"], "failed", "{name}");
        assert_eq!(
            told.of("turn").iter().filter(|t| t["end"] == "failed").count(),
            1,
            "{name}"
        );
    }
}

#[test]
fn a_broken_stream_that_is_said_again_is_superseded_but_for_the_last() {
    let told = grok(&["grok/error-mid-stream"]);
    let superseded = told
        .of("assistant")
        .iter()
        .filter(|a| a["superseded"] == true)
        .count();
    assert_eq!((told.of("assistant").len(), superseded), (9, 7));
}

#[test]
fn nothing_private_and_nothing_for_the_model_stands_in_a_row() {
    let folder = fixtures().join("recordings");
    for version in ["grok", "grok-1.0.5"] {
        for entry in std::fs::read_dir(folder.join(version)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "jsonl") {
                continue;
            }
            let told = files(std::slice::from_ref(&path));
            assert!(told.of("unknown").is_empty(), "{}", path.display());
            let all = serde_json::to_string(&(&told.rows, &told.sessions)).unwrap();
            for never in [
                "FAKE-SIGNATURE",
                "\"pid\"",
                "<system-reminder>",
                "<subagent_meta>",
                "<workspace_result",
                "retrieval_hint",
                "do not kill this task just because",
            ] {
                assert!(!all.contains(never), "{}: {never}", path.display());
            }
            for tool in told.of("tool") {
                let note = tool["content"].to_string();
                assert!(!note.contains("Background task"), "{}: {note}", path.display());
            }
        }
    }
}

mod context {
    //! The window is the current model's or unknown.

    use super::*;

    fn models(current: &str) -> Value {
        json!({"currentModelId": current, "availableModels": [
            {"modelId": "big", "_meta": {"totalContextTokens": 500_000}},
            {"modelId": "small", "_meta": {"totalContextTokens": 128_000}},
            {"modelId": "bare"}]})
    }

    fn used(talk: &mut Talk, tokens: u64) {
        talk.notice(json!({"sessionUpdate": "response_completed", "usage": {"input_tokens": tokens, "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 10, "output_tokens": 999}}));
    }

    #[test]
    fn the_newest_call_counts_and_its_output_does_not() {
        let mut talk = Talk::new();
        let prompt = talk.prompt("p1");
        talk.notify("_x.ai/models/update", models("big"));
        used(&mut talk, 1000);
        used(&mut talk, 2000);
        used(&mut talk, 0);
        talk.notice(json!({"sessionUpdate": "turn_completed", "prompt_id": "p1", "stop_reason": "end_turn",
            "usage": {"inputTokens": 3000, "outputTokens": 1998, "totalTokens": 4998, "cachedReadTokens": 200}}));
        talk.result(
            prompt,
            json!({"stopReason": "end_turn", "_meta": {"totalTokens": 0, "inputTokens": 0}}),
        );
        let told = talk.told();
        let turn = told.one("turn");
        // A call of which only the cache is counted is still a call.
        assert_eq!(turn["context"], json!({"used": 110, "size": 500_000}));
        assert_eq!(
            (&turn["usage"]["measure"], &turn["usage"]["total"]),
            (&json!("turn_with_helpers"), &json!(4998))
        );
    }

    #[test]
    fn another_models_window_is_never_taken() {
        let mut talk = Talk::new();
        talk.notify("_x.ai/models/update", models("bare"));
        used(&mut talk, 1000);
        assert_eq!(talk.told().sessions[0]["context"], json!({"used": 1110}));
        talk.notify("_x.ai/models/update", models("small"));
        assert_eq!(
            talk.told().sessions[0]["context"],
            json!({"used": 1110, "size": 128_000})
        );
        talk.notice(json!({"sessionUpdate": "model_changed", "model_id": "bare"}));
        let told = talk.told();
        assert_eq!(told.sessions[0]["context"], json!({"used": 1110}));
        assert_eq!(told.sessions[0]["model"], "bare");
    }

    #[test]
    fn a_session_that_chose_its_model_keeps_its_window() {
        let mut talk = Talk::new();
        talk.notify("_x.ai/models/update", models("big"));
        let set = talk.call("session/set_model", json!({"sessionId": S, "modelId": "small"}));
        talk.result(set, json!({"_meta": {"model": {"Ok": "small"}}}));
        talk.notify("_x.ai/models/update", models("big"));
        used(&mut talk, 1000);
        assert_eq!(
            talk.told().sessions[0]["context"],
            json!({"used": 1110, "size": 128_000})
        );
    }

    #[test]
    fn the_answers_of_the_set_up_carry_the_catalogue_too() {
        let mut talk = Talk::new();
        let load = talk.restart();
        talk.result(
            load,
            json!({"models": models("small"), "_meta": {"x.ai/sessionDetail": {"title": "A title"}}}),
        );
        used(&mut talk, 1000);
        let told = talk.told();
        assert_eq!(
            told.sessions[0]["context"],
            json!({"used": 1110, "size": 128_000})
        );
        assert_eq!(told.sessions[0]["title"], "A title");
    }
}
