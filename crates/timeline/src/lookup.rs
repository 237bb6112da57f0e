//! What the assembler needs around it: a place for changes, and a way to ask for what it has forgotten.

use std::sync::Arc;

use crate::change::Sink;
use crate::id::RowId;
use crate::row::Row;

/// Finds rows by id. It never searches: an id is spelled, not found.
pub trait Lookup {
    /// The row as its last change left it, or nothing if the session has no such row. It sees every change that the
    /// sink beside it was given.
    fn row(&self, id: &RowId) -> Option<Arc<Row>>;
}

/// Takes changes and finds rows: what the assembler works against.
pub trait Host: Sink + Lookup {}

impl<T: Sink + Lookup + ?Sized> Host for T {}
