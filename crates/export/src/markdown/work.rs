//! Work that outlives its turn: tasks and helpers.

use tapline_timeline::{Helper, Task, WorkState};

use super::page::Page;
use crate::safe::{code, fenced, inline, nested};

impl Page {
    pub(super) fn task(&mut self, task: &Task) {
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

    pub(super) fn helper(&mut self, helper: &Helper) {
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
}
