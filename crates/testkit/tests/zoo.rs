//! The ways to misbehave, each seen by a client of the real process.

mod common;

use std::io::{BufRead, BufReader, Read, Write};

use common::{Agent, Client, kill, kinds, stop, text, updates};
use rustix::process::Signal;
use serde_json::{Value, json};
use tapline_testkit::Status;

fn builtin(name: &str) -> (Client, String) {
    let mut client = Client::start(&[&format!("builtin:{name}")]);
    let session = client.new_session();
    (client, session)
}

/// A request whose answer comes after everything that the agent has to say to the ones before it.
fn fence(client: &mut Client) -> Vec<Value> {
    let id = client
        .talk
        .request("fence", json!({}))
        .expect("the agent listens");
    client.talk.until_answer(id).expect("the agent answers")
}

#[test]
fn initialize_is_never_answered() {
    let mut client = Client::silent(&["builtin:never-initialize"]);
    client
        .talk
        .request("initialize", json!({"protocolVersion": 1}))
        .unwrap();
    assert_eq!(fence(&mut client).len(), 1, "only the fence is answered");
}

#[test]
fn a_load_is_never_answered() {
    let (mut client, session) = builtin("never-load");
    client.turn(&session, "remember");
    for method in ["session/load", "session/resume"] {
        client
            .talk
            .request(
                method,
                json!({"sessionId": session, "cwd": "/", "mcpServers": []}),
            )
            .unwrap();
        assert_eq!(fence(&mut client).len(), 1);
    }
}

#[test]
fn a_cancel_is_never_obeyed() {
    let (mut client, session) = builtin("never-cancel");
    let id = client.prompt(&session, "work");
    client
        .talk
        .until(|frame| frame["params"]["update"]["toolCallId"] == "endless-1")
        .unwrap();
    client.cancel(&session);
    assert_eq!(fence(&mut client).len(), 1, "the prompt {id} has no answer");
    let (status, _) = client.leave();
    assert_eq!(status, Status::Code(0), "it still leaves with its client");
}

#[test]
fn a_flood_is_counted() {
    let mut client = Client::play("[[turn]]\nsteps = [{ flood = { count = 50000, text = \"{{i}} \" } }]\n");
    let session = client.new_session();
    let frames = client.turn(&session, "go");
    assert_eq!(updates(&frames).len(), 50_000);
    assert_eq!(updates(&frames)[49_999]["content"]["text"], "49999 ");
    assert_eq!(stop(&frames), "end_turn");
}

#[test]
fn a_flood_stops_for_a_cancel() {
    let (mut client, session) = builtin("flood");
    let id = client.prompt(&session, "go");
    client
        .talk
        .until(|frame| frame["params"]["update"]["content"]["text"] == "9 ")
        .unwrap();
    client.cancel(&session);
    let frames = client.talk.until_answer(id).unwrap();
    assert_eq!(stop(&frames), "cancelled");
    assert!(
        frames.len() < 1_000_000,
        "{} frames came after the cancel",
        frames.len()
    );
}

#[test]
fn the_long_stream_is_20_000_chunks() {
    let (mut client, session) = builtin("stream-20000");
    assert_eq!(updates(&client.turn(&session, "go")).len(), 20_000);
}

#[test]
fn updates_come_before_the_session_has_a_name() {
    let mut client = Client::start(&["builtin:early-updates"]);
    let id = client
        .talk
        .request("session/new", json!({"cwd": "/project", "mcpServers": []}))
        .unwrap();
    let frames = client.talk.until_answer(id).unwrap();
    let before = kinds(&frames);
    assert_eq!(
        (before[0], before[before.len() - 1]),
        ("session_info_update", "usage_update")
    );
    let session = &frames.last().unwrap()["result"]["sessionId"];
    assert!(
        frames[..frames.len() - 1]
            .iter()
            .all(|frame| frame["params"]["sessionId"] == *session)
    );
}

#[test]
fn a_permission_comes_for_a_tool_that_nobody_announced() {
    let (mut client, session) = builtin("unknown-tool-permission");
    client.prompt(&session, "go");
    let frames = client
        .talk
        .until(|frame| frame["method"] == "session/request_permission")
        .unwrap();
    assert_eq!(frames.len(), 1, "the request is the first word of its tool");
    assert_eq!(frames[0]["params"]["toolCall"]["toolCallId"], "ghost-1");
}

#[test]
fn two_prompts_are_answered_in_the_wrong_order() {
    let (mut client, session) = builtin("wrong-order");
    let first = client.prompt(&session, "a");
    let second = client.prompt(&session, "b");
    let frames = client.talk.until_answer(first).unwrap();
    let answers: Vec<_> = frames
        .iter()
        .filter(|frame| frame.get("method").is_none())
        .collect();
    let ids: Vec<_> = answers
        .iter()
        .filter_map(|answer| answer["id"].as_u64())
        .collect();
    assert_eq!(ids, [second, first]);
    let all = text(&frames);
    assert!(all.contains("First: a") && all.contains("Second: b"), "{all}");
}

#[test]
fn a_prompt_is_refused_while_another_runs() {
    let (mut client, session) = builtin("busy-reject");
    let first = client.prompt(&session, "a");
    let second = client.prompt(&session, "b");
    let refused = client.talk.until_answer(second).unwrap().pop().unwrap();
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("already running")
    );
    client.cancel(&session);
    assert_eq!(stop(&client.talk.until_answer(first).unwrap()), "cancelled");
}

#[test]
fn it_exits_in_the_middle_of_a_line() {
    let (mut client, session) = builtin("exit-mid-line");
    client.prompt(&session, "go");
    let rest = String::from_utf8(client.talk.rest().unwrap()).unwrap();
    assert!(rest.ends_with("\"upd"), "{rest}");
    assert!(rest.lines().count() > 1, "whole frames come before");
    assert_eq!(
        client.leave(),
        (Status::Code(70), "fatal: out of cheese\n".to_owned())
    );
}

#[test]
fn it_dies_by_a_signal() {
    let (mut client, session) = builtin("exit-signal");
    client.prompt(&session, "go");
    let rest = String::from_utf8(client.talk.rest().unwrap()).unwrap();
    assert!(rest.contains("doomed-1"));
    assert_eq!(client.leave().0, Status::Signal(9));
}

#[test]
fn it_closes_its_output_and_lives() {
    let (mut client, session) = builtin("closed-stdout");
    client.prompt(&session, "go");
    let rest = String::from_utf8(client.talk.rest().unwrap()).unwrap();
    assert!(rest.contains("my last"), "{rest}");
    client.talk.close();
    assert!(client.agent.running(), "its output has ended, and it has not");
    kill(client.agent.pid(), Signal::TERM);
    assert_eq!(client.leave().0, Status::Signal(15));
}

#[test]
fn a_grandchild_holds_the_pipe() {
    let mut agent = Agent::start_with_errors(&["builtin:grandchild"]);
    let (mut input, mut output) = (agent.input(), agent.output());
    let mut errors = BufReader::new(agent.errors());
    for frame in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {"sessionId": "session-1", "prompt": []}}),
    ] {
        writeln!(input, "{frame}").unwrap();
    }
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    let grandchild: u32 = line.trim().strip_prefix("grandchild ").unwrap().parse().unwrap();
    assert_eq!(agent.wait(), Status::Code(0));
    // The agent is gone and its pipe is not: a read that does not wait finds nothing yet, and no end.
    rustix::io::ioctl_fionbio(&output, true).unwrap();
    let mut rest = Vec::new();
    let pending = output.read_to_end(&mut rest).unwrap_err();
    assert_eq!(pending.kind(), std::io::ErrorKind::WouldBlock);
    kill(grandchild, Signal::KILL);
    rustix::io::ioctl_fionbio(&output, false).unwrap();
    output.read_to_end(&mut rest).unwrap();
    assert!(String::from_utf8(rest).unwrap().contains("I leave someone"));
}

#[test]
fn it_asks_for_files_outside_the_folder() {
    let (mut client, session) = builtin("escape-read");
    let id = client.prompt(&session, "go");
    let mut paths = Vec::new();
    for _ in 0..5 {
        let request = client.asked("fs/read_text_file");
        paths.push(request["params"]["path"].as_str().unwrap().to_owned());
        let error = json!({"code": -32602, "message": "outside the folder"});
        client
            .talk
            .send(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
            .unwrap();
    }
    assert!(paths.contains(&"../../etc/passwd".to_owned()));
    assert!(paths.contains(&"/project/link/../../etc/passwd".to_owned()));
    let frames = client.talk.until_answer(id).unwrap();
    assert!(
        text(&frames).contains("outside the folder"),
        "what the client said can be seen"
    );
}

#[test]
fn it_has_a_big_file_written() {
    const BYTES: usize = 8 * 1024 * 1024;
    let mut client = Client::play(&format!(
        "[[turn]]\nsteps = [{{ write = {{ path = \"/b\", bytes = {BYTES} }} }}]\n"
    ));
    let session = client.new_session();
    let id = client.prompt(&session, "go");
    let request = client.asked("fs/write_text_file");
    assert_eq!(request["params"]["content"].as_str().unwrap().len(), BYTES);
    client.talk.answer(&request, json!({})).unwrap();
    assert_eq!(stop(&client.talk.until_answer(id).unwrap()), "end_turn");
}

#[test]
fn request_ids_are_repeated() {
    let (mut client, session) = builtin("repeated-ids");
    let id = client.prompt(&session, "go");
    for option in ["allow-once", "reject-once"] {
        let request = client.asked("session/request_permission");
        assert_eq!(request["id"], 1);
        client
            .talk
            .answer(
                &request,
                json!({"outcome": {"outcome": "selected", "optionId": option}}),
            )
            .unwrap();
    }
    let frames = client.talk.until_answer(id).unwrap();
    assert_eq!(text(&frames), "Second refused.");
}

#[test]
fn a_terminal_command_that_never_ends_is_waited_for() {
    let (mut client, session) = builtin("endless-terminal");
    let id = client.prompt(&session, "go");
    let request = client.asked("terminal/create");
    assert_eq!(
        (&request["params"]["command"], &request["params"]["args"][0]),
        (&json!("yes"), &json!("tapline"))
    );
    client
        .talk
        .answer(&request, json!({"terminalId": "term-1"}))
        .unwrap();
    client.asked("terminal/wait_for_exit");
    client.cancel(&session);
    assert_eq!(stop(&client.talk.until_answer(id).unwrap()), "cancelled");
}

#[test]
fn noise_stands_between_the_frames() {
    let (mut client, session) = builtin("noise");
    client.prompt(&session, "go");
    let mut noise = Vec::new();
    loop {
        let line = String::from_utf8(client.talk.line().unwrap()).unwrap();
        if line.contains("end_turn") {
            break;
        }
        let frame = serde_json::from_str::<Value>(&line)
            .ok()
            .filter(|frame| frame["method"].is_string());
        if frame.is_none() {
            noise.push(line);
        }
    }
    assert_eq!(noise[..3], ["debug: starting\n", "\n", "   \n"]);
    assert!(
        noise.contains(&"10% [=>   ]\r80% [===> ]\r\n".to_owned()),
        "{noise:?}"
    );
    assert!(noise.contains(&"\u{1b}[2mdim\u{1b}[0m\n".to_owned()), "{noise:?}");
    assert!(noise.contains(&"[1,2,3]\n".to_owned()));
    assert_eq!(noise.last().unwrap(), "{\"jsonrpc\":\"2.0\",\"method\":\n");
}

#[test]
fn bytes_that_are_no_utf8_are_written_as_they_are() {
    let (mut client, session) = builtin("invalid-utf8");
    client.prompt(&session, "go");
    let frame = client.talk.line().unwrap();
    assert!(
        frame.windows(9).any(|bytes| bytes == b"\xff\xfe bytes\""),
        "{}",
        String::from_utf8_lossy(&frame)
    );
    assert_eq!(client.talk.line().unwrap(), b"\xff\xff\xff\xff\n");
    assert!(client.talk.frame().unwrap().unwrap()["params"].is_object());
}

#[test]
fn long_lines_are_as_long_as_the_script_says() {
    let (mut client, session) = builtin("huge-line");
    client.prompt(&session, "go");
    client.talk.line().unwrap();
    assert_eq!(client.talk.line().unwrap().len(), 64 * 1024 * 1024 + 1);
    assert_eq!(
        client.talk.frame().unwrap().unwrap()["params"]["update"]["content"]["text"],
        "After."
    );

    let (mut client, session) = builtin("big-frame");
    let frames = client.turn(&session, "go");
    let lengths: Vec<_> = updates(&frames)
        .iter()
        .map(|update| update["content"]["text"].as_str().unwrap().len())
        .collect();
    assert_eq!(lengths, [15 * 1024 * 1024, 64 * 1024 * 1024, 6]);
}

#[test]
fn it_talks_on_standard_error() {
    let (mut client, session) = builtin("stderr-noise");
    assert_eq!(text(&client.turn(&session, "go")), "Working and done.");
    let (_, errors) = client.leave();
    assert_eq!(
        errors,
        "warn: the cache is cold\nwarn: the cache is still cold\ninfo: bye\n"
    );
}

#[test]
fn a_slow_reader_reads_everything_in_the_end() {
    let slow = "slow_reader = { bytes = 65536, every_ms = 1 }\n[[turn]]\nsteps = [{ text = \"Read.\" }]\n";
    let mut client = Client::play(slow);
    let session = client.new_session();
    assert_eq!(text(&client.turn(&session, &"long ".repeat(200_000))), "Read.");
}

#[test]
fn only_sigkill_ends_a_deaf_agent() {
    let (mut client, session) = builtin("deaf");
    client.prompt(&session, "go");
    client
        .talk
        .until(|frame| frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk")
        .unwrap();
    client.cancel(&session);
    kill(client.agent.pid(), Signal::TERM);
    assert_eq!(fence(&mut client).len(), 1, "it still answers after SIGTERM");
    client.talk.close();
    kill(client.agent.pid(), Signal::KILL);
    assert_eq!(
        client.agent.wait(),
        Status::Signal(9),
        "the signal that ended it is the last one"
    );
}

#[test]
fn a_session_needs_a_login() {
    let mut client = Client::start(&["builtin:needs-login"]);
    let params = json!({"cwd": "/", "mcpServers": []});
    assert_eq!(client.call("session/new", params)["error"]["code"], -32000);
    client.call("authenticate", json!({"methodId": "scripted"}));
    let session = client.new_session();
    assert_eq!(text(&client.turn(&session, "hi")), "Welcome.");
}

#[test]
fn turns_fail_and_stop_with_a_reason() {
    let (mut client, session) = builtin("failing");
    let failed = client.turn(&session, "go");
    assert!(
        failed.last().unwrap()["error"]["data"]["message"]
            .as_str()
            .unwrap()
            .contains("overloaded")
    );
    assert_eq!(stop(&client.turn(&session, "again")), "end_turn");
    assert_eq!(stop(&client.turn(&session, "meet the limit")), "max_tokens");
    assert_eq!(stop(&client.turn(&session, "please refuse")), "refusal");
}
