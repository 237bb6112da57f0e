//! The fuzz targets as a short deterministic run: every build tries a few thousand random inputs, and a
//! failure prints the seed that leads to it. The targets themselves stand in `fuzz/`.

use tapline_prompt::base64;
use tapline_prompt::check::Checks;
use tapline_prompt::json::{Json, Object};
use tapline_prompt::media_type;
use tapline_prompt::providers::{Call, Profile, TARGETS, convert_line};
use tapline_prompt::types::{CallOptions, Prompt};

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Prompts that lead deep into every provider, to be broken at random.
const SEEDS: &[&str] = &[
    r#"[{"role":"system","content":"s","providerOptions":{"anthropic":{"cacheControl":{"type":"ephemeral"}}}},{"role":"user","content":[{"type":"text","text":"q"},{"type":"file","mediaType":"image/*","data":{"type":"data","data":"iVBORw0KGgo="},"filename":"a.b"}]}]"#,
    r#"[{"role":"assistant","content":[{"type":"reasoning","text":"t","providerOptions":{"anthropic":{"signature":"s"},"amazonBedrock":{"redactedData":"r"},"google":{"thoughtSignature":1}}},{"type":"tool-call","toolCallId":"c","toolName":"code_execution","input":{"type":"bash_code_execution","command":"ls"},"providerExecuted":true},{"type":"tool-result","toolCallId":"c","toolName":"code_execution","output":{"type":"json","value":{"type":"bash_code_execution_result","stdout":"","stderr":"","return_code":0,"content":[]}}}]}]"#,
    r#"[{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"content","value":[{"type":"text","text":"x"},{"type":"file","mediaType":"application/pdf","data":{"type":"url","url":"https://e.com/a b"}},{"type":"custom","providerOptions":{"anthropic":{"type":"tool-reference","toolName":"x"}}}]}},{"type":"tool-approval-response","approvalId":"a","approved":false,"reason":"no"}]}]"#,
    r#"[{"role":"user","content":[{"type":"file","mediaType":"text/plain","data":{"type":"text","text":"d"}},{"type":"file","mediaType":"video/mp4","data":{"type":"url","url":"s3://b/k"}},{"type":"file","mediaType":"application/pdf","data":{"type":"reference","reference":{"anthropic":"f","google":"g"}}}]},{"role":"assistant","content":[{"type":"custom","kind":"anthropic.fallback"},{"type":"reasoning-file","mediaType":"image/png","data":{"type":"data","data":{"0":1,"1":2}}}]}]"#,
];

/// A seed with some bytes changed, cut out or doubled; always UTF-8.
fn broken(random: &mut Random) -> String {
    let mut bytes = SEEDS[random.below(SEEDS.len())].as_bytes().to_vec();
    for _ in 0..random.below(4) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] = random.next() as u8,
            1 => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, b"\"{}[],:0\\u"[random.below(10)]),
            _ => {
                let end = (at + random.below(40)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy);
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn run(seed: u64, try_one: impl Fn(&mut Random)) {
    println!("seed {seed}; set SEED to try another, ROUNDS to try more");
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let seed = number("SEED").unwrap_or(seed);
    for round in 0..number("ROUNDS").unwrap_or(1_500) {
        println!("round {round}");
        try_one(&mut Random(seed.wrapping_add(round)));
    }
}

#[test]
fn validation_takes_any_text() {
    run(1, |random| {
        let text = broken(random);
        if let Ok(prompt) = Prompt::parse(&text) {
            let _ = Checks::all().run(&prompt);
        }
    });
}

#[test]
fn media_types_are_looked_up_in_any_bytes() {
    run(2, |random| {
        let length = random.below(64);
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        if random.below(3) == 0 {
            bytes.splice(0..0, *b"ID3\x04\x00\x00");
        }
        let encoded = base64::encode(&bytes);
        for top_level in [
            None,
            Some("image"),
            Some("audio"),
            Some("video"),
            Some("application"),
        ] {
            let of_bytes = media_type::detect_bytes(&bytes, top_level);
            let of_text = media_type::detect_base64(&encoded, top_level).expect("our own base64");
            assert_eq!(of_bytes, of_text);
        }
        let text = String::from_utf8_lossy(&bytes);
        let _ = media_type::detect_base64(&text, None);
        assert_eq!(base64::validate(&text).is_ok(), base64::decode(&text).is_ok());
    });
}

#[test]
fn whatever_is_a_prompt_converts_or_has_a_named_error() {
    run(3, |random| {
        let text = broken(random);
        let Ok(prompt) = Prompt::parse(&text) else { return };
        let target = &TARGETS[random.below(TARGETS.len())];
        for profile in [Profile::Exact, Profile::Fixed] {
            let (settings, options) = (Object::new(), CallOptions::new());
            let call = Call {
                model: ["gpt-4o", "claude-sonnet-4-5", "gemini-3-pro-preview", "mistral.x"][random.below(4)],
                settings: &settings,
                prompt: &prompt,
                options: &options,
                profile,
            };
            match target.convert(&call) {
                Ok(conversion) => assert!(Json::parse(&conversion.to_json().to_js()).is_ok(), "{text}"),
                Err(error) => assert!(!error.to_string().is_empty(), "{text}"),
            }
        }
    });
}

#[test]
fn any_line_is_answered_with_one_line_of_json() {
    run(4, |random| {
        let target = &TARGETS[random.below(TARGETS.len())];
        let mut line = format!(
            r#"{{"provider":"{}","api":"{}","model":"m","prompt":{}}}"#,
            target.provider,
            target.api,
            broken(random)
        );
        if random.below(4) == 0 {
            line.truncate(line.floor_char_boundary(random.below(line.len())));
        }
        let answer = convert_line(&line);
        assert!(
            !answer.contains('\n') && Json::parse(&answer).is_ok(),
            "{line}: {answer}"
        );
    });
}
