//! In which order rows are told in a document: turn by turn, each row after the one it stands under.
//!
//! A row's place is spelled as the `seq`s from its outermost row down to itself, and places sort as words do.

use std::collections::HashMap;
use std::sync::Arc;

use tapline_timeline::{Body, Row, RowId};

/// Rows above a row that are looked at. A longer chain, or a ring (which only broken data has), is cut.
const HIGHEST: usize = 16;

/// The rows in that order.
pub(crate) fn told(rows: &[Arc<Row>]) -> Vec<&Row> {
    let by_id: HashMap<&RowId, &Row> = rows.iter().map(|row| (&row.id, &**row)).collect();
    let mut placed: Vec<(Vec<u64>, &Row)> = rows.iter().map(|row| (place(row, &by_id), &**row)).collect();
    placed.sort_by(|(a, _), (b, _)| a.cmp(b));
    placed.into_iter().map(|(_, row)| row).collect()
}

fn place(row: &Row, by_id: &HashMap<&RowId, &Row>) -> Vec<u64> {
    let mut place = vec![row.seq];
    let mut at = row;
    while place.len() < HIGHEST {
        let Some(next) = above(at).into_iter().find_map(|id| by_id.get(id?)) else {
            break;
        };
        if place.contains(&next.seq) {
            break;
        }
        place.push(next.seq);
        at = next;
    }
    place.reverse();
    place
}

/// What a row may stand under, the nearest first.
fn above(row: &Row) -> [Option<&RowId>; 3] {
    match &row.body {
        Body::Turn(_) => [None; 3],
        Body::Request(request) => [row.parent.as_ref(), request.tool.as_ref(), row.turn.as_ref()],
        _ => [row.parent.as_ref(), row.turn.as_ref(), None],
    }
}
