//! Which rule decides, what a mode says where none does, and which option is chosen.

use std::path::Path;

use serde_json::json;
use tapline_agent::policy::{Mode, Policy, Verdict};
use tapline_timeline::Ask;

use crate::{CWD, asks, choice, decision, permission, policy, rules, verdict};

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
