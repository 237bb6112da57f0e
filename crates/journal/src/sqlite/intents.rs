//! Intents: what someone wants of a session, claimed once by its owner.

use rusqlite::{Row as SqlRow, ToSql, params};
use tapline_timeline::{Json, SessionId};

use crate::LIST_LIMIT;
use crate::error::Error;
use crate::model::*;

use super::read::Db;
use super::store::Store;
use crate::writer::now_ms;

const INTENT: &str =
    "SELECT i.id, s.id, i.kind, i.payload, i.by, i.posted_ms, i.state, i.generation, i.outcome
    FROM intents i JOIN sessions s ON s.num = i.session";

impl Db<'_> {
    pub(super) fn intents(self, query: &IntentQuery) -> Result<Vec<Intent>, Error> {
        let mut sql = format!("{INTENT} WHERE 1");
        let mut values: Vec<Box<dyn ToSql>> = Vec::new();
        if let Some(session) = &query.session {
            let Some(number) = self.number(session)? else {
                return Ok(Vec::new());
            };
            sql.push_str(" AND i.session = ?");
            values.push(Box::new(number));
        }
        match query.state {
            // Spelled out, so that the index over open intents serves.
            Some(IntentState::Open) => sql.push_str(" AND i.state = 'open'"),
            Some(state) => {
                sql.push_str(" AND i.state = ?");
                values.push(Box::new(state.as_str()));
            }
            None => {}
        }
        sql.push_str(" AND i.id > ? ORDER BY i.id LIMIT ?");
        values.push(Box::new(query.after.map_or(0, |id| id.0)));
        values.push(Box::new(if query.limit == 0 { LIST_LIMIT } else { query.limit }));
        self.list(
            "reading intents",
            &sql,
            rusqlite::params_from_iter(values),
            intent,
        )
    }

    fn intent(self, id: IntentId) -> Result<Intent, Error> {
        let sql = format!("{INTENT} WHERE i.id = ?");
        self.one("reading an intent", &sql, [id.0], intent)?
            .ok_or(Error::NoIntent { intent: id })
    }

    /// Whether there is an intent after this one.
    pub(super) fn has_intent(self, session: Option<&SessionId>, after: IntentId) -> Result<bool, Error> {
        let query = IntentQuery {
            session: session.cloned(),
            state: None,
            after: Some(after),
            limit: 1,
        };
        Ok(!self.intents(&query)?.is_empty())
    }
}

impl Store {
    pub(super) fn post_intent(&mut self, new: &NewIntent) -> Result<Intent, Error> {
        let number = self.db().need(&new.session)?;
        let sql = "SELECT mode FROM sessions WHERE num = ?";
        let mode: Option<String> = self
            .db()
            .one("posting an intent", sql, [number], |row| row.get(0))?;
        mode.as_deref()
            .and_then(Mode::parse)
            .unwrap_or(Mode::Imported)
            .takes_intents()?;
        self.exec(
            "posting an intent",
            "INSERT INTO intents (session, kind, payload, by, posted_ms, state) VALUES (?, ?, ?, ?, ?, 'open')",
            params![number, new.kind, new.payload.as_str(), new.by, now_ms()],
        )?;
        self.db()
            .intent(IntentId(self.conn.last_insert_rowid().unsigned_abs()))
    }

    pub(super) fn edit_intent(&mut self, id: IntentId, payload: &Json) -> Result<Intent, Error> {
        let sql = "UPDATE intents SET payload = ?2 WHERE id = ?1 AND state = 'open'";
        self.change_intent(id, sql, params![id.0, payload.as_str()])
    }

    pub(super) fn withdraw_intent(&mut self, id: IntentId) -> Result<Intent, Error> {
        let sql = "UPDATE intents SET state = 'withdrawn' WHERE id = ?1 AND state = 'open'";
        self.change_intent(id, sql, [id.0])
    }

    pub(super) fn claim_intent(&mut self, id: IntentId, owner: &Generation) -> Result<Intent, Error> {
        self.check_owner(id, owner)?;
        let sql = "UPDATE intents SET state = 'claimed', generation = ?2 WHERE id = ?1 AND state = 'open'";
        self.change_intent(id, sql, params![id.0, owner.number])
    }

    pub(super) fn finish_intent(
        &mut self,
        id: IntentId,
        owner: &Generation,
        outcome: &Json,
        kept: Option<&Json>,
    ) -> Result<Intent, Error> {
        self.check_owner(id, owner)?;
        let sql = "UPDATE intents SET state = 'done', outcome = ?3, payload = coalesce(?4, payload) WHERE id = ?1 AND state = 'claimed' AND generation = ?2";
        self.change_intent(
            id,
            sql,
            params![id.0, owner.number, outcome.as_str(), kept.map(Json::as_str)],
        )
    }

    fn change_intent(
        &mut self,
        id: IntentId,
        sql: &str,
        params: impl rusqlite::Params,
    ) -> Result<Intent, Error> {
        let changed = self.exec("changing an intent", sql, params)?;
        let intent = self.db().intent(id)?;
        if changed == 0 {
            Err(Error::IntentTaken {
                intent: id,
                state: intent.state,
            })
        } else {
            Ok(intent)
        }
    }

    /// An intent is claimed by who holds its session now.
    fn check_owner(&self, id: IntentId, owner: &Generation) -> Result<(), Error> {
        let sql = "SELECT sessions.generation FROM sessions JOIN intents ON session = num WHERE intents.id = ? AND sessions.id = ?";
        let current: Option<u64> = self.db().one(
            "claiming an intent",
            sql,
            params![id.0, owner.session.as_str()],
            |row| row.get(0),
        )?;
        match current {
            None => Err(Error::NoIntent { intent: id }),
            Some(current) if current == owner.number => Ok(()),
            Some(current) => Err(Error::Fenced {
                session: owner.session.clone(),
                held: owner.number,
                current,
            }),
        }
    }
}

fn intent(row: &SqlRow<'_>) -> rusqlite::Result<Intent> {
    let json = |index: usize, text: String| {
        Json::parse(&text).map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(index, rusqlite::types::Type::Text, Box::new(error))
        })
    };
    let (session, state, outcome): (String, String, Option<String>) = (row.get(1)?, row.get(6)?, row.get(8)?);
    Ok(Intent {
        id: IntentId(row.get(0)?),
        session: SessionId::from(session),
        kind: row.get(2)?,
        payload: json(3, row.get(3)?)?,
        by: row.get(4)?,
        posted_ms: row.get(5)?,
        state: IntentState::parse(&state).unwrap_or(IntentState::Done),
        generation: row.get(7)?,
        outcome: outcome.map(|text| json(8, text)).transpose()?,
    })
}
