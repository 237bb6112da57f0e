//! What masking costs on text and frames that hold no secret, which is nearly all of them, and on some that do.

use divan::{Bencher, black_box, counter::BytesCount};
use tapline_redact::Rules;

const PROSE: &str = "The agent reads the file and then changes three lines of it, because the parser that was there \
    before did not know what to do with an empty list. A test shows the case; see src/parser.rs, line 128. ";
const CODE: &str = "    pub fn next(&mut self) -> Option<Item<'a>> {\n        let start = self.at;\n        while \
    self.peek()?.is_ascii_digit() { self.at += 1; }\n        Some(Item { text: &self.text[start..self.at] })\n    }\n";
const TOKENS: &str = "let token = self.next_token(); // the token in the file is out of date\nif token == end { return token }\n";
const LOG: &str = "GET https://example.test/a/b?c=1 200 12ms key=17 user=none {\"inputTokens\":12}\n";
const SECRETS: &str = "HOST=example.test\nAPI_TOKEN=not-a-real-token-5555666677778888\nPORT=8080\n";

const CHUNK: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0198c5a2-1c2d-7e3f-8a4b-5c6d7e8f9a0b","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":" the parser"}}}}"#;
const USAGE: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0198c5a2-1c2d-7e3f","update":{"sessionUpdate":"usage_update","used":34622,"size":256000,"_meta":{"inputTokens":12,"outputTokens":3}}}}"#;
const SECRET: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"sess-1","update":{"sessionUpdate":"tool_call","toolCallId":"sc-1","title":"cat .env","rawInput":{"env":{"DEPLOY_TOKEN":"not-a-real-token-1111222233334444"}}}}}"#;

fn main() {
    divan::main();
}

fn text(bencher: Bencher<'_, '_>, piece: &str) {
    let text = piece.repeat(64 * 1024 / piece.len());
    let rules = Rules::new();
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| rules.mask(black_box(&text)).len());
}

#[divan::bench(args = [("prose", PROSE), ("code", CODE), ("tokens", TOKENS), ("log", LOG), ("secrets", SECRETS)])]
fn text_64k(bencher: Bencher<'_, '_>, (_, piece): (&str, &str)) {
    text(bencher, piece);
}

#[divan::bench(args = [("chunk", CHUNK), ("usage", USAGE), ("secret", SECRET)])]
fn frame(bencher: Bencher<'_, '_>, (_, line): (&str, &str)) {
    let rules = Rules::new();
    bencher
        .counter(BytesCount::of_str(line))
        .bench(|| rules.mask_json(black_box(line)).len());
}

#[divan::bench]
fn frame_with_known_secrets(bencher: Bencher<'_, '_>) {
    let rules = Rules::new()
        .with_secrets(["not-a-real-secret-1", "another-of-them"])
        .with_private_members(["hostname", "pid"]);
    bencher
        .counter(BytesCount::of_str(CHUNK))
        .bench(|| rules.mask_json(black_box(CHUNK)).len());
}

#[divan::bench(args = [4, 64, 4096])]
fn stream_of_prose_in_pieces(bencher: Bencher<'_, '_>, size: usize) {
    let text = PROSE.repeat(32 * 1024 / PROSE.len());
    let rules = Rules::new();
    let chunks: Vec<&str> = text
        .as_bytes()
        .chunks(size)
        .map(|c| std::str::from_utf8(c).expect("the prose is ASCII"))
        .collect();
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let mut mask = rules.stream();
        let out: usize = chunks.iter().map(|chunk| mask.push(black_box(chunk)).len()).sum();
        out + mask.finish().len()
    });
}
