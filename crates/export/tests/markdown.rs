//! The Markdown form: how it reads, and that nothing in it leaves its section.

#[allow(dead_code, reason = "this file uses a part of it")]
#[path = "../../render/tests/common/random.rs"]
mod random;

use std::sync::Arc;

use proptest::prelude::*;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};
use tapline_export::markdown;
use tapline_timeline::{Body, Content, Kind, Message, Row, Session, TextState};

const EVERY_KIND: &str = include_str!("../../render/tests/timelines/every-kind.jsonl");

fn parse(text: &str) -> Parser<'_> {
    Parser::new_ext(
        text,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS,
    )
}

#[test]
fn every_kind_of_row() {
    let mut lines = EVERY_KIND.lines();
    let session: Session = serde_json::from_str(lines.next().expect("a session")).expect("a session");
    let rows: Vec<Arc<Row>> = lines
        .take_while(|line| !line.starts_with(r#"{"kind":"session""#))
        .map(|line| Arc::new(serde_json::from_str(line).expect(line)))
        .collect();
    insta::assert_snapshot!("every_kind", markdown(&session, &rows));
}

/// Headings of the first two levels: ours.
fn our_headings(text: &str) -> usize {
    parse(text)
        .filter(|event| {
            matches!(
                event,
                Event::Start(Tag::Heading {
                    level: HeadingLevel::H1 | HeadingLevel::H2,
                    ..
                })
            )
        })
        .count()
}

fn reply_row(seq: u64, text: &str) -> Arc<Row> {
    Arc::new(Row {
        id: format!("s/{seq}").into(),
        seq,
        session: "s".into(),
        turn: None,
        parent: None,
        producer: None,
        at: None,
        ended_at: None,
        revision: 1,
        cursor: None,
        frames: [seq, seq],
        truncated: Vec::new(),
        extra: indexmap::IndexMap::new(),
        body: Body::Assistant(Message {
            content: Content::text(text),
            state: TextState::Ended,
            superseded: false,
        }),
    })
}

proptest! {
    #[test]
    fn untrusted_a_document_has_our_sections_and_no_others(session in random::session(), rows in random::rows()) {
        let turns = rows.iter().filter(|row| row.kind() == Kind::Turn).count();
        let rows: Vec<_> = rows.into_iter().map(Arc::new).collect();
        let text = markdown(&session, &rows);
        prop_assert!(text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()), "{}", text);
        for event in parse(&text) {
            if let Event::Text(words) | Event::Code(words) = event {
                prop_assert!(words.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()), "{:?}", words);
            }
        }
        prop_assert_eq!(our_headings(&text), turns + 1, "{}", text);
        let html = parse(&text).any(|event| matches!(event, Event::Html(_) | Event::InlineHtml(_)));
        prop_assert!(!html, "{}", text);
        prop_assert_eq!(parse(&text).reference_definitions().iter().count(), 0, "{}", text);
    }

    #[test]
    fn untrusted_neighbours_do_not_grow_together(reply in "(- a|1\\. a|    a|> a|\\* a|a)\n?", next in "(- b|1\\. b|    b|> b|\\* b|\tb)") {
        let session = Session::new("s".into());
        let together = markdown(&session, &[reply_row(1, &reply), reply_row(2, &next)]);
        let blocks = |text: &str| {
            let mut depth = 0;
            parse(text).filter(|event| match event {
                Event::Start(_) => { depth += 1; depth == 1 }
                Event::End(_) => { depth -= 1; false }
                _ => false,
            }).count()
        };
        // The title, the facts, and the two replies.
        prop_assert_eq!(blocks(&together), 4, "{}", together);
    }

    #[test]
    fn untrusted_what_follows_a_reply_is_not_part_of_it(reply in random::text()) {
        let session = Session::new("s".into());
        let text = markdown(&session, &[reply_row(1, &reply), reply_row(2, "# The next one")]);
        let mut depth = 0;
        let mut last_heading = None;
        for event in parse(&text) {
            match event {
                Event::Start(Tag::Heading { level, .. }) => { last_heading = Some((depth, level)); depth += 1; }
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
        }
        prop_assert_eq!(last_heading, Some((0, HeadingLevel::H3)), "{}", text);
        prop_assert!(text.ends_with("\n### The next one\n"), "{}", text);
    }
}
