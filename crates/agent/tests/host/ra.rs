//! RA: the runtime adapter of Orca, as the rules of a hosted session.

use serde_json::json;
use tapline_agent::host::{CallError, StartError, intent};
use tapline_timeline::{Ask, Body, End, Kind, Outcome, RequestState};

use crate::rig::{Rig, built, ends, request_of, texts};
use crate::wire::{Input, answers, calls, place, sent, tape, tapes};

const SCENARIO: &str = r#"
[[turn]]
when = "hello"
steps = [{ text = "Hi there." }]

[[turn]]
when = "edit"
steps = [
  { tool = { id = "edit-1", title = "Edit a.txt", kind = "edit" } },
  { permission = { tool = "edit-1", allow = [{ finish = "edit-1" }, { text = "Edited." }], reject = [{ fail = "edit-1" }, { text = "Left alone." }] } },
]

[[turn]]
when = "ask"
steps = [{ question = { message = "Which one?", options = ["red", "blue"], accept = [{ text = "Then {{answer}}." }] } }]

[[turn]]
when = "silent"
steps = ["wait_for_cancel"]

[[turn]]
when = "later"
steps = [
  { text = "Done for now." }, { answer = "end_turn" },
  { text = "One more thing." },
  { permission = { tool = { id = "rm-1", title = "Remove it" }, allow = [{ text = "Gone." }], cancelled = [{ text = "Nobody was there." }] } },
]
"#;

const GROK: &str = r#"
[agent]
name = "grok"
title = "Grok"
version = "0.2"

[[turn]]
when = "hello"
steps = [{ text = "Hi." }]

[[turn]]
when = "later"
steps = [
  { answer = "end_turn" }, { text = "I have a plan." },
  { ask = { method = "x.ai/exit_plan_mode", params = { sessionId = "{{session}}", toolCallId = "plan-1", planContent = "Do it." } } },
]
"#;

/// How an agent is started stands in the record before anything is said to it.
#[test]
fn ra_1_how_the_agent_is_started_is_recorded_before_the_first_call() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let tape = tape(&*rig.journal, &chat.id);
    let Input::Did(first) = &tape[0] else {
        panic!("{:?}", tape[0])
    };
    assert_eq!(first["launch"]["name"], "scripted");
    assert!(
        first["launch"]["program"]
            .as_str()
            .is_some_and(|p| p.ends_with("scripted-agent"))
    );
    assert!(matches!(&tape[1], Input::Out(frame) if frame["method"] == "initialize"));
    chat.close();
}

/// What a launch adds to the environment reaches the agent, and its value stands nowhere in the record. (Orca scrubs
/// credentials; Tapline gives the agent the person's own environment, since the agent signs in with it, and records no
/// value of it.)
#[test]
fn ra_2_the_environment_reaches_the_agent_and_not_the_record() {
    const VALUE: &str = "f3a9c1d27b6e4850";
    let rig = Rig::new();
    let agent = built("scripted-agent");
    let script = rig.dir.path().join("script.toml");
    std::fs::write(&script, SCENARIO).expect("the script is written");
    let line = format!(
        "echo \"the key is $THE_KEY\" >&2; exec {} {}",
        agent.display(),
        script.display()
    );
    let mut options = rig.command(&["sh", "-c", &line]);
    options.launch.set_env("THE_KEY", VALUE);
    options.secrets = vec![VALUE.to_owned()];
    let chat = rig.begin(options).expect("the session begins");
    chat.ask("hello");
    let id = chat.id.clone();
    chat.close();
    // What is packed on the tape is looked at as it is read.
    let tapes = rig.journal.tapes(Some(&id)).expect("tapes");
    let inputs = rig
        .journal
        .read_tape(&tapes[0].connection, 1, 1000)
        .expect("inputs");
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(
        !inputs.iter().any(|input| has(&input.bytes, VALUE)),
        "the tape holds the value"
    );
    let told = inputs.iter().any(|input| has(&input.bytes, "the key is"));
    for file in std::fs::read_dir(rig.dir.path().join("home")).expect("the home can be read") {
        let path = file.expect("an entry").path();
        if path.is_file() {
            let bytes = std::fs::read(&path).expect("a file");
            assert!(!has(&bytes, VALUE), "{} holds the value", path.display());
        }
    }
    assert!(
        told,
        "the agent was told the value, and its line is recorded without it"
    );
}

/// A session that was never used and that the agent no longer has goes on in a new one, with nothing to tell of before.
/// (Orca is silent about it. DESIGN: a failed load leaves one warning row, whatever was lost.)
#[test]
fn ra_3_ru_7_a_session_that_was_never_used_goes_on_afresh_without_context() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let (id, session) = (chat.id.clone(), chat.session());
    chat.close();
    std::fs::remove_dir_all(rig.dir.path().join("state")).expect("the agent forgets");
    let chat = rig
        .begin(rig.resume(SCENARIO, &session, true))
        .expect("it goes on afresh");
    assert_eq!(chat.id, id);
    chat.ask("hello");
    let prompts = calls(&tape(&*rig.journal, &id), "session/prompt");
    assert_eq!(
        prompts[0]["params"]["prompt"],
        json!([{"type": "text", "text": "hello"}])
    );
    assert_eq!(texts(&chat.rows(), Kind::Status).len(), 1, "{}", chat.told());
    assert_eq!(calls(&tape(&*rig.journal, &id), "session/new").len(), 2);
    chat.close();
}

/// An agent that is not signed in refuses the start with the ways it offers; none of them is tried unless it was named,
/// and that one once.
#[test]
fn ra_4_an_agent_that_is_not_signed_in_refuses_the_start() {
    let scenario = format!("needs_login = true\n{SCENARIO}");
    let rig = Rig::new();
    let error = rig
        .begin(rig.options(&scenario))
        .err()
        .expect("it is not signed in");
    let StartError::SignIn { methods, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(methods[0].id, "scripted");
    assert!(error.to_string().contains("--sign-in"), "{error}");
    assert!(!sent(&tapes(&*rig.journal)).contains(&"authenticate".to_owned()));

    let mut options = rig.options(&scenario);
    options.sign_in = Some("scripted".to_owned());
    let chat = rig.begin(options).expect("it signs in");
    let tape = tape(&*rig.journal, &chat.id);
    assert_eq!(calls(&tape, "authenticate").len(), 1);
    assert_eq!(calls(&tape, "session/new").len(), 2);
    chat.close();
}

/// An agent that ends while it is set up is told with the last words of its standard error, also when its output ended
/// first.
#[test]
fn ra_5_an_agent_that_ends_during_its_start_is_told_with_its_last_words() {
    let lines = [
        "read call; echo 'there is no such model' >&2; exit 3",
        "exec >&-; read call; echo 'there is no such model' >&2; exit 3",
    ];
    for line in lines {
        let rig = Rig::new();
        let error = rig
            .begin(rig.command(&["sh", "-c", line]))
            .err()
            .expect("it has ended");
        let StartError::SetUp {
            why: CallError::Closed { words, .. },
            ..
        } = &error
        else {
            panic!("{line}: {error}")
        };
        assert_eq!(words.as_deref(), Some("there is no such model"), "{line}");
    }
}

/// A prompt carries an id only for an agent that is known to echo it.
#[test]
fn ra_6_a_prompt_id_is_sent_only_to_an_agent_that_echoes_it() {
    for (scenario, echoes) in [(SCENARIO, false), (GROK, true)] {
        let rig = Rig::new();
        let chat = rig.start(scenario);
        chat.ask("hello");
        let prompts = calls(&tape(&*rig.journal, &chat.id), "session/prompt");
        let meta = &prompts[0]["params"]["_meta"];
        assert_eq!(meta["promptId"].is_string(), echoes, "{meta}");
        assert_eq!(meta["promptId"], meta["requestId"]);
        chat.close();
    }
}

/// A prompt is accepted when its turn opens. (Orca: at the agent's first frame of it. DESIGN: a prompt that waits behind
/// no other opens its turn at once, so a silent agent has accepted it too.)
#[test]
fn ra_7_a_prompt_is_accepted_when_its_turn_opens() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let outcome = chat.outcome(chat.prompt("silent"));
    assert_eq!(outcome["delivery"], "accepted");
    let row = chat
        .journal
        .row(&outcome["row"].as_str().expect("a row").into())
        .expect("it can be read")
        .expect("it is there");
    assert_eq!(
        row.turn.as_ref().map(|turn| turn.as_str()),
        outcome["turn"].as_str()
    );
    chat.outcome(chat.stop());
    chat.close();
}

/// A stop tells the agent to cancel, answers what it asks as cancelled, and ends the turn as stopped.
#[test]
fn ra_8_a_stop_withdraws_permissions_and_sends_cancel() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("edit");
    let request = chat.request();
    chat.outcome(chat.stop());
    assert_eq!(ends(&chat.rows()), [Some(End::Stopped)]);
    let (state, outcome, _) = request_of(&*rig.journal, &request.id);
    assert_eq!(
        (state, outcome),
        (RequestState::Settled, Some(Outcome::Cancelled))
    );
    let tape = tape(&*rig.journal, &chat.id);
    let answers = answers(&tape, "session/request_permission");
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].1["result"]["outcome"]["outcome"], "cancelled");
    assert!(place(&tape, "session/cancel", 0) < answers[0].0);
    assert_eq!(calls(&tape, "session/cancel").len(), 1);
    chat.close();
}

/// A stop with nothing running is refused, and the agent hears nothing of it.
#[test]
fn ra_9_a_stop_with_nothing_running_is_refused() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.ask("hello");
    let outcome = chat.outcome(chat.stop());
    assert_eq!(outcome["error"], "Nothing runs in this session.");
    assert!(calls(&tape(&*rig.journal, &chat.id), "session/cancel").is_empty());
    chat.close();
}

/// Who answers stands in the record before the answer is sent; a second answer is refused and told who was first.
/// (That the record is on stable storage by then is shown in `trouble`.)
#[test]
fn ra_10_an_answer_is_noted_before_it_is_sent_and_a_second_one_is_refused() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("edit");
    let request = chat.request();
    let payload = json!({ "request": request.id, "option": "allow-once" });
    let first = crate::rig::post(&*rig.journal, &chat.id, intent::ANSWER, payload, "ann");
    let payload = json!({ "request": request.id, "option": "reject-once" });
    let second = crate::rig::post(&*rig.journal, &chat.id, intent::ANSWER, payload, "bob");
    assert_eq!(chat.outcome(first), json!({ "outcome": "allowed" }));
    let refused = chat.outcome(second);
    assert_eq!(refused["by"], "ann");
    assert_eq!(refused["error"], "This was answered already: allowed.");
    chat.says("Edited.");
    let tape = tape(&*rig.journal, &chat.id);
    let answers = answers(&tape, "session/request_permission");
    assert_eq!(answers.len(), 1);
    let noted = tape
        .iter()
        .position(|input| matches!(input, Input::Did(did) if did["answer"]["by"] == "ann"));
    assert!(noted.is_some_and(|noted| noted < answers[0].0));
    chat.close();
}

/// A permission that the agent asks while it works on its own is answered as cancelled at once, since nobody waits for
/// it. (Orca makes no card. Here its row says that it was asked, and who put it away.)
#[test]
fn ra_11_a_permission_in_the_agents_own_turn_is_answered_at_once() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.ask("later");
    chat.says("Nobody was there.");
    let tape = tape(&*rig.journal, &chat.id);
    let answers = answers(&tape, "session/request_permission");
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].1["result"]["outcome"]["outcome"], "cancelled");
    let rows = chat.rows();
    let request = rows
        .iter()
        .find(|row| row.kind() == Kind::Request)
        .expect("a row");
    let (state, outcome, by) = request_of(&*rig.journal, &request.id);
    assert_eq!(
        (state, outcome),
        (RequestState::Settled, Some(Outcome::Cancelled))
    );
    assert_eq!(by.as_deref(), Some("tapline: no prompt is running"));
    chat.close();
}

/// A question that is open when its turn is stopped is answered as cancelled, once.
#[test]
fn ra_12_a_question_is_cancelled_once_on_stop() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("ask");
    chat.request();
    chat.outcome(chat.stop());
    chat.ask("hello");
    let answers = answers(&tape(&*rig.journal, &chat.id), "elicitation/create");
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].1["result"], json!({ "action": "cancel" }));
    chat.close();
}

/// A plan to be approved that nobody waits for is answered at once, in the agent's own way, and stands in its turn.
#[test]
fn ra_13_a_plan_that_is_answered_at_once_still_stands_in_its_turn() {
    let rig = Rig::new();
    let chat = rig.start(GROK);
    chat.ask("later");
    chat.says("The client answered x.ai/exit_plan_mode: {\"outcome\":\"abandoned\"}");
    let rows = chat.rows();
    let plan = rows
        .iter()
        .find(|row| matches!(&row.body, Body::Request(request) if request.ask == Ask::Plan))
        .unwrap_or_else(|| panic!("a plan in\n{}", chat.told()));
    let own = rows.iter().rfind(|row| row.kind() == Kind::Turn).expect("a turn");
    assert_eq!(plan.turn.as_ref(), Some(&own.id));
    assert_eq!(
        request_of(&*rig.journal, &plan.id).0,
        RequestState::Settled,
        "{}",
        chat.told()
    );
    chat.close();
}

/// An answer that came before the stop is sent although the stop follows at once; the stop withdraws nothing of it.
#[test]
fn ra_14_an_answer_before_a_stop_is_sent_all_the_same() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("edit");
    let request = chat.request();
    let answered = chat.answer(&request, "allow-once");
    let stopped = chat.stop();
    assert_eq!(chat.outcome(answered), json!({ "outcome": "allowed" }));
    // The turn may have ended before the stop reached it.
    chat.outcome(stopped);
    chat.ask("hello");
    assert_eq!(request_of(&*rig.journal, &request.id).1, Some(Outcome::Allowed));
    let tape = tape(&*rig.journal, &chat.id);
    let answers = answers(&tape, "session/request_permission");
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].1["result"]["outcome"]["optionId"], "allow-once");
    if !calls(&tape, "session/cancel").is_empty() {
        assert!(answers[0].0 < place(&tape, "session/cancel", 0));
    }
    chat.close();
}

/// What an agent offers to set can be read and set; what it refuses is told in its words.
#[test]
fn ra_15_options_are_read_and_set() {
    let scenario = format!(
        r#"
modes = [{{ id = "code", name = "Code" }}, {{ id = "plan", name = "Plan" }}]
options = [
  {{ id = "model", name = "Model", category = "model", type = "select", currentValue = "small", options = [{{ value = "small", name = "Small" }}, {{ value = "large", name = "Large" }}] }},
  {{ id = "loud", name = "Loud", type = "boolean", currentValue = false }},
]
{SCENARIO}"#
    );
    let rig = Rig::new();
    let chat = rig.start(&scenario);
    let offer = chat.hosted.standing().offer;
    assert_eq!(
        (offer.mode.as_deref(), offer.model.as_deref()),
        (Some("code"), Some("small"))
    );
    assert_eq!(offer.options[0].choices[1].id, "large");
    assert!(offer.options[1].boolean);
    let set = |payload| chat.outcome(chat.post(intent::SET_OPTION, payload));
    assert_eq!(
        set(json!({ "option": "model", "value": "large" })),
        json!({ "ok": true })
    );
    assert_eq!(
        set(json!({ "option": "loud", "value": true })),
        json!({ "ok": true })
    );
    let offer = chat.hosted.standing().offer;
    assert_eq!(offer.model.as_deref(), Some("large"));
    assert_eq!(offer.options[1].current.as_deref(), Some("true"));
    assert_eq!(set(json!({ "mode": "plan" })), json!({ "ok": true }));
    assert_eq!(chat.hosted.standing().offer.mode.as_deref(), Some("plan"));
    let refused = set(json!({ "mode": "dance" }));
    assert!(
        refused["error"]
            .as_str()
            .is_some_and(|e| e.contains("there is no mode `dance`")),
        "{refused}"
    );
    let refused = set(json!({ "option": "model" }));
    assert!(refused["error"].is_string(), "{refused}");
    let boolean = calls(&tape(&*rig.journal, &chat.id), "session/set_config_option");
    assert_eq!(boolean[1]["params"]["type"], "boolean");
    chat.close();
}
