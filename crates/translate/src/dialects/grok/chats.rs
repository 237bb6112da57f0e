//! What must be remembered between frames: a little by session, and a little by tool call. Both have limits; what goes
//! first is what was used longest ago, and all that is lost with it is a hint (a label, a parent), never a row.

use indexmap::IndexMap;

/// Most sessions of which something is remembered.
const SESSIONS: usize = 256;
/// Most tool calls of which something is remembered.
const CALLS: usize = 512;
/// Most helpers whose name is remembered.
const HELPERS: usize = 512;
/// Longest label that is remembered, in bytes.
const LABEL: usize = 1024;
/// Most tasks that one call names.
const TASKS_OF_A_CALL: usize = 64;
/// Turns of a session that ended last.
const ENDED: usize = 8;

/// What is known of a session.
#[derive(Debug, Default)]
pub(super) struct Chat {
    /// The key of the turn that runs, by the agent's word.
    pub running: Option<Box<str>>,
    /// The keys of turns that ended last.
    ended: Vec<Box<str>>,
    /// The turn and the mark of the model call whose text is being streamed.
    pub stream: Option<(Box<str>, Box<str>)>,
    /// The stream broke: a new one in the same turn says its text again.
    pub broken: bool,
    /// A frame named its turn: so every frame that matters does.
    pub labelled: bool,
    /// A plan was told.
    pub planned: bool,
    /// The model that this session was set to, where it differs from the connection's.
    pub model: Option<Box<str>>,
    /// The version of the catalogue that was told last.
    pub told_version: u32,
    /// The window that was told last (`Some(None)`: that it is unknown).
    pub told_window: Option<Option<u64>>,
    /// The compaction that runs.
    pub compaction: Option<Box<str>>,
    /// How many compactions this connection told of.
    pub compactions: u32,
    /// The steering message that was shown last.
    pub interjection: Option<Box<str>>,
}

impl Chat {
    /// The turn runs now, unless it has ended.
    pub(super) fn runs(&mut self, turn: &str) {
        if self.running.as_deref() != Some(turn) && !self.has_ended(turn) {
            self.running = Some(turn.into());
        }
    }

    pub(super) fn has_ended(&self, turn: &str) -> bool {
        self.ended.iter().any(|t| &**t == turn)
    }

    /// The turn ended.
    pub(super) fn ends(&mut self, turn: &str) {
        if self.running.as_deref() == Some(turn) {
            self.running = None;
        }
        if self.stream.as_ref().is_some_and(|(t, _)| &**t == turn) {
            (self.stream, self.broken) = (None, false);
        }
        if !self.has_ended(turn) {
            if self.ended.len() >= ENDED {
                self.ended.remove(0);
            }
            self.ended.push(turn.into());
        }
    }

    /// A turn of this key begins again: a client may use an id twice.
    pub(super) fn begins_again(&mut self, turn: &str) {
        self.ended.retain(|t| &**t != turn);
        self.running = Some(turn.into());
    }
}

/// What is known of a tool call.
#[derive(Debug, Default)]
pub(super) struct CallMemo {
    /// The session in which it was announced.
    pub session: Box<str>,
    /// What its input calls it.
    pub description: Option<Box<str>>,
    /// The tasks that its input names.
    pub tasks: Vec<Box<str>>,
    /// It kills what its input names.
    pub kills: bool,
    /// It starts a helper.
    pub starts_helpers: bool,
    /// It starts a helper, and none is known yet.
    pub spawns: bool,
    /// The first line of what it asks a helper.
    pub prompt: Option<Box<str>>,
}

/// Everything that is remembered.
#[derive(Debug, Default)]
pub(super) struct Chats {
    chats: IndexMap<Box<str>, Chat>,
    /// The one that was looked at last: most frames are of one session, and comparing is cheaper than hashing.
    last: usize,
    calls: IndexMap<Box<str>, CallMemo>,
    /// What each helper is called.
    helpers: IndexMap<Box<str>, Box<str>>,
}

impl Chats {
    /// What is known of a session.
    pub(super) fn of(&mut self, session: &str) -> &mut Chat {
        let is_last = self
            .chats
            .get_index(self.last)
            .is_some_and(|(name, _)| **name == *session);
        if !is_last {
            self.last = match self.chats.get_index_of(session) {
                Some(at) => at,
                None => {
                    if self.chats.len() >= SESSIONS {
                        self.chats.shift_remove_index(0);
                    }
                    self.chats.insert_full(session.into(), Chat::default()).0
                }
            };
        }
        &mut self.chats[self.last]
    }

    /// The sessions of which something is known.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Chat> {
        self.chats.values_mut()
    }

    /// What is known of a call; it is remembered from now on.
    pub(super) fn call(&mut self, call: &str) -> &mut CallMemo {
        if !self.calls.contains_key(call) {
            if self.calls.len() >= CALLS {
                self.calls.shift_remove_index(0);
            }
            self.calls.insert(call.into(), CallMemo::default());
        }
        &mut self.calls[call]
    }

    /// What is known of a call, if anything.
    pub(super) fn known_call(&self, call: &str) -> Option<&CallMemo> {
        self.calls.get(call)
    }

    /// The call in this session that starts a helper and has none yet: the one described like this, else the only one.
    pub(super) fn spawning(&mut self, session: &str, description: Option<&str>) -> Option<Box<str>> {
        let mut open = self
            .calls
            .iter_mut()
            .filter(|(_, c)| c.spawns && &*c.session == session);
        let (first, rest) = (open.next()?, open);
        let mut all: Vec<_> = std::iter::once(first).chain(rest).collect();
        let same = all
            .iter()
            .position(|(_, c)| description.is_some() && c.description.as_deref() == description);
        let at = same.or((all.len() == 1).then_some(0))?;
        let (call, memo) = &mut all[at];
        memo.spawns = false;
        Some(call.clone())
    }

    /// A helper is called this, where anything says so.
    pub(super) fn name_helper(&mut self, helper: &str, label: Option<&str>) {
        if self.helpers.len() >= HELPERS && !self.helpers.contains_key(helper) {
            self.helpers.shift_remove_index(0);
        }
        let known = self.helpers.entry(helper.into()).or_default();
        if let Some(label) = label {
            *known = clip(label).into();
        }
    }

    /// What a helper is called; empty where nobody said.
    pub(super) fn helper(&self, helper: &str) -> Option<&str> {
        self.helpers.get(helper).map(|label| &**label)
    }
}

impl CallMemo {
    /// Remembers what the call's input calls it.
    pub(super) fn describe(&mut self, description: &str) {
        self.description = Some(clip(description.trim()).into());
    }

    /// Remembers a task that the call's input names.
    pub(super) fn names_task(&mut self, task: &str) {
        if self.tasks.len() < TASKS_OF_A_CALL && !self.tasks.iter().any(|t| &**t == task) {
            self.tasks.push(task.into());
        }
    }
}

fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(LABEL)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_reached_and_what_is_oldest_goes_first() {
        let mut chats = Chats::default();
        for n in 0..=SESSIONS {
            chats.of(&format!("s{n}")).planned = true;
        }
        assert_eq!(chats.all().count(), SESSIONS);
        assert!(chats.of("s1").planned, "a later one is still known");
        for n in 0..=CALLS {
            chats.call(&format!("c{n}")).kills = true;
        }
        assert!(chats.known_call("c0").is_none() && chats.known_call("c1").is_some());
        assert_eq!(chats.calls.len(), CALLS);
        for n in 0..=HELPERS {
            chats.name_helper(&format!("h{n}"), Some("Named"));
        }
        assert_eq!(chats.helpers.len(), HELPERS);
        // One that is known pushes nothing out.
        chats.name_helper("h1", None);
        assert_eq!((chats.helper("h0"), chats.helper("h1")), (None, Some("Named")));
        assert_eq!(chats.helpers.len(), HELPERS);
    }

    #[test]
    fn a_call_names_each_task_once_and_not_too_many() {
        let mut memo = CallMemo::default();
        for _ in 0..2 {
            for n in 0..=TASKS_OF_A_CALL {
                memo.names_task(&format!("t{n}"));
            }
        }
        let tasks: Vec<String> = (0..TASKS_OF_A_CALL).map(|n| format!("t{n}")).collect();
        assert_eq!(memo.tasks.iter().map(|t| &**t).collect::<Vec<_>>(), tasks);
    }

    #[test]
    fn a_label_is_cut_in_front_of_the_character_that_does_not_fit() {
        let label = format!("a{}", "é".repeat(LABEL));
        assert_eq!(clip(&label), &label[..LABEL - 1]);
        assert_eq!(clip("short"), "short");
    }

    #[test]
    fn a_turn_that_ended_does_not_run_again_until_many_others_have_ended() {
        let mut chat = Chat::default();
        for n in 0..ENDED {
            chat.ends(&format!("t{n}"));
            chat.ends(&format!("t{n}"));
        }
        chat.runs("t0");
        assert_eq!(chat.running, None);
        chat.ends("another");
        chat.runs("t0");
        assert_eq!(chat.running.as_deref(), Some("t0"));
        assert_eq!(chat.ended.len(), ENDED);
    }
}
