//! Streams of bytes, cut into lines.

use proptest::prelude::*;
use tapline_wire::{Line, LineReader, PREFIX_LIMIT};

/// A line that borrows nothing, to be compared.
#[derive(Debug, Clone, PartialEq)]
enum Owned {
    Text(String),
    TooLong(String, u64),
}

fn own(line: Line<'_>) -> Owned {
    match line {
        Line::Text(text) => Owned::Text(text.into_owned()),
        Line::TooLong { prefix, bytes } => Owned::TooLong(prefix.into_owned(), bytes),
    }
}

fn cut<'a>(limit: usize, parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<Owned> {
    let mut reader = LineReader::with_limit(limit);
    let mut lines = Vec::new();
    for part in parts {
        reader.push(part, |line| lines.push(own(line)));
    }
    reader.finish(|line| lines.push(own(line)));
    lines
}

fn texts(stream: &[u8]) -> Vec<String> {
    let lines = cut(usize::MAX >> 1, [stream]);
    lines
        .into_iter()
        .map(|line| match line {
            Owned::Text(text) => text,
            Owned::TooLong(..) => panic!("there is no limit"),
        })
        .collect()
}

#[test]
fn only_a_line_feed_ends_a_line() {
    assert_eq!(
        texts(b"one\ntwo\r\n\nthree\rstill three\x0b\n"),
        ["one", "two", "", "three\rstill three\x0b"]
    );
    assert_eq!(texts("a\u{2028}b\u{85}c\n".as_bytes()), ["a\u{2028}b\u{85}c"]);
    assert_eq!(texts(b"two returns\r\r\n"), ["two returns\r"]);
}

#[test]
fn a_last_line_needs_no_end() {
    assert_eq!(texts(b"one\ntwo"), ["one", "two"]);
    assert_eq!(texts(b"one\n"), ["one"]);
    assert_eq!(texts(b""), [""; 0]);
}

#[test]
fn a_byte_order_mark_goes_at_the_start_of_the_stream_and_nowhere_else() {
    assert_eq!(
        texts(b"\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo\n"),
        ["one", "\u{feff}two"]
    );
    assert_eq!(texts(b"\n\xEF\xBB\xBFtwo\n"), ["", "\u{feff}two"]);
    let one_by_one = cut(100, b"\xEF\xBB\xBFone".chunks(1));
    assert_eq!(one_by_one, [Owned::Text("one".to_owned())]);
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_the_rest_stays() {
    assert_eq!(
        texts(b" tail \xff\xfe here.\nnext\n"),
        [" tail \u{fffd}\u{fffd} here.", "next"]
    );
    assert_eq!(texts(b"torn \xe6\x97\n"), ["torn \u{fffd}"]);
}

#[test]
fn a_line_in_one_read_is_borrowed_from_it() {
    let read = b"{\"jsonrpc\":\"2.0\"}\nrest";
    LineReader::new().push(read, |line| match line {
        Line::Text(std::borrow::Cow::Borrowed(text)) => assert_eq!(text.as_ptr(), read.as_ptr()),
        other => panic!("{other:?} is not borrowed"),
    });
}

#[test]
fn a_line_over_the_limit_leaves_its_start_and_its_length() {
    let long = "x".repeat(10_000);
    let stream = format!("short\n{long}\nshort again\n{long}");
    let prefix = Owned::TooLong("x".repeat(PREFIX_LIMIT), 10_000);
    let expected = [
        Owned::Text("short".to_owned()),
        prefix.clone(),
        Owned::Text("short again".to_owned()),
        prefix,
    ];
    assert_eq!(cut(9_999, [stream.as_bytes()]), expected);
    for step in [1, 100, 4095, 4096, 4097, 9_999] {
        assert_eq!(
            cut(9_999, stream.as_bytes().chunks(step)),
            expected,
            "in reads of {step}"
        );
    }
}

#[test]
fn the_limit_itself_is_allowed_and_line_ends_do_not_count() {
    for end in ["\n", "\r\n", ""] {
        let stream = format!("12345678{end}");
        assert_eq!(cut(8, [stream.as_bytes()]), [Owned::Text("12345678".to_owned())]);
        assert_eq!(
            cut(8, stream.as_bytes().chunks(1)),
            [Owned::Text("12345678".to_owned())]
        );
        assert_eq!(
            cut(7, [stream.as_bytes()]),
            [Owned::TooLong("12345678".to_owned(), 8)]
        );
        assert_eq!(
            cut(7, stream.as_bytes().chunks(1)),
            [Owned::TooLong("12345678".to_owned(), 8)]
        );
    }
}

#[test]
fn a_prefix_ends_between_two_characters() {
    let long = "日".repeat(PREFIX_LIMIT);
    let expected = [Owned::TooLong(
        "日".repeat(PREFIX_LIMIT / 3),
        3 * PREFIX_LIMIT as u64,
    )];
    assert_eq!(cut(PREFIX_LIMIT, [long.as_bytes()]), expected);
}

/// A hundred megabytes on one line take no more room than the prefix does; this is the invariant *memory is bounded*
/// as far as a caller can see it.
#[test]
fn reading_goes_on_behind_a_huge_line() {
    let mut reader = LineReader::new();
    let mut lines = Vec::new();
    let part = vec![b'x'; 1 << 20];
    for _ in 0..100 {
        reader.push(&part, |line| lines.push(own(line)));
    }
    assert!(
        format!("{reader:?}").len() < 10 * PREFIX_LIMIT,
        "the reader holds what it skips"
    );
    reader.push(b"\nnext\n", |line| lines.push(own(line)));
    assert_eq!(
        lines,
        [
            Owned::TooLong("x".repeat(PREFIX_LIMIT), 100 << 20),
            Owned::Text("next".to_owned())
        ]
    );
}

#[test]
fn a_reader_starts_anew_after_the_end_of_a_stream() {
    let mut reader = LineReader::with_limit(4);
    let mut lines = Vec::new();
    for stream in [b"\xEF\xBB\xBFa\n".as_slice(), b"\xEF\xBB\xBFb", b"too long"] {
        reader.push(stream, |line| lines.push(own(line)));
        reader.finish(|line| lines.push(own(line)));
    }
    let text = |text: &str| Owned::Text(text.to_owned());
    assert_eq!(
        lines,
        [text("a"), text("b"), Owned::TooLong("too long".to_owned(), 8)]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The invariant *cutting changes nothing*.
    #[test]
    fn however_a_stream_is_cut_the_lines_are_the_same(
        pieces in prop::collection::vec(
            prop_oneof![
                Just(b"\n".to_vec()), Just(b"\r".to_vec()), Just(b"\r\n".to_vec()), Just(b"\xEF\xBB\xBF".to_vec()),
                Just("日本".as_bytes().to_vec()), Just(b"\xff".to_vec()), Just(b"\xf0\x9f".to_vec()),
                prop::collection::vec(any::<u8>(), 0..12),
            ],
            0..24,
        ),
        limit in 0usize..24,
        step in 1usize..9,
    ) {
        let stream = pieces.concat();
        let whole = cut(limit, [stream.as_slice()]);
        prop_assert_eq!(&cut(limit, stream.chunks(step)), &whole);
        let line_feeds = stream.iter().filter(|&&byte| byte == b'\n').count();
        let open_end = usize::from(stream.last().is_some_and(|&byte| byte != b'\n'));
        prop_assert_eq!(whole.len(), line_feeds + open_end);
    }
}
