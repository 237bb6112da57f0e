//! Chunks of messages: what the agent says and thinks, and what the user said.

use tapline_timeline::{Channel, Event, Text, Tone};
use tapline_wire::{Block, Update};

use super::{Reading, unknown};
use crate::connection::{LastChunk, Translator};
use crate::dialect::{Around, Chunk, Facts, Marks};
use crate::io::{Io, SessionRef};
use crate::parts;

impl Translator {
    pub(super) fn chunk(
        &mut self,
        io: &mut Io<'_>,
        at: usize,
        session: SessionRef,
        channel: Channel,
        update: &Update<'_>,
        marks: &Marks<'_>,
    ) {
        let message = update.fields.message_id.as_deref();
        let turn = marks.turn.as_deref();
        let Some(block) = update.fields.content.and_then(Block::read) else {
            return unknown(io, session, update);
        };
        let Some((name, state)) = self.sessions.get_index(at) else {
            return;
        };
        let around = Around {
            loading: state.replays(),
            ..Around::live(name, io.stamp.at)
        };
        let mut facts = Facts::default();
        self.dialect.update(around, update, marks, &mut facts);
        let reading = match &block {
            Block::Text { text } => self.dialect.chunk(around, channel, update, text),
            _ => Chunk::Said,
        };
        if !facts.events.is_empty() || !facts.children.is_empty() {
            self.tell(io, at, facts);
        }
        match (block, reading) {
            (_, Chunk::Dropped(rule)) => io.drop(rule),
            (Block::Text { text }, Chunk::Notice) => {
                io.event(
                    session,
                    Event::Status {
                        turn,
                        tone: Tone::Info,
                        text,
                        detail: None,
                    },
                );
            }
            (Block::Text { text }, Chunk::Apart) => {
                let (text, mark) = (&*text, marks.stream.as_deref());
                let said = Text {
                    turn,
                    channel,
                    message,
                    mark,
                    text,
                };
                io.event(session, Event::MessageEnds { turn });
                io.event(session, Event::Text(said));
                io.event(session, Event::MessageEnds { turn });
            }
            (Block::Text { text }, reading) => {
                let text = match &reading {
                    Chunk::SaidOnly(less) => less.as_ref(),
                    _ => &*text,
                };
                let mark = marks.stream.as_deref();
                io.event(
                    session,
                    Event::Text(Text {
                        turn,
                        channel,
                        message,
                        mark,
                        text,
                    }),
                );
                if self.dialect.chunks_are_plain() {
                    self.last_chunk = Some(LastChunk {
                        session,
                        channel,
                        message: message.map(Into::into),
                    });
                }
            }
            (block, _) => {
                let part = parts::part(&block, &mut |hash, bytes| io.out.blob(hash, bytes));
                io.event(
                    session,
                    Event::Media {
                        turn,
                        channel,
                        message,
                        part,
                    },
                );
            }
        }
    }
    pub(super) fn user_chunk(&mut self, io: &mut Io<'_>, reading: Reading<'_>) {
        let (update, session, turn) = (reading.update, reading.session, reading.turn);
        let Some(block) = update.fields.content.and_then(Block::read) else {
            return unknown(io, session, update);
        };
        if let Block::Text { text } = &block
            && let Some(rule) = self.dialect.hidden_user_chunk(reading.around, update, text)
        {
            io.drop(rule);
            return;
        }
        let part = parts::part(&block, &mut |hash, bytes| io.out.blob(hash, bytes));
        io.event(
            session,
            Event::UserPiece {
                turn,
                message: update.fields.message_id.as_deref(),
                part,
            },
        );
    }
}
