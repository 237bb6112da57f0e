//! What a scenario can do, each seen by a client of the real process.

mod common;

use agent_client_protocol_schema::v1::{SessionNotification, SessionUpdate};
use common::{Client, kinds, stop, text, updates};
use serde_json::{Value, json};
use tapline_testkit::Status;
use tapline_testkit::client::Talk;
use tapline_testkit::script::{Script, catalogue};

const STEPS: &str = "builtin:steps";

fn started() -> (Client, String) {
    let mut client = Client::start(&[STEPS]);
    let session = client.new_session();
    (client, session)
}

#[test]
fn every_builtin_script_is_read() {
    let names: Vec<_> = catalogue().iter().map(|builtin| builtin.name).collect();
    assert!(
        names.contains(&"demo") && names.contains(&"stream-20000"),
        "{names:?}"
    );
    for name in names {
        let script = Script::open(&format!("builtin:{name}")).unwrap_or_else(|error| panic!("{error}"));
        assert!(
            matches!(&script, Script::Scenario(scenario) if !scenario.about.is_empty()),
            "{name} says what it is for"
        );
    }
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts"))
        .unwrap()
        .count();
    assert_eq!(files, catalogue().len(), "every script file is in the catalogue");
    let error = Script::open("builtin:none").unwrap_err().to_string();
    assert!(
        error.contains("builtin:none") && error.contains("demo"),
        "{error}"
    );
}

#[test]
fn words_come_in_the_pieces_that_the_script_says() {
    let (mut client, session) = started();
    let frames = client.turn(&session, "words");
    let expected = [
        "available_commands_update",
        "agent_thought_chunk",
        "agent_thought_chunk",
        "agent_message_chunk",
        "agent_message_chunk",
        "agent_message_chunk",
        "usage_update",
        "session_info_update",
        "current_mode_update",
    ];
    assert_eq!(kinds(&frames), expected);
    assert_eq!(text(&frames), "A reply in three pieces.");
    assert_eq!(updates(&frames)[3]["messageId"], "m-1");
    assert_eq!(updates(&frames)[7]["title"], "Words in /project");
    assert_eq!(stop(&frames), "end_turn");
}

#[test]
fn a_plan_has_an_entry_for_each_line() {
    let (mut client, session) = started();
    let frames = client.turn(&session, "plan");
    let entries = updates(&frames)[1]["entries"].clone();
    let states: Vec<_> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["status"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["completed", "in_progress", "pending"]);
    assert_eq!(entries[1]["content"], "Fix");
}

#[test]
fn tools_are_announced_and_end() {
    let (mut client, session) = started();
    let frames = client.turn(&session, "tools");
    let tools: Vec<_> = updates(&frames)
        .into_iter()
        .filter(|update| update["toolCallId"].is_string())
        .collect();
    assert_eq!(
        tools[0]["locations"],
        json!([{"path": "/project/a.txt", "line": 3}])
    );
    assert_eq!(tools[0]["rawInput"], json!({"path": "/project/a.txt"}));
    assert_eq!(tools[2]["content"][0]["content"]["text"], "hello");
    assert_eq!(tools[4]["status"], "failed");
    assert_eq!(
        tools[4]["content"][1],
        json!({"type": "diff", "path": "/project/b.txt", "oldText": null, "newText": "x\n"})
    );
    let terminal: String = tools
        .iter()
        .filter_map(|tool| tool["_meta"]["terminal_output"]["data"].as_str())
        .collect();
    assert_eq!(terminal, "one\ntwo\n");
    let last = tools.last().unwrap();
    assert_eq!(
        (&last["status"], &last["_meta"]["terminal_exit"]["exit_code"]),
        (&json!("failed"), &json!(3))
    );
}

#[test]
fn a_permission_branches_on_the_answer() {
    for (option, status, said) in [
        ("allow-once", "completed", "Asked."),
        ("allow-always", "completed", "Asked."),
        ("reject-once", "failed", "Then not.Asked."),
    ] {
        let (mut client, session) = started();
        let id = client.prompt(&session, "permission");
        let request = client.asked("session/request_permission");
        assert_eq!(
            request["params"]["toolCall"]["title"], "rm cache",
            "what was announced is said again"
        );
        assert_eq!(request["params"]["options"].as_array().unwrap().len(), 3);
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        client.talk.answer(&request, outcome).unwrap();
        let frames = client.talk.until_answer(id).unwrap();
        assert_eq!(updates(&frames)[0]["status"], status);
        assert_eq!((text(&frames).as_str(), stop(&frames)), (said, "end_turn"));
    }
}

#[test]
fn a_permission_that_is_cancelled_ends_the_turn() {
    let (mut client, session) = started();
    let id = client.prompt(&session, "permission");
    let request = client.asked("session/request_permission");
    client.cancel(&session);
    client
        .talk
        .answer(&request, json!({"outcome": {"outcome": "cancelled"}}))
        .unwrap();
    let frames = client.talk.until_answer(id).unwrap();
    assert_eq!(updates(&frames)[0]["content"][0]["content"]["text"], "cancelled");
    assert_eq!((text(&frames).as_str(), stop(&frames)), ("", "cancelled"));
}

#[test]
fn a_question_branches_on_the_action() {
    let accept = json!({"action": "accept", "content": {"answer": "Blue"}});
    for (answer, said, end) in [
        (accept, "You chose Blue.", "end_turn"),
        (json!({"action": "decline"}), "No colour then.", "end_turn"),
        (json!({"action": "cancel"}), "", "cancelled"),
    ] {
        let (mut client, session) = started();
        let id = client.prompt(&session, "question");
        let request = client.asked("elicitation/create");
        let field = &request["params"]["requestedSchema"]["properties"]["answer"];
        assert_eq!(field["oneOf"][1]["const"], "Blue");
        client.talk.answer(&request, answer).unwrap();
        let frames = client.talk.until_answer(id).unwrap();
        assert_eq!((text(&frames).as_str(), stop(&frames)), (said, end));
    }
}

#[test]
fn a_background_command_ends_after_its_turn() {
    let (mut client, session) = started();
    let frames = client.turn(&session, "background");
    let methods: Vec<_> = frames
        .iter()
        .filter_map(|frame| frame["method"].as_str())
        .collect();
    let expected = [
        "session/update",
        "session/update",
        "_x.ai/task_backgrounded",
        "session/update",
        "session/update",
    ];
    assert_eq!(methods, expected);
    assert_eq!(updates(&frames)[3]["status"], "completed");
    let after = client.talk.frame().unwrap().unwrap();
    assert_eq!(after["method"], "_x.ai/task_completed");
    let snapshot = &after["params"]["update"]["task_snapshot"];
    assert_eq!(
        (&snapshot["task_id"], &snapshot["exit_code"]),
        (&json!("task-1"), &json!(3))
    );
}

#[test]
fn a_plain_background_command_is_told_by_its_tool() {
    let (mut client, session) = started();
    let frames = client.turn(&session, "task");
    let states: Vec<_> = updates(&frames)
        .iter()
        .filter_map(|update| update["status"].as_str())
        .collect();
    assert_eq!(states, ["in_progress", "in_progress", "completed"]);
    assert_eq!(text(&frames), "Watching.");
}

#[test]
fn a_background_command_can_be_listed_and_killed() {
    let (mut client, session) = started();
    client.turn(&session, "endless");
    let list = client.call("_x.ai/task/list", json!({"sessionId": session}));
    assert_eq!(list["result"]["result"]["tasks"][0]["task_id"], "task-3");
    let kill = json!({"sessionId": session, "taskId": "task-3"});
    let id = client.talk.request("_x.ai/task/kill", kill.clone()).unwrap();
    let frames = client.talk.until_answer(id).unwrap();
    let snapshot = &frames[0]["params"]["update"]["task_snapshot"];
    assert_eq!(
        (&snapshot["signal"], &snapshot["explicitly_killed"]),
        (&json!("killed"), &json!(true))
    );
    assert_eq!(frames[1]["result"]["result"]["outcome"], "killed");
    assert_eq!(
        client.call("_x.ai/task/kill", kill)["result"]["result"]["outcome"],
        "not_found"
    );
}

#[test]
fn a_helper_works_in_a_session_of_its_own() {
    let (mut client, session) = started();
    let frames = client.turn(&session, "helper");
    let of_child = frames
        .iter()
        .filter(|frame| frame["params"]["sessionId"] == "child-1")
        .count();
    assert_eq!(of_child, 3);
    let states: Vec<_> = updates(&frames)
        .iter()
        .filter_map(|update| update["state"]["state"].as_str())
        .collect();
    assert_eq!(states, ["running", "idle"]);
}

#[test]
fn the_client_is_asked_for_files_and_terminals() {
    let (mut client, session) = started();
    let id = client.prompt(&session, "client");
    let mut asked = Vec::new();
    loop {
        let frame = client.talk.frame().unwrap().unwrap();
        if frame["id"] == id && frame.get("method").is_none() {
            break;
        }
        let Some(method) = frame["method"].as_str().filter(|_| frame["id"].is_u64()) else {
            continue;
        };
        asked.push((method.to_owned(), frame["params"].clone()));
        let result = match method {
            "fs/read_text_file" => json!({"content": "hello"}),
            "terminal/create" => json!({"terminalId": "term-1"}),
            "terminal/wait_for_exit" => json!({"exitCode": 0, "signal": null}),
            "terminal/output" => json!({"output": "made", "truncated": false}),
            _ => json!({}),
        };
        client.talk.answer(&frame, result).unwrap();
    }
    let methods: Vec<_> = asked.iter().map(|(method, _)| method.as_str()).collect();
    let expected = [
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
        "terminal/create",
        "_vendor/thing",
    ];
    assert_eq!(methods, expected);
    assert_eq!(asked[1].1["content"], "xxxxx");
    assert_eq!(asked[2].1["args"], json!(["-C", "/project"]));
}

#[test]
fn own_updates_and_frames_are_sent_as_they_stand() {
    let (mut client, session) = started();
    let frames = client.turn(&session, "own");
    assert_eq!(updates(&frames)[1]["title"], "In /project");
    assert!(
        frames
            .iter()
            .any(|frame| frame["method"] == "_vendor/note" && frame["params"]["sessionId"] == *session)
    );
}

#[test]
fn a_cancel_ends_the_turn_and_nothing_more_is_said() {
    let (mut client, session) = started();
    let id = client.prompt(&session, "wait");
    client
        .talk
        .until(|frame| frame["params"]["update"]["content"]["text"] == "Waiting.")
        .unwrap();
    client.cancel(&session);
    let frames = client.talk.until_answer(id).unwrap();
    assert_eq!((frames.len(), stop(&frames)), (1, "cancelled"));
}

#[test]
fn a_second_prompt_waits_for_the_first() {
    let (mut client, session) = started();
    let first = client.prompt(&session, "wait");
    client
        .talk
        .until(|frame| frame["params"]["update"]["content"]["text"] == "Waiting.")
        .unwrap();
    let second = client.prompt(&session, "plan");
    client.cancel(&session);
    let frames = client.talk.until_answer(second).unwrap();
    assert_eq!(
        frames[0]["id"], first,
        "the first is answered before the second says a word"
    );
    assert_eq!(kinds(&frames), ["plan", "plan"]);
    assert_eq!(stop(&frames), "end_turn");
}

#[test]
fn modes_and_options_are_set_and_told() {
    let (mut client, session) = started();
    let id = client
        .talk
        .request(
            "session/set_mode",
            json!({"sessionId": session, "modeId": "code"}),
        )
        .unwrap();
    client.talk.until_answer(id).unwrap();
    assert_eq!(
        client.talk.frame().unwrap().unwrap()["params"]["update"]["currentModeId"],
        "code"
    );
    let wrong = client.call(
        "session/set_mode",
        json!({"sessionId": session, "modeId": "none"}),
    );
    assert!(
        wrong["error"]["message"].as_str().unwrap().contains("none"),
        "{wrong}"
    );
    let option = json!({"sessionId": session, "configId": "model", "value": "large"});
    let answer = client.call("session/set_config_option", option);
    assert_eq!(answer["result"]["configOptions"][0]["currentValue"], "large");
    let unknown = client.call("session/fork", json!({}));
    assert_eq!(unknown["error"]["code"], -32601);
}

#[test]
fn a_session_is_loaded_by_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let mut first = Client::start(&["--state", state, STEPS]);
    let session = first.new_session();
    first.turn(&session, "words");
    first.turn(&session, "tools");
    first.leave();

    let mut second = Client::start(&["--state", state, STEPS]);
    let list = second.call("session/list", json!({}));
    let listed = &list["result"]["sessions"][0];
    assert_eq!(
        (&listed["sessionId"], &listed["title"]),
        (&json!(session), &json!("Words in /project"))
    );
    let params = json!({"sessionId": session, "cwd": "/project", "mcpServers": []});
    let id = second.talk.request("session/load", params.clone()).unwrap();
    let frames = second.talk.until_answer(id).unwrap();
    assert_eq!(kinds(&frames)[..2], ["user_message_chunk", "agent_thought_chunk"]);
    assert_eq!(text(&frames), "A reply in three pieces.");
    assert_eq!(
        kinds(&frames)
            .iter()
            .filter(|kind| **kind == "user_message_chunk")
            .count(),
        2
    );
    assert_eq!(frames.last().unwrap()["result"]["modes"]["currentModeId"], "ask");
    let resumed = second.talk.request("session/resume", params).unwrap();
    assert_eq!(
        second
            .talk
            .until_answer(resumed)
            .unwrap()
            .iter()
            .filter(|frame| frame["params"]["update"]["content"].is_object())
            .count(),
        0
    );
    assert_ne!(
        second.new_session(),
        session,
        "a new session has a name of its own"
    );
    second.call("session/delete", json!({"sessionId": session}));
    let gone = second.call(
        "session/load",
        json!({"sessionId": session, "cwd": "/project", "mcpServers": []}),
    );
    assert_eq!(gone["error"]["code"], -32002);
}

#[test]
fn a_replay_can_be_marked() {
    let mut client = Client::play("marks_replay = true\n[[turn]]\nsteps = [{ text = \"Yes.\" }]\n");
    let session = client.new_session();
    client.turn(&session, "hello");
    let id = client
        .talk
        .request(
            "session/load",
            json!({"sessionId": session, "cwd": "/", "mcpServers": []}),
        )
        .unwrap();
    let frames = client.talk.until_answer(id).unwrap();
    assert!(
        frames[..2]
            .iter()
            .all(|frame| frame["params"]["_meta"]["isReplay"] == true),
        "{frames:?}"
    );
}

#[test]
fn turns_follow_each_other_and_the_last_is_repeated() {
    let mut client =
        Client::play("[[turn]]\nsteps = [{ text = \"one\" }]\n[[turn]]\nsteps = [{ text = \"two\" }]\n");
    let session = client.new_session();
    let said: Vec<_> = (0..3).map(|_| text(&client.turn(&session, "go on"))).collect();
    assert_eq!(said, ["one", "two", "two"]);
}

/// The demo is played as a demonstration plays it, and every update is one that the protocol knows.
#[test]
fn the_demo_tells_its_story_in_frames_of_the_protocol() {
    let Script::Scenario(scenario) = Script::open("builtin:demo").unwrap() else {
        panic!("the demo is a scenario")
    };
    let performance = scenario.performance();
    let mut client = Client::start(&["builtin:demo"]);
    let session = client.new_session();
    let mut turns = Vec::new();
    let mut asked = Vec::new();
    for prompt in &performance.prompts {
        let id = client.prompt(&session, prompt);
        let mut frames = Vec::new();
        loop {
            frames.extend(client.talk.until(|frame| frame.get("id").is_some()).unwrap());
            let last = frames.last().unwrap().clone();
            if last.get("method").is_none() && last["id"] == id {
                break;
            }
            let tool = last["params"]["toolCall"]["toolCallId"].as_str().unwrap();
            asked.push((tool.to_owned(), performance.answers[tool].clone()));
            let outcome = json!({"outcome": {"outcome": "selected", "optionId": performance.answers[tool]}});
            client.talk.answer(&last, outcome).unwrap();
        }
        turns.push(frames);
    }
    let ends: Vec<_> = turns.iter().map(|frames| stop(frames)).collect();
    assert_eq!(ends, ["end_turn", "none", "end_turn"]);
    assert!(
        turns[1].last().unwrap()["error"]["data"]["message"]
            .as_str()
            .unwrap()
            .contains("overloaded")
    );
    assert_eq!(
        asked,
        [
            ("call-3".into(), "allow-once".into()),
            ("call-6".into(), "reject-once".into())
        ]
    );
    assert_eq!(
        turns[1][0]["method"], "_x.ai/task_completed",
        "the background command ends after its turn"
    );
    assert!(text(&turns[2]).contains("```rust"));
    turns.iter().for_each(|frames| all_known(frames));
}

#[test]
fn every_step_is_a_frame_of_the_protocol() {
    for word in ["words", "plan", "tools", "background", "task", "helper", "own"] {
        let (mut client, session) = started();
        all_known(&client.turn(&session, word));
    }
}

fn all_known(frames: &[Value]) {
    for frame in frames.iter().filter(|frame| frame["method"] == "session/update") {
        let notification: SessionNotification = serde_json::from_value(frame["params"].clone())
            .unwrap_or_else(|error| panic!("{frame} is no update of the protocol: {error}"));
        let kind = frame["params"]["update"]["sessionUpdate"]
            .as_str()
            .expect("an update has a kind");
        let back = serde_json::to_value(&notification).expect("it was read from JSON");
        assert_eq!(back["update"]["sessionUpdate"], kind);
        if let SessionUpdate::SubagentUpdate(update) = &notification.update {
            assert_eq!(
                serde_json::to_value(update).expect("it was read from JSON")["state"],
                frame["params"]["update"]["state"]
            );
        }
    }
}

#[test]
fn the_catalogue_is_listed() {
    let mut client = Client::silent(&["--list"]);
    let listed = String::from_utf8(client.talk.rest().unwrap()).unwrap();
    assert_eq!(listed.lines().count(), catalogue().len());
    assert!(
        listed
            .lines()
            .all(|line| line.starts_with("builtin:") && line.ends_with('.')),
        "{listed}"
    );
}

#[test]
fn wrong_arguments_are_told_in_a_sentence() {
    for (arguments, word) in [
        (vec!["--pace", "fast"], "fast"),
        (vec!["--wrong"], "--wrong"),
        (vec!["/no/such/file.toml"], "/no/such/file.toml"),
        (vec!["a.toml", "b.toml"], "second script"),
        (vec!["--process", "9", "builtin:none"], "builtin:none"),
    ] {
        let (status, errors) = Client::silent(&arguments).leave();
        assert_eq!(status, Status::Code(2));
        assert!(errors.contains(word), "{errors}");
    }
}

/// The same agent as a thread, over pipes of another kind.
#[test]
fn an_agent_runs_inside_a_thread_too() {
    use std::os::unix::net::UnixStream;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let agent = std::thread::spawn(move || {
        let io = tapline_testkit::agent::Io {
            input: Box::new(theirs.try_clone().unwrap()),
            output: Box::new(theirs),
            errors: Box::new(std::io::sink()),
        };
        tapline_testkit::agent::run(&Script::open("builtin:echo").unwrap(), &Default::default(), io)
    });
    let mut talk = Talk::new(ours.try_clone().unwrap(), ours.try_clone().unwrap());
    let session = talk
        .call("session/new", json!({"cwd": "/", "mcpServers": []}))
        .unwrap()["result"]["sessionId"]
        .clone();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]});
    let id = talk.request("session/prompt", prompt).unwrap();
    assert_eq!(text(&talk.until_answer(id).unwrap()), "You said: hi");
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(agent.join().unwrap(), Status::Code(0));
}
