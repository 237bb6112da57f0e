//! Approvals of tool calls, and what becomes of them when a history is sent on.
//!
//! A history that ends with the user's answers is the moment at which approved tools run. The answers
//! came through a client, so they are checked: the request must exist and have been signed, the input
//! must still be what was approved, the rules of the program may say no after all. Running the tools is
//! the caller's part; before it stands [`collect`], after it [`Decided::into_message`].
//!
//! ```
//! use tapline_prompt::json::Json;
//! use tapline_prompt::model_messages::ToolOutcome;
//! use tapline_prompt::model_messages::approvals::{self, Verdict};
//!
//! let mut history: Vec<Json> = [
//!     r#"{"role":"assistant","content":[
//!         {"type":"tool-call","toolCallId":"c1","toolName":"bash","input":{"cmd":"ls"}},
//!         {"type":"tool-approval-request","approvalId":"a1","toolCallId":"c1"}]}"#,
//!     r#"{"role":"tool","content":[{"type":"tool-approval-response","approvalId":"a1","approved":true}]}"#,
//! ]
//! .map(|text| Json::parse(text).unwrap())
//! .to_vec();
//!
//! let decided = approvals::collect(&history)?.decide(None, |_| Verdict::Run)?;
//! let run = |call: &approvals::Approval| ToolOutcome::Returned(Some(call.tool_name().into()));
//! let outcomes: Vec<ToolOutcome> = decided.run.iter().map(run).collect();
//! history.extend(decided.into_message(outcomes));
//! assert_eq!(
//!     history[2].to_js(),
//!     r#"{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"bash","output":{"type":"text","value":"bash"}}]}"#
//! );
//! # Ok::<(), tapline_prompt::error::SdkError>(())
//! ```

use std::collections::{HashMap, HashSet};

use super::lenient::{is_true, parts, role, some, str_of, tag};
use super::signature;
use super::tool_output::ToolOutcome;
use crate::error::SdkError;
use crate::json::{Json, object};

/// A call that the user has decided on.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    request: Json,
    response: Json,
    call: Json,
    has_result: bool,
}

impl Approval {
    /// The id of the request.
    pub fn approval_id(&self) -> &str {
        str_of(&self.request, "approvalId").unwrap_or_default()
    }

    /// The id of the call.
    pub fn tool_call_id(&self) -> &str {
        str_of(&self.call, "toolCallId").unwrap_or_default()
    }

    /// The tool.
    pub fn tool_name(&self) -> &str {
        str_of(&self.call, "toolName").unwrap_or_default()
    }

    /// What it is to be called with.
    pub fn input(&self) -> Option<&Json> {
        self.call.get("input")
    }

    /// The input before the tool's schema changed it, if the request says so; else the input.
    pub fn input_for_schema(&self) -> Option<&Json> {
        self.request.get("inputSchemaInput").or_else(|| self.input())
    }

    /// Whether the provider runs the tool.
    pub fn is_provider_executed(&self) -> bool {
        self.call.get("providerExecuted").is_some_and(Json::is_truthy)
    }

    /// Checks the signature of the request with the server's secret.
    pub fn verify(&self, secret: &[u8]) -> Result<(), SdkError> {
        let failed = |reason| SdkError::InvalidToolApprovalSignature {
            approval_id: self.approval_id().to_owned(),
            tool_call_id: self.tool_call_id().to_owned(),
            reason,
        };
        let given = str_of(&self.request, "signature").ok_or_else(|| failed("missing signature"))?;
        let is_valid = self.signed().verify(secret, given)?;
        if is_valid {
            Ok(())
        } else {
            Err(failed("invalid signature"))
        }
    }

    /// What a signature of this approval covers.
    pub fn signed(&self) -> signature::Signed<'_> {
        signature::Signed {
            approval_id: self.approval_id(),
            tool_call_id: self.tool_call_id(),
            tool_name: self.tool_name(),
            input: self.input(),
        }
    }

    /// Checks the input again: it must pass the schema and come out as it was approved.
    pub fn check_input(&self, schema: impl FnOnce(&Json) -> Result<Json, String>) -> Verdict {
        let checked = self.input_for_schema().cloned().unwrap_or_default();
        match schema(&checked) {
            Err(cause) => Verdict::Invalid(cause),
            Ok(output) if Some(&output) == self.input() => Verdict::Run,
            Ok(_) => Verdict::Invalid(
                "Error: Approved tool input does not match the validated schema output.".to_owned(),
            ),
        }
    }
}

/// What the program makes of an approval that the user gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Run the tool.
    Run,
    /// Do not: the input is bad. What the error says, with its name.
    Invalid(String),
    /// Do not: the rules forbid it after all, for this reason or the user's.
    Deny(Option<String>),
}

/// The approvals at the end of a history.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Approvals {
    /// What the user allowed, in the order in which the model called.
    pub approved: Vec<Approval>,
    /// What the user did not.
    pub denied: Vec<Approval>,
}

/// Finds the approvals that a history ends with. There are none unless its last message is a tool
/// message. Only the first answer about a call counts, and a call that has its result needs none.
///
/// ```
/// use tapline_prompt::json::Json;
/// use tapline_prompt::model_messages::approvals;
///
/// let last = r#"{"role":"tool","content":[{"type":"tool-approval-response","approvalId":"a","approved":true}]}"#;
/// let error = approvals::collect(&[Json::parse(last)?]).unwrap_err();
/// assert_eq!(error.name(), "AI_InvalidToolApprovalError");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn collect(messages: &[Json]) -> Result<Approvals, SdkError> {
    let mut approvals = Approvals::default();
    let Some(last) = messages.last().filter(|message| role(message) == "tool") else {
        return Ok(approvals);
    };
    let mut calls: HashMap<&str, (usize, &Json)> = HashMap::new();
    let mut requests: HashMap<&str, &Json> = HashMap::new();
    let said = messages
        .iter()
        .filter(|message| role(message) == "assistant")
        .flat_map(parts);
    for (order, part) in said.enumerate() {
        match tag(part) {
            "tool-call" => {
                calls.insert(str_of(part, "toolCallId").unwrap_or_default(), (order, part));
            }
            "tool-approval-request" => {
                requests.insert(str_of(part, "approvalId").unwrap_or_default(), part);
            }
            _ => {}
        }
    }
    let results: HashMap<&str, &Json> = parts(last)
        .iter()
        .filter(|part| tag(part) == "tool-result")
        .map(|part| (str_of(part, "toolCallId").unwrap_or_default(), part))
        .collect();

    let mut seen: HashSet<&str> = HashSet::new();
    let mut approved = Vec::new();
    for response in parts(last)
        .iter()
        .filter(|part| tag(part) == "tool-approval-response")
    {
        let approval_id = str_of(response, "approvalId").unwrap_or_default();
        let request = *requests
            .get(approval_id)
            .ok_or_else(|| SdkError::InvalidToolApproval(approval_id.to_owned()))?;
        let call_id = str_of(request, "toolCallId").unwrap_or_default();
        let is_approved = response.get("approved").is_some_and(Json::is_truthy);
        let result = results.get(call_id);
        let is_denial = |result: &Json| {
            result
                .get("output")
                .is_some_and(|output| tag(output) == "execution-denied")
        };
        if result.is_some_and(|result| is_approved || !is_denial(result)) {
            continue;
        }
        let (order, call) = *calls
            .get(call_id)
            .ok_or_else(|| SdkError::ToolCallNotFoundForApproval {
                tool_call_id: call_id.to_owned(),
                approval_id: approval_id.to_owned(),
            })?;
        if !seen.insert(call_id) {
            continue;
        }
        let approval = Approval {
            request: request.clone(),
            response: response.clone(),
            call: call.clone(),
            has_result: result.is_some(),
        };
        if is_approved {
            approved.push((order, approval));
        } else {
            approvals.denied.push(approval);
        }
    }
    approved.sort_by_key(|(order, _)| *order);
    approvals.approved = approved.into_iter().map(|(_, approval)| approval).collect();
    Ok(approvals)
}

impl Approvals {
    /// Checks what the user allowed. With a secret, a request that it did not sign is an error. Tools
    /// that the provider runs are its own affair: they are not among the calls to run.
    pub fn decide(
        self,
        secret: Option<&[u8]>,
        mut check: impl FnMut(&Approval) -> Verdict,
    ) -> Result<Decided, SdkError> {
        let mut decided = Decided::default();
        let mut denied_now = Vec::new();
        for approval in self.approved {
            if approval.is_provider_executed() {
                continue;
            }
            if let Some(secret) = secret {
                approval.verify(secret)?;
            }
            match check(&approval) {
                Verdict::Run => decided.run.push(approval),
                Verdict::Invalid(cause) => decided.invalid.push((approval, cause)),
                Verdict::Deny(reason) => denied_now.push(deny(approval, reason)),
            }
        }
        decided.denied = self.denied.into_iter().chain(denied_now).collect();
        Ok(decided)
    }
}

fn deny(mut approval: Approval, reason: Option<String>) -> Approval {
    if let Json::Object(response) = &mut approval.response {
        response.insert("approved", false);
        response.insert_some("reason", reason);
    }
    approval
}

/// What is to happen with the calls that were decided on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decided {
    /// To be run, in this order.
    pub run: Vec<Approval>,
    /// Not to be run, because the input is bad.
    pub invalid: Vec<(Approval, String)>,
    /// Not to be run, because it was denied.
    pub denied: Vec<Approval>,
}

impl Decided {
    /// The tool message with all results, to be put at the end of the history; nothing if there is
    /// nothing to say. The outcomes stand in the order of [`Decided::run`].
    pub fn into_message(self, outcomes: impl IntoIterator<Item = ToolOutcome>) -> Option<Json> {
        let result = |approval: &Approval, output: Json| -> Json {
            object! {
                "type": "tool-result",
                "toolCallId": approval.tool_call_id(),
                "toolName": approval.tool_name(),
                "output": output,
            }
            .into()
        };
        let mut content: Vec<Json> = self
            .run
            .iter()
            .zip(outcomes)
            .map(|(approval, outcome)| result(approval, outcome.to_output()))
            .collect();
        for (approval, cause) in &self.invalid {
            let name = approval.tool_name();
            let error = format!("AI_InvalidToolInputError: Invalid input for tool {name}: {cause}");
            content.push(result(approval, ToolOutcome::Failed(error.into()).to_output()));
        }
        for approval in self.denied.iter().filter(|approval| !approval.has_result) {
            // The provider that asked has to know which of its questions this answers.
            let options = is_true(&approval.call, "providerExecuted").then(|| {
                object! { "openai": object! { "approvalId": approval.approval_id() } }
            });
            let output = object! {
                "type": "execution-denied",
                "reason"?: some(&approval.response, "reason"),
                "providerOptions"?: options,
            };
            content.push(result(approval, output.into()));
        }
        (!content.is_empty()).then(|| object! { "role": "tool", "content": content }.into())
    }
}
