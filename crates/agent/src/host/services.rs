//! What is done for the agent without asking anyone: files and terminals of the session's folders.
//!
//! Nothing of it is done in the loop, which must never wait: one thread does what is asked of files, one what is asked of
//! terminals, each in the order in which it was asked, and a terminal tells of its end itself. The answer comes back as news.
//! What an agent may keep open is bounded by the requests that may be open, and by [`crate::terminals::TERMINALS`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Sender, unbounded};
use serde_json::{Value, json};
use tapline_wire::client::INVALID_PARAMS;
use tapline_wire::{OwnedId, RawValue, value};

use super::news::{News, Served};
use super::process::spawn;
use super::{HostOptions, StartError};
use crate::files::{FileError, Folders};
use crate::terminals::{Exit, Spec, TerminalError, Terminals};

/// The error code for what went wrong on our side.
const INTERNAL_ERROR: i64 = -32603;

/// Files and terminals of a session.
pub(super) struct Services {
    folders: Folders,
    terminals: Arc<Mutex<Terminals>>,
    /// Who does the work: for files, and for terminals. They leave with this.
    files_desk: Sender<Work>,
    terminals_desk: Sender<Work>,
}

/// One service to be done.
type Work = Box<dyn FnOnce() + Send>;

impl Services {
    pub(super) fn open(options: &HostOptions) -> Result<Self, StartError> {
        let folders = Folders::open(&options.cwd, &options.folders);
        let folders = folders.map_err(|error| StartError::Folder(error.to_string()))?;
        let terminals = Terminals::new(folders.clone(), options.guard.clone());
        let terminals = match options.begin.provider() {
            Some(_) => terminals.going_on(),
            None => terminals,
        };
        let no_thread = |error: std::io::Error| {
            StartError::Folder(format!("No thread is left to serve the agent: {error}."))
        };
        Ok(Self {
            folders,
            terminals: Arc::new(Mutex::new(terminals)),
            files_desk: worker("tapline-files").map_err(no_thread)?,
            terminals_desk: worker("tapline-terminals").map_err(no_thread)?,
        })
    }

    /// Begins a service; its outcome comes as news. False where there is no such service. `keeps` knows the agent's own
    /// papers about the session: they are offered wherever they lie.
    pub(super) fn start(
        &self,
        id: &OwnedId,
        method: &str,
        params: &RawValue,
        keeps: impl Fn(&Path) -> bool,
        tell: &Sender<News>,
    ) -> bool {
        let (id, tell) = (id.clone(), tell.clone());
        let answer = {
            let (id, tell) = (id.clone(), tell.clone());
            move |served: Served| drop(tell.send(News::Served(id, served)))
        };
        let (folders, terminals) = (self.folders.clone(), Arc::clone(&self.terminals));
        let paper = value::member_text(params, "path")
            .map(|path| PathBuf::from(&*path))
            .filter(|path| keeps(path));
        let params = params.to_owned();
        let work: Work = match method {
            "fs/read_text_file" => Box::new(move || {
                answer(around(paper, folders).and_then(|folders| read(&folders, &params)));
            }),
            "fs/write_text_file" => Box::new(move || {
                answer(around(paper, folders).and_then(|folders| write(&folders, &params)));
            }),
            "terminal/create" => Box::new(move || answer(create(&terminals, &params))),
            "terminal/output" => Box::new(move || answer(output(&terminals, &params))),
            "terminal/wait_for_exit" => Box::new(move || {
                let told = answer.clone();
                let waits = terminal(&params).and_then(|terminal| {
                    let waits = lock(&terminals).on_exit(&terminal, move |exit| told(Ok(exit_object(&exit))));
                    waits.map_err(|error| fault(&error))
                });
                if let Err(error) = waits {
                    answer(Err(error));
                }
            }),
            "terminal/kill" => Box::new(move || {
                answer(terminal(&params).and_then(|id| done(lock(&terminals).kill(&id))));
            }),
            "terminal/release" => Box::new(move || {
                answer(terminal(&params).and_then(|id| done(lock(&terminals).release(&id))));
            }),
            _ => return false,
        };
        let desk = if method.starts_with("fs/") {
            &self.files_desk
        } else {
            &self.terminals_desk
        };
        if desk.send(work).is_err() {
            let words = "the service has broken down".to_owned();
            let _ = tell.send(News::Served(id, Err((INTERNAL_ERROR, words))));
        }
        true
    }
}

/// A thread that does what it is given, in order, until nobody can give it more.
fn worker(name: &str) -> std::io::Result<Sender<Work>> {
    let (give, given) = unbounded::<Work>();
    spawn(name, move || given.iter().for_each(|work| work()))?;
    Ok(give)
}

fn lock(terminals: &Mutex<Terminals>) -> MutexGuard<'_, Terminals> {
    terminals.lock().unwrap_or_else(PoisonError::into_inner)
}

fn missing(member: &str) -> (i64, String) {
    (
        INVALID_PARAMS,
        format!("the request has no readable member `{member}`"),
    )
}

fn text(params: &RawValue, member: &str) -> Result<String, (i64, String)> {
    value::member_text(params, member)
        .map(Into::into)
        .ok_or_else(|| missing(member))
}

fn number(params: &RawValue, member: &str) -> Option<u64> {
    value::member(params, member).and_then(value::u64)
}

fn path(params: &RawValue) -> Result<PathBuf, (i64, String)> {
    text(params, "path").map(PathBuf::from)
}

fn terminal(params: &RawValue) -> Result<String, (i64, String)> {
    text(params, "terminalId")
}

fn file_fault(error: &FileError) -> (i64, String) {
    (error.code().into(), error.to_string())
}

fn fault(error: &TerminalError) -> (i64, String) {
    (error.code().into(), error.to_string())
}

fn done(outcome: Result<(), TerminalError>) -> Served {
    outcome.map(|()| json!({})).map_err(|error| fault(&error))
}

/// The folders in which a file is looked for: the session's, or for a paper of the agent's own the one that it lies in. From
/// there it is walked by the same rules, so that no link leads from it to another file.
fn around(paper: Option<PathBuf>, folders: Folders) -> Result<Folders, (i64, String)> {
    match paper.as_deref().and_then(Path::parent) {
        Some(folder) => Folders::open(folder, &[]).map_err(|error| file_fault(&error)),
        None => Ok(folders),
    }
}

fn read(folders: &Folders, params: &RawValue) -> Served {
    let path = path(params)?;
    let content = folders.read(&path, number(params, "line"), number(params, "limit"));
    content
        .map(|content| json!({ "content": content }))
        .map_err(|error| file_fault(&error))
}

fn write(folders: &Folders, params: &RawValue) -> Served {
    let (path, content) = (path(params)?, text(params, "content")?);
    folders
        .write(&path, &content)
        .map(|()| json!({}))
        .map_err(|error| file_fault(&error))
}

fn create(terminals: &Mutex<Terminals>, params: &RawValue) -> Served {
    let words = |list: &RawValue| {
        value::array(list)
            .filter_map(value::text)
            .map(Into::into)
            .collect()
    };
    let variable = |raw: &RawValue| {
        Some((
            value::member_text(raw, "name")?.into(),
            value::member_text(raw, "value")?.into(),
        ))
    };
    let spec = Spec {
        command: text(params, "command")?,
        args: value::member(params, "args").map(words).unwrap_or_default(),
        env: value::member(params, "env")
            .map(|list| value::array(list).filter_map(variable).collect())
            .unwrap_or_default(),
        cwd: value::member_text(params, "cwd").map(|cwd| Path::new(&*cwd).to_owned()),
        output_byte_limit: number(params, "outputByteLimit"),
    };
    let id = lock(terminals).create(spec).map_err(|error| fault(&error))?;
    Ok(json!({ "terminalId": id }))
}

fn output(terminals: &Mutex<Terminals>, params: &RawValue) -> Served {
    let output = lock(terminals)
        .output(&terminal(params)?)
        .map_err(|error| fault(&error))?;
    let mut answer = json!({ "output": output.text, "truncated": output.truncated });
    if let Some(exit) = &output.exit {
        answer["exitStatus"] = exit_object(exit);
    }
    Ok(answer)
}

fn exit_object(exit: &Exit) -> Value {
    json!({ "exitCode": exit.code, "signal": exit.signal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paper_of_the_agents_own_is_offered_alone_and_no_link_leads_on_from_it() {
        let place = tempfile::tempdir().expect("a folder");
        let at = |name: &str| place.path().canonicalize().expect("it is there").join(name);
        for name in ["work", "papers"] {
            std::fs::create_dir(at(name)).expect("a folder");
        }
        std::fs::write(at("secret"), "no").expect("written");
        let session = Folders::open(&at("work"), &[]).expect("opened");
        let ask = |paper: Option<PathBuf>, path: PathBuf| {
            let params = json!({ "path": path, "content": "mine" }).to_string();
            let params = RawValue::parse(&params).expect("JSON");
            let written = around(paper.clone(), session.clone()).and_then(|folders| write(&folders, params));
            written.and_then(|_| around(paper, session.clone()).and_then(|folders| read(&folders, params)))
        };
        let plan = at("papers/plan.md");
        assert!(ask(None, plan.clone()).is_err(), "it is no file of the session");
        assert_eq!(
            ask(Some(plan.clone()), plan.clone()),
            Ok(json!({ "content": "mine" }))
        );
        std::fs::remove_file(&plan).expect("removed");
        std::os::unix::fs::symlink(at("secret"), &plan).expect("a link");
        assert!(ask(Some(plan.clone()), plan).is_err(), "it leads out");
        assert_eq!(std::fs::read_to_string(at("secret")).expect("read"), "no");
    }
}
