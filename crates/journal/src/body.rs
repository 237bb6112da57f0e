//! How a row is stored: its public JSON, without the cursor, and without the large values.
//!
//! A value over [`LARGE_BYTES`] is taken out as it is spelled and stored once under its hash; a list beside the JSON says
//! where it stood. Nothing passes through a JSON tree on the way: what an agent wrote (big numbers, doubled members,
//! odd spelling) comes back byte for byte. Rows below the limit, nearly all, are written as they are.
//!
//! The longest message has 16 MiB. On its way to the disk its text is taken out of the row before there is JSON of the
//! whole, so that it stands in memory twice at most: as it is and as JSON.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tapline_timeline::{Body, Content, Media, Part, Row, ToolItem};

/// Size from which a value is stored as a blob, in bytes of its JSON.
pub const LARGE_BYTES: usize = 16 * 1024;

/// A row as it is stored.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) json: String,
    /// What was taken out.
    pub(crate) taken: Vec<Taken>,
    /// The JSON out of which values were taken.
    sources: Vec<String>,
    /// The values taken out: hash, number of the source, and place in it.
    blobs: Vec<(String, usize, Range<usize>)>,
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

/// The form in which a row is stored. A row that nobody else holds is gone as soon as its JSON is there.
pub(crate) fn store(mut row: Arc<Row>) -> Result<Stored, serde_json::Error> {
    if row.cursor.is_some() {
        Arc::make_mut(&mut row).cursor = None;
    }
    let mut stored = Stored {
        uses: attachments(&row),
        ..Stored::default()
    };
    if let Some(text) = take_text(&mut row) {
        let json = json_of(text.as_text())?;
        drop(text);
        let blob = stored.keep(0, 0..json.len(), json.as_bytes());
        stored.sources.push(json);
        stored.taken.push(Taken {
            member: "text".to_owned(),
            item: None,
            blob,
        });
    }
    stored.json = serde_json::to_string(&*row)?;
    drop(row);
    if stored.json.len() > LARGE_BYTES {
        take_large(&mut stored)?;
    }
    stored
        .uses
        .extend(stored.blobs.iter().map(|(hash, ..)| hash.clone()));
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

/// Takes the text out of a message that is nothing but a long text, unless somebody else holds the row.
fn take_text(row: &mut Arc<Row>) -> Option<Content> {
    let row = Arc::get_mut(row)?;
    let content = match &mut row.body {
        Body::Assistant(message) | Body::Reasoning(message) => &mut message.content,
        _ => return None,
    };
    let is_long = content.is_plain() && content.as_text().len() > LARGE_BYTES;
    is_long.then(|| std::mem::take(content))
}

/// The JSON of a long text. It is measured before it is written, since a buffer that grows may stand in memory twice.
fn json_of(text: &str) -> Result<String, serde_json::Error> {
    let mut length = Length(0);
    serde_json::to_writer(&mut length, text)?;
    let mut json = Vec::with_capacity(length.0);
    serde_json::to_writer(&mut json, text)?;
    // serde_json writes nothing but UTF-8.
    String::from_utf8(json).map_err(serde::ser::Error::custom)
}

/// Counts what is written.
struct Length(usize);

impl std::io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn take_large(stored: &mut Stored) -> Result<(), serde_json::Error> {
    let whole = std::mem::take(&mut stored.json);
    let source = stored.sources.len();
    let members: IndexMap<String, &RawValue> = serde_json::from_str(&whole)?;
    let hole = serde_json::value::to_raw_value(&())?;
    let mut rest: IndexMap<&str, Cow<'_, RawValue>> = IndexMap::with_capacity(members.len());
    for (name, value) in &members {
        let value = *value;
        if value.get().len() <= LARGE_BYTES {
            rest.insert(name, Cow::Borrowed(value));
            continue;
        }
        if !matches!(name.as_str(), "content" | "parts") {
            let blob = stored.keep(source, place_in(&whole, value), value.get().as_bytes());
            stored.taken.push(Taken {
                member: name.clone(),
                item: None,
                blob,
            });
            rest.insert(name, Cow::Borrowed(&hole));
            continue;
        }
        let mut items: Vec<IndexMap<String, &RawValue>> = serde_json::from_str(value.get())?;
        for (index, item) in items.iter_mut().enumerate() {
            for (member, value) in item
                .iter_mut()
                .filter(|(_, value)| value.get().len() > LARGE_BYTES)
            {
                let blob = stored.keep(source, place_in(&whole, value), value.get().as_bytes());
                *value = &hole;
                stored.taken.push(Taken {
                    member: name.clone(),
                    item: Some((index, member.clone())),
                    blob,
                });
            }
        }
        rest.insert(name, Cow::Owned(serde_json::value::to_raw_value(&items)?));
    }
    stored.json = serde_json::to_string(&rest)?;
    stored.sources.push(whole);
    Ok(())
}

impl Stored {
    /// The values taken out: hash and bytes.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.blobs
            .iter()
            .map(|(hash, source, place)| (hash.as_str(), &self.sources[*source].as_bytes()[place.clone()]))
    }

    /// Notes a value that stands there, and returns its hash.
    fn keep(&mut self, source: usize, place: Range<usize>, bytes: &[u8]) -> String {
        let hash = blob_hash(bytes);
        if !self.blobs.iter().any(|(known, ..)| *known == hash) {
            self.blobs.push((hash.clone(), source, place));
        }
        hash
    }

    /// The list of what was taken out, as it is stored beside the JSON.
    pub(crate) fn taken_json(&self) -> Option<String> {
        // Names, numbers and hashes always have a JSON form.
        (!self.taken.is_empty()).then(|| serde_json::to_string(&self.taken).unwrap_or_default())
    }
}

/// Where a value stands in the JSON that it is a slice of.
fn place_in(whole: &str, value: &RawValue) -> Range<usize> {
    let from = value.get().as_ptr().addr() - whole.as_ptr().addr();
    from..from + value.get().len()
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
        let blobs: HashMap<_, _> = stored.blobs().collect();
        load(&stored.json, stored.taken_json().as_deref(), &mut |hash| {
            blobs
                .get(hash)
                .map(|bytes| bytes.to_vec())
                .ok_or_else(|| format!("no blob {hash}"))
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
        let stored = store(Arc::new(unknown.clone())).unwrap();
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
        let stored = store(Arc::new(row.clone())).unwrap();
        assert_eq!(
            (stored.taken.len(), stored.blobs.len(), stored.uses.len()),
            (3, 2, 3)
        );
        assert!(stored.json.contains("short") && stored.json.len() < 1_000);
        assert_eq!(back(&stored), row);
    }

    #[test]
    fn a_long_message_comes_back_whether_somebody_else_holds_it_or_not() {
        let text = "said \"so\", and \n again. ".repeat(2_000);
        let message = row(Body::Assistant(tapline_timeline::Message {
            state: tapline_timeline::TextState::Ended,
            superseded: false,
            content: tapline_timeline::Content::text(text),
        }));
        let held = Arc::new(message.clone());
        let (alone, shared) = (
            store(Arc::new(message.clone())).unwrap(),
            store(Arc::clone(&held)).unwrap(),
        );
        assert!(alone.json.len() < 400 && shared.json.len() < 400);
        assert!(alone.blobs().eq(shared.blobs()) && alone.uses == shared.uses);
        assert_eq!((back(&alone), back(&shared)), (message.clone(), message));
    }

    #[test]
    fn a_missing_blob_is_an_error() {
        let stored = store(Arc::new(row(Body::System(tapline_timeline::Content::text(
            "q".repeat(LARGE_BYTES),
        )))))
        .unwrap();
        let read = load::<String>(&stored.json, stored.taken_json().as_deref(), &mut |hash| {
            Err(hash.to_owned())
        });
        assert_eq!(read, Err(stored.blobs[0].0.clone()));
    }
}
