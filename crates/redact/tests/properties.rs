//! What holds for every text, however it is cut.

use std::borrow::Cow;

use proptest::{prelude::*, sample::select};
use tapline_redact::{MAX_HELD, Rules, SHAPES, StreamMask, replace_string};

/// Pieces that the rules look for, and what commonly stands between them.
const PIECES: &[&str] = &[
    "token",
    "API_TOKEN",
    "apiKey",
    "API_KEY",
    "password",
    "DB_PASS",
    "secret",
    "Authorization",
    "Cookie",
    "Bearer ",
    "Basic ",
    "dXNlcjpwYXNz",
    "dXNlcjpwYXNzd29yZA",
    "signature",
    "encrypted_content",
    "max_tokens",
    "nextToken",
    "--",
    "-",
    "--api-key ",
    "export ",
    "=",
    ":",
    ": ",
    " = ",
    "=>",
    ":=",
    "==",
    "::",
    "\"",
    "\\\"",
    "\\\\\\\"",
    "'",
    "`",
    "\\",
    "\\n",
    "\n",
    "\r\n",
    " ",
    "\t",
    ",",
    ";",
    "&",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    ">",
    "$",
    "@",
    "://",
    "https://",
    "postgres://u:",
    "/",
    ".",
    "…",
    "é",
    "😀",
    "→",
    "\u{1b}[32m",
    "\u{1b}[",
    "\u{1b}",
    "abc",
    "hunter2",
    "x9f8e7d6c5",
    "A1B2C3D4E5F6G7H8",
    "abcdefghijklmnopqrst",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
    "1234",
    "eyJ",
    "eyJhbGciOiJIUzI1NiJ9",
    ".eyJzdWIiOiIxMjM0NTY3ODkwIn0",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN ",
    "PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "-----END ",
    "-----",
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
    "Proc-Type: 4,ENCRYPTED\n",
    "[redacted:secret]",
    "[redacted:",
    "a=b",
    "hooks.slack.com/services/",
    "correct horse",
    " battery",
    "correct",
    "os.getenv(",
    "process.env.X",
    "xxxxxxxx",
    "required",
    "the word ",
    "s",
    "sk",
    "g",
    "h",
    "A",
    "_",
    "u00",
    "\u{0}",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => select(PIECES).prop_map(str::to_owned),
        2 => select(SHAPES).prop_map(|shape| shape.opening.to_owned()),
        1 => "[a-zA-Z0-9]{1,30}",
        1 => "[A-Za-z0-9+/]{90,700}",
        1 => any::<char>().prop_map(String::from),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat()), 1 => any::<String>()]
}

/// A failure prints its case; the seed of a run is told by proptest itself, and no file is written for it.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// The text in pieces: cut after these many characters each, in turn.
fn cut(text: &str, lengths: &[usize]) -> Vec<String> {
    let mut chars = text.chars();
    let mut chunks = Vec::new();
    for length in lengths.iter().cycle() {
        let chunk: String = chars.by_ref().take(*length).collect();
        if chunk.is_empty() && *length > 0 {
            break;
        }
        chunks.push(chunk);
    }
    chunks
}

fn stream(mask: &mut StreamMask, chunks: &[String]) -> String {
    let mut out = String::new();
    for chunk in chunks {
        out.push_str(&mask.push(chunk));
        assert!(mask.held() <= MAX_HELD, "{} bytes are held back", mask.held());
    }
    out.push_str(&mask.finish());
    assert_eq!(mask.held(), 0);
    out
}

fn all_rules() -> [Rules; 2] {
    [
        Rules::new(),
        Rules::new().with_secrets([
            "correct horse battery",
            "correct horse \"é\" staple",
            "12345678",
            "1234567890",
        ]),
    ]
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let key = prop_oneof![
        3 => select(vec!["name", "value", "key", "type", "data", "text", "token", "DEPLOY_TOKEN", "password", "Authorization", "Cookie",
            "signature", "encrypted_content", "hostname", "progressToken", "args", "env"]).prop_map(str::to_owned),
        1 => text(),
    ];
    let string = prop_oneof![
        4 => text(),
        1 => select(vec!["API_KEY", "--api-key", "reasoning.encrypted", "asked_allowed"]).prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        string.prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<bool>().prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// The shape of a value: what a reader that ignores its strings sees. Private members may become null.
fn structure(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Array(items) => {
            format!("[{}]", items.iter().map(structure).collect::<Vec<_>>().join(","))
        }
        serde_json::Value::Object(members) => {
            format!(
                "{{{}}}",
                members.values().map(structure).collect::<Vec<_>>().join(",")
            )
        }
        serde_json::Value::String(_) => "s".to_owned(),
        _ => "n".to_owned(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_stream_lets_out_what_the_whole_becomes(text in text(), lengths in prop::collection::vec(1usize..9, 1..6)) {
        for rules in all_rules() {
            let mut mask = rules.stream();
            prop_assert_eq!(stream(&mut mask, &cut(&text, &lengths)), rules.mask(&text));
            // After its end a stream begins anew.
            prop_assert_eq!(stream(&mut mask, std::slice::from_ref(&text)), rules.mask(&text));
        }
    }

    #[test]
    fn masking_twice_changes_nothing_more(text in text()) {
        for rules in all_rules() {
            let once = rules.mask(&text).into_owned();
            prop_assert_eq!(rules.mask(&once), once.as_str(), "from {:?}", text);
        }
    }

    #[test]
    fn the_fast_look_misses_nothing(text in text()) {
        let rules = Rules::new();
        // A stream has no fast look.
        let slow = stream(&mut rules.stream(), std::slice::from_ref(&text));
        prop_assert_eq!(rules.mask(&text), slow.as_str());
        let line = serde_json::Value::from(text.as_str()).to_string();
        let masked: String = serde_json::from_str(&rules.mask_json(&line)).unwrap();
        prop_assert_eq!(masked, slow);
    }

    #[test]
    fn json_stays_json(value in json(), keep in text()) {
        for rules in all_rules() {
            let rules = rules.with_private_members(["hostname"]);
            let line = value.to_string();
            let masked = rules.mask_json(&line);
            let read: serde_json::Value = serde_json::from_str(&masked).unwrap();
            // A key that is itself a secret may meet another such key.
            if !masked.contains("[redacted") || structure(&read).len() == structure(&value).len() {
                prop_assert_eq!(structure(&read), structure(&value));
            }
            prop_assert_eq!(rules.mask_json(&masked), masked.as_ref(), "from {}", line);
            if let Some(at) = line.find("\"text\":\"") {
                let at = at + 7;
                let mut strings = serde_json::Deserializer::from_str(&line[at..]).into_iter::<&serde_json::value::RawValue>();
                let raw = strings.next().unwrap().unwrap().get();
                let around = rules.mask_json_around(&line, at..at + raw.len(), &keep);
                serde_json::from_str::<serde_json::Value>(&around).unwrap();
                let replaced = replace_string(&line, at..at + raw.len(), &keep);
                serde_json::from_str::<serde_json::Value>(&replaced).unwrap();
            }
        }
    }

    #[test]
    fn no_line_makes_it_panic(line in text(), junk in "[\\[\\]{}\",:\\\\u0-9a-f \n]{0,80}") {
        for rules in all_rules() {
            let rules = rules.with_private_members(["hostname"]);
            rules.mask_json(&line);
            rules.mask_json(&junk);
            let both = format!("{{\"token\":\"{junk}{line}");
            rules.mask_json(&both);
        }
    }

    #[test]
    fn a_key_block_of_any_length_is_masked_in_any_pieces(lines in 1usize..80, lengths in prop::collection::vec(1usize..700, 1..4)) {
        let text = format!(
            "a\n-----BEGIN EC PRIVATE KEY-----\n{}-----END EC PRIVATE KEY-----\nb",
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(lines)
        );
        let out = stream(&mut Rules::new().stream(), &cut(&text, &lengths));
        prop_assert_eq!(out, "a\n[redacted:private-key]\nb");
    }
}

#[test]
fn every_single_cut_gives_the_same() {
    let rules = Rules::new();
    let text = format!(
        "HOST=x\nAPI_TOKEN=abcdwxyz\nsay {}{} and https://u:pw@h/p \"token\": \"a b\" Bearer abcdef0123456789, é end",
        "ghp_", "A1B2C3D4E5F6G7H8J9K0"
    );
    let whole = rules.mask(&text);
    for first in text.char_indices().map(|(at, _)| at) {
        let chunks = [text[..first].to_owned(), text[first..].to_owned()];
        assert_eq!(stream(&mut rules.stream(), &chunks), whole, "cut at {first}");
    }
}

#[test]
fn prose_passes_at_once() {
    let mut mask = Rules::new().stream();
    for chunk in [
        "The", " token", " in", " the", " file", " is", " out", " of", " date", ".", "\n\nAPI_", "KEY", "=",
        "\"",
    ] {
        assert!(
            matches!(mask.push(chunk), Cow::Borrowed(out) if out == chunk),
            "{chunk:?} is held back"
        );
    }
    // What could be a vendor's opening, or a value, waits for the next piece only.
    assert_eq!(mask.push("abcdefgh"), "");
    assert_eq!(mask.push("\" n"), "[redacted:secret]\" ");
    assert_eq!(mask.push("ot"), "not");
    assert!(mask.has_masked());
    assert_eq!(mask.finish(), "");
}

#[test]
fn the_most_is_held_where_the_rules_look_farthest() {
    let user = "u".repeat(280);
    let mut mask = Rules::new().stream();
    mask.push("https://");
    mask.push(&user);
    assert!(
        mask.held() > 256 && mask.held() <= MAX_HELD,
        "{} bytes are held back",
        mask.held()
    );
    // Longer than any user and password that are looked for.
    assert_eq!(mask.push(&user), format!("://{user}{user}"));
    assert_eq!(mask.held(), 0);
}
