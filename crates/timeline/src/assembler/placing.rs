//! Placing: which turn something belongs to, and what may open one.
//!
//! What carries a key of its own goes to the turn of that key. What carries none belongs to the oldest prompt whose answer
//! has not come, else to a turn that the agent began itself.

use std::sync::Arc;

use super::turns::EndedTurn;
use super::{Assembler, Cx};
use crate::id::{Key, RowId};
use crate::limits;
use crate::row::{Body, Row};
use crate::time::Time;
use crate::word::*;

/// Where something belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The open turn at this index.
    Open(usize),
    /// The ended turn at this index.
    Ended(usize),
    /// No turn.
    Nowhere,
}

/// Whether something may open a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opens {
    /// A queued prompt's, or one of the agent's own.
    Any,
    /// A queued prompt's.
    Queued,
    /// None: it is only looked at.
    Nothing,
}

impl Assembler {
    /// Finds the turn that something belongs to, and opens it where that is allowed.
    pub(super) fn place(&mut self, cx: &mut Cx<'_>, turn: Option<&str>, opens: Opens) -> Place {
        match turn {
            Some(name) => self.place_named(cx, name, opens, None, None),
            None => self.place_unnamed(cx, opens),
        }
    }

    fn place_unnamed(&mut self, cx: &mut Cx<'_>, opens: Opens) -> Place {
        if let Some(at) = self.prompts.iter().position(|p| !p.over) {
            if let Some(serial) = self.prompts[at].turn {
                return self.open_at(serial).map_or(Place::Nowhere, Place::Open);
            }
            return match opens {
                Opens::Nothing => Place::Nowhere,
                Opens::Any | Opens::Queued => Place::Open(self.open_prompt(cx, at)),
            };
        }
        if let Some(index) = self.turns.iter().rposition(|t| !t.prompted) {
            return Place::Open(index);
        }
        match opens {
            Opens::Any => {
                let key = Key::new("t").part(cx.connection).minted(cx.frame);
                let id = RowId::spell(&self.session.id, key.as_str());
                Place::Open(self.open_turn(cx, id, None, Origin::Agent, None))
            }
            Opens::Queued | Opens::Nothing => Place::Nowhere,
        }
    }

    pub(super) fn place_named(
        &mut self,
        cx: &mut Cx<'_>,
        name: &str,
        opens: Opens,
        own: Option<bool>,
        at: Option<Time>,
    ) -> Place {
        if let Some(index) = self
            .turns
            .iter()
            .position(|t| t.names.iter().any(|n| &**n == name))
        {
            return Place::Open(index);
        }
        if let Some(prompt) = self
            .prompts
            .iter()
            .position(|p| !p.over && p.turn.is_none() && p.mark.as_deref() == Some(name))
        {
            return match opens {
                Opens::Nothing => Place::Nowhere,
                Opens::Any | Opens::Queued => Place::Open(self.open_prompt(cx, prompt)),
            };
        }
        if let Some(index) = self
            .ended
            .iter()
            .position(|t| t.names.iter().any(|n| &**n == name))
        {
            return Place::Ended(index);
        }
        let key = Key::new("t").part(name);
        if let Some((row, _)) = self.newest(cx, &key) {
            return Place::Ended(self.remember_ended(row, name));
        }
        if own != Some(true) {
            // The agent names the turn of a prompt to which the client gave no name.
            let nameless = self.prompts.iter().position(|p| !p.over && p.mark.is_none());
            if let Some(prompt) = nameless {
                let index = match self.prompts[prompt].turn {
                    Some(serial) => self.open_at(serial),
                    None if opens == Opens::Nothing => None,
                    None => Some(self.open_prompt(cx, prompt)),
                };
                self.prompts[prompt].mark = Some(name.into());
                if let Some(index) = index {
                    self.turns[index].names.push(name.into());
                    return Place::Open(index);
                }
                return Place::Nowhere;
            }
        }
        match opens {
            Opens::Any => {
                let id = RowId::spell(&self.session.id, key.as_str());
                let index = self.open_turn(cx, id, at, Origin::Agent, None);
                let turn = &mut self.turns[index];
                turn.names.push(name.into());
                turn.own_word = true;
                Place::Open(index)
            }
            Opens::Queued | Opens::Nothing => Place::Nowhere,
        }
    }

    fn remember_ended(&mut self, row: Arc<Row>, name: &str) -> usize {
        self.serial += 1;
        let stopped = matches!(&row.body, Body::Turn(t) if t.end == Some(End::Stopped));
        let ended = EndedTurn {
            serial: self.serial,
            row,
            names: vec![name.into()],
            stopped,
            failure: None,
        };
        self.push_ended(ended)
    }

    pub(super) fn push_ended(&mut self, ended: EndedTurn) -> usize {
        if self.ended.len() >= limits::ENDED_TURNS {
            self.ended.pop_front();
        }
        self.ended.push_back(ended);
        self.ended.len() - 1
    }

    /// Index of the open turn with this serial.
    pub(super) fn open_at(&self, serial: u64) -> Option<usize> {
        self.turns.iter().position(|t| t.serial == serial)
    }

    /// Row id of a place.
    pub(super) fn turn_id(&self, place: Place) -> Option<RowId> {
        match place {
            Place::Open(index) => Some(self.turns[index].row.id.clone()),
            Place::Ended(index) => Some(self.ended[index].row.id.clone()),
            Place::Nowhere => None,
        }
    }
}
