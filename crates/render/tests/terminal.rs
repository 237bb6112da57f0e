//! What a timeline looks like in a terminal, and what no timeline can do to one.

mod common;

use std::sync::Arc;

use common::{EVERY_KIND, random, read, show};
use proptest::prelude::*;
use tapline_render::{Chat, Fold, LEAST_WIDTH, Renderer, Terminal, render};
use tapline_timeline::{Body, End, Request, Row, Session, Status, Tone, Turn};
use unicode_width::UnicodeWidthStr;

fn terminal(width: u16) -> Terminal {
    Terminal {
        width,
        color: false,
        unicode: true,
        fold: Fold::Usual,
        minutes_east: 0,
    }
}

#[test]
fn every_kind_at_80_columns() {
    insta::assert_snapshot!("usual_80", show(&read(EVERY_KIND), &terminal(80)));
}

#[test]
fn every_kind_at_40_columns() {
    insta::assert_snapshot!("usual_40", show(&read(EVERY_KIND), &terminal(40)));
}

#[test]
fn every_kind_at_120_columns_and_open() {
    insta::assert_snapshot!(
        "open_120",
        show(
            &read(EVERY_KIND),
            &Terminal {
                fold: Fold::Open,
                ..terminal(120)
            }
        )
    );
}

#[test]
fn every_kind_tight_in_ascii() {
    let text = show(
        &read(EVERY_KIND),
        &Terminal {
            fold: Fold::Tight,
            unicode: false,
            ..terminal(80)
        },
    );
    assert!(text.is_ascii(), "the timeline is ASCII, so are our marks");
    insta::assert_snapshot!("tight_ascii_80", text);
}

#[test]
fn times_are_told_by_the_clock_of_the_reader() {
    let json = r#"{"id":"s/t:1","seq":1,"kind":"turn","session":"s","revision":1,"frames":[1,1],"origin":"prompt","state":"ended","end":"completed","at":"2026-12-31T23:10:05.500Z"}"#;
    let row: std::sync::Arc<tapline_timeline::Row> =
        std::sync::Arc::new(serde_json::from_str(json).expect(json));
    for (minutes_east, told) in [
        (0, "2026-12-31 23:10:05"),
        (330, "2027-01-01 04:40:05"),
        (-480, "2026-12-31 15:10:05"),
    ] {
        let mut text = String::new();
        let clock = Terminal {
            minutes_east,
            ..terminal(80)
        };
        Renderer::new(&clock).row(&row, 0, &mut text);
        assert!(text.contains(told), "{minutes_east}: {text}");
    }
}

#[test]
fn every_kind_in_colour() {
    let text = show(
        &read(EVERY_KIND),
        &Terminal {
            color: true,
            ..terminal(80)
        },
    );
    insta::assert_snapshot!("colour_80", text.replace('\u{1b}', "␛"));
}

#[test]
fn sessions_that_start_each_other_in_a_ring_are_each_told_once() {
    let session = |id: &str| Session {
        title: Some(format!("session {id}.")),
        ..Session::new(id.into())
    };
    let helper = |id: &str, child: &str| {
        let json = format!(
            r#"{{"id":"{id}/1","seq":1,"kind":"helper","session":"{id}","helper":"h","label":"l","state":"running","child":"{child}","revision":1,"frames":[1,1]}}"#
        );
        vec![Arc::new(serde_json::from_str::<Row>(&json).expect("a row"))]
    };
    let text = show(
        &[(session("a"), helper("a", "b")), (session("b"), helper("b", "a"))],
        &terminal(80),
    );
    for title in ["session a.", "session b."] {
        assert_eq!(text.matches(title).count(), 1, "{text}");
    }
}

/// Takes out what a style may consist of; whatever else begins with an escape stays.
fn without_styles(text: &str) -> String {
    let mut out = String::new();
    for (n, piece) in text.split("\u{1b}[").enumerate() {
        let end = piece
            .find(|c: char| !c.is_ascii_digit() && c != ';')
            .unwrap_or(piece.len());
        match (n, piece[end..].strip_prefix('m')) {
            (0, _) => out.push_str(piece),
            (_, Some(rest)) => out.push_str(rest),
            (_, None) => {
                out.push_str("\u{1b}[");
                out.push_str(piece);
            }
        }
    }
    out
}

fn is_harmless(c: char) -> bool {
    c == '\n'
        || !(c.is_control()
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}'))
}

fn fold() -> impl Strategy<Value = Fold> {
    prop::sample::select(vec![Fold::Tight, Fold::Usual, Fold::Open])
}

proptest! {
    #[test]
    fn untrusted_no_row_reaches_the_terminal_as_control(
        session in random::session(), rows in random::rows(), width in 0..200_u16, unicode in any::<bool>(), fold in fold(),
    ) {
        let rows: Vec<_> = rows.into_iter().map(Arc::new).collect();
        let chats = [Chat { session: &session, rows: &rows }];
        let plain = Terminal { width, color: false, unicode, fold, minutes_east: 0 };
        let text = render(&chats, &plain);
        prop_assert!(text.chars().all(is_harmless), "{text:?}");
        let coloured = without_styles(&render(&chats, &Terminal { color: true, ..plain }));
        prop_assert!(coloured.chars().all(is_harmless), "{coloured:?}");
    }

    #[test]
    fn every_line_fits_the_width(rows in random::rows(), width in 0..120_u16, fold in fold()) {
        let mut renderer = Renderer::new(&Terminal { width, color: false, unicode: true, fold, minutes_east: 0 });
        let mut text = String::new();
        for row in &rows {
            renderer.row(row, 0, &mut text);
        }
        // A mark and an indent may leave less than the least room that words get; the line is that much wider.
        let most = usize::from(width).max(LEAST_WIDTH + 20);
        for line in text.lines() {
            prop_assert!(line.width() <= most, "{} columns: {line:?}", line.width());
            prop_assert!(!line.ends_with(' '), "{line:?}");
        }
    }

    #[test]
    fn accounted_every_row_is_told_once_whatever_stands_under_what(rows in random::rows()) {
        let session = Session::new("s".into());
        let rows: Vec<_> = rows.into_iter().map(|row| {
            let text = format!("row {}.", row.seq);
            let body = match row.body {
                Body::Turn(turn) => Body::Turn(Turn { end: Some(End::Unknown), stop_reason: Some(text), ..turn }),
                Body::Request(request) => Body::Request(Box::new(Request { title: Some(text), text: None, ..*request })),
                _ => Body::Status(Status { tone: Tone::Info, text, detail: None }),
            };
            Arc::new(Row { body, producer: None, truncated: Vec::new(), ..row })
        }).collect();
        let text = render(&[Chat { session: &session, rows: &rows }], &terminal(1000));
        for row in &rows {
            let words = format!("row {}.", row.seq);
            prop_assert_eq!(text.matches(&words).count(), 1, "{} in {}", words, text);
        }
    }
}
