//! What a streamed message costs the disk: `streamed FOLDER CHUNKS BYTES [MESSAGES]` records replies of so many chunks of so many
//! bytes of text, at 50 chunks a second, each the answer to a prompt, and prints how many bytes were written for each byte of them.
//!
//! Two counts: what the process handed to the system (`wchar`), and what the system says went to the disk (`write_bytes`), which
//! counts whole pages of 4 KiB. The log, the closing of the message and of the journal are in it; making the journal is not.
#![cfg(unix)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tapline_agent::archive::{ArchiveOptions, JournalArchive};
use tapline_journal::{Home, Journal, Mode, SqliteJournal};
use tapline_recorder::{Direction, Recorder};

const SESSION: &str = "0199b0c2-6e5a-7f10-b1c4-d9a3f6f0a001";

/// Chunks a second.
const PACE: u32 = 50;

/// Words of a text that compresses as prose does, and no better.
const WORDS: [&str; 24] = [
    "the", "recorder", "writes", "each", "change", "once", "and", "reads", "it", "back", "when", "a",
    "person", "asks", "for", "what", "was", "said", "before", "failing", "tests", "were", "found", "again",
];

fn main() {
    let usage = "usage: streamed FOLDER CHUNKS BYTES [MESSAGES]";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|a| a.parse::<usize>().ok());
    let (folder, chunks) = (arguments.first().expect(usage), number(1).expect(usage));
    let (bytes, messages) = (number(2).expect(usage), number(3).unwrap_or(1));
    let home = Home::at(folder);
    // The journal is there already, as it is for all sessions but the first.
    drop(SqliteJournal::open(&home).expect("opens"));
    let journal: Arc<dyn Journal> = Arc::new(SqliteJournal::open(&home).expect("opens"));
    let options = ArchiveOptions {
        mode: Mode::Wrapped,
        agent: Some("bench".to_owned()),
        origin: None,
        patience: Some(Duration::from_secs(60)),
        resume: None,
    };
    let name = format!("streamed-{}", std::process::id());
    let archive = JournalArchive::new(Arc::clone(&journal), options);
    let ledger = archive.ledger(&name).expect("begins");
    let mut recorder = Recorder::new(ledger, None).with_seed(&format!("{name}."));
    let opening = [
        (
            Direction::Out,
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#.to_owned(),
        ),
        (
            Direction::In,
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#.to_owned(),
        ),
        (
            Direction::Out,
            r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#
                .to_owned(),
        ),
        (
            Direction::In,
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"sessionId":"{SESSION}"}}}}"#),
        ),
    ];
    for (direction, line) in &opening {
        recorder.line("", *direction, line, None);
    }
    std::thread::sleep(Duration::from_millis(500));
    let (wchar, disk) = (number_of("wchar:"), number_of("write_bytes:"));
    let mut random = 7u64;
    for id in 2..messages + 2 {
        let prompt = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"session/prompt","params":{{"sessionId":"{SESSION}","prompt":[{{"type":"text","text":"go"}}]}}}}"#
        );
        recorder.line("", Direction::Out, &prompt, None);
        let start = Instant::now();
        for chunk in 0..chunks {
            let due = start + Duration::from_secs(1) * u32::try_from(chunk).expect("few") / PACE;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let mut text = String::new();
            while text.len() < bytes {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                text.push_str(WORDS[(random >> 33) as usize % WORDS.len()]);
                text.push(' ');
            }
            text.truncate(bytes);
            let line = format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{SESSION}","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{text}"}}}}}}}}"#
            );
            recorder.line("", Direction::In, &line, None);
        }
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"end_turn"}}}}"#);
        recorder.line("", Direction::In, &answer, None);
    }
    recorder.close();
    recorder.into_parts().0.end().expect("saved");
    drop(archive);
    drop(journal);
    let (wchar, disk) = (number_of("wchar:") - wchar, number_of("write_bytes:") - disk);
    let text = (messages * chunks * bytes) as f64;
    println!(
        "{messages} messages of {chunks} chunks of {bytes} bytes: {wchar} bytes written, {:.1} times the text, {:.0} a chunk; on the disk {disk}, {:.1} times",
        wchar as f64 / text,
        wchar as f64 / (messages * chunks) as f64,
        disk as f64 / text,
    );
}

fn number_of(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
}
