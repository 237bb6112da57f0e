//! What users said, and the files that go with it.

use serde_json::json;
use tapline_timeline::{Body, Kind, Part};

use crate::tape::*;

#[test]
fn words_a_user_chunk_is_an_echo_or_the_agents_own() {
    let mut t = Tape::new();
    t.prompt(1, "Go");
    t.update(chunk("user_message_chunk", None, "Go"));
    t.update(chunk("user_message_chunk", Some("m1"), "A task "));
    t.update(chunk("user_message_chunk", Some("m1"), "has ended"));
    t.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 user by agent \"A task has ended\"",
    ]);
}

#[test]
fn words_data_that_cannot_be_read_is_no_blob_and_has_the_size_it_would_have() {
    for (data, bytes, blob) in [("AAAA", 3, true), ("!!!!!!!!", 6, false)] {
        let mut t = Tape::new();
        t.prompt(1, "Go");
        t.update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "mimeType": "image/png", "data": data}}),
        );
        let Body::Assistant(message) = &t.the(Kind::Assistant).body else {
            unreachable!()
        };
        let image = message.content.media().next();
        assert!(
            matches!(image, Some(Part::Image(media)) if media.bytes == Some(bytes) && media.blob.is_some() == blob
                && media.media_type.as_deref() == Some("image/png")),
            "{image:?}"
        );
    }
}

#[test]
fn words_files_are_called_what_their_uri_ends_with() {
    for (uri, name) in [
        ("file:///a/b.png", Some("b.png")),
        ("file:///a/b.png?size=1#top", Some("b.png")),
        ("data:image/png;base64,AAAA", None),
        ("file:///a/", None),
    ] {
        let mut t = Tape::new();
        let block =
            json!({"type": "resource", "resource": {"uri": uri, "text": "four", "mimeType": "text/plain"}});
        t.call(
            1,
            "session/prompt",
            json!({"sessionId": "s1", "prompt": [{"type": "text", "text": "See "}, block]}),
        );
        let Body::User(user) = &t.the(Kind::User).body else {
            unreachable!()
        };
        let file = user.content.media().next();
        let file = serde_json::to_value(file).expect("a part has a JSON form");
        let mut expected =
            json!({"type": "file", "media_type": "text/plain", "uri": uri, "bytes": 4, "text": "four"});
        if let Some(name) = name {
            expected["name"] = json!(name);
        }
        assert_eq!(file, expected);
    }
}
