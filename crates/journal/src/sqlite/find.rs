//! Search: the index answers with places, the rows give the words around.

use rusqlite::params;
use tapline_timeline::Kind;

use crate::SEARCH_LIMIT;
use crate::error::Error;
use crate::model::*;
use crate::text::{Query, words_of};

use super::read::{Db, low};
use super::{SHIFT, session_range};

impl Db<'_> {
    /// Rows that hold all words: the youngest session first, in each the last row first. The order is that of the
    /// index itself, so the first hits of a million cost what the first hits of ten do.
    pub(super) fn search(self, query: &SearchQuery) -> Result<Vec<Hit>, Error> {
        let words = Query::parse(&query.words);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let (mut from, mut to) = (0, i64::MAX);
        if let Some(session) = &query.session {
            let Some(number) = self.number(session)? else {
                return Ok(Vec::new());
            };
            (from, to) = session_range(number);
        }
        if let Some(after) = query.after {
            to = to.min(after.0 - 1);
        }
        from = from.min(to);
        let limit = if query.limit == 0 {
            SEARCH_LIMIT
        } else {
            query.limit
        };
        let sql = "SELECT rowid FROM search WHERE search MATCH ? AND rowid BETWEEN ? AND ? ORDER BY rowid DESC LIMIT ?";
        let found: Vec<i64> = self.list(
            "searching",
            sql,
            params![words.fts(&query.kinds), from, to, limit],
            |row| row.get(0),
        )?;
        found.into_iter().map(|rid| self.hit(rid, &words)).collect()
    }

    fn hit(self, rid: i64, words: &Query) -> Result<Hit, Error> {
        let session = self.session_id(rid >> SHIFT)?;
        let id = self.id_at(rid >> SHIFT, rid)?;
        // A row that cannot be read is still found; the reader is told when it opens it.
        let row = self.row_at(rid).ok().flatten();
        Ok(Hit {
            seq: low(rid),
            kind: row.as_ref().map_or(Kind::Unknown, |row| row.kind()),
            snippet: row.map(|row| words.snippet(&words_of(&row))).unwrap_or_default(),
            session,
            row: id,
            place: HitPlace(rid),
        })
    }
}
