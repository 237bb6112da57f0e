//! A session as a Markdown document: title, facts, a heading for each turn, and below it what was asked, said and done.

use std::sync::Arc;

use tapline_timeline::{
    Ask, Authorization, Body, Choice, Compaction, CompactionState, Content, Delivery, Diff, Effect, End,
    FileChange, Helper, Media, Message, Origin, Outcome, Part, Plan, PlanState, Question, Request,
    RequestState, Row, Session, SessionMessage, Status, Task, TextState, Time, Tone, Tool, ToolItem,
    ToolState, Turn, Unknown, User, WorkState, outline,
};

use crate::safe::{code, fenced, inline, line, nested, quoted};

/// Writes a session and its rows (in the order of `seq`) as Markdown: CommonMark with GitHub's tables and task lists.
pub fn markdown(session: &Session, rows: &[Arc<Row>]) -> String {
    let mut page = Page::default();
    page.session(session);
    for place in outline(rows) {
        page.row(&rows[place.row]);
    }
    page.out
}

#[derive(Default)]
struct Page {
    out: String,
    turns: u64,
    /// The last block is a list or may end with one, which a list after it would join.
    loose: bool,
}

/// What a text is.
#[derive(Clone, Copy)]
enum Words {
    /// Markdown, which stays Markdown.
    Markdown,
    /// Text as it stands.
    Plain,
}

impl Page {
    /// Adds a block, a blank line before it.
    fn block(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(text);
        if !text.ends_with('\n') {
            self.out.push('\n');
        }
        self.loose = false;
    }

    /// Adds a list, or Markdown that may begin or end with one, and keeps it apart from such a block before it.
    fn loose(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if self.loose {
            self.block("---");
        }
        self.block(text);
        self.loose = true;
    }

    /// A sentence of ours, in bold, with facts behind it.
    fn headline(&mut self, what: &str, subject: &str, facts: &[String]) {
        let mut text = format!("**{what}**");
        if !subject.is_empty() {
            text.push_str(&format!(" {subject}"));
        }
        if !facts.is_empty() {
            text.push_str(&format!(" ({})", facts.join(", ")));
        }
        self.block(&text);
    }

    fn session(&mut self, session: &Session) {
        let title = session
            .title
            .as_deref()
            .map(inline)
            .filter(|title| !title.is_empty());
        self.block(&format!(
            "# Session: {}",
            title.unwrap_or_else(|| "without a title".to_owned())
        ));
        let mut facts = Vec::new();
        if let Some(agent) = &session.agent {
            let version = agent.version.as_deref().unwrap_or_default();
            facts.push(("Agent", inline(&format!("{} {version}", agent.name))));
        }
        let told = [
            ("Model", &session.model),
            ("Mode", &session.mode),
            ("Folder", &session.cwd),
        ];
        facts.extend(
            told.into_iter()
                .filter_map(|(name, fact)| Some((name, code(fact.as_deref()?)))),
        );
        facts.push(("Session", code(session.id.as_str())));
        facts.extend(
            session
                .parent
                .as_ref()
                .map(|parent| ("Started from", code(parent.as_str()))),
        );
        facts.extend(session.context.and_then(context).map(|text| ("Context", text)));
        facts.extend(session.updated_at.map(|at| ("Updated", moment(at))));
        self.loose(
            &facts
                .iter()
                .map(|(name, fact)| format!("- {name}: {fact}\n"))
                .collect::<String>(),
        );
    }

    fn row(&mut self, row: &Row) {
        match &row.body {
            Body::Turn(turn) => self.turn(row, turn),
            Body::System(content) => {
                self.headline("Instructions", "", &[]);
                self.content(content, Words::Plain);
            }
            Body::User(user) => self.user(user),
            Body::Assistant(message) => self.assistant(message),
            Body::Reasoning(message) => {
                let cut = (message.state == TextState::Cut).then(|| "cut off".to_owned());
                self.headline("Thought", "", &cut.into_iter().collect::<Vec<_>>());
                self.content(&message.content, Words::Plain);
            }
            Body::Tool(tool) => self.tool(tool),
            Body::Plan(plan) => self.plan(plan),
            Body::Request(request) => self.request(request),
            Body::Task(task) => self.task(task),
            Body::Helper(helper) => self.helper(helper),
            Body::Compaction(compaction) => self.compaction(compaction),
            Body::SessionMessage(message) => self.session_message(message),
            Body::Status(status) => self.status(status),
            Body::Unknown(unknown) => self.unknown(unknown),
        }
        for cut in &row.truncated {
            self.block(&format!(
                "*Cut here: {} ({} bytes at the source).*",
                inline(&cut.member),
                cut.bytes
            ));
        }
        if let Some(producer) = &row.producer {
            self.block(&format!("*By {}.*", inline(&producer.agent)));
        }
    }

    fn turn(&mut self, row: &Row, turn: &Turn) {
        self.turns += 1;
        let end = match turn.end {
            None => "still running",
            Some(End::Completed) => "completed",
            Some(End::Stopped) => "stopped",
            Some(End::Cut) => "cut, the agent process ended",
            Some(End::Failed) => "failed",
            Some(End::Refused) => "refused by the agent",
            Some(End::Limit) => "stopped at a limit",
            Some(End::Unknown) => "ended without a verdict",
        };
        self.block(&format!("## Turn {}: {end}", self.turns));
        let mut facts = Vec::new();
        if turn.origin == Origin::Agent {
            facts.push("begun by the agent".to_owned());
        }
        facts.extend(row.at.map(moment));
        facts.extend(turn.duration_ms.map(|ms| format!("took {}", seconds(ms))));
        facts.extend(
            turn.context
                .and_then(context)
                .map(|text| format!("context {text}")),
        );
        if let Some(usage) = &turn.usage {
            let counts = [
                (usage.input, "tokens in"),
                (usage.output, "tokens out"),
                (usage.cached_read, "cached"),
            ];
            facts.extend(
                counts
                    .into_iter()
                    .filter_map(|(count, name)| Some(format!("{} {name}", count?))),
            );
            facts.extend(
                usage
                    .cost
                    .as_ref()
                    .map(|cost| format!("{:.4} {}", cost.amount, inline(&cost.currency))),
            );
        }
        let reason = turn
            .stop_reason
            .as_deref()
            .filter(|_| turn.end != Some(End::Completed));
        facts.extend(reason.map(|reason| format!("stop reason {}", code(reason))));
        if let Some(first) = facts.first_mut() {
            *first = capital(first);
            self.block(&format!("{}.", facts.join(", ")));
        }
    }

    fn user(&mut self, user: &User) {
        let mut notes = Vec::new();
        if user.by_agent {
            notes.push("put in by the agent itself".to_owned());
        }
        notes.extend(match user.delivery {
            Some(Delivery::Queued) => Some("queued behind another prompt".to_owned()),
            Some(Delivery::Sent) => Some("sent, not yet taken up".to_owned()),
            Some(Delivery::Withdrawn) => Some("withdrawn".to_owned()),
            Some(Delivery::Unconfirmed) => {
                Some("unconfirmed: the connection ended before the agent took it up".to_owned())
            }
            Some(Delivery::Rejected) => Some("rejected by the agent".to_owned()),
            Some(Delivery::Accepted) | None => None,
        });
        notes.extend(
            user.reason
                .as_deref()
                .map(|reason| format!("reason: {}", inline(reason))),
        );
        let mut inside = Page::default();
        inside.content(&user.content, Words::Markdown);
        self.block(&quoted(&inside.out));
        if !notes.is_empty() {
            self.headline("Prompt", "", &notes);
        }
    }

    fn assistant(&mut self, message: &Message) {
        if message.superseded {
            self.headline("Broken off and said again", "", &[]);
            return self.content(&message.content, Words::Plain);
        }
        self.content(&message.content, Words::Markdown);
        if message.state == TextState::Cut {
            self.headline("Cut off here", "", &["the agent process ended".to_owned()]);
        }
    }

    fn tool(&mut self, tool: &Tool) {
        let said = |text: &Option<String>| text.as_deref().map(line).filter(|text| !text.is_empty());
        let title = said(&tool.title)
            .or_else(|| said(&tool.name))
            .unwrap_or_else(|| line(&tool.call));
        let mut facts = Vec::new();
        facts.extend(
            said(&tool.name)
                .filter(|name| *name != title)
                .map(|name| inline(&name)),
        );
        facts.push(
            match tool.state {
                ToolState::Unknown => "nobody said how it ended",
                state => state.as_str(),
            }
            .to_owned(),
        );
        facts.extend(match tool.authorization {
            Authorization::NotAsked => None,
            Authorization::AskedAllowed => Some("allowed".to_owned()),
            Authorization::AskedRejected => Some("permission refused".to_owned()),
            Authorization::AskedCancelled => Some("permission not decided".to_owned()),
        });
        facts.extend(tool.exit_code.map(|exit| format!("exit code {exit}")));
        self.headline("Tool", &code(&title), &facts);
        if let Some(input) = &tool.input {
            self.block(&fenced("json", input.as_str()));
        }
        self.items(&tool.content);
        if let Some(output) = tool.output.as_deref().filter(|output| !output.trim().is_empty()) {
            self.block(&fenced("text", output));
        }
        if let Some(value) = tool.result.as_ref().and_then(|result| result.value.as_ref()) {
            match serde_json::from_str::<String>(value.as_str()) {
                Ok(text) => self.block(&fenced("text", &text)),
                Err(_) => self.block(&fenced("json", value.as_str())),
            }
        }
    }

    fn items(&mut self, items: &[ToolItem]) {
        for item in items {
            match item {
                ToolItem::Text { text } if text.trim().is_empty() => {}
                ToolItem::Text { text } => self.block(&fenced("text", text)),
                ToolItem::Image(media) => self.media("Image", media),
                ToolItem::Audio(media) => self.media("Audio", media),
                ToolItem::File(media) => self.media("File", media),
                ToolItem::Link { uri, name, title, .. } => {
                    self.link(uri, title.as_deref().or(name.as_deref()))
                }
                ToolItem::Custom { custom, .. } => self.headline("Part", &code(custom), &[]),
                ToolItem::Diff(diff) => self.diff(diff),
                ToolItem::Terminal(terminal) => {
                    if !terminal.output.trim().is_empty() {
                        self.block(&fenced("text", &terminal.output));
                    }
                    let exit = terminal.exit_code.map(|exit| format!("exit code {exit}"));
                    let signal = terminal
                        .signal
                        .as_deref()
                        .map(|signal| format!("signal {}", inline(signal)));
                    let facts: Vec<String> = exit.into_iter().chain(signal).collect();
                    if !facts.is_empty() {
                        self.headline("Terminal ended", "", &facts);
                    }
                }
            }
        }
    }

    fn diff(&mut self, diff: &Diff) {
        let what = match diff.change {
            FileChange::Add => "New file",
            FileChange::Delete => "Deleted file",
            FileChange::Modify => "Edited file",
            FileChange::Move => "Moved file",
        };
        let mut facts = vec![format!("+{} −{}", diff.added, diff.removed)];
        facts.extend(diff.old_path.as_deref().map(|old| format!("from {}", code(old))));
        match diff.effect {
            Effect::Applied => {}
            Effect::Proposed => facts.push("proposed".to_owned()),
            Effect::Discarded => facts.push("not applied".to_owned()),
        }
        self.headline(what, &code(&diff.path), &facts);
        if !diff.patch.is_empty() {
            self.block(&fenced("diff", &diff.patch));
        }
    }

    fn plan(&mut self, plan: &Plan) {
        let mut facts = Vec::new();
        facts.extend(plan.plan.as_deref().map(inline));
        if plan.state == PlanState::Removed {
            facts.push("taken back".to_owned());
        }
        self.headline("Plan", "", &facts);
        let mut list = String::new();
        for entry in &plan.entries {
            let (mark, note) = match entry.status.as_str() {
                "completed" => ("x", String::new()),
                "pending" => (" ", String::new()),
                "in_progress" => (" ", " *(in progress)*".to_owned()),
                other => (" ", format!(" *({})*", inline(other))),
            };
            // A word of ours keeps what follows from being read as the start of a block.
            list.push_str(&format!("- [{mark}] Step: {}{note}\n", inline(&entry.text)));
        }
        self.loose(&list);
        if let Some(text) = &plan.text {
            self.loose(&nested(text));
        }
    }

    fn request(&mut self, request: &Request) {
        let what = match request.ask {
            Ask::Permission => "Permission",
            Ask::Question => "Question",
            Ask::Plan => "Plan to approve",
        };
        let verdict = match request.outcome {
            Some(Outcome::Allowed) => "allowed",
            Some(Outcome::Rejected) => "rejected",
            Some(Outcome::Answered) => "answered",
            Some(Outcome::Cancelled) => "withdrawn",
            None if request.state == RequestState::Pending => "waits for an answer",
            None => "settled",
        };
        let answer = request.answer.as_ref();
        let by = answer.and_then(|answer| answer.by.as_deref());
        let mut facts =
            vec![by.map_or_else(|| verdict.to_owned(), |by| format!("{verdict} by {}", inline(by)))];
        facts.extend(answer.and_then(|answer| answer.at).map(moment));
        let title = request
            .title
            .as_deref()
            .map(line)
            .filter(|title| !title.is_empty());
        self.headline(what, &title.map(|title| code(&title)).unwrap_or_default(), &facts);
        if let Some(text) = &request.text {
            self.loose(&nested(text));
        }
        // A request about a tool stands after it, and the tool shows the same.
        if request.tool.is_none() || request.state == RequestState::Pending {
            if let Some(input) = &request.input {
                self.block(&fenced("json", input.as_str()));
            }
            self.items(&request.content);
        }
        if request.questions.is_empty() {
            let chosen = answer.and_then(|answer| answer.option.as_deref());
            self.choices(&request.options, |choice| Some(choice.id.as_str()) == chosen);
        }
        for question in &request.questions {
            self.question(question, request);
        }
    }

    fn choices(&mut self, choices: &[Choice], chosen: impl Fn(&Choice) -> bool) {
        let mut list = String::new();
        for choice in choices {
            let label = code(choice.label.as_deref().unwrap_or(&choice.id));
            list.push_str(&if chosen(choice) {
                format!("- **{label}** (chosen)\n")
            } else {
                format!("- {label}\n")
            });
        }
        self.loose(&list);
    }

    fn question(&mut self, question: &Question, request: &Request) {
        let several = if question.multiple {
            vec!["several may be chosen".to_owned()]
        } else {
            Vec::new()
        };
        self.headline("Asked:", &inline(&question.text), &several);
        let answer = request
            .answer
            .as_ref()
            .and_then(|answer| answer.answers.iter().find(|one| one.question == question.id));
        let picked = answer.map(|one| one.options.as_slice()).unwrap_or_default();
        let names =
            |choice: &Choice, word: &String| *word == choice.id || Some(word) == choice.label.as_ref();
        self.choices(&question.options, |choice| {
            picked.iter().any(|word| names(choice, word))
        });
        let others = picked
            .iter()
            .filter(|word| !question.options.iter().any(|choice| names(choice, word)));
        for words in others.chain(answer.and_then(|one| one.text.as_ref())) {
            self.headline("Answer:", &inline(words), &[]);
        }
    }

    fn task(&mut self, task: &Task) {
        let mut facts = Vec::new();
        facts.extend(task.exit_code.map(|exit| format!("exit code {exit}")));
        facts.extend(
            task.signal
                .as_deref()
                .map(|signal| format!("signal {}", inline(signal))),
        );
        facts.extend(
            task.output_file
                .as_deref()
                .map(|file| format!("output in {}", code(file))),
        );
        self.headline("Task:", &inline(&task.sentence()), &facts);
        if let Some(summary) = &task.summary {
            self.block(&fenced("text", summary));
        }
    }

    fn helper(&mut self, helper: &Helper) {
        let state = match helper.state {
            WorkState::Unknown => "stopped reporting",
            state => state.as_str(),
        };
        let mut facts = vec![state.to_owned()];
        facts.extend(helper.tokens.map(|tokens| format!("{tokens} tokens")));
        facts.extend(
            helper
                .child
                .as_ref()
                .map(|child| format!("session {}", code(child.as_str()))),
        );
        self.headline("Helper", &code(&helper.label), &facts);
        if let Some(text) = &helper.text {
            self.loose(&nested(text));
        }
    }

    fn compaction(&mut self, compaction: &Compaction) {
        let what = match compaction.state {
            CompactionState::Running => "Shortening its context",
            CompactionState::Completed => "Context shortened",
            CompactionState::Failed => "Shortening the context failed",
            CompactionState::Cancelled => "Shortening the context was broken off",
        };
        self.headline(what, "", &[]);
        self.content(&compaction.content, Words::Plain);
        if let Some(detail) = &compaction.detail {
            self.block(&fenced("json", detail.as_str()));
        }
    }

    fn session_message(&mut self, message: &SessionMessage) {
        let from = message.from.as_deref().map(|from| format!("from {}", code(from)));
        let to = message.to.as_deref().map(|to| format!("to {}", code(to)));
        self.headline("Message", "", &from.into_iter().chain(to).collect::<Vec<_>>());
        self.content(&message.content, Words::Markdown);
    }

    fn status(&mut self, status: &Status) {
        let what = match status.tone {
            Tone::Info => "Note:",
            Tone::Warning => "Warning:",
            Tone::Error => "Error:",
        };
        let code_said = status.detail.as_ref().and_then(|detail| detail.code.as_deref());
        let facts: Vec<String> = code_said
            .map(|said| format!("code {}", code(said)))
            .into_iter()
            .collect();
        if status.text.trim().contains('\n') {
            self.headline(what, "", &facts);
            self.block(&fenced("text", status.text.trim()));
        } else {
            self.headline(what, &inline(&status.text), &facts);
        }
        if let Some(more) = status.detail.as_ref().and_then(|detail| detail.more.as_ref()) {
            self.block(&fenced("json", more.as_str()));
        }
    }

    fn unknown(&mut self, unknown: &Unknown) {
        let what = unknown.name.as_deref().unwrap_or(&unknown.method);
        self.headline(
            "Unknown update",
            &code(what),
            &[format!("by {}", code(&unknown.method))],
        );
        if let Some(payload) = &unknown.payload {
            self.block(&fenced("json", payload.as_str()));
        }
    }

    fn content(&mut self, content: &Content, words: Words) {
        for part in content.parts() {
            match part {
                Part::Text { text } if text.trim().is_empty() => {}
                Part::Text { text } => match words {
                    Words::Markdown => self.loose(&nested(&text)),
                    Words::Plain => self.block(&fenced("text", &text)),
                },
                Part::Image(media) => self.media("Image", &media),
                Part::Audio(media) => self.media("Audio", &media),
                Part::File(media) => self.media("File", &media),
                Part::Link { uri, name, title, .. } => self.link(&uri, title.as_deref().or(name.as_deref())),
                Part::Custom { custom, .. } => self.headline("Part", &code(&custom), &[]),
            }
        }
    }

    fn media(&mut self, what: &str, media: &Media) {
        let name = media
            .name
            .as_deref()
            .or(media.uri.as_deref())
            .map(code)
            .unwrap_or_default();
        let mut facts = Vec::new();
        facts.extend(media.media_type.as_deref().map(inline));
        facts.extend(media.bytes.map(|bytes| format!("{bytes} bytes")));
        self.headline(what, &name, &facts);
        if let Some(text) = &media.text {
            self.block(&fenced("text", text));
        }
    }

    /// A link that a reader sees and can copy, but that nobody follows by accident.
    fn link(&mut self, uri: &str, name: Option<&str>) {
        let name = name.map(inline).filter(|name| !name.is_empty());
        self.headline("Link", &code(uri), &name.into_iter().collect::<Vec<_>>());
    }
}

fn moment(time: Time) -> String {
    match (time.rfc3339(), time) {
        (Some(text), _) => text,
        (None, Time::Since(ms)) => format!("{} after the start", seconds(ms)),
        (None, Time::At(ms)) => format!("{ms} ms"),
    }
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1000, ms % 1000)
}

fn context(context: tapline_timeline::Context) -> Option<String> {
    match (context.used, context.size) {
        (Some(used), Some(size)) => Some(format!("{used} of {size} tokens")),
        (Some(used), None) => Some(format!("{used} tokens")),
        _ => None,
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().chain(chars).collect())
        .unwrap_or_default()
}
