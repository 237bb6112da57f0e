//! Lines of JSON: names, pairs, private members, and what stays.

use std::borrow::Cow;

use tapline_redact::{MAX_DEPTH, MAX_PRIVATE_NAME, MAX_PRIVATE_NAMES, Rules, replace_string};

/// Lines, and what they become.
const LINES: &[(&str, &str)] = &[
    // By the member's name.
    (
        r#"{"env":{"DEPLOY_TOKEN":"not-a-real-token"}}"#,
        r#"{"env":{"DEPLOY_TOKEN":"[redacted:secret]"}}"#,
    ),
    (
        r#"{"token" : "abc" , "n":1}"#,
        r#"{"token" : "[redacted:secret]" , "n":1}"#,
    ),
    (
        r#"{"password":"a\"b","apiKey":"xy"}"#,
        r#"{"password":"[redacted:password]","apiKey":"[redacted:secret]"}"#,
    ),
    (
        r#"{"Authorization":"Bearer abc"}"#,
        r#"{"Authorization":"[redacted:authorization]"}"#,
    ),
    (
        r#"{"Set-Cookie":["a=b","c=d"]}"#,
        r#"{"Set-Cookie":["[redacted:cookie]","[redacted:cookie]"]}"#,
    ),
    (r#"{"\u0074oken":"abc"}"#, r#"{"\u0074oken":"[redacted:secret]"}"#),
    // By the name beside it, in any order.
    (
        r#"{"env":[{"name":"API_KEY","value":"abc"},{"name":"LANG","value":"C"}]}"#,
        r#"{"env":[{"name":"API_KEY","value":"[redacted:secret]"},{"name":"LANG","value":"C"}]}"#,
    ),
    (
        r#"{"headers":[{"value":"Bearer abcdefgh12345678","name":"Authorization"}]}"#,
        r#"{"headers":[{"value":"[redacted:authorization]","name":"Authorization"}]}"#,
    ),
    // By the flag before it.
    (
        r#"{"args":["--port","1","--api-key","abc","x"]}"#,
        r#"{"args":["--port","1","--api-key","[redacted:secret]","x"]}"#,
    ),
    (
        r#"{"args":["--api-key",1,"abc"]}"#,
        r#"{"args":["--api-key",1,"abc"]}"#,
    ),
    (
        r#"{"args":["--token=abcdwxyz"]}"#,
        r#"{"args":["--token=[redacted:secret]"]}"#,
    ),
    // Text within strings, also JSON within JSON within JSON.
    (
        r#"{"text":"A=1\nAPI_TOKEN=abcdwxyz\nB=2"}"#,
        r#"{"text":"A=1\nAPI_TOKEN=[redacted:secret]\nB=2"}"#,
    ),
    (
        r#"{"out":"{\"token\":\"abc\",\"n\":1}"}"#,
        r#"{"out":"{\"token\":\"[redacted:secret]\",\"n\":1}"}"#,
    ),
    (
        r#"{"out":"{\"in\":\"{\\\"token\\\":\\\"abc\\\",\\\"n\\\":1}\"}"}"#,
        r#"{"out":"{\"in\":\"{\\\"token\\\":\\\"[redacted:secret]\\\",\\\"n\\\":1}\"}"}"#,
    ),
    (
        r#"{"t":"API_TOKEN\u003dabcdwxyz"}"#,
        r#"{"t":"API_TOKEN=[redacted:secret]"}"#,
    ),
    (
        r#"{"t":"https:\/\/u:pw@h\/"}"#,
        r#"{"t":"https://u:[redacted:url-password]@h/"}"#,
    ),
    (r#"["API_TOKEN=abcdwxyz"]"#, r#"["API_TOKEN=[redacted:secret]"]"#),
    // Private members.
    (
        r#"{"signature":"abc","n":1}"#,
        r#"{"signature":"[redacted:private]","n":1}"#,
    ),
    (
        r#"{"thoughtSignature":"abc"}"#,
        r#"{"thoughtSignature":"[redacted:private]"}"#,
    ),
    (
        r#"{"encrypted_content":"abc"}"#,
        r#"{"encrypted_content":"[redacted:private]"}"#,
    ),
    (
        r#"{"encryptedContent":["abc",1]}"#,
        r#"{"encryptedContent":["[redacted:private]",1]}"#,
    ),
    (
        r#"{"type":"redacted_thinking","data":"abc"}"#,
        r#"{"type":"redacted_thinking","data":"[redacted:private]"}"#,
    ),
    (
        r#"{"data":"abc","type":"reasoning.encrypted","id":"x"}"#,
        r#"{"data":"[redacted:private]","type":"reasoning.encrypted","id":"x"}"#,
    ),
    // No JSON, so text.
    (r#"{"token":"abc"#, r#"{"token":"[redacted:secret]"#),
    ("[info] API_TOKEN=abcdwxyz", "[info] API_TOKEN=[redacted:secret]"),
];

#[test]
fn lines_are_masked_and_otherwise_stay_as_they_are() {
    let rules = Rules::new();
    for (line, expected) in LINES {
        assert_eq!(rules.mask_json(line), *expected);
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let rules = Rules::new();
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"0198-aa","prompt":[{"type":"text","text":"hi"}]}}"#,
        r#"{"_meta":{"progressToken":"abc-123","promptId":"p-1","messageId":"m-1","tokenUsage":{"inputTokens":12}}}"#,
        r#"{"usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3,"max_tokens":"4096","nextPageToken":"abc"}}"#,
        r#"{"authMethods":[{"id":"xai.api_key","name":"xai.api_key","description":"An API key"}]}"#,
        r#"{"authorization":"asked_allowed"}"#,
        r#"{"token":"","password":null,"secret":true,"apiKey":{"type":"string"},"api_key":"${API_KEY}"}"#,
        r#"{"name":"token","value":1}"#,
        r#"{"signature":"","encrypted_content":null}"#,
        r#"{"type":"image","data":"aGVsbG8="}"#,
        r#"{"text":"The token in the file is out of date. \u001b[32mok\u001b[0m"}"#,
    ] {
        assert!(
            matches!(rules.mask_json(line), Cow::Borrowed(_)),
            "{line} became {}",
            rules.mask_json(line)
        );
    }
}

#[test]
fn a_dialects_private_members_are_never_kept() {
    let rules = Rules::new().with_private_members(["hostname", "pid", "ключ"]);
    let line = r#"{"hostname":"box","pid":23151,"x":{"hostname":{"a":["b",1,null,true]}},"\u043a\u043b\u044e\u0447":"a","n":"box"}"#;
    assert_eq!(
        rules.mask_json(line),
        r#"{"hostname":"[redacted:private]","pid":null,"x":{"hostname":{"a":["[redacted:private]",null,null,null]}},"\u043a\u043b\u044e\u0447":"[redacted:private]","n":"box"}"#
    );
    assert_eq!(Rules::new().mask_json(line), line);
    // More can be added, and what was named stays named.
    let more = rules.with_private_members(["n"]).with_secrets(["swordfish"]);
    assert!(
        more.mask_json(r#"{"n":"box","pid":1}"#)
            .starts_with(r#"{"n":"[redacted:private]","pid":null}"#)
    );
}

#[test]
fn private_names_are_bounded() {
    let long = "n".repeat(MAX_PRIVATE_NAME + 1);
    let rules = Rules::new().with_private_members([&long]);
    let line = format!(r#"{{"{long}":"x"}}"#);
    assert_eq!(rules.mask_json(&line), line);
    let rules = Rules::new().with_private_members((0..MAX_PRIVATE_NAMES + 1).map(|n| format!("name{n}")));
    let last = MAX_PRIVATE_NAMES - 1;
    assert_eq!(
        rules.mask_json(&format!(r#"{{"name{last}":"x"}}"#)),
        format!(r#"{{"name{last}":"[redacted:private]"}}"#)
    );
    let beyond = format!(r#"{{"name{MAX_PRIVATE_NAMES}":"x"}}"#);
    assert_eq!(rules.mask_json(&beyond), beyond);
}

#[test]
fn names_count_down_to_the_deepest_level_and_text_below_it() {
    let rules = Rules::new();
    let nest = |depth: usize, inner: &str| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
    let named = r#"{"token":"two words"}"#;
    assert!(
        rules
            .mask_json(&nest(MAX_DEPTH - 1, named))
            .contains("[redacted:secret]")
    );
    assert!(rules.mask_json(&nest(MAX_DEPTH, named)).contains("two words"));
    let text = r#"{"a":"API_TOKEN=abcdwxyz"}"#;
    assert!(
        rules
            .mask_json(&nest(10 * MAX_DEPTH, text))
            .contains("API_TOKEN=[redacted:secret]")
    );
    // What comes after the deep part is followed again.
    let line = format!("[{},{named}]", nest(MAX_DEPTH, "1"));
    assert!(
        rules
            .mask_json(&line)
            .ends_with(r#",{"token":"[redacted:secret]"}]"#)
    );
}

#[test]
fn a_piece_of_a_stream_takes_its_place_and_the_rest_is_masked() {
    let rules = Rules::new();
    let line = r#"{"token":"abc","text":"sword","m":"API_TOKEN=abcdwxyz"}"#;
    let at = line.find(r#""sword""#).unwrap();
    let at = at..at + r#""sword""#.len();
    assert_eq!(
        rules.mask_json_around(line, at.clone(), "API_TOKEN=x9 \"\n"),
        r#"{"token":"[redacted:secret]","text":"API_TOKEN=x9 \"\n","m":"API_TOKEN=[redacted:secret]"}"#
    );
    assert_eq!(
        replace_string(line, at, "a\"b"),
        r#"{"token":"abc","text":"a\"b","m":"API_TOKEN=abcdwxyz"}"#
    );
}
