//! Laws that hold for any input: reading never panics, what is valid survives, everything converts.

use proptest::prelude::*;
use tapline_prompt::check::Checks;
use tapline_prompt::json::{Json, Object};
use tapline_prompt::providers::{Call, Profile, TARGETS};
use tapline_prompt::typed::Typed;
use tapline_prompt::types::{CallOptions, GenerateResult, Prompt, StreamPart};

/// Keys and tags that steer generated JSON towards what the types look for.
const WORDS: &[&str] = &[
    "role",
    "content",
    "type",
    "text",
    "file",
    "data",
    "url",
    "reference",
    "mediaType",
    "input",
    "output",
    "value",
    "toolCallId",
    "toolName",
    "providerOptions",
    "openai",
    "user",
    "assistant",
    "tool",
    "system",
    "tool-call",
    "tool-result",
    "reasoning",
    "reasoning-file",
    "custom",
    "kind",
    "json",
    "error-text",
    "$bytes",
    "cacheControl",
    "signature",
    "thoughtSignature",
    "cachePoint",
    "0",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![3 => proptest::sample::select(WORDS).prop_map(str::to_owned), 1 => ".{0,12}"]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>()
            .prop_filter("JSON has no infinities", |n| n.is_finite())
            .prop_map(|n| format!("{n:e}")),
        (0_u32..1000, 0_u32..100).prop_map(|(a, b)| format!("-{a}.{b}0")),
    ]
}

/// Any JSON text without duplicate keys.
fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number().prop_map(|text| Json::parse(&text).expect("a JSON number")),
        word().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            proptest::collection::vec((word(), inner), 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(members.into_iter().collect())
}

/// Members that no type knows, and provider options, on anything.
fn with_more(base: impl Strategy<Value = Json>) -> impl Strategy<Value = Json> {
    let options = proptest::collection::vec(
        (
            proptest::sample::select(
                &[
                    "openai",
                    "anthropic",
                    "xai",
                    "deepseek",
                    "openaiCompatible",
                    "google",
                    "amazonBedrock",
                    "cohere",
                    "acme",
                ][..],
            ),
            proptest::collection::vec((word(), json()), 0..3),
        ),
        0..3,
    );
    (base, proptest::option::of(options), proptest::option::of(json())).prop_map(
        |(base, options, unknown)| {
            let Json::Object(mut base) = base else { return base };
            if let Some(unknown) = unknown {
                base.insert("unknownToUs", unknown);
            }
            if let Some(options) = options {
                let options: Object = options
                    .into_iter()
                    .map(|(name, members)| (name, members.into_iter().collect::<Object>()))
                    .collect();
                base.insert("providerOptions", options);
            }
            base.into()
        },
    )
}

fn text_part() -> impl Strategy<Value = Json> {
    ".{0,20}".prop_map(|text| object(vec![("type", "text".into()), ("text", text.into())]))
}

fn data(with_all: bool) -> impl Strategy<Value = Json> {
    let inline = prop_oneof![
        "[A-Za-z0-9+/=_-]{0,40}".prop_map(Json::from),
        proptest::collection::vec(any::<u8>(), 0..30)
            .prop_map(|bytes| Json::Array(bytes.into_iter().map(|byte| usize::from(byte).into()).collect()))
            .prop_map(|bytes| object(vec![("type", "Buffer".into()), ("data", bytes)])),
    ]
    .prop_map(|data| object(vec![("type", "data".into()), ("data", data)]));
    let url = proptest::sample::select(
        &[
            "https://example.com/a b",
            "gs://B/x",
            "data:text/plain,hi",
            "HTTP://E.com",
        ][..],
    )
    .prop_map(|url| object(vec![("url", url.into()), ("type", "url".into())]));
    let reference = proptest::sample::select(&["openai", "xai", "acme"][..]).prop_map(|provider| {
        object(vec![
            ("type", "reference".into()),
            ("reference", object(vec![(provider, "id".into())])),
        ])
    });
    let text = ".{0,10}".prop_map(|text| object(vec![("type", "text".into()), ("text", text.into())]));
    if with_all {
        prop_oneof![inline, url, reference, text].boxed()
    } else {
        prop_oneof![inline, url].boxed()
    }
}

fn media_type() -> impl Strategy<Value = Json> {
    proptest::sample::select(
        &[
            "image/png",
            "image/*",
            "image",
            "application/pdf",
            "audio/wav",
            "text/plain",
            "*/*",
            "",
        ][..],
    )
    .prop_map(Json::from)
}

fn file_part(tag: &'static str, with_all: bool) -> impl Strategy<Value = Json> {
    (media_type(), data(with_all)).prop_map(move |(media_type, data)| {
        object(vec![
            ("mediaType", media_type),
            ("type", tag.into()),
            ("data", data),
        ])
    })
}

fn output() -> impl Strategy<Value = Json> {
    let scalar = |tag: &'static str| {
        ".{0,10}".prop_map(move |value| object(vec![("type", tag.into()), ("value", value.into())]))
    };
    let any_value = |tag: &'static str| {
        json().prop_map(move |value| object(vec![("type", tag.into()), ("value", value)]))
    };
    let item = with_more(prop_oneof![
        text_part(),
        file_part("file", true),
        Just(object(vec![("type", "custom".into())])),
    ]);
    prop_oneof![
        with_more(scalar("text")),
        with_more(scalar("error-text")),
        with_more(any_value("json")),
        with_more(any_value("error-json")),
        with_more(Just(object(vec![("type", "execution-denied".into())]))),
        proptest::collection::vec(item, 0..4)
            .prop_map(|items| object(vec![("type", "content".into()), ("value", Json::Array(items))])),
    ]
}

/// Names of tools, also of those that providers run themselves.
fn tool_name() -> impl Strategy<Value = Json> {
    proptest::sample::select(
        &[
            "t",
            "code_execution",
            "web_search",
            "web_fetch",
            "tool_search_tool_bm25",
            "advisor",
            "__proto__",
            "",
        ][..],
    )
    .prop_map(Json::from)
}

fn tool_result() -> impl Strategy<Value = Json> {
    (word(), tool_name(), output()).prop_map(|(id, name, output)| {
        object(vec![
            ("type", "tool-result".into()),
            ("toolCallId", id.into()),
            ("toolName", name),
            ("output", output),
        ])
    })
}

fn tool_call() -> impl Strategy<Value = Json> {
    (word(), tool_name(), proptest::option::of(json()), any::<bool>()).prop_map(
        |(id, name, input, by_provider)| {
            let mut call = vec![
                ("type", "tool-call".into()),
                ("toolName", name),
                ("toolCallId", id.into()),
            ];
            call.extend(input.map(|input| ("input", input)));
            if by_provider {
                call.push(("providerExecuted", true.into()));
            }
            object(call)
        },
    )
}

fn message() -> impl Strategy<Value = Json> {
    let with_role = |role: &'static str, parts: BoxedStrategy<Json>| {
        proptest::collection::vec(with_more(parts), 0..4)
            .prop_map(move |content| object(vec![("role", role.into()), ("content", Json::Array(content))]))
    };
    let reasoning =
        ".{0,10}".prop_map(|text| object(vec![("type", "reasoning".into()), ("text", text.into())]));
    let custom = Just(object(vec![
        ("type", "custom".into()),
        ("kind", "openai.compaction".into()),
    ]));
    let approval = any::<bool>().prop_map(|approved| {
        object(vec![
            ("type", "tool-approval-response".into()),
            ("approvalId", "a".into()),
            ("approved", approved.into()),
        ])
    });
    with_more(prop_oneof![
        ".{0,10}".prop_map(|text| object(vec![("role", "system".into()), ("content", text.into())])),
        with_role("user", prop_oneof![text_part(), file_part("file", true)].boxed()),
        with_role(
            "assistant",
            prop_oneof![
                text_part(),
                reasoning,
                custom,
                tool_call(),
                tool_result(),
                file_part("file", true),
                file_part("reasoning-file", false),
            ]
            .boxed()
        ),
        with_role("tool", prop_oneof![tool_result(), approval].boxed()),
    ])
}

fn prompt() -> impl Strategy<Value = Json> {
    proptest::collection::vec(message(), 0..6).prop_map(Json::Array)
}

/// What export makes of bytes: their base64.
fn exported(value: &Json) -> Json {
    match value {
        Json::Object(object) => {
            // Only where bytes can stand: the data of inline file data.
            let is_inline = object.get("type").and_then(Json::as_str) == Some("data");
            Json::Object(
                object
                    .iter()
                    .map(|(key, value)| match value.get("type").and_then(Json::as_str) {
                        Some("Buffer") if is_inline && key == "data" => {
                            let bytes = value.get("data").and_then(Json::as_array).unwrap_or_default();
                            let bytes: Vec<u8> = bytes
                                .iter()
                                .filter_map(|byte| Some(byte.as_number()?.as_i64()? as u8))
                                .collect();
                            (key, Json::from(tapline_prompt::base64::encode(&bytes)))
                        }
                        _ => (key, exported(value)),
                    })
                    .collect(),
            )
        }
        Json::Array(items) => Json::Array(items.iter().map(exported).collect()),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_never_panics_on_any_text(text in ".{0,200}") {
        let _ = Json::parse(&text);
        let _ = Prompt::parse(&text);
    }

    #[test]
    fn validation_never_panics_on_any_json(value in json()) {
        if let Err(faults) = Prompt::from_value(value.clone()) {
            prop_assert!(!faults.is_empty());
            prop_assert!(faults.iter().all(|fault| fault.path.to_string().starts_with("prompt")));
        }
        let _ = CallOptions::from_json(value.clone());
        let _ = GenerateResult::from_json(value.clone());
        let _ = StreamPart::from_json(value);
    }

    #[test]
    fn json_text_survives(value in json()) {
        let text = value.to_source();
        prop_assert_eq!(Json::parse(&text).expect("our own text").to_source(), text);
        let js = value.to_js();
        prop_assert_eq!(Json::parse(&js).expect("our own text").to_js(), js);
    }

    #[test]
    fn a_valid_prompt_survives(value in prompt()) {
        let typed = Prompt::from_value(value.clone());
        prop_assert!(typed.is_ok(), "{}", typed.unwrap_err());
        let typed = typed.expect("checked above");
        prop_assert_eq!(typed.to_json().to_source(), exported(&value).to_source());
        let _ = Checks::all().run(&typed);
    }

    #[test]
    fn every_prompt_converts_everywhere_to_a_body_or_a_named_error(
        value in prompt(),
        model in proptest::sample::select(&["m", "claude-sonnet-5-5", "gemini-3-pro-preview", "gemma-3", "mistral.x"][..]),
    ) {
        let prompt = Prompt::from_value(value).expect("a valid prompt");
        for target in TARGETS {
            for profile in [Profile::Exact, Profile::Fixed] {
                let (settings, options) = (Object::new(), CallOptions::new());
                let call = Call { model, settings: &settings, prompt: &prompt, options: &options, profile };
                match target.convert(&call) {
                    Ok(conversion) => {
                        let text = conversion.to_json().to_js();
                        prop_assert!(Json::parse(&text).is_ok(), "{}", text);
                    }
                    Err(error) => prop_assert!(!error.name().is_empty() && !error.to_string().is_empty()),
                }
            }
        }
    }
}
