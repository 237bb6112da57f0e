//! Lines, read as frames.

#![allow(
    clippy::unwrap_used,
    reason = "a test that panics has failed, which is what it is for"
)]

use std::borrow::Cow;
use std::collections::HashMap;

use proptest::prelude::*;
use tapline_wire::{Fault, Frame, Id, NotAFrame, OwnedId, Params, TooLongHint, Update, read, value};

fn fault(line: &str) -> NotAFrame {
    match read(line) {
        Err(fault) => fault,
        Ok(frame) => panic!("{line} reads as {frame:?}"),
    }
}

fn update(line: &str) -> Update<'_> {
    match read(line) {
        Ok(Frame::Notification {
            params: Params::Update(update),
            ..
        }) => update,
        other => panic!("{line} reads as {other:?}"),
    }
}

#[test]
fn the_three_kinds_of_frame() {
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}"#;
    let Ok(Frame::Request { id, method, params }) = read(line) else {
        panic!()
    };
    assert_eq!(
        (id, &*method, params.raw().unwrap().get()),
        (Id::Integer(1), "session/prompt", r#"{"sessionId":"s"}"#)
    );

    let line = r#"{"jsonrpc":"2.0","method":"session/cancel"}"#;
    let Ok(Frame::Notification {
        method,
        params: Params::None,
    }) = read(line)
    else {
        panic!()
    };
    assert_eq!(method, "session/cancel");

    let line = r#" {"jsonrpc" : "2.0" , "id" : "a" , "result" : null } "#;
    let Ok(Frame::Answer {
        id,
        outcome: Ok(result),
    }) = read(line)
    else {
        panic!()
    };
    assert_eq!((id, result.get()), (Id::from("a"), "null"));
}

#[test]
fn a_null_id_makes_a_request() {
    let line = r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#;
    assert!(matches!(read(line), Ok(Frame::Request { id: Id::Null, .. })));
}

#[test]
fn what_is_no_frame_is_named() {
    assert_eq!(fault(""), NotAFrame::Blank);
    assert_eq!(fault(" \t\r"), NotAFrame::Blank);
    for line in [
        "[boot] ready",
        "{",
        "{}x",
        r#"{"a":1,}"#,
        r#"{"a" 1}"#,
        "{'a':1}",
        "\"open",
        r#"{"a":"\q"}"#,
    ] {
        assert_eq!(fault(line), NotAFrame::NotJson, "{line}");
    }
    for line in [
        "\u{1}",
        "{\"a\":\"tab\there\"}",
        "nul",
        "1 2",
        r#"{"jsonrpc":"2.0","method":"a\u12"}"#,
    ] {
        assert_eq!(fault(line), NotAFrame::NotJson, "{line}");
    }
    for line in [
        "42",
        "\"ready\"",
        "null",
        "[1,2,3]",
        r#"[{"jsonrpc":"2.0","method":"m"}]"#,
        "  true ",
    ] {
        assert_eq!(fault(line), NotAFrame::NotAnObject, "{line}");
    }
    for line in [
        "{}",
        r#"{"id":2,"result":1}"#,
        r#"{"jsonrpc":"1.0","method":"m"}"#,
        r#"{"jsonrpc":2.0,"id":1}"#,
    ] {
        assert_eq!(fault(line), NotAFrame::NoVersion, "{line}");
    }
}

#[test]
fn a_broken_envelope_says_what_is_wrong_and_who_waits_for_it() {
    let table = [
        (r#"{"jsonrpc":"2.0"}"#, Fault::NoMeaning, None),
        (
            r#"{"jsonrpc":"2.0","id":7}"#,
            Fault::NoMeaning,
            Some(Id::Integer(7)),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"result":1,"error":2}"#,
            Fault::ResultAndError,
            Some(Id::Integer(7)),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"m","result":1}"#,
            Fault::MethodAndAnswer,
            None,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"m","error":{}}"#,
            Fault::MethodAndAnswer,
            None,
        ),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, Fault::Method, None),
        (r#"{"jsonrpc":"2.0","id":[7],"result":1}"#, Fault::Id, None),
        (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, Fault::Id, None),
        (r#"{"jsonrpc":"2.0","result":1}"#, Fault::AnswerWithoutId, None),
    ];
    for (line, expected, stranded) in table {
        let NotAFrame::Envelope(envelope) = fault(line) else {
            panic!("{line} has another fault")
        };
        assert_eq!(
            (envelope.fault, envelope.stranded_call()),
            (expected, stranded.as_ref()),
            "{line}"
        );
    }
    let shown = fault(r#"{"jsonrpc":"2.0","id":"a\"b","method":"m","result":1}"#);
    assert_eq!(
        shown.to_string(),
        r#"the frame has a method and also a result or an error (id "a\"b") (method m)"#
    );
    assert_eq!(shown.name(), "envelope-method-and-answer");
}

#[test]
fn a_member_that_is_null_does_not_make_an_answer_ambiguous() {
    let line = r#"{"jsonrpc":"2.0","id":1,"result":{"a":1},"error":null}"#;
    assert!(
        matches!(read(line), Ok(Frame::Answer { outcome: Ok(result), .. }) if result.get() == r#"{"a":1}"#)
    );
    let line = r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-1,"message":"no"}}"#;
    assert!(matches!(read(line), Ok(Frame::Answer { outcome: Err(error), .. }) if error.message == "no"));
}

#[test]
fn only_a_whole_error_carries_words() {
    let table = [
        (
            r#"{"code":-32603,"message":"Internal error","data":{"details":"x"}}"#,
            true,
            -32603,
            "Internal error",
        ),
        (r#"{"message":"m","code":5.0}"#, true, 5, "m"),
        (r#"{"code":"5","message":"m"}"#, false, 0, "m"),
        (r#"{"code":1.5,"message":"m"}"#, false, 0, "m"),
        (r#"{"code":1}"#, false, 1, ""),
        (r#""text""#, false, 0, ""),
        ("null", false, 0, ""),
    ];
    for (source, readable, code, message) in table {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{source}}}"#);
        let Ok(Frame::Answer {
            outcome: Err(error), ..
        }) = read(&line)
        else {
            panic!("{line}")
        };
        assert_eq!(
            (error.readable, error.code, &*error.message),
            (readable, code, message),
            "{source}"
        );
        assert_eq!(error.raw.get(), source);
    }
}

#[test]
fn ids_are_exact() {
    let id = |source: &str| -> OwnedId {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{source},"result":1}}"#);
        match read(&line) {
            Ok(Frame::Answer { id, .. }) => id.into_owned(),
            other => panic!("{other:?}"),
        }
    };
    let spellings = [
        "1",
        "\"1\"",
        "1.0",
        "1e0",
        "0",
        "-0",
        "null",
        "\"\"",
        "9223372036854775807",
        "9223372036854775808",
    ];
    let mut waiting: HashMap<OwnedId, &str> = HashMap::new();
    for spelling in spellings {
        assert_eq!(id(spelling).to_string(), spelling);
        assert_eq!(serde_json::to_string(&id(spelling)).unwrap(), spelling);
        assert_eq!(
            waiting.insert(id(spelling), spelling),
            None,
            "{spelling} is some other id"
        );
    }
    for spelling in spellings {
        assert_eq!(waiting.get(&id(spelling)), Some(&spelling));
    }
    let borrowed = String::from("1");
    assert_eq!(waiting.get(&Id::from(&*borrowed)), Some(&"\"1\""));
    assert_eq!(id(r#""a\nb""#), Id::from("a\nb"));
    assert_eq!(id(r#""a\nb""#).to_string(), r#""a\nb""#);
}

#[test]
fn the_order_of_the_members_means_nothing() {
    let update_member =
        r#""update":{"content":{"type":"text","text":"hi"},"sessionUpdate":"agent_message_chunk"}"#;
    let params = format!(r#""params":{{{update_member},"sessionId":"s"}}"#);
    for line in [
        format!(r#"{{"jsonrpc":"2.0","method":"session/update",{params}}}"#),
        format!(r#"{{{params},"method":"session/update","jsonrpc":"2.0"}}"#),
        format!(r#"{{"method":"session\/update",{params},"jsonrpc":"2.0","_meta":{{}}}}"#),
    ] {
        let update = update(&line);
        assert!(
            matches!(update.session_id, Some(Cow::Borrowed("s"))),
            "{update:?}"
        );
        assert!(
            matches!(update.kind, Some(Cow::Borrowed("agent_message_chunk"))),
            "{update:?}"
        );
        assert_eq!(
            update.fields.content.unwrap().get(),
            r#"{"type":"text","text":"hi"}"#
        );
        assert_eq!(
            format!(r#""update":{}"#, update.raw_update().unwrap().get()),
            update_member
        );
        assert_eq!(
            format!(r#""params":{}"#, update.raw_params().unwrap().get()),
            params
        );
    }
}

#[test]
fn of_two_members_with_one_name_the_last_counts() {
    let update = update(concat!(
        r#"{"jsonrpc":"1.0","jsonrpc":"2.0","method":"m","method":"session/update","params":5,"params":{"#,
        r#""sessionId":"a","sessionId":"b","update":{"sessionUpdate":"x","title":"old","toolCallId":"t"},"#,
        r#""update":{"sessionUpdate":"y","kind":"a","kind":null}}}"#
    ));
    assert_eq!(
        (update.session_id.as_deref(), update.kind.as_deref()),
        (Some("b"), Some("y"))
    );
    assert_eq!((update.fields.kind, update.fields.tool_call_id), (None, None));
    assert!(update.fields.title.is_absent());

    let line = concat!(
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"},"#,
        r#""method":"vendor/note"}"#
    );
    let Ok(Frame::Notification {
        params: Params::Other(raw),
        ..
    }) = read(line)
    else {
        panic!()
    };
    assert_eq!(raw.get(), r#"{"sessionId":"s"}"#);
}

#[test]
fn an_update_without_its_objects_is_still_a_frame() {
    for params in ["null", "[]", "\"text\"", "5"] {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#);
        let Ok(Frame::Notification {
            params: Params::Other(raw),
            ..
        }) = read(&line)
        else {
            panic!("{line}")
        };
        assert_eq!(raw.get(), params);
    }
    for inner in ["null", "[]", "5", "{}"] {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"update":{inner}}}}}"#);
        let update = update(&line);
        assert_eq!((&update.session_id, &update.kind), (&None, &None));
        assert_eq!(
            update.raw_params().unwrap().get(),
            format!(r#"{{"update":{inner}}}"#)
        );
        assert_eq!(update.members().count(), 0);
    }
}

#[test]
fn null_and_the_wrong_type_read_as_absent_except_where_null_says_something() {
    let update = update(concat!(
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":7,"_meta":null,"update":{"#,
        r#""sessionUpdate":"u","title":null,"description":"d","updatedAt":5,"kind":null,"status":4,"messageId":12,"#,
        r#""toolCallId":{},"rawInput":null,"rawOutput":false,"content":[null],"summary":null,"mine":{"a":null}}}}"#
    ));
    // Some agents count their messages and sessions; a number names something too.
    assert_eq!(
        (update.session_id.as_deref(), update.fields.message_id.as_deref()),
        (Some("7"), Some("12"))
    );
    assert!(update.meta.is_none() && update.fields.raw_input.is_none());
    assert!(update.fields.title.is_null() && update.fields.summary.is_null());
    assert_eq!(update.fields.description.as_deref(), Some("d"));
    assert!(update.fields.updated_at.is_absent());
    assert_eq!(
        (update.fields.kind.clone(), update.fields.status.clone()),
        (None, None)
    );
    assert_eq!(update.fields.tool_call_id, None);
    assert_eq!(update.fields.raw_output.map(|raw| raw.get()), Some("false"));
    assert_eq!(update.fields.content.map(|raw| raw.get()), Some("[null]"));
    assert_eq!(update.member("mine").unwrap().get(), r#"{"a":null}"#);
    assert_eq!(
        value::path(update.raw_params().unwrap(), &["update", "mine", "a"])
            .unwrap()
            .get(),
        "null"
    );
}

#[test]
fn nesting_of_any_depth_is_only_data() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(50_000), "}".repeat(50_000));
    for value in [&deep, &objects] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"update":{{"rawInput":{value},"kind":"k"}}}}}}"#
        );
        let update = update(&line);
        assert_eq!(update.fields.raw_input.unwrap().get(), *value);
        assert_eq!(update.fields.kind.as_deref(), Some("k"));
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{value}}}"#);
        assert!(matches!(read(&line), Ok(Frame::Answer { outcome: Ok(_), .. })));
    }
    assert_eq!(fault(&deep), NotAFrame::NotAnObject);
}

#[test]
fn half_a_surrogate_pair_is_replaced_and_costs_no_frame() {
    let update = update(concat!(
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s\ud83d","\udead":1,"update":{"#,
        r#""sessionUpdate":"u","title":"\ud83d\ude80 a\ud83db\ude80\ud83d\u0041","kind":"\/\b\f\r\t\"\\"}}}"#
    ));
    assert_eq!(update.session_id.as_deref(), Some("s\u{fffd}"));
    assert_eq!(
        update.fields.title.as_deref(),
        Some("🚀 a\u{fffd}b\u{fffd}\u{fffd}A")
    );
    assert_eq!(update.fields.kind.as_deref(), Some("/\u{8}\u{c}\r\t\"\\"));
}

#[test]
fn the_start_of_a_line_says_who_waits_for_it() {
    use TooLongHint::{Answer, MaybeAnswer, Nothing, Request};
    let (one, five) = (Id::Integer(1), Id::Integer(5));
    let table = [
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"fs/write_text_file","params":{"content":"xxx"#,
            Request {
                id: five.clone(),
                method: "fs/write_text_file".into(),
            },
        ),
        (
            r#"{"id":"5","method":"m","params":["#,
            Request {
                id: Id::from("5"),
                method: "m".into(),
            },
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"result":{"text":"xxx"#,
            Answer { id: five.clone() },
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"error":{"#,
            Answer { id: five.clone() },
        ),
        (
            r#"{"jsonrpc":"2.0","result":{"done":true},"id":1,"_meta":"xx"#,
            Answer { id: one },
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"_meta":"xxx"#,
            MaybeAnswer { id: Some(five) },
        ),
        // The id stands behind the result, and may be any.
        (
            r#"{"jsonrpc":"2.0","result":{"text":"xxx"#,
            MaybeAnswer { id: None },
        ),
        // The cut may have gone through the id.
        (r#"{"jsonrpc":"2.0","result":1,"id":5"#, MaybeAnswer { id: None }),
        (
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"#,
            Nothing {
                method: Some("session/update".into()),
            },
        ),
        (r#"{"jsonrpc":"1.0","id":5,"result":{"#, Nothing { method: None }),
        (r#"{"id":5,"msg":"a long text in a log"#, Nothing { method: None }),
        (r#"{"jsonrpc":"2.0","#, Nothing { method: None }),
        ("DEBUG {\"id\":5", Nothing { method: None }),
        ("[{\"id\":5", Nothing { method: None }),
        ("", Nothing { method: None }),
    ];
    for (prefix, hint) in table {
        assert_eq!(TooLongHint::read(prefix), hint, "{prefix}");
    }
}

/// Any JSON value.
fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<u64>().prop_map(Into::into),
        any::<i32>().prop_map(|eighths| (f64::from(eighths) / 8.0).into()),
        ".{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            prop::collection::vec((".{0,6}", inner), 0..5)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The invariant *no input panics*, on lines that are close to frames.
    #[test]
    fn no_line_panics(
        cut in any::<prop::sample::Index>(), byte in any::<u8>(), at in any::<prop::sample::Index>(), value in json(),
    ) {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":"\u00e9\ud83d","method":"session/update","params":{{"sessionId":"s","update":{value}}}}}"#
        );
        let mut bytes = line.clone().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = read(&String::from_utf8_lossy(&bytes));
        bytes.truncate(cut.index(line.len()));
        let cut = String::from_utf8_lossy(&bytes);
        prop_assert!(read(&cut).is_err());
        let _ = TooLongHint::read(&cut);
    }

    #[test]
    fn no_text_panics(line in "\\PC{0,40}") {
        prop_assert!(read(&line).is_err());
        let _ = TooLongHint::read(&line);
    }

    /// What `serde_json` takes for JSON is JSON here too, and the other way round.
    #[test]
    fn json_is_what_serde_json_says_it_is(value in json(), at in any::<prop::sample::Index>(), byte in b' '..=b'~') {
        let mut line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{value},"a":"\u0041"}}"#);
        let at = at.index(line.len());
        if line.is_char_boundary(at) && line.is_char_boundary(at + 1) {
            line.replace_range(at..=at, char::from(byte).encode_utf8(&mut [0; 4]));
        }
        let theirs = serde_json::from_str::<&tapline_wire::RawValue>(&line).is_ok();
        prop_assert_eq!(!matches!(read(&line), Err(NotAFrame::NotJson)), theirs, "{}", line);
    }

    /// The readers of values give what a full parse gives.
    #[test]
    fn values_read_as_serde_json_reads_them(value in json()) {
        let source = serde_json::to_string_pretty(&value).unwrap();
        let raw: &tapline_wire::RawValue = serde_json::from_str(&source).unwrap();
        let text = value::text(raw);
        prop_assert_eq!(text.as_deref(), value.as_str());
        prop_assert_eq!(value::bool(raw), value.as_bool());
        prop_assert_eq!(value::is_null(raw), value.is_null());
        prop_assert_eq!(value::f64(raw), value.as_f64());
        if value.is_u64() || !value.is_number() {
            prop_assert_eq!(value::u64(raw), value.as_u64());
        }
        if value.is_i64() || !value.is_number() {
            prop_assert_eq!(value::i64(raw), value.as_i64());
        }
        let items: Vec<serde_json::Value> =
            value::array(raw).map(|item| serde_json::from_str(item.get()).unwrap()).collect();
        prop_assert_eq!(&items, &value.as_array().cloned().unwrap_or_default());
        let members: serde_json::Map<_, _> = value::members(raw)
            .map(|(name, value)| (name.into_owned(), serde_json::from_str(value.get()).unwrap()))
            .collect();
        prop_assert_eq!(&members, &value.as_object().cloned().unwrap_or_default());
        for (name, member) in &members {
            let found = value::member(raw, name).map(|raw| serde_json::from_str::<serde_json::Value>(raw.get()).unwrap());
            prop_assert_eq!(found.as_ref(), Some(member));
        }
    }

    /// The invariant *the order of members means nothing*.
    #[test]
    fn members_read_the_same_in_any_order(
        values in prop::collection::vec(json(), 12), order in Just((0..12).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        const NAMES: [&str; 12] = [
            "sessionUpdate", "content", "messageId", "toolCallId", "title", "kind", "status", "rawInput", "updatedAt",
            "summary", "_meta", "vendor_member",
        ];
        let line = |order: &mut dyn Iterator<Item = usize>| {
            let members: Vec<_> = order.map(|at| format!(r#""{}":{}"#, NAMES[at], values[at])).collect();
            let members = members.join(",");
            format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"update":{{{members}}}}}}}"#)
        };
        let (in_order, shuffled) = (line(&mut (0..12)), line(&mut order.into_iter()));
        let (in_order, shuffled) = (update(&in_order), update(&shuffled));
        prop_assert_eq!(&in_order.kind, &shuffled.kind);
        prop_assert_eq!(format!("{:?}", in_order.fields), format!("{:?}", shuffled.fields));
        let vendor = |update: &Update<'_>| update.member("vendor_member").map(|raw| raw.get().to_owned());
        prop_assert_eq!(vendor(&in_order), vendor(&shuffled));
    }

    #[test]
    fn escaped_text_reads_as_it_was_meant(text in any::<String>()) {
        let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let source = format!("\"{escaped}\"");
        let raw: &tapline_wire::RawValue = serde_json::from_str(&source).unwrap();
        prop_assert_eq!(value::text(raw), Some(text.as_str().into()));
        let source = serde_json::to_string(&text).unwrap();
        let raw: &tapline_wire::RawValue = serde_json::from_str(&source).unwrap();
        prop_assert_eq!(value::text(raw), Some(text.into()));
    }
}

#[test]
fn several_members_are_picked_in_one_walk() {
    let raw: &tapline_wire::RawValue = serde_json::from_str(r#"{"a":1,"\u0062":null,"a":2,"d":{}}"#).unwrap();
    let picked = value::pick(raw, ["d", "c", "b", "a"]).map(|member| member.map(|raw| raw.get()));
    assert_eq!(picked, [Some("{}"), None, Some("null"), Some("2")]);
    assert_eq!(value::member(raw, "a").map(|raw| raw.get()), Some("2"));
}

#[test]
fn numbers_are_whole_however_they_are_spelled() {
    let table = [
        ("5", Some(5), Some(5)),
        ("5.0", Some(5), Some(5)),
        ("5e0", Some(5), Some(5)),
        ("5E+2", Some(500), Some(500)),
        ("-5", None, Some(-5)),
        ("-0.0", Some(0), Some(0)),
        ("5.5", None, None),
        ("\"5\"", None, None),
        ("null", None, None),
        ("true", None, None),
        ("18446744073709551615", Some(u64::MAX), None),
        ("18446744073709551616", None, None),
        ("-9223372036854775808", None, Some(i64::MIN)),
        ("1e400", None, None),
    ];
    for (source, unsigned, signed) in table {
        let raw: &tapline_wire::RawValue = serde_json::from_str(source).unwrap();
        assert_eq!((value::u64(raw), value::i64(raw)), (unsigned, signed), "{source}");
    }
}
