//! Raw members, read into facts: content, permissions, questions, and what tells of a session.

#![allow(
    clippy::unwrap_used,
    reason = "a test that panics has failed, which is what it is for"
)]

use tapline_wire::session::{
    InitializeAnswer, InitializeParams, PromptAnswer, PromptParams, SessionAnswer, SessionParams, Usage,
};
use tapline_wire::{
    Block, Command, Cost, Elicitation, HelperState, Id, Location, NamedPlan, Permission, PermissionFault,
    PermissionOption, PlanEntry, QuestionKind, QuestionOption, RawValue, ToolContent, Update, UpdateFields,
};

fn raw(source: &str) -> &RawValue {
    serde_json::from_str(source).unwrap()
}

#[test]
fn a_broken_part_of_a_tool_leaves_the_others() {
    let parts = ToolContent::read_all(raw(
        r#"[{"type":"content","content":{"type":"text","text":"first"}},{"type":"hologram","id":4},null,{"type":"diff","path":"/a","oldText":null,"newText":"new\n"},
            {"type":"diff","path":"/b"},{"content":{"type":"mystery","n":1},"type":"content"},{"type":"terminal","terminalId":7},5,
            {"type":"session","sessionId":"child"},{"text":"bare","type":"text"},"just text",{"type":"content","content":null},{}]"#,
    ));
    assert_eq!(parts.broken, 5);
    let [
        ToolContent::Block(Block::Text { text: first }),
        ToolContent::Unknown(hologram),
        ToolContent::Diff {
            path,
            old_text: None,
            new_text,
            meta: None,
        },
        ToolContent::Block(Block::Unknown(mystery)),
        ToolContent::Terminal { terminal_id },
        ToolContent::Session { session_id },
        ToolContent::Block(Block::Text { text: bare }),
        ToolContent::Block(Block::Text { text: just }),
    ] = &parts.items[..]
    else {
        panic!("{parts:?}")
    };
    assert_eq!(
        (&**first, hologram.get()),
        ("first", r#"{"type":"hologram","id":4}"#)
    );
    assert_eq!(
        (&**path, &**new_text, mystery.get()),
        ("/a", "new\n", r#"{"type":"mystery","n":1}"#)
    );
    assert_eq!(
        (&**terminal_id, &**session_id, &**bare, &**just),
        ("7", "child", "bare", "just text")
    );
}

#[test]
fn one_part_stands_for_a_list_and_null_for_none() {
    assert_eq!(
        ToolContent::read_all(raw(r#"{"type":"text","text":"x"}"#))
            .items
            .len(),
        1
    );
    let none = ToolContent::read_all(raw("null"));
    assert_eq!((none.items.len(), none.broken), (0, 0));
    let none = ToolContent::read_all(raw(" [ ] "));
    assert_eq!((none.items.len(), none.broken), (0, 0));
    let broken = Block::read_all(raw("17"));
    assert_eq!((broken.items.len(), broken.broken), (0, 1));
}

#[test]
fn blocks_of_every_type() {
    let blocks = Block::read_all(raw(
        r#"[{"type":"text","text":"a","annotations":{"audience":["user"]}},{"type":"image","mimeType":"image/png","data":"aGk="},{"type":"image","uri":"file:///x"},
            {"type":"image","mimeType":"image/png"},{"type":"audio","data":"aGk="},{"type":"resource_link","uri":"file:///x","name":"x","size":5.0},
            {"type":"resource_link","name":"x"},{"type":"resource","resource":{"uri":"file:///x","mimeType":"text/plain","text":"t"}},
            {"type":"resource","uri":"file:///y","blob":"aGk="},{"type":"resource"},{"type":"text","text":null}]"#,
    ));
    assert_eq!(blocks.broken, 4);
    let [
        Block::Text { text },
        Block::Image {
            data: Some(data),
            mime_type: Some(_),
            uri: None,
        },
        Block::Image {
            data: None,
            uri: Some(_),
            ..
        },
        Block::Audio {
            data: Some(_),
            mime_type: None,
        },
        Block::Link {
            uri,
            name: Some(_),
            size: Some(5),
            title: None,
            ..
        },
        Block::Resource {
            text: Some(inner),
            mime_type: Some(_),
            blob: None,
            ..
        },
        Block::Resource {
            uri: Some(flat),
            blob: Some(_),
            text: None,
            ..
        },
    ] = &blocks.items[..]
    else {
        panic!("{blocks:?}")
    };
    assert_eq!(
        (&**text, &**data, &**uri, &**inner, &**flat),
        ("a", "aGk=", "file:///x", "t", "file:///y")
    );
}

#[test]
fn a_permission_is_read_as_long_as_there_is_something_to_choose() {
    let permission = Permission::read(raw(
        r#"{"sessionId":"S","toolCall":{"toolCallId":"t9","title":"Write notes","kind":"edit","status":5,"locations":"here",
            "content":[{"type":"mystery"},7]},"options":[{"optionId":"yes","kind":"allow_once"},{"name":"no id"},
            {"optionId":"later","name":"Later","kind":"defer"},"no"],"_meta":{"a":1}}"#,
    ))
    .unwrap();
    assert_eq!(
        (permission.session_id.as_deref(), &*permission.tool_call_id),
        (Some("S"), "t9")
    );
    assert_eq!(permission.tool.title.as_deref(), Some("Write notes"));
    let option = |id: &'static str, name: &'static str, kind: &'static str| PermissionOption {
        id: id.into(),
        name: name.into(),
        kind: Some(kind.into()),
    };
    assert_eq!(
        permission.options,
        [
            option("yes", "yes", "allow_once"),
            option("later", "Later", "defer")
        ]
    );
    assert_eq!(
        permission.dropped,
        [
            "options.0.name",
            "options.1",
            "options.3",
            "toolCall.status",
            "toolCall.locations",
            "toolCall.content.1"
        ]
    );
    assert_eq!(permission.meta.unwrap().get(), r#"{"a":1}"#);
}

#[test]
fn a_permission_that_nobody_could_answer_says_why() {
    let table = [
        (
            r#"{"sessionId":"S","options":[{"optionId":"a"}]}"#,
            PermissionFault::NoTool,
        ),
        (
            r#"{"toolCall":{"title":"x"},"options":[{"optionId":"a"}]}"#,
            PermissionFault::NoTool,
        ),
        (
            r#"{"toolCall":"t","options":[{"optionId":"a"}]}"#,
            PermissionFault::NoTool,
        ),
        (r#"{"toolCall":{"toolCallId":"t"}}"#, PermissionFault::NoOptions),
        (
            r#"{"toolCall":{"toolCallId":"t"},"options":{"optionId":"a"}}"#,
            PermissionFault::NoOptions,
        ),
        (
            r#"{"toolCall":{"toolCallId":"t"},"options":[]}"#,
            PermissionFault::NoReadableOption,
        ),
        (
            r#"{"toolCall":{"toolCallId":"t"},"options":[{"name":"a"}]}"#,
            PermissionFault::NoReadableOption,
        ),
        ("[]", PermissionFault::NoTool),
    ];
    for (params, fault) in table {
        assert_eq!(Permission::read(raw(params)).unwrap_err(), fault, "{params}");
    }
}

#[test]
fn a_form_is_a_list_of_questions() {
    let elicitation = Elicitation::read(raw(
        r#"{"sessionId":"s","toolCallId":"t","message":"Which?","requestedSchema":{"type":"object","title":"Form","required":["colour","size"],"properties":{
            "colour":{"type":"string","title":"Colour","oneOf":[{"const":"r","title":"Red","description":"Red please"},{"const":"b"},{"title":"none"}],"default":"r"},
            "size":{"type":"string","enum":["s","m"],"enumNames":["Small","Medium"]},"mail":{"type":"string","format":"email","description":"Yours"},
            "many":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}},"tags":{"type":"array","items":{"type":"string","enum":["p"]}},
            "count":{"type":"integer"},"share":{"type":"number"},"sure":{"type":"boolean"},"odd":{"type":"colour"},"broken":5}}}"#,
    ))
    .unwrap();
    assert_eq!(
        (elicitation.message.as_deref(), elicitation.mode.as_deref()),
        (Some("Which?"), Some("form"))
    );
    assert_eq!(
        (elicitation.title.as_deref(), elicitation.questions.broken),
        (Some("Form"), 1)
    );
    let option = |value: &'static str, label: &'static str| QuestionOption {
        value: value.into(),
        label: label.into(),
        description: None,
    };
    let red = QuestionOption {
        description: Some("Red please".into()),
        ..option("r", "Red")
    };
    let choice = |options, multiple| QuestionKind::Choice { options, multiple };
    let kinds: Vec<_> = elicitation
        .questions
        .items
        .iter()
        .map(|question| (&*question.key, question.kind.clone()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("colour", choice(vec![red, option("b", "b")], false)),
            (
                "size",
                choice(vec![option("s", "Small"), option("m", "Medium")], false)
            ),
            (
                "mail",
                QuestionKind::Text {
                    format: Some("email".into())
                }
            ),
            ("many", choice(vec![option("x", "X")], true)),
            ("tags", choice(vec![option("p", "p")], true)),
            ("count", QuestionKind::Number { whole: true }),
            ("share", QuestionKind::Number { whole: false }),
            ("sure", QuestionKind::Boolean),
            ("odd", QuestionKind::Unknown),
        ]
    );
    let required: Vec<_> = elicitation
        .questions
        .items
        .iter()
        .filter(|question| question.required)
        .collect();
    assert_eq!(
        required.iter().map(|question| &*question.key).collect::<Vec<_>>(),
        ["colour", "size"]
    );
    assert_eq!(elicitation.questions.items[0].default.unwrap().get(), r#""r""#);
    assert_eq!(
        elicitation.questions.items[2].description.as_deref(),
        Some("Yours")
    );
}

#[test]
fn a_page_to_visit_is_no_form() {
    let elicitation = Elicitation::read(raw(
        r#"{"requestId":4,"message":"Sign in","mode":"url","url":"https://example.com","elicitationId":"e1"}"#,
    ))
    .unwrap();
    assert_eq!(
        (elicitation.mode.as_deref(), elicitation.url.as_deref()),
        (Some("url"), Some("https://example.com"))
    );
    assert_eq!(
        (elicitation.request_id, elicitation.elicitation_id.as_deref()),
        (Some(Id::Integer(4)), Some("e1"))
    );
    assert!(elicitation.questions.items.is_empty());
    assert!(Elicitation::read(raw("[]")).is_none());
}

#[test]
fn the_handshake_names_both_sides() {
    let params = InitializeParams::read(raw(
        r#"{"protocolVersion":1,"clientInfo":{"name":"zed","version":"0.2"},"clientCapabilities":{"terminal":true}}"#,
    ));
    assert_eq!(params.protocol_version, Some(1));
    assert_eq!(
        (params.client_info.name.as_deref(), params.client_info.title),
        (Some("zed"), None)
    );
    assert_eq!(params.capabilities.unwrap().get(), r#"{"terminal":true}"#);

    let answer = InitializeAnswer::read(raw(
        r#"{"protocolVersion":"1","agentInfo":{"name":"kimi","title":"Kimi","version":1.4},"agentCapabilities":{"loadSession":true,
            "sessionCapabilities":{"resume":{},"list":null,"close":false}},"authMethods":[{"id":"key","name":"Key"},{"name":"none"},5],"_meta":{}}"#,
    ));
    assert_eq!(answer.protocol_version, None);
    assert_eq!(
        (
            answer.agent_info.name.as_deref(),
            answer.agent_info.title.as_deref()
        ),
        (Some("kimi"), Some("Kimi"))
    );
    assert_eq!(answer.agent_info.version.as_deref(), Some("1.4"));
    let abilities = ["resume", "list", "close", "delete"].map(|name| answer.has_session_ability(name));
    assert_eq!(
        (answer.can_load(), abilities),
        (true, [true, false, false, false])
    );
    assert_eq!(
        (answer.auth_methods.items.len(), answer.auth_methods.broken),
        (1, 2)
    );
    assert_eq!(&*answer.auth_methods.items[0].id, "key");
    assert!(answer.meta.is_some());
}

#[test]
fn an_answer_of_null_is_an_answer() {
    let answer = SessionAnswer::read(raw("null"));
    assert!(answer.session_id.is_none() && answer.modes.is_none() && answer.config_options.is_none());
    let answer = SessionAnswer::read(raw(
        r#"{"sessionId":"s","modes":null,"models":{"currentModelId":"m"},"configOptions":[]}"#,
    ));
    assert_eq!(
        (answer.session_id.as_deref(), answer.modes.is_none()),
        (Some("s"), true)
    );
    assert_eq!(
        (answer.models.unwrap().get(), answer.config_options.unwrap().get()),
        (r#"{"currentModelId":"m"}"#, "[]")
    );
    assert_eq!(PromptAnswer::read(raw("null")).stop_reason, None);
}

#[test]
fn a_prompt_and_its_answer() {
    let set_up = SessionParams::read(raw(r#"{"sessionId":"s","cwd":"/project","mcpServers":[]}"#));
    assert_eq!(
        (set_up.session_id.as_deref(), set_up.cwd.as_deref()),
        (Some("s"), Some("/project"))
    );
    let prompt = PromptParams::read(raw(
        r#"{"sessionId":"s","prompt":[{"type":"text","text":"hi"},5],"_meta":{"promptId":"p"}}"#,
    ));
    assert_eq!((prompt.blocks.items.len(), prompt.blocks.broken), (1, 1));
    assert_eq!(prompt.meta.unwrap().get(), r#"{"promptId":"p"}"#);
    let answer = PromptAnswer::read(raw(
        r#"{"stopReason":"rate_limit","usage":{"totalTokens":10,"inputTokens":7.0,"outputTokens":"3","cachedReadTokens":null}}"#,
    ));
    assert_eq!(answer.stop_reason.as_deref(), Some("rate_limit"));
    assert_eq!(
        answer.usage,
        Some(Usage {
            total: Some(10),
            input: Some(7),
            ..Usage::default()
        })
    );
    assert!(answer.raw_usage.is_some());
}

#[test]
fn a_vendor_notice_of_the_same_shape_reads_as_an_update() {
    let update = Update::read(raw(
        r#"{"sessionId":"s","_meta":{"isReplay":true},"update":{"sessionUpdate":"task_completed","task_id":"t","exit_code":0}}"#,
    ))
    .unwrap();
    assert_eq!(
        (update.kind.as_deref(), update.member("exit_code").unwrap().get()),
        (Some("task_completed"), "0")
    );
    assert_eq!(update.meta.unwrap().get(), r#"{"isReplay":true}"#);
    let names: Vec<_> = update.members().map(|(name, _)| name.into_owned()).collect();
    assert_eq!(names, ["sessionUpdate", "task_id", "exit_code"]);
    assert_eq!(update.param_members().count(), 3);
    assert!(Update::read(raw("[]")).is_none() && UpdateFields::read(raw("5")).is_none());
}

#[test]
fn a_broken_step_leaves_the_others() {
    let entries = PlanEntry::read_all(raw(
        r#"[{"content":"write","priority":"high","status":"completed"},{"content":5},null,{"content":"review","priority":null,"status":"later"}]"#,
    ));
    let entry = |content: &'static str, priority: Option<&'static str>, status: &'static str| PlanEntry {
        content: content.into(),
        priority: priority.map(Into::into),
        status: Some(status.into()),
    };
    assert_eq!(
        entries.items,
        [
            entry("write", Some("high"), "completed"),
            entry("review", None, "later")
        ]
    );
    assert_eq!(entries.broken, 2);
}

#[test]
fn plans_with_an_id() {
    let plan = NamedPlan::read(raw(
        r#"{"type":"items","planId":"p","entries":[{"content":"a"}]}"#,
    ))
    .unwrap();
    assert_eq!(
        (&*plan.id, plan.entries.unwrap().items.len(), plan.markdown),
        ("p", 1, None)
    );
    let plan = NamedPlan::read(raw(
        r##"{"type":"markdown","planId":1,"content":"# A","path":"/a.md"}"##,
    ))
    .unwrap();
    assert_eq!(
        (&*plan.id, plan.entries, plan.markdown.as_deref()),
        ("1", None, Some("# A"))
    );
    assert_eq!(plan.file.as_deref(), Some("/a.md"));
    assert_eq!(NamedPlan::read(raw(r#"{"entries":[]}"#)), None);
}

#[test]
fn places_commands_cost_and_states() {
    let places = Location::read_all(raw(
        r#"[{"path":"/a","line":3.0},{"path":"/b","line":null},{"line":4}]"#,
    ));
    let place = |path: &'static str, line| Location {
        path: path.into(),
        line,
    };
    assert_eq!(
        (places.items, places.broken),
        (vec![place("/a", Some(3)), place("/b", None)], 1)
    );

    let commands = Command::read_all(raw(
        r#"[{"name":"review","description":"D","input":{"hint":"H"}},{"name":"x","input":null},{}]"#,
    ));
    let command =
        |name: &'static str, description: Option<&'static str>, hint: Option<&'static str>| Command {
            name: name.into(),
            description: description.map(Into::into),
            hint: hint.map(Into::into),
        };
    assert_eq!(
        commands.items,
        [command("review", Some("D"), Some("H")), command("x", None, None)]
    );
    assert_eq!(commands.broken, 1);

    let cost = Cost::read(raw(r#"{"amount":0.25,"currency":"USD"}"#)).unwrap();
    assert_eq!((cost.amount, cost.currency.as_deref()), (0.25, Some("USD")));
    assert_eq!(Cost::read(raw(r#"{"amount":"1"}"#)), None);

    let state = |raw: &'static str| {
        let HelperState {
            state,
            stop_reason,
            error,
        } = HelperState::read(serde_json::from_str(raw).unwrap())?;
        Some((
            state.into_owned(),
            stop_reason.map(Into::<String>::into),
            error.map(Into::<String>::into),
        ))
    };
    let words = |text: &str| Some(text.to_owned());
    assert_eq!(
        state(r#"{"state":"running"}"#),
        Some(("running".to_owned(), None, None))
    );
    assert_eq!(
        state(r#"{"state":"idle","stopReason":"end_turn","error":{"code":1,"message":"M"}}"#),
        Some(("idle".to_owned(), words("end_turn"), words("M")))
    );
    assert_eq!(
        state(r#""completed""#),
        Some(("completed".to_owned(), None, None))
    );
    assert_eq!(state("{}"), None);
}
