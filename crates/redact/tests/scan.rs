//! Planted things are found in every wrapping, and what is harmless is not.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use tapline_redact::{Found, Kind, MAX_EXCERPT, MAX_FINDINGS, MAX_WRAPPINGS, Rules, Wrapping};

/// Things to plant, and as what they are found.
fn planted() -> Vec<(&'static str, String, Found)> {
    let key = format!("{}{}", "ghp_", "A1B2C3D4E5F6G7H8J9K0L1M2");
    vec![
        (
            "a vendor's key",
            format!("see {key} there"),
            Found::Secret(Kind::VendorKey),
        ),
        (
            "a named token",
            "API_TOKEN=not-a-real-token-1".to_owned(),
            Found::Secret(Kind::Secret),
        ),
        (
            "a home folder",
            "in /home/jdoe/project/a".to_owned(),
            Found::HomeFolder,
        ),
        (
            "a home folder on a Mac",
            "in /Users/jdoe/project".to_owned(),
            Found::HomeFolder,
        ),
        (
            "a home folder on Windows",
            "in C:\\Users\\jdoe\\project".to_owned(),
            Found::HomeFolder,
        ),
        (
            "a mail address",
            "by jane.doe@company.io, today".to_owned(),
            Found::MailAddress,
        ),
        (
            "a machine",
            "on janes-laptop.local, today".to_owned(),
            Found::HostName,
        ),
        (
            "a machine by its member",
            "{\"hostname\":\"jbox17\"}".to_owned(),
            Found::HostName,
        ),
        (
            "a signature",
            format!("{{\"signature\":\"{}\"}}", "EqQBCkYIBxgC".repeat(3)),
            Found::Signature,
        ),
    ]
}

fn wrap(wrapping: Wrapping, text: &str) -> String {
    match wrapping {
        Wrapping::Json => format!("{{\"text\":{}}}", serde_json::Value::from(text)),
        Wrapping::Percent => {
            let escaped: String = text.bytes().map(|b| format!("%{b:02X}")).collect();
            format!("GET /x?q={escaped}&n=1")
        }
        Wrapping::Base64 => format!("data:text/plain;base64,{};", STANDARD.encode(text)),
        Wrapping::Bytes => {
            let bytes: Vec<String> = text.bytes().map(|b| b.to_string()).collect();
            format!("{{\"data\":[{}]}}", bytes.join(", "))
        }
        other => panic!("{other:?} has no form here"),
    }
}

const ALL: [Wrapping; 4] = [
    Wrapping::Json,
    Wrapping::Percent,
    Wrapping::Base64,
    Wrapping::Bytes,
];

fn finds(text: &str, found: Found) -> bool {
    Rules::new()
        .scan(text)
        .iter()
        .any(|finding| finding.found == found)
}

#[test]
fn planted_things_are_found_bare_wrapped_and_wrapped_twice() {
    for (what, text, found) in planted() {
        assert!(finds(&text, found), "{what}, bare");
        for outer in ALL {
            let once = wrap(outer, &text);
            assert!(finds(&once, found), "{what}, in {outer:?}: {once}");
            for inner in ALL {
                let twice = wrap(outer, &wrap(inner, &text));
                assert!(finds(&twice, found), "{what}, in {inner:?} in {outer:?}: {twice}");
            }
        }
    }
}

#[test]
fn a_finding_says_what_and_where_and_in_what() {
    let inner = "by jane.doe@company.io";
    let text = format!(
        "first line\n{}",
        wrap(Wrapping::Base64, &wrap(Wrapping::Bytes, inner))
    );
    let findings = Rules::new().scan(&text);
    let [finding] = findings.as_slice() else {
        panic!("{findings:?}")
    };
    assert_eq!(finding.text, "jane.doe@company.io");
    assert_eq!(finding.through, [Wrapping::Base64, Wrapping::Bytes]);
    assert_eq!(finding.at, text.find("base64,").unwrap() + 7);
    assert_eq!(
        finding.to_string(),
        format!(
            "mail address at byte {}: jane.doe@company.io, in Base64, in an array of bytes",
            finding.at
        )
    );
}

#[test]
fn base64_of_addresses_is_read_too() {
    let text = format!(
        "https://example.test/{}",
        URL_SAFE_NO_PAD.encode("??>> in /home/jdoe/x ~~~")
    );
    assert!(finds(&text, Found::HomeFolder));
}

#[test]
fn secrets_beside_their_names_in_json_are_found() {
    let rules = Rules::new()
        .with_private_members(["pid_name"])
        .with_secrets(["swordfish-of-mine"]);
    let text = "{\"a\":1}\n{\"env\":[{\"name\":\"API_KEY\",\"value\":\"two words\"}]}\n{\"pid_name\":\"x1\"}\nswordfish-of-mine";
    let found: Vec<_> = rules
        .scan(text)
        .iter()
        .map(|finding| (finding.found, finding.at))
        .collect();
    let line = |words: &str| text.find(words).unwrap();
    assert_eq!(
        found,
        [
            (Found::Secret(Kind::Secret), line("{\"env\"")),
            (Found::Secret(Kind::Private), line("{\"pid_name\"")),
            (Found::Secret(Kind::Known), line("swordfish")),
        ]
    );
}

#[test]
fn harmless_text_has_no_findings() {
    for text in [
        "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"0198c5a2-1c2d-7e3f-8a4b-5c6d7e8f9a0b\"}}",
        "mail someone@example.com or a@b.example.test, clone git@host.dev:x/y",
        "edit .claude/settings.local.json and .env.local",
        "{\"hostname\":\"localhost\",\"signature\":\"[redacted:private]\"}",
        "[1, 2, 3, 4, 5, 6, 7, 8, 9]",
        "/home is a folder, /project/home/x too, 100% sure, 50%25",
        "sha 0123456789abcdef0123456789abcdef01234567",
        "npm i left-pad@1.3.0 @types/node@22.0.0",
    ] {
        assert_eq!(Rules::new().scan(text), [], "{text}");
    }
}

#[test]
fn wrappings_beyond_the_limit_are_not_looked_through() {
    let mut text = "in /home/jdoe/x".to_owned();
    for _ in 0..MAX_WRAPPINGS {
        text = STANDARD.encode(&text);
    }
    assert!(finds(&text, Found::HomeFolder));
    assert!(!finds(&STANDARD.encode(&text), Found::HomeFolder));
}

#[test]
fn a_scan_that_reaches_a_limit_says_so() {
    let many: String = (0..MAX_FINDINGS + 1).map(|n| format!("/home/user{n} ")).collect();
    let findings = Rules::new().scan(&many);
    assert_eq!(findings.len(), MAX_FINDINGS);
    assert_eq!(
        findings.last().map(|finding| finding.found),
        Some(Found::Unfinished)
    );
    let exact: String = (0..MAX_FINDINGS).map(|n| format!("/home/user{n} ")).collect();
    assert!(
        Rules::new()
            .scan(&exact)
            .iter()
            .all(|finding| finding.found == Found::HomeFolder)
    );
    let long = format!("/home/{}", "u".repeat(2 * MAX_EXCERPT));
    assert_eq!(Rules::new().scan(&long)[0].text.len(), MAX_EXCERPT);
}
