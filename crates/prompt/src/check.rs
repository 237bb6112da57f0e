//! What types cannot say: checks of a prompt's meaning.
//!
//! A prompt can be well formed and still be refused by every provider: a result without its call, a call
//! that nothing answers, bytes that are no base64. These checks are a second, separate step, each can be
//! turned off, and all findings are reported, in the order of the prompt.

use std::collections::{HashMap, HashSet};

use crate::fault::{Fault, FaultKind};
use crate::json::Text;
use crate::media_type;
use crate::path::{Path, Step};
use crate::types::file::{DataFile, ReferenceFile};
use crate::types::{
    AssistantPart, ContentItem, FileData, Inline, Message, Prompt, StoredData, ToolOutput, ToolPart, UserPart,
};

/// Which checks to run. The default runs all that have one answer for every provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checks {
    /// Tool results whose call does not come before them, and results on the wrong side.
    pub results: bool,
    /// Tool calls that nothing answers.
    pub calls: bool,
    /// Approval responses that no provider-executed call can have asked for, and second answers.
    pub approvals: bool,
    /// Media types that are none, or that the bytes contradict.
    pub media_types: bool,
    /// Inline text that is no base64.
    pub base64: bool,
    /// The largest inline file in bytes, if there shall be a limit.
    pub largest_file: Option<usize>,
    /// Messages in an order, or without content, that some providers refuse: an assistant message
    /// first, a system message later on, no content. Off by default.
    pub order: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Checks {
            results: true,
            calls: true,
            approvals: true,
            media_types: true,
            base64: true,
            largest_file: Some(50 * 1024 * 1024),
            order: false,
        }
    }
}

impl Checks {
    /// Every check there is.
    pub fn all() -> Self {
        Checks {
            order: true,
            ..Checks::default()
        }
    }

    /// No check; turn on what is wanted.
    pub fn none() -> Self {
        Checks {
            results: false,
            calls: false,
            approvals: false,
            media_types: false,
            base64: false,
            largest_file: None,
            order: false,
        }
    }

    /// Runs the checks. An empty list means that nothing was found.
    pub fn run(&self, prompt: &Prompt) -> Vec<Fault> {
        let mut checker = Checker::new(self);
        for (at, message) in prompt.messages().iter().enumerate() {
            checker.message(at, message, prompt);
        }
        checker.finish()
    }
}

/// A call that waits for its result.
struct OpenCall {
    path: Path,
    by_provider: bool,
}

struct Checker<'a> {
    checks: &'a Checks,
    faults: Vec<Fault>,
    open: HashMap<Text, OpenCall>,
    /// Calls in their order, so that those left open are reported in it.
    calls: Vec<Text>,
    closed: HashSet<Text>,
    approvals: HashSet<Text>,
    provider_calls: bool,
}

impl<'a> Checker<'a> {
    fn new(checks: &'a Checks) -> Self {
        Checker {
            checks,
            faults: Vec::new(),
            open: HashMap::new(),
            calls: Vec::new(),
            closed: HashSet::new(),
            approvals: HashSet::new(),
            provider_calls: false,
        }
    }

    fn report(&mut self, path: Path, kind: FaultKind, found: impl Into<String>, allowed: &str, mend: &str) {
        self.faults.push(Fault {
            path,
            kind,
            found: found.into(),
            allowed: allowed.to_owned(),
            mend: mend.to_owned(),
        });
    }

    fn message(&mut self, at: usize, message: &Message, prompt: &Prompt) {
        let path = Path::root().join("prompt").join(at);
        if self.checks.order {
            self.order(at, &path, message, prompt);
        }
        let content = path.join("content");
        match message {
            Message::System(_) => self.settle(),
            Message::User(message) => {
                self.settle();
                for (index, part) in message.content.iter().enumerate() {
                    if let UserPart::File(part) = part {
                        self.file(&content.join(index), &part.media_type, &part.data);
                    }
                }
            }
            Message::Assistant(message) => {
                for (index, part) in message.content.iter().enumerate() {
                    self.assistant_part(content.join(index), part);
                }
            }
            Message::Tool(message) => {
                for (index, part) in message.content.iter().enumerate() {
                    self.tool_part(content.join(index), part);
                }
            }
        }
    }

    fn order(&mut self, at: usize, path: &Path, message: &Message, prompt: &Prompt) {
        let is_empty = match message {
            Message::System(message) => message.content.is_empty(),
            Message::User(message) => message.content.is_empty(),
            Message::Assistant(message) => message.content.is_empty(),
            Message::Tool(message) => message.content.is_empty(),
        };
        if is_empty {
            let mend = "add content or drop the message";
            self.report(
                path.join("content"),
                FaultKind::Empty,
                "no content",
                "some content",
                mend,
            );
        }
        let before = &prompt.messages()[..at];
        let is_first = before.iter().all(|message| matches!(message, Message::System(_)));
        match message {
            Message::Assistant(_) if is_first => {
                let mend = "put a user message in front; some providers refuse this";
                self.report(
                    path.clone(),
                    FaultKind::Order,
                    "an assistant message first",
                    "a user message first",
                    mend,
                );
            }
            Message::System(_) if !is_first => {
                let mend = "move it to the front; some providers refuse this";
                let found = "a system message in the middle";
                self.report(
                    path.clone(),
                    FaultKind::Order,
                    found,
                    "system messages in front of all others",
                    mend,
                );
            }
            _ => {}
        }
    }

    fn assistant_part(&mut self, path: Path, part: &AssistantPart) {
        match part {
            AssistantPart::File(part) => self.file(&path, &part.media_type, &part.data),
            AssistantPart::ReasoningFile(part) => match &part.data {
                StoredData::Data(file) => self.inline(&path, &part.media_type, file),
                StoredData::Url(_) => self.media_type(&path, &part.media_type),
            },
            AssistantPart::ToolCall(part) => {
                let by_provider = part.provider_executed == Some(true);
                self.provider_calls |= by_provider;
                self.closed.remove(&part.tool_call_id);
                self.calls.push(part.tool_call_id.clone());
                let call = OpenCall {
                    path: path.clone(),
                    by_provider,
                };
                if self.open.insert(part.tool_call_id.clone(), call).is_some() && self.checks.calls {
                    let found = format!("a second open call with the id {:?}", &*part.tool_call_id);
                    let mend = "give every call an id of its own";
                    self.report(
                        path.join("toolCallId"),
                        FaultKind::DuplicateCall,
                        found,
                        "one call for each id",
                        mend,
                    );
                }
            }
            AssistantPart::ToolResult(part) => {
                self.result(&path, &part.tool_call_id, true);
                self.output(&path, &part.output);
            }
            AssistantPart::Text(_) | AssistantPart::Reasoning(_) | AssistantPart::Custom(_) => {}
        }
    }

    fn tool_part(&mut self, path: Path, part: &ToolPart) {
        match part {
            ToolPart::ToolResult(part) => {
                self.result(&path, &part.tool_call_id, false);
                self.output(&path, &part.output);
            }
            ToolPart::ApprovalResponse(part) if self.checks.approvals => {
                let path = path.join("approvalId");
                if !self.provider_calls {
                    let mend = "drop the response: it is for tools that the provider runs";
                    let found = "a response to a request that no call before it can explain";
                    self.report(
                        path,
                        FaultKind::ApprovalWithoutRequest,
                        found,
                        "a provider-executed call before it",
                        mend,
                    );
                } else if !self.approvals.insert(part.approval_id.clone()) {
                    let mend = "drop it: only the first answer counts";
                    self.report(
                        path,
                        FaultKind::ApprovalWithoutRequest,
                        "a second answer",
                        "one answer a request",
                        mend,
                    );
                }
            }
            ToolPart::ApprovalResponse(_) => {}
        }
    }

    fn result(&mut self, path: &Path, id: &Text, from_provider: bool) {
        let path = path.join("toolCallId");
        match self.open.remove(id) {
            Some(call) => {
                self.closed.insert(id.clone());
                if self.checks.results && call.by_provider != from_provider && from_provider {
                    let mend = "move the result into a tool message, or mark the call as providerExecuted";
                    let found = "the result of a call that the caller runs, in an assistant message";
                    self.report(
                        path,
                        FaultKind::Order,
                        found,
                        "results of provider-executed calls",
                        mend,
                    );
                }
            }
            None if self.checks.results => {
                let known = self.closed.contains(id);
                let found = match known {
                    true => format!("a second result for the call {:?}", &**id),
                    false => format!("a result for {:?}, and no such call before it", &**id),
                };
                let mend = "add the call to an assistant message before it, or drop the result";
                self.report(
                    path,
                    FaultKind::ResultWithoutCall,
                    found,
                    "one result after its call",
                    mend,
                );
            }
            None => {}
        }
    }

    /// A user or system message ends the turn: calls that are still open stay without a result.
    fn settle(&mut self) {
        for id in std::mem::take(&mut self.calls) {
            // What the provider runs may be answered in a later message.
            match self.open.remove(&id) {
                Some(call) if call.by_provider => {
                    self.open.insert(id.clone(), call);
                    self.calls.push(id);
                }
                Some(call) if self.checks.calls => {
                    let found = format!("the call {:?} without a result", &*id);
                    let mend = "add a tool-result to a tool message right after it, or drop the call";
                    self.report(
                        call.path,
                        FaultKind::CallWithoutResult,
                        found,
                        "a result for every call",
                        mend,
                    );
                }
                _ => {}
            }
        }
    }

    fn finish(mut self) -> Vec<Fault> {
        self.settle();
        // A call without a result is found at the end of its turn, but belongs where the call stands.
        self.faults.sort_by_key(|fault| position(&fault.path));
        self.faults
    }

    fn output(&mut self, path: &Path, output: &ToolOutput) {
        let ToolOutput::Content(output) = output else {
            return;
        };
        let items = path.join("output").join("value");
        for (index, item) in output.value.iter().enumerate() {
            if let ContentItem::File(item) = item {
                self.file(&items.join(index), &item.media_type, &item.data);
            }
        }
    }

    fn file(&mut self, path: &Path, media_type: &Text, data: &FileData) {
        match data {
            FileData::Data(file) => self.inline(path, media_type, file),
            FileData::Reference(file) => {
                self.media_type(path, media_type);
                self.reference(path, file);
            }
            FileData::Url(_) | FileData::Text(_) => self.media_type(path, media_type),
        }
    }

    fn reference(&mut self, path: &Path, file: &ReferenceFile) {
        if file.reference.is_empty() {
            let path = path.join("data").join("reference");
            let mend = "name the provider and the file's id there";
            self.report(
                path,
                FaultKind::Empty,
                "an empty reference",
                "at least one provider",
                mend,
            );
        }
    }

    fn media_type(&mut self, path: &Path, media_type: &Text) {
        let (top, subtype) = media_type.split_once('/').unwrap_or((media_type, "*"));
        if self.checks.media_types && (top.is_empty() || top == "*" || subtype.is_empty()) {
            let found = format!("the media type {:?}", &**media_type);
            let mend = "give the type, such as image/png, image/* or image";
            self.report(
                path.join("mediaType"),
                FaultKind::MediaType,
                found,
                "a type that says what it is",
                mend,
            );
        }
    }

    fn inline(&mut self, path: &Path, media_type: &Text, file: &DataFile) {
        self.media_type(path, media_type);
        let data_path = || path.join("data").join("data");
        let size = match &file.data {
            Inline::Bytes(bytes) => bytes.len(),
            Inline::Base64(text) => text.len() / 4 * 3,
        };
        if let Some(limit) = self.checks.largest_file.filter(|limit| size > *limit) {
            let allowed = format!("at most {limit} bytes");
            let mend = "give it by URL or as a reference to an upload";
            self.report(
                data_path(),
                FaultKind::Oversize,
                format!("about {size} bytes"),
                &allowed,
                mend,
            );
        }
        if let Inline::Base64(text) = &file.data
            && self.checks.base64
            && let Err(error) = crate::base64::validate(text)
        {
            let found = match text.starts_with("data:") {
                true => "a data URL".to_owned(),
                false => format!("text that is no base64 ({error})"),
            };
            let mend = "give the base64 alone, without a prefix and without line noise";
            self.report(data_path(), FaultKind::Base64, found, "base64 text", mend);
            return;
        }
        if self.checks.media_types
            && media_type::is_full(media_type)
            && let Ok(Some(detected)) = media_type::detect(&file.data, None)
            && contradicts(media_type, detected)
        {
            let found = format!("the media type {:?} on bytes that are {detected}", &**media_type);
            let mend = "declare what the bytes are: some providers refuse a mismatch";
            self.report(
                path.join("mediaType"),
                FaultKind::MediaType,
                found,
                detected,
                mend,
            );
        }
    }
}

/// Message and part of a path into a prompt.
fn position(path: &Path) -> Vec<usize> {
    let index = |step: &Step| {
        if let Step::Index(index) = step {
            Some(*index)
        } else {
            None
        }
    };
    path.steps().iter().take(4).filter_map(index).collect()
}

/// Whether the detected type rules out the declared one. Containers hold sound or pictures under either
/// name, so only images and documents are compared by their full name.
fn contradicts(declared: &str, detected: &str) -> bool {
    let exact = ["image", "application"];
    let top = media_type::top_level;
    if !exact.contains(&top(detected)) {
        return exact.contains(&top(declared)) && top(declared) == "image";
    }
    let declared = declared
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    declared != detected && !(declared == "image/jpg" && detected == "image/jpeg")
}
