//! How the assembler asks for what it has forgotten.

use std::sync::Arc;

use crate::id::RowId;
use crate::row::Row;

/// Finds rows by id. It never searches: an id is spelled, not found.
pub trait Lookup {
    /// The row as its last change left it, or nothing if the session has no such row.
    fn row(&self, id: &RowId) -> Option<Arc<Row>>;
}
