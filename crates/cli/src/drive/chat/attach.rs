//! Files that go with a prompt: `@path` in its words, and pasted paths of pictures.
//!
//! The words stay as they were typed, so that the agent reads where each file belongs; behind them comes one block a file: a
//! picture as such where the agent takes pictures, a text as such where it takes whole files, everything else as a link
//! that the agent may follow itself. `@` before something that is no file is just a word.

use std::borrow::Cow;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Most pictures with one prompt.
const PICTURES: usize = 20;
/// As much as they may hold together, in bytes: a line to an agent has 16 MiB, and base64 makes three bytes four.
const PICTURE_BYTES: u64 = 10 << 20;
/// Longest text that is sent whole, in bytes; a longer one goes as a link.
const TEXT_BYTES: u64 = 512 << 10;
/// As much text as goes with one prompt.
const ALL_TEXT_BYTES: u64 = 2 << 20;
/// Most files with one prompt.
const FILES: usize = 100;

/// What the agent takes in a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Takes {
    pub(super) pictures: bool,
    pub(super) files: bool,
}

/// The blocks of the files that the words name.
///
/// # Errors
/// A sentence, where they are too many or too large.
pub(super) fn attach(words: &str, cwd: &Path, takes: Takes) -> Result<Vec<Value>, String> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut blocks = Vec::new();
    let (mut pictures, mut picture_bytes, mut text_bytes) = (0, 0, 0);
    for mention in mentions(words) {
        let Some(path) = mention.file(cwd) else { continue };
        if seen.contains(&path) {
            continue;
        }
        seen.push(path.clone());
        if seen.len() > FILES {
            return Err(format!("A prompt takes at most {FILES} files; name fewer."));
        }
        let name = path.display();
        let Ok(about) = fs::metadata(&path) else { continue };
        let media = if about.is_file() { picture(&path) } else { None };
        if let Some(media) = media.filter(|_| takes.pictures) {
            pictures += 1;
            picture_bytes += about.len();
            if pictures > PICTURES {
                return Err(format!("A prompt takes at most {PICTURES} pictures; name fewer."));
            }
            if picture_bytes > PICTURE_BYTES {
                let most = PICTURE_BYTES >> 20;
                return Err(format!(
                    "The pictures of a prompt may hold at most {most} MiB together; {name} is too much."
                ));
            }
            let bytes =
                whole(&path, PICTURE_BYTES).map_err(|why| format!("{name} cannot be read: {why}."))?;
            blocks.push(json!({
                "type": "image", "mimeType": media, "data": STANDARD.encode(bytes), "uri": uri(&path),
            }));
            continue;
        }
        let fits = about.is_file() && about.len() <= TEXT_BYTES && text_bytes + about.len() <= ALL_TEXT_BYTES;
        let text = (takes.files && media.is_none() && fits)
            .then(|| whole(&path, TEXT_BYTES).ok())
            .flatten()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        blocks.push(match text {
            Some(text) => {
                text_bytes += about.len();
                json!({
                    "type": "resource",
                    "resource": { "uri": uri(&path), "mimeType": "text/plain", "text": text },
                })
            }
            None => link(&path, media, &about),
        });
    }
    Ok(blocks)
}

fn link(path: &Path, media: Option<&str>, about: &fs::Metadata) -> Value {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let mut link = json!({ "type": "resource_link", "name": name, "uri": uri(path) });
    if let Some(media) = media {
        link["mimeType"] = json!(media);
    }
    if about.is_file() {
        link["size"] = json!(about.len());
    }
    link
}

fn uri(path: &Path) -> String {
    // A path that is made from an absolute folder is absolute.
    url::Url::from_file_path(path).map_or_else(|()| path.display().to_string(), String::from)
}

fn whole(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return Err("it grows while it is read".to_owned());
    }
    Ok(bytes)
}

/// The media type of a picture, by its first bytes.
fn picture(path: &Path) -> Option<&'static str> {
    let mut head = Vec::with_capacity(12);
    fs::File::open(path).ok()?.take(12).read_to_end(&mut head).ok()?;
    Some(match head.as_slice() {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => "image/webp",
        _ => return None,
    })
}

/// One `@path` in a text.
#[derive(Debug, PartialEq, Eq)]
struct Mention<'t> {
    path: Cow<'t, str>,
    quoted: bool,
}

impl Mention<'_> {
    /// The file that is meant, as an absolute path; nothing where there is none.
    fn file(&self, cwd: &Path) -> Option<PathBuf> {
        let mut path: &str = &self.path;
        loop {
            let full = full(path, cwd);
            if !path.is_empty() && full.exists() {
                return Some(full);
            }
            // A sentence may end behind it.
            let rest = path.strip_suffix([',', '.', ';', ':', '!', '?', ')', ']', '}', '\'', '"']);
            path = rest.filter(|_| !self.quoted)?;
        }
    }
}

/// A path as a person writes it, from a folder.
pub(super) fn full(path: &str, cwd: &Path) -> PathBuf {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    match path.strip_prefix("~/").and_then(|rest| Some(home()?.join(rest))) {
        Some(path) => path,
        None => cwd.join(path),
    }
}

/// Where a mention begins, if the text ends in one that is still being written: the offset of the `@`, and the path so far.
pub(super) fn open_mention(before: &str) -> Option<(usize, Cow<'_, str>)> {
    let mut last = None;
    for (at, _) in starts(before) {
        let (mention, end) = read(&before[at + 1..]);
        if at + 1 + end == before.len() && !(mention.quoted && before.ends_with('"') && end > 1) {
            last = Some((at, mention.path));
        }
    }
    last
}

/// How a path is written behind an `@`.
pub(super) fn mention(path: &str) -> String {
    if path.contains(|c: char| c.is_whitespace() || c == '"' || c == '\\') || path.is_empty() {
        format!("@\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("@{path}")
    }
}

/// Where an `@` may begin a path.
fn starts(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices().filter(|(at, c)| {
        let before = text[..*at].chars().next_back();
        *c == '@' && before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '{' | '"' | '\''))
    })
}

fn mentions(text: &str) -> Vec<Mention<'_>> {
    let mut all = Vec::new();
    let mut from = 0;
    for (at, _) in starts(text) {
        if at >= from {
            let (mention, end) = read(&text[at + 1..]);
            from = at + 1 + end;
            all.push(mention);
        }
    }
    all
}

/// The path at the start of a text, and where it ends.
fn read(text: &str) -> (Mention<'_>, usize) {
    let quoted = text.starts_with('"');
    let start = usize::from(quoted);
    let mut end = text.len();
    let mut escapes = false;
    let mut chars = text.char_indices().skip(start);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                escapes = true;
                chars.next();
            }
            '"' if quoted => {
                end = at;
                break;
            }
            c if !quoted && c.is_whitespace() => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let path = &text[start..end];
    let path = if escapes {
        Cow::Owned(unescaped(path))
    } else {
        Cow::Borrowed(path)
    };
    let behind = usize::from(quoted && end < text.len());
    (Mention { path, quoted }, end + behind)
}

fn unescaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    out
}

/// What is pasted, if it is the path of a picture as terminals give it when a file is dropped on them: quoted, escaped, or a
/// `file:` address.
pub(super) fn pasted_picture(text: &str, cwd: &Path) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.contains('\n') {
        return None;
    }
    let unquoted = ['\'', '"']
        .iter()
        .find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    let path = match (unquoted, text.starts_with("file:")) {
        (Some(path), _) => path.to_owned(),
        (None, true) => url::Url::parse(text)
            .ok()?
            .to_file_path()
            .ok()?
            .to_str()?
            .to_owned(),
        (None, false) => unescaped(text),
    };
    let file = full(&path, cwd);
    (file.is_file() && picture(&file).is_some()).then(|| mention(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0000";

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let write =
            |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("it is written");
        write("notes.txt", b"some notes");
        write("two words.md", b"# Two");
        write("shot.png", PNG);
        write("blob.bin", b"\xff\x00\x01");
        fs::create_dir(folder.path().join("src")).expect("a folder");
        folder
    }

    const ALL: Takes = Takes {
        pictures: true,
        files: true,
    };

    fn kinds(words: &str, takes: Takes) -> Vec<String> {
        let folder = folder();
        let blocks = attach(words, folder.path(), takes).expect("they fit");
        let kind = |block: &Value| {
            let uri = block["uri"].as_str().or(block["resource"]["uri"].as_str());
            let name = uri.and_then(|uri| uri.rsplit('/').next()).unwrap_or_default();
            format!("{} {name}", block["type"].as_str().unwrap_or_default())
        };
        blocks.iter().map(kind).collect()
    }

    #[test]
    fn files_go_as_what_they_are_and_as_the_agent_takes_them() {
        let words = "Compare @notes.txt, (@shot.png) with @blob.bin and @src.";
        assert_eq!(
            kinds(words, ALL),
            [
                "resource notes.txt",
                "image shot.png",
                "resource_link blob.bin",
                "resource_link src"
            ]
        );
        assert_eq!(
            kinds("@notes.txt @shot.png", Takes::default()),
            ["resource_link notes.txt", "resource_link shot.png"]
        );
    }

    #[test]
    fn a_word_with_an_at_is_just_a_word() {
        for words in ["ask @ann", "me@notes.txt", "@", "@ notes.txt", "@\"\""] {
            assert_eq!(kinds(words, ALL), [""; 0], "{words}");
        }
    }

    #[test]
    fn blanks_are_quoted_or_escaped_and_a_file_goes_once() {
        for words in [
            "@\"two words.md\" now",
            "see @two\\ words.md",
            "@\"two words.md\" @\"two words.md\"",
        ] {
            assert_eq!(kinds(words, ALL), ["resource two%20words.md"], "{words}");
        }
        assert_eq!(mention("two words.md"), "@\"two words.md\"");
    }

    #[test]
    fn the_blocks_are_the_protocols() {
        let folder = folder();
        let blocks = attach("@notes.txt @shot.png", folder.path(), ALL).expect("they fit");
        assert_eq!(blocks[0]["resource"]["text"], "some notes");
        assert_eq!(blocks[1]["mimeType"], "image/png");
        assert_eq!(blocks[1]["data"], STANDARD.encode(PNG));
        let uri = blocks[1]["uri"].as_str().expect("a uri");
        assert!(uri.starts_with("file:///"), "{uri}");
    }

    #[test]
    fn bounded_pictures_are_counted_and_weighed() {
        let folder = folder();
        let mut words = String::new();
        for n in 0..=PICTURES {
            fs::write(folder.path().join(format!("{n}.png")), PNG).expect("it is written");
            words.push_str(&format!("@{n}.png "));
        }
        let error = attach(&words, folder.path(), ALL).expect_err("one too many");
        assert!(error.contains("at most 20 pictures"), "{error}");
        let mut large = PNG.to_vec();
        large.resize(6 << 20, 0);
        for name in ["a.png", "b.png"] {
            fs::write(folder.path().join(name), &large).expect("it is written");
        }
        let error = attach("@a.png @b.png", folder.path(), ALL).expect_err("too much");
        assert!(error.contains("10 MiB"), "{error}");
        let text = vec![b'x'; (TEXT_BYTES + 1) as usize];
        fs::write(folder.path().join("long.txt"), text).expect("it is written");
        let blocks = attach("@long.txt", folder.path(), ALL).expect("it fits");
        assert_eq!(blocks[0]["type"], "resource_link", "a long text goes as a link");
    }

    #[test]
    fn a_dropped_picture_becomes_a_mention() {
        let folder = folder();
        let shot = folder.path().join("my shot.png");
        fs::write(&shot, PNG).expect("it is written");
        let path = shot.to_str().expect("UTF-8");
        let wanted = Some(format!("@\"{path}\""));
        let cwd = Path::new("/");
        for pasted in [
            path.to_owned(),
            format!("'{path}'"),
            format!("{} ", path.replace(' ', "\\ ")),
            uri(&shot),
        ] {
            assert_eq!(pasted_picture(&pasted, cwd), wanted, "{pasted}");
        }
        assert_eq!(pasted_picture("notes.txt", folder.path()), None);
        assert_eq!(pasted_picture("shot.png\nshot.png", folder.path()), None);
    }

    #[test]
    fn a_mention_that_is_being_written_is_known() {
        assert_eq!(open_mention("see @no"), Some((4, "no".into())));
        assert_eq!(open_mention("see @\"two w"), Some((4, "two w".into())));
        assert_eq!(open_mention("@"), Some((0, "".into())));
        for text in ["see @no ", "a@b", "", "@\"two\""] {
            assert_eq!(open_mention(text), None, "{text}");
        }
    }
}
