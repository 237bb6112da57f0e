//! The ids of blocks of text.

use std::collections::{HashMap, HashSet};

use crate::json::Text;

/// The ids of one kind of blocks. Models begin to count anew with every call; within a message an id
/// must not come twice.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    used: HashSet<Text>,
    /// The model's ids of this step, and what they are in the chunks.
    renamed: HashMap<Text, Text>,
    open: HashSet<Text>,
}

impl Blocks {
    pub(super) fn start(&mut self, id: &Text) -> Text {
        let mut unique = id.clone();
        let mut count = 1;
        while !self.used.insert(unique.clone()) {
            count += 1;
            unique = format!("{id}-{count}").into();
        }
        self.renamed.insert(id.clone(), unique.clone());
        self.open.insert(unique.clone());
        unique
    }

    /// The id that a block has in the chunks, and whether it is open.
    pub(super) fn find(&self, id: &Text) -> (Text, bool) {
        let id = self.renamed.get(id).unwrap_or(id).clone();
        let is_open = self.open.contains(&id);
        (id, is_open)
    }

    pub(super) fn end(&mut self, id: &Text) {
        let renamed = self.renamed.remove(id);
        self.open.remove(renamed.as_ref().unwrap_or(id));
    }

    pub(super) fn end_step(&mut self) {
        self.renamed.clear();
        self.open.clear();
    }
}
