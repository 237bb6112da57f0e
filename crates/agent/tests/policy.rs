//! Who may do what without asking: what is allowed, and what never is.
#![allow(clippy::unwrap_used)] // A test may fail where it stands.

use std::path::Path;

use serde_json::{Value, json};
use tapline_agent::policy::{Asked, Decision, Mode, Policy, Verdict};
use tapline_recorder::{Memory, Recorder, Recording, Silent};
use tapline_timeline::{
    Ask, Body, Choice, Diff, Effect, FileChange, Json, Location, Request, RequestState, ToolItem, limits,
};

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

#[test]
fn reading_inside_the_folder_is_allowed_and_nothing_else() {
    let policy = rules(Mode::AllowReads, &[]);
    let of = |kind: &str, input: Value| verdict(&policy, &permission(input), kind);
    for (kind, input) in [
        ("read", json!({"path": "src/main.rs"})),
        (
            "read",
            json!({"file_path": "/srv/project/src/main.rs", "limit": 3}),
        ),
        (
            "read",
            json!({"files": [{"path": "a"}, {"path": "/srv/project/b"}]}),
        ),
        ("read", json!({"absolutePath": "/srv/project/./a/../b"})),
        ("read", json!({"filePath": "a..b"})),
        ("read", json!({"uri": "file:///srv/project/a"})),
        ("read", json!({"cwd": "/srv/project/sub", "path": "../a"})),
        ("search", json!({"pattern": "fn main"})),
        ("search", json!({"pattern": "**/*.rs", "path": "/srv/project"})),
    ] {
        assert_eq!(of(kind, input.clone()), Verdict::Allow, "{kind} {input}");
    }
    for (kind, input) in [
        ("read", json!({"path": "/etc/passwd"})),
        ("read", json!({"path": "../secret"})),
        ("read", json!({"path": "../project/a"})),
        ("read", json!({"path": "a/../../project/a"})),
        ("read", json!({"path": "/srv/project/../project/a"})),
        ("read", json!({"path": "/srv/project-not/a"})),
        ("read", json!({"path": "~/.ssh/id"})),
        ("read", json!({"path": "$HOME/.ssh/id"})),
        ("read", json!({"path": "{a,/etc/passwd}"})),
        ("read", json!({"uri": "https://example.com/a"})),
        ("read", json!({"uri": "file:///etc/passwd"})),
        ("read", json!({"uri": "file:///srv/project/%2e%2e/secret"})),
        ("read", json!({"files": [{"path": "a"}, {"path": "/etc/passwd"}]})),
        ("read", json!({"path": "a", "other": "/etc/passwd"})),
        ("read", json!({"cwd": "/etc", "path": "passwd"})),
        ("read", json!({"cwd": "../..", "path": "passwd"})),
        // A command is no reading, whatever the agent takes it for.
        ("read", json!({"command": ["bash", "-lc", "cat a"], "path": "a"})),
        // What names nothing may read anything.
        ("read", json!({"id": 7})),
        ("read", json!({})),
        ("read", Value::Null),
        ("read", json!("a")),
        ("search", Value::Null),
        ("search", json!({})),
        ("search", json!({"pattern": "/etc/**"})),
        ("search", json!({"pattern": "{src,/etc}/**"})),
        ("search", json!({"glob": "../*"})),
        ("search", json!({"pattern": "x", "path": "/"})),
        ("edit", json!({"path": "a"})),
        ("think", json!({"path": "a"})),
        ("fetch", json!({"path": "a"})),
        ("other", json!({"path": "a"})),
        ("READ", json!({"path": "a"})),
        ("-", json!({"path": "a"})),
    ] {
        assert_eq!(of(kind, input.clone()), Verdict::Ask, "{kind} {input}");
    }
    let mut changing = permission(json!({"path": "a"}));
    changing.content.push(diff("a", None));
    assert_eq!(verdict(&policy, &changing, "read"), Verdict::Ask);
    let mut endless = permission(json!({"path": "a"}));
    let text = ToolItem::Text { text: "x".into() };
    endless.content = vec![text; limits::ITEMS];
    assert_eq!(verdict(&policy, &endless, "read"), Verdict::Ask);
    let deep = (0..40).fold(json!({"path": "a"}), |inner, _| json!({"in": inner}));
    let deep = permission(json!({"path": "a", "deep": deep}));
    assert_eq!(verdict(&policy, &deep, "read"), Verdict::Ask);
}

#[test]
fn places_that_a_tool_names_count_like_paths() {
    let policy = rules(Mode::AllowReads, &[]);
    let request = permission(Value::Null);
    let of = |path: &str| {
        let place = [Location {
            path: path.to_owned(),
            line: None,
        }];
        let asked = Asked {
            request: &request,
            tool_kind: Some("read"),
            locations: &place,
            cwd: Path::new(CWD),
        };
        policy.decide_asked(asked).verdict
    };
    assert_eq!(of("/srv/project/a"), Verdict::Allow);
    assert_eq!(of("/etc/passwd"), Verdict::Ask);
}

#[test]
fn a_path_that_is_allowed_allows_only_what_lies_there_whole() {
    let policy = rules(Mode::Ask, &["edit | src/** | - => allow"]);
    let of = |input: Value| verdict(&policy, &permission(input), "edit");
    for good in [
        json!({"path": "src/a.rs", "content": "/* no path */ ../../x"}),
        json!({"path": "/srv/project/src/deep/a.rs"}),
        json!({"path": "./src/x/../a.rs"}),
        json!({"changes": {"/srv/project/src/a": {"type": "update"}, "src/b": {}}}),
    ] {
        assert_eq!(of(good.clone()), Verdict::Allow, "{good}");
    }
    for bad in [
        json!({"path": "a.rs"}),
        json!({"path": "src"}),
        json!({"path": "src/../a.rs"}),
        json!({"path": "/src/a.rs"}),
        json!({"path": "/etc/src/a.rs"}),
        json!({"path": "SRC/a.rs"}),
        json!({"path": "src/a.rs", "move_path": "a.rs"}),
        json!({"path": "src/a.rs", "moveTo": {"newPath": "/etc/a"}}),
        json!({"changes": {"src/a": {}, "b": {}}}),
        json!({"paths": ["src/a", "../b"]}),
        json!({"path": "src/a.rs", "command": "rm x"}),
        json!({"content": "src/a.rs"}),
        json!("src/a.rs"),
        Value::Null,
    ] {
        assert_eq!(of(bad.clone()), Verdict::Ask, "{bad}");
    }
    let mut request = permission(json!({"path": "src/a"}));
    request.content.push(diff("/srv/project/src/a", None));
    assert_eq!(verdict(&policy, &request, "edit"), Verdict::Allow);
    request.content.push(diff("src/b", Some("b")));
    assert_eq!(verdict(&policy, &request, "edit"), Verdict::Ask);
    // More items are not kept, and the next one may have been a change elsewhere.
    request.content = vec![diff("src/a", None); limits::ITEMS];
    assert_eq!(verdict(&policy, &request, "edit"), Verdict::Ask);
    request.content.pop();
    assert_eq!(verdict(&policy, &request, "edit"), Verdict::Allow);
    // A path alone allows no command that happens to name it; the kind of commands does.
    let command = permission(json!({"command": "rm -r .", "cwd": "src/a"}));
    let path = rules(Mode::Ask, &["- | src/** | - => allow"]);
    assert_eq!(verdict(&path, &command, "execute"), Verdict::Ask);
    let kind = rules(Mode::Ask, &["execute | - | - => allow"]);
    assert_eq!(verdict(&kind, &command, "execute"), Verdict::Allow);
    assert_eq!(verdict(&kind, &command, "read"), Verdict::Ask);
    // Relative patterns never reach outside, absolute ones do, as far as the spelling is plain.
    let all = rules(Mode::Ask, &["- | ** | - => allow", "- | /tmp/* | - => allow"]);
    for (path, expected) in [
        ("a/b", Verdict::Allow),
        ("/etc/passwd", Verdict::Ask),
        ("/tmp/a", Verdict::Allow),
        ("/tmp/a/b", Verdict::Ask),
        ("/tmp/../etc/passwd", Verdict::Ask),
        ("/tmp/x/../a", Verdict::Ask),
    ] {
        assert_eq!(
            verdict(&all, &permission(json!({"path": path})), "edit"),
            expected,
            "{path}"
        );
    }
}

#[test]
fn a_path_that_is_denied_is_found_however_it_is_named() {
    let policy = rules(
        Mode::AllowAll,
        &["- | **/.env* | - => deny", "- | secret/** | - => ask"],
    );
    let of = |input: Value| verdict(&policy, &permission(input), "-");
    for bad in [
        json!({"path": ".env"}),
        json!({"path": "deep/.ENV.local"}),
        json!({"path": "/home/me/.env"}),
        json!({"path": "~/.env"}),
        json!({"path": "a", "old_path": ".env"}),
        json!({"command": "cat a .env"}),
        json!({"command": "cat<.env"}),
        json!({"input": "*** Begin Patch\n*** Update File: /srv/project/.env\n"}),
    ] {
        assert_eq!(of(bad.clone()), Verdict::Reject, "{bad}");
    }
    assert_eq!(of(json!({"path": "../project/secret/a"})), Verdict::Ask);
    assert_eq!(of(json!({"path": "/srv/project/x/../secret/a"})), Verdict::Ask);
    // What is written about a file is not the file.
    assert_eq!(of(json!({"path": "a", "content": "see .env"})), Verdict::Allow);
    assert_eq!(of(json!({"path": "environment"})), Verdict::Allow);
    let mut request = permission(Value::Null);
    request.content.push(diff("b", Some("secret/a")));
    assert_eq!(verdict(&policy, &request, "edit"), Verdict::Ask);
}

#[test]
fn nothing_is_allowed_past_a_rule_that_could_not_be_checked() {
    let all = rules(Mode::AllowAll, &["- | .env | - => deny"]);
    // This is what the timeline leaves of an input that is too large.
    let cut = permission(json!("{\"content\": \"aaaa"));
    let decided = all.decide(&cut, Some("edit"), Path::new(CWD));
    let by = "rule 1 of the configuration, which could not be checked";
    assert_eq!(decided, decision(Verdict::Ask, None, by));
    let rule = rules(Mode::Deny, &["- | .env | - => deny", "edit | - | - => allow"]);
    assert_eq!(rule.decide(&cut, Some("edit"), Path::new(CWD)), decided);
    assert_eq!(verdict(&rule, &cut, "read"), Verdict::Reject);
    let kind = rules(Mode::AllowAll, &["delete | .env | - => deny"]);
    assert_eq!(verdict(&kind, &cut, "edit"), Verdict::Allow);
}

#[test]
fn the_first_rule_that_matches_decides_and_says_so() {
    let policy = policy(
        "mode = 'deny'
         [[rules]]
         kind = 'edit'
         path = 'src/gen/**'
         decide = 'ask'
         [[rules]]
         kind = 'edit'
         path = 'src/**'
         decide = 'allow'
         [[rules]]
         kind = 'edit'
         decide = 'deny'",
    );
    let of = |kind, path| policy.decide(&permission(json!({"path": path})), Some(kind), Path::new(CWD));
    let rule = |number: usize| format!("rule {number} of the configuration");
    assert_eq!(of("edit", "src/gen/a"), decision(Verdict::Ask, None, &rule(1)));
    assert_eq!(
        of("edit", "src/a"),
        decision(Verdict::Allow, Some("yes"), &rule(2))
    );
    assert_eq!(of("edit", "a"), decision(Verdict::Reject, Some("no"), &rule(3)));
    assert_eq!(
        of("read", "a"),
        decision(Verdict::Reject, Some("no"), "policy: deny")
    );
}

#[test]
fn modes_decide_what_no_rule_does() {
    let request = permission(json!({"command": "ls"}));
    let of = |mode| rules(mode, &[]).decide(&request, Some("execute"), Path::new(CWD));
    assert_eq!(of(Mode::Ask), decision(Verdict::Ask, None, "policy: ask"));
    assert_eq!(
        of(Mode::AllowReads),
        decision(Verdict::Ask, None, "policy: allow-reads")
    );
    assert_eq!(
        of(Mode::AllowAll),
        decision(Verdict::Allow, Some("yes"), "policy: allow-all")
    );
    assert_eq!(
        of(Mode::Deny),
        decision(Verdict::Reject, Some("no"), "policy: deny")
    );
    assert_eq!(Policy::default(), rules(Mode::Ask, &[]));
    for mode in Mode::ALL {
        assert_eq!(mode.as_str().parse(), Ok(mode));
    }
    let error = "yolo".parse::<Mode>().unwrap_err().to_string();
    assert_eq!(
        error,
        "`yolo` is no mode of permissions. There are ask, allow-reads, allow-all and deny."
    );
}

#[test]
fn questions_are_for_people_and_plans_for_those_who_allow_all() {
    let any = ["- | ** | - => allow", "- | - | * => allow", "x | - | - => deny"];
    for (mode, ask, expected) in [
        (
            Mode::Ask,
            Ask::Question,
            decision(Verdict::Ask, None, "policy: ask"),
        ),
        (
            Mode::AllowAll,
            Ask::Question,
            decision(Verdict::Ask, None, "policy: allow-all"),
        ),
        (
            Mode::Deny,
            Ask::Question,
            decision(Verdict::Reject, None, "policy: deny"),
        ),
        (Mode::Ask, Ask::Plan, decision(Verdict::Ask, None, "policy: ask")),
        (
            Mode::AllowReads,
            Ask::Plan,
            decision(Verdict::Ask, None, "policy: allow-reads"),
        ),
        (
            Mode::AllowAll,
            Ask::Plan,
            decision(Verdict::Allow, Some("yes"), "policy: allow-all"),
        ),
        (
            Mode::Deny,
            Ask::Plan,
            decision(Verdict::Reject, None, "policy: deny"),
        ),
    ] {
        for kind in [None, Some("x")] {
            let request = asks(ask, json!({"path": "a", "command": "ls"}));
            let decided = rules(mode, &any).decide(&request, kind, Path::new(CWD));
            assert_eq!(decided, expected, "{mode} {ask}");
        }
    }
}

#[test]
fn an_option_is_chosen_that_lasts_no_longer_than_it_must() {
    let chosen = |mode, options: &[(&str, &str)]| {
        let mut request = permission(json!({"path": "a"}));
        request.options = options.iter().map(|(id, kind)| choice(id, kind)).collect();
        let decided = rules(mode, &[]).decide(&request, Some("edit"), Path::new(CWD));
        (decided.verdict, decided.option)
    };
    let allow = |options: &[(&str, &str)]| match chosen(Mode::AllowAll, options) {
        (Verdict::Allow, Some(option)) => option,
        (Verdict::Ask, None) => "asked".to_owned(),
        other => panic!("{other:?}"),
    };
    let reject = |options: &[(&str, &str)]| match chosen(Mode::Deny, options) {
        (Verdict::Reject, option) => option.unwrap_or_else(|| "cancelled".to_owned()),
        other => panic!("{other:?}"),
    };
    let (always, once, session) = (("A", "allow_always"), ("o", "allow_once"), ("s", "allow_session"));
    assert_eq!(allow(&[always, session, once]), "o");
    assert_eq!(allow(&[always, session]), "s");
    assert_eq!(allow(&[always]), "A");
    assert_eq!(allow(&[always, ("B", "allow_always")]), "asked");
    assert_eq!(allow(&[("allow", "-"), ("x", "reject_once")]), "asked");
    assert_eq!(allow(&[]), "asked");
    // An id that two options share could mean either.
    assert_eq!(allow(&[("o", "allow_always"), once, session]), "s");
    let (never, no) = (("N", "reject_always"), ("n", "reject_once"));
    assert_eq!(reject(&[once, never, no]), "n");
    assert_eq!(reject(&[once, never]), "N");
    assert_eq!(reject(&[once, ("reject", "-")]), "cancelled");
}

#[test]
fn a_configuration_that_is_wrong_is_told_with_its_rule() {
    #[derive(Debug, serde::Deserialize)]
    struct File {
        permissions: Policy,
    }
    let good = "decide = 'allow'\nkind = 'read'";
    let says = |rule: &str| {
        let text = format!("[[permissions.rules]]\n{good}\n[[permissions.rules]]\n{rule}\n");
        toml::from_str::<File>(&text).unwrap_err().to_string()
    };
    for (rule, part) in [
        ("decide = 'allow'", "names no `kind`, `path` or `command`"),
        ("kind = 'edit'", "missing field `decide`"),
        ("kind = 'edit'\ndecide = 'maybe'", "unknown variant `maybe`"),
        (
            "kind = 'edit'\ndecide = 'deny'\npaths = 'x'",
            "unknown field `paths`",
        ),
        (
            "path = 'src/{'\ndecide = 'deny'",
            "`src/{` is no pattern of paths",
        ),
        ("path = '~/x'\ndecide = 'deny'", "begins with `~`"),
        ("path = 'a/../b'\ndecide = 'deny'", "holds `..`"),
        ("command = ' '\ndecide = 'deny'", "`command` must not be empty"),
        ("kind = 7\ndecide = 'deny'", "invalid type"),
    ] {
        let error = says(rule);
        assert!(
            error.contains("rule 2 of the permissions: ") && error.contains(part),
            "{error}"
        );
    }
    let error = toml::from_str::<File>("[permissions]\nmode = 'yolo'").unwrap_err();
    assert!(error.to_string().contains("unknown variant `yolo`"), "{error}");
    let error = toml::from_str::<File>("[permissions]\nrule = []").unwrap_err();
    assert!(error.to_string().contains("unknown field `rule`"), "{error}");
    let text = format!("[permissions]\nmode = 'deny'\n[[permissions.rules]]\n{good}");
    let file: File = toml::from_str(&text).unwrap();
    // It is written as it was read.
    assert_eq!(
        policy(&toml::to_string(&file.permissions).unwrap()),
        file.permissions
    );
}

/// All permissions of a recorded agent: title, verdict of each policy.
fn recorded(agent: &str, policies: &[&Policy]) -> Vec<(String, Vec<Verdict>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/recordings")
        .join(agent);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    let mut all = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "jsonl"))
    {
        let mut recording: Recording<Memory, Silent> =
            Recording::new(|hint| Recorder::new(Memory::new(), hint).with_seed("seed."));
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let _ = recording.line(line);
        }
        let recorder = recording.finish();
        for timeline in recorder.store().timelines() {
            let tool = |id| {
                timeline
                    .rows()
                    .iter()
                    .find(|row| row.id == id)
                    .map(|row| row.body.clone())
            };
            for row in timeline.rows() {
                let Body::Request(request) = &row.body else {
                    continue;
                };
                let tool = match request.tool.clone().and_then(tool) {
                    Some(Body::Tool(tool)) => Some(tool),
                    _ => None,
                };
                let asked = Asked {
                    request,
                    tool_kind: tool.as_ref().and_then(|tool| tool.tool_kind.as_deref()),
                    locations: tool.as_ref().map_or(&[][..], |tool| &tool.locations),
                    cwd: Path::new("/work-dir/ws"),
                };
                let verdicts = policies
                    .iter()
                    .map(|policy| policy.decide_asked(asked).verdict)
                    .collect();
                all.push((request.title.clone().unwrap_or_default(), verdicts));
            }
        }
    }
    all
}

#[test]
fn what_real_agents_ask_is_read() {
    let policies = [
        rules(Mode::AllowReads, &[]),
        rules(Mode::Ask, &["edit | *.txt | - => allow"]),
        rules(Mode::Ask, &["- | - | mkdir => allow", "- | - | echo => allow"]),
        rules(Mode::AllowAll, &["- | notes.txt | - => deny"]),
        rules(Mode::AllowAll, &["- | - | rm -rf => deny"]),
    ];
    let policies: Vec<_> = policies.iter().collect();
    let mut told = String::new();
    for agent in [
        "claude",
        "cline",
        "codex",
        "deepagents",
        "fast",
        "gemini",
        "grok",
        "kilo",
        "kimi",
        "opencode",
    ] {
        let asked = recorded(agent, &policies);
        let count = |at: usize, verdict| asked.iter().filter(|(_, v)| v[at] == verdict).count();
        let all = [
            count(0, Verdict::Allow),
            count(1, Verdict::Allow),
            count(2, Verdict::Allow),
            count(3, Verdict::Reject),
            count(4, Verdict::Reject),
        ];
        told.push_str(&format!("{agent} {} {all:?}\n", asked.len()));
        // The recorded lines that begin with a command that is allowed all go on with one that is not.
        for (title, verdicts) in &asked {
            let destroys = title.contains("rm -rf");
            assert!(!destroys || verdicts[4] == Verdict::Reject, "{agent}: {title}");
            assert!(
                !title.contains("notes.txt") || verdicts[3] == Verdict::Reject,
                "{agent}: {title}"
            );
        }
    }
    // Gemini and kimi show no input, so they are refused by their titles and diffs; kimi names no kinds.
    let expected = "\
        claude 15 [0, 5, 0, 4, 3]\n\
        cline 17 [6, 0, 0, 7, 2]\n\
        codex 16 [0, 5, 0, 4, 4]\n\
        deepagents 12 [0, 3, 0, 3, 2]\n\
        fast 14 [3, 3, 0, 6, 2]\n\
        gemini 26 [0, 4, 0, 5, 3]\n\
        grok 19 [0, 0, 0, 0, 0]\n\
        kilo 6 [0, 3, 0, 3, 0]\n\
        kimi 14 [0, 0, 0, 4, 3]\n\
        opencode 16 [0, 5, 0, 4, 3]\n";
    assert_eq!(told, expected);
}
