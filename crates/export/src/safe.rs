//! The ways in which foreign words may stand in a Markdown document.
//!
//! [`fenced`] for output and code, [`code`] for titles and paths, [`inline`] for short words, and [`nested`] for what is
//! Markdown itself. The last is read and written anew rather than copied: so fences and comments that nobody closed are
//! closed, references become plain links, HTML becomes text. What was written is then read again, and where it does not stay
//! in its place, the words are fenced.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use pulldown_cmark_to_cmark::cmark_with_options;
use tapline_timeline::harmless;

/// The mark for a character that is left out.
const MARK: char = '\u{fffd}';
/// Most blocks inside each other in a text that is read as Markdown; each costs an indent on every line.
const DEEPEST: usize = 24;
/// Longest text that is read as Markdown, in bytes; a longer one is fenced. Writing it anew must not cost more than it is worth.
const NESTED_LIMIT: usize = 1 << 20;

/// `text` with line feeds as line ends, and with a mark in the place of characters that a terminal obeys or that turn or hide
/// text.
pub(crate) fn clean(text: &str) -> String {
    harmless(text, MARK, "\t")
}

/// The same on one line, with single blanks.
pub(crate) fn line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A block of code. Its fence is longer than any run of backticks inside.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let text = clean(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// Code on a line.
pub(crate) fn code(text: &str) -> String {
    let text = line(text);
    if text.is_empty() {
        return "(nothing)".to_owned();
    }
    let ticks = "`".repeat(longest_run(&text) + 1);
    let blank = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{ticks}{blank}{text}{blank}{ticks}")
}

/// Words on a line, none of which means anything to Markdown. They must stand behind words of ours.
pub(crate) fn inline(text: &str) -> String {
    let mut out = String::new();
    for c in line(text).chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '|' | '~' | '#' | '$' | '!'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Markdown inside ours, its headings below the second level. Ends with a line feed; nothing where there are no words.
pub(crate) fn nested(text: &str) -> String {
    let mut text = clean(text);
    if text.trim().is_empty() {
        return String::new();
    }
    // What ends with the text ends with a line feed wherever it is written.
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if text.len() <= NESTED_LIMIT
        && is_shallow(&text)
        && let Some(out) = rewritten(&text)
        && stays_in_place(&out)
    {
        return out;
    }
    fenced("markdown", &text)
}

/// Each line behind a mark of quotation.
pub(crate) fn quoted(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len() + 16);
    for line in markdown.trim_end_matches('\n').split('\n') {
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
    }
    out
}

fn dialect() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

fn is_shallow(text: &str) -> bool {
    let mut depth = 0_usize;
    Parser::new_ext(text, dialect()).all(|event| {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth <= DEEPEST
    })
}

fn rewritten(text: &str) -> Option<String> {
    let mut html = false;
    let events = Parser::new_ext(text, dialect()).map(|event| match event {
        Event::Start(Tag::Heading {
            level,
            id,
            classes,
            attrs,
        }) => Event::Start(Tag::Heading {
            level: lower(level),
            id,
            classes,
            attrs,
        }),
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(lower(level))),
        // Code that only its indent marks would join a list that stands before it.
        Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced("".into())))
        }
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(line(&language).into())))
        }
        Event::Start(Tag::HtmlBlock) => {
            html = true;
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced("html".into())))
        }
        Event::End(TagEnd::HtmlBlock) => {
            html = false;
            Event::End(TagEnd::CodeBlock)
        }
        Event::Html(text) | Event::InlineHtml(text) if html => Event::Text(text),
        Event::Html(text) | Event::InlineHtml(text) => Event::Code(text),
        // References to characters (`&#27;`) are read by now, so this must be cleaned again.
        Event::Text(text) => Event::Text(clean(&text).into()),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Link {
            link_type: direct(link_type),
            dest_url: line(&dest_url).into(),
            title: line(&title).into(),
            id,
        }),
        Event::Start(Tag::Image {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Image {
            link_type: direct(link_type),
            dest_url: line(&dest_url).into(),
            title: line(&title).into(),
            id,
        }),
        other => other,
    });
    let mut out = String::new();
    let spelling = pulldown_cmark_to_cmark::Options {
        code_block_token_count: 3,
        increment_ordered_list_bullets: true,
        list_token: '-',
        ..Default::default()
    };
    // What it cannot spell it refuses; the words are fenced then.
    cmark_with_options(events, &mut out, dialect(), spelling).ok()?;
    Some(format!("{}\n", out.trim_end().trim_start_matches('\n')))
}

/// A link that holds its target itself, where the target would stand elsewhere in the document.
fn direct(link_type: LinkType) -> LinkType {
    match link_type {
        LinkType::Autolink | LinkType::Email => link_type,
        _ => LinkType::Inline,
    }
}

fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

/// Whether what stands after it is free of it: no HTML, no heading of our levels, no reference that others would use, and a
/// paragraph behind it is a paragraph.
fn stays_in_place(markdown: &str) -> bool {
    const BEHIND: &str = "behind";
    let text = format!("{markdown}\n{BEHIND}\n");
    let parser = Parser::new_ext(&text, dialect());
    if parser.reference_definitions().iter().next().is_some() {
        return false;
    }
    let (mut depth, mut last) = (0_usize, (0, String::new()));
    for event in parser {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => return false,
            Event::Start(Tag::Heading {
                level: HeadingLevel::H1 | HeadingLevel::H2,
                ..
            }) => return false,
            Event::Start(Tag::Paragraph) => {
                depth += 1;
                last = (depth, String::new());
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            Event::Text(text) => last.1.push_str(&text),
            _ => last.1.push(' '),
        }
    }
    last == (1, BEHIND.to_owned())
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_a_fence_is_longer_than_any_inside() {
        assert_eq!(fenced("", "a\n````\nb"), "`````\na\n````\nb\n`````\n");
        assert_eq!(fenced("text", "a\u{1b}[2J\n"), "```text\na\u{fffd}[2J\n```\n");
        assert_eq!(code("a `b`"), "`` a `b` ``");
        assert_eq!(code(" \n"), "(nothing)");
        assert_eq!(inline("a\n# *b* <c>"), "a \\# \\*b\\* \\<c\\>");
    }

    #[test]
    fn untrusted_nested_markdown_ends_where_it_ends() {
        assert_eq!(nested("# a\n\nb"), "### a\n\nb\n");
        assert_eq!(nested("a\n=\n"), "### a\n");
        assert_eq!(
            nested("<!-- never closed\n# a"),
            "```html\n<!-- never closed\n# a\n```\n"
        );
        assert_eq!(nested("```rs\nfn"), "```rs\nfn\n```\n");
        assert_eq!(nested("a&#27;[2Jb&#x202e;c"), "a\u{fffd}\\[2Jb\u{fffd}c\n");
        assert_eq!(nested("```&#27;[31m\na"), "```\u{fffd}[31m\na\n```\n");
        assert_eq!(nested("a <b>c</b>"), "a `<b>`c`</b>`\n");
        assert_eq!(
            nested("see [x]\n\n[x]: https://a.example"),
            "see [x](https://a.example)\n"
        );
        let deep = nested(&"> ".repeat(100_000));
        assert!(
            deep.starts_with("```markdown\n> > "),
            "bounded: what is nested too deep is fenced"
        );
        assert_eq!(quoted("a\n\nb\n"), "> a\n>\n> b\n");
    }
}
