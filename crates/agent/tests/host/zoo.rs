//! The zoo: agents that misbehave. For each: the timeline is true, memory is bounded, and the next prompt works or the session says
//! why not.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tapline_agent::host::{Hosted, StartError, intent};
use tapline_agent::wrap::End as ProcessEnd;
use tapline_journal::{Status, Window};
use tapline_timeline::{Body, Delivery, End, Kind, Outcome, TextState};

use crate::process::{HostProcess, left};
use crate::raw::{until, until_file};
use crate::rig::{LONG, Rig, ends, texts};

/// The most memory that a host may ever have, in KiB: what a recorder may have over a session of any length (64 MiB), and 32 MiB
/// each for what waits to be written to the agent, for its requests that wait, for what the journal has not committed yet, and
/// for the program with the line at hand.
const MOST: u64 = (64 + 4 * 32) << 10;

/// Runs one session in a process of its own and says whether its memory stayed bounded.
fn bounded(rig: &Rig, scenario: &str, work: impl FnOnce(&crate::rig::Talk)) {
    bounded_command(rig, &rig.scripted(scenario), work);
}

fn bounded_command(rig: &Rig, words: &[String], work: impl FnOnce(&crate::rig::Talk)) {
    let mut host = HostProcess::start(rig, None, words);
    let talk = rig.talk(&host.session());
    work(&talk);
    let mark = host.mark.clone();
    if let Some(peak) = host.close() {
        println!("the host had {peak} KiB at most");
        assert!(peak < MOST, "{peak} KiB");
    }
    until("nothing of it is left", || left(&mark).is_empty());
}

// --- Silence ---

#[test]
fn an_agent_that_never_answers_initialize_fails_the_start_in_time() {
    let rig = Rig::new();
    let mut options = rig.options("never_answers = [\"initialize\"]");
    options.patience.start = Some(Duration::from_millis(100));
    let hosted = Hosted::start(Arc::clone(&rig.journal), options).expect("it runs");
    let error = hosted.session(LONG).expect_err("it never begins");
    assert!(matches!(error, StartError::SetUp { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("did not answer initialize within 0.1 s"),
        "{error}"
    );
    assert!(hosted.join().end.is_some(), "and its process is ended");
}

#[test]
fn an_agent_that_never_answers_a_load_fails_the_start_in_time_and_loses_nothing() {
    let rig = Rig::new();
    let scenario =
        "never_answers = [\"session/load\"]\n[[turn]]\nsteps = [{ text = \"You said {{prompt}}.\" }]";
    let chat = rig.start(scenario);
    chat.ask("one");
    let (id, session, rows) = (chat.id.clone(), chat.session(), chat.rows().len());
    chat.close();
    let mut options = rig.resume(scenario, &session, true);
    options.patience.load = Some(Duration::from_millis(100));
    let error = rig
        .begin(options)
        .map(|chat| chat.talk.id)
        .expect_err("it never loads");
    assert!(
        error
            .to_string()
            .contains("did not answer session/load within 0.1 s"),
        "{error}"
    );
    let entry = rig.journal.session(&id).expect("read").expect("there");
    assert_eq!(entry.status, Status::Ended);
    let now = rig.journal.rows(&id, Window::From(1, 100)).expect("rows");
    assert_eq!(ends(&now), [Some(End::Completed)]);
    assert!(now.len() >= rows);
    // An agent that can load again goes on.
    let well = "[[turn]]\nsteps = [{ text = \"You said {{prompt}}.\" }]";
    let chat = rig.begin(rig.resume(well, &session, false)).expect("it goes on");
    assert_eq!(chat.id, id);
    chat.ask("two");
    chat.says("You said two.");
    chat.close();
}

#[test]
fn an_agent_that_never_obeys_a_cancel_is_ended_and_its_session_goes_on() {
    let rig = Rig::new();
    let scenario = "ignores_cancel = true\n[[turn]]\nwhen = \"work\"\nsteps = [{ text = \"Working.\" }, \"wait_for_cancel\"]\n[[turn]]\nsteps = [{ text = \"Hi.\" }]";
    let mut options = rig.options(scenario);
    options.patience.stop = Duration::from_millis(100);
    let chat = rig.begin(options).expect("it begins");
    chat.prompt("work");
    chat.says("Working.");
    let stopped = chat.outcome(chat.stop());
    assert_eq!(stopped["process_ended"], true, "{stopped}");
    let session = chat.session();
    assert_eq!(ends(&chat.rows()), [Some(End::Stopped)]);
    chat.over();
    let chat = rig
        .begin(rig.resume(scenario, &session, false))
        .expect("it goes on");
    assert_eq!(chat.end_of("hello"), Some(End::Completed));
    chat.close();
}

// --- Floods ---

#[test]
fn a_flood_is_taken_in_bounded_memory() {
    let rig = Rig::new();
    let scenario = "[[turn]]\nwhen = \"flood\"\nsteps = [{ flood = { count = 150000, text = \"{{i}} is a piece of a flood \" } }]\n[[turn]]\nsteps = [{ text = \"Dry.\" }]";
    bounded(&rig, scenario, |talk| {
        assert_eq!(talk.end_of("flood"), Some(End::Completed));
        let rows = talk.rows();
        let said = texts(&rows, Kind::Assistant).concat();
        assert!(said.ends_with("149999 is a piece of a flood "), "{}", said.len());
        assert_eq!(talk.end_of("on"), Some(End::Completed));
    });
}

#[test]
fn a_flood_of_requests_is_capped_and_in_bounded_memory() {
    let rig = Rig::new();
    // Each one is as large as a permission may be and still be shown.
    let input = "x".repeat(100_000);
    let mut steps = String::new();
    for n in 0..400 {
        steps.push_str(&format!(
            "{{ frame = {{ jsonrpc = \"2.0\", id = \"r{n}\", method = \"session/request_permission\", params = {{ sessionId = \"{{{{session}}}}\", toolCall = {{ toolCallId = \"t{n}\", title = \"T\", rawInput = {{ a = \"{input}\" }} }}, options = [{{ optionId = \"y\", name = \"Y\", kind = \"allow_once\" }}] }} }} }},\n"
        ));
    }
    let scenario = format!(
        "[[turn]]\nwhen = \"ask\"\nsteps = [\n{steps}{{ text = \"Asked.\" }}, \"wait_for_cancel\"]\n[[turn]]\nsteps = [{{ text = \"On.\" }}]"
    );
    bounded(&rig, &scenario, |talk| {
        talk.prompt("ask");
        talk.says("Asked.");
        talk.until_sent("a refusal", |frame| {
            frame["id"] == "r399" && frame["error"]["code"] == -32603
        });
        assert!(talk.outcome(talk.stop())["stopped"].is_string());
        // All of them are over, and their places free.
        assert_eq!(talk.end_of("on"), Some(End::Completed));
        let open = talk.journal.open_rows(&talk.id).expect("rows");
        assert!(
            open.iter().all(|row| row.kind() != Kind::Request),
            "{}",
            open.len()
        );
    });
}

/// Runs one session of an agent that is lines of shell in a process of its own.
fn bounded_shell(rig: &Rig, lines: &str, work: impl FnOnce(&crate::rig::Talk)) {
    let launch = rig.shell(lines).launch;
    let words: Vec<String> = std::iter::once(launch.program)
        .chain(launch.args)
        .map(|word| word.into_string().expect("UTF-8"))
        .collect();
    bounded_command(rig, &words, work);
}

#[test]
fn a_flood_of_large_requests_is_capped_and_in_bounded_memory() {
    let rig = Rig::new();
    let lines = r#"begin; until_heard session/prompt; mine=$id; n=0
        while [ $n -lt 40 ]; do
          printf '{"jsonrpc":"2.0","id":"r%s","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t%s","rawInput":{"x":"' $n $n
          head -c 10000000 /dev/zero | tr '\0' x; say '"}},"options":[{"optionId":"yes","kind":"allow_once"}]}}'; n=$((n+1))
        done
        text "Asked."; until_heard session/cancel; result $mine '{"stopReason":"cancelled"}'
        until_heard session/prompt; permission '"more"' tm; mine=$id; until_heard '"more"'; done_with $mine; until_heard nothing"#;
    bounded_shell(&rig, lines, |talk| {
        talk.prompt("ask");
        talk.says("Asked.");
        let refused = talk.reply(&json!("r39"));
        assert_eq!(refused["error"]["code"], -32603, "{refused}");
        assert!(talk.outcome(talk.stop())["stopped"].is_string());
        // The places of those that are over are free.
        let sent = talk.prompt("on");
        let row = talk.request();
        assert_eq!(
            talk.outcome(talk.answer(&row, "yes")),
            json!({"outcome": "allowed"})
        );
        talk.outcome(sent);
        talk.until_ended(&[End::Stopped, End::Completed]);
    });
}

#[test]
fn a_flood_on_standard_error_is_taken_in_bounded_memory() {
    let rig = Rig::new();
    let lines = r#"begin; until_heard session/prompt; n=0; { yes "an error that is said again and again" | head -c 40000000; head -c 20000000 /dev/zero; } >&2
        text "Done."; done_with $id; until_heard session/prompt; text "On."; done_with $id; until_heard nothing"#;
    bounded_shell(&rig, lines, |talk| {
        assert_eq!(talk.end_of("go"), Some(End::Completed));
        assert_eq!(talk.end_of("on"), Some(End::Completed));
    });
}

// --- Order ---

#[test]
fn updates_before_the_session_answer_are_held_and_not_lost() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"on_new = [{ title = "Known too soon" }, { text = "This came first." }, { usage = { used = 1200, size = 100000 } }]
commands = [{ name = "help", description = "Helps" }]
[[turn]]
steps = [{ text = "And this after." }]"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    let rows = chat.rows();
    assert_eq!(
        texts(&rows, Kind::Assistant),
        ["This came first.", "And this after."]
    );
    assert_eq!(chat.session().title.as_deref(), Some("Known too soon"));
    // What came before any prompt is work of the agent's own, which the prompt ended.
    assert_eq!(ends(&rows), [Some(End::Unknown), Some(End::Completed)]);
    chat.close();
}

#[test]
fn a_permission_for_a_tool_that_nobody_knows_is_asked() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [{ permission = { tool = { id = "ghost-1", title = "Do something", kind = "execute" }, allow = [{ text = "Allowed." }], reject = [{ text = "Refused." }] } }]"#,
    );
    let sent = chat.prompt("go");
    let row = chat.request();
    assert_eq!(
        chat.outcome(chat.answer(&row, "reject-once")),
        json!({"outcome": "rejected"})
    );
    chat.outcome(sent);
    chat.says("Refused.");
    assert!(
        chat.rows().iter().all(|row| row.kind() != Kind::Tool),
        "{}",
        chat.told()
    );
    let sent = chat.prompt("again");
    let row = chat.request();
    assert_eq!(
        chat.outcome(chat.answer(&row, "allow-once")),
        json!({"outcome": "allowed"})
    );
    chat.outcome(sent);
    chat.says("Allowed.");
    chat.close();
}

/// Two prompts never run at once, so an answer to the second cannot come first; one that comes twice, or for a prompt that is not
/// there yet, ends nothing.
#[test]
fn answers_to_prompts_in_the_wrong_order_end_what_they_are_for() {
    let rig = Rig::new();
    let chat = rig.start_shell(
        r#"begin; until_heard session/prompt; one=$id; two=$((one+1)); done_with $two; text "One."; wait_for go; done_with $one; done_with $one
        until_heard session/prompt; done_with $one; text "Two."; done_with $id; until_heard nothing"#,
    );
    let one = chat.prompt("one");
    let two = chat.prompt("two");
    chat.says("One.");
    assert_eq!(ends(&chat.rows()), [None], "the early answer was nobody's");
    std::fs::write(rig.cwd().join("go"), "").expect("a file");
    assert_eq!(chat.outcome(one)["delivery"], "accepted");
    assert_eq!(chat.outcome(two)["delivery"], "accepted");
    chat.until_ended(&[End::Completed, End::Completed]);
    let rows = chat.rows();
    let two = rows.iter().rfind(|row| row.kind() == Kind::Turn).expect("a turn");
    let said = rows
        .iter()
        .rfind(|row| row.kind() == Kind::Assistant)
        .expect("a reply");
    assert_eq!(said.turn.as_ref(), Some(&two.id));
    chat.close();
}

/// An agent that answers a steered prompt before the one that it cut: each answer ends its own turn.
#[test]
fn two_prompts_answered_in_the_wrong_order_keep_their_turns() {
    let rig = Rig::new();
    let mut options = rig.shell(
        r#"begin; until_heard session/prompt; one=$id; text "One."; until_heard session/cancel; result $one '{"stopReason":"cancelled"}'
        until_heard session/prompt; text "Two."; done_with $id; result $one '{"stopReason":"end_turn"}'; until_heard nothing"#,
    );
    options.patience.stop = LONG;
    let chat = rig.begin(options).expect("it begins");
    chat.prompt("one");
    chat.says("One.");
    let two = chat.steer("two");
    assert_eq!(chat.outcome(two)["delivery"], "accepted");
    chat.until_ended(&[End::Stopped, End::Completed]);
    chat.close();
}

#[test]
fn ids_that_repeat_reach_the_first_one_alone() {
    let rig = Rig::new();
    std::fs::write(rig.cwd().join("a.txt"), "contents").expect("a file");
    let chat = rig.start(
        r#"repeats_request_ids = true
[[turn]]
steps = [
  { permission = { tool = { id = "t1", title = "First" }, allow = [{ text = "First allowed. " }] } },
  { permission = { tool = { id = "t2", title = "Second" }, reject = [{ text = "Second refused. " }] } },
  { read = "{{cwd}}/a.txt" },
]"#,
    );
    let sent = chat.prompt("go");
    let first = chat.request();
    chat.outcome(chat.answer(&first, "allow-once"));
    let second = chat.until("the second", |rows| {
        let other = |row: &&Arc<tapline_timeline::Row>| {
            row.id != first.id
                && matches!(&row.body, Body::Request(r) if r.title.as_deref() == Some("Second"))
        };
        rows.iter().find(other).cloned()
    });
    chat.outcome(chat.answer(&second, "reject-once"));
    chat.outcome(sent);
    chat.says("contents");
    let said = texts(&chat.rows(), Kind::Assistant).concat();
    assert!(
        said.contains("First allowed.") && said.contains("Second refused."),
        "{said}"
    );
    let outcomes: Vec<_> = chat
        .rows()
        .iter()
        .filter_map(|row| match &row.body {
            Body::Request(request) => request.outcome,
            _ => None,
        })
        .collect();
    assert_eq!(outcomes, [Outcome::Allowed, Outcome::Rejected]);
    chat.close();
}

// --- Ends ---

#[test]
fn an_agent_that_exits_in_the_middle_of_a_line_cuts_its_turn() {
    let rig = Rig::new();
    let scenario = r#"[[turn]]
when = "die"
steps = [{ text = "Whole." }, { raw = "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sess" }, { exit = { code = 9 } }]
[[turn]]
steps = [{ text = "Back." }]"#;
    let chat = rig.start(scenario);
    chat.prompt("die");
    let (id, session) = (chat.id.clone(), chat.session());
    assert_eq!(chat.over().end, Some(ProcessEnd::Code(9)));
    let rows = rig.journal.rows(&id, Window::From(1, 100)).expect("rows");
    assert_eq!(ends(&rows), [Some(End::Cut)]);
    assert_eq!(texts(&rows, Kind::Assistant), ["Whole."]);
    assert_eq!(texts(&rows, Kind::Status).len(), 1);
    let chat = rig
        .begin(rig.resume(scenario, &session, false))
        .expect("it goes on");
    assert_eq!(chat.end_of("hello"), Some(End::Completed));
    chat.close();
}

#[test]
fn an_agent_that_closes_its_output_and_lives_takes_no_prompt_and_says_why() {
    let rig = Rig::new();
    let chat = rig.start_shell("begin; exec >&-; until_heard nothing");
    until("its output is closed", || chat.hosted.standing().deaf);
    let outcome = chat.outcome(chat.prompt("go"));
    assert!(
        outcome["error"]
            .as_str()
            .is_some_and(|e| e.contains("closed its output")),
        "{outcome}"
    );
    chat.close();
}

// --- Files and terminals ---

#[test]
fn files_outside_are_refused_by_dots_and_through_links() {
    let rig = Rig::new();
    std::os::unix::fs::symlink("/", rig.cwd().join("link")).expect("a link");
    std::os::unix::fs::symlink("../../../../../../../../etc/passwd", rig.cwd().join("away")).expect("a link");
    let chat = rig.start(
        r#"[[turn]]
when = "steal"
steps = [
  { read = "../../etc/passwd" }, { read = "{{cwd}}/../../../../../../../../etc/passwd" }, { read = "{{cwd}}/link/../../etc/passwd" },
  { read = "{{cwd}}/link/etc/passwd" }, { read = "{{cwd}}/away" }, { read = "/etc/passwd" },
  { write = { path = "{{cwd}}/link/tmp/tapline-zoo-escape", bytes = 3 } }, { write = { path = "{{cwd}}/../escape", bytes = 3 } },
  { ask = { method = "terminal/create", params = { sessionId = "{{session}}", command = "pwd", cwd = "{{cwd}}/link/etc" } } },
]
[[turn]]
steps = [{ text = "On." }]"#,
    );
    assert_eq!(chat.end_of("steal"), Some(End::Completed));
    let said = texts(&chat.rows(), Kind::Assistant).concat();
    assert_eq!(said.matches("The client refused").count(), 9, "{said}");
    assert!(!said.contains("root:"), "{said}");
    assert!(!std::path::Path::new("/tmp/tapline-zoo-escape").exists());
    assert!(!rig.dir.path().join("escape").exists());
    assert_eq!(chat.end_of("on"), Some(End::Completed));
    chat.close();
}

/// 4 GB asked for in one frame: refused without being read, as the request that it is.
#[test]
fn a_file_of_4_gb_in_one_frame_is_refused_in_bounded_memory() {
    let rig = Rig::new();
    let scenario = "[[turn]]\nwhen = \"write\"\nsteps = [{ write = { path = \"{{cwd}}/big\", bytes = 4294967296 } }]\n[[turn]]\nsteps = [{ text = \"On.\" }]";
    bounded(&rig, scenario, |talk| {
        assert_eq!(talk.end_of("write"), Some(End::Completed));
        let said = texts(&talk.rows(), Kind::Assistant).concat();
        assert!(
            said.contains("-32600") && said.contains("observedBytes\":4294967"),
            "{said}"
        );
        assert_eq!(talk.end_of("on"), Some(End::Completed));
    });
    assert!(!rig.cwd().join("big").exists());
}

/// A file that grows by one request after the other is written each time in bounded memory.
#[test]
fn a_file_written_again_and_again_takes_bounded_memory() {
    let rig = Rig::new();
    let one = "{ write = { path = \"{{cwd}}/big\", bytes = 12000000 } },";
    let scenario = format!("[[turn]]\nsteps = [{} {{ text = \"On.\" }}]", one.repeat(12));
    bounded(&rig, &scenario, |talk| {
        assert_eq!(talk.end_of("write"), Some(End::Completed));
        talk.says("On.");
    });
    assert_eq!(
        std::fs::metadata(rig.cwd().join("big")).expect("a file").len(),
        12_000_000
    );
}

/// A terminal of ours makes a file of 4 GB (of holes): to read it whole is refused, in bounded memory; a few lines of it can be had.
#[test]
fn a_file_of_4_gb_is_not_read_whole() {
    let rig = Rig::new();
    let scenario = r#"[[turn]]
steps = [
  { run = { command = "printf 'first line\\n' > big && truncate -s 4G big" } },
  { read = "{{cwd}}/big" },
  { ask = { method = "fs/read_text_file", params = { sessionId = "{{session}}", path = "{{cwd}}/big", line = 1, limit = 1 } } },
  { text = "On." },
]"#;
    bounded(&rig, scenario, |talk| {
        assert_eq!(talk.end_of("go"), Some(End::Completed));
        let said = texts(&talk.rows(), Kind::Assistant).concat();
        assert!(said.contains("more than fits into one answer"), "{said}");
        assert!(said.contains("first line"), "{said}");
    });
    assert_eq!(
        std::fs::metadata(rig.cwd().join("big")).expect("a file").len(),
        4 << 30
    );
}

/// A terminal that prints for ever: its end is kept, the stop ends the turn, and no process is left after the session.
#[test]
fn a_terminal_that_prints_for_ever_is_bounded_and_ended() {
    let rig = Rig::new();
    let scenario = r#"[[turn]]
when = "print"
steps = [
  { tool = { id = "yes-1", title = "yes", kind = "execute" } },
  { run = { tool = "yes-1", command = "echo $$ > pid; exec yes tapline", wait = false } },
  { text = "Begun." }, "wait_for_cancel",
]
[[turn]]
steps = [
  { ask = { method = "terminal/output", params = { sessionId = "{{session}}", terminalId = "term-1" } } },
  { text = "On." },
]"#;
    bounded(&rig, scenario, |talk| {
        talk.prompt("print");
        talk.says("Begun.");
        until_file(&rig.cwd().join("pid"));
        let stopped = talk.outcome(talk.stop());
        assert!(stopped["stopped"].is_string(), "{stopped}");
        // As much as it can print meanwhile.
        assert_eq!(talk.end_of("look"), Some(End::Completed));
        assert_eq!(talk.end_of("look"), Some(End::Completed));
        let said = texts(&talk.rows(), Kind::Assistant).concat();
        assert!(said.contains("tapline"), "{said}");
        let answer = talk.until_sent("the output", |frame| frame["result"]["output"].is_string());
        let output = answer["result"]["output"].as_str().unwrap_or_default();
        assert!(
            output.len() <= tapline_agent::terminals::OUTPUT_BYTES,
            "{}",
            output.len()
        );
    });
    let pid = std::fs::read_to_string(rig.cwd().join("pid")).expect("a file");
    let pid: u32 = pid.trim().parse().expect("a number");
    until("it is ended with the session", || !crate::raw::runs(pid));
}

/// An answer that is not text, a line that is no UTF-8, and noise between frames disturb nothing.
#[test]
fn noise_between_frames_disturbs_nothing() {
    let rig = Rig::new();
    let chat = rig.start(
        r#"[[turn]]
steps = [
  { stderr = "a warning" }, { raw = "Loading model… 10%\rLoading model… 100%\n" }, { raw_base64 = "/wD+Cg==" }, { text = "Hi." },
]"#,
    );
    assert_eq!(chat.end_of("go"), Some(End::Completed));
    assert_eq!(texts(&chat.rows(), Kind::Assistant), ["Hi."]);
    let rows = chat.rows();
    let user = rows
        .iter()
        .find(|row| row.kind() == Kind::User)
        .expect("a prompt");
    assert!(matches!(&user.body, Body::User(u) if u.delivery == Some(Delivery::Accepted)));
    let reply = rows
        .iter()
        .find(|row| row.kind() == Kind::Assistant)
        .expect("a reply");
    assert!(matches!(&reply.body, Body::Assistant(m) if m.state == TextState::Ended));
    let set = chat.post(intent::SET_OPTION, json!({"mode": "none"}));
    assert!(chat.outcome(set)["error"].is_string());
    chat.close();
}
