//! RU: going on with a session in another process.

use serde_json::{Value, json};
use tapline_agent::host::{Begin, Hosted, StartError};
use tapline_journal::Window;
use tapline_timeline::{Body, End, Kind, Origin, Session, TextState};

use crate::rig::{LONG, Rig, ends, texts};
use crate::wire::{calls, sent, tape, tapes};

const SCENARIO: &str = r#"
commands = [{ name = "review", description = "Reviews." }]

[[turn]]
when = "hello"
steps = [{ text = "Hi there." }, { usage = { used = 1234, size = 9000 } }]

[[turn]]
when = "crash"
steps = [{ text = "Half a sent" }, { exit = { code = 9 } }]
"#;

/// A chat of one turn that has ended, as its session object.
fn once(rig: &Rig, scenario: &str) -> Session {
    let chat = rig.start(scenario);
    chat.ask("hello");
    let session = chat.session();
    chat.close();
    session
}

/// The agent forgets every session.
fn forget(rig: &Rig) {
    std::fs::remove_dir_all(rig.dir.path().join("state")).expect("the agent forgets");
}

/// What an agent tells between a load and its answer adds no row, marked or not.
#[test]
fn ru_1_what_comes_during_a_load_adds_no_row() {
    for marked in [true, false] {
        let rig = Rig::new();
        let session = once(&rig, SCENARIO);
        let before = rig.journal.rows(&session.id, Window::Last(100)).expect("rows");
        let scenario = format!(
            "marks_replay = {marked}\non_load = [{{ text = \"As I said.\" }}, {{ plan = [\"[x] done\"] }}]\n{SCENARIO}"
        );
        let chat = rig
            .begin(rig.resume(&scenario, &session, false))
            .expect("it goes on");
        assert_eq!(chat.rows(), before);
        chat.close();
    }
}

/// A load leaves nothing that runs: a stop finds nothing to stop.
#[test]
fn ru_2_a_load_leaves_nothing_to_stop() {
    let rig = Rig::new();
    let session = once(&rig, SCENARIO);
    let chat = rig
        .begin(rig.resume(SCENARIO, &session, false))
        .expect("it goes on");
    assert_eq!(
        chat.outcome(chat.stop())["error"],
        "Nothing runs in this session."
    );
    assert_eq!(ends(&chat.rows()), [Some(End::Completed)]);
    chat.close();
}

/// The use of the context that was measured last stands after a load.
#[test]
fn ru_3_the_measure_of_the_context_is_kept() {
    let rig = Rig::new();
    let session = once(&rig, SCENARIO);
    let context = session.context.expect("it was measured");
    assert_eq!((context.used, context.size), (Some(1234), Some(9000)));
    let chat = rig
        .begin(rig.resume(SCENARIO, &session, false))
        .expect("it goes on");
    assert_eq!(chat.session().context, session.context);
    chat.close();
}

/// An agent that can load and resume is asked to load.
#[test]
fn ru_4_a_load_is_preferred_to_a_resume() {
    let rig = Rig::new();
    let session = once(&rig, SCENARIO);
    let chat = rig
        .begin(rig.resume(SCENARIO, &session, false))
        .expect("it goes on");
    chat.close();
    let tape = tape(&*rig.journal, &session.id);
    assert_eq!(calls(&tape, "session/load").len(), 1);
    assert!(calls(&tape, "session/resume").is_empty());
    assert_eq!(calls(&tape, "session/new").len(), 1);
}

/// A reply that was cut off stays cut off when the session goes on, with one explanation.
#[test]
fn ru_5_a_reply_that_was_cut_off_stays_so() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    chat.prompt("crash");
    chat.until_ended(&[End::Cut]);
    let session = chat.session();
    chat.hosted.join();
    let chat = rig
        .begin(rig.resume(SCENARIO, &session, false))
        .expect("it goes on");
    chat.ask("hello");
    let rows = chat.rows();
    assert_eq!(ends(&rows), [Some(End::Cut), Some(End::Completed)]);
    let cut = rows.iter().find_map(|row| match &row.body {
        Body::Assistant(message) => Some((message.content.as_text().to_owned(), message.state)),
        _ => None,
    });
    assert_eq!(cut, Some(("Half a sent".to_owned(), TextState::Cut)));
    assert_eq!(texts(&rows, Kind::Status).len(), 1, "{}", chat.told());
    chat.close();
}

/// What an agent says before it names the session is held, and stands in the session once that is named.
#[test]
fn ru_6_what_comes_before_the_session_is_held_for_it() {
    let rig = Rig::new();
    let chat = rig.start(&format!("on_new = [{{ text = \"Early bird.\" }}]\n{SCENARIO}"));
    chat.says("Early bird.");
    let rows = chat.rows();
    assert!(matches!(&rows[0].body, Body::Turn(turn) if turn.origin == Origin::Agent));
    chat.ask("hello");
    assert_eq!(texts(&chat.rows(), Kind::Assistant), ["Early bird.", "Hi there."]);
    chat.close();
}

/// A session that the agent no longer has goes on in a new one where that is wanted: one row says so with the agent's
/// words, and the first prompt, only that one, is given the chat so far, marked as such. Where it is not wanted, the start
/// fails with the agent's words.
#[test]
fn ru_8_a_lost_session_goes_on_afresh_with_one_row_that_says_so() {
    let rig = Rig::new();
    let session = once(&rig, SCENARIO);
    let lost = session.provider_session.clone().expect("an id");
    forget(&rig);
    let error = rig.begin(rig.resume(SCENARIO, &session, false)).err();
    let error = error.expect("the agent has forgotten it");
    assert!(
        matches!(&error, StartError::Lost { why, .. } if why.contains(&lost)),
        "{error}"
    );

    let mut options = rig.resume(SCENARIO, &session, true);
    options.begin = Begin::Resume {
        session: session.id.clone(),
        provider: "gone".to_owned(),
        afresh: true,
    };
    let chat = rig.begin(options).expect("it goes on afresh");
    assert_eq!(chat.id, session.id);
    chat.ask("hello again");
    chat.ask("hello once more");
    let warnings: Vec<String> = texts(&chat.rows(), Kind::Status);
    assert!(warnings.iter().any(|text| text.contains("gone")), "{warnings:?}");
    let prompts = calls(&tape(&*rig.journal, &chat.id), "session/prompt");
    let last: Vec<&Value> = prompts
        .iter()
        .rev()
        .take(2)
        .map(|p| &p["params"]["prompt"])
        .collect();
    assert_eq!(*last[0], json!([{"type": "text", "text": "hello once more"}]));
    let context = last[1][0]["text"].as_str().expect("the chat so far");
    assert!(
        context.contains("User: hello") && context.contains("Assistant: Hi there."),
        "{context}"
    );
    assert!(context.contains("It is context, not a request."), "{context}");
    assert_eq!(last[1][1]["text"], "hello again");
    chat.close();
}

/// An agent that is not signed in refuses to load: no new session takes its place, whether that is wanted or not.
#[test]
fn ru_9_an_agent_that_is_not_signed_in_refuses_to_load() {
    let rig = Rig::new();
    let session = once(&rig, SCENARIO);
    let scenario = format!("needs_login = true\n{SCENARIO}");
    for afresh in [false, true] {
        let error = rig.begin(rig.resume(&scenario, &session, afresh)).err();
        assert!(matches!(&error, Some(StartError::SignIn { .. })), "{error:?}");
    }
    assert_eq!(calls(&tapes(&*rig.journal), "session/new").len(), 1);
}

/// A start that was closed while its session was loaded begins no new one, whatever the agent then says of the load.
#[test]
fn ru_10_a_start_that_was_closed_begins_no_new_session() {
    let rig = Rig::new();
    let session = once(&rig, SCENARIO);
    let scenario = format!(
        "ignores_eof = true\non_load = [\"wait_for_eof\", {{ error = {{ code = -32002, message = \"It is gone.\" }} }}]\n{SCENARIO}"
    );
    let hosted =
        Hosted::start(rig.journal.clone(), rig.resume(&scenario, &session, true)).expect("it starts");
    hosted.close();
    let told = hosted.session(LONG);
    assert!(matches!(told, Err(StartError::GivenUp)), "{told:?}");
    hosted.join();
    let sent = sent(&tapes(&*rig.journal));
    assert_eq!(sent.iter().filter(|method| *method == "session/new").count(), 1);
}

/// The commands that an agent tells during a load, or right after it, are there when the session goes on.
#[test]
fn ru_11_commands_survive_the_load() {
    let rig = Rig::new();
    let session = once(&rig, SCENARIO);
    let scenario = r#"
on_load = [{ update = { sessionUpdate = "available_commands_update", availableCommands = [{ name = "plan", description = "Plans." }] } }]
"#;
    let chat = rig
        .begin(rig.resume(scenario, &session, false))
        .expect("it goes on");
    let names = |chat: &crate::rig::Chat| -> Vec<String> {
        let offer = chat.hosted.standing().offer;
        offer.commands.into_iter().map(|command| command.name).collect()
    };
    assert_eq!(names(&chat), ["plan"]);
    chat.close();
    let chat = rig
        .begin(rig.resume(SCENARIO, &session, false))
        .expect("it goes on");
    chat.until("its commands are told", |_| {
        (names(&chat) == ["review"]).then_some(())
    });
    chat.close();
}

/// A load that is never answered has a limit, and the error says so; no new session takes its place.
#[test]
fn a_load_that_is_never_answered_has_a_limit_that_says_so() {
    let rig = Rig::new();
    let session = once(&rig, SCENARIO);
    let scenario = format!("on_load = [\"wait_for_cancel\"]\n{SCENARIO}");
    let mut options = rig.resume(&scenario, &session, true);
    options.patience.load = Some(std::time::Duration::from_millis(50));
    let error = rig.begin(options).err().expect("it is never answered");
    assert!(
        matches!(&error, StartError::Lost { why, .. } if why.contains("did not answer session/load within 0.05 s")),
        "{error}"
    );
    assert_eq!(calls(&tapes(&*rig.journal), "session/new").len(), 1);
}
