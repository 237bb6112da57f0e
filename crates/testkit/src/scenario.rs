//! Scenarios: what a scripted agent does when it may react, in a TOML file. `SCRIPTS.md` shows each step.
//!
//! A scenario is data, read whole and checked before the agent starts: an unknown word is an error with its line, so
//! a test never passes because a step was misspelled and did nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A scripted agent that reacts to its client.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// What the scenario is for, in a sentence.
    pub about: String,
    /// How the agent introduces itself.
    pub agent: AgentInfo,
    /// `_meta` of the answer to `initialize`.
    pub meta: Option<Value>,
    /// Refuse `session/new`, `session/load` and `session/resume` until the client has called `authenticate`.
    pub needs_login: bool,
    /// Pause between the pieces of a text, unless the step has its own.
    pub pace_ms: u64,
    /// The modes of a session; the first is current.
    pub modes: Vec<Mode>,
    /// The configuration options of a session, as the protocol spells them.
    pub options: Vec<Value>,
    /// Slash commands, announced after a session began.
    pub commands: Vec<Command>,
    /// Mark replayed updates with `_meta.isReplay`.
    pub marks_replay: bool,
    /// What a prompt meets while another one of its session runs.
    pub busy: Busy,
    /// Steps before `session/new` is answered.
    pub on_new: Vec<Step>,
    /// Steps after the replay and before `session/load` is answered.
    pub on_load: Vec<Step>,
    /// Methods that are never answered (`session/cancel` among them: it is never obeyed).
    pub never_answers: Vec<String>,
    /// Methods other than `session/new`, `load` and `prompt` that are answered with this error.
    pub refuses: BTreeMap<String, Failure>,
    /// Go on with a turn that the client cancelled.
    pub ignores_cancel: bool,
    /// Stay when asked to end by a signal.
    pub ignores_sigterm: bool,
    /// Stay when the client has closed its side.
    pub ignores_eof: bool,
    /// Give every request of the agent the same id.
    pub repeats_request_ids: bool,
    /// Hold the answers to prompts until there are so many, then send the last one first.
    pub answers_reversed: usize,
    /// Read what the client writes this slowly.
    pub slow_reader: Option<SlowReader>,
    /// What prompts run: the first whose `when` is in the prompt, else the next without a `when`; the last one is
    /// repeated.
    #[serde(rename = "turn")]
    pub turns: Vec<Turn>,
}

/// What the client's side does in a demonstration of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Performance {
    /// What it sends, each after the answer to the one before.
    pub prompts: Vec<String>,
    /// The choice it makes for a permission, by the id of the tool call.
    pub answers: BTreeMap<String, String>,
}

impl Scenario {
    /// What the client's side does in a demonstration, as the scenario says it.
    pub fn performance(&self) -> Performance {
        let mut performance = Performance::default();
        for turn in &self.turns {
            performance.prompts.extend(turn.prompt.clone());
            for step in &turn.steps {
                if let Step::Permission(permission) = step
                    && let Some(answer) = &permission.answer
                {
                    performance
                        .answers
                        .insert(permission.tool.0.id.clone(), answer.clone());
                }
            }
        }
        performance
    }
}

/// How an agent introduces itself.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentInfo {
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Its version.
    pub version: String,
}

impl Default for AgentInfo {
    fn default() -> Self {
        Self {
            name: "scripted-agent".into(),
            title: "Scripted agent".into(),
            version: "1.0.0".into(),
        }
    }
}

/// A mode of a session.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// A slash command.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    pub description: String,
}

/// What a prompt meets while another one of its session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Busy {
    /// It waits for its turn.
    #[default]
    Queue,
    /// It is answered with an error.
    Reject,
    /// It runs beside the other.
    Together,
}

/// How slowly the client is read.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowReader {
    /// So many bytes at once.
    pub bytes: usize,
    /// With this pause between.
    pub every_ms: u64,
}

/// What one prompt runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    /// A word of the prompt that chooses this turn.
    pub when: Option<String>,
    /// What a demonstration sends to run this turn.
    pub prompt: Option<String>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// One thing that the agent does.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Reply text.
    Text(Short<Say>),
    /// Reasoning.
    Thought(Short<Say>),
    /// The plan, one line an entry: `[ ] …`, `[>] …` in progress, `[x] …` completed.
    Plan(Vec<String>),
    /// Announces a tool call.
    Tool(Short<Tool>),
    /// Says news of a running tool call.
    Progress(Short<Tool>),
    /// Completes a tool call.
    Finish(Short<Tool>),
    /// Fails a tool call.
    Fail(Short<Tool>),
    /// Runs a command in the agent's own terminal and ends its tool call.
    Terminal(Terminal),
    /// Asks whether a tool may run.
    Permission(Box<Permission>),
    /// Asks the person a question.
    Question(Box<Question>),
    /// Tells how much of the context is used.
    Usage(Usage),
    /// Names the session.
    Title(String),
    /// Changes the mode.
    Mode(String),
    /// Starts a command that outlives its tool call.
    Background(Box<Background>),
    /// Ends a background command now.
    EndBackground(String),
    /// Runs steps in a session of its own, under this one.
    Subagent(Subagent),
    /// Ends the turn with an error.
    Error(Failure),
    /// Ends the turn with this stop reason.
    Stop(String),
    /// Waits, unless the turn is cancelled.
    SleepMs(u64),
    /// Waits until the turn is cancelled.
    WaitForCancel,
    /// Waits until another prompt of the session is queued.
    WaitForPrompt,
    /// Waits until the client has closed its side, for an agent that `ignores_eof`.
    WaitForEof,
    /// Answers the prompt now, with this stop reason; what follows is work of the agent's own.
    Answer(String),
    /// Sends an update as it stands.
    Update(Value),
    /// Sends a frame as it stands.
    Frame(Value),
    /// Sends a request as it stands and says in a text what the client answered.
    Ask(Ask),
    /// Asks the client for a file and says in a text what came.
    Read(String),
    /// Has the client write a file of so many bytes and says in a text what came.
    Write(WriteFile),
    /// Has the client run a command in its terminal.
    Run(Run),
    /// Sends the same text so many times; `{{i}}` is the number.
    Flood(Flood),
    /// Sends one text chunk of so many bytes.
    BigFrame(u64),
    /// Writes one line of so many bytes that is no JSON.
    BigLine(u64),
    /// Writes exactly this text to standard output.
    Raw(String),
    /// Writes exactly these bytes to standard output.
    RawBase64(String),
    /// Writes a line to standard error.
    Stderr(String),
    /// Ends the process.
    Exit(Exit),
    /// Closes standard output; the process lives on.
    CloseStdout,
    /// Starts a process that keeps the agent's output open for so many seconds, and names it on standard error.
    HoldPipe(u64),
}

/// A table, or a string for its first member.
#[derive(Debug, Clone)]
pub struct Short<T>(pub T);

/// A text said in pieces.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Say {
    /// The text.
    pub text: String,
    /// Into how many chunks of equal length it is cut; without it, into chunks of a few words.
    pub pieces: Option<usize>,
    /// Pause between the chunks.
    pub pace_ms: Option<u64>,
    /// The message id of the chunks.
    pub id: Option<String>,
}

/// What is said of a tool call.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tool {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Its name for the model.
    pub name: Option<String>,
    /// Its kind.
    pub kind: Option<String>,
    /// A status other than the step's own.
    pub status: Option<String>,
    /// What it was called with.
    pub input: Option<Value>,
    /// A text in its content.
    pub output: Option<String>,
    /// A diff in its content.
    pub diff: Option<Diff>,
    /// Its raw result.
    pub raw_output: Option<Value>,
    /// The file it is about.
    pub path: Option<String>,
    /// The line in that file.
    pub line: Option<u32>,
}

/// A change of a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// The file.
    pub path: String,
    /// Its text before; none for a new file.
    pub old: Option<String>,
    /// Its text after.
    pub new: String,
}

/// A command in the agent's own terminal.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terminal {
    /// The tool call.
    pub tool: String,
    /// What it prints; sent line by line.
    pub output: String,
    /// How it exits.
    #[serde(default)]
    pub exit_code: i32,
    /// Pause between the lines.
    pub pace_ms: Option<u64>,
}

/// A request for permission.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permission {
    /// The tool call; what was said of it before is said again.
    pub tool: Short<Tool>,
    /// The choices; without them allow once, allow always, reject.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// The choice that a demonstration makes.
    pub answer: Option<String>,
    /// Steps if it is allowed.
    #[serde(default)]
    pub allow: Vec<Step>,
    /// Steps if it is refused.
    #[serde(default)]
    pub reject: Vec<Step>,
    /// Steps if it is cancelled, before the turn ends.
    #[serde(default)]
    pub cancelled: Vec<Step>,
}

/// One choice of a permission.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Its id.
    pub id: String,
    /// Its label.
    pub name: String,
    /// Its kind, such as `allow_once`.
    pub kind: String,
}

/// A question to the person.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What is asked.
    pub message: String,
    /// The answers to choose from, as a single field `answer`.
    #[serde(default)]
    pub options: Vec<String>,
    /// The fields as JSON Schema properties, in the place of `options`.
    pub fields: Option<Value>,
    /// The tool call it belongs to.
    pub tool: Option<String>,
    /// Steps if it is answered; `{{answer}}` is the answer.
    #[serde(default)]
    pub accept: Vec<Step>,
    /// Steps if the person will not answer.
    #[serde(default)]
    pub decline: Vec<Step>,
    /// Steps if it is cancelled.
    #[serde(default)]
    pub cancel: Vec<Step>,
}

/// How much of the context is used.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens in the context.
    pub used: u64,
    /// Size of the window.
    pub size: u64,
}

/// A command that outlives its tool call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// Its id.
    pub id: String,
    /// The tool call that started it.
    pub tool: String,
    /// The command.
    pub command: String,
    /// What it is for.
    pub label: String,
    /// How it is told: by the tool call alone, or by Grok's task notices.
    #[serde(default)]
    pub style: TaskStyle,
    /// When it ends by itself, counted from the end of its turn; without it, it runs on.
    pub ends_after_ms: Option<u64>,
    /// What it printed.
    #[serde(default)]
    pub output: String,
    /// How it exits.
    #[serde(default)]
    pub exit_code: i32,
}

/// How a background command is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStyle {
    /// Its tool call stays in progress until it ends.
    #[default]
    Plain,
    /// Its tool call completes at once; `_x.ai/task_backgrounded` and `_x.ai/task_completed` tell of it.
    Grok,
}

/// A helper that the agent starts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subagent {
    /// Its session id.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// What it does.
    pub steps: Vec<Step>,
}

/// An error as the answer to a prompt.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Its code.
    #[serde(default = "internal_error")]
    pub code: i32,
    /// Its words.
    pub message: String,
    /// Its data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

fn internal_error() -> i32 {
    -32603
}

/// A request to the client.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// Its method.
    pub method: String,
    /// Its parameters.
    #[serde(default)]
    pub params: Value,
}

/// A file that the client is to write.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFile {
    /// Where.
    pub path: String,
    /// How large.
    pub bytes: u64,
}

/// A command that the client is to run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The tool call that shows it, where one does.
    pub tool: Option<String>,
    /// The command.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Whether to wait for its end; else it is left running.
    #[serde(default = "yes")]
    pub wait: bool,
}

fn yes() -> bool {
    true
}

/// The same text many times.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    /// How often.
    pub count: u64,
    /// The text.
    pub text: String,
}

/// How the process ends.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exit {
    /// By this code.
    pub code: i32,
    /// By this signal instead.
    pub signal: Option<String>,
}

/// A form that may be written as a string for its most important member.
pub trait FromShort {
    /// The form with only that member.
    fn from_short(text: &str) -> Self;
}

impl FromShort for Say {
    fn from_short(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }
}

impl FromShort for Tool {
    fn from_short(text: &str) -> Self {
        Self {
            id: text.to_owned(),
            ..Self::default()
        }
    }
}

impl<'de, T: FromShort + Deserialize<'de>> Deserialize<'de> for Short<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Written out, since an untagged enum would hide which member of the table is wrong.
        struct Either<T>(PhantomData<T>);
        impl<'de, T: FromShort + Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = T;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a string or a table")
            }
            fn visit_str<E>(self, text: &str) -> Result<T, E> {
                Ok(T::from_short(text))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Either(PhantomData)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_may_be_a_word_a_string_or_a_table() {
        let text = "[[turn]]\nsteps = [\"wait_for_cancel\", { text = \"hi\" }, { tool = { id = \"a\", kind = \"read\" } }]";
        let scenario: Scenario = toml::from_str(text).unwrap();
        let steps = &scenario.turns[0].steps;
        assert!(matches!(&steps[0], Step::WaitForCancel));
        assert!(matches!(&steps[1], Step::Text(Short(say)) if say.text == "hi"));
        assert!(matches!(&steps[2], Step::Tool(Short(tool)) if tool.kind.as_deref() == Some("read")));
    }

    #[test]
    fn a_misspelled_word_is_an_error_with_its_line() {
        let text = "[[turn]]\nsteps = [{ tool = { id = \"a\", titel = \"x\" } }]";
        let error = toml::from_str::<Scenario>(text).unwrap_err().to_string();
        assert!(error.contains("titel") && error.contains("line 2"), "{error}");
    }
}
