//! A session as it goes on.

mod common;

use std::sync::Arc;

use common::{EVERY_KIND, random, read};
use proptest::prelude::*;
use tapline_render::{Fold, Live, Terminal};
use tapline_timeline::{Append, Body, Change, Close, Content, Grows, Message, Row, TextState};

const TERMINAL: Terminal = Terminal {
    width: 40,
    color: false,
    unicode: true,
    fold: Fold::Usual,
    minutes_east: 0,
};

fn told(live: &mut Live, change: &Change<'_>) -> String {
    let mut out = String::new();
    live.change(change, &mut out);
    out
}

fn row(json: &str) -> Arc<Row> {
    Arc::new(serde_json::from_str(json).expect(json))
}

fn append<'a>(row: &'a Row, offset: u64, text: &'a str) -> Change<'a> {
    Change::Append(Append {
        id: &row.id,
        seq: row.seq,
        member: Grows::Text,
        offset,
        text,
        revision: 2,
        frame: 2,
    })
}

fn close(row: &Row, state: TextState) -> Change<'_> {
    Change::Close(Close {
        id: &row.id,
        seq: row.seq,
        state,
        superseded: false,
        ended_at: None,
        cut_bytes: None,
        revision: 3,
        frame: 3,
    })
}

const COMMON: &str = r#""session":"s","revision":1,"frames":[1,1]"#;

fn of(seq: u64, members: &str) -> Arc<Row> {
    row(&format!(r#"{{"id":"s/{seq}","seq":{seq},{COMMON},{members}}}"#))
}

#[test]
fn text_is_printed_as_it_comes_at_word_ends() {
    let mut live = Live::new(&TERMINAL);
    let message = of(1, r#""kind":"assistant","text":"Hel","state":"open""#);
    assert_eq!(told(&mut live, &Change::Put(&message)), "");
    assert_eq!(told(&mut live, &append(&message, 3, "lo wor")), "Hello ");
    assert_eq!(
        told(
            &mut live,
            &append(&message, 9, "ld, this is a longer line than fits\nx")
        ),
        "world, this is a longer line than \nfits\n"
    );
    assert_eq!(
        told(&mut live, &close(&message, TextState::Cut)),
        "x\n\n↳ cut off here: the agent process ended\n"
    );
}

#[test]
fn a_word_that_stands_still_is_shown_and_goes_on_where_it_stopped() {
    let mut live = Live::new(&TERMINAL);
    let row = of(1, r#""kind":"assistant","text":"","state":"open""#);
    told(&mut live, &Change::Put(&row));
    assert_eq!(told(&mut live, &append(&row, 0, "Wait")), "");
    let mut out = String::new();
    live.catch_up(&mut out);
    live.catch_up(&mut out);
    assert_eq!(out, "Wait");
    assert_eq!(told(&mut live, &append(&row, 4, "ing. ")), "ing. ");
}

#[test]
fn another_terminal_holds_from_the_next_word_on() {
    let mut live = Live::new(&TERMINAL);
    let row = of(1, r#""kind":"assistant","text":"","state":"open""#);
    told(&mut live, &Change::Put(&row));
    told(&mut live, &append(&row, 0, "one two three "));
    live.adapt(&Terminal {
        width: 20,
        ..TERMINAL
    });
    assert_eq!(told(&mut live, &append(&row, 14, "four five ")), "four \nfive ");
    live.adapt(&Terminal {
        fold: Fold::Open,
        ..TERMINAL
    });
    let thought = of(2, r#""kind":"reasoning","text":"a\nb","state":"ended""#);
    assert!(told(&mut live, &Change::Put(&thought)).contains("a\nb"));
}

#[test]
fn what_was_told_is_not_told_again() {
    let mut live = Live::new(&TERMINAL);
    let message = of(1, r#""kind":"assistant","text":"one two ","state":"open""#);
    assert_eq!(told(&mut live, &Change::Put(&message)), "one two ");
    assert_eq!(told(&mut live, &append(&message, 4, "two three ")), "three ");
    let whole = of(
        1,
        r#""kind":"assistant","text":"one two three four","state":"ended""#,
    );
    assert_eq!(told(&mut live, &Change::Put(&whole)), "four\n");
}

#[test]
fn a_tool_is_told_when_it_runs_and_when_it_ends() {
    let mut live = Live::new(&TERMINAL);
    let running = of(
        1,
        r#""kind":"tool","call":"c","title":"make","state":"running","authorization":"not_asked""#,
    );
    assert_eq!(told(&mut live, &Change::Put(&running)), "◐ make  running\n");
    let more = of(
        1,
        r#""kind":"tool","call":"c","title":"make","state":"running","content":[{"type":"terminal","output":"a"}],"authorization":"not_asked""#,
    );
    assert_eq!(
        told(&mut live, &Change::Put(&more)),
        "",
        "output alone is told at the end"
    );
    let done = of(
        1,
        r#""kind":"tool","call":"c","title":"make","state":"completed","output":"a\nb\n","authorization":"not_asked""#,
    );
    assert_eq!(told(&mut live, &Change::Put(&done)), "\n✓ make\n  │ a\n  │ b\n");
}

#[test]
fn a_turn_is_announced_and_its_verdict_told() {
    let mut live = Live::new(&TERMINAL);
    let open = of(1, r#""kind":"turn","origin":"prompt","state":"open""#);
    assert!(told(&mut live, &Change::Put(&open)).starts_with("── Turn 1 · running ─"));
    assert_eq!(told(&mut live, &Change::Put(&open)), "");
    let ended = of(
        1,
        r#""kind":"turn","origin":"prompt","state":"ended","end":"failed""#,
    );
    assert!(told(&mut live, &Change::Put(&ended)).contains("── Turn 1 · failed ─"));
}

#[test]
fn reasoning_is_one_line_once_it_ends() {
    let mut live = Live::new(&TERMINAL);
    let thought = of(1, r#""kind":"reasoning","text":"First ","state":"open""#);
    assert_eq!(told(&mut live, &Change::Put(&thought)), "");
    assert_eq!(told(&mut live, &append(&thought, 6, "this.\nThen that.")), "");
    assert_eq!(
        told(&mut live, &close(&thought, TextState::Ended)),
        "∴ Thought: First this. (1 more line)\n"
    );
}

#[test]
fn a_failed_load_is_told_again_only_where_it_says_how_the_chat_goes_on() {
    let mut live = Live::new(&TERMINAL);
    let failed = r#""kind":"status","tone":"warning","text":"there is no session `x`""#;
    let first = told(&mut live, &Change::Put(&of(1, failed)));
    assert!(first.contains("there is no session"), "{first}");
    assert_eq!(told(&mut live, &Change::Put(&of(1, failed))), "");
    let carried_on = format!(
        r#"{failed},"detail":{{"more":{{"carried_on":"The chat goes on in a fresh session.","provider_session":"x"}}}}"#
    );
    let again = told(&mut live, &Change::Put(&of(1, &carried_on)));
    assert!(again.contains("goes on in a fresh session."), "{again}");
    assert!(!again.contains("carried_on"), "{again}");
}

#[test]
fn bounded_the_oldest_open_row_is_forgotten_and_told_again() {
    let mut live = Live::new(&TERMINAL);
    let members = r#""kind":"tool","call":"c","title":"make","state":"running","authorization":"not_asked""#;
    let count = tapline_render::OPEN_LIMIT as u64 + 1;
    for seq in 1..=count {
        assert_ne!(told(&mut live, &Change::Put(&of(seq, members))), "");
    }
    assert_eq!(
        told(&mut live, &Change::Put(&of(2, members))),
        "",
        "row 2 is remembered"
    );
    assert_ne!(told(&mut live, &Change::Put(&of(1, members))), "", "row 1 is not");
}

#[test]
fn a_prompt_that_grows_after_it_was_told_shows_what_is_new() {
    let mut live = Live::new(&TERMINAL);
    let prompt = of(1, r#""kind":"user","text":"Go","by":"agent""#);
    assert_eq!(
        told(&mut live, &Change::Put(&prompt)),
        "▌ Go\n↳ put in by the agent itself\n"
    );
    assert_eq!(told(&mut live, &append(&prompt, 2, " on.\n")), "\non.\n");
}

#[test]
fn every_kind_as_it_would_be_followed() {
    let mut live = Live::new(&Terminal {
        width: 80,
        ..TERMINAL
    });
    let mut out = String::new();
    for row in &read(EVERY_KIND)[0].1 {
        live.change(&Change::Put(row), &mut out);
    }
    live.finish(&mut out);
    insta::assert_snapshot!("live_80", out);
}

proptest! {
    /// However a text is cut into pieces, what is printed is the same, and nothing of it is control.
    #[test]
    fn untrusted_a_stream_of_pieces_prints_what_the_whole_prints(pieces in prop::collection::vec(random::text(), 1..6)) {
        let whole = pieces.concat();
        let print = |pieces: &[String]| {
            let mut live = Live::new(&TERMINAL);
            let mut out = String::new();
            let mut row = Row::clone(&of(1, r#""kind":"assistant","text":"","state":"open""#));
            row.body = Body::Assistant(Message { content: Content::default(), state: TextState::Open, superseded: false });
            live.change(&Change::Put(&Arc::new(row.clone())), &mut out);
            let mut offset = 0;
            for piece in pieces {
                live.change(&append(&row, offset, piece), &mut out);
                offset += piece.len() as u64;
            }
            live.change(&close(&row, TextState::Ended), &mut out);
            out
        };
        let out = print(&pieces);
        prop_assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", out);
        let chars: Vec<String> = whole.chars().map(String::from).collect();
        prop_assert_eq!(out, print(&chars));
    }

    #[test]
    fn untrusted_no_row_reaches_a_follower_as_control(rows in random::rows()) {
        let mut live = Live::new(&TERMINAL);
        let mut out = String::new();
        for row in rows {
            live.change(&Change::Put(&Arc::new(row)), &mut out);
        }
        live.finish(&mut out);
        prop_assert!(out.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", out);
    }
}
