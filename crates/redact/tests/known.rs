//! Values that the caller names.

use tapline_redact::{MAX_LITERAL, MAX_LITERALS, MIN_LITERAL, Rules};

#[test]
fn a_known_value_is_masked_wherever_it_stands() {
    let rules = Rules::new().with_secrets(["correct horse battery"]);
    assert_eq!(rules.mask("xxcorrect horse batteryxx"), "xx[redacted:known]xx");
    assert_eq!(
        rules.mask_json(r#"{"text":"a correct horse battery","n":1}"#),
        r#"{"text":"a [redacted:known]","n":1}"#
    );
    assert_eq!(
        rules.mask_json(r#"{"text":"a correct horse\u0020battery"}"#),
        r#"{"text":"a [redacted:known]"}"#
    );
    assert_eq!(
        Rules::new().mask("xxcorrect horse batteryxx"),
        "xxcorrect horse batteryxx"
    );
}

#[test]
fn a_value_with_quotes_or_other_letters_is_found_escaped() {
    let rules = Rules::new().with_secrets(["pa\"ss\\wörd-of-mine"]);
    assert_eq!(
        rules.mask(r#"{"a":"pa\"ss\\wörd-of-mine"}"#),
        r#"{"a":"[redacted:known]"}"#
    );
    assert_eq!(
        rules.mask_json(r#"{"a":"pa\"ss\\w\u00f6rd-of-mine"}"#),
        r#"{"a":"[redacted:known]"}"#
    );
}

#[test]
fn lines_of_a_value_are_masked_each() {
    let rules = Rules::new().with_secrets(["first line\nsecond line\nshort"]);
    assert_eq!(
        rules.mask("first line\\nsecond line\nshort"),
        "[redacted:known]\\n[redacted:known]\nshort"
    );
}

#[test]
fn values_too_short_or_too_many_are_left_out_and_counted() {
    let short = "1".repeat(MIN_LITERAL - 1);
    assert_eq!(Rules::new().with_secrets([&short]).left_out(), 1);
    assert_eq!(Rules::new().with_secrets([format!("{short}1")]).left_out(), 0);
    let many = (0..MAX_LITERALS + 3).map(|n| format!("secret-value-{n}"));
    let rules = Rules::new().with_secrets(many);
    assert_eq!(rules.left_out(), 3);
    assert_eq!(rules.mask("a secret-value-0 b"), "a [redacted:known] b");
}

#[test]
fn a_long_value_is_masked_to_its_last_byte() {
    for len in [
        MAX_LITERAL,
        MAX_LITERAL + 1,
        MAX_LITERAL + MIN_LITERAL,
        3 * MAX_LITERAL + 2,
    ] {
        let value: String = (0..len).map(|n| char::from(b'a' + (n * n % 23) as u8)).collect();
        let masked = Rules::new().with_secrets([&value]).mask(&value).into_owned();
        assert_eq!(masked.replace("[redacted:known]", ""), "", "{len} bytes");
    }
}
