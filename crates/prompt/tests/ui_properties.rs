//! Laws of the conversions from other forms, for any input: nothing panics, what is valid stays valid,
//! whatever is cut off is read as far as it goes.

use proptest::prelude::*;
use tapline_prompt::from;
use tapline_prompt::json::{Json, Object};
use tapline_prompt::media_type::SupportedUrls;
use tapline_prompt::model_messages::{
    Downloads, Prune, PruneReasoning, PruneTools, ToPrompt, approvals, prune, validate_message,
};
use tapline_prompt::typed::Typed;
use tapline_prompt::types::StreamPart;
use tapline_prompt::ui::{
    self, Chunk, ChunkStream, ChunkStreamOptions, MessageBuilder, ToModelMessages, Validation,
    parse_partial_json, sse,
};

/// Names of members that the forms look for.
const KEYS: &[&str] = &[
    "role",
    "content",
    "parts",
    "type",
    "text",
    "state",
    "input",
    "output",
    "toolCallId",
    "toolName",
    "approval",
    "id",
    "approved",
    "providerMetadata",
    "providerOptions",
    "providerExecuted",
    "data",
    "url",
    "mediaType",
    "value",
    "errorText",
    "delta",
    "messages",
    "system",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "source",
    "image_url",
    "summary",
    "tools",
    "approvalId",
    "image",
    "messageId",
];

/// Values that decide how something is read.
const VALUES: &[&str] = &[
    "user",
    "assistant",
    "system",
    "tool",
    "developer",
    "text",
    "file",
    "reasoning",
    "tool-bash",
    "dynamic-tool",
    "step-start",
    "steering-message",
    "data-x",
    "output-available",
    "output-error",
    "output-denied",
    "input-streaming",
    "approval-requested",
    "approval-responded",
    "tool-call",
    "tool-result",
    "tool-approval-request",
    "tool-approval-response",
    "content",
    "file-url",
    "image-file-id",
    "execution-denied",
    "json",
    "text-start",
    "text-delta",
    "tool-input-start",
    "tool-input-delta",
    "tool-output-available",
    "start",
    "data:,x",
    "data:image/png;base64,iVBORw0K",
    "https://example.com/a.png",
    "c1",
    "image_url",
    "input_text",
    "function_call",
    "function_call_output",
    "message",
    "tool_use",
    "tool_result",
    "thinking",
    "image",
    "base64",
    "{\"a\":1}",
];

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![9 => proptest::sample::select(words).prop_map(str::to_owned), 1 => ".{0,8}"]
}

/// Any JSON, drawn towards what the forms know.
fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        1 => Just(Json::Null),
        1 => any::<bool>().prop_map(Json::from),
        1 => any::<i32>().prop_map(|number| Json::from(i64::from(number))),
        6 => one_of(VALUES).prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            2 => proptest::collection::vec(inner.clone(), 0..5).prop_map(Json::Array),
            3 => proptest::collection::vec((one_of(KEYS), inner), 0..7)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(members.into_iter().collect())
}

/// Messages with a role and something in them.
fn messages(content: &'static str) -> impl Strategy<Value = Vec<Json>> {
    let part = proptest::collection::vec((one_of(KEYS), json()), 0..6).prop_flat_map(|members| {
        one_of(VALUES).prop_map(move |tag| {
            let mut part: Object = members.iter().cloned().collect();
            part.insert("type", tag);
            Json::from(part)
        })
    });
    let parts = prop_oneof![
        8 => proptest::collection::vec(part, 0..4).prop_map(Json::Array),
        1 => json(),
    ];
    let message = (one_of(&["user", "assistant", "tool", "system"]), parts).prop_map(move |(role, parts)| {
        object(vec![("id", "m".into()), ("role", role.into()), (content, parts)])
    });
    proptest::collection::vec(message, 0..5)
}

/// A list of valid UI messages.
fn valid_ui_messages() -> impl Strategy<Value = Json> {
    let text = || ".{0,6}".prop_map(Json::from);
    let call = (one_of(&["c1", "c2"]), text(), any::<bool>(), 0..6_usize).prop_map(
        |(id, value, is_providers, state)| {
            let mut part = vec![
                ("type", Json::from("tool-bash")),
                ("toolCallId", id.into()),
                ("input", value.clone()),
                ("providerExecuted", is_providers.into()),
            ];
            let approval = |approved: Option<bool>| {
                let mut approval = vec![("id", Json::from("a"))];
                approval.extend(approved.map(|approved| ("approved", Json::from(approved))));
                ("approval", object(approval))
            };
            part.extend(match state {
                0 => vec![("state", "input-available".into())],
                1 => vec![("state", "approval-requested".into()), approval(None)],
                2 => vec![
                    ("state", "approval-responded".into()),
                    approval(Some(is_providers)),
                ],
                3 => vec![("state", "output-available".into()), ("output", value)],
                4 => vec![("state", "output-error".into()), ("errorText", value)],
                _ => vec![("state", "output-denied".into()), approval(Some(false))],
            });
            object(part)
        },
    );
    let part = prop_oneof![
        text().prop_map(|text| object(vec![("type", "text".into()), ("text", text)])),
        text().prop_map(|text| object(vec![("type", "reasoning".into()), ("text", text)])),
        Just(object(vec![("type", "step-start".into())])),
        json().prop_map(|data| object(vec![("type", "data-x".into()), ("data", data)])),
        call,
    ];
    let message = (
        one_of(&["user", "assistant", "system"]),
        proptest::collection::vec(part, 1..6),
    )
        .prop_map(|(role, parts)| {
            let role = if ["user", "assistant", "system"].contains(&&*role) {
                role
            } else {
                "user".to_owned()
            };
            object(vec![
                ("id", "m".into()),
                ("role", role.into()),
                ("parts", Json::Array(parts)),
            ])
        });
    proptest::collection::vec(message, 1..4).prop_map(Json::Array)
}

fn to_prompt(messages: &[Json]) {
    let urls = SupportedUrls::default();
    let to_prompt = ToPrompt {
        instructions: None,
        messages,
        supported_urls: &urls,
        provider: Some("openai"),
    };
    if let Ok(converted) = to_prompt.convert(&Downloads::default()) {
        let prompt = converted.prompt.to_json();
        tapline_prompt::types::Prompt::from_value(prompt).expect("what was made is valid");
    }
}

proptest! {
    #[test]
    fn no_json_brings_a_reader_down(json in json()) {
        let _ = ui::validate(Some(&json), &Validation::default());
        let _ = validate_message(&json);
        let _ = Chunk::from_json(&json);
        let _ = from::openai_chat(&json);
        let _ = from::openai_responses(&json);
        let _ = from::anthropic_messages(&json);
    }

    #[test]
    fn no_request_brings_an_import_down_and_what_comes_out_is_valid(list in messages("content"), more in json()) {
        let request = object(vec![
            ("messages", Json::Array(list.clone())),
            ("input", Json::Array(list)),
            ("tools", more.clone()),
            ("tool_choice", more),
        ]);
        for import in [from::openai_chat, from::openai_responses, from::anthropic_messages] {
            match import(&request) {
                Ok(imported) => {
                    let prompt = imported.prompt.to_json();
                    tapline_prompt::types::Prompt::from_value(prompt).expect("what was read is valid");
                }
                Err(faults) => prop_assert!(!faults.is_empty()),
            }
        }
    }

    #[test]
    fn no_messages_bring_a_conversion_down(ui in messages("parts"), model in messages("content")) {
        if let Ok(converted) = ui::to_model_messages(&ui, &ToModelMessages::default()) {
            to_prompt(&converted);
        }
        to_prompt(&model);
        if let Ok(approvals) = approvals::collect(&model) {
            let decided = approvals.decide(None, |_| approvals::Verdict::Deny(None)).expect("nothing to verify");
            let _ = decided.into_message([]);
        }
        let rules = Prune {
            reasoning: PruneReasoning::BeforeLastMessage,
            tool_calls: vec![PruneTools { keep_last: 2, tools: Some(vec!["bash".to_owned()]) }],
            keep_empty_messages: false,
        };
        let pruned = prune(&model, &rules);
        prop_assert!(pruned.len() <= model.len());
        prop_assert_eq!(prune(&pruned, &Prune::default()), pruned);
    }

    #[test]
    fn valid_ui_messages_stay_as_they_are_and_become_valid_model_messages(messages in valid_ui_messages()) {
        let checked = ui::validate(Some(&messages), &Validation::default());
        prop_assert!(checked.is_ok(), "{} {:?}", messages, checked);
        let checked = checked.expect("valid");
        prop_assert_eq!(ui::validate(Some(&Json::Array(checked.clone())), &Validation::default()), Ok(checked.clone()));
        for message in ui::to_model_messages(&checked, &ToModelMessages::default()).expect("convertible") {
            prop_assert!(validate_message(&message).is_ok(), "{}", message);
        }
    }

    #[test]
    fn any_chunks_build_a_message_or_say_why_not(chunks in proptest::collection::vec(json(), 0..12), tags in proptest::collection::vec(one_of(VALUES), 12)) {
        let mut builder = MessageBuilder::new("m");
        for (chunk, tag) in chunks.into_iter().zip(tags) {
            let Json::Object(mut chunk) = chunk else { continue };
            chunk.insert("type", tag);
            for key in ["id", "toolCallId", "toolName", "delta", "inputTextDelta", "errorText"] {
                chunk.insert(key, "c1");
            }
            if let Ok(chunk) = Chunk::from_json(&chunk.into()) {
                let _ = builder.push(&chunk);
            }
        }
        let message = builder.message();
        prop_assert_eq!(message.get("role"), Some(&Json::from("assistant")));
    }

    #[test]
    fn any_stream_parts_become_valid_chunks(parts in proptest::collection::vec((json(), one_of(VALUES)), 0..10)) {
        let mut stream = ChunkStream::new(ChunkStreamOptions { send_sources: true, ..ChunkStreamOptions::default() });
        let mut chunks = Vec::new();
        for (part, tag) in parts {
            let Json::Object(mut part) = part else { continue };
            for (key, value) in [("type", &*tag), ("id", "1"), ("delta", "x"), ("toolCallId", "c1"), ("toolName", "bash")] {
                part.insert(key, value);
            }
            part.insert("input", "{}");
            if let Ok(part) = StreamPart::from_json(part.into()) {
                chunks.extend(stream.push(&part));
            }
        }
        chunks.extend(stream.finish());
        let body: String = chunks.iter().map(sse::frame).collect();
        let read: Result<Vec<Chunk>, _> = sse::Decoder::default().push(body.as_bytes()).into_iter().collect();
        prop_assert_eq!(read, Ok(chunks));
    }

    #[test]
    fn any_bytes_are_read_as_events(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..200_usize) {
        let mut whole = sse::Decoder::default();
        let at_once = whole.push(&bytes);
        let mut pieces = sse::Decoder::default();
        let (head, tail) = bytes.split_at(cut.min(bytes.len()));
        let mut in_pieces = pieces.push(head);
        in_pieces.extend(pieces.push(tail));
        prop_assert_eq!(at_once, in_pieces);
    }

    #[test]
    fn every_beginning_of_an_object_is_read(json in json(), cut in 0..1000_usize) {
        let text = object(vec![("a", json)]).to_js();
        let end = (1..=text.len()).rev().find(|end| *end <= cut.max(1) && text.is_char_boundary(*end)).unwrap_or(1);
        let beginning = parse_partial_json(&text[..end]);
        prop_assert!(beginning.as_ref().is_some_and(|value| value.as_object().is_some()), "{}", &text[..end]);
    }

    #[test]
    fn no_text_brings_the_partial_reader_down(text in "[\\[\\]{}:,\"\\\\a-u0-9 .eE-]{0,40}") {
        let _ = parse_partial_json(&text);
    }
}
