//! Commands: what a line of shell runs.

use serde_json::{Value, json};
use tapline_agent::policy::{Mode, Verdict};

use crate::{CWD, line, permission, rules, verdict};

#[test]
fn a_command_that_is_allowed_allows_no_other_behind_it() {
    for good in [
        "git status",
        "git status --short",
        "  git status -s src/*.rs  ",
        "git status 'a b'",
    ] {
        assert_eq!(line("git status", good), (true, true), "{good}");
    }
    let bad = [
        "git status; rm -rf /",
        "git status;rm -rf /",
        "git status && rm -rf /",
        "git status & rm -rf /",
        "git status | sh",
        "git status || rm -rf /",
        "git status `rm -rf /`",
        "git status $(rm -rf /)",
        "git status \"$(rm -rf /)\"",
        "git status <(rm -rf /)",
        "git status > /etc/passwd",
        "git status >> ~/.bashrc",
        "git status 2>&1",
        "git status < /etc/passwd",
        "git status\nrm -rf /",
        "git status\r\nrm -rf /",
        "git status \\\nrm",
        "git status\u{b}x",
        "git status $HOME",
        "(git status)",
        "{ git status; }",
        "rm -rf / ; git status",
        "rm -rf / # git status",
        "GIT_PAGER=evil git status",
        "sudo git status",
    ];
    for bad in bad {
        assert!(!line("git status", bad).0, "{bad}");
        assert!(
            line("git status", bad).1 || bad.starts_with("rm -rf / #"),
            "{bad}"
        );
        assert!(!line("git *", bad).0, "{bad}");
        assert!(!line("git status*", bad).0, "{bad}");
    }
    for other in [
        "git statusx",
        "git  status",
        "git",
        "git stash",
        "echo",
        "/tmp/git status",
        "Git status",
    ] {
        assert!(!line("git status", other).0, "{other}");
    }
}

#[test]
fn a_pattern_of_commands_is_a_beginning_or_a_whole_line() {
    assert!(line("npm run *", "npm run test").0);
    assert!(!line("npm run *", "npm run").0);
    assert!(!line("npm * test", "npm run test x").0);
    assert!(line("npm ??? test", "npm run test").0);
    assert!(!line("npm run ?", "npm run ;").0);
    // What stands in the pattern itself is meant as it stands, and nothing more is.
    assert!(line("cargo build && cargo test", "cargo build && cargo test -q").0);
    assert!(!line("cargo build && cargo test", "cargo build && cargo test && rm x").0);
    assert!(line("cat a | head *", "cat a | head -3").0);
    assert!(!line("a.c", "abc").0);
    assert!(line("[x] (y)", "[x] (y)").0);
}

#[test]
fn a_command_that_is_denied_is_found_anywhere_in_a_line() {
    for bad in [
        "rm x",
        "ls; rm x",
        "ls && rm  x",
        "ls | xargs rm x",
        "sudo rm x",
        "RM x",
        "bash -c 'rm x'",
        "echo $(rm x)",
        "echo `rm x`",
        "true\nrm x",
        "env A=B rm x",
    ] {
        assert!(line("rm", bad).1, "{bad}");
    }
    assert!(!line("rm", "rmdir x").1);
    assert!(!line("rm", "cargo test").1);
    assert!(line("git push *", "cd x && git push origin main").1);
    // A line of any length costs no more than its length.
    assert!(line("rm", &format!("{}; rm x", "a ".repeat(100_000))).1);
}

#[test]
fn commands_are_read_as_agents_write_them() {
    let policy = rules(Mode::Ask, &["- | - | git status => allow", "- | - | rm => deny"]);
    let of = |input: Value| verdict(&policy, &permission(input), "execute");
    for good in [
        json!({"command": "git status", "description": "; rm x"}),
        json!({"command": ["/bin/bash", "-lc", "git status"], "cwd": CWD, "parsed_cmd": [{"cmd": "git status"}]}),
        json!({"command": ["git", "status", "-s"]}),
        json!({"command": "git", "args": ["status"]}),
        json!({"command": "git status", "args": [], "workdir": "sub"}),
        json!({"command": "git", "args": "status -s"}),
        json!({"commands": ["git status", "git status -s"]}),
        json!({"tool_input": {"cmd": "git status"}}),
    ] {
        assert_eq!(of(good.clone()), Verdict::Allow, "{good}");
    }
    for bad in [
        json!({"commands": ["git status", "rm x"]}),
        json!({"command": ["bash", "-c", "git status; rm x"]}),
        json!({"command": "git", "args": ["status", "; rm x"]}),
        json!({"command": "git", "args": "status; rm x"}),
        json!({"command": "git status", "shellCommand": "rm x"}),
    ] {
        assert_eq!(of(bad.clone()), Verdict::Reject, "{bad}");
    }
    for unclear in [
        json!({"command": "git status", "cwd": "/etc"}),
        json!({"command": "git status", "workdir": "sub/../.."}),
        json!({"command": ["bash", "-c", "git status", "x"]}),
        json!({"command": ["bash", "--rcfile", "git status"]}),
        json!({"command": ["git status", 1]}),
        json!({"command": "git status", "args": 1}),
        json!({"command": "git status", "then": {"command": "ls"}}),
        json!("git status"),
        json!({"description": "git status"}),
        Value::Null,
    ] {
        assert_eq!(of(unclear.clone()), Verdict::Ask, "{unclear}");
    }
    // A headline is no command: it may refuse one and never allows one.
    let mut titled = permission(Value::Null);
    titled.title = Some("git status".to_owned());
    assert_eq!(verdict(&policy, &titled, "execute"), Verdict::Ask);
    titled.title = Some("Execute `rm x`".to_owned());
    assert_eq!(verdict(&policy, &titled, "execute"), Verdict::Reject);
}
