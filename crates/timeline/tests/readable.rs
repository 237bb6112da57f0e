//! What a terminal printed, as text to read.

use std::borrow::Cow;

use proptest::prelude::*;
use tapline_timeline::{LINE_LIMIT, ReadableStream, readable};

#[test]
fn each_kind_of_terminal_output_reads_as_a_screen_would_show_it() {
    let cases = [
        ("plain\ntext\twith tabs\n", "plain\ntext\twith tabs\n"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("\u{1b}[1;31merror\u{1b}[0m: no\n", "error: no\n"),
        (" 10%\r 50%\r100%\ndone", "100%\ndone"),
        ("downloading\rdone\n", "doneloading\n"),
        ("downloading\r\u{1b}[Kdone\n", "done\n"),
        ("downloading\u{1b}[2K\rdone\n", "done\n"),
        ("abcd\u{1b}[2D\u{1b}[1Kx\n", "  xd\n"),
        ("abc\u{8}\u{8}X\n", "aXc\n"),
        ("a\u{1b}[3Cb\n", "a   b\n"),
        ("abcdef\u{1b}[3G\u{1b}[2P\n", "abef\n"),
        ("abcdef\r\u{1b}[2X\n", "  cdef\n"),
        ("\u{1b}]0;title\u{7}text\n", "text\n"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\\n", "link\n"),
        ("\u{9b}31mred\u{9d}title\u{9c}\n", "red\n"),
        ("\u{1b}(Bcharset\u{1b}=\u{1b}7\n", "charset\n"),
        ("\u{1b}]never ended\nnext\n", "\nnext\n"),
        ("bell\u{7}\u{0}\u{7f}\n", "bell\n"),
        ("\u{1b}[31\nbroken\n", "\nbroken\n"),
        ("up\u{1b}[A\u{1b}[2Jx\n", "upx\n"),
    ];
    for (raw, text) in cases {
        assert_eq!(readable(raw), text, "{raw:?}");
    }
}

#[test]
fn text_without_controls_is_not_copied() {
    assert!(matches!(readable("a\n\tb ä"), Cow::Borrowed(_)));
}

#[test]
fn bounded_a_long_line_is_told_in_pieces() {
    let mut stream = ReadableStream::new();
    let told = stream.push(&"x".repeat(LINE_LIMIT + 10));
    assert_eq!(told.len(), LINE_LIMIT);
    assert_eq!(
        stream.push("\ry\n"),
        "yxxxxxxxxx\n",
        "a carriage return goes to the start of the piece"
    );
}

#[test]
fn bounded_an_endless_sequence_swallows_no_more_than_its_limit() {
    let text = format!("\u{1b}]{}end", "x".repeat(LINE_LIMIT));
    assert_eq!(readable(&text), "end");
    let far = "\u{1b}[9999Cx\n".repeat(10);
    assert!(readable(&far).len() < 10 * 300, "a few bytes buy few spaces");
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zä 0-9;]{0,6}",
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\u{8}".to_owned()),
        Just("\u{1b}".to_owned()),
        "\u{1b}\\[[0-9]{0,4}[CDGKPXmAJ]",
        "\u{1b}\\][a-z;]{0,5}(\u{7}|\u{1b}\\\\)?",
        any::<char>().prop_map(String::from),
        Just("y".repeat(1500)),
    ]
}

proptest! {
    #[test]
    fn split_anywhere_gives_the_same_text(pieces in prop::collection::vec(piece(), 0..40), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let whole = pieces.concat();
        let cuts = cuts.iter().map(|cut| cut.index(whole.len() + 1));
        let mut at: Vec<usize> = cuts.map(|at| whole.floor_char_boundary(at)).collect();
        at.push(whole.len());
        at.sort_unstable();
        let mut stream = ReadableStream::new();
        let (mut told, mut from) = (String::new(), 0);
        for to in at {
            told += &stream.push(&whole[from..to]);
            prop_assert!(stream.current_line().len() <= LINE_LIMIT);
            from = to;
        }
        told += &stream.finish();
        prop_assert_eq!(&told, &readable(&whole));
        prop_assert!(told.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
    }
}
