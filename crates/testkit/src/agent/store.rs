//! What a scenario said in each session, kept so that the session can be loaded.
//!
//! In memory, and with a folder also in one file a session: a line with the folder it works in, then each update. A
//! second process with the same folder finds the sessions of the first.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// The updates that are history; the others are state that a load tells in its answer, or news of the moment.
const HISTORY: [&str; 7] = [
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "session_info_update",
];

pub(super) struct Store {
    folder: Option<PathBuf>,
    saved: Mutex<BTreeMap<String, Saved>>,
}

#[derive(Clone)]
pub(super) struct Saved {
    pub(super) cwd: String,
    pub(super) updates: Vec<Value>,
}

impl Saved {
    pub(super) fn title(&self) -> Option<&str> {
        self.updates
            .iter()
            .rev()
            .find_map(|update| update["title"].as_str().filter(|_| is_title(update)))
    }

    pub(super) fn prompts(&self) -> usize {
        let is_prompt = |update: &&Value| update["sessionUpdate"] == "user_message_chunk";
        self.updates.iter().filter(is_prompt).count()
    }
}

fn is_title(update: &Value) -> bool {
    update["sessionUpdate"] == "session_info_update"
}

impl Store {
    /// Opens the store, and reads what earlier processes left in the folder.
    pub(super) fn open(folder: Option<PathBuf>) -> io::Result<Self> {
        let mut saved = BTreeMap::new();
        if let Some(folder) = &folder {
            fs::create_dir_all(folder)?;
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "jsonl")
                    && let Some(name) = path.file_stem().and_then(|name| name.to_str())
                {
                    saved.insert(name.to_owned(), read(&path)?);
                }
            }
        }
        Ok(Self {
            folder,
            saved: Mutex::new(saved),
        })
    }

    /// Begins a session under the next free name.
    pub(super) fn create(&self, cwd: &str) -> io::Result<String> {
        let mut saved = self.saved();
        let mut number = 1;
        loop {
            let name = format!("session-{number}");
            number += 1;
            if saved.contains_key(&name) {
                continue;
            }
            if let Some(folder) = &self.folder {
                // Another process may work in the same folder: whoever makes the file has the name.
                match OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(folder.join(format!("{name}.jsonl")))
                {
                    Ok(mut file) => writeln!(file, "{}", json!({"cwd": cwd}))?,
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                    Err(error) => return Err(error),
                }
            }
            saved.insert(
                name.clone(),
                Saved {
                    cwd: cwd.to_owned(),
                    updates: Vec::new(),
                },
            );
            return Ok(name);
        }
    }

    pub(super) fn append(&self, session: &str, update: &Value) -> io::Result<()> {
        if !HISTORY.iter().any(|kind| update["sessionUpdate"] == *kind) {
            return Ok(());
        }
        let mut all = self.saved();
        let Some(saved) = all.get_mut(session) else {
            return Ok(());
        };
        saved.updates.push(update.clone());
        if let Some(folder) = &self.folder {
            let path = folder.join(format!("{session}.jsonl"));
            writeln!(OpenOptions::new().append(true).open(path)?, "{update}")?;
        }
        Ok(())
    }

    pub(super) fn get(&self, session: &str) -> Option<Saved> {
        self.saved().get(session).cloned()
    }

    pub(super) fn all(&self) -> Vec<(String, Saved)> {
        self.saved()
            .iter()
            .map(|(name, saved)| (name.clone(), saved.clone()))
            .collect()
    }

    pub(super) fn delete(&self, session: &str) -> io::Result<()> {
        if self.saved().remove(session).is_some()
            && let Some(folder) = &self.folder
        {
            fs::remove_file(folder.join(format!("{session}.jsonl")))?;
        }
        Ok(())
    }

    fn saved(&self) -> MutexGuard<'_, BTreeMap<String, Saved>> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &PathBuf) -> io::Result<Saved> {
    let mut lines = BufReader::new(File::open(path)?).lines();
    let head: Value = lines
        .next()
        .transpose()?
        .and_then(|line| serde_json::from_str(&line).ok())
        .unwrap_or_default();
    let mut updates = Vec::new();
    for line in lines {
        // A line that a killed process left half written is the last one, and is not history.
        updates.extend(serde_json::from_str::<Value>(&line?).ok());
    }
    Ok(Saved {
        cwd: head["cwd"].as_str().unwrap_or_default().to_owned(),
        updates,
    })
}
