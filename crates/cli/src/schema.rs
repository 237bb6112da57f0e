//! `tapline schema`: the JSON Schema of the timeline format.

use std::io::Write;

use tapline_timeline::{Row, Session};

use crate::Outcome;

pub(crate) fn run() -> Outcome {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &schema()).map_err(std::io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

/// A line of the format is a session or a row.
pub(crate) fn schema() -> serde_json::Value {
    let mut generator = schemars::SchemaGenerator::default();
    let session = generator.subschema_for::<Session>();
    let row = generator.subschema_for::<Row>();
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a Tapline timeline, version 1",
        "anyOf": [session, row],
        "$defs": generator.take_definitions(true),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_in_the_repository_is_the_one_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../formats/timeline.schema.json");
        let text = std::fs::read_to_string(path).expect("formats/timeline.schema.json is in the repository");
        let stored: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(
            stored,
            super::schema(),
            "write it anew with `cargo run -p tapline-cli -- schema > formats/timeline.schema.json`"
        );
    }
}
