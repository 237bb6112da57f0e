//! What becomes of a session whose owner is gone.
//!
//! A pure function from what stands open to what it becomes, used by every journal, so that "nothing reads as running
//! for ever" means the same everywhere. It only closes: what has settled is not looked at.

use indexmap::IndexMap;
use tapline_timeline::{
    Body, CompactionState, Delivery, Detail, End, Json, Key, Outcome, RequestState, Row, RowId, Session,
    SessionState, Status, TextState, Time, Tone, ToolState, WorkState,
};

use crate::model::{Mode, Owner};

/// Whether a row waits for a person.
pub(crate) fn is_waiting(row: &Row) -> bool {
    matches!(&row.body, Body::Request(request) if request.state == RequestState::Pending)
}

/// Outcome of an intent whose taker is gone: whether it was carried out nobody knows, so it is never offered again.
pub(crate) const TAKER_GONE: &str =
    r#"{"error":"The process that took this ended before it said what became of it."}"#;

/// Settles what stands open. `last` is the newest row of all, `at` when the session was last heard of. Gives the rows that change, in the order in
/// which they change, new ones included.
pub(crate) fn settle(
    session: &mut Session,
    open: Vec<Row>,
    last: Option<&Row>,
    (owner, mode): (&Owner, Mode),
    at: Time,
) -> Vec<Row> {
    session.state = SessionState::Ended;
    let mut seq = last.map_or(0, |row| row.seq);
    let mut changed = Vec::with_capacity(open.len() + 1);
    let mut turns = Vec::new();
    for mut row in open {
        if !close(&mut row.body) {
            continue;
        }
        row.revision += 1;
        row.ended_at = Some(at);
        if matches!(row.body, Body::Turn(_)) {
            turns.push(row);
        } else {
            changed.push(row);
        }
    }
    // A prompt of ours after which nothing came at all: nobody knows whether the agent ever read it. Where we only listened, what
    // was not saved may still be folded in and tell.
    if mode == Mode::Hosted
        && let Some(last) = last
        && turns.iter().any(|turn| last.turn.as_ref() == Some(&turn.id))
        && let Some(unheard) = unconfirmed(last, at)
    {
        changed.push(unheard);
    }
    for turn in turns {
        seq += 1;
        changed.push(warning(session, &turn, seq, owner, at));
        changed.push(turn);
    }
    changed
}

/// A prompt that was sent and of which nothing was heard.
fn unconfirmed(row: &Row, at: Time) -> Option<Row> {
    let mut row = row.clone();
    match &mut row.body {
        Body::User(user) if user.delivery == Some(Delivery::Accepted) && !user.by_agent => {
            user.delivery = Some(Delivery::Unconfirmed);
        }
        _ => return None,
    }
    row.revision += 1;
    row.ended_at = Some(at);
    Some(row)
}

fn close(body: &mut Body) -> bool {
    match body {
        Body::Turn(turn) if turn.end.is_none() => turn.end = Some(End::Cut),
        Body::User(user) if matches!(user.delivery, Some(Delivery::Queued | Delivery::Sent)) => {
            user.delivery = Some(Delivery::Unconfirmed);
        }
        Body::Assistant(message) | Body::Reasoning(message) if message.state == TextState::Open => {
            message.state = TextState::Cut;
        }
        Body::Tool(tool) if tool.state.is_open() => tool.state = ToolState::Interrupted,
        Body::Plan(plan) => {
            for entry in plan
                .entries
                .iter_mut()
                .filter(|entry| entry.status == "in_progress")
            {
                entry.status = "pending".to_owned();
            }
        }
        Body::Request(request) if request.state == RequestState::Pending => {
            request.state = RequestState::Settled;
            request.outcome = Some(Outcome::Cancelled);
        }
        Body::Task(task) if task.state == WorkState::Running => task.state = WorkState::Unknown,
        Body::Helper(helper) if helper.state == WorkState::Running => helper.state = WorkState::Unknown,
        Body::Compaction(compaction) if compaction.state == CompactionState::Running => {
            compaction.state = CompactionState::Cancelled;
        }
        _ => return false,
    }
    true
}

/// The one row that explains a cut turn.
fn warning(session: &Session, turn: &Row, seq: u64, owner: &Owner, at: Time) -> Row {
    let more = serde_json::json!({ "pid": owner.pid, "host": owner.host });
    Row {
        id: RowId::spell(&session.id, Key::new("cut").minted(turn.seq).as_str()),
        seq,
        session: session.id.clone(),
        turn: Some(turn.id.clone()),
        parent: None,
        producer: None,
        at: Some(at),
        ended_at: None,
        revision: 1,
        cursor: None,
        frames: [turn.frames[1]; 2],
        truncated: Vec::new(),
        extra: IndexMap::new(),
        body: Body::Status(Status {
            tone: Tone::Warning,
            text:
                "Tapline was ended in the middle of this turn; what the agent did after this is not recorded."
                    .to_owned(),
            detail: Some(Detail {
                code: Some("recorder_gone".to_owned()),
                source: Some("journal".to_owned()),
                more: Json::of(&more).ok(),
            }),
        }),
    }
}
