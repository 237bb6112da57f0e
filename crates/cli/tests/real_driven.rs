//! Real agents that Tapline drives itself, against a scripted model on loopback: by `tapline exec` and `tapline resume`, and
//! through the journal, where people and programs post what they want of a session.
//!
//! The agents, their configuration and the model are those of `real_agents.rs`; what an agent does in its own way stands in
//! `real/agents.json`. Without an agent its test says `skipped: …` and passes; under `TAPLINE_CI` it fails. With
//! `TAPLINE_SHOW` each session prints its rows and its frames: that is what `docs/agents/` quotes.
#![cfg(unix)]

#[path = "real/client.rs"]
#[expect(dead_code, reason = "real_agents.rs uses the rest")]
mod client;
#[path = "real/driven.rs"]
mod driven;
#[path = "real/timeline.rs"]
mod timeline;
#[path = "real/world.rs"]
#[expect(dead_code, reason = "real_agents.rs uses the rest")]
mod world;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use client::Answer;
use driven::Driven;
use serde_json::{Value, json};
use tapline_agent::host::{StartError, intent};
use tapline_timeline::SessionId;
use timeline::Timeline;
use world::World;

#[test]
fn grok_is_driven() {
    story("grok");
}

#[test]
fn codex_is_driven() {
    story("codex");
}

#[test]
fn claude_is_driven() {
    story("claude");
}

#[test]
fn opencode_is_driven() {
    story("opencode");
}

#[test]
fn pi_is_driven() {
    story("pi");
}

#[test]
fn gemini_is_driven() {
    story("gemini");
}

/// One chat with an agent, in three processes of it: begun by `exec`, gone on with through the journal, ended by `resume`.
fn story(name: &str) {
    let Some(world) = World::new(name) else { return };
    let (id, begun) = executed(&world);
    let began = minute();
    let chat = if world.agent.loads {
        let chat = world
            .host_again(&id, false)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        unchanged(&begun, &chat.told());
        chat
    } else {
        world.host()
    };
    assert_eq!(chat.id == id, world.agent.loads, "{name}");

    allowed(&world, &chat);
    refused(&world, &chat);
    stopped(&world, &chat);
    failed(&world, &chat);
    set(&world, &chat);
    let id = chat.id.clone();
    chat.close();
    let told = driven::told(&world.name, &*world.open(), &id);

    if world.agent.loads_in_another_minute {
        while minute() == began {
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    if world.agent.loads || world.agent.loads_in_another_minute {
        resumed(&world, &id, &told);
    }
    world.tapline(&["verify"]);
}

/// The minute of the clock.
fn minute() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock after 1970");
    since.as_secs() / 60
}

/// A reply, by `tapline exec`.
fn executed(world: &World) -> (SessionId, Timeline) {
    let printed = world.drive(&["exec", "--brief"], "hello");
    let said = "Hello from the scripted model, in several pieces.";
    assert_eq!(printed.matches(said).count(), 1, "{}: {printed}", world.name);
    let id = world.newest();
    let told = driven::told(&world.name, &*world.open(), &id);
    assert_eq!(told.turn("hello")["end"], "completed", "{}", world.name);
    told.said("hello", 0);
    told.nothing_runs();
    (id, told)
}

/// A command that is allowed by an intent runs, and the row says who allowed it.
fn allowed(world: &World, chat: &Driven) {
    let sent = chat.prompt("allow");
    if world.agent.asks {
        let request = chat.request("allow");
        assert_eq!(
            chat.choose(&request, "allow_once"),
            json!({ "outcome": "allowed" })
        );
        let again = chat.answer(json!({ "request": request["id"], "cancel": true }));
        assert!(
            again["error"].is_string(),
            "{}: it is answered once: {again}",
            world.name
        );
    }
    let turn = chat.ended("allow", sent);
    let told = chat.told();
    assert_eq!(turn["end"], "completed", "{}: {turn}", world.name);
    assert!(
        !world.project().join("allowed.txt").exists(),
        "{}: it ran",
        world.name
    );
    let tool = told.only("allow", "tool");
    assert_eq!(tool["state"], "completed", "{}: {tool}", world.name);
    if world.agent.asks {
        let request = told.only("allow", "request");
        assert_eq!(request["answer"]["by"], "test", "{}: {request}", world.name);
        assert_eq!(request["tool"], tool["id"], "{}", world.name);
        assert_eq!(tool["authorization"], "asked_allowed", "{}: {tool}", world.name);
    }
    told.said("allow", 1);
}

/// A command that is refused by an intent never runs.
fn refused(world: &World, chat: &Driven) {
    if !world.agent.asks {
        return;
    }
    let sent = chat.prompt("refuse");
    let request = chat.request("refuse");
    assert_eq!(
        chat.choose(&request, "reject_once"),
        json!({ "outcome": "rejected" })
    );
    let turn = chat.ended("refuse", sent);
    assert_eq!(turn["end"], *world.agent.refused_end, "{}: {turn}", world.name);
    assert!(
        world.project().join("refused.txt").exists(),
        "{}: it ran",
        world.name
    );
    let told = chat.told();
    let request = told.only("refuse", "request");
    assert_eq!(request["outcome"], "rejected", "{}: {request}", world.name);
    for tool in told.of("refuse", "tool") {
        assert_eq!(tool["state"], "rejected", "{}: {tool}", world.name);
    }
}

/// A turn that is stopped once its words have begun: the process lives on, and the next prompt works.
fn stopped(world: &World, chat: &Driven) {
    let sent = chat.prompt("slow");
    chat.until("the slow turn begins to speak", |told| {
        let words = told.script["slow"][0][0]["text"].as_str()?;
        let begun = |row: &&Value| {
            let text = row["text"].as_str().unwrap_or_default();
            row["kind"] == "assistant" && text.starts_with("Once") && words.starts_with(text)
        };
        told.rows.iter().find(begun).map(drop)
    });
    let stop = chat.post(intent::STOP, &json!({}));
    let outcome = chat.outcome("the stop", stop);
    let turn = chat.ended("slow", sent);
    assert_eq!(outcome, json!({ "stopped": turn["id"] }), "{}", world.name);
    assert_eq!(turn["end"], "stopped", "{}: {turn}", world.name);
    assert!(chat.is_alive(), "{}: it lives on", world.name);
    assert_eq!(errors(&chat.told(), "slow"), [""; 0], "{}", world.name);
    assert_eq!(chat.ask("goeson")["end"], "completed", "{}", world.name);
    chat.told().said("goeson", 0);
}

/// A turn that fails has one row that says why, in the model's words; the next prompt works.
fn failed(world: &World, chat: &Driven) {
    let words = |scenario: &str| {
        let words = chat.told().script[scenario][0][0]["message"]
            .as_str()
            .map(str::to_owned);
        words.expect("words")
    };
    let broken = world.agent.broken.clone().unwrap_or_else(|| words("broken"));
    for (scenario, words) in [("fail", words("fail")), ("broken", broken)] {
        if words == "never" {
            continue;
        }
        let turn = chat.ask(scenario);
        if !world.agent.tells_failures {
            assert_eq!(
                turn["end"], "completed",
                "{}: it tells of failures now",
                world.name
            );
            continue;
        }
        assert_eq!(turn["end"], "failed", "{}: {scenario}: {turn}", world.name);
        let errors = errors(&chat.told(), scenario);
        assert!(
            matches!(&*errors, [one] if one.contains(&words)),
            "{}: {scenario}: {errors:?}",
            world.name
        );
    }
}

/// The texts of the error rows of a scenario's turn.
fn errors(told: &Timeline, scenario: &str) -> Vec<String> {
    let rows = told.of(scenario, "status");
    let errors = rows.into_iter().filter(|row| row["tone"] == "error");
    errors
        .map(|row| row["text"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// What the agent offers can be set, and reads as set afterwards; what it does not know is refused in its words.
fn set(world: &World, chat: &Driven) {
    for setting in &world.agent.sets {
        let outcome = chat.set(&setting.payload);
        assert_eq!(
            outcome,
            json!({ "ok": true }),
            "{}: {}",
            world.name,
            setting.payload
        );
        chat.until_offered(&setting.payload.to_string(), |offer| {
            let now = match setting.shows.as_str() {
                "mode" => offer.mode.as_deref(),
                "model" => offer.model.as_deref(),
                id => offer
                    .options
                    .iter()
                    .find(|o| o.id == id)
                    .and_then(|o| o.current.as_deref()),
            };
            now == Some(&*setting.reads)
        });
    }
    let outcome = chat.set(&json!({ "option": "there-is-none", "value": "x" }));
    assert!(outcome["error"].is_string(), "{}: {outcome}", world.name);
}

/// Gone on with by `tapline resume`: what the agent tells again adds no row, and the next prompt works.
fn resumed(world: &World, id: &SessionId, before: &Timeline) {
    let printed = world.drive(&["resume", "--brief", "--no-context", id.as_str()], "again");
    let now = driven::told(&world.name, &*world.open(), id);
    now.nothing_runs();
    now.goes_on_from(before);
    let said = "Here I am again, after the load.";
    assert_eq!(printed.matches(said).count(), 1, "{}: {printed}", world.name);
}

/// A load has added no row and changed none.
fn unchanged(before: &Timeline, now: &Timeline) {
    let same = before.rows == now.rows;
    assert!(same, "{}: {:#?}\n{:#?}", before.agent, before.rows, now.rows);
}

// --- What only Grok does ---

#[test]
fn grok_asks_for_its_plan_to_be_approved() {
    let Some(world) = World::new("grok") else { return };
    let chat = world.host();

    let sent = chat.prompt("planapproved");
    let request = chat.request("the plan");
    assert_eq!(request["ask"], "plan", "{request}");
    assert_eq!(request["text"], "# Plan\n\n1. Say hello.\n", "{request}");
    chat.until_offered("plan mode", |offer| offer.mode.as_deref() == Some("plan"));
    let approved = chat.answer(json!({ "request": request["id"], "option": "approved" }));
    assert_eq!(approved, json!({ "outcome": "allowed" }));
    assert_eq!(chat.ended("planapproved", sent)["end"], "completed");
    chat.told().said("planapproved", 3);
    chat.until_offered("no plan mode", |offer| offer.mode.as_deref() == Some("default"));

    let sent = chat.prompt("planrevised");
    let request = chat.request("the other plan");
    assert_eq!(request["text"], "# Other plan\n\n1. Say goodbye.\n", "{request}");
    let feedback = json!([{ "question": "feedback", "text": "Say it in French." }]);
    let revised =
        chat.answer(json!({ "request": request["id"], "option": "cancelled", "answers": feedback }));
    assert_eq!(revised, json!({ "outcome": "rejected" }));
    assert_eq!(chat.ended("planrevised", sent)["end"], "completed");
    let told = chat.told();
    told.said("planrevised", 3);
    let request = told.only("planrevised", "request");
    assert_eq!(request["answer"]["answers"], feedback, "{request}");
    let tools = json!(told.of("planrevised", "tool")).to_string();
    assert!(tools.contains("Say it in French."), "the model hears it: {tools}");
    assert_eq!(chat.offer().mode.as_deref(), Some("plan"), "it plans on");
    chat.close();
}

#[test]
fn grok_asks_questions() {
    let Some(world) = World::new("grok") else { return };
    let chat = world.host();
    let sent = chat.prompt("question");
    let request = chat.request("two questions");
    let ids: Vec<&Value> = request["questions"]
        .as_array()
        .expect("questions")
        .iter()
        .map(|q| &q["id"])
        .collect();
    let one = json!([{ "question": ids[0], "options": ["Casual"] }]);
    let short = chat.answer(json!({ "request": request["id"], "answers": one }));
    assert!(
        short["error"]
            .as_str()
            .is_some_and(|error| error.contains("has no answer")),
        "{short}"
    );
    let both = json!([
        { "question": ids[0], "options": ["Casual"] },
        { "question": ids[1], "options": ["main.py", "README.md"] },
    ]);
    let answered = chat.answer(json!({ "request": request["id"], "answers": both }));
    assert_eq!(answered, json!({ "outcome": "answered" }));
    assert_eq!(chat.ended("question", sent)["end"], "completed");
    let told = chat.told();
    let request = told.only("question", "request");
    assert_eq!(request["answer"]["answers"], both, "{request}");
    told.said("question", 1);
    chat.close();
}

/// A background command that never ends is ended by an intent, in each of two processes of the agent.
#[test]
fn grok_ends_a_background_command() {
    let Some(world) = World::new("grok") else { return };
    let mut chat = world.host();
    let mut tasks = 0;
    for scenario in ["forever", "foreveragain"] {
        let sent = chat.prompt(scenario);
        let request = chat.request(scenario);
        chat.choose(&request, "allow_once");
        assert_eq!(chat.ended(scenario, sent)["end"], "completed");
        let task = chat.until("the command runs", |told| {
            told.of(scenario, "task").first().map(|task| (*task).clone())
        });
        assert_eq!(task["state"], "running", "{task}");
        let stop = || {
            chat.outcome(
                "the stop",
                chat.post(intent::STOP, &json!({ "task": task["id"] })),
            )
        };
        assert_eq!(stop(), json!({ "stopped": task["id"] }));
        let ended = chat.until("the command has ended", |told| {
            let ended = told.only(scenario, "task");
            (ended["state"] != "running").then(|| ended.clone())
        });
        assert_eq!(ended["state"], "stopped", "{ended}");
        assert!(stop()["error"].is_string(), "it does not run any more");
        let told = chat.told();
        tasks += 1;
        assert_eq!(
            told.rows.iter().filter(|row| row["kind"] == "task").count(),
            tasks
        );
        let id = chat.id.clone();
        chat.close();
        chat = world.host_again(&id, false).expect("it is loaded");
    }
    chat.close();
}

/// Grok says the id again that the client gave a prompt; the turn's id is made of it.
#[test]
fn grok_echoes_a_prompt_id() {
    let Some(world) = World::new("grok") else { return };
    let chat = world.host();
    chat.ask("hello");
    let frames = chat.frames();
    let key = |(_, frame): &(_, Value)| frame["params"]["_meta"]["promptId"].as_str().map(str::to_owned);
    let given = frames
        .iter()
        .filter(|(_, frame)| frame["method"] == "session/prompt")
        .find_map(key);
    let given = given.expect("a prompt with an id");
    let said = |what: &str, at: &[&str]| {
        let found = frames.iter().any(|(_, frame)| {
            let named = frame["method"] == what
                || (what == "the answer" && frame["result"]["stopReason"].is_string());
            named && at.iter().fold(frame, |value, name| &value[*name]) == given.as_str()
        });
        assert!(found, "{what} {at:?} does not say {given}");
    };
    said("_x.ai/queue/changed", &["params", "runningPromptId"]);
    said("session/update", &["params", "_meta", "promptId"]);
    said("_x.ai/session_notification", &["params", "update", "prompt_id"]);
    said("_x.ai/session/prompt_complete", &["params", "promptId"]);
    said("the answer", &["result", "_meta", "promptId"]);
    said("the answer", &["result", "_meta", "requestId"]);
    chat.close();
}

/// A model that asks for patience fails the turn, with one row in its words, whether it says when to try again or not.
#[test]
fn grok_tells_of_a_rate_limit() {
    let Some(world) = World::new("grok") else { return };
    let chat = world.host();
    for scenario in ["limited", "limitedafter"] {
        assert_eq!(chat.ask(scenario)["end"], "failed", "{scenario}");
        let told = chat.told();
        let errors = errors(&told, scenario);
        let words = told.script[scenario][0][0]["message"].as_str().expect("words");
        assert!(
            matches!(&*errors, [one] if one.contains(words)),
            "{scenario}: {errors:?}"
        );
    }
    assert_eq!(chat.ask("goeson")["end"], "completed");
    chat.close();
}

/// A session that Grok no longer has: the start fails in its words, or goes on afresh with the chat so far.
#[test]
fn grok_has_lost_a_session() {
    let Some(world) = World::new("grok") else { return };
    let chat = world.host();
    chat.ask("hello");
    let (id, before) = (chat.id.clone(), chat.told());
    chat.close();
    std::fs::remove_dir_all(world.home().join(".grok/sessions")).expect("Grok keeps its sessions there");

    let error = world.host_again(&id, false).map(drop).expect_err("it is lost");
    assert!(
        matches!(&error, StartError::Lost { why, .. } if why.contains("not found")),
        "{error}"
    );
    let chat = world.host_again(&id, true).expect("it goes on afresh");
    assert_eq!(chat.ask("again")["end"], "completed");
    let told = chat.told();
    assert_eq!(told.rows[..before.rows.len()], before.rows);
    told.said("again", 0);
    chat.close();
}

/// What the host relies on, asked of Grok itself: how it answers a kill of work that runs, has ended or never was, the
/// probe whether there is such a call, and a session that it does not have.
#[test]
fn grok_answers_as_the_host_expects() {
    let Some(world) = World::new("grok") else { return };
    let mut client = world.start();
    let place = json!({ "cwd": world.project(), "mcpServers": [] });
    let made = client.call("session/new", place.clone());
    let session = made["result"]["sessionId"]
        .as_str()
        .expect("a session")
        .to_owned();
    client.prompt(&session, "forever", Answer::Allow);
    let listed = client.call("_x.ai/task/list", json!({ "sessionId": session }));
    let task = &listed["result"]["result"]["tasks"][0]["task_id"];
    assert!(task.is_string(), "{listed}");

    let mut kill = |params: Value| client.call("_x.ai/task/kill", params);
    let of = |task: &Value| json!({ "sessionId": session, "taskId": task });
    let probed = kill(json!({}));
    assert_eq!(probed["error"]["code"], -32602, "the call is there: {probed}");
    let outcome = |answer: &Value| answer["result"]["result"]["outcome"].clone();
    assert_eq!(outcome(&kill(of(task))), "killed");
    assert_eq!(outcome(&kill(of(task))), "already_exited");
    assert_eq!(outcome(&kill(of(&json!("no-such-task")))), "not_found");
    let unknown = client.call("_x.ai/task/no-such-call", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");

    for method in ["session/load", "session/resume"] {
        let mut params = place.clone();
        params["sessionId"] = json!("01a00000-0000-7000-8000-000000000000");
        let lost = client.call(method, params.clone());
        assert_eq!(lost["error"]["message"], "Path not found.", "{method}: {lost}");
        assert_eq!(lost["error"]["data"]["code"], "FS_NOT_FOUND", "{method}: {lost}");
        params["sessionId"] = json!(session);
        let had = client.call(method, params);
        assert_eq!(
            had["result"]["_meta"]["sessionId"],
            json!(session),
            "{method}: {had}"
        );
    }
    client.end(None);
}
