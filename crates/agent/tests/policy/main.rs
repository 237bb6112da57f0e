//! Who may do what without asking: what is allowed, and what never is.
#![allow(clippy::unwrap_used)] // A test may fail where it stands.

mod commands;
mod deciding;
mod paths;
mod recorded;

use std::path::Path;

use serde_json::{Value, json};
use tapline_agent::policy::{Decision, Mode, Policy, Verdict};
use tapline_timeline::{Ask, Choice, Diff, Effect, FileChange, Json, Request, RequestState, ToolItem};

const CWD: &str = "/srv/project";

fn policy(text: &str) -> Policy {
    toml::from_str(text).unwrap()
}

/// A policy of rules, each as `kind | path | command => decide`.
fn rules(mode: Mode, rules: &[&str]) -> Policy {
    let mut text = format!("mode = \"{mode}\"\n");
    for rule in rules {
        let (matches, decide) = rule.split_once(" => ").unwrap();
        text.push_str(&format!("[[rules]]\ndecide = \"{decide}\"\n"));
        for (name, value) in ["kind", "path", "command"].iter().zip(matches.splitn(3, " | ")) {
            if value != "-" {
                text.push_str(&format!("{name} = '''{value}'''\n"));
            }
        }
    }
    policy(&text)
}

fn choice(id: &str, kind: &str) -> Choice {
    Choice {
        id: id.to_owned(),
        label: None,
        kind: (kind != "-").then(|| kind.to_owned()),
    }
}

fn asks(ask: Ask, input: Value) -> Request {
    Request {
        ask,
        title: None,
        text: None,
        tool: None,
        input: (!input.is_null()).then(|| Json::of(&input).unwrap()),
        content: Vec::new(),
        options: vec![
            choice("for-ever", "allow_always"),
            choice("yes", "allow_once"),
            choice("no", "reject_once"),
        ],
        questions: Vec::new(),
        state: RequestState::Pending,
        outcome: None,
        answer: None,
    }
}

fn permission(input: Value) -> Request {
    asks(Ask::Permission, input)
}

fn diff(path: &str, old_path: Option<&str>) -> ToolItem {
    ToolItem::Diff(Diff {
        path: path.to_owned(),
        old_path: old_path.map(str::to_owned),
        change: FileChange::Modify,
        effect: Effect::Proposed,
        patch: String::new(),
        added: 0,
        removed: 0,
    })
}

fn verdict(policy: &Policy, request: &Request, kind: &str) -> Verdict {
    let kind = (kind != "-").then_some(kind);
    policy.decide(request, kind, Path::new(CWD)).verdict
}

/// What a rule that allows a command says of a line, and one that denies it.
fn line(pattern: &str, line: &str) -> (bool, bool) {
    let request = permission(json!({"command": line}));
    let allow = rules(Mode::Ask, &[&format!("- | - | {pattern} => allow")]);
    let deny = rules(Mode::AllowAll, &[&format!("- | - | {pattern} => deny")]);
    let allowed = verdict(&allow, &request, "execute") == Verdict::Allow;
    (allowed, verdict(&deny, &request, "execute") == Verdict::Reject)
}

fn decision(verdict: Verdict, option: Option<&str>, by: &str) -> Decision {
    Decision {
        verdict,
        option: option.map(str::to_owned),
        by: by.to_owned(),
    }
}
