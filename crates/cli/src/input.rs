//! Files and standard input, read as recordings.

use std::fs::File;
use std::io::{IsTerminal, Read};

use tapline_recorder::{LINE_LIMIT, Recorder, Recording, Store, Watch};
use tapline_wire::{Line, LineReader};

use crate::failure::Failure;
use crate::terminal::Progress;

/// How much is read at once, in bytes.
const READ: usize = 256 << 10;

/// What is said of a folder where a recording is wanted.
pub(crate) const A_FOLDER: &str = "is a folder; name the recordings in it, such as FOLDER/*.jsonl";

/// Reads the recording at `path` (`-`: standard input) into the recorder that `start` makes. What could not be read of it is
/// told at the end, so that a damaged recording still gives what it holds.
pub(crate) fn read<S: Store, W: Watch>(
    path: &str,
    start: impl FnOnce(Option<&str>) -> Recorder<S, W> + 'static,
) -> Result<(Recorder<S, W>, Option<Failure>), Failure> {
    let (input, bytes) = open(path)?;
    read_from(path, input, bytes, start)
}

/// The same, of an input that is open; how many `bytes` it has, if that is known, tells how far it is.
pub(crate) fn read_from<S: Store, W: Watch>(
    path: &str,
    mut input: impl Read,
    bytes: Option<u64>,
    start: impl FnOnce(Option<&str>) -> Recorder<S, W> + 'static,
) -> Result<(Recorder<S, W>, Option<Failure>), Failure> {
    let mut progress = Progress::new(name(path), bytes);
    let mut done = 0;
    let mut recording = Recording::new(start);
    let mut lines = LineReader::with_limit(LINE_LIMIT);
    let mut buffer = vec![0; READ];
    let mut trouble = Trouble::default();
    let mut ended = true;
    loop {
        let n = match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) if e.kind() == std::io::ErrorKind::IsADirectory => {
                return Err(no_input(path, A_FOLDER));
            }
            Err(e) => {
                return Err(Failure::Io {
                    path: name(path),
                    what: format!("could not be read to its end: {e}"),
                });
            }
        };
        ended = buffer[n - 1] == b'\n';
        done += n as u64;
        progress.at(done);
        lines.push(&buffer[..n], |line| trouble.take(&mut recording, line, true));
        if trouble.hopeless {
            break;
        }
    }
    lines.finish(|line| trouble.take(&mut recording, line, ended));
    let inputs = recording.inputs();
    let recorder = recording.finish();
    if recorder.number() == 0 && inputs == 0 {
        let what = match trouble.first {
            Some(first) => format!("is no recording of ACP traffic: {first}"),
            None => "holds no recorded traffic; a recording has one JSON object a line".to_owned(),
        };
        return Err(Failure::Data {
            path: name(path),
            what,
        });
    }
    let failure = trouble.first.map(|first| {
        let more = if trouble.count > 1 {
            format!(" ({} more lines like it)", trouble.count - 1)
        } else {
            String::new()
        };
        Failure::Data {
            path: name(path),
            what: format!("{first}{more}. Everything else was read."),
        }
    });
    Ok((recorder, failure))
}

#[derive(Default)]
struct Trouble {
    first: Option<String>,
    count: u64,
    good: u64,
    hopeless: bool,
}

impl Trouble {
    fn take<S: Store, W: Watch>(&mut self, recording: &mut Recording<S, W>, line: Line<'_>, whole: bool) {
        match line {
            Line::Text(text) => match recording.line(&text) {
                Ok(()) => self.good += 1,
                Err(bad) => {
                    let cut = if whole {
                        ""
                    } else {
                        "; the file ends in the middle of it"
                    };
                    self.first.get_or_insert_with(|| format!("{bad}{cut}"));
                    self.count += 1;
                    // A file whose first thousand lines say nothing is no recording.
                    self.hopeless = self.good == 0 && self.count > 1000;
                }
            },
            Line::TooLong { prefix, bytes } => {
                recording.line_too_long(&prefix, bytes);
                self.first.get_or_insert_with(|| {
                    format!("a line of {bytes} bytes is too long to read and was left out")
                });
                self.count += 1;
            }
        }
    }
}

/// Whether a word names a file rather than a session: it is there, or looks like a path.
#[cfg(unix)]
pub(crate) fn is_file(word: &str) -> bool {
    word == "-" || word.contains(['/', '.']) || std::path::Path::new(word).exists()
}

/// Opens an input, and says how many bytes it has where that is known.
pub(crate) fn open(path: &str) -> Result<(Box<dyn Read>, Option<u64>), Failure> {
    if path == "-" {
        if std::io::stdin().is_terminal() {
            let what = "is a terminal; name what is to be read, or pipe it in";
            return Err(Failure::Usage(format!("{} {what}", name(path))));
        }
        return Ok((Box::new(std::io::stdin().lock()), None));
    }
    match File::open(path) {
        Ok(file) => {
            let data = file.metadata().ok().filter(std::fs::Metadata::is_file);
            Ok((Box::new(file), data.map(|data| data.len())))
        }
        Err(e) => Err(match e.kind() {
            std::io::ErrorKind::NotFound => no_input(path, "does not exist"),
            std::io::ErrorKind::PermissionDenied => {
                no_input(path, "may not be read by you; check its permissions")
            }
            _ => no_input(path, &e.to_string()),
        }),
    }
}

pub(crate) fn no_input(path: &str, what: &str) -> Failure {
    Failure::NoInput {
        path: name(path),
        what: what.to_owned(),
    }
}

/// What an input is called on screen.
pub(crate) fn name(path: &str) -> String {
    if path == "-" {
        "standard input".to_owned()
    } else {
        path.to_owned()
    }
}
