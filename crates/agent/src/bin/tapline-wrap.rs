//! `tapline wrap` as a process of its own, for tests and measurements.
//!
//! `TAPLINE_TEST_RECORD` names a folder in which the agent is recorded, `TAPLINE_TEST_MOOD` how the ledger there behaves, and
//! `TAPLINE_TEST_HINT` what the agent is called. With the mood `journal` the folder is the home of a journal.

#[cfg(unix)]
#[path = "../../tests/common/archive.rs"]
mod archive;

#[cfg(unix)]
fn main() {
    use std::ffi::OsString;
    use std::path::PathBuf;
    use std::sync::Arc;

    use archive::{Files, Mood};
    use tapline_agent::wrap::{self, RecordOptions, WrapOptions, guard};

    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: tapline-wrap CMD ARG…");
        std::process::exit(2);
    };
    if program == "__guard" {
        let code = i32::from(guard::run().is_err());
        std::process::exit(code);
    }
    let text = |name: &str| std::env::var(name).ok();
    let record = text("TAPLINE_TEST_RECORD").map(|folder| RecordOptions {
        connection: text("TAPLINE_TEST_CONNECTION").unwrap_or_else(|| "connection".to_owned()),
        hint: text("TAPLINE_TEST_HINT"),
        secrets: text("TAPLINE_TEST_SECRET").into_iter().collect(),
        spill: PathBuf::from(&folder).join("spill"),
        archive: match text("TAPLINE_TEST_MOOD").as_deref() {
            Some("journal") => Arc::new(archive::InJournal(folder.into())),
            mood => Arc::new(Files {
                mood: mood.map_or(Mood::Good, Mood::parse),
                folder: folder.into(),
            }),
        },
    });
    let folder = text("TAPLINE_TEST_RECORD");
    let options = WrapOptions {
        program,
        arguments: arguments.collect(),
        guard: std::env::current_exe()
            .ok()
            .map(|exe| vec![exe.into_os_string(), OsString::from("__guard")]),
        record,
    };
    match wrap::run(options) {
        Ok(ended) => {
            if let Some(folder) = folder {
                let report = format!("{:#?}", ended.recording);
                let _ = std::fs::write(PathBuf::from(folder).join("report"), report);
            }
            ended.end.pass_on()
        }
        Err(error) => {
            eprintln!("tapline wrap: {error}");
            std::process::exit(error.code());
        }
    }
}

#[cfg(not(unix))]
fn main() {
    eprintln!("`tapline wrap` runs on Linux and macOS");
}
