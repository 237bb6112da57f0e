//! The line editor: keys in, what a person wants out.
//!
//! The keys are those of a shell: arrows, Home and End, Ctrl-A E B F, Alt-B F, Ctrl-W U K Y, Ctrl-R for the history. Enter sends;
//! behind a `\` it makes a new line, as Alt-Enter and Ctrl-J do. While something is asked, the draft stands aside and an answer
//! is written in its place; so half a prompt is never taken for an answer.

use std::path::Path;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::attach::pasted_picture;
use super::complete::{Completion, complete};
use super::draft::Draft;
use super::history::History;

/// What a key was for, beside writing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Nothing more.
    None,
    /// The line is done.
    Enter(String),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D on an empty line.
    EndOfInput,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-L.
    Wipe,
    /// The terminal has another size.
    Resize,
    /// Something to tell at once.
    Hint(String),
}

/// What is offered for completion, and which of it stands in the draft.
#[derive(Debug)]
pub(super) struct Menu {
    pub(super) completion: Completion,
    pub(super) chosen: Option<usize>,
    /// Bytes before the cursor that it has put there.
    put: usize,
}

/// The search in the history.
#[derive(Debug, Default)]
struct Search {
    words: String,
    skip: usize,
    /// The draft as it was before.
    before: String,
}

pub(super) struct Writer {
    draft: Draft,
    /// The prompt that waits while an answer is written.
    aside: Option<Draft>,
    history: History,
    menu: Option<Menu>,
    search: Option<Search>,
}

/// What completion needs to know.
pub(super) struct Known<'k> {
    pub(super) commands: &'k [(String, String)],
    pub(super) cwd: &'k Path,
}

impl Writer {
    pub(super) fn new(history: History) -> Self {
        Self {
            draft: Draft::default(),
            aside: None,
            history,
            menu: None,
            search: None,
        }
    }

    pub(super) fn draft(&self) -> &Draft {
        &self.draft
    }

    pub(super) fn menu(&self) -> Option<&Menu> {
        self.menu.as_ref()
    }

    /// The words that are searched for.
    pub(super) fn searched(&self) -> Option<&str> {
        self.search.as_ref().map(|search| search.words.as_str())
    }

    /// Remembers what was sent.
    pub(super) fn remember(&mut self, text: &str) {
        self.history.add(text);
    }

    /// Puts a text into the line.
    pub(super) fn put(&mut self, text: &str) {
        self.draft.set(text);
        self.menu = None;
    }

    /// Puts a prompt that was not taken back; one that is being written since is left alone. Says whether it had room.
    pub(super) fn put_back(&mut self, text: &str) -> bool {
        let draft = self.aside.as_mut().unwrap_or(&mut self.draft);
        let free = draft.is_empty();
        if free {
            draft.set(text);
        }
        free
    }

    /// An answer is written now, or a prompt again.
    pub(super) fn answers(&mut self, yes: bool) {
        if yes == self.aside.is_some() {
            return;
        }
        self.menu = None;
        self.search = None;
        match self.aside.take() {
            Some(draft) => self.draft = draft,
            None => self.aside = Some(std::mem::take(&mut self.draft)),
        }
    }

    /// Whether half a prompt waits behind an answer.
    pub(super) fn has_aside(&self) -> bool {
        self.aside.as_ref().is_some_and(|draft| !draft.is_empty())
    }

    /// Takes one event of the terminal.
    pub(super) fn take(&mut self, event: Event, known: &Known<'_>) -> Act {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(key, known),
            Event::Paste(text) => self.paste(&text, known),
            Event::Resize(..) => Act::Resize,
            _ => Act::None,
        }
    }

    fn paste(&mut self, text: &str, known: &Known<'_>) -> Act {
        self.menu = None;
        self.search = None;
        let picture = if self.aside.is_none() {
            pasted_picture(text, known.cwd)
        } else {
            None
        };
        let whole = match picture {
            Some(mention) => {
                let apart = !self.draft.before().ends_with(|c: char| !c.is_whitespace());
                let before = if apart { "" } else { " " };
                self.draft.insert(&format!("{before}{mention} "))
            }
            None => self.draft.insert(text),
        };
        if whole {
            Act::None
        } else {
            let most = super::draft::DRAFT_BYTES >> 20;
            Act::Hint(format!(
                "The paste was cut: a prompt has at most {most} MiB. Name a file with @ instead."
            ))
        }
    }

    fn key(&mut self, key: KeyEvent, known: &Known<'_>) -> Act {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        if self.search.is_some() {
            return self.search_key(key, control);
        }
        if !matches!(key.code, KeyCode::Tab | KeyCode::BackTab) {
            self.menu = None;
        }
        match key.code {
            KeyCode::Char('c') if control => return Act::Interrupt,
            KeyCode::Char('d') if control => {
                if self.draft.is_empty() {
                    return Act::EndOfInput;
                }
                self.draft.delete();
            }
            KeyCode::Char('z') if control => return Act::Suspend,
            KeyCode::Char('l') if control => return Act::Wipe,
            KeyCode::Char('j') if control => self.new_line(),
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => self.new_line(),
            KeyCode::Enter => return self.enter(),
            KeyCode::Tab => self.complete(known, true),
            KeyCode::BackTab => self.complete(known, false),
            KeyCode::Up => self.up(),
            KeyCode::Down => self.down(),
            KeyCode::Char('p') if control => self.up(),
            KeyCode::Char('n') if control => self.down(),
            KeyCode::Char('r') if control && self.aside.is_none() => {
                self.search = Some(Search {
                    before: self.draft.text().to_owned(),
                    ..Search::default()
                });
            }
            code => self.edit(code, control, alt),
        }
        Act::None
    }

    /// Keys that only move and change the text.
    fn edit(&mut self, code: KeyCode, control: bool, alt: bool) {
        let draft = &mut self.draft;
        match (code, control, alt) {
            (KeyCode::Left, false, false) | (KeyCode::Char('b'), true, _) => draft.left(),
            (KeyCode::Right, false, false) | (KeyCode::Char('f'), true, _) => draft.right(),
            (KeyCode::Left, ..) | (KeyCode::Char('b'), _, true) => draft.word_left(),
            (KeyCode::Right, ..) | (KeyCode::Char('f'), _, true) => draft.word_right(),
            (KeyCode::Home, ..) | (KeyCode::Char('a'), true, _) => draft.home(),
            (KeyCode::End, ..) | (KeyCode::Char('e'), true, _) => draft.end(),
            (KeyCode::Backspace, _, true) | (KeyCode::Char('w'), true, _) => draft.kill_word(),
            (KeyCode::Backspace, ..) | (KeyCode::Char('h'), true, _) => draft.backspace(),
            (KeyCode::Delete, ..) => draft.delete(),
            (KeyCode::Char('d'), _, true) => draft.kill_word_right(),
            (KeyCode::Char('u'), true, _) => draft.kill_to_start(),
            (KeyCode::Char('k'), true, _) => draft.kill_to_end(),
            (KeyCode::Char('y'), true, _) => draft.yank(),
            (KeyCode::Char(c), false, false) => {
                draft.insert(c.encode_utf8(&mut [0; 4]));
            }
            _ => {}
        }
    }

    fn new_line(&mut self) {
        self.draft.insert("\n");
    }

    fn enter(&mut self) -> Act {
        // A line that ends with a backslash goes on.
        if self.draft.before().ends_with('\\') && self.draft.before().len() == self.draft.text().len() {
            self.draft.replace_before(1, "\n");
            return Act::None;
        }
        Act::Enter(self.draft.take())
    }

    /// Ctrl-C on a line: it is thrown away. Says whether there was one.
    pub(super) fn throw_away(&mut self) -> bool {
        self.menu = None;
        if self.search.is_some() {
            self.end_search(false);
            return true;
        }
        !self.draft.take().is_empty()
    }

    // --- History ---

    fn up(&mut self) {
        if !self.draft.up() && self.aside.is_none() {
            let now = self.draft.text().to_owned();
            if let Some(older) = self.history.older(&now) {
                self.draft.set(older);
            }
        }
    }

    fn down(&mut self) {
        if !self.draft.down()
            && self.aside.is_none()
            && let Some(newer) = self.history.newer()
        {
            self.draft.set(&newer);
        }
    }

    fn search_key(&mut self, key: KeyEvent, control: bool) -> Act {
        let Some(search) = &mut self.search else {
            return Act::None;
        };
        match key.code {
            KeyCode::Char('r') if control => search.skip += 1,
            KeyCode::Char('c' | 'g') if control => {
                self.end_search(false);
                return Act::None;
            }
            KeyCode::Esc => {
                self.end_search(false);
                return Act::None;
            }
            KeyCode::Char(c) if !control => {
                search.words.push(c);
                search.skip = 0;
            }
            KeyCode::Backspace => {
                search.words.pop();
                search.skip = 0;
            }
            _ => {
                self.end_search(true);
                return Act::None;
            }
        }
        if !search.words.is_empty() {
            match self.history.find(&search.words, search.skip) {
                Some(found) => self.draft.set(found),
                // There are no more of them.
                None => search.skip = search.skip.saturating_sub(1),
            }
        }
        Act::None
    }

    fn end_search(&mut self, keep: bool) {
        if let Some(search) = self.search.take()
            && !keep
        {
            self.draft.set(&search.before);
        }
    }

    // --- Completion ---

    fn complete(&mut self, known: &Known<'_>, forward: bool) {
        if let Some(menu) = &mut self.menu {
            let count = menu.completion.candidates.len();
            let next = match (menu.chosen, forward) {
                (None, true) => 0,
                (None, false) => count - 1,
                (Some(n), true) => (n + 1) % count,
                (Some(n), false) => (n + count - 1) % count,
            };
            menu.chosen = Some(next);
            let text = &menu.completion.candidates[next].text;
            self.draft.replace_before(menu.put, text);
            menu.put = text.len();
            return;
        }
        let commands = known
            .commands
            .iter()
            .map(|(name, about)| (name.as_str(), about.as_str()));
        let Some(completion) = complete(self.draft.before(), commands, known.cwd) else {
            return;
        };
        if let [only] = completion.candidates.as_slice() {
            self.draft.replace_before(completion.replaces, &only.text);
            return;
        }
        let common = completion.common().to_owned();
        let put = if common.len() >= completion.replaces {
            self.draft.replace_before(completion.replaces, &common);
            common.len()
        } else {
            completion.replaces
        };
        self.menu = Some(Menu {
            completion,
            chosen: None,
            put,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Desk {
        writer: Writer,
        home: tempfile::TempDir,
        commands: Vec<(String, String)>,
    }

    impl Desk {
        fn new() -> Self {
            let home = tempfile::tempdir().expect("a folder");
            let history = History::open(home.path(), tapline_recorder::default_rules());
            let command = |name: &str| (name.to_owned(), String::new());
            Self {
                writer: Writer::new(history),
                home,
                commands: vec![command("review"), command("reset")],
            }
        }

        fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Act {
            self.take(Event::Key(KeyEvent::new(code, modifiers)))
        }

        fn take(&mut self, event: Event) -> Act {
            let known = Known {
                commands: &self.commands,
                cwd: self.home.path(),
            };
            self.writer.take(event, &known)
        }

        fn write(&mut self, text: &str) {
            for c in text.chars() {
                assert_eq!(self.press(KeyCode::Char(c), KeyModifiers::NONE), Act::None);
            }
        }

        fn control(&mut self, c: char) -> Act {
            self.press(KeyCode::Char(c), KeyModifiers::CONTROL)
        }

        fn enter(&mut self) -> Act {
            self.press(KeyCode::Enter, KeyModifiers::NONE)
        }
    }

    #[test]
    fn enter_sends_and_a_backslash_goes_on() {
        let mut desk = Desk::new();
        desk.write("one\\");
        assert_eq!(desk.enter(), Act::None);
        desk.write("two");
        desk.control('j');
        desk.write("three");
        assert_eq!(desk.enter(), Act::Enter("one\ntwo\nthree".into()));
        assert!(desk.writer.draft().is_empty());
        assert_eq!(desk.control('d'), Act::EndOfInput);
        desk.write("x");
        assert_eq!(desk.control('d'), Act::None);
        assert_eq!(desk.control('c'), Act::Interrupt);
    }

    #[test]
    fn a_paste_of_several_lines_sends_nothing() {
        let mut desk = Desk::new();
        assert_eq!(desk.take(Event::Paste("a\r\nb\r".into())), Act::None);
        assert_eq!(desk.writer.draft().text(), "a\nb\n");
        std::fs::write(desk.home.path().join("s.png"), b"\x89PNG\r\n\x1a\n").expect("it is written");
        desk.take(Event::Paste("s.png".into()));
        assert_eq!(desk.writer.draft().text(), "a\nb\n@s.png ");
    }

    #[test]
    fn tab_goes_as_far_as_it_is_clear_and_then_around() {
        let mut desk = Desk::new();
        desk.write("/r");
        let mut seen = Vec::new();
        for _ in 0..4 {
            desk.press(KeyCode::Tab, KeyModifiers::NONE);
            seen.push(desk.writer.draft().text().to_owned());
        }
        assert_eq!(seen, ["/re", "/review ", "/reset ", "/review "]);
        desk.press(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert_eq!(desk.writer.draft().text(), "/reset ");
        desk.write("x");
        assert!(desk.writer.menu().is_none());
    }

    #[test]
    fn a_prompt_waits_while_an_answer_is_written() {
        let mut desk = Desk::new();
        desk.write("half a pro");
        desk.writer.answers(true);
        assert!(desk.writer.draft().is_empty() && desk.writer.has_aside());
        desk.write("y");
        assert_eq!(desk.enter(), Act::Enter("y".into()));
        desk.writer.answers(false);
        assert_eq!(desk.writer.draft().text(), "half a pro");
    }

    #[test]
    fn the_history_is_gone_through_and_searched() {
        let mut desk = Desk::new();
        for text in ["fix the test", "write docs"] {
            desk.writer.remember(text);
        }
        desk.write("new");
        desk.press(KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(desk.writer.draft().text(), "write docs");
        desk.press(KeyCode::Down, KeyModifiers::NONE);
        assert_eq!(desk.writer.draft().text(), "new");
        desk.control('r');
        desk.write("fix");
        assert_eq!(desk.writer.draft().text(), "fix the test");
        desk.press(KeyCode::Esc, KeyModifiers::NONE);
        assert_eq!(desk.writer.draft().text(), "new");
        desk.control('r');
        desk.write("docs");
        desk.enter();
        assert_eq!(
            desk.writer.draft().text(),
            "write docs",
            "Enter takes it, a second one sends it"
        );
    }
}
