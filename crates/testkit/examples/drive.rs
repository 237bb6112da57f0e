//! Sends one prompt to an agent command and waits for its answer: `drive CMD ARG…`. For timing a whole turn.

use std::process::{Command, Stdio};

use serde_json::json;
use tapline_testkit::client::Talk;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let program = arguments.next().expect("usage: drive CMD ARG…");
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (output, input) = (child.stdout.take(), child.stdin.take());
    let mut talk = Talk::new(output.expect("a pipe"), input.expect("a pipe"));
    talk.call(
        "initialize",
        json!({"protocolVersion": 1, "clientCapabilities": {}}),
    )?;
    let made = talk.call("session/new", json!({"cwd": "/project", "mcpServers": []}))?;
    let session = made["result"]["sessionId"].clone();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "Go on"}]});
    let id = talk.request("session/prompt", prompt)?;
    let mut frames = 0u64;
    loop {
        // Nothing is parsed that need not be: what is timed is the command.
        let line = talk.line()?;
        frames += 1;
        if line.is_empty() || (line.len() < 200 && line.windows(12).any(|w| w == b"\"stopReason\"")) {
            break;
        }
    }
    talk.close();
    talk.rest()?;
    let status = child.wait()?;
    println!("{frames} lines, call {id}, {status}");
    Ok(())
}
