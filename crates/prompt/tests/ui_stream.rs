//! The UI message stream against the recorded vectors.

mod common;

use tapline_prompt::json::{Json, Object};
use tapline_prompt::model_messages::ToolOutcome;
use tapline_prompt::typed::Typed;
use tapline_prompt::types::StreamPart;
use tapline_prompt::ui::{Chunk, ChunkStream, ChunkStreamOptions, Event, MessageBuilder, StreamTool, sse};

fn cases(file: &str) -> Vec<Json> {
    let vector = common::vector(format!("ui-stream/{file}.json"));
    let cases = vector
        .get("cases")
        .and_then(Json::as_array)
        .expect("cases")
        .to_vec();
    assert!(!cases.is_empty());
    cases
}

fn chunks(value: &Json, key: &str) -> Vec<Chunk> {
    let chunks = value.get(key).and_then(Json::as_array).expect("chunks");
    chunks
        .iter()
        .map(|chunk| Chunk::from_json(chunk).unwrap_or_else(|error| panic!("{chunk}: {error}")))
        .collect()
}

fn json_of(chunks: &[Chunk]) -> Json {
    Json::Array(chunks.iter().map(Chunk::to_json).collect())
}

#[test]
fn chunks_are_accepted_and_refused_as_by_the_sdk() {
    for case in cases("chunk-validation") {
        let chunk = case.get("chunk").expect("a chunk");
        let result = Chunk::from_json(chunk);
        assert_eq!(
            Some(result.is_ok()),
            case.get("valid").and_then(Json::as_bool),
            "{chunk}"
        );
        if let Ok(checked) = result {
            assert_eq!(common::difference(chunk, &checked.to_json()), None);
        }
    }
}

#[test]
fn chunks_are_framed_and_read_as_server_sent_events() {
    let vector = common::vector("ui-stream/sse-framing.json");
    let chunks = chunks(&vector, "chunks");
    let body: String = chunks.iter().map(sse::frame).collect::<String>() + sse::DONE;
    assert_eq!(vector.get("body").and_then(Json::as_str), Some(&*body));
    let headers: Object = sse::HEADERS.into_iter().collect();
    assert_eq!(vector.get("headers"), Some(&headers.into()));

    for size in [1, 2, 3, 7, body.len()] {
        let mut decoder = sse::Decoder::default();
        let read: Result<Vec<Chunk>, _> = body
            .as_bytes()
            .chunks(size)
            .flat_map(|bytes| decoder.push(bytes))
            .collect();
        assert_eq!(read.as_ref(), Ok(&chunks), "in pieces of {size}");
    }
}

#[test]
fn events_are_read_whatever_their_line_ends_and_comments() {
    let mut decoder = sse::Decoder::default();
    let stream = "\u{feff}: open\r\rid: 1\r\nevent: x\r\ndata: {\"type\":\r\ndata:\"finish\"}\r\n\r\ndata\n\ndata: {}\n\n";
    let read = decoder.push(stream.as_bytes());
    let kinds: Vec<_> = read
        .iter()
        .map(|chunk| chunk.as_ref().map_or("error", Chunk::kind))
        .collect();
    assert_eq!(kinds, ["finish", "error", "error"]);
    assert_eq!(read[1].as_ref().expect_err("empty").name(), "AI_JSONParseError");
    assert_eq!(
        read[2].as_ref().expect_err("no type").name(),
        "AI_TypeValidationError"
    );
}

/// Builds a message and gives what the client is told: the errors, and the message unless one ended it.
fn build(chunks: &[Chunk]) -> (Option<Json>, Vec<Json>) {
    let mut builder = MessageBuilder::new("");
    let mut errors = Vec::new();
    for chunk in chunks {
        match builder.push(chunk) {
            Ok(Event::Error(text)) => {
                let error = [("name", Json::from("Error")), ("message", text.into())];
                errors.push(Json::Object(error.into_iter().collect()));
            }
            Ok(_) => {}
            Err(error) => {
                let tapline_prompt::error::SdkError::UiMessageStream {
                    chunk_type, chunk_id, ..
                } = &error
                else {
                    panic!("{error}");
                };
                let members = [
                    ("name", Json::from(error.name())),
                    ("message", error.to_string().into()),
                    ("chunkType", chunk_type.as_str().into()),
                    ("chunkId", chunk_id.as_str().into()),
                ];
                errors.push(Json::Object(members.into_iter().collect()));
                return (None, errors);
            }
        }
    }
    (Some(builder.message()), errors)
}

#[test]
fn chunks_become_the_message_of_the_sdk() {
    let mut differences = Vec::new();
    for case in cases("chunks-to-message") {
        let (message, errors) = build(&chunks(&case, "chunks"));
        let want = case.get("message").expect("a message");
        let difference = common::difference(want, &message.unwrap_or_default()).or_else(|| {
            let no_errors = Json::Array(Vec::new());
            common::difference(
                case.get("reportedErrors").unwrap_or(&no_errors),
                &Json::Array(errors),
            )
        });
        differences.extend(
            difference.map(|difference| format!("{}: {difference}", case.get("name").expect("a name"))),
        );
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The parts of a vector. What JavaScript holds as an error object is written as `$error` there.
fn stream_parts(parts: &[Json]) -> Vec<StreamPart> {
    parts
        .iter()
        .map(|part| StreamPart::from_json(part.clone()).unwrap_or_else(|faults| panic!("{part}: {faults}")))
        .collect()
}

#[test]
fn a_model_stream_becomes_the_chunks_of_the_sdk() {
    let mut differences = Vec::new();
    for case in cases("model-stream-to-chunks") {
        let mut stream = ChunkStream::new(ChunkStreamOptions {
            message_id: Some("msg-1".into()),
            send_sources: true,
            ..ChunkStreamOptions::default()
        });
        let parts = stream_parts(case.get("parts").and_then(Json::as_array).expect("parts"));
        let mut chunks: Vec<Chunk> = parts.iter().flat_map(|part| stream.push(part)).collect();
        chunks.extend(stream.finish());
        let difference = common::difference(case.get("chunks").expect("chunks"), &json_of(&chunks));
        differences.extend(
            difference.map(|difference| format!("{}: {difference}", case.get("name").expect("a name"))),
        );
        for chunk in &chunks {
            Chunk::from_json(&chunk.to_json()).expect("what is sent is valid");
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn parse(text: &str) -> Json {
    Json::parse(text).expect("JSON")
}

/// The chunks for parts given as JSON text, without those that frame message and steps.
fn chunks_for(stream: &mut ChunkStream<'_>, parts: &[&str]) -> Vec<String> {
    let parts: Vec<Json> = parts.iter().map(|part| parse(part)).collect();
    stream_parts(&parts)
        .iter()
        .flat_map(|part| stream.push(part))
        .filter(|chunk| !chunk.kind().starts_with("start"))
        .map(|chunk| chunk.to_string())
        .collect()
}

#[test]
fn a_second_step_counts_its_blocks_on() {
    let mut stream = ChunkStream::new(ChunkStreamOptions::default());
    let text = [
        r#"{"type":"text-start","id":"0"}"#,
        r#"{"type":"text-delta","id":"0","delta":"x"}"#,
        r#"{"type":"text-end","id":"0"}"#,
    ];
    assert_eq!(
        chunks_for(&mut stream, &text)[1],
        r#"{"type":"text-delta","id":"0","delta":"x"}"#
    );
    assert_eq!(stream.finish_step().len(), 1);
    assert_eq!(
        chunks_for(&mut stream, &text)[1],
        r#"{"type":"text-delta","id":"0-2","delta":"x"}"#
    );
}

#[test]
fn a_piece_of_a_block_that_never_began_is_reported() {
    let mut stream = ChunkStream::new(ChunkStreamOptions::default());
    assert_eq!(
        chunks_for(&mut stream, &[r#"{"type":"text-delta","id":"9","delta":"x"}"#]),
        [
            r#"{"type":"text-delta","id":"9","delta":"x"}"#,
            r#"{"type":"error","errorText":"An error occurred."}"#
        ]
    );
}

#[test]
fn a_stream_that_says_nothing_ends_with_an_error() {
    let chunks = ChunkStream::new(ChunkStreamOptions::default()).finish();
    let kinds: Vec<_> = chunks.iter().map(Chunk::kind).collect();
    assert_eq!(kinds, ["start", "error"]);
}

#[test]
fn calls_of_known_tools_are_checked_and_answered() {
    let check = |input: &Json| match input.get("cmd") {
        Some(_) => Ok(input.clone()),
        None => Err("no cmd".to_owned()),
    };
    let mut stream = ChunkStream::new(ChunkStreamOptions {
        tools: Some(vec![StreamTool {
            name: "bash".into(),
            title: Some("Run".into()),
            is_dynamic: false,
            check_input: Some(&check),
        }]),
        ..ChunkStreamOptions::default()
    });
    let calls = [
        r#"{"type":"tool-call","toolCallId":"1","toolName":"bash","input":"{\"cmd\":\"ls\"}"}"#,
        r#"{"type":"tool-call","toolCallId":"2","toolName":"bash","input":" "}"#,
        r#"{"type":"tool-call","toolCallId":"3","toolName":"sh","input":"{"}"#,
    ];
    assert_eq!(
        chunks_for(&mut stream, &calls),
        [
            r#"{"type":"tool-input-available","toolCallId":"1","toolName":"bash","input":{"cmd":"ls"},"title":"Run"}"#,
            r#"{"type":"tool-input-error","toolCallId":"2","toolName":"bash","input":" ","errorText":"AI_InvalidToolInputError: Invalid input for tool bash: no cmd","title":"Run"}"#,
            r#"{"type":"tool-input-error","toolCallId":"3","toolName":"sh","input":"{","dynamic":true,"errorText":"AI_NoSuchToolError: Model tried to call unavailable tool 'sh'. Available tools: bash."}"#,
        ]
    );
    let outcome = stream.push_outcome(&"1".into(), &ToolOutcome::Returned(None));
    assert_eq!(
        outcome[0].to_string(),
        r#"{"type":"tool-output-available","toolCallId":"1","output":null}"#
    );
    assert_eq!(
        stream.push_outcome(&"2".into(), &ToolOutcome::Failed("again".into())),
        []
    );
}

#[test]
fn what_is_streamed_can_be_continued_from_a_stored_message() {
    let stored = parse(
        r#"{"id":"m1","role":"assistant","parts":[{"type":"step-start"},
            {"type":"tool-bash","toolCallId":"c","state":"input-streaming","rawInput":"{\"a\""}]}"#,
    );
    let mut builder = MessageBuilder::continuing(&stored, "other");
    let delta = Chunk::parse(r#"{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":":1"}"#)
        .expect("a chunk");
    builder.push(&delta).expect("fits");
    let message = builder.message();
    assert_eq!(message.get("id"), Some(&Json::from("m1")));
    let part = &message.get("parts").and_then(Json::as_array).expect("parts")[1];
    assert_eq!(part.get("input").map(Json::to_js).as_deref(), Some(r#"{"a":1}"#));

    let user = parse(r#"{"id":"u","role":"user","parts":[]}"#);
    let fresh = MessageBuilder::continuing(&user, "m2").message();
    assert_eq!(fresh.to_js(), r#"{"id":"m2","role":"assistant","parts":[]}"#);
}

#[test]
fn a_block_that_begins_again_keeps_what_it_had() {
    let chunks: Vec<Chunk> = [
        r#"{"type":"text-start","id":"1"}"#,
        r#"{"type":"text-delta","id":"1","delta":"a"}"#,
        r#"{"type":"text-start","id":"1"}"#,
        r#"{"type":"text-delta","id":"1","delta":"b"}"#,
        r#"{"type":"start-step"}"#,
        r#"{"type":"reset-step"}"#,
    ]
    .iter()
    .map(|chunk| Chunk::parse(chunk).expect("a chunk"))
    .collect();
    let (message, errors) = build(&chunks);
    assert_eq!(errors, []);
    assert_eq!(
        message.map(|message| message.to_js()).as_deref(),
        Some(
            r#"{"id":"","role":"assistant","parts":[{"type":"text","text":"a","state":"streaming"},{"type":"text","text":"b","state":"streaming"},{"type":"step-start"}]}"#
        )
    );
}

#[test]
fn a_start_with_another_id_begins_another_message() {
    let chunks = [
        r#"{"type":"start","messageId":"m1","messageMetadata":{"a":1}}"#,
        r#"{"type":"data-x","data":1}"#,
        r#"{"type":"start","messageId":"m2"}"#,
    ];
    for (builder, want) in [
        (
            MessageBuilder::new("m0"),
            r#"{"id":"m2","role":"assistant","parts":[]}"#,
        ),
        (
            MessageBuilder::new("m0").keeping_parts(),
            r#"{"id":"m2","metadata":{"a":1},"role":"assistant","parts":[{"type":"data-x","data":1}]}"#,
        ),
    ] {
        let mut builder = builder;
        for chunk in chunks {
            builder
                .push(&Chunk::parse(chunk).expect("a chunk"))
                .expect("fits");
        }
        assert_eq!(builder.message().to_js(), want);
    }
}

#[test]
fn what_a_provider_adds_stays_with_the_first_text_of_a_step() {
    let mut stream = ChunkStream::new(ChunkStreamOptions::default());
    let parts = [
        r#"{"type":"text-start","id":"1"}"#,
        r#"{"type":"text-delta","id":"1","delta":"","providerMetadata":{"a":{"b":1}}}"#,
        r#"{"type":"text-delta","id":"1","delta":"x"}"#,
        r#"{"type":"text-start","id":"2"}"#,
        r#"{"type":"text-delta","id":"2","delta":"y","providerMetadata":{"c":{}}}"#,
        r#"{"type":"text-delta","id":"2","delta":"z"}"#,
    ];
    let deltas: Vec<String> = chunks_for(&mut stream, &parts)
        .into_iter()
        .filter(|chunk| chunk.contains("text-delta"))
        .collect();
    assert_eq!(
        deltas,
        [
            r#"{"type":"text-delta","id":"1","delta":"","providerMetadata":{"a":{"b":1}}}"#,
            r#"{"type":"text-delta","id":"1","delta":"x","providerMetadata":{"a":{"b":1}}}"#,
            r#"{"type":"text-delta","id":"2","delta":"y","providerMetadata":{"c":{}}}"#,
            r#"{"type":"text-delta","id":"2","delta":"z"}"#,
        ]
    );
}

#[test]
fn a_question_about_an_unknown_call_is_an_error() {
    let mut stream = ChunkStream::new(ChunkStreamOptions::default());
    let part = r#"{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}"#;
    assert_eq!(
        chunks_for(&mut stream, &[part]),
        [r#"{"type":"error","errorText":"An error occurred."}"#]
    );
    let end: Vec<String> = stream.finish().iter().map(|chunk| chunk.to_string()).collect();
    assert_eq!(
        end,
        [
            r#"{"type":"finish-step"}"#,
            r#"{"type":"finish","finishReason":"error"}"#
        ]
    );
}
