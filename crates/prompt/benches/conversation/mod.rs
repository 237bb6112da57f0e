//! The conversation that the benches convert: 1,000 messages with 5 MB of base64 in 50 images.

use std::fmt::Write as _;

/// The messages of the conversation.
pub(crate) const MESSAGES: usize = 1_000;
const IMAGES: usize = 50;
/// Characters of base64 in one image.
const IMAGE: usize = 100_000;

/// The conversation as JSON text: users who sometimes send an image, calls of tools with their results,
/// and answers.
pub(crate) fn conversation() -> String {
    let turns = MESSAGES / 4;
    let mut text = String::with_capacity(IMAGES * IMAGE + MESSAGES * 400);
    text.push('[');
    for turn in 0..turns {
        if turn > 0 {
            text.push(',');
        }
        write!(
            text,
            r#"{{"role":"user","content":[{{"type":"text","text":"Question {turn}: what does \"src/file_{turn}.rs\" do?\nBe brief."}}"#
        )
        .expect("a string takes all text");
        if turn % (turns / IMAGES) == 0 {
            text.push_str(r#",{"type":"file","mediaType":"image/png","data":{"type":"data","data":""#);
            text.push_str("iVBORw0KGgoAAAANSUhEUgAAAAEA");
            text.extend(std::iter::repeat_n("QUJDREVGR0hJSktMTU5PUA", IMAGE / 22));
            text.push_str(r#""},"filename":"screen.png"}"#);
        }
        write!(
            text,
            concat!(
                r#"]}},{{"role":"assistant","content":[{{"type":"text","text":"I will look at it."}},"#,
                r#"{{"type":"tool-call","toolCallId":"call_{turn}","toolName":"read_file","input":{{"path":"src/file_{turn}.rs","from":{turn},"to":{to}}}}}]}},"#,
                r#"{{"role":"tool","content":[{{"type":"tool-result","toolCallId":"call_{turn}","toolName":"read_file","output":"#,
                r#"{{"type":"json","value":{{"lines":["fn main() {{","    println!(\"{turn}\");","}}"],"size":{turn}.5}}}}}}]}},"#,
                r#"{{"role":"assistant","content":[{{"type":"text","text":"It prints {turn}. Nothing else happens in this file, and no other file depends on it."}}]}}"#,
            ),
            turn = turn,
            to = turn + 100,
        )
        .expect("a string takes all text");
    }
    text.push(']');
    text
}
