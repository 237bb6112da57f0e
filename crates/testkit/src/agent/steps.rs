//! The steps of a scenario, one after the other.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::stage::{Cancel, Event, Halt, Session, Stage};
use super::tasks::{self, text_content};
use crate::Status;
use crate::scenario::{
    Background, Choice, Exit, Permission, Question, Run, Say, Short, Step, Subagent, Terminal, Tool,
    WriteFile,
};

/// Plays steps in one session.
pub(super) struct Player<'a> {
    stage: &'a Arc<Stage>,
    session: String,
    cancels: Vec<Cancel>,
    /// What stands for `{{name}}` in the script.
    words: Vec<(&'static str, String)>,
    /// Background commands whose time begins when the turn ends.
    due: Vec<String>,
    /// The prompt that is not answered yet.
    prompt: Option<Value>,
}

type Played = Result<(), Halt>;

impl<'a> Player<'a> {
    pub(super) fn new(stage: &'a Arc<Stage>, session: &str, prompt: &str, cancels: Vec<Cancel>) -> Self {
        let cwd = stage.cwd(session);
        let words = vec![
            ("{{prompt}}", prompt.to_owned()),
            ("{{session}}", session.to_owned()),
            ("{{cwd}}", cwd),
        ];
        Self {
            stage,
            session: session.to_owned(),
            cancels,
            words,
            due: Vec::new(),
            prompt: None,
        }
    }

    /// The steps are those of this prompt.
    pub(super) fn of_prompt(mut self, id: &Value) -> Self {
        self.prompt = Some(id.clone());
        self
    }

    /// Whether the prompt was answered by a step.
    pub(super) fn has_answered(&self) -> bool {
        self.prompt.is_none()
    }

    /// The background commands that were started and whose time begins now.
    pub(super) fn due(self) -> Vec<String> {
        self.due
    }

    pub(super) fn play(&mut self, steps: &[Step]) -> Played {
        for step in steps {
            self.stage.check(&self.cancels)?;
            self.step(step)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Played {
        match step {
            Step::Text(Short(say)) => self.say("agent_message_chunk", say),
            Step::Thought(Short(say)) => self.say("agent_thought_chunk", say),
            Step::Plan(lines) => {
                let entries: Vec<_> = lines.iter().map(|line| plan_entry(&self.fill(line))).collect();
                self.update(json!({"sessionUpdate": "plan", "entries": entries}))
            }
            Step::Tool(Short(tool)) => self.tool("tool_call", "pending", tool),
            Step::Progress(Short(tool)) => self.tool("tool_call_update", "in_progress", tool),
            Step::Finish(Short(tool)) => self.tool("tool_call_update", "completed", tool),
            Step::Fail(Short(tool)) => self.tool("tool_call_update", "failed", tool),
            Step::Terminal(terminal) => self.terminal(terminal),
            Step::Permission(permission) => self.permission(permission),
            Step::Question(question) => self.question(question),
            Step::Usage(usage) => {
                self.update(json!({"sessionUpdate": "usage_update", "used": usage.used, "size": usage.size}))
            }
            Step::Title(title) => {
                let title = self.fill(title);
                self.update(json!({"sessionUpdate": "session_info_update", "title": title}))
            }
            Step::Mode(mode) => {
                self.update(json!({"sessionUpdate": "current_mode_update", "currentModeId": mode}))
            }
            Step::Background(background) => self.background(background),
            Step::EndBackground(id) => {
                tasks::end(self.stage, &mut self.stage.state(), id, tasks::Ended::Itself)?;
                Ok(())
            }
            Step::Subagent(subagent) => self.subagent(subagent),
            Step::Error(failure) => Err(Halt::Failed(json!(failure))),
            Step::Stop(reason) => Err(Halt::Stopped(reason.clone())),
            Step::SleepMs(ms) => self.stage.pause(*ms, &self.cancels),
            Step::WaitForCancel => self.stage.wait_until(None, &self.cancels, |_| false),
            Step::WaitForPrompt => self.stage.wait_until(None, &self.cancels, |state| {
                let session = state.sessions.get(&self.session);
                session.is_some_and(|session| !session.queue.is_empty())
            }),
            Step::WaitForEof => self.stage.wait_until(None, &self.cancels, |state| state.eof),
            Step::Answer(reason) => match self.prompt.take() {
                Some(id) => Ok(self.stage.answer(&id, json!({"stopReason": reason}))?),
                None => Ok(()),
            },
            Step::Update(update) => self.update(self.fill_all(update)),
            Step::Frame(frame) => Ok(self.stage.send(&self.fill_all(frame))?),
            Step::Ask(ask) => self.ask(&ask.method, self.fill_all(&ask.params)),
            Step::Read(path) => {
                let params = json!({"sessionId": self.session, "path": self.fill(path)});
                self.ask("fs/read_text_file", params)
            }
            Step::Write(file) => self.write_file(file),
            Step::Run(run) => self.run(run),
            Step::Flood(flood) => {
                for i in 0..flood.count {
                    self.stage.beat(0, &self.cancels)?;
                    self.chunk(
                        "agent_message_chunk",
                        &flood.text.replace("{{i}}", &i.to_string()),
                        None,
                        false,
                    )?;
                }
                Ok(())
            }
            Step::BigFrame(bytes) => {
                let session = json!(self.session);
                let before = format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"sessionId\":{session},\"update\":\
                     {{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{{\"type\":\"text\",\"text\":\""
                );
                Ok(self.stage.write_filled(&before, *bytes, "\"}}}}\n")?)
            }
            Step::BigLine(bytes) => Ok(self.stage.write_filled("", *bytes, "\n")?),
            Step::Raw(text) => Ok(self.stage.write(self.fill(text).as_bytes())?),
            Step::RawBase64(coded) => {
                let bytes = STANDARD.decode(coded).map_err(|error| {
                    let message = format!("the scenario's raw_base64 does not decode: {error}");
                    Halt::Failed(json!({"code": -32603, "message": message}))
                })?;
                Ok(self.stage.write(&bytes)?)
            }
            Step::Stderr(line) => {
                self.stage.say_error(&self.fill(line));
                Ok(())
            }
            Step::Exit(exit) => self.exit(exit),
            Step::CloseStdout => {
                self.stage.close_output();
                Ok(())
            }
            Step::HoldPipe(seconds) => {
                let sleeper = Command::new("sleep")
                    .arg(seconds.to_string())
                    .stdin(Stdio::null())
                    .spawn()?;
                self.stage.say_error(&format!("grandchild {}", sleeper.id()));
                Ok(())
            }
        }
    }

    fn update(&self, update: Value) -> Played {
        self.stage.beat(0, &self.cancels)?;
        Ok(self.stage.update(&self.session, update)?)
    }

    fn say(&self, kind: &str, say: &Say) -> Played {
        let text = self.fill(&say.text);
        let pieces = match say.pieces {
            Some(count) => equal_pieces(&text, count),
            None => words(&text),
        };
        for piece in pieces {
            self.stage
                .beat(say.pace_ms.unwrap_or(self.stage.scenario.pace_ms), &self.cancels)?;
            self.chunk(kind, piece, say.id.as_deref(), true)?;
        }
        Ok(())
    }

    fn chunk(&self, kind: &str, text: &str, id: Option<&str>, kept: bool) -> Played {
        let mut update = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
        if let Some(id) = id {
            update["messageId"] = json!(id);
        }
        let sent = if kept {
            self.stage.update(&self.session, update)
        } else {
            self.stage.send_update(&self.session, update)
        };
        Ok(sent?)
    }

    fn tool(&self, kind: &str, status: &str, tool: &Tool) -> Played {
        let mut update = Map::new();
        update.insert("sessionUpdate".into(), json!(kind));
        update.extend(self.tool_members(tool));
        if kind == "tool_call" && tool.title.is_none() {
            update.insert("title".into(), json!(tool.id));
        }
        update.entry("status").or_insert_with(|| json!(status));
        self.update(Value::Object(update))
    }

    /// The members of a tool call that the step names.
    fn tool_members(&self, tool: &Tool) -> Map<String, Value> {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        put("toolCallId", json!(tool.id));
        let texts = [
            ("title", &tool.title),
            ("name", &tool.name),
            ("kind", &tool.kind),
            ("status", &tool.status),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                put(name, json!(self.fill(text)));
            }
        }
        if let Some(input) = &tool.input {
            put("rawInput", self.fill_all(input));
        }
        let mut content = Vec::new();
        if let Some(output) = &tool.output {
            content.push(text_content(&self.fill(output))[0].take());
        }
        if let Some(diff) = &tool.diff {
            let old = diff.old.as_ref().map(|old| self.fill(old));
            let path = self.fill(&diff.path);
            content
                .push(json!({"type": "diff", "path": path, "oldText": old, "newText": self.fill(&diff.new)}));
        }
        if !content.is_empty() {
            put("content", json!(content));
        }
        if let Some(raw) = &tool.raw_output {
            put("rawOutput", self.fill_all(raw));
        }
        if let Some(path) = &tool.path {
            let path = self.fill(path);
            put(
                "locations",
                match tool.line {
                    Some(line) => json!([{"path": path, "line": line}]),
                    None => json!([{"path": path}]),
                },
            );
        }
        members
    }

    /// A command's output, as terminal bytes where the client asked for them and as text where it did not.
    fn terminal(&self, terminal: &Terminal) -> Played {
        let Terminal { tool, exit_code, .. } = terminal;
        let output = self.fill(&terminal.output);
        let status = if *exit_code == 0 { "completed" } else { "failed" };
        let raw = json!({"output": output, "exit_code": exit_code});
        let update = |more: Value| {
            let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": tool});
            let members = update.as_object_mut().into_iter();
            members
                .zip(more.as_object())
                .for_each(|(to, from)| to.extend(from.clone()));
            self.update(update)
        };
        if self.stage.state().client["_meta"]["terminal_output"] != true {
            return update(json!({"status": status, "content": text_content(&output), "rawOutput": raw}));
        }
        let info = json!({"terminal_id": tool, "cwd": self.fill("{{cwd}}")});
        let content = json!([{"type": "terminal", "terminalId": tool}]);
        update(json!({"status": "in_progress", "content": content, "_meta": {"terminal_info": info}}))?;
        for line in output.split_inclusive('\n') {
            self.stage.pause(terminal.pace_ms.unwrap_or(0), &self.cancels)?;
            update(json!({"_meta": {"terminal_output": {"terminal_id": tool, "data": line}}}))?;
        }
        let exit = json!({"terminal_id": tool, "exit_code": exit_code, "signal": null});
        update(json!({"status": status, "rawOutput": raw, "_meta": {"terminal_exit": exit}}))
    }

    fn permission(&mut self, permission: &Permission) -> Played {
        let tool = &permission.tool.0;
        let mut call = self.stage.known_tool(&self.session, &tool.id);
        call.extend(self.tool_members(tool));
        let usual = [
            ("allow-once", "Allow once", "allow_once"),
            ("allow-always", "Always allow", "allow_always"),
            ("reject-once", "Reject", "reject_once"),
        ];
        let usual = usual.map(|(id, name, kind)| Choice {
            id: id.into(),
            name: name.into(),
            kind: kind.into(),
        });
        let choices = if permission.options.is_empty() {
            &usual[..]
        } else {
            &permission.options[..]
        };
        let options: Vec<_> = choices
            .iter()
            .map(|choice| json!({"optionId": choice.id, "name": choice.name, "kind": choice.kind}))
            .collect();
        let params = json!({"sessionId": self.session, "toolCall": call, "options": options});
        let answer = match self
            .stage
            .ask("session/request_permission", params, &self.cancels)
        {
            Ok(answer) => answer,
            Err(Halt::Cancelled) => return self.cancelled(&permission.cancelled),
            Err(halt) => return Err(halt),
        };
        let outcome = &answer["result"]["outcome"];
        if outcome["outcome"] == "cancelled" {
            return self.cancelled(&permission.cancelled);
        }
        let chosen = choices.iter().find(|choice| outcome["optionId"] == *choice.id);
        let allowed = chosen.is_some_and(|choice| choice.kind.starts_with("allow"));
        self.play(if allowed {
            &permission.allow
        } else {
            &permission.reject
        })
    }

    /// The last steps of a turn that was cancelled while it asked.
    fn cancelled(&mut self, steps: &[Step]) -> Played {
        self.cancels.clear();
        self.play(steps)?;
        Err(Halt::Cancelled)
    }

    fn question(&mut self, question: &Question) -> Played {
        let message = self.fill(&question.message);
        let choices: Vec<_> = question
            .options
            .iter()
            .map(|option| json!({"const": option, "title": option}))
            .collect();
        let fields = match &question.fields {
            Some(fields) => fields.clone(),
            None if choices.is_empty() => json!({"answer": {"type": "string", "title": message}}),
            None => json!({"answer": {"type": "string", "title": message, "oneOf": choices}}),
        };
        let schema = json!({"type": "object", "properties": fields});
        let mut params =
            json!({"mode": "form", "sessionId": self.session, "message": message, "requestedSchema": schema});
        if let Some(tool) = &question.tool {
            params["toolCallId"] = json!(tool);
        }
        let answer = match self.stage.ask("elicitation/create", params, &self.cancels) {
            Ok(answer) => answer,
            Err(Halt::Cancelled) => return self.cancelled(&question.cancel),
            Err(halt) => return Err(halt),
        };
        match answer["result"]["action"].as_str() {
            Some("accept") => {
                let content = &answer["result"]["content"];
                let text = content["answer"]
                    .as_str()
                    .map_or_else(|| content.to_string(), str::to_owned);
                self.words.push(("{{answer}}", text));
                self.play(&question.accept)
            }
            Some("cancel") => self.play(&question.cancel),
            _ => self.play(&question.decline),
        }
    }

    fn background(&mut self, background: &Background) -> Played {
        let mut background = background.clone();
        for text in [
            &mut background.command,
            &mut background.label,
            &mut background.output,
        ] {
            *text = self.fill(text);
        }
        self.due.push(background.id.clone());
        Ok(tasks::start(self.stage, &self.session, background)?)
    }

    fn subagent(&mut self, subagent: &Subagent) -> Played {
        let Subagent {
            id,
            title,
            description,
            steps,
        } = subagent;
        let cancel: Cancel = Arc::new(AtomicBool::new(false));
        let cwd = self.fill("{{cwd}}");
        let child = Session {
            cwd,
            running: vec![Arc::clone(&cancel)],
            ..Session::default()
        };
        self.stage.state().sessions.insert(id.clone(), child);
        let (title, description) = (self.fill(title), self.fill(description));
        self.update(json!({"sessionUpdate": "subagent_update", "sessionId": id, "title": title, "description": description,
            "capabilities": {"cancel": {}}, "state": {"state": "running"}}))?;
        let mut cancels = self.cancels.clone();
        cancels.push(Arc::clone(&cancel));
        let mut player = Player::new(self.stage, id, &self.words[0].1, cancels);
        let end = player.play(steps);
        self.due.extend(player.due());
        let idle = match &end {
            Ok(()) => json!({"state": "idle", "stopReason": "end_turn"}),
            Err(Halt::Stopped(reason)) => json!({"state": "idle", "stopReason": reason}),
            Err(Halt::Cancelled) => json!({"state": "idle", "stopReason": "cancelled"}),
            Err(Halt::Failed(error)) => json!({"state": "idle", "stopReason": "error", "error": error}),
            Err(Halt::Gone) => return Err(Halt::Gone),
        };
        self.stage.update(
            &self.session,
            json!({"sessionUpdate": "subagent_update", "sessionId": id, "state": idle}),
        )?;
        // A helper that was cancelled alone does not end the turn that started it.
        self.stage.check(&self.cancels)
    }

    fn ask(&self, method: &str, params: Value) -> Played {
        let answer = self.stage.ask(method, params, &self.cancels)?;
        self.report(method, &answer)
    }

    /// Says what the client answered, so that it shows in the timeline.
    fn report(&self, method: &str, answer: &Value) -> Played {
        const SHOWN: usize = 300;
        let said = match &answer["error"] {
            Value::Null => format!("The client answered {method}: {}", answer["result"]),
            error => format!("The client refused {method}: {error}"),
        };
        let shown: String = said.chars().take(SHOWN).collect();
        self.chunk("agent_message_chunk", &format!("{shown}\n"), None, true)
    }

    fn write_file(&self, file: &WriteFile) -> Played {
        let (key, id) = self.stage.expect_answer();
        let (session, path) = (json!(self.session), json!(self.fill(&file.path)));
        let before = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"fs/write_text_file\",\
             \"params\":{{\"sessionId\":{session},\"path\":{path},\"content\":\""
        );
        self.stage.write_filled(&before, file.bytes, "\"}}\n")?;
        let answer = self.stage.wait_for_answer(key, &self.cancels)?;
        self.report("fs/write_text_file", &answer)
    }

    fn run(&self, run: &Run) -> Played {
        let cwd = self.fill("{{cwd}}");
        let command = self.fill(&run.command);
        let args: Vec<_> = run.args.iter().map(|arg| self.fill(arg)).collect();
        let params = json!({"sessionId": self.session, "command": command, "args": args, "cwd": cwd});
        let created = self.stage.ask("terminal/create", params, &self.cancels)?;
        let Some(terminal) = created["result"]["terminalId"].as_str() else {
            self.report("terminal/create", &created)?;
            return self.end_tool(run.tool.as_deref(), "failed");
        };
        if let Some(tool) = &run.tool {
            let content = json!([{"type": "terminal", "terminalId": terminal}]);
            self.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": tool, "status": "in_progress", "content": content}))?;
        }
        if !run.wait {
            return Ok(());
        }
        let params = json!({"sessionId": self.session, "terminalId": terminal});
        let ended = self
            .stage
            .ask("terminal/wait_for_exit", params.clone(), &self.cancels)?;
        self.stage.ask("terminal/output", params.clone(), &self.cancels)?;
        self.stage.ask("terminal/release", params, &self.cancels)?;
        self.end_tool(
            run.tool.as_deref(),
            if ended["result"]["exitCode"] == 0 {
                "completed"
            } else {
                "failed"
            },
        )
    }

    fn end_tool(&self, tool: Option<&str>, status: &str) -> Played {
        let Some(tool) = tool else { return Ok(()) };
        self.update(json!({"sessionUpdate": "tool_call_update", "toolCallId": tool, "status": status}))
    }

    fn exit(&self, exit: &Exit) -> Played {
        let status = match exit.signal.as_deref().map(Status::signal_named) {
            None => Status::Code(exit.code),
            Some(Ok(status)) => status,
            Some(Err(message)) => return Err(Halt::Failed(json!({"code": -32603, "message": message}))),
        };
        // If the main loop is gone, the agent has ended already.
        let _ = self.stage.events.send(Event::End(status));
        Err(Halt::Gone)
    }

    fn fill(&self, text: &str) -> String {
        if !text.contains("{{") {
            return text.to_owned();
        }
        self.words
            .iter()
            .fold(text.to_owned(), |text, (name, word)| text.replace(name, word))
    }

    fn fill_all(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_all(item)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (name.clone(), self.fill_all(value)))
                .collect(),
            other => other.clone(),
        }
    }
}

/// `[x] text` and its like.
fn plan_entry(line: &str) -> Value {
    let marks = [
        ("[x] ", "completed"),
        ("[>] ", "in_progress"),
        ("[ ] ", "pending"),
    ];
    let marked = marks
        .iter()
        .find_map(|(mark, status)| Some((line.strip_prefix(mark)?, *status)));
    let (content, status) = marked.unwrap_or((line, "pending"));
    json!({"content": content, "priority": "medium", "status": status})
}

/// Pieces of a few words, as a model streams them. Put together they are the text.
fn words(text: &str) -> Vec<&str> {
    const LENGTH: usize = 16;
    let mut pieces = Vec::new();
    let (mut start, mut end) = (0, 0);
    for word in text.split_inclusive(char::is_whitespace) {
        end += word.len();
        if end - start >= LENGTH {
            pieces.push(&text[start..end]);
            start = end;
        }
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

/// So many pieces of equal length in characters. Put together they are the text.
fn equal_pieces(text: &str, count: usize) -> Vec<&str> {
    let starts: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
    let count = count.clamp(1, starts.len().max(1));
    let cut = |piece: usize| {
        starts
            .get(piece * starts.len() / count)
            .copied()
            .unwrap_or(text.len())
    };
    (0..count)
        .map(|piece| &text[cut(piece)..cut(piece + 1)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_put_together_are_the_text() {
        for text in [
            "",
            "a",
            "größer als 日本語 und noch ein paar Wörter\n\nmehr  ",
            "no-blank-in-a-very-long-word-at-all",
        ] {
            assert_eq!(words(text).concat(), text);
            for count in [0, 1, 3, 7, 100] {
                let pieces = equal_pieces(text, count);
                assert_eq!(pieces.concat(), text);
                assert!(pieces.len() <= count.max(1));
            }
        }
    }
}
