//! What stands beside the conversation: notices, compactions, messages between sessions.

use std::borrow::Cow;

use tapline_timeline::{
    CompactionNews, CompactionState, Content, Detail, Event, Part, SessionMessageNews, Tone,
};
use tapline_wire::{Block, Patch};

use super::{Reading, unknown};
use crate::io::Io;
use crate::parts;

pub(super) fn notice(io: &mut Io<'_>, reading: Reading<'_>) {
    let (update, session, turn) = (reading.update, reading.session, reading.turn);
    let fields = &update.fields;
    let tone = match fields.severity.as_deref() {
        Some("warning") => Tone::Warning,
        Some("error") => Tone::Error,
        _ => Tone::Info,
    };
    let text = match (fields.title.as_deref(), fields.description.as_deref()) {
        (Some(title), Some(description)) => Cow::Owned(format!("{title}\n{description}")),
        (Some(one), None) | (None, Some(one)) => Cow::Borrowed(one),
        (None, None) => return unknown(io, session, update),
    };
    let detail = Detail {
        code: fields.severity.as_deref().map(str::to_owned),
        source: Some("notice".to_owned()),
        more: None,
    };
    io.event(
        session,
        Event::Status {
            turn,
            tone,
            text,
            detail: Some(detail),
        },
    );
}

pub(super) fn compaction(io: &mut Io<'_>, reading: Reading<'_>) {
    let (update, kind, session, turn) = (reading.update, reading.kind, reading.session, reading.turn);
    let fields = &update.fields;
    let Some(id) = fields.compaction_id.as_deref() else {
        return unknown(io, session, update);
    };
    let mut blobs = |hash: &str, bytes: &[u8]| io.out.blob(hash, bytes);
    let piece = match kind {
        "compaction_summary_chunk" => fields
            .content
            .and_then(Block::read)
            .map(|b| parts::part(&b, &mut blobs)),
        _ => None,
    };
    let summary = match &fields.summary {
        Patch::Value(raw) => Some(parts::content(&Block::read_all(raw).items, &mut blobs)),
        Patch::Null => Some(Content::default()),
        Patch::Absent => None,
    };
    let state = match fields.status.as_deref() {
        Some("in_progress") => Some(CompactionState::Running),
        Some("completed") => Some(CompactionState::Completed),
        Some("failed") => Some(CompactionState::Failed),
        Some("cancelled") => Some(CompactionState::Cancelled),
        _ => None,
    };
    let detail = fields.error.and_then(parts::json);
    io.event(
        session,
        Event::Compaction(CompactionNews {
            compaction: Cow::Borrowed(id),
            turn,
            state,
            summary,
            piece,
            detail,
        }),
    );
}

pub(super) fn session_message(io: &mut Io<'_>, reading: Reading<'_>) {
    let (update, kind, session) = (reading.update, reading.kind, reading.session);
    let fields = &update.fields;
    let Some(message) = fields.message_id.as_deref() else {
        return unknown(io, session, update);
    };
    let mut blobs = |hash: &str, bytes: &[u8]| io.out.blob(hash, bytes);
    let (content, piece) = match kind {
        "session_message_chunk" => (
            None,
            fields
                .content
                .and_then(Block::read)
                .map(|b| parts::part(&b, &mut blobs)),
        ),
        _ => (
            fields
                .content
                .map(|raw| parts::content(&Block::read_all(raw).items, &mut blobs)),
            None,
        ),
    };
    let news = SessionMessageNews {
        message,
        from: fields.sender_session_id.clone(),
        to: fields.recipient_session_id.clone(),
        content,
        piece: piece.filter(|p| !matches!(p, Part::Text { text } if text.is_empty())),
    };
    io.event(session, Event::SessionMessage(news));
}
