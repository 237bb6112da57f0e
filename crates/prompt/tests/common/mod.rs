//! The vectors, and the comparison that all tests share.

#![allow(dead_code, reason = "each test file uses the part it needs")]

use std::fs;
use std::path::{Path, PathBuf};

use tapline_prompt::json::Json;

/// The folder with the recorded vectors.
pub(crate) fn vectors_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors")
}

/// Reads one vector file.
pub(crate) fn vector(path: impl AsRef<Path>) -> Json {
    let path = vectors_dir().join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Json::parse_owned(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Reads every vector in a folder, with its name. Fails if there are none.
pub(crate) fn vectors_in(folder: &str) -> Vec<(String, Json)> {
    let mut paths: Vec<PathBuf> = fs::read_dir(vectors_dir().join(folder))
        .unwrap_or_else(|error| panic!("{folder}: {error}"))
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| {
            !path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('_'))
        })
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{folder} holds no vectors");
    paths
        .into_iter()
        .map(|path| {
            (
                path.file_stem()
                    .expect("a file name")
                    .to_string_lossy()
                    .into_owned(),
                vector(&path),
            )
        })
        .collect()
}

/// The first difference between two JSON values, comparing numbers by value and ignoring member order.
pub(crate) fn difference(want: &Json, got: &Json) -> Option<String> {
    fn differ(want: &Json, got: &Json, at: &str) -> Option<String> {
        match (want, got) {
            (Json::Object(want), Json::Object(got)) => want
                .iter()
                .find_map(|(key, value)| match got.get(key) {
                    Some(other) => differ(value, other, &format!("{at}.{key}")),
                    None => Some(format!("{at}.{key} is missing")),
                })
                .or_else(|| {
                    let extra = got.keys().find(|key| !want.contains_key(key))?;
                    Some(format!("{at}.{extra} should not be there"))
                }),
            (Json::Array(want), Json::Array(got)) if want.len() == got.len() => want
                .iter()
                .zip(got)
                .enumerate()
                .find_map(|(index, (want, got))| differ(want, got, &format!("{at}[{index}]"))),
            (Json::Number(want), Json::Number(got)) if want.as_f64() == got.as_f64() => None,
            _ if want == got => None,
            _ => Some(format!("{at}: want {want}, got {got}")),
        }
    }
    differ(want, got, "")
}
