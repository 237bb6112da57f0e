//! Masking before translating and masking after it agree: a row's text is what the rules make of what was said, however it
//! was cut into chunks and whatever stood between them.

use proptest::prelude::*;
use serde_json::json;
use tapline_recorder::{Direction, Memory, Recorder, default_rules};
use tapline_timeline::Body;

const SAID: &[&str] = &[
    "The token is in the file; I will not print it. ",
    "export DEPLOY_TOKEN=not-a-real-token-1111222233334444\n",
    "Authorization: Bearer not-a-real-bearer-9999000011112222\n",
    "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB is a key, ",
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789 too. ",
    "postgres://app:not-a-real-password@db.example.test/app ",
    "Ünïcödé → stays as it is, so do max_tokens = 1234 and tokens.\n",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nqhkiG9w0\n-----END PRIVATE KEY-----\n",
    "s",
    "sk",
    "sk-",
    "password: ",
    "key",
    "=",
];

fn line(recorder: &mut Recorder<Memory>, direction: Direction, frame: serde_json::Value) {
    recorder.line("", direction, &frame.to_string(), None);
}

fn update(recorder: &mut Recorder<Memory>, update: serde_json::Value) {
    let params = json!({"sessionId": "s", "update": update});
    line(
        recorder,
        Direction::In,
        json!({"jsonrpc": "2.0", "method": "session/update", "params": params}),
    );
}

/// What the rows of a turn say, if `text` comes in pieces cut at `cuts`, with usage between some of them.
fn rows(text: &str, cuts: &[usize]) -> String {
    let mut recorder = Recorder::new(Memory::new(), None);
    let prompt = json!({"sessionId": "s", "prompt": [{"type": "text", "text": "Hi"}]});
    line(
        &mut recorder,
        Direction::Out,
        json!({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": prompt}),
    );
    let mut at: Vec<usize> = cuts.iter().map(|c| c % (text.len() + 1)).collect();
    at.extend([0, text.len()]);
    at.sort_unstable();
    at.dedup();
    at.retain(|c| text.is_char_boundary(*c));
    for (n, pair) in at.windows(2).enumerate() {
        let piece = &text[pair[0]..pair[1]];
        let content = json!({"type": "text", "text": piece});
        update(
            &mut recorder,
            json!({"sessionUpdate": "agent_message_chunk", "content": content}),
        );
        if n % 3 == 1 {
            update(
                &mut recorder,
                json!({"sessionUpdate": "usage_update", "used": n, "size": 1000}),
            );
        }
    }
    line(
        &mut recorder,
        Direction::In,
        json!({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}),
    );
    recorder.close();
    assert_eq!(recorder.unaccounted(), 0);
    let rows = recorder.store().timelines()[0].rows();
    rows.iter()
        .filter_map(|row| match &row.body {
            Body::Assistant(message) => Some(message.content.as_text()),
            _ => None,
        })
        .collect()
}

proptest! {
    #[test]
    fn masked_before_and_after_translating_agree_however_text_is_cut(
        pieces in prop::collection::vec(prop::sample::select(SAID), 1..8),
        cuts in prop::collection::vec(0usize..4096, 0..40),
    ) {
        let text: String = pieces.concat();
        let said = rows(&text, &cuts);
        let masked = default_rules().mask(&text).into_owned();
        // Text without a word in it makes no row.
        if !masked.trim().is_empty() {
            prop_assert_eq!(&said, &masked, "{:?} cut at {:?}", text, cuts);
        }
        prop_assert!(!said.contains("not-a-real-"));
    }

    #[test]
    fn a_tools_output_is_masked_as_its_text_is(pieces in prop::collection::vec(prop::sample::select(SAID), 1..8)) {
        let text: String = pieces.concat();
        let mut recorder = Recorder::new(Memory::new(), None);
        let prompt = json!({"sessionId": "s", "prompt": []});
        line(&mut recorder, Direction::Out, json!({"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": prompt}));
        let content = json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        update(&mut recorder, json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "cat", "status": "completed", "content": content}));
        recorder.close();
        let rows = recorder.store().timelines()[0].rows();
        let shown = rows.iter().find_map(|row| match &row.body {
            Body::Tool(tool) => Some(tool.content.clone()),
            _ => None,
        });
        let expected = vec![tapline_timeline::ToolItem::Text { text: default_rules().mask(&text).into_owned() }];
        prop_assert_eq!(shown, Some(expected));
    }
}
