//! Tools: what was called, with what, and what came of it.

use tapline_timeline::{Authorization, Diff, Effect, FileChange, Tool, ToolItem, ToolState};

use super::page::Page;
use crate::safe::{code, fenced, inline, line};

impl Page {
    pub(super) fn tool(&mut self, tool: &Tool) {
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

    pub(super) fn items(&mut self, items: &[ToolItem]) {
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
}
