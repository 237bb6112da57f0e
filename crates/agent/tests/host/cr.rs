//! CR: the client's side of the protocol. CR-12, CR-13 and CR-19 (what has no limit in time) are tested in the peer itself.

use std::time::Duration;

use serde_json::{Value, json};
use tapline_agent::host::{Begin, StartError, intent};
use tapline_journal::{Status, Window};
use tapline_timeline::{Body, End, Kind, Outcome, RequestState};

use crate::raw::{methods, until};
use crate::rig::{LONG, Rig, ends, post, texts};

/// A call that runs out of time ends neither the session nor its connection.
#[test]
fn cr_1_a_call_that_runs_out_of_time_does_not_close() {
    let rig = Rig::new();
    let mut options =
        rig.options("never_answers = [\"session/set_mode\"]\n[[turn]]\nsteps = [{ text = \"Here.\" }]");
    options.patience.setting = Duration::from_millis(50);
    let chat = rig.begin(options).expect("it begins");
    let set = chat.post(intent::SET_OPTION, json!({"mode": "code"}));
    let error = chat.outcome(set);
    assert!(
        error["error"]
            .as_str()
            .is_some_and(|e| e.contains("within 0.05 s")),
        "{error}"
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    chat.close();
}

/// A connection begins with `initialize`, once; every kind of update makes its rows, in the order in which they came.
#[test]
fn cr_2_initialize_once_and_updates_in_order() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [
  { thought = "Hm." }, { text = "One." }, { tool = { id = "t", title = "Look" } }, { finish = "t" },
  { plan = ["[ ] do it"] }, { text = "Two." },
  { update = { sessionUpdate = "brand_new", x = 1 } }, { usage = { used = 5, size = 10 } }, { title = "Named" },
]"#,
    );
    chat.ask("go");
    chat.ask("again");
    let kinds: Vec<Kind> = chat.rows().iter().take(8).map(|row| row.kind()).collect();
    use Kind::*;
    assert_eq!(
        kinds,
        [Turn, User, Reasoning, Assistant, Tool, Plan, Assistant, Unknown]
    );
    assert_eq!(chat.session().title.as_deref(), Some("Named"));
    let sent = chat.sent();
    assert_eq!(methods(&sent)[..2], ["initialize", "session/new"]);
    assert_eq!(methods(&sent).iter().filter(|m| **m == "initialize").count(), 1);
    chat.close();
}

/// A saved session is loaded where the agent can load, else resumed where it can resume, else the start fails: never is another
/// session made without a word.
#[test]
fn cr_3_load_is_preferred_to_resume_and_neither_is_an_error() {
    let rig = Rig::new();
    let chat = rig.start_shell("begin; until_heard nothing");
    let id = chat.id.clone();
    chat.close();
    let cases = [
        (r#"'"loadSession":true'"#, Some("session/load")),
        (
            r#"'"loadSession":true,"sessionCapabilities":{"resume":{}}'"#,
            Some("session/load"),
        ),
        (r#"'"sessionCapabilities":{"resume":{}}'"#, Some("session/resume")),
        (
            r#"'"loadSession":false,"sessionCapabilities":{"resume":null}'"#,
            None,
        ),
        ("", None),
    ];
    for (abilities, expected) in cases {
        let mut options = rig.shell(&format!(
            "greet {abilities}; hear; result 2 '{{}}'; until_heard nothing"
        ));
        options.begin = Begin::Resume {
            session: id.clone(),
            provider: "s".to_owned(),
            afresh: true,
        };
        match (rig.begin(options), expected) {
            (Ok(chat), Some(method)) => {
                assert_eq!(chat.id, id);
                let sent = chat.sent();
                let last = sent.last().expect("something was sent");
                assert_eq!(
                    (last["method"].as_str(), last["params"]["sessionId"].as_str()),
                    (Some(method), Some("s"))
                );
                chat.close();
            }
            (Err(StartError::CannotLoad { .. }), None) => {}
            (other, _) => panic!("{abilities}: {other:?}", other = other.map(|chat| chat.talk.id)),
        }
    }
}

/// A permission goes to a person and back; files are served, inside the folder (Orca offers none); what nobody knows is refused.
#[test]
fn cr_4_requests_go_round_and_unknown_ones_are_refused() {
    let rig = Rig::new();
    std::fs::write(rig.cwd().join("a.txt"), "the file").expect("a file");
    let chat = rig.start(
        r#"[[turn]]
steps = [
  { permission = { tool = { id = "t", title = "Do it" }, allow = [{ finish = "t" }, { text = "Allowed. " }] } },
  { read = "{{cwd}}/a.txt" }, { ask = { method = "_vendor/thing", params = { x = 1 } } },
]"#,
    );
    let sent = chat.prompt("go");
    let request = chat.request();
    chat.outcome(chat.answer(&request, "allow-once"));
    chat.outcome(sent);
    chat.says("Allowed.");
    chat.says("the file");
    chat.says("-32601");
    chat.close();
}

/// A stop puts away what a person was asked, and leaves alone what the agent asked of us. (Orca leaves all with their owner.)
#[test]
fn cr_5_a_cancel_withdraws_questions_and_leaves_services() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; mine=$id
        request '"t"' terminal/create '{"sessionId":"s","command":"while [ ! -e end ]; do sleep 0.02; done"}'; until_heard term-
        request '"w"' terminal/wait_for_exit '{"sessionId":"s","terminalId":"term-1"}'
        permission '"p"' t1; until_heard session/cancel; until_heard '"p"'
        result "$mine" '{"stopReason":"cancelled"}'; until_heard '"w"'; text "It ended."; until_heard nothing"#,
    );
    chat.prompt("go");
    let request = chat.request();
    assert!(chat.outcome(chat.stop())["stopped"].is_string());
    assert_eq!(
        chat.reply(&json!("p"))["result"]["outcome"]["outcome"],
        "cancelled"
    );
    let row = chat.journal.row(&request.id).expect("read").expect("there");
    assert!(matches!(&row.body, Body::Request(r) if r.outcome == Some(Outcome::Cancelled)));
    std::fs::write(rig.cwd().join("end"), "").expect("a file");
    assert_eq!(
        chat.reply(&json!("w"))["result"]["exitCode"],
        0,
        "it was still waited for"
    );
    chat.close();
}

/// An agent that wants to be signed in to says so with -32000: the start fails with its words; a prompt fails with them.
#[test]
fn cr_6_sign_in_is_asked_for_in_the_agents_words() {
    let rig = Rig::new();
    let refused = rig
        .begin(rig.shell(
            r#"greet; hear; refuse 2 '{"code":-32000,"message":"Log in first"}'; until_heard nothing"#,
        ))
        .map(|chat| chat.talk.id)
        .expect_err("it is not signed in");
    let StartError::SignIn { words, methods, .. } = &refused else {
        panic!("{refused}")
    };
    assert_eq!((words.as_deref(), methods.len()), (Some("Log in first"), 0));
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; text "Hm."; refuse $id '{"code":-32000,"message":"Log in again"}'; until_heard nothing"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Failed));
    assert!(
        texts(&chat.rows(), Kind::Status)
            .concat()
            .contains("Log in again"),
        "{}",
        chat.told()
    );
    chat.close();
}

/// The way to sign in that was named is tried once; without a name, or with one that the agent does not offer, none is.
#[test]
fn cr_7_the_named_way_to_sign_in_is_tried_once() {
    let rig = Rig::new();
    let login = "needs_login = true\n[[turn]]\nsteps = [{ text = \"In.\" }]";
    let mut options = rig.options(login);
    options.sign_in = Some("scripted".to_owned());
    let chat = rig.begin(options).expect("it signs in");
    assert_eq!(
        methods(&chat.sent()),
        ["initialize", "session/new", "authenticate", "session/new"]
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    chat.close();
    for name in [None, Some("another".to_owned())] {
        let mut options = rig.options(login);
        options.sign_in = name;
        let error = rig
            .begin(options)
            .map(|chat| chat.talk.id)
            .expect_err("nothing is guessed");
        assert!(matches!(error, StartError::SignIn { .. }), "{error}");
    }
    // An agent that goes on refusing is not asked for ever.
    let mut options = rig.shell(
        r#"hear; result 1 '{"protocolVersion":1,"authMethods":[{"id":"key"}]}'
        hear; refuse 2 '{"code":-32000,"message":"no"}'; hear; result 3 '{}'; hear; refuse 4 '{"code":-32000,"message":"still no"}'
        while hear; do echo "$line" >> more; done"#,
    );
    options.sign_in = Some("key".to_owned());
    let error = rig
        .begin(options)
        .map(|chat| chat.talk.id)
        .expect_err("it is refused");
    assert!(error.to_string().contains("still no"), "{error}");
    assert!(!rig.cwd().join("more").exists(), "nothing more was tried");
}

/// Modes, models and options are set in the protocol's own form; a truth value says its type.
#[test]
fn cr_8_shapes_of_settings() {
    let rig = Rig::new();
    let chat = rig.start_shell("begin; while hear; do result $id null; done");
    let sets = [
        (
            json!({"mode": "code"}),
            "session/set_mode",
            json!({"sessionId": "s", "modeId": "code"}),
        ),
        (
            json!({"model": "big"}),
            "session/set_model",
            json!({"sessionId": "s", "modelId": "big"}),
        ),
        (
            json!({"option": "o", "value": "v"}),
            "session/set_config_option",
            json!({"sessionId": "s", "configId": "o", "value": "v"}),
        ),
        (
            json!({"option": "o", "value": true}),
            "session/set_config_option",
            json!({"sessionId": "s", "configId": "o", "type": "boolean", "value": true}),
        ),
    ];
    for (wanted, method, params) in sets {
        let set = chat.post(intent::SET_OPTION, wanted);
        assert_eq!(chat.outcome(set), json!({"ok": true}));
        chat.until_sent(method, |frame| {
            frame["method"] == method && frame["params"] == params
        });
    }
    let none = chat.post(intent::SET_OPTION, json!({}));
    assert!(chat.outcome(none)["error"].is_string());
    chat.close();
}

/// Another version of the protocol, and an answer that names no session, fail the start with a sentence; nothing else is sent.
#[test]
fn cr_9_another_version_and_a_malformed_session_answer_fail_the_start() {
    let rig = Rig::new();
    let begin = |lines: &str| {
        let error = rig.begin(rig.shell(lines)).map(|chat| chat.talk.id);
        error.expect_err("it cannot begin").to_string()
    };
    let version =
        begin(r#"hear; result 1 '{"protocolVersion":2}'; while hear; do echo "$line" >> more; done"#);
    assert!(version.contains("speaks version 2"), "{version}");
    assert!(!rig.cwd().join("more").exists());
    for answer in ["{}", "null", r#"{"sessionId":{}}"#, "[]"] {
        let words = begin(&format!("greet; hear; result 2 '{answer}'; until_heard nothing"));
        assert!(
            words.contains("session/new") && words.contains("could not be read"),
            "{answer}: {words}"
        );
    }
}

/// A permission without a tool is refused with -32602. An option that the agent did not offer reaches nobody: whoever chose it is
/// told what there is, and the request goes on waiting. (Orca answers `cancelled` then.)
#[test]
fn cr_10_what_cannot_be_asked_or_chosen() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; mine=$id
        request 1 session/request_permission '{"sessionId":"s","toolCall":{},"options":[{"optionId":"a"}]}'
        request 2 session/request_permission '{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[{"name":"x"}]}'
        permission '"p"' t1; until_heard '"p"'; done_with $mine; until_heard nothing"#,
    );
    chat.prompt("go");
    assert_eq!(chat.reply(&json!(1))["error"]["code"], -32602);
    assert_eq!(chat.reply(&json!(2))["error"]["code"], -32602);
    let request = chat.request();
    let wrong = chat.outcome(chat.answer(&request, "maybe"));
    assert!(
        wrong["error"].as_str().is_some_and(|e| e.contains("yes, no")),
        "{wrong}"
    );
    assert_eq!(
        chat.outcome(chat.answer(&request, "no")),
        json!({"outcome": "rejected"})
    );
    chat.close();
}

/// An update of a kind that nobody knows is kept as it is, and what comes after it is read.
#[test]
fn cr_11_an_unknown_update_is_kept() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [{ update = { sessionUpdate = "brand_new", payload = { deep = [1, 2] } } }, { text = "On." }]"#,
    );
    chat.ask("go");
    let rows = chat.rows();
    let kept = rows.iter().find_map(|row| match &row.body {
        Body::Unknown(unknown) => Some(format!("{unknown:?}")),
        _ => None,
    });
    let kept = kept.expect("a row");
    assert!(kept.contains("brand_new") && kept.contains("deep"), "{kept}");
    chat.says("On.");
    chat.close();
}

/// The ways to sign in are told with what the agent says of them.
#[test]
fn cr_14_ways_to_sign_in_are_told() {
    let rig = Rig::new();
    let error = rig
        .begin(rig.shell(
            r#"hear; result 1 '{"protocolVersion":1,"authMethods":[{"id":"key","name":"A key","type":"env_var"},{"id":"web","name":"Browser","description":"Opens a page"}]}'
            hear; refuse 2 '{"code":-32000,"message":"no"}'; until_heard nothing"#,
        ))
        .map(|chat| chat.talk.id)
        .expect_err("not signed in");
    let StartError::SignIn { methods, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(methods[0].id, "key");
    assert_eq!(methods[1].description.as_deref(), Some("Opens a page"));
    assert!(
        error.to_string().contains("`key` (A key), `web` (Browser)"),
        "{error}"
    );
}

/// What is wanted of a session before it has begun waits, and is done once it has.
#[test]
fn cr_15_what_is_wanted_before_the_start_waits() {
    let rig = Rig::new();
    let scenario = "[[turn]]\nsteps = [{ text = \"You said {{prompt}}.\" }]";
    let chat = rig.start(scenario);
    let (id, session) = (chat.id.clone(), chat.session());
    chat.close();
    let early = post(
        &*rig.journal,
        &id,
        intent::PROMPT,
        json!({"text": "early"}),
        "test",
    );
    let chat = rig
        .begin(rig.resume(scenario, &session, false))
        .expect("it goes on");
    assert_eq!(chat.outcome(early)["delivery"], "accepted");
    chat.says("You said early.");
    chat.close();
}

/// What has nothing to say is answered with `{}`, and an answer of `null` is a good one.
#[test]
fn cr_16_nothing_to_say_is_an_answer() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/set_mode; result $id null; until_heard session/prompt; mine=$id
        request 1 terminal/create '{"sessionId":"s","command":"true"}'; until_heard term-
        request 2 terminal/release '{"sessionId":"s","terminalId":"term-1"}'; until_heard '"id":2'; done_with $mine; until_heard nothing"#,
    );
    let set = chat.post(intent::SET_OPTION, json!({"mode": "code"}));
    assert_eq!(chat.outcome(set), json!({"ok": true}));
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    assert_eq!(chat.reply(&json!(2))["result"], json!({}));
    chat.close();
}

/// A second request with an id that is open is not answered, and the first one's answer is untouched.
#[test]
fn cr_17_a_duplicate_id_is_ignored() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; mine=$id; permission 7 t1; permission 7 t2; request 7 nobody/knows '{}'
        text "Asked."; until_heard '"id":7'; done_with $mine; until_heard nothing"#,
    );
    let sent = chat.prompt("go");
    chat.says("Asked.");
    let request = chat.request();
    assert_eq!(
        chat.outcome(chat.answer(&request, "yes")),
        json!({"outcome": "allowed"})
    );
    chat.outcome(sent);
    chat.until_ended(&[End::Completed]);
    let (journal, id) = (std::sync::Arc::clone(&chat.journal), chat.id.clone());
    chat.close();
    let answers: Vec<Value> = crate::raw::sent(&*journal, &id)
        .into_iter()
        .filter(|frame| frame["id"] == 7 && frame.get("method").is_none())
        .collect();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!(answers[0]["result"]["outcome"]["optionId"], "yes");
}

/// An error that is none is our own failure to read, never the agent's words; what stood there is told.
#[test]
fn cr_18_a_malformed_error_is_told_as_it_stands() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/set_mode; refuse $id '"out of paper"'
        until_heard session/prompt; text "Hm."; refuse $id '{"code":"x"}'; until_heard nothing"#,
    );
    let set = chat.post(intent::SET_OPTION, json!({"mode": "code"}));
    let error = chat.outcome(set)["error"]
        .as_str()
        .map(str::to_owned)
        .unwrap_or_default();
    assert!(
        error.contains("could not be read") && error.contains("\"out of paper\""),
        "{error}"
    );
    assert_eq!(chat.end_of("go"), Some(End::Failed));
    chat.close();
}

/// An agent may take its time to begin: whoever waits is told so, and it begins when it is ready.
#[test]
fn cr_20_a_slow_start_is_allowed() {
    let rig = Rig::new();
    let mut options = rig.shell(
        r#"hear; wait_for one; result 1 '{"protocolVersion":1,"authMethods":[{"id":"key"}]}'
        hear; refuse 2 '{"code":-32000,"message":"no"}'; hear; wait_for two; result 3 '{}'; hear; result 4 '{"sessionId":"s"}'; until_heard nothing"#,
    );
    options.sign_in = Some("key".to_owned());
    options.patience.start = None;
    let hosted =
        tapline_agent::host::Hosted::start(std::sync::Arc::clone(&rig.journal), options).expect("it runs");
    for go in ["one", "two"] {
        let waiting = hosted.session(Duration::from_millis(1));
        assert!(matches!(waiting, Err(StartError::Waiting(_))), "{waiting:?}");
        std::fs::write(rig.cwd().join(go), "").expect("a file");
    }
    hosted.session(LONG).expect("it begins");
}

/// A request that the agent takes back is answered with -32800, once, and its row reads cancelled.
#[test]
fn cr_21_a_request_that_is_taken_back_is_answered_as_cancelled() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; mine=$id; permission '"p"' t1; wait_for asked
        say '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}'; until_heard '"p"'; done_with $mine; until_heard nothing"#,
    );
    chat.prompt("go");
    let request = chat.request();
    std::fs::write(rig.cwd().join("asked"), "").expect("a file");
    assert_eq!(chat.reply(&json!("p"))["error"]["code"], -32800);
    let late = chat.outcome(chat.answer(&request, "yes"));
    assert!(
        late["error"].as_str().is_some_and(|e| e.contains("cancelled")),
        "{late}"
    );
    let row = chat.journal.row(&request.id).expect("read").expect("there");
    assert!(
        matches!(&row.body, Body::Request(r) if r.state == RequestState::Settled && r.outcome == Some(Outcome::Cancelled))
    );
    chat.close();
}

/// An answer that somebody gave before the stop is sent, and stands.
#[test]
fn cr_22_an_answer_that_was_given_wins_over_a_stop() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [{ permission = { tool = { id = "t", title = "Do it" }, allow = [{ text = "Allowed." }, "wait_for_cancel"] } }]"#,
    );
    chat.prompt("go");
    let request = chat.request();
    let answer = chat.answer(&request, "allow-once");
    let stop = chat.stop();
    assert_eq!(chat.outcome(answer), json!({"outcome": "allowed"}));
    assert!(chat.outcome(stop)["stopped"].is_string());
    let row = chat.journal.row(&request.id).expect("read").expect("there");
    assert!(matches!(&row.body, Body::Request(r) if r.outcome == Some(Outcome::Allowed)));
    let sent = chat.sent();
    let at = |is: &dyn Fn(&Value) -> bool| sent.iter().position(is).expect("it was sent");
    let selected = at(&|f| f["result"]["outcome"]["outcome"] == "selected");
    assert!(selected < at(&|f| f["method"] == "session/cancel"));
    chat.close();
}

/// A close settles everything: what is asked, what is called, what runs.
#[test]
fn cr_23_a_close_settles_all() {
    let rig = Rig::new();
    let mut options = rig.shell(
        r#"begin; until_heard session/prompt; mine=$id; permission '"p"' t1; until_heard session/set_mode; : > asked
        until_heard session/cancel; result "$mine" '{"stopReason":"cancelled"}'; until_heard nothing"#,
    );
    options.patience.setting = LONG;
    let chat = rig.begin(options).expect("it begins");
    let prompt = chat.prompt("go");
    let request = chat.request();
    let set = chat.post(intent::SET_OPTION, json!({"mode": "code"}));
    crate::raw::until_file(&rig.cwd().join("asked"));
    let (journal, id) = (std::sync::Arc::clone(&chat.journal), chat.id.clone());
    assert_eq!(chat.close().trouble, None);
    for intent in [prompt, set] {
        assert_eq!(
            crate::rig::find(&*journal, intent).state,
            tapline_journal::IntentState::Done
        );
    }
    let row = journal.row(&request.id).expect("read").expect("there");
    assert!(matches!(&row.body, Body::Request(r) if r.outcome == Some(Outcome::Cancelled)));
    let rows = journal.rows(&id, Window::From(1, 100)).expect("rows");
    assert_eq!(ends(&rows), [Some(End::Stopped)]);
    assert_eq!(
        journal.session(&id).expect("read").expect("there").status,
        Status::Ended
    );
    assert!(journal.open_rows(&id).expect("rows").is_empty());
}

/// A permission whose turn has ended is over (Orca leaves it open): its row reads cancelled, and the agent, which still waits, is
/// told so.
#[test]
fn cr_24_a_permission_ends_with_its_turn() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; permission '"p"' t1; done_with $id; until_heard '"p"'; : > told; until_heard session/prompt
        text "Next."; done_with $id; until_heard nothing"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    assert_eq!(
        chat.reply(&json!("p"))["result"]["outcome"]["outcome"],
        "cancelled"
    );
    crate::raw::until_file(&rig.cwd().join("told"));
    let rows = chat.rows();
    let request = rows
        .iter()
        .find(|row| row.kind() == Kind::Request)
        .expect("a row");
    assert!(matches!(&request.body, Body::Request(r) if r.outcome == Some(Outcome::Cancelled)));
    assert_eq!(chat.end_of("next"), Some(End::Completed));
    chat.close();
}

/// A stop is over when the agent has ended the turn, in whatever way it does that.
#[test]
fn cr_25_a_stop_does_not_depend_on_how_the_prompt_is_answered() {
    let rig = Rig::new();
    for answer in [
        r#"refuse $mine '{"code":-32800,"message":"Request cancelled"}'"#,
        r#"result $mine '{"stopReason":"cancelled"}'"#,
        "done_with $mine",
        r#"say '{"jsonrpc":"2.0","id":'$mine'}'"#,
    ] {
        let chat = rig.start_shell(&format!(
            r#"begin; until_heard session/prompt; mine=$id; text "Begun."; until_heard session/cancel; {answer}
            until_heard session/prompt; done_with $id; until_heard nothing"#
        ));
        chat.prompt("go");
        chat.says("Begun.");
        let stopped = chat.outcome(chat.stop());
        assert!(
            stopped["stopped"].is_string() && stopped.get("process_ended").is_none(),
            "{stopped}"
        );
        assert_eq!(chat.end_of("next"), Some(End::Completed));
        assert_eq!(ends(&chat.rows()), [Some(End::Stopped), Some(End::Completed)]);
        chat.close();
    }
}

/// Where nobody can say which session of ours a frame is for, it changes nothing.
#[test]
fn cr_4_another_sessions_permission_is_answered_as_cancelled() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; request '"early"' session/request_permission '{"sessionId":"other","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a"}]}'
        until_heard early; : > told; until_heard nothing"#,
    );
    assert_eq!(
        chat.reply(&json!("early"))["result"]["outcome"]["outcome"],
        "cancelled"
    );
    until("it is told", || rig.cwd().join("told").exists());
    chat.close();
}
