//! Following a session: what changed after a cursor.

use std::collections::HashMap;

use rusqlite::params;
use tapline_timeline::{RowId, SessionId};

use crate::error::Error;
use crate::model::*;

use super::read::{Db, PIECE, ROW, Raw, low, piece, raw_row};
use super::{place, session_range};

impl Db<'_> {
    /// What changed after a cursor.
    ///
    /// Rows have the cursor of their last whole write, appended text its own. A reader that takes appends gets both as
    /// they stand; for one that does not, a row has the cursor of the later of the two. Text is kept as appended only
    /// for rows that grow, so there is never much of it.
    pub(super) fn follow(self, session: &SessionId, after: u64, follow: Follow) -> Result<Followed, Error> {
        let number = self.need(session)?;
        let wanted = follow.limit.max(1);
        let mut limit = wanted;
        loop {
            let sql =
                format!("SELECT {ROW} FROM rows WHERE session = ? AND cursor > ? ORDER BY cursor LIMIT ?");
            let put = self.list("reading news", &sql, params![number, after, limit], raw_row)?;
            // Nothing is known of rows that were written beyond the last of a full page.
            let horizon = if put.len() < limit {
                u64::MAX
            } else {
                put.last().map_or(u64::MAX, |raw| raw.cursor)
            };
            let mut news = if follow.appends {
                self.rows_and_appends(number, put, after, horizon)?
            } else {
                self.grown_rows(number, put, after, horizon)?
            };
            if let Some((mut object, cursor)) =
                self.object(number)?.filter(|(_, c)| *c > after && *c <= horizon)
            {
                object.cursor = Some(cursor);
                news.push(News::Session(Box::new(object)));
            }
            if news.is_empty() && horizon < u64::MAX {
                // All rows of this page have grown past its end: take a longer one.
                limit *= 2;
                continue;
            }
            news.sort_by_key(News::cursor);
            let more = news.len() > wanted || horizon < u64::MAX;
            news.truncate(wanted);
            let cursor = if more {
                news.last().map_or(after, News::cursor)
            } else {
                self.cursor(number)?.max(after)
            };
            return Ok(Followed { news, cursor, more });
        }
    }

    fn rows_and_appends(
        self,
        session: i64,
        put: Vec<Raw>,
        after: u64,
        horizon: u64,
    ) -> Result<Vec<News>, Error> {
        let mut news = Vec::with_capacity(put.len());
        for raw in put {
            news.push(News::Row(self.finish(raw, false)?));
        }
        let sql = format!("SELECT {PIECE} FROM appends WHERE aid BETWEEN ? AND ? ORDER BY aid");
        let (from, to) = (place(session, after + 1), place(session, horizon));
        let mut ids: HashMap<i64, RowId> = HashMap::new();
        let told = self.list("reading news", &sql, [from, to], piece)?;
        let streamed = self.streamed(session, None, after)?;
        for piece in told
            .into_iter()
            .chain(streamed)
            .filter(|piece| piece.cursor <= horizon)
        {
            let id = match ids.get(&piece.rid) {
                Some(id) => id.clone(),
                None => {
                    let id = self.id_at(session, piece.rid)?;
                    ids.entry(piece.rid).or_insert(id).clone()
                }
            };
            news.push(News::Append {
                id,
                seq: low(piece.rid),
                member: piece.grown.member,
                offset: piece.grown.offset,
                text: piece.text,
                cursor: piece.cursor,
            });
        }
        Ok(news)
    }

    fn grown_rows(self, session: i64, put: Vec<Raw>, after: u64, horizon: u64) -> Result<Vec<News>, Error> {
        let sql = "SELECT rid, max(aid) FROM appends WHERE aid BETWEEN ? AND ? GROUP BY rid";
        let (from, to) = (place(session, after + 1), session_range(session).1);
        let grown: Vec<(i64, i64)> = self.list("reading news", sql, [from, to], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let mut latest: HashMap<i64, u64> = grown.into_iter().map(|(rid, aid)| (rid, low(aid))).collect();
        latest.extend(
            self.streamed(session, None, after)?
                .iter()
                .map(|piece| (piece.rid, piece.cursor)),
        );
        let mut news = Vec::with_capacity(put.len());
        for raw in put {
            match latest.remove(&raw.rid) {
                None => news.push(News::Row(self.finish(raw, false)?)),
                Some(cursor) if cursor <= horizon => {
                    news.push(News::Row(self.finish(raw, true)?));
                }
                Some(_) => {}
            }
        }
        for (rid, _) in latest.into_iter().filter(|(_, cursor)| *cursor <= horizon) {
            news.extend(self.row_at(rid)?.map(News::Row));
        }
        Ok(news)
    }
}
