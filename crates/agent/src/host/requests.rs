//! What the agent asks: permissions, questions, plans, and services.
//!
//! A request that asks a person has a row, made by the same frame; it is found by the request's own id, never by its kind or
//! order. It is decided by the judge, else kept open until somebody answers it, else refused. A person is asked only while a
//! prompt of theirs runs and nobody has cut it short: anything else is answered at once in the agent's own way of saying
//! that nothing was chosen, since nobody waits for it.

use std::sync::Arc;

use serde_json::json;
use tapline_recorder::{Reply, Work, WorkStopped};
use tapline_timeline::{Ask, Body, Request, RequestState, Row};
use tapline_wire::client::{self, INVALID_PARAMS, METHOD_NOT_FOUND, PermissionOutcome, REQUEST_CANCELLED};
use tapline_wire::{Id, OwnedId, OwnedRawValue, Permission, RawValue};

use super::desk::{CONNECTION, Desk, Purpose};
use super::intents::sentence;
use super::news::Served;
use super::peer::{CallError, Incoming, OPEN_REQUEST_BYTES, OPEN_REQUESTS, own};
use super::replies;
use super::{NOBODY_TO_ASK, Verdict};
use tapline_journal::Intent;

/// The error code for what went wrong on our side.
const INTERNAL_ERROR: i64 = -32603;

/// How long an agent may take to stop one piece of work.
const STOP_WORK: std::time::Duration = std::time::Duration::from_secs(10);

/// How long the question may take whether there is a way to stop one piece of work.
const PROBE: std::time::Duration = std::time::Duration::from_secs(2);

/// Who decides where nobody waits for the answer.
const NOT_NOW: &str = "tapline: no prompt is running";

/// Who decides where the turn is being stopped.
const STOPPED: &str = "tapline: the turn was stopped";

/// A request of the agent that waits for our answer.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) method: String,
    pub(super) params: Option<OwnedRawValue>,
    /// Its row, where a person is asked.
    pub(super) row: Option<Arc<Row>>,
}

impl Desk {
    /// A request came in. `asked` is the row that it made.
    pub(super) fn requested(
        &mut self,
        id: &Id<'_>,
        method: &str,
        params: Option<&RawValue>,
        asked: Option<Arc<Row>>,
    ) {
        let open = Open {
            method: method.to_owned(),
            params: own(params),
            row: asked,
        };
        let owned = id.as_ref().into_owned();
        let bytes = params.map_or(0, |raw| raw.get().len());
        match self.peer.requested(id, open.clone(), bytes) {
            Incoming::New => {}
            // The first one's answer will do for both.
            Incoming::Doubled => return,
            Incoming::TooMany => {
                let words = format!("{OPEN_REQUESTS} requests wait for an answer already");
                return self.send(None, client::error_answer(id, INTERNAL_ERROR, &words, None));
            }
            Incoming::TooMuch => {
                let most = OPEN_REQUEST_BYTES >> 20;
                let words = format!("the requests that wait for an answer would hold more than {most} MiB");
                return self.send(None, client::error_answer(id, INTERNAL_ERROR, &words, None));
            }
        }
        match open.row.clone() {
            Some(row) => self.decide(&owned, &open, &row),
            None => self.serve(&owned, &open),
        }
    }

    fn decide(&mut self, id: &OwnedId, open: &Open, row: &Row) {
        let Body::Request(request) = &row.body else {
            return;
        };
        let about = request.tool.as_ref().and_then(|id| self.journal_row(id));
        let tool = match about.as_ref().map(|row| &row.body) {
            Some(Body::Tool(tool)) => Some(&**tool),
            _ => None,
        };
        let verdict = match self.options.judge.decide(row, request, tool) {
            Verdict::Ask if !self.options.attended => refusal(request, NOBODY_TO_ASK),
            Verdict::Ask if !self.turns.takes_questions() => Verdict::Cancel {
                by: NOT_NOW.to_owned(),
            },
            verdict => verdict,
        };
        let (answer, by) = match verdict {
            Verdict::Ask => return,
            Verdict::Choose { option, by } => (
                Some(tapline_timeline::Answer {
                    option: Some(option),
                    ..Default::default()
                }),
                by,
            ),
            Verdict::Cancel { by } => (None, by),
        };
        let line = self.make_reply(id, open, answer.as_ref());
        let line = line.or_else(|_| self.make_reply(id, open, None));
        if let Ok(line) = line {
            self.answer(id, line, &by);
        }
    }

    /// The answer to a request as a line; a sentence for the one who answers where it does not fit.
    pub(super) fn make_reply(
        &self,
        id: &OwnedId,
        open: &Open,
        answer: Option<&tapline_timeline::Answer>,
    ) -> Result<String, String> {
        let params = open.params.as_deref();
        let request = match open.row.as_ref().map(|row| &row.body) {
            Some(Body::Request(request)) => request,
            _ => return Err("The agent asked nothing that a person could answer.".to_owned()),
        };
        match open.method.as_str() {
            "session/request_permission" => replies::permission(id, request, answer),
            "elicitation/create" => replies::question(id, params, answer),
            method => {
                let spoken = self.recorder.spoken(CONNECTION);
                let reply = spoken
                    .zip(params)
                    .and_then(|(spoken, params)| spoken.reply(method, params, answer));
                match reply {
                    Some(Reply::Result(result)) => Ok(client::answer(id, &result)),
                    Some(Reply::Fault(why)) => Ok(client::error_answer(id, INVALID_PARAMS, &why, None)),
                    Some(Reply::Invalid(why)) => Err(why),
                    None => Ok(client::error_answer(
                        id,
                        METHOD_NOT_FOUND,
                        "Method not found",
                        None,
                    )),
                }
            }
        }
    }

    /// Answers a request: it is noted who decided, saved, and sent.
    pub(super) fn answer(&mut self, id: &OwnedId, line: String, by: &str) {
        self.did(&json!({ "answer": { "request": id, "by": by } }));
        self.reply(id, line, true);
    }

    /// The open request with this row.
    pub(super) fn open_request(&self, row: &str) -> Option<(OwnedId, Open)> {
        let found = self
            .peer
            .requests()
            .find(|(_, open)| open.row.as_ref().is_some_and(|r| r.id.as_str() == row));
        found.map(|(id, open)| (id.clone(), open.clone()))
    }

    /// A row of ours as it is now, saved or not.
    fn journal_row(&self, id: &tapline_timeline::RowId) -> Option<Arc<Row>> {
        self.recorder.store().store.newest(id)
    }

    /// How a request was settled, and by whom.
    pub(super) fn settled_by(&self, row: &str) -> Option<(String, String)> {
        let row = self.recorder.store().store.newest(&row.into())?;
        let Body::Request(request) = &row.body else {
            return None;
        };
        let outcome = request.outcome?.to_string();
        let by = request.answer.as_ref().and_then(|answer| answer.by.clone());
        Some((outcome, by.unwrap_or_default()))
    }

    /// A request's row changed.
    pub(super) fn request_seen(&mut self, row: &Arc<Row>) {
        let Body::Request(request) = &row.body else {
            return;
        };
        let id = self
            .peer
            .requests()
            .find(|(_, open)| open.row.as_ref().is_some_and(|r| r.id == row.id));
        let Some(id) = id.map(|(id, _)| id.clone()) else {
            return;
        };
        if request.state == RequestState::Pending {
            // The newest state of it is what an answer is checked against.
            self.peer.keep(&id, |open| open.row = Some(Arc::clone(row)));
        } else {
            self.settled.push(id);
        }
    }

    /// Answers the requests whose rows have settled without an answer, since their turn is over: the agent still waits.
    pub(super) fn answer_settled(&mut self) {
        for id in std::mem::take(&mut self.settled) {
            // One that was answered or withdrawn in the meantime is not here any more.
            let open = self.peer.request(&id).cloned();
            if let Some(line) = open.and_then(|open| self.make_reply(&id, &open, None).ok()) {
                self.reply(&id, line, false);
            }
        }
    }

    /// The agent takes a request back.
    pub(super) fn withdrawn(&mut self, id: &OwnedId) {
        if self.peer.request(id).is_some() {
            let line = client::error_answer(id, REQUEST_CANCELLED, "Request cancelled", None);
            self.reply(id, line, false);
        }
    }

    /// A turn is stopped: what it has asked is answered as put away.
    pub(super) fn withdraw_requests(&mut self) {
        let asked: Vec<(OwnedId, Open)> = self
            .peer
            .requests()
            .filter(|(_, open)| open.row.is_some())
            .map(|(id, open)| (id.clone(), open.clone()))
            .collect();
        for (id, open) in asked {
            if let Ok(line) = self.make_reply(&id, &open, None) {
                self.did(&json!({ "answer": { "request": id, "by": STOPPED } }));
                self.reply(&id, line, false);
            }
        }
    }

    // --- Services ---

    /// A request that asks no person.
    fn serve(&mut self, id: &OwnedId, open: &Open) {
        let line = match (open.method.as_str(), open.params.as_deref()) {
            ("session/request_permission", Some(params)) => match Permission::read(params) {
                // It can be read, and belongs to no session in which anything runs.
                Ok(_) => client::permission_answer(id, &PermissionOutcome::Cancelled),
                Err(fault) => client::error_answer(id, INVALID_PARAMS, &fault.to_string(), None),
            },
            ("session/request_permission" | "elicitation/create", _) => {
                client::error_answer(id, INVALID_PARAMS, "the request cannot be read", None)
            }
            (method, Some(params)) => {
                let spoken = self.recorder.spoken(CONNECTION);
                match spoken.and_then(|spoken| spoken.reply(method, params, None)) {
                    Some(Reply::Result(result)) => client::answer(id, &result),
                    Some(Reply::Fault(why) | Reply::Invalid(why)) => {
                        client::error_answer(id, INVALID_PARAMS, &why, None)
                    }
                    None if self.served_by_us(id, method, params) => return,
                    None => client::error_answer(id, METHOD_NOT_FOUND, &unknown(method), None),
                }
            }
            (method, None) => client::error_answer(id, METHOD_NOT_FOUND, &unknown(method), None),
        };
        self.reply(id, line, false);
    }

    /// Begins a service of ours, if it is one.
    fn served_by_us(&self, id: &OwnedId, method: &str, params: &RawValue) -> bool {
        let spoken = self.recorder.spoken(CONNECTION);
        let keeps = |path: &std::path::Path| {
            let provider = self.provider.as_deref();
            spoken
                .zip(provider)
                .is_some_and(|(spoken, session)| spoken.keeps_file(session, path))
        };
        self.services.start(id, method, params, keeps, &self.tell)
    }

    /// A service is done.
    pub(super) fn served(&mut self, id: &OwnedId, served: Served) {
        if self.peer.request(id).is_none() {
            return;
        }
        let line = match served {
            Ok(result) => client::answer(id, &result),
            Err((code, words)) => client::error_answer(id, code, &words, None),
        };
        self.reply(id, line, false);
    }

    // --- Work that outlives its turn ---

    /// Somebody wants one task or helper to stop.
    pub(super) fn task_stop_wanted(&mut self, claimed: Intent, row: &str) {
        let found = self.journal.row(&row.into()).ok().flatten();
        let work = match found.as_ref().map(|row| &row.body) {
            Some(Body::Task(task)) => Some((Work::Task(&task.task), task.state)),
            Some(Body::Helper(helper)) => Some((Work::Helper(&helper.helper), helper.state)),
            _ => None,
        };
        let Some((work, state)) = work else {
            let error = json!({ "error": "There is no task or helper with this id." });
            return self.outcome(&claimed, &error);
        };
        if state != tapline_timeline::WorkState::Running {
            return self.outcome(&claimed, &json!({ "error": "It does not run any more." }));
        }
        let session = self.provider.clone().unwrap_or_default();
        let spoken = self.recorder.spoken(CONNECTION);
        let Some(stop) = spoken.and_then(|spoken| spoken.stop_work(&session, work)) else {
            return self.outcome(&claimed, &json!({ "error": self.no_way() }));
        };
        // An agent that does not know the method says so whatever it is called with.
        let purpose = Purpose::ProbeWork(Box::new(claimed), row.to_owned());
        self.call(stop.method, purpose, Some(PROBE), |id| {
            client::request(id, stop.method, &json!({}))
        });
    }

    fn no_way(&self) -> String {
        format!(
            "{} has no way to stop one piece of work; stop the session instead.",
            self.agent.name
        )
    }

    /// Whether the agent knows the way.
    pub(super) fn work_probed(&mut self, claimed: Intent, row: &str, outcome: Result<&RawValue, CallError>) {
        let known = match &outcome {
            Ok(_) => true,
            Err(error) => error.code().is_some_and(|code| code != METHOD_NOT_FOUND),
        };
        let found = self.journal.row(&row.into()).ok().flatten();
        let session = self.provider.clone().unwrap_or_default();
        let stop = with_work(found.as_deref(), |work| {
            let spoken = self.recorder.spoken(CONNECTION)?;
            spoken.stop_work(&session, work)
        });
        match stop.flatten().filter(|_| known) {
            Some(stop) => {
                let purpose = Purpose::StopWork(Box::new(claimed), row.to_owned());
                self.call(stop.method, purpose, Some(STOP_WORK), |id| {
                    client::request(id, stop.method, &stop.params)
                });
            }
            None => self.outcome(&claimed, &json!({ "error": self.no_way() })),
        }
    }

    /// What the agent says of the stop.
    pub(super) fn work_stopped(
        &mut self,
        claimed: &Intent,
        row: &str,
        outcome: Result<&RawValue, CallError>,
    ) {
        let outcome = match outcome {
            Err(error) => json!({ "error": sentence(&error) }),
            Ok(result) => {
                let found = self.journal.row(&row.into()).ok().flatten();
                let read = with_work(found.as_deref(), |work| {
                    let spoken = self.recorder.spoken(CONNECTION)?;
                    Some(spoken.work_stopped(work, result))
                });
                match read.flatten() {
                    Some(WorkStopped::Stopping) => json!({ "stopped": row }),
                    Some(WorkStopped::Gone) => {
                        json!({ "stopped": row, "unknown": "The agent has no such work any more; how it ended is not known." })
                    }
                    Some(WorkStopped::Refused(Some(words))) => json!({ "error": words }),
                    _ => json!({ "error": "The agent did not stop it." }),
                }
            }
        };
        self.outcome(claimed, &outcome);
    }
}

fn with_work<T>(row: Option<&Row>, read: impl FnOnce(Work<'_>) -> T) -> Option<T> {
    match row.map(|row| &row.body) {
        Some(Body::Task(task)) => Some(read(Work::Task(&task.task))),
        Some(Body::Helper(helper)) => Some(read(Work::Helper(&helper.helper))),
        _ => None,
    }
}

fn unknown(method: &str) -> String {
    format!("\"Method not found\": {method}")
}

/// What is answered where nobody can be asked: the agent's mildest way to refuse.
fn refusal(request: &Request, by: &str) -> Verdict {
    let by = by.to_owned();
    let of = |kind: &str| request.options.iter().find(|o| o.kind.as_deref() == Some(kind));
    let reject = (request.ask == Ask::Permission)
        .then(|| of("reject_once").or_else(|| of("reject_always")))
        .flatten();
    match reject {
        Some(option) => Verdict::Choose {
            option: option.id.clone(),
            by,
        },
        None => Verdict::Cancel { by },
    }
}
