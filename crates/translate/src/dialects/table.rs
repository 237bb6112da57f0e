//! What one vendor's agent says, as data.
//!
//! Most of what an agent says beyond the protocol is the same few facts in other places: the tool's name, the exit
//! code of its command, what it printed, the call under which it stands, the words of an error, what its token counts
//! add up. So a dialect is a static [`Table`] of those places, read by one [`Tabled`] dialect; the few lines that are no
//! data (text that has to be taken apart, work that outlives its tool) are functions that the table names.
//!
//! Paths are read leniently: what is not there, or is of another type, says nothing.

use std::borrow::Cow;
use std::collections::VecDeque;

use tapline_timeline::{
    Channel, Choice, Event, FileChange, Json, Measure, RequestNews, ToolItem, ToolNews, ToolStatus, Usage,
    readable,
};
use tapline_wire::session::PromptAnswer;
use tapline_wire::{AgentError, Permission, RawValue, Update, value};

use super::text;
use crate::dialect::{AnswerReading, Around, Chunk, Dialect, Facts, Marks, VendorRequest};

/// The character that begins an escape sequence.
const ESCAPE: char = '\u{1b}';

/// Where a value stands: names of members, from the outside in.
pub(super) type Path = &'static [&'static str];

/// Where a tool's own name stands.
#[derive(Debug)]
pub(super) enum NameAt {
    /// Nowhere, or in the protocol's own member.
    Nowhere,
    /// In the `_meta` of the update.
    Meta(&'static [Path]),
    /// It is the title of the announcement, where that is one word; of commands too, if so.
    Title {
        /// Commands are announced by their name as well, not by what they run.
        commands: bool,
    },
    /// In front of this mark in every title.
    BeforeInTitle(&'static str),
    /// In front of this mark in the id of the call.
    BeforeInCall(&'static str),
}

/// What an agent's token counts are.
#[derive(Debug)]
pub(super) struct Counts {
    /// What the answer to a prompt adds up.
    pub measure: Measure,
    /// Whether its input holds the cached tokens, where the habit is known.
    pub input_holds_cached: Option<bool>,
    /// Where in the answer's `_meta` the counts stand, if not in `usage`.
    pub at: Option<Path>,
}

/// Words of an agent's machinery among what it says: they are a message of their own.
#[derive(Debug)]
pub(super) enum Note {
    /// Text that begins so.
    Begins(&'static str),
    /// A chunk with this member in its `_meta`.
    Marked(Path),
}

/// What one vendor's agent says beyond the protocol.
pub(super) struct Table {
    /// Name of the dialect.
    pub name: &'static str,
    /// What the agent is called in a sentence.
    pub agent: &'static str,
    /// Where a tool's name stands.
    pub tool_name: NameAt,
    /// Where, in the `_meta` of an update, the call stands under which a tool runs.
    pub parent: &'static [Path],
    /// Where, in `rawOutput`, the exit code of a command stands.
    pub exit_code: &'static [Path],
    /// Where, in `rawOutput`, what a tool printed or why it failed stands: a text, or a list of objects with `text`.
    pub output: &'static [Path],
    /// Where there is text content, it is what `rawOutput` says, made readable: the latter is not told again.
    pub content_retells_output: bool,
    /// Text content is put into Markdown fences, which are not part of it.
    pub fences: bool,
    /// Members of a tool's input that are the agent's own book-keeping.
    pub input_noise: &'static [&'static str],
    /// Text content of a permission is about the question, not what the tool shows.
    pub permission_text: bool,
    /// Beginnings of lines from which on a permission's text says again what its options say.
    pub permission_cut: &'static [&'static str],
    /// A diff of a file that was empty is one of a new file.
    pub empty_is_new: bool,
    /// Beginnings of text content that is for the model alone.
    pub model_only: &'static [&'static str],
    /// Permissions come under ids that are made up for them: one that no tool has had is none.
    pub made_up_calls: bool,
    /// What a person reads for an option, by its id.
    pub options: &'static [(&'static str, &'static str)],
    /// Where, in an error's `data`, the words stand if they are nowhere else.
    pub words: &'static [Path],
    /// Errors may be JSON text that holds the words.
    pub json_words: bool,
    /// Beginnings of error words that say that nobody is signed in.
    pub sign_in_words: &'static [&'static str],
    /// Its token counts.
    pub counts: Option<Counts>,
    /// It goes on replaying after it has answered a load.
    pub replay_tail: bool,
    /// Words of its machinery among what it says.
    pub notes: &'static [Note],
    /// A message that follows a tool or a thought begins with blank lines.
    pub blank_lead: bool,
    /// Beginnings of methods (without the underscore) of requests and notices that make no row, each with its rule.
    pub silent: &'static [(&'static str, &'static str)],
    /// What else it says of a tool.
    pub tool: for<'a> fn(&mut Memory, &Update<'a>, &mut ToolNews<'a>, &mut Facts<'a>),
    /// What else it says in a permission.
    pub permission: for<'a> fn(&Permission<'a>, &mut RequestNews<'a>),
    /// What else an update says.
    pub update: for<'a> fn(&Update<'a>, &mut Facts<'a>),
    /// What a notice says; whether it said anything.
    pub notice: for<'a> fn(&str, &'a RawValue, &mut Facts<'a>) -> bool,
}

fn no_tool<'a>(_: &mut Memory, _: &Update<'a>, _: &mut ToolNews<'a>, _: &mut Facts<'a>) {}
fn no_permission<'a>(_: &Permission<'a>, _: &mut RequestNews<'a>) {}
fn no_update<'a>(_: &Update<'a>, _: &mut Facts<'a>) {}
fn no_notice<'a>(_: &str, _: &'a RawValue, _: &mut Facts<'a>) -> bool {
    false
}

impl Table {
    /// An agent that says nothing beyond the protocol.
    pub(super) const PLAIN: Table = Table {
        name: "",
        agent: "",
        tool_name: NameAt::Nowhere,
        parent: &[],
        exit_code: &[],
        output: &[],
        content_retells_output: false,
        fences: false,
        input_noise: &[],
        permission_text: false,
        permission_cut: &[],
        empty_is_new: false,
        model_only: &[],
        made_up_calls: false,
        options: &[],
        words: &[],
        json_words: false,
        sign_in_words: &[],
        counts: None,
        replay_tail: false,
        notes: &[],
        blank_lead: false,
        silent: &[],
        tool: no_tool,
        permission: no_permission,
        update: no_update,
        notice: no_notice,
    };
}

/// What a dialect remembers between frames: what the newest calls are about. Bounded; the oldest goes first.
#[derive(Debug, Default)]
pub(super) struct Memory {
    about: VecDeque<(Box<str>, Box<str>)>,
    in_text: bool,
}

impl Memory {
    /// Most calls that are remembered.
    const CALLS: usize = 64;
    /// Most bytes of what a call is about.
    const BYTES: usize = 512;

    /// Remembers what a call is about.
    pub(super) fn note(&mut self, call: &str, about: &str) {
        let about: Box<str> = text::head(about, Self::BYTES).into();
        if let Some(known) = self.about.iter_mut().find(|(c, _)| **c == *call) {
            known.1 = about;
            return;
        }
        if self.about.len() >= Self::CALLS {
            self.about.pop_front();
        }
        self.about.push_back((call.into(), about));
    }

    /// What a call is about.
    pub(super) fn about(&self, call: &str) -> Option<&str> {
        let known = self.about.iter().find(|(c, _)| **c == *call);
        known.map(|(_, about)| &**about)
    }
}

/// A dialect that is a table.
pub(super) struct Tabled {
    table: &'static Table,
    memory: Memory,
}

impl Tabled {
    /// The dialect of this table.
    pub(super) fn boxed(table: &'static Table) -> Box<dyn Dialect> {
        Box::new(Self {
            table,
            memory: Memory::default(),
        })
    }
}

/// The first of these places that holds a text, or a list of objects with `text`.
pub(super) fn text_at<'a>(raw: &'a RawValue, paths: &[Path]) -> Option<Cow<'a, str>> {
    paths.iter().find_map(|path| {
        let found = value::path(raw, path)?;
        if !value::is_array(found) {
            return value::text(found);
        }
        let texts: Vec<Cow<'_, str>> = value::array(found)
            .filter_map(|item| value::member_text(item, "text"))
            .collect();
        (!texts.is_empty()).then(|| Cow::Owned(texts.join("\n")))
    })
}

/// The text at a place, if it stands in the frame as it is: ids do.
pub(super) fn id_at<'a>(raw: &'a RawValue, path: &[&str]) -> Option<&'a str> {
    match value::path(raw, path).and_then(value::text)? {
        Cow::Borrowed(id) if !id.is_empty() => Some(id),
        _ => None,
    }
}

impl Table {
    fn name_of<'a>(&self, update: &Update<'a>, news: &ToolNews<'a>) -> Option<Cow<'a, str>> {
        let title = || news.title.as_deref();
        let owned = |name: &str| Some(Cow::Owned(name.to_owned()));
        match &self.tool_name {
            NameAt::Nowhere => None,
            NameAt::Meta(paths) => {
                let meta = update.fields.meta?;
                paths
                    .iter()
                    .find_map(|p| value::path(meta, p).and_then(value::text))
            }
            NameAt::Title { commands } => {
                let is_command = update.fields.kind.as_deref() == Some("execute");
                let title = title().filter(|_| news.announced && (*commands || !is_command))?;
                text::is_word(title).then(|| Cow::Owned(title.to_owned()))
            }
            NameAt::BeforeInTitle(mark) => {
                let (name, _) = title()?.split_once(mark)?;
                if text::is_word(name) { owned(name) } else { None }
            }
            NameAt::BeforeInCall(mark) => {
                let (name, _) = news.call.split_once(mark)?;
                if text::is_word(name) { owned(name) } else { None }
            }
        }
    }

    fn read_output<'a>(&self, raw: &'a RawValue, news: &mut ToolNews<'a>) {
        if let Some(output) = text_at(raw, self.output) {
            news.output = Some(output);
            news.result = None;
        }
        let code = self.exit_code.iter().find_map(|p| value::path(raw, p));
        news.exit_code = news.exit_code.or_else(|| code.and_then(value::i64));
    }

    fn clean_content(&self, news: &mut ToolNews<'_>) {
        // What was printed for a terminal is read by people all the same.
        if let Some(output) = &news.output
            && output.contains(ESCAPE)
        {
            news.output = Some(Cow::Owned(readable(output).into_owned()));
        }
        let Some(content) = &mut news.content else { return };
        for item in content.iter_mut() {
            let ToolItem::Text { text } = item else { continue };
            if let Some(inner) = text::unfenced(text).filter(|_| self.fences) {
                *text = inner;
            }
            if text.contains(ESCAPE) {
                *text = readable(text).into_owned();
            }
        }
        let tells = |item: &ToolItem| matches!(item, ToolItem::Text { text } if !text.trim().is_empty());
        if self.content_retells_output && content.iter().any(tells) {
            news.output = None;
            news.result = None;
        }
        content.retain(|item| match item {
            ToolItem::Text { text } => !self.model_only.iter().any(|words| text.starts_with(words)),
            _ => true,
        });
        self.name_new_files(content);
    }
}

impl Table {
    fn name_new_files(&self, content: &mut [ToolItem]) {
        for item in content.iter_mut().filter(|_| self.empty_is_new) {
            if let ToolItem::Diff(diff) = item
                && diff.change == FileChange::Modify
                && diff.patch.starts_with("@@ -0,0 ")
            {
                diff.change = FileChange::Add;
            }
        }
    }

    /// The words of a permission's content, without what its options say.
    fn words_of_permission(&self, content: &mut Vec<ToolItem>) -> Option<String> {
        let mut words = Vec::new();
        content.retain_mut(|item| match item {
            ToolItem::Text { text } => {
                let mut lines = text.lines();
                let cut = |line: &&str| !self.permission_cut.iter().any(|w| line.starts_with(w));
                let kept: Vec<&str> = lines.by_ref().take_while(cut).collect();
                words.extend((!kept.is_empty()).then(|| kept.join("\n")));
                false
            }
            _ => true,
        });
        words.retain(|w| !w.trim().is_empty());
        (!words.is_empty()).then(|| words.join("\n"))
    }
}

/// An object without some of its members.
fn without(input: &Json, noise: &[&str]) -> Option<Json> {
    let raw = RawValue::of(input.raw());
    if noise.is_empty() || !value::is_object(raw) {
        return None;
    }
    let mut left = String::from("{");
    let mut some = false;
    for (name, member) in value::members(raw) {
        if noise.contains(&&*name) {
            some = true;
            continue;
        }
        if left.len() > 1 {
            left.push(',');
        }
        left.push_str(Json::string(&name).as_str());
        left.push(':');
        left.push_str(member.get());
    }
    left.push('}');
    if some { Json::parse(&left).ok() } else { None }
}

impl Dialect for Tabled {
    fn name(&self) -> &'static str {
        self.table.name
    }

    fn agent_name(&self) -> Option<&'static str> {
        Some(self.table.agent)
    }

    /// A mark in `_meta` and the beginning of a message are the same for a chunk that differs in its text alone; only notes
    /// that are known by their words are not.
    fn chunks_are_plain(&self) -> bool {
        let by_words = |note: &Note| matches!(note, Note::Begins(_));
        !self.table.notes.iter().any(by_words)
    }

    fn replays_after_the_answer(&self) -> bool {
        self.table.replay_tail
    }

    fn update<'a>(&mut self, _: Around<'_>, update: &Update<'a>, _: &Marks<'a>, facts: &mut Facts<'a>) {
        match update.kind.as_deref() {
            Some("agent_message_chunk" | "usage_update" | "session_info_update") => {}
            _ => self.memory.in_text = false,
        }
        (self.table.update)(update, facts);
    }

    fn chunk<'a>(&mut self, _: Around<'_>, channel: Channel, update: &Update<'a>, text: &str) -> Chunk<'a> {
        if channel != Channel::Assistant {
            return Chunk::Said;
        }
        let is_note = self.table.notes.iter().any(|note| match note {
            Note::Begins(words) => text.starts_with(words),
            Note::Marked(path) => update.fields.meta.is_some_and(|m| value::path(m, path).is_some()),
        });
        if is_note {
            return Chunk::Apart;
        }
        let first = !text.is_empty() && !std::mem::replace(&mut self.memory.in_text, true);
        if first && self.table.blank_lead && text.starts_with("\n\n") {
            return Chunk::SaidOnly(Cow::Owned(text.trim_start_matches('\n').to_owned()));
        }
        Chunk::Said
    }

    fn tool<'a>(
        &mut self,
        _: Around<'_>,
        update: &Update<'a>,
        news: &mut ToolNews<'a>,
        facts: &mut Facts<'a>,
    ) {
        let table = self.table;
        if news.name.is_none() {
            news.name = table.name_of(update, news);
        }
        if let Some(meta) = update.fields.meta {
            news.parent = news
                .parent
                .or_else(|| table.parent.iter().find_map(|p| id_at(meta, p)));
        }
        if let Some(input) = news.input.as_ref().and_then(|i| without(i, table.input_noise)) {
            news.input = Some(input);
        }
        if let Some(raw) = update.fields.raw_output {
            table.read_output(raw, news);
        }
        (table.tool)(&mut self.memory, update, news, facts);
        if table.made_up_calls && self.memory.about(news.call).is_none() {
            self.memory.note(news.call, "");
        }
        table.clean_content(news);
    }

    fn notification<'a>(&mut self, _: Around<'_>, method: &str, params: &'a RawValue, facts: &mut Facts<'a>) {
        if !(self.table.notice)(method, params, facts) {
            facts.taken_by = self.silent(method);
        }
    }

    fn request<'a>(
        &mut self,
        _: Around<'_>,
        _: &'a str,
        method: &str,
        _: &'a RawValue,
    ) -> Option<VendorRequest<'a>> {
        self.silent(method).map(VendorRequest::Silent)
    }

    fn permission<'a>(&mut self, _: Around<'_>, permission: &Permission<'a>, news: &mut RequestNews<'a>) {
        if self.table.made_up_calls && self.memory.about(&permission.tool_call_id).is_none() {
            news.call = None;
        }
        if let Some(input) = news
            .input
            .as_ref()
            .and_then(|i| without(i, self.table.input_noise))
        {
            news.input = Some(input);
        }
        self.table.name_new_files(&mut news.content);
        if self.table.permission_text
            && let Some(words) = self.table.words_of_permission(&mut news.content)
        {
            news.text.get_or_insert(Cow::Owned(words));
        }
        (self.table.permission)(permission, news);
    }

    fn option_label(&self, choice: &Choice) -> Option<&'static str> {
        let known = self.table.options.iter().find(|(id, _)| *id == choice.id);
        known.map(|(_, label)| *label)
    }

    fn prompt_answer<'a>(
        &mut self,
        _: Around<'_>,
        answer: &PromptAnswer<'a>,
        reading: &mut AnswerReading<'a>,
    ) {
        self.memory.in_text = false;
        let Some(counts) = &self.table.counts else { return };
        if let Some(raw) = counts
            .at
            .and_then(|path| answer.meta.and_then(|meta| value::path(meta, path)))
        {
            let number = |name| value::member(raw, name).and_then(value::u64);
            reading.usage = Some(Usage {
                measure: Measure::Unsaid,
                input: number("input_tokens"),
                input_holds_cached: None,
                output: number("output_tokens"),
                cached_read: number("cached_tokens"),
                cached_write: None,
                thought: number("thought_tokens"),
                total: number("total_tokens"),
                cost: None,
            });
        }
        if let Some(usage) = &mut reading.usage {
            usage.measure = counts.measure;
            usage.input_holds_cached = counts.input_holds_cached;
            // Of one call, nothing at all is no measurement: the call never was.
            let nothing = [usage.input, usage.output, usage.cached_read, usage.total];
            if counts.measure == Measure::Call && nothing.iter().all(|n| n.unwrap_or(0) == 0) {
                reading.usage = None;
            }
        }
    }

    fn error_words<'a>(&self, error: &AgentError<'a>) -> Option<Option<Cow<'a, str>>> {
        match crate::errors::words(error) {
            Some(words) if self.table.json_words => {
                text::words_in_json(&words).map(|inner| Some(Cow::Owned(inner)))
            }
            Some(_) => None,
            None => {
                let words = text_at(error.data?, self.table.words)?;
                (!words.trim().is_empty()).then_some(Some(words))
            }
        }
    }

    fn asks_for_sign_in(&self, error: &AgentError<'_>) -> bool {
        let words = || crate::errors::words(error).unwrap_or_default();
        error.code == crate::errors::SIGN_IN || {
            let words = words();
            self.table.sign_in_words.iter().any(|w| words.starts_with(w))
        }
    }
}

impl Tabled {
    fn silent(&self, method: &str) -> Option<&'static str> {
        let bare = method.strip_prefix('_').unwrap_or(method);
        let known = self.table.silent.iter().find(|(m, _)| bare.starts_with(m));
        known.map(|(_, rule)| *rule)
    }
}

/// Whether news says that the tool worked.
pub(super) fn worked(news: &ToolNews<'_>) -> bool {
    news.status == Some(ToolStatus::Completed)
}

/// The steps of a to-do list that a tool holds, as the plan that it is.
pub(super) fn plan_of<'a>(todos: &'a RawValue) -> Option<Event<'a>> {
    let entries = crate::update::plan_entries(todos);
    (!entries.is_empty()).then_some(Event::Plan(tapline_timeline::PlanNews {
        turn: None,
        plan: None,
        body: tapline_timeline::PlanBody::Entries(entries),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_keeps_the_newest_calls_and_the_heads_of_what_they_are_about() {
        let mut memory = Memory::default();
        for n in 0..=Memory::CALLS {
            memory.note(&format!("call-{n}"), "x");
        }
        assert_eq!(memory.about("call-0"), None, "the oldest goes first");
        assert_eq!(memory.about("call-1"), Some("x"));
        memory.note("call-1", &"é".repeat(Memory::BYTES));
        assert_eq!(memory.about("call-1").map(str::len), Some(Memory::BYTES));
        assert_eq!(memory.about.len(), Memory::CALLS);
    }

    #[test]
    fn book_keeping_is_taken_out_of_an_input_and_nothing_else() {
        let input = Json::parse(r#"{"id":1,"command":["a","b"],"odd \"name\"":{"id":2}}"#).unwrap();
        let left = without(&input, &["id"]).unwrap();
        assert_eq!(left.as_str(), r#"{"command":["a","b"],"odd \"name\"":{"id":2}}"#);
        assert!(without(&input, &["other"]).is_none());
        assert!(without(&Json::string("text"), &["id"]).is_none());
    }

    #[test]
    fn a_text_is_found_as_it_is_or_in_a_list_of_parts() {
        let raw: &RawValue =
            serde_json::from_str(r#"{"a":{"b":"one"},"c":[{"text":"two"},{"x":1},{"text":"three"}]}"#)
                .unwrap();
        assert_eq!(text_at(raw, &[&["x"], &["a", "b"]]).as_deref(), Some("one"));
        assert_eq!(text_at(raw, &[&["c"]]).as_deref(), Some("two\nthree"));
        assert_eq!(text_at(raw, &[&["a"]]), None);
    }
}
