//! How a row is stored: its public JSON, without the cursor, and without the large values.
//!
//! A value over [`LARGE_BYTES`] is taken out as it is spelled and stored once under its hash; a list beside the JSON says
//! where it stood. Nothing passes through a JSON tree on the way: what an agent wrote (big numbers, doubled members,
//! odd spelling) comes back byte for byte. Rows below the limit, nearly all, are written as they are.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tapline_timeline::{Body, Media, Part, Row, ToolItem};

/// Size from which a value is stored as a blob, in bytes of its JSON.
pub const LARGE_BYTES: usize = 16 * 1024;

/// A row as it is stored.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) json: String,
    /// What was taken out.
    pub(crate) taken: Vec<Taken>,
    /// The values taken out: hash and bytes.
    pub(crate) blobs: Vec<(String, Vec<u8>)>,
    /// All blobs that the row needs, those of its attachments included.
    pub(crate) uses: Vec<String>,
}

/// Where a value stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Taken {
    member: String,
    /// For an item of a list: its place and its member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<(usize, String)>,
    blob: String,
}

type Members = IndexMap<String, Box<RawValue>>;

/// Name of some bytes in the blob store.
pub(crate) fn blob_hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().as_str().to_owned()
}

/// The form in which a row is stored.
pub(crate) fn store(row: &Row) -> Result<Stored, serde_json::Error> {
    let json = if row.cursor.is_some() {
        let mut plain = row.clone();
        plain.cursor = None;
        serde_json::to_string(&plain)?
    } else {
        serde_json::to_string(row)?
    };
    let mut stored = Stored {
        json,
        uses: attachments(row),
        ..Stored::default()
    };
    if stored.json.len() > LARGE_BYTES {
        take_large(&mut stored)?;
    }
    Ok(stored)
}

/// The row that was stored. `fetch` finds blobs by hash.
pub(crate) fn load<E: From<String>>(
    json: &str,
    taken: Option<&str>,
    fetch: &mut dyn FnMut(&str) -> Result<Vec<u8>, E>,
) -> Result<Row, E> {
    let say = |error: serde_json::Error| E::from(error.to_string());
    let Some(taken) = taken else {
        return serde_json::from_str(json).map_err(say);
    };
    let taken: Vec<Taken> = serde_json::from_str(taken).map_err(say)?;
    let mut members: Members = serde_json::from_str(json).map_err(say)?;
    let mut lists: IndexMap<String, Vec<Members>> = IndexMap::new();
    for place in taken {
        let text = String::from_utf8(fetch(&place.blob)?).map_err(|error| E::from(error.to_string()))?;
        let value = RawValue::from_string(text).map_err(say)?;
        match place.item {
            None => {
                members.insert(place.member, value);
            }
            Some((index, member)) => {
                if !lists.contains_key(&place.member) {
                    let raw = members.get(&place.member).map_or("[]", |raw| raw.get());
                    lists.insert(place.member.clone(), serde_json::from_str(raw).map_err(say)?);
                }
                match lists
                    .get_mut(&place.member)
                    .and_then(|items| items.get_mut(index))
                {
                    Some(item) => item.insert(member, value),
                    None => return Err(E::from(format!("`{}` has no item {index}", place.member))),
                };
            }
        }
    }
    for (member, items) in lists {
        members.insert(member, serde_json::value::to_raw_value(&items).map_err(say)?);
    }
    let whole = serde_json::to_string(&members).map_err(say)?;
    serde_json::from_str(&whole).map_err(say)
}

fn take_large(stored: &mut Stored) -> Result<(), serde_json::Error> {
    let mut members: Members = serde_json::from_str(&stored.json)?;
    let hole = serde_json::value::to_raw_value(&())?;
    for (name, value) in &mut members {
        if value.get().len() <= LARGE_BYTES {
            continue;
        }
        if !matches!(name.as_str(), "content" | "parts") {
            let blob = keep(&mut stored.blobs, std::mem::replace(value, hole.clone()));
            stored.taken.push(Taken {
                member: name.clone(),
                item: None,
                blob,
            });
            continue;
        }
        let mut items: Vec<Members> = serde_json::from_str(value.get())?;
        for (index, item) in items.iter_mut().enumerate() {
            for (member, value) in item
                .iter_mut()
                .filter(|(_, value)| value.get().len() > LARGE_BYTES)
            {
                let blob = keep(&mut stored.blobs, std::mem::replace(value, hole.clone()));
                stored.taken.push(Taken {
                    member: name.clone(),
                    item: Some((index, member.clone())),
                    blob,
                });
            }
        }
        *value = serde_json::value::to_raw_value(&items)?;
    }
    stored
        .uses
        .extend(stored.blobs.iter().map(|(hash, _)| hash.clone()));
    stored.json = serde_json::to_string(&members)?;
    Ok(())
}

impl Stored {
    /// The list of what was taken out, as it is stored beside the JSON.
    pub(crate) fn taken_json(&self) -> Option<String> {
        // Names, numbers and hashes always have a JSON form.
        (!self.taken.is_empty()).then(|| serde_json::to_string(&self.taken).unwrap_or_default())
    }
}

fn keep(blobs: &mut Vec<(String, Vec<u8>)>, value: Box<RawValue>) -> String {
    let bytes = Box::<str>::from(value).into_boxed_bytes().into_vec();
    let hash = blob_hash(&bytes);
    if !blobs.iter().any(|(known, _)| *known == hash) {
        blobs.push((hash.clone(), bytes));
    }
    hash
}

/// Blobs that the row names itself: attachments, and what is kept whole of a member that was cut.
pub(crate) fn attachments(row: &Row) -> Vec<String> {
    fn media(out: &mut Vec<String>, media: &Media) {
        out.extend(media.blob.iter().cloned());
    }
    let mut out: Vec<String> = row.truncated.iter().filter_map(|cut| cut.blob.clone()).collect();
    let items = match &row.body {
        Body::Tool(tool) => tool.content.as_slice(),
        Body::Request(request) => request.content.as_slice(),
        _ => &[],
    };
    for item in items {
        if let ToolItem::Image(m) | ToolItem::Audio(m) | ToolItem::File(m) = item {
            media(&mut out, m);
        }
    }
    let content = match &row.body {
        Body::System(content) => Some(content),
        Body::User(user) => Some(&user.content),
        Body::Assistant(message) | Body::Reasoning(message) => Some(&message.content),
        Body::Compaction(compaction) => Some(&compaction.content),
        Body::SessionMessage(message) => Some(&message.content),
        _ => None,
    };
    for part in content.into_iter().flat_map(|content| content.media()) {
        if let Part::Image(m) | Part::Audio(m) | Part::File(m) = part {
            media(&mut out, m);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use tapline_timeline::{Json, RowId, SessionId, Unknown};

    fn row(body: Body) -> Row {
        let session = SessionId::from("s");
        Row {
            id: RowId::spell(&session, "x:1"),
            seq: 1,
            session,
            turn: None,
            parent: None,
            producer: None,
            at: None,
            ended_at: None,
            revision: 1,
            cursor: None,
            frames: [1, 1],
            truncated: Vec::new(),
            extra: IndexMap::new(),
            body,
        }
    }

    fn back(stored: &Stored) -> Row {
        let blobs: HashMap<_, _> = stored.blobs.iter().cloned().collect();
        load(&stored.json, stored.taken_json().as_deref(), &mut |hash| {
            blobs.get(hash).cloned().ok_or_else(|| format!("no blob {hash}"))
        })
        .unwrap()
    }

    #[test]
    fn large_values_are_taken_out_and_come_back_as_they_were_spelled() {
        let payload = format!(
            "{{\"a\":1.50,\"a\":{},\"t\":\"{}\"}}",
            "9".repeat(40),
            "x".repeat(20_000)
        );
        let unknown = row(Body::Unknown(Unknown {
            method: "m".into(),
            name: Some("n".into()),
            payload: Some(Json::parse(&payload).unwrap()),
        }));
        let stored = store(&unknown).unwrap();
        assert!(stored.json.len() < 400, "{}", stored.json);
        assert_eq!(stored.blobs.len(), 1);
        assert_eq!(back(&stored), unknown);
    }

    #[test]
    fn items_of_content_are_taken_out_one_by_one_and_equal_ones_are_kept_once() {
        let tool = serde_json::json!({
            "id": "s/t:1", "seq": 1, "kind": "tool", "session": "s", "revision": 1, "frames": [1, 2], "call": "c",
            "state": "completed", "authorization": "not_asked", "content": [
                {"type": "text", "text": "y".repeat(20_000)},
                {"type": "text", "text": "short"},
                {"type": "text", "text": "y".repeat(20_000)},
                {"type": "image", "media_type": "image/png", "bytes": 3, "blob": "abc"},
            ], "output": "z".repeat(20_000),
        });
        let row: Row = serde_json::from_value(tool).unwrap();
        let stored = store(&row).unwrap();
        assert_eq!(
            (stored.taken.len(), stored.blobs.len(), stored.uses.len()),
            (3, 2, 3)
        );
        assert!(stored.json.contains("short") && stored.json.len() < 1_000);
        assert_eq!(back(&stored), row);
    }

    #[test]
    fn a_missing_blob_is_an_error() {
        let stored = store(&row(Body::System(tapline_timeline::Content::text(
            "q".repeat(LARGE_BYTES),
        ))))
        .unwrap();
        let read = load::<String>(&stored.json, stored.taken_json().as_deref(), &mut |hash| {
            Err(hash.to_owned())
        });
        assert_eq!(read, Err(stored.blobs[0].0.clone()));
    }
}
