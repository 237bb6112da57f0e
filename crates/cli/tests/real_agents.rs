//! Real agents under `tapline wrap`, against a scripted model on loopback: what `export` gives afterwards.
//!
//! Each agent is the program that people run, in the version that `real/<agent>/package.json` names, installed by
//! `tools/real-agents/install.sh`. What differs between them (launch, configuration, what they do not do) is data, in
//! `real/agents.json`; what the model says is `real/script.json`, and a prompt names its part with `SCENARIO:<word>`. The
//! conversation and what is asked of its timeline are the same for all.
//!
//! Without an agent its test says `skipped: …` and passes; under `TAPLINE_CI` it fails.
#![cfg(unix)]

#[path = "real/client.rs"]
mod client;
#[path = "real/timeline.rs"]
mod timeline;
#[path = "real/world.rs"]
#[expect(dead_code, reason = "real_driven.rs uses the rest")]
mod world;

use client::Answer;
use serde_json::{Value, json};
use timeline::Timeline;
use world::World;

#[test]
fn grok_is_one_clean_story() {
    story("grok");
}

#[test]
fn codex_is_one_clean_story() {
    story("codex");
}

#[test]
fn claude_is_one_clean_story() {
    story("claude");
}

#[test]
fn opencode_is_one_clean_story() {
    story("opencode");
}

#[test]
fn pi_is_one_clean_story() {
    story("pi");
}

#[test]
fn gemini_is_one_clean_story() {
    story("gemini");
}

/// The whole conversation with one agent, in two processes, and what its timeline must show after each.
fn story(name: &str) {
    let Some(world) = World::new(name) else { return };

    let mut first = world.start();
    let made = first.call("session/new", json!({"cwd": world.project(), "mcpServers": []}));
    let session = made["result"]["sessionId"]
        .as_str()
        .unwrap_or_else(|| panic!("{name}: no session: {made}"))
        .to_owned();
    first.prompt(&session, "hello", Answer::None);
    first.prompt(&session, "allow", Answer::Allow);
    if world.agent.asks {
        first.prompt(&session, "refuse", Answer::Reject);
    }
    first.stop_in_mid_stream(&session);
    first.prompt(&session, "fail", Answer::None);
    if world.agent.background {
        first.prompt(&session, "background", Answer::Allow);
        std::fs::write(world.project().join("go"), "").expect("written");
        first.until_woken();
    }
    first.end(world.agent.ends_at.as_deref());
    let told = world.timeline();
    if std::env::var_os("TAPLINE_SHOW").is_some() {
        told.print();
    }

    told.nothing_runs();
    told.said("hello", 0);
    assert_eq!(told.turn("hello")["end"], "completed");
    world.allowed(&told);
    if world.agent.asks {
        world.refused(&told);
    }
    stopped(&told);
    world.failed(&told);
    if world.agent.background {
        background(&told);
    }

    if world.agent.loads {
        let mut second = world.start();
        let loaded = second.call(
            "session/load",
            json!({"sessionId": session, "cwd": world.project(), "mcpServers": []}),
        );
        assert!(loaded.get("result").is_some(), "{name}: {loaded}");
        second.prompt(&session, "again", Answer::None);
        second.end(world.agent.ends_at.as_deref());
        let reloaded = world.timeline();
        if std::env::var_os("TAPLINE_SHOW").is_some() {
            reloaded.print();
        }
        reloaded.nothing_runs();
        reloaded.goes_on_from(&told);
    }
    world.tapline(&["verify"]);
}

/// What each part of the conversation leaves behind.
impl World {
    /// A command that was allowed ran, once, and its row says by whose leave and with what outcome.
    fn allowed(&self, told: &Timeline) {
        let tool = told.only("allow", "tool");
        let asked = if self.agent.asks {
            "asked_allowed"
        } else {
            "not_asked"
        };
        assert_eq!(tool["authorization"], asked, "{}: {tool}", self.name);
        assert_eq!(tool["state"], "completed", "{}: {tool}", self.name);
        let output = json!([tool["content"], tool["output"], tool["result"]]).to_string();
        assert_eq!(
            output.contains("said-by-the-tool"),
            self.agent.tells_output,
            "{}: {tool}",
            self.name
        );
        assert!(
            !self.project().join("allowed.txt").exists(),
            "{}: the command ran",
            self.name
        );
        assert_eq!(
            told.of("allow", "request").len(),
            usize::from(self.agent.asks),
            "{}",
            self.name
        );
        if self.agent.asks {
            let request = told.only("allow", "request");
            assert_eq!(
                (&request["state"], &request["outcome"]),
                (&json!("settled"), &json!("allowed")),
                "{request}"
            );
            assert_eq!(request["tool"], tool["id"], "{}", self.name);
        }
        assert_eq!(told.turn("allow")["end"], "completed");
        told.said("allow", 0);
        told.said("allow", 1);
    }

    /// A command that was refused never ran, and its row says so.
    fn refused(&self, told: &Timeline) {
        let tools = told.of("refuse", "tool");
        assert_eq!(
            tools.len(),
            usize::from(self.agent.tells_refused),
            "{}: {tools:?}",
            self.name
        );
        for tool in tools {
            assert_eq!(tool["authorization"], "asked_rejected", "{}: {tool}", self.name);
            assert_eq!(tool["state"], "rejected", "{}: {tool}", self.name);
        }
        assert!(
            self.project().join("refused.txt").exists(),
            "{}: the command ran",
            self.name
        );
        let request = told.only("refuse", "request");
        assert_eq!(
            (&request["state"], &request["outcome"]),
            (&json!("settled"), &json!("rejected")),
            "{request}"
        );
        assert_eq!(
            told.turn("refuse")["end"],
            *self.agent.refused_end,
            "{}",
            self.name
        );
        told.said("refuse", 0);
        if self.agent.goes_on {
            told.said("refuse", 1);
        }
    }

    /// A failed turn has one row that says why, in the model's words.
    fn failed(&self, told: &Timeline) {
        let turn = told.turn("fail");
        if !self.agent.tells_failures {
            assert_eq!(
                turn["end"], "completed",
                "{}: it tells of failures now: {turn}",
                self.name
            );
            return;
        }
        assert_eq!(turn["end"], "failed", "{}: {turn}", self.name);
        let error = told
            .of("fail", "status")
            .into_iter()
            .filter(|r| r["tone"] == "error")
            .collect::<Vec<_>>();
        assert_eq!(error.len(), 1, "{}: {error:?}", self.name);
        let words = told.script["fail"][0][0]["message"].as_str().expect("words");
        assert!(
            error[0]["text"].as_str().is_some_and(|t| t.contains(words)),
            "{}: {}",
            self.name,
            error[0]
        );
    }
}

/// A turn that was stopped says so, keeps the words that came, and has no error.
fn stopped(told: &Timeline) {
    let turn = told.turn("slow");
    assert_eq!(turn["end"], "stopped", "{}: {turn}", told.agent);
    let words = told.script["slow"][0][0]["text"].as_str().expect("words");
    let begun = |r: &&&Value| {
        r["text"]
            .as_str()
            .is_some_and(|t| !t.is_empty() && words.starts_with(t))
    };
    let said = told.of("slow", "assistant");
    assert_eq!(said.iter().filter(begun).count(), 1, "{}: {said:?}", told.agent);
    let errors = told
        .of("slow", "status")
        .into_iter()
        .filter(|r| r["tone"] == "error")
        .count();
    assert_eq!(errors, 0, "{}", told.agent);
}

/// A background command is one task under the tool that started it; it ends after its turn, and its end begins a turn of
/// the agent's own.
fn background(told: &Timeline) {
    let tool = told.only("background", "tool");
    let tasks: Vec<&Value> = told.rows.iter().filter(|r| r["kind"] == "task").collect();
    assert_eq!(tasks.len(), 1, "{}: {tasks:?}", told.agent);
    let task = tasks[0];
    assert_eq!(task["parent"], tool["id"], "{}", told.agent);
    assert_eq!(task["turn"], told.turn("background")["id"], "{}", told.agent);
    assert_eq!(
        (&task["state"], &task["exit_code"]),
        (&json!("completed"), &json!(0)),
        "{}: {task}",
        told.agent
    );
    assert_eq!(task["task_kind"], "command", "{}", told.agent);
    let (ended, turn_ended) = (
        task["ended_at"].as_str(),
        told.turn("background")["ended_at"].as_str(),
    );
    assert!(
        ended.is_some() && ended >= turn_ended,
        "{}: it outlives its turn: {task}",
        told.agent
    );
    assert_eq!(told.turn("background")["end"], "completed", "{}", told.agent);
    told.said("background", 0);
    told.said("background", 1);

    let own: Vec<&Value> = told
        .rows
        .iter()
        .filter(|r| r["kind"] == "turn" && r["origin"] == "agent")
        .collect();
    assert_eq!(own.len(), 1, "{}: {own:?}", told.agent);
    assert_eq!(own[0]["end"], "completed", "{}", told.agent);
    let words = told.script["wake"][0][0]["text"].as_str().expect("words");
    let said = told
        .rows
        .iter()
        .filter(|r| r["kind"] == "assistant" && r["text"] == words && r["turn"] == own[0]["id"]);
    assert_eq!(said.count(), 1, "{}", told.agent);
}
