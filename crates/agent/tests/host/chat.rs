//! A whole chat: begin, ask, be asked, stop, end, go on in another process.

use serde_json::json;
use tapline_agent::host::intent;
use tapline_journal::Status;
use tapline_timeline::{Body, End, Kind, Outcome};

use crate::rig::{Rig, ends, texts};

const SCENARIO: &str = r#"
[[turn]]
when = "hello"
steps = [{ text = "Hi there." }]

[[turn]]
when = "edit"
steps = [
  { tool = { id = "edit-1", title = "Edit a.txt", kind = "edit", path = "{{cwd}}/a.txt" } },
  { permission = { tool = "edit-1", allow = [{ finish = "edit-1" }, { text = "Edited." }], reject = [{ fail = "edit-1" }, { text = "Left alone." }] } },
]

[[turn]]
when = "wait"
steps = [{ text = "Waiting." }, "wait_for_cancel"]
"#;

#[test]
fn a_chat_from_its_beginning_to_its_end_and_on() {
    let rig = Rig::new();
    let chat = rig.start(SCENARIO);
    let turn = chat.ask("hello");
    assert!(matches!(&turn.body, Body::Turn(t) if t.end == Some(End::Completed)));
    assert_eq!(texts(&chat.rows(), Kind::Assistant), ["Hi there."]);

    let sent = chat.prompt("edit");
    let request = chat.request();
    let answered = chat.answer(&request, "allow-once");
    assert_eq!(chat.outcome(answered), json!({"outcome": "allowed"}));
    assert_eq!(chat.outcome(sent)["delivery"], "accepted");
    chat.says("Edited.");
    let row = chat.journal.row(&request.id).expect("read").expect("there");
    let Body::Request(settled) = &row.body else {
        panic!("a request")
    };
    let answer = settled.answer.as_ref().expect("an answer");
    assert_eq!(
        (settled.outcome, answer.by.as_deref()),
        (Some(Outcome::Allowed), Some("test"))
    );
    assert!(answer.at.is_some());

    chat.prompt("wait");
    chat.says("Waiting.");
    let stopped = chat.outcome(chat.stop());
    assert!(
        stopped["stopped"].is_string() && stopped.get("process_ended").is_none(),
        "{stopped}"
    );
    assert_eq!(
        ends(&chat.rows()),
        [Some(End::Completed), Some(End::Completed), Some(End::Stopped)]
    );

    let (id, session, rows) = (chat.id.clone(), chat.session(), chat.rows().len());
    let over = chat.close();
    assert_eq!(over.trouble, None);
    let entry = rig.journal.session(&id).expect("read").expect("there");
    assert_eq!(entry.status, Status::Ended);

    let chat = rig
        .begin(rig.resume(SCENARIO, &session, false))
        .expect("it goes on");
    assert_eq!(chat.id, id, "the same session of ours");
    assert_eq!(chat.rows().len(), rows, "what the agent told again adds no row");
    chat.ask("hello again");
    assert_eq!(
        texts(&chat.rows(), Kind::Assistant),
        ["Hi there.", "Edited.", "Waiting.", "Hi there."]
    );
    chat.close();
}

/// A call of ours that runs out of time is withdrawn, and says so.
#[test]
fn a_setting_that_is_never_answered_is_withdrawn() {
    let rig = Rig::new();
    let mut options = rig.options("never_answers = [\"session/set_mode\"]\nmodes = [{ id = \"a\", name = \"A\" }]\n[[turn]]\nsteps = [{ text = \"Hi.\" }]\n");
    options.patience.setting = std::time::Duration::from_millis(100);
    let chat = rig.begin(options).expect("it begins");
    let set = chat.post("set_option", json!({"mode": "a"}));
    let outcome = chat.outcome(set);
    let error = outcome["error"].as_str().expect("an error");
    assert!(error.contains("did not answer session/set_mode"), "{error}");
    chat.ask("go on");
    let tapes = rig.journal.tapes(Some(&chat.id)).expect("tapes");
    let inputs = rig
        .journal
        .read_tape(&tapes[0].connection, 1, 1000)
        .expect("inputs");
    let withdrawn = |input: &tapline_journal::TapeInput| {
        String::from_utf8_lossy(&input.bytes)
            .contains(r#""method":"$/cancel_request","params":{"requestId":3}"#)
    };
    assert_eq!(inputs.iter().filter(|input| withdrawn(input)).count(), 1);
    chat.close();
}

/// *masked*: what a prompt holds of secrets reaches the agent, and is kept neither in the rows nor in the intent.
#[test]
fn a_secret_in_a_prompt_is_not_kept() {
    const SECRET: &str = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let rig = Rig::new();
    let chat = rig.start("[[turn]]\nsteps = [{ text = \"Thanks.\" }]\n");
    let sent = chat.prompt(&format!("the key is {SECRET}"));
    chat.outcome(sent);
    let kept = chat.settled(sent).payload;
    assert!(
        !kept.as_str().contains(SECRET) && kept.as_str().contains("the key is"),
        "{}",
        kept.as_str()
    );
    assert!(!chat.told().contains(SECRET));
    chat.close();
}

/// Services that are asked without waiting are done in the order in which they were asked.
#[test]
fn files_and_terminals_are_served_in_order() {
    let rig = Rig::new();
    let folder = rig.cwd();
    let path = folder.join("a.txt").display().to_string();
    let mut lines = String::new();
    for n in 0..40 {
        let write = json!({"jsonrpc": "2.0", "id": 2 * n, "method": "fs/write_text_file",
            "params": {"sessionId": "s", "path": path, "content": format!("text {n}")}});
        let read = json!({"jsonrpc": "2.0", "id": 2 * n + 1, "method": "fs/read_text_file",
            "params": {"sessionId": "s", "path": path}});
        lines.push_str(&format!("{write}\n{read}\n"));
    }
    std::fs::write(folder.join("asks"), lines).expect("written");
    let agent = r#"read i; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
        read n; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
        read p; cat asks; i=0; while [ $i -lt 80 ]; do read -r answer; echo "$answer" >> answers; i=$((i+1)); done
        echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'; cat > /dev/null"#;
    let chat = rig.begin(rig.command(&["sh", "-c", agent])).expect("it begins");
    chat.ask("go");
    let answers = std::fs::read_to_string(folder.join("answers")).expect("answers");
    let read: Vec<String> = answers
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a frame"))
        .filter_map(|frame| frame["result"]["content"].as_str().map(str::to_owned))
        .collect();
    let expected: Vec<String> = (0..40).map(|n| format!("text {n}")).collect();
    assert_eq!(read, expected);
    chat.close();
}

/// *masked*: what the agent says in a refusal, or as it dies, stands in the outcome without its secrets.
#[test]
fn a_secret_in_an_outcome_is_not_kept() {
    const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
    let refused = format!(
        r#"begin; until_heard session/set_mode; refuse $id '{{"code":1,"message":"no mode for {SECRET}"}}'; until_heard nothing"#
    );
    let dying = format!(r#"begin; until_heard session/set_mode; echo "no mode for {SECRET}" >&2; exit 3"#);
    for lines in [refused, dying] {
        let rig = Rig::new();
        let chat = rig.start_shell(&lines);
        let set = chat.post(intent::SET_OPTION, json!({"mode": "code"}));
        let outcome = chat.outcome(set).to_string();
        assert!(outcome.contains("no mode for "), "{outcome}");
        assert!(!outcome.contains(SECRET), "{outcome}");
        drop(chat);
    }
}
