//! The vectors of `media-type`, one test a helper.

mod common;

use tapline_prompt::base64::{self, Base64Error};
use tapline_prompt::error::SdkError;
use tapline_prompt::json::{Json, Text};
use tapline_prompt::media_type::{self, SupportedUrls};
use tapline_prompt::path::Path;
use tapline_prompt::typed::{Map, Typed};
use tapline_prompt::types::{FileData, Inline};

fn cases(helper: &str) -> Vec<Json> {
    let vector = common::vector(format!("media-type/{helper}.json"));
    let cases = vector
        .get("cases")
        .and_then(Json::as_array)
        .expect("cases")
        .to_vec();
    assert!(!cases.is_empty());
    cases
}

fn text<'a>(case: &'a Json, key: &str) -> &'a str {
    case.get(key)
        .and_then(Json::as_str)
        .unwrap_or_else(|| panic!("{case} has no {key}"))
}

/// Compares a result with what a case wants: a value (`null` for nothing), or a named error.
fn check(case: &Json, got: Result<Json, SdkError>) {
    match (case.get("error"), got) {
        (Some(error), Err(got)) => {
            assert_eq!(got.name(), text(error, "name"), "{case}");
            assert_eq!(got.to_string(), text(error, "message"), "{case}");
        }
        (None, Ok(got)) => assert_eq!(Some(&got), case.get("result"), "{case}"),
        (_, got) => panic!("{case}: got {got:?}"),
    }
}

fn maybe(found: Option<&str>) -> Json {
    found.map_or(Json::Null, Json::from)
}

#[test]
fn names() {
    for case in cases("media-type-strings") {
        let name = text(&case, "mediaType");
        assert_eq!(
            case.get("isFullMediaType"),
            Some(&Json::from(media_type::is_full(name))),
            "{case}"
        );
        assert_eq!(
            media_type::top_level(name),
            text(&case, "getTopLevelMediaType"),
            "{case}"
        );
        assert_eq!(
            media_type::extension(name),
            text(&case, "mediaTypeToExtension"),
            "{case}"
        );
    }
}

#[test]
fn detection_from_base64_and_from_bytes() {
    for case in cases("detect-media-type") {
        let (base64, top) = (
            text(&case, "base64"),
            case.get("topLevelType").and_then(Json::as_str),
        );
        let bytes = base64::decode(base64).expect("the vector's base64");
        check(
            &case,
            media_type::detect_base64(base64, top)
                .map(maybe)
                .map_err(SdkError::from),
        );
        check(&case, Ok(maybe(media_type::detect_bytes(&bytes, top))));
    }
}

#[test]
fn detection_from_any_string() {
    for case in cases("detect-media-type-strings") {
        check(
            &case,
            media_type::detect_base64(text(&case, "string"), None)
                .map(maybe)
                .map_err(SdkError::from),
        );
    }
}

#[test]
fn detection_behind_an_id3_tag() {
    for case in cases("detect-media-type-id3-limits") {
        let size = case
            .get("tagBodySize")
            .and_then(Json::as_number)
            .expect("a size")
            .as_f64() as usize;
        let mut data = b"ID3\x04\x00\x00".to_vec();
        data.extend([21, 14, 7, 0].map(|shift| (size >> shift & 0x7f) as u8));
        data.resize(data.len() + size, 0);
        data.extend(base64::decode(text(&case, "mp3FrameBase64")).expect("the vector's base64"));
        check(&case, Ok(maybe(media_type::detect_bytes(&data, None))));
        let encoded = base64::encode(&data);
        check(
            &case,
            media_type::detect_base64(&encoded, None)
                .map(maybe)
                .map_err(SdkError::from),
        );
    }
}

#[test]
fn decoding() {
    for case in cases("base64-decode") {
        let decoded = base64::decode(text(&case, "input"));
        let as_json = |bytes: Vec<u8>| {
            Json::Object(
                [("$bytes", Json::from(base64::encode(&bytes)))]
                    .into_iter()
                    .collect(),
            )
        };
        check(
            &case,
            decoded.map(as_json).map_err(|error: Base64Error| error.into()),
        );
    }
}

#[test]
fn resolution() {
    for case in cases("resolve-full-media-type") {
        let part = case.get("part").expect("a part");
        let data =
            FileData::from_json_at(part.get("data").expect("data").clone(), Path::root()).expect("file data");
        check(
            &case,
            media_type::resolve(&Text::from(text(part, "mediaType")), &data).map(Json::from),
        );
    }
}

#[test]
fn references() {
    for case in cases("resolve-provider-reference") {
        let reference =
            Map::<Text>::from_json(case.get("reference").expect("a reference").clone()).expect("a map");
        check(
            &case,
            media_type::resolve_reference(&reference, text(&case, "provider")).map(Json::from),
        );
    }
    for case in cases("is-provider-reference") {
        // `{"$note": …}` describes a value that JSON cannot hold: an object whose `type` is undefined.
        let value = case.get("value").expect("a value");
        let value = match value.get("$note") {
            Some(_) => Json::Object([("type", Json::Null)].into_iter().collect()),
            None => value.clone(),
        };
        check(&case, Ok(Json::from(media_type::is_provider_reference(&value))));
    }
}

#[test]
fn supported_urls() {
    for case in cases("is-url-supported") {
        let supported = case
            .get("supportedUrls")
            .and_then(Json::as_object)
            .expect("patterns");
        let patterns = supported.iter().map(|(media_type, patterns)| {
            (
                media_type,
                patterns
                    .as_array()
                    .expect("a list")
                    .iter()
                    .filter_map(Json::as_str),
            )
        });
        let supported = SupportedUrls::compile(patterns).expect("readable patterns");
        check(
            &case,
            Ok(Json::from(
                supported.supports(text(&case, "mediaType"), text(&case, "url")),
            )),
        );
    }
}

#[test]
fn downloads() {
    for case in cases("validate-download-url") {
        check(
            &case,
            media_type::validate_download_url(text(&case, "url")).map(|()| Json::from("ok")),
        );
    }
}

#[test]
fn debug_output_does_not_hold_the_whole_file() {
    let inline = Inline::from("A".repeat(100_000).as_str());
    assert!(format!("{inline:?}").len() < 200);
}
