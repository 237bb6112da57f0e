//! `tapline search`: words in everything that was said and run.

use std::io::{BufWriter, Write};

use tapline_journal::{Journal, SearchQuery, Window};
use tapline_timeline::{Authorization, Body, Kind, Row, SessionId, ToolItem, ToolState};

use super::{failed, find, open};
use crate::failure::Failure;
use crate::settings::count;
use crate::{Outcome, translate};

/// Hits that are read at once.
const PAGE: usize = 200;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  tapline search 'flaky test'
  tapline search '\"flaky test\"' --kind tool --kind assistant
  tapline search --unasked")]
pub(crate) struct Args {
    /// The words; a row is found that holds them all (`"two words"` in quotes: side by side; `word*`: a beginning)
    #[arg(required_unless_present = "unasked")]
    words: Vec<String>,
    /// Only in this session: its id, a beginning of it, or `last`
    #[arg(long)]
    session: Option<String>,
    /// Only rows of this kind (`user`, `assistant`, `tool`, …); may be said several times
    #[arg(long, value_parser = kind)]
    kind: Vec<Kind>,
    /// Only tools that changed something without asking
    #[arg(long)]
    unasked: bool,
    /// At most this many hits
    #[arg(long, short = 'n', value_name = "HITS", default_value_t = 20, value_parser = count)]
    limit: usize,
    /// Print JSON Lines
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let (_, journal) = open()?;
    let session = match &args.session {
        Some(wanted) => Some(find(&*journal, wanted)?.session.id),
        None => None,
    };
    if args.words.is_empty() {
        return unasked(&*journal, session.as_ref(), args);
    }
    let words = args.words.join(" ");
    if !words.contains(char::is_alphanumeric) {
        let what = format!("there is no word in {words:?}; search for letters or digits");
        return Err(Failure::Usage(what));
    }
    let mut query = SearchQuery {
        words,
        kinds: args.kind.clone(),
        session,
        limit: args.limit.min(PAGE),
        after: None,
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut found = 0;
    'all: loop {
        let hits = journal.search(&query).map_err(failed)?;
        let Some(last) = hits.last() else { break };
        query.after = Some(last.place);
        for hit in hits {
            if args.unasked {
                let row = journal.row(&hit.row).map_err(failed)?;
                if !row.is_some_and(|row| is_unasked(&row)) {
                    continue;
                }
            }
            found += 1;
            if args.json {
                let value = serde_json::json!({
                    "session": hit.session, "row": hit.row, "seq": hit.seq, "kind": hit.kind.as_str(), "text": hit.snippet.text,
                });
                translate::line(&mut out, &value)?;
            } else {
                let text = tapline_render::clean_line(&hit.snippet.text, true);
                writeln!(out, "{}  {} {}\n    {text}", hit.session, hit.kind, hit.seq)?;
            }
            if found == args.limit {
                break 'all;
            }
        }
    }
    out.flush()?;
    nothing_if(found == 0, args)
}

/// A kind of row, by its name.
fn kind(word: &str) -> Result<Kind, String> {
    Kind::parse(word).ok_or_else(|| {
        let all: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("the kinds are: {}", all.join(", "))
    })
}

fn nothing_if(nothing: bool, args: &Args) -> Outcome {
    if !nothing {
        return Ok(());
    }
    let what = if args.words.is_empty() {
        "no tool changed something without asking".to_owned()
    } else {
        format!("nothing found for {:?}", args.words.join(" "))
    };
    Err(Failure::NotThere(what))
}

fn unasked(journal: &dyn Journal, session: Option<&SessionId>, args: &Args) -> Outcome {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut left = args.limit;
    let sessions = match session {
        Some(session) => vec![session.clone()],
        None => super::all(journal)?.into_iter().map(|e| e.session.id).collect(),
    };
    let mut found = 0;
    for session in sessions {
        if left == 0 {
            break;
        }
        super::each_page(journal, &session, |rows| {
            for row in rows.iter().filter(|row| is_unasked(row)) {
                if left == 0 {
                    return Ok(());
                }
                left -= 1;
                found += 1;
                let Body::Tool(tool) = &row.body else { continue };
                let title = tool
                    .title
                    .as_deref()
                    .or(tool.name.as_deref())
                    .unwrap_or(&tool.call);
                if args.json {
                    let value = serde_json::json!({
                        "session": row.session, "row": row.id, "seq": row.seq, "kind": row.kind().as_str(), "text": title,
                    });
                    translate::line(&mut out, &value)?;
                } else {
                    writeln!(
                        out,
                        "{}  tool {}\n    {}",
                        row.session,
                        row.seq,
                        tapline_render::clean_line(title, true)
                    )?;
                }
            }
            Ok(())
        })?;
    }
    out.flush()?;
    nothing_if(found == 0, args)
}

/// A tool that changed something, or ran a command, without anyone having been asked.
pub(crate) fn is_unasked(row: &Row) -> bool {
    let Body::Tool(tool) = &row.body else { return false };
    let changes = matches!(
        tool.tool_kind.as_deref(),
        Some("edit" | "delete" | "move" | "execute")
    ) || tool.content.iter().any(|item| matches!(item, ToolItem::Diff(_)));
    changes && tool.authorization == Authorization::NotAsked && tool.state == ToolState::Completed
}

/// Whether a session holds such a tool.
pub(crate) fn has_unasked(journal: &dyn Journal, session: &SessionId) -> Result<bool, Failure> {
    let mut from = 1;
    loop {
        let rows = journal.rows(session, Window::From(from, 1000)).map_err(failed)?;
        let Some(last) = rows.last() else { return Ok(false) };
        from = last.seq + 1;
        if rows.iter().any(|row| is_unasked(row)) {
            return Ok(true);
        }
    }
}
