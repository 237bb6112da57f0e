//! CP: the JSON-RPC peer. What can only be seen inside it (CP-9's patience, CP-11's queue, CP-15) is tested there.

use serde_json::{Value, json};
use tapline_agent::host::intent;
use tapline_timeline::{Body, End, Kind};

use crate::raw::{methods, until_file};
use crate::rig::{LONG, Rig, ends, texts};

/// Calls of both sides run at once and never get each other's answers: `7` is not `"7"`, and `null` is an id.
#[test]
fn cp_1_calls_both_ways_are_interleaved_and_ids_not_confused() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; mine=$id
        request '"3"' fs/read_text_file '{"sessionId":"s","path":"/nowhere"}'
        request null nobody/knows '{}'
        say '{"jsonrpc":"2.0","id":"'$mine'","result":{"stopReason":"refusal"}}'
        until_heard session/set_mode; mode=$id
        request $mine nobody/knows '{}'
        result $mode '{}'; done_with $mine; until_heard nothing"#,
    );
    let sent = chat.prompt("go");
    assert_eq!(chat.reply(&json!("3"))["error"]["code"], -32602);
    assert_eq!(chat.reply(&Value::Null)["error"]["code"], -32601);
    let set = chat.post(intent::SET_OPTION, json!({"mode": "code"}));
    assert_eq!(chat.outcome(set), json!({"ok": true}));
    assert_eq!(
        chat.reply(&json!(3))["error"]["code"],
        -32601,
        "the agent's own 3"
    );
    assert_eq!(chat.outcome(sent)["delivery"], "accepted");
    chat.until_ended(&[End::Completed]);
    chat.close();
}

/// What nobody knows is refused with -32601, and an error of the agent reaches whoever called, in its words.
#[test]
fn cp_2_method_not_found_and_error_objects() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [{ ask = { method = "nobody/knows" } }]"#,
    );
    chat.ask("go");
    chat.says("The client refused nobody/knows");
    chat.says("-32601");
    let set = chat.post(intent::SET_OPTION, json!({"mode": "nowhere"}));
    let error = chat.outcome(set)["error"]
        .as_str()
        .map(str::to_owned)
        .unwrap_or_default();
    assert!(
        error.contains("there is no mode `nowhere`") && error.contains("-32602"),
        "{error}"
    );
    chat.close();
}

/// The agent may use an id again the moment it was answered.
#[test]
fn cp_3_ids_are_free_again_after_the_answer() {
    let rig = Rig::new();
    std::fs::write(rig.cwd().join("a.txt"), "first").expect("a file");
    std::fs::write(rig.cwd().join("b.txt"), "second").expect("a file");
    let chat = rig.start(
        r#"repeats_request_ids = true
[[turn]]
steps = [{ read = "{{cwd}}/a.txt" }, { read = "{{cwd}}/b.txt" }, { ask = { method = "nobody/knows" } }]"#,
    );
    chat.ask("go");
    let said = texts(&chat.rows(), Kind::Assistant).concat();
    assert!(
        said.contains("first") && said.contains("second") && said.contains("-32601"),
        "{said}"
    );
    chat.close();
}

/// Lines that are no frames, and lines over the limit, are skipped; what comes after them is read.
#[test]
fn cp_4_malformed_and_oversized_lines_do_not_stop_the_stream() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [
  { raw = "no json\n\n[]\n42\n{\"jsonrpc\":\"1.0\",\"id\":1}\n{\"jsonrpc\":\"2.0\"}\n{\"jsonrpc\":\"2.0\",\"method\":7}\r\n" },
  { raw_base64 = "//79Cg==" },
  { big_line = 17000000 },
  { text = "Still here." },
]"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    chat.says("Still here.");
    assert_eq!(chat.end_of("again"), Some(End::Completed));
    chat.close();
}

/// A request that is too long is refused with -32600 and says how long it was.
#[test]
fn cp_5_an_oversized_request_is_refused() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [{ write = { path = "{{cwd}}/a.txt", bytes = 17000000 } }, { text = "On." }]"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    let said = texts(&chat.rows(), Kind::Assistant).concat();
    assert!(
        said.contains("-32600") && said.contains("observedBytes"),
        "{said}"
    );
    assert!(said.contains("fs/write_text_file"), "{said}");
    assert!(!rig.cwd().join("a.txt").exists());
    chat.close();
}

/// An answer that is too long ends its own call alone: its turn fails with a sentence of ours, and the next prompt works.
#[test]
fn cp_5_an_oversized_answer_rejects_its_call() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; text "Begun."
        printf '{"jsonrpc":"2.0","id":%s,"result":{"x":"' "$id"; head -c 17000000 /dev/zero | tr '\0' x; say '"}}'
        until_heard session/prompt; text "Next."; done_with $id; until_heard nothing"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Failed));
    let errors = texts(&chat.rows(), Kind::Status);
    assert!(errors.concat().contains("too long to read"), "{errors:?}");
    assert_eq!(chat.end_of("next"), Some(End::Completed));
    chat.close();
}

/// A line that is too long and may be any call's answer ends the process: no call can be waited for any more.
#[test]
fn cp_5_a_line_that_may_be_any_answer_ends_the_connection() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; text "Begun."
        printf '{"jsonrpc":"2.0","id":99,"x":"'; head -c 17000000 /dev/zero | tr '\0' x; say '","result":{}}'
        until_heard nothing"#,
    );
    chat.prompt("go");
    chat.until_ended(&[End::Cut]);
    let over = chat.over();
    assert!(over.end.is_some(), "{over:?}");
}

/// So does an answer whose id stands behind what is too long.
#[test]
fn cp_5_an_answer_whose_id_is_out_of_sight_ends_the_connection() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; text "Begun."
        printf '{"jsonrpc":"2.0","result":{"x":"'; head -c 17000000 /dev/zero | tr '\0' x; say '"},"id":'$id'}'
        until_heard nothing"#,
    );
    chat.prompt("go");
    chat.until_ended(&[End::Cut]);
    assert!(chat.over().end.is_some());
}

/// A notification that is too long concerns nobody: the turn goes on, and a row says that something is missing.
#[test]
fn cp_5_an_oversized_notification_is_left_out() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [{ big_frame = 17000000 }, { text = "On." }]"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    chat.says("On.");
    let status = texts(&chat.rows(), Kind::Status);
    assert_eq!(status.len(), 1, "{status:?}");
    assert!(
        status[0].contains("too long to read and is missing here"),
        "{status:?}"
    );
    chat.close();
}

/// An answer that is built wrongly ends its call at once: nobody waits for another one.
#[test]
fn cp_6_a_malformed_answer_rejects_its_call_at_once() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/set_mode
        say '{"jsonrpc":"2.0","id":'$id',"result":{},"error":{"code":1,"message":"both"}}'
        until_heard session/prompt; text "Begun."; say '{"jsonrpc":"2.0","id":'$id'}'
        until_heard session/prompt; text "Next."; done_with $id; until_heard nothing"#,
    );
    let set = chat.post(intent::SET_OPTION, json!({"mode": "code"}));
    let error = chat.outcome(set)["error"]
        .as_str()
        .map(str::to_owned)
        .unwrap_or_default();
    assert!(error.contains("could not be read"), "{error}");
    let end = chat.end_of("go");
    assert_eq!(end, Some(End::Failed));
    assert_eq!(chat.end_of("next"), Some(End::Completed));
    chat.close();
}

/// The end of the process ends every call that waits, each once.
#[test]
fn cp_7_an_exit_ends_every_call_once() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; text "Begun."; until_heard session/set_mode; until_heard session/set_mode
        echo "I am out of paper" >&2; exit 3"#,
    );
    let prompt = chat.prompt("go");
    let one = chat.post(intent::SET_OPTION, json!({"mode": "a"}));
    let two = chat.post(intent::SET_OPTION, json!({"mode": "b"}));
    for set in [one, two] {
        let error = chat.outcome(set)["error"]
            .as_str()
            .map(str::to_owned)
            .unwrap_or_default();
        assert!(error.contains("was gone before it answered"), "{error}");
        assert!(error.contains("out of paper"), "{error}");
    }
    assert_eq!(chat.outcome(prompt)["delivery"], "accepted", "its turn had begun");
    let journal = std::sync::Arc::clone(&chat.journal);
    let id = chat.id.clone();
    assert_eq!(chat.over().end, Some(tapline_agent::wrap::End::Code(3)));
    let rows = journal
        .rows(&id, tapline_journal::Window::From(1, 1000))
        .expect("rows");
    assert_eq!(ends(&rows), [Some(End::Cut)]);
    let told = texts(&rows, Kind::Status);
    assert_eq!(told.len(), 1, "one explanation: {told:?}");
    assert!(
        told[0].contains("out of paper")
            || rows.iter().any(|row| {
                matches!(&row.body, Body::Status(s) if format!("{:?}", s.detail).contains("out of paper"))
            })
    );
}

/// 128 calls may wait; the next is refused at once, and one that is answered frees its place. (That one which runs out of time
/// does so too: `peer.rs`.)
#[test]
fn cp_8_calls_that_wait_are_capped() {
    let rig = Rig::new();
    let mut options = rig.shell(r#"begin; until_heard '"modeId":"last"'; until_heard nothing"#);
    options.patience.setting = LONG;
    let chat = rig.begin(options).expect("it begins");
    let most = tapline_agent::host::PENDING_CALLS;
    let mut all = Vec::new();
    for n in 0..=most {
        all.push(chat.post(intent::SET_OPTION, json!({"mode": n.to_string()})));
    }
    let refused = chat.outcome(all[most]);
    let error = refused["error"].as_str().unwrap_or_default();
    assert!(error.contains("too many calls"), "{refused}");
    let sent = chat.sent();
    assert!(
        methods(&sent)
            .iter()
            .filter(|m| **m == "session/set_mode")
            .count()
            <= most
    );
    let journal = std::sync::Arc::clone(&chat.journal);
    chat.close();
    for id in &all[..most] {
        let settled = crate::rig::find(&*journal, *id);
        let outcome = settled.outcome.expect("it is told");
        assert!(outcome.as_str().contains("was gone"), "{}", outcome.as_str());
    }
}

/// 128 requests of the agent may wait; the next is refused with -32603. (None of them ever expires: `peer.rs`.)
#[test]
fn cp_9_requests_that_wait_are_capped() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; mine=$id; n=0
        while [ $n -lt 129 ]; do permission '"r'$n'"' t$n; n=$((n+1)); done
        until_heard '"r128"'; until_heard '"r0"'; permission '"more"' tm; until_heard '"more"'; done_with $mine; until_heard nothing"#,
    );
    chat.prompt("go");
    let refused = chat.reply(&json!("r128"));
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    assert!(
        refused["error"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("128")),
        "{refused}"
    );
    let first = chat.request();
    assert_eq!(
        chat.outcome(chat.answer(&first, "yes")),
        json!({"outcome": "allowed"})
    );
    let more = chat.until("the one that found a free place", |rows| {
        rows.iter()
            .find(|row| matches!(&row.body, Body::Request(r) if r.title.as_deref() == Some("Do tm")))
            .cloned()
    });
    assert_eq!(
        chat.outcome(chat.answer(&more, "no")),
        json!({"outcome": "rejected"})
    );
    chat.close();
}

/// A service that ends after the session was closed answers nobody.
#[test]
fn cp_10_nothing_is_written_after_the_close() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt
        request '"t"' terminal/create '{"sessionId":"s","command":"sleep 1000"}'; until_heard term-
        request '"w"' terminal/wait_for_exit '{"sessionId":"s","terminalId":"term-1"}'
        text "Waiting."; until_heard session/cancel; result 3 '{"stopReason":"cancelled"}'; until_heard nothing"#,
    );
    chat.prompt("go");
    chat.says("Waiting.");
    let (journal, id) = (std::sync::Arc::clone(&chat.journal), chat.id.clone());
    assert_eq!(chat.close().trouble, None);
    let sent = crate::raw::sent(&*journal, &id);
    assert!(sent.iter().all(|frame| frame["id"] != "w"), "{sent:#?}");
}

/// What is too long to be written is refused on its own: the prompt reads `rejected`, and the next one goes out.
#[test]
fn cp_11_a_line_over_the_limit_is_refused_and_nothing_else() {
    let rig = Rig::new();
    let chat = rig
        .start("slow_reader = { bytes = 1048576, every_ms = 1 }\n[[turn]]\nsteps = [{ text = \"Heard.\" }]");
    let long = chat.prompt(&"x".repeat(tapline_agent::host::WRITE_LINE_BYTES));
    let refused = chat.outcome(long);
    assert_eq!(refused["delivery"], "rejected", "{refused}");
    assert!(
        refused["reason"]
            .as_str()
            .is_some_and(|why| why.contains("16 MiB")),
        "{refused}"
    );
    assert_eq!(
        chat.end_of(&"y".repeat(2 << 20)),
        Some(End::Completed),
        "a slow reader gets it all"
    );
    chat.close();
}

/// An agent that closes its input cannot be spoken to: it is ended, and the turn of what was on its way is cut. (Its prompt
/// reads `accepted`, since a prompt with nothing before it opens its turn when it is sent; Orca calls it unknown.)
#[test]
fn cp_12_a_closed_input_of_the_agent_ends_it() {
    let rig = Rig::new();
    let chat = rig.start_shell(r#"begin; exec 0<&-; : > closed; sleep 1000"#);
    until_file(&rig.cwd().join("closed"));
    let sent = chat.prompt("go");
    chat.outcome(sent);
    chat.until_ended(&[End::Cut]);
    assert!(chat.over().end.is_some());
}

/// A call that runs out of time while it waits to be written never reaches the agent.
#[test]
fn cp_13_a_call_that_runs_out_of_time_in_the_queue_is_never_sent() {
    let rig = Rig::new();
    let mut options = rig.shell(r#"begin; wait_for go; while :; do hear; printf '%s\n' "$line" | cut -c1-100 >> heard; case $line in *session/prompt*) done_with $id;; esac; done"#);
    options.patience.setting = std::time::Duration::from_millis(100);
    let chat = rig.begin(options).expect("it begins");
    // The agent's pipe takes 64 KiB of this, so the rest waits.
    let sent = chat.prompt(&"x".repeat(1 << 20));
    chat.until_sent("the prompt", |frame| frame["method"] == "session/prompt");
    let set = chat.post(intent::SET_OPTION, json!({"mode": "late"}));
    let error = chat.outcome(set);
    assert!(
        error["error"]
            .as_str()
            .is_some_and(|e| e.contains("did not answer session/set_mode within")),
        "{error}"
    );
    std::fs::write(rig.cwd().join("go"), "").expect("a file");
    assert_eq!(chat.outcome(sent)["delivery"], "accepted");
    assert_eq!(chat.end_of("after"), Some(End::Completed));
    let heard = std::fs::read_to_string(rig.cwd().join("heard")).expect("a file");
    assert!(
        heard.contains("session/prompt") && !heard.contains("set_mode"),
        "{heard}"
    );
    chat.close();
}

/// A call that runs out of time with half its line written ends the process: what came next would stand behind half a line.
#[test]
fn cp_14_running_out_of_time_in_the_middle_of_a_line_ends_the_process() {
    let rig = Rig::new();
    let mut options = rig.shell("begin; sleep 1000");
    options.patience.setting = std::time::Duration::from_millis(100);
    let chat = rig.begin(options).expect("it begins");
    // One that is still in the queue when its time is up is only taken back, so it may need another.
    let (journal, id) = (std::sync::Arc::clone(&chat.journal), chat.id.clone());
    let long = json!({"mode": "x".repeat(1 << 20)});
    while !chat.hosted.is_over() {
        let set = crate::rig::post(&*journal, &id, intent::SET_OPTION, long.clone(), "test");
        crate::raw::until("it runs out of time", || {
            let state = crate::rig::find(&*journal, set).state;
            chat.hosted.is_over() || state == tapline_journal::IntentState::Done
        });
    }
    assert!(chat.over().end.is_some());
}

/// What an agent said before its end is heard after it. (Orca hears notifications alone then; a late answer counts here too.)
#[test]
fn cp_16_what_was_said_before_the_end_is_still_heard() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [{ flood = { count = 3000, text = "{{i}} " } }, { exit = { code = 0 } }]"#,
    );
    chat.prompt("go");
    let (journal, id) = (std::sync::Arc::clone(&chat.journal), chat.id.clone());
    chat.over();
    let rows = journal
        .rows(&id, tapline_journal::Window::From(1, 1000))
        .expect("rows");
    let said = texts(&rows, Kind::Assistant).concat();
    assert!(
        said.ends_with("2999 "),
        "it ends with {:?}",
        &said[said.len().saturating_sub(40)..]
    );
    assert_eq!(ends(&rows), [Some(End::Cut)]);
}
