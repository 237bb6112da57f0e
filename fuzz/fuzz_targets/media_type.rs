//! Any bytes: their base64 shows the same media type as they do, and any text is looked into safely.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapline_prompt::{base64, media_type};

fuzz_target!(|bytes: &[u8]| {
    let encoded = base64::encode(bytes);
    for top_level in [None, Some("image"), Some("audio"), Some("video"), Some("application"), Some("")] {
        let found = media_type::detect_base64(&encoded, top_level).expect("our own base64");
        assert_eq!(media_type::detect_bytes(bytes, top_level), found);
    }
    let text = String::from_utf8_lossy(bytes);
    let _ = media_type::detect_base64(&text, None);
    assert_eq!(base64::validate(&text).is_ok(), base64::decode(&text).is_ok());
    let _ = media_type::validate_download_url(&text);
    let _ = (media_type::top_level(&text), media_type::is_full(&text), media_type::extension(&text));
});
