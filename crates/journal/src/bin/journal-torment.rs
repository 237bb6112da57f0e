//! Writes a random chat until it is killed, and prints what it was told is saved.
//!
//! `journal-torment HOME SESSION SEED STEPS`: the chat that the seed rolls, one line `saved CURSOR INPUT` for each
//! report, `done CURSOR` after so many steps. The crash tests kill it at a random moment and compare.

use std::error::Error;
use std::io::Write;

use tapline_journal::contract::{Script, begin};
use tapline_journal::{Home, Journal, Mode, OnSaved, SqliteJournal, WriterOptions};
use tapline_timeline::SessionId;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [home, session, seed, steps] = arguments.as_slice() else {
        return Err("usage: journal-torment HOME SESSION SEED STEPS".into());
    };
    let journal = SqliteJournal::open(&Home::at(home))?;
    let on_saved: OnSaved = Box::new(|_, cursor| say(&format!("saved {cursor}")));
    let patience = Some(std::time::Duration::from_secs(60));
    let mut writer = journal.writer(
        session,
        WriterOptions {
            patience,
            on_saved: Some(on_saved),
        },
    )?;
    writer.begin(&begin(session, Mode::Wrapped))?;
    say("begun");
    let mut script = Script::written(session, seed.parse()?, &mut writer);
    for _ in 0..steps.parse::<u64>()? {
        script.step();
        // Slow enough that a kill finds a chat small enough to compare as a whole.
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    let cursor = script.cursor();
    writer.end(&SessionId::from(session.as_str()))?;
    say(&format!("done {cursor}"));
    Ok(())
}

/// One line, written at once: what is printed here the test holds us to.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever started us may be gone; then nobody is left to tell.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
