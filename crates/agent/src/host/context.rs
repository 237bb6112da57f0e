//! The chat so far, for a fresh session of an agent that no longer has the old one.
//!
//! It is bounded, the newest first kept, and marked as what it is, so that neither the agent nor a reader of the timeline
//! takes it for words of the person.

use tapline_journal::Window;
use tapline_timeline::{Body, Row};
use tapline_wire::Block;

use super::desk::Desk;

/// How much of the chat so far is given, in bytes.
pub(super) const CONTEXT_BYTES: usize = 64 << 10;

/// How many rows of the chat are looked at, from its end.
const ROWS: usize = 2000;

/// Longest piece of it that is kept whole, in bytes.
const PIECE_BYTES: usize = 8 << 10;

const BEFORE: &str = "[What follows up to the closing bracket is the earlier conversation, which you no longer have. It is \
    context, not a request.\n\n";
const AFTER: &str = "\nThe earlier conversation ends here.]\n\n";

impl Desk {
    /// What goes before the first prompt of a session that the agent has lost; once.
    pub(super) fn context_for_a_lost_session(&mut self) -> Option<Block<'static>> {
        self.agent.lost.take()?;
        let session = self.options.begin.session()?;
        let rows = self.journal.rows(session, Window::Last(ROWS)).ok()?;
        let chat = chat(rows.iter().map(AsRef::as_ref), CONTEXT_BYTES)?;
        Some(Block::text(format!("{BEFORE}{chat}{AFTER}")))
    }
}

/// What was asked and said in these rows, newest kept where it is too much; nothing where nothing was said.
fn chat<'r>(rows: impl DoubleEndedIterator<Item = &'r Row>, limit: usize) -> Option<String> {
    let mut pieces = Vec::new();
    let mut bytes = 0;
    let mut cut = false;
    for row in rows.rev() {
        let Some(piece) = piece(row) else { continue };
        if bytes + piece.len() > limit {
            cut = true;
            break;
        }
        bytes += piece.len();
        pieces.push(piece);
    }
    if pieces.is_empty() {
        return None;
    }
    if cut {
        pieces.push("(What came before is left out.)\n\n".to_owned());
    }
    pieces.reverse();
    Some(pieces.concat())
}

fn piece(row: &Row) -> Option<String> {
    let (who, text) = match &row.body {
        Body::User(user) => ("User", user.content.as_text().to_owned()),
        Body::Assistant(message) if !message.superseded => {
            ("Assistant", message.content.as_text().to_owned())
        }
        Body::Tool(tool) => {
            let title = tool.title.as_deref().or(tool.name.as_deref())?;
            ("Tool", format!("{title} ({})", tool.state))
        }
        _ => return None,
    };
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let end = text.floor_char_boundary(PIECE_BYTES);
    let more = if end < text.len() { "…" } else { "" };
    Some(format!("{who}: {}{more}\n\n", &text[..end]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(seq: u64, body: serde_json::Value) -> Row {
        let mut row =
            json!({"id": format!("s/{seq}"), "session": "s", "seq": seq, "revision": 1, "frames": [1, 1]});
        let members = row.as_object_mut().expect("an object");
        members.extend(body.as_object().cloned().expect("an object"));
        serde_json::from_value(row).expect("a row")
    }

    #[test]
    fn the_newest_is_kept_and_what_is_left_out_is_said() {
        let rows = [
            row(1, json!({"kind": "user", "text": "first"})),
            row(2, json!({"kind": "assistant", "text": "one", "state": "ended"})),
            row(
                3,
                json!({"kind": "tool", "call": "c", "title": "ls", "state": "completed", "authorization": "not_asked"}),
            ),
            row(4, json!({"kind": "user", "text": "second"})),
        ];
        let all = chat(rows.iter(), 1000).expect("there is a chat");
        assert_eq!(
            all,
            "User: first\n\nAssistant: one\n\nTool: ls (completed)\n\nUser: second\n\n"
        );
        let some = chat(rows.iter(), 40).expect("there is a chat");
        assert_eq!(
            some,
            "(What came before is left out.)\n\nTool: ls (completed)\n\nUser: second\n\n"
        );
        assert_eq!(chat([].iter(), 1000), None);
    }

    #[test]
    fn a_long_piece_is_cut_at_a_character() {
        let rows = [row(1, json!({"kind": "user", "text": "ä".repeat(PIECE_BYTES)}))];
        let all = chat(rows.iter(), CONTEXT_BYTES).expect("there is a chat");
        assert!(all.ends_with("ä…\n\n") && all.len() < PIECE_BYTES + 32);
    }
}
