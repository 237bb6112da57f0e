//! In which order rows are told to a reader: turn by turn, and each row under the one it belongs to.
//!
//! `seq` is the order in which rows appeared; `turn`, `parent` and a request's `tool` say where a row belongs. A row's
//! place is spelled as the `seq`s from its outermost row down to itself, and places sort as words do.

use std::collections::HashMap;
use std::sync::Arc;

use crate::id::RowId;
use crate::row::{Body, Row};

/// Rows above a row that are looked at. A longer chain (or a ring, which only broken data has) is cut.
const HIGHEST: usize = 16;

/// A row and how many rows it stands under, turns not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which of the rows.
    pub row: usize,
    /// How deep it stands.
    pub depth: usize,
}

/// The places of all rows, in the order in which they are told.
pub fn outline(rows: &[Arc<Row>]) -> Vec<Place> {
    let by_id: HashMap<&RowId, &Row> = rows.iter().map(|row| (&row.id, &**row)).collect();
    let mut places: Vec<(Vec<u64>, Place)> = rows
        .iter()
        .enumerate()
        .map(|(row, body)| {
            let (path, depth) = path(body, &by_id);
            (path, Place { row, depth })
        })
        .collect();
    places.sort_by(|(a, _), (b, _)| a.cmp(b));
    places.into_iter().map(|(_, place)| place).collect()
}

fn path(row: &Row, by_id: &HashMap<&RowId, &Row>) -> (Vec<u64>, usize) {
    let mut path = vec![row.seq];
    let mut depth = 0;
    let mut at = row;
    while path.len() < HIGHEST {
        let find = |id: Option<&RowId>| id.and_then(|id| by_id.get(id));
        let above = parents(at).into_iter().find_map(find);
        let Some(next) = above.or_else(|| find(at.turn.as_ref())) else {
            break;
        };
        if path.contains(&next.seq) {
            break;
        }
        depth += usize::from(above.is_some());
        path.push(next.seq);
        at = next;
    }
    path.reverse();
    (path, depth)
}

/// What a row may stand under beside its turn, the nearest first.
fn parents(row: &Row) -> [Option<&RowId>; 2] {
    match &row.body {
        Body::Turn(_) => [None; 2],
        Body::Request(request) => [row.parent.as_ref(), request.tool.as_ref()],
        _ => [row.parent.as_ref(), None],
    }
}
