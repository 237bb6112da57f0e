//! Any text: reading and checking never panic, and what is valid comes back as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapline_prompt::check::Checks;
use tapline_prompt::typed::Typed;
use tapline_prompt::types::Prompt;

fuzz_target!(|text: &str| {
    match Prompt::parse(text) {
        Ok(prompt) => {
            let _ = Checks::all().run(&prompt);
            let again = Prompt::from_value(prompt.to_json()).expect("what was written can be read");
            assert_eq!(again.to_json(), prompt.to_json());
        }
        Err(faults) => assert!(!faults.is_empty()),
    }
});
