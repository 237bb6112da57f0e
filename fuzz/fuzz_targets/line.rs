//! Any line: it is answered with one line of JSON that has a body or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapline_prompt::json::Json;
use tapline_prompt::providers::convert_line;

fuzz_target!(|line: &str| {
    let answer = convert_line(line);
    assert!(!answer.contains('\n'));
    let answer = Json::parse(&answer).expect("an answer in JSON");
    assert!(answer.get("body").is_some() || answer.get("error").is_some());
});
