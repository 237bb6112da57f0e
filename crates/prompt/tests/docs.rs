//! The examples of `docs/prompt`: every one marked `json prompt` is a valid prompt that comes back as it
//! is, and every one marked `json line` converts to what stands under it, marked `json answer`.

use std::fs;
use std::path::{Path, PathBuf};

use tapline_prompt::json::Json;
use tapline_prompt::providers::convert_line;
use tapline_prompt::typed::Typed;
use tapline_prompt::types::Prompt;

fn pages() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/prompt");
    let mut pages: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the pages")
        .map(|entry| entry.expect("a page").path())
        .collect();
    pages.sort();
    pages
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a readable page");
            (path, text)
        })
        .collect()
}

/// The code blocks of a page with what they are marked as.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(mark), None) => open = Some((mark.to_owned(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some((_, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a code block is not closed");
    blocks
}

#[test]
fn every_example_is_a_prompt_or_a_conversion() {
    let (mut prompts, mut conversions) = (0, 0);
    for (path, page) in pages() {
        let at = path.display();
        let blocks = blocks(&page);
        for (index, (mark, text)) in blocks.iter().enumerate() {
            match mark.as_str() {
                "json prompt" => {
                    let json = Json::parse(text).unwrap_or_else(|error| panic!("{at}: {error}"));
                    let prompt =
                        Prompt::from_value(json.clone()).unwrap_or_else(|faults| panic!("{at}: {faults}"));
                    assert_eq!(prompt.to_json(), json, "{at}");
                    prompts += 1;
                }
                "json faults" => {
                    let faults = Prompt::parse(text).expect_err("a faulty prompt").to_string();
                    let (next, wanted) = &blocks[index + 1];
                    assert_eq!((next.as_str(), wanted.trim()), ("text", faults.trim()), "{at}");
                    prompts += 1;
                }
                "json line" => {
                    let answer = convert_line(&text.replace('\n', " "));
                    let (next, wanted) = &blocks[index + 1];
                    assert_eq!(next, "json answer", "{at}: an answer must follow");
                    let wanted = Json::parse(wanted).unwrap_or_else(|error| panic!("{at}: {error}"));
                    assert_eq!(answer, wanted.to_js(), "{at}");
                    conversions += 1;
                }
                "json answer" | "text" | "sh" | "rust" => {}
                other => panic!("{at}: a block is marked {other:?}"),
            }
        }
    }
    assert!(
        prompts >= 11 && conversions >= 9,
        "{prompts} prompts, {conversions} conversions"
    );
}

#[test]
fn there_is_a_page_for_every_part() {
    let names: Vec<String> = pages()
        .iter()
        .filter_map(|(path, _)| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    for page in [
        "README",
        "approvals",
        "custom",
        "file",
        "file-data",
        "outputs",
        "profiles",
        "provider-options",
        "reasoning",
        "reasoning-file",
        "text",
        "tool-call",
        "tool-result",
    ] {
        assert!(
            names.iter().any(|name| name == page),
            "docs/prompt/{page}.md is missing"
        );
    }
}
