//! Paths: what is read and written, and where it lies.

use std::path::Path;

use serde_json::{Value, json};
use tapline_agent::policy::{Asked, Mode, Verdict};
use tapline_timeline::{Location, ToolItem, limits};

use crate::{CWD, diff, permission, rules, verdict};

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
