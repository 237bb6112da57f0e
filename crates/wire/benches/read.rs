//! What reading costs, beside two other ways to read the same lines: the bare envelope with a derived reader of
//! `serde_json`, and the typed notification of `agent-client-protocol-schema`.
//!
//! `cargo bench -p tapline-wire`

use agent_client_protocol_schema::v1::SessionNotification;
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use serde::Deserialize;
use serde_json::value::RawValue;
use tapline_wire::{Block, Frame, Line, LineReader, Params, ToolContent, read};

fn main() {
    divan::main();
}

const LINES: usize = 1000;

/// Streamed words, as most frames are: about 200 bytes, one in eight with an escape in it.
fn chunks() -> Vec<String> {
    (0..LINES)
        .map(|index| {
            let text = if index % 8 == 0 { "line\\n" } else { " quite ordinary words" };
            format!(
                concat!(
                    r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"01a228d4-ad0c-73c1-a875-ad7dbc6e95a9","#,
                    r#""update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{}"}}}}}}}}"#
                ),
                text
            )
        })
        .collect()
}

/// Results of tools with about 2 KB of output.
fn tool_results() -> Vec<String> {
    let output = "fn value() -> u32 {\\n    1 // one\\n}\\n".repeat(50);
    (0..LINES)
        .map(|index| {
            format!(
                concat!(
                    r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"01a228d4-ad0c-73c1-a875-ad7dbc6e95a9","#,
                    r#""update":{{"sessionUpdate":"tool_call_update","toolCallId":"call_{}","status":"completed","#,
                    r#""content":[{{"type":"content","content":{{"type":"text","text":"{}"}}}}],"rawOutput":{{"exitCode":0}}}}}}}}"#
                ),
                index, output
            )
        })
        .collect()
}

fn bench(bencher: Bencher<'_, '_>, lines: Vec<String>, mut each: impl FnMut(&str)) {
    let bytes: usize = lines.iter().map(String::len).sum();
    bencher
        .counter(ItemsCount::new(lines.len()))
        .counter(BytesCount::new(bytes))
        .bench_local(|| {
            for line in &lines {
                each(black_box(line));
            }
        });
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is read is dropped")]
struct Envelope<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is read is dropped")]
struct Typed<'a> {
    jsonrpc: &'a str,
    method: &'a str,
    params: SessionNotification,
}

mod chunk {
    use super::*;

    #[divan::bench]
    fn tapline(bencher: Bencher<'_, '_>) {
        bench(bencher, chunks(), |line| {
            black_box(read(line)).expect("a frame");
        });
    }

    #[divan::bench]
    fn tapline_with_content(bencher: Bencher<'_, '_>) {
        bench(bencher, chunks(), |line| {
            let Ok(Frame::Notification {
                params: Params::Update(update),
                ..
            }) = read(line)
            else {
                return;
            };
            black_box(update.fields.content.and_then(Block::read)).expect("a block");
        });
    }

    #[divan::bench]
    fn envelope_only(bencher: Bencher<'_, '_>) {
        bench(bencher, chunks(), |line| {
            black_box(serde_json::from_str::<Envelope<'_>>(line)).expect("a frame");
        });
    }

    #[divan::bench]
    fn schema_crate(bencher: Bencher<'_, '_>) {
        bench(bencher, chunks(), |line| {
            black_box(serde_json::from_str::<Typed<'_>>(line)).expect("a frame");
        });
    }
}

mod tool {
    use super::*;

    #[divan::bench]
    fn tapline(bencher: Bencher<'_, '_>) {
        bench(bencher, tool_results(), |line| {
            black_box(read(line)).expect("a frame");
        });
    }

    #[divan::bench]
    fn tapline_with_content(bencher: Bencher<'_, '_>) {
        bench(bencher, tool_results(), |line| {
            let Ok(Frame::Notification {
                params: Params::Update(update),
                ..
            }) = read(line)
            else {
                return;
            };
            black_box(update.fields.content.map(ToolContent::read_all)).expect("content");
        });
    }

    #[divan::bench]
    fn envelope_only(bencher: Bencher<'_, '_>) {
        bench(bencher, tool_results(), |line| {
            black_box(serde_json::from_str::<Envelope<'_>>(line)).expect("a frame");
        });
    }

    #[divan::bench]
    fn schema_crate(bencher: Bencher<'_, '_>) {
        bench(bencher, tool_results(), |line| {
            black_box(serde_json::from_str::<Typed<'_>>(line)).expect("a frame");
        });
    }
}

/// Cutting a stream into lines, in reads of 64 KiB.
#[divan::bench]
fn framing(bencher: Bencher<'_, '_>) {
    let stream = chunks().join("\n");
    bencher
        .counter(ItemsCount::new(LINES))
        .counter(BytesCount::new(stream.len()))
        .bench_local(|| {
            let (mut reader, mut bytes) = (LineReader::new(), 0);
            for part in stream.as_bytes().chunks(64 << 10) {
                reader.push(black_box(part), |line| match line {
                    Line::Text(text) => bytes += text.len(),
                    Line::TooLong { .. } => {}
                });
            }
            bytes
        });
}
