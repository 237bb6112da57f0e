//! The lines that a client writes.
//!
//! Each function gives one message as compact JSON, without the line's end. Agents only send what a client says it
//! can take, so [`Capabilities::all`] says everything that this crate can read: who offers less gets less history.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::content::Block;
use crate::id::Id;

/// The version of the protocol that is spoken.
pub const PROTOCOL_VERSION: u16 = 1;

/// The error code for a method that nobody handles.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The error code for parameters that cannot be used.
pub const INVALID_PARAMS: i64 = -32602;
/// The error code for a message that cannot be used at all.
pub const INVALID_REQUEST: i64 = -32600;
/// The error code for a request that was cancelled.
pub const REQUEST_CANCELLED: i64 = -32800;
/// The error code by which an agent asks to be signed in to.
pub const AUTH_REQUIRED: i64 = -32000;

/// What a client offers to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// The agent may read and write files through the client.
    pub files: bool,
    /// The agent may run commands through the client.
    pub terminal: bool,
    /// The agent may ask questions.
    pub questions: bool,
}

impl Capabilities {
    /// Everything.
    pub const fn all() -> Self {
        Self {
            files: true,
            terminal: true,
            questions: true,
        }
    }
}

impl Default for Capabilities {
    fn default() -> Self {
        Self::all()
    }
}

#[derive(Serialize)]
struct Call<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id<'a>>,
    method: &'a str,
    params: P,
}

#[derive(Serialize)]
struct Answer<'a, R> {
    jsonrpc: &'static str,
    id: &'a Id<'a>,
    result: R,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    id: &'a Id<'a>,
    error: Error<'a>,
}

#[derive(Serialize)]
struct Error<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Empty {}

fn line(message: &impl Serialize) -> String {
    // Strings, numbers, raw JSON and maps with string keys, which is all there is here, can always be written. The one
    // exception would be an `Id::Number` made by hand that holds no number; it becomes a blank line, which every peer skips.
    serde_json::to_string(message).unwrap_or_default()
}

/// A call of any method that wants an answer.
pub fn request(id: &Id<'_>, method: &str, params: &impl Serialize) -> String {
    line(&Call {
        jsonrpc: "2.0",
        id: Some(id),
        method,
        params,
    })
}

/// A call of any method that wants no answer.
pub fn notification(method: &str, params: &impl Serialize) -> String {
    line(&Call {
        jsonrpc: "2.0",
        id: None,
        method,
        params,
    })
}

/// The answer to a request.
pub fn answer(id: &Id<'_>, result: &impl Serialize) -> String {
    line(&Answer {
        jsonrpc: "2.0",
        id,
        result,
    })
}

/// The answer to a request that has nothing to say: an empty object, as the protocol has it.
pub fn empty_answer(id: &Id<'_>) -> String {
    answer(id, &Empty {})
}

/// The answer to a request that could not be done.
pub fn error_answer(id: &Id<'_>, code: i64, message: &str, data: Option<&RawValue>) -> String {
    line(&Failure {
        jsonrpc: "2.0",
        id,
        error: Error { code, message, data },
    })
}

/// `initialize`: the first line of every connection.
pub fn initialize(id: &Id<'_>, client: &ClientInfo<'_>, capabilities: Capabilities) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        protocol_version: u16,
        client_capabilities: Offer,
        client_info: &'a ClientInfo<'a>,
    }
    #[derive(Serialize)]
    struct Offer {
        fs: Files,
        terminal: bool,
        session: SessionOffer,
        subagents: Empty,
        plan: Empty,
        #[serde(skip_serializing_if = "Option::is_none")]
        elicitation: Option<Forms>,
        _meta: Meta,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Files {
        read_text_file: bool,
        write_text_file: bool,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct SessionOffer {
        compaction: Empty,
        config_options: OptionTypes,
        notices: Empty,
    }
    #[derive(Serialize)]
    struct OptionTypes {
        boolean: Empty,
    }
    #[derive(Serialize)]
    struct Forms {
        form: Empty,
    }
    #[derive(Serialize)]
    struct Meta {
        terminal_output: bool,
    }
    let Capabilities {
        files,
        terminal,
        questions,
    } = capabilities;
    let offer = Offer {
        fs: Files {
            read_text_file: files,
            write_text_file: files,
        },
        terminal,
        session: SessionOffer {
            compaction: Empty {},
            config_options: OptionTypes { boolean: Empty {} },
            notices: Empty {},
        },
        subagents: Empty {},
        plan: Empty {},
        elicitation: questions.then_some(Forms { form: Empty {} }),
        _meta: Meta {
            terminal_output: true,
        },
    };
    let params = Params {
        protocol_version: PROTOCOL_VERSION,
        client_capabilities: offer,
        client_info: client,
    };
    request(id, "initialize", &params)
}

/// Who the client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ClientInfo<'a> {
    /// Its name for programs.
    pub name: &'a str,
    /// Its name for people.
    pub title: &'a str,
    /// Its version.
    pub version: &'a str,
}

/// `authenticate`, with a method that the agent offered.
pub fn authenticate(id: &Id<'_>, method_id: &str) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        method_id: &'a str,
    }
    request(id, "authenticate", &Params { method_id })
}

/// Where a session works.
#[derive(Debug, Clone, Copy, Default)]
pub struct Workspace<'a> {
    /// The folder, as an absolute path.
    pub cwd: &'a str,
    /// More folders that belong to it.
    pub additional_directories: &'a [String],
    /// The tool servers to offer to the agent, as a JSON array in the protocol's form.
    pub mcp_servers: Option<&'a RawValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Setup<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    cwd: &'a str,
    mcp_servers: Servers<'a>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    additional_directories: &'a [String],
}

#[derive(Serialize)]
#[serde(untagged)]
enum Servers<'a> {
    Given(&'a RawValue),
    None([(); 0]),
}

fn set_up(id: &Id<'_>, method: &str, session_id: Option<&str>, workspace: &Workspace<'_>) -> String {
    let Workspace {
        cwd,
        additional_directories,
        mcp_servers,
    } = *workspace;
    let mcp_servers = mcp_servers.map_or(Servers::None([]), Servers::Given);
    request(
        id,
        method,
        &Setup {
            session_id,
            cwd,
            mcp_servers,
            additional_directories,
        },
    )
}

/// `session/new`.
pub fn session_new(id: &Id<'_>, workspace: &Workspace<'_>) -> String {
    set_up(id, "session/new", None, workspace)
}

/// `session/load`: the agent tells the whole history before it answers.
pub fn session_load(id: &Id<'_>, session_id: &str, workspace: &Workspace<'_>) -> String {
    set_up(id, "session/load", Some(session_id), workspace)
}

/// `session/resume`: the agent goes on without telling the history.
pub fn session_resume(id: &Id<'_>, session_id: &str, workspace: &Workspace<'_>) -> String {
    set_up(id, "session/resume", Some(session_id), workspace)
}

/// `session/list`, of one folder or of all, from a page on.
pub fn session_list(id: &Id<'_>, cwd: Option<&str>, cursor: Option<&str>) -> String {
    #[derive(Serialize)]
    struct Params<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cursor: Option<&'a str>,
    }
    request(id, "session/list", &Params { cwd, cursor })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfSession<'a> {
    session_id: &'a str,
}

/// `session/close`.
pub fn session_close(id: &Id<'_>, session_id: &str) -> String {
    request(id, "session/close", &OfSession { session_id })
}

/// `session/delete`.
pub fn session_delete(id: &Id<'_>, session_id: &str) -> String {
    request(id, "session/delete", &OfSession { session_id })
}

/// `session/prompt`.
pub fn prompt(id: &Id<'_>, session_id: &str, prompt: &[Block<'_>], meta: Option<&RawValue>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        session_id: &'a str,
        prompt: &'a [Block<'a>],
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<&'a RawValue>,
    }
    request(
        id,
        "session/prompt",
        &Params {
            session_id,
            prompt,
            meta,
        },
    )
}

/// `session/cancel`: stop the running prompt. It has no answer; the prompt's own answer tells of the stop.
pub fn cancel(session_id: &str, meta: Option<&RawValue>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        session_id: &'a str,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<&'a RawValue>,
    }
    notification("session/cancel", &Params { session_id, meta })
}

/// `session/set_mode`.
pub fn set_mode(id: &Id<'_>, session_id: &str, mode_id: &str) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        session_id: &'a str,
        mode_id: &'a str,
    }
    request(id, "session/set_mode", &Params { session_id, mode_id })
}

/// `session/set_model`, as agents had it before there were options.
pub fn set_model(id: &Id<'_>, session_id: &str, model_id: &str) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        session_id: &'a str,
        model_id: &'a str,
    }
    request(id, "session/set_model", &Params { session_id, model_id })
}

/// The new value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue<'a> {
    /// One of the values that the option lists.
    Choice(Cow<'a, str>),
    /// On or off.
    Boolean(bool),
}

/// `session/set_config_option`.
pub fn set_config_option(id: &Id<'_>, session_id: &str, config_id: &str, value: &OptionValue<'_>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a, V> {
        session_id: &'a str,
        config_id: &'a str,
        // Only a truth value says its type; without one the value is a choice.
        #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
        kind: Option<&'static str>,
        value: V,
    }
    const METHOD: &str = "session/set_config_option";
    match value {
        OptionValue::Choice(value) => request(
            id,
            METHOD,
            &Params {
                session_id,
                config_id,
                kind: None,
                value: &**value,
            },
        ),
        OptionValue::Boolean(value) => request(
            id,
            METHOD,
            &Params {
                session_id,
                config_id,
                kind: Some("boolean"),
                value,
            },
        ),
    }
}

/// What a person decided about a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionOutcome<'a> {
    /// The option with this id was chosen.
    Selected(Cow<'a, str>),
    /// The turn was stopped before anything was chosen.
    Cancelled,
}

/// The answer to `session/request_permission`.
pub fn permission_answer(id: &Id<'_>, outcome: &PermissionOutcome<'_>) -> String {
    #[derive(Serialize)]
    struct Result<'a> {
        outcome: Outcome<'a>,
    }
    #[derive(Serialize)]
    #[serde(tag = "outcome", rename_all = "snake_case")]
    enum Outcome<'a> {
        #[serde(rename_all = "camelCase")]
        Selected {
            option_id: &'a str,
        },
        Cancelled,
    }
    let outcome = match outcome {
        PermissionOutcome::Selected(option_id) => Outcome::Selected { option_id },
        PermissionOutcome::Cancelled => Outcome::Cancelled,
    };
    answer(id, &Result { outcome })
}

/// What a person answered to a form or a page.
#[derive(Debug, Clone, Copy)]
pub enum ElicitationOutcome<'a> {
    /// It was filled in, with this object; or the page was opened, with nothing.
    Accept(Option<&'a RawValue>),
    /// It was refused.
    Decline,
    /// It was put away unanswered.
    Cancel,
}

/// The answer to `elicitation/create`.
pub fn elicitation_answer(id: &Id<'_>, outcome: &ElicitationOutcome<'_>) -> String {
    #[derive(Serialize)]
    struct Result<'a> {
        action: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a RawValue>,
    }
    let (action, content) = match outcome {
        ElicitationOutcome::Accept(content) => ("accept", *content),
        ElicitationOutcome::Decline => ("decline", None),
        ElicitationOutcome::Cancel => ("cancel", None),
    };
    answer(id, &Result { action, content })
}

/// `$/cancel_request`: a request of ours need not be answered any more.
pub fn cancel_request(request_id: &Id<'_>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        request_id: &'a Id<'a>,
    }
    notification("$/cancel_request", &Params { request_id })
}
