//! The known faults of the published packages: kept in the exact profile, mended in the fixed one. The
//! page `docs/prompt/profiles.md` names each, and this table shows each.

use tapline_prompt::json::Json;
use tapline_prompt::providers::convert_line;

/// A fault: the page's name for it, the call that shows it, and a text that is only in the answer of one
/// of the profiles.
struct Fault {
    name: &'static str,
    target: (&'static str, &'static str, &'static str),
    prompt: &'static str,
    options: &'static str,
    exact: &'static str,
    fixed: &'static str,
}

const CALL_WITH_TEXT: &str = r#"[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"t","input":"{\"a\":1}"}]}]"#;
const TOOLS: &str = r#"{"tools":[{"type":"function","name":"t","inputSchema":{"type":"object"}}]}"#;

const FAULTS: &[Fault] = &[
    Fault {
        name: "bytes-as-object",
        target: ("openai", "chat", "gpt-4o"),
        prompt: r#"[{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"content","value":[{"type":"file","mediaType":"image/png","data":{"type":"data","data":{"$bytes":"iVA="}}}]}}]}]"#,
        options: "{}",
        exact: r#"\"data\":{\"0\":137,\"1\":80}"#,
        fixed: r#"\"data\":\"iVA=\""#,
    },
    Fault {
        name: "input-quoted-twice",
        target: ("deepseek", "chat", "deepseek-chat"),
        prompt: CALL_WITH_TEXT,
        options: "{}",
        exact: r#""arguments":"\"{\\\"a\\\":1}\"""#,
        fixed: r#""arguments":"{\"a\":1}""#,
    },
    Fault {
        name: "input-quoted-twice",
        target: ("xai", "responses", "grok-4"),
        prompt: CALL_WITH_TEXT,
        options: "{}",
        exact: r#""arguments":"\"{\\\"a\\\":1}\"""#,
        fixed: r#""arguments":"{\"a\":1}""#,
    },
    Fault {
        name: "input-quoted-twice",
        target: ("xai", "chat", "grok-4"),
        prompt: CALL_WITH_TEXT,
        options: "{}",
        exact: r#""arguments":"\"{\\\"a\\\":1}\"""#,
        fixed: r#""arguments":"{\"a\":1}""#,
    },
    Fault {
        name: "input-quoted-twice",
        target: ("cohere", "chat", "command-a-03-2025"),
        prompt: CALL_WITH_TEXT,
        options: "{}",
        exact: r#""arguments":"\"{\\\"a\\\":1}\"""#,
        fixed: r#""arguments":"{\"a\":1}""#,
    },
    Fault {
        name: "lost-message-options",
        target: ("openai-compatible", "chat", "m"),
        prompt: r#"[{"role":"user","content":[{"type":"text","text":"q"}],"providerOptions":{"openaiCompatible":{"name":"Ann"}}}]"#,
        options: "{}",
        exact: r#""messages":[{"role":"user","content":"q"}]"#,
        fixed: r#""name":"Ann""#,
    },
    Fault {
        name: "mcp-result-warning",
        target: ("anthropic", "messages", "claude-sonnet-4-5"),
        prompt: r#"[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"t","input":{},"providerExecuted":true,"providerOptions":{"anthropic":{"type":"mcp-tool-use","serverName":"s"}}},{"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"json","value":[]}}]}]"#,
        options: "{}",
        exact: "provider executed tool result for tool t is not supported",
        fixed: r#""warnings":[]"#,
    },
    Fault {
        name: "names-on-every-object",
        target: ("anthropic", "messages", "claude-sonnet-4-5"),
        prompt: r#"[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"constructor","input":{}}]}]"#,
        options: "{}",
        exact: "is missing the action",
        fixed: r#""name":"constructor""#,
    },
    Fault {
        name: "empty-user-message",
        target: ("anthropic", "messages", "claude-sonnet-4-5"),
        prompt: r#"[{"role":"user","content":[]}]"#,
        options: "{}",
        exact: r#""messages":[{"role":"user","content":[]}]"#,
        fixed: r#""messages":[]"#,
    },
    Fault {
        name: "open-call-after-files",
        target: ("google", "generateContent", "gemini-2.5-flash"),
        prompt: r#"[{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"content","value":[{"type":"file","mediaType":"image/png","data":{"type":"data","data":"iVA="}}]}}]}]"#,
        options: "{}",
        exact: r#""parts":[{"inlineData""#,
        fixed: r#""functionResponse":{"id":"c""#,
    },
    Fault {
        name: "unresolved-media-type",
        target: ("google", "generateContent", "gemini-2.5-flash"),
        prompt: r#"[{"role":"assistant","content":[{"type":"file","mediaType":"image/*","data":{"type":"data","data":"iVBORw0KGgo="}}]}]"#,
        options: "{}",
        exact: r#""mimeType":"image/*""#,
        fixed: r#""mimeType":"image/png""#,
    },
    Fault {
        name: "input-not-read",
        target: ("amazon-bedrock", "converse", "anthropic.claude-sonnet-4-5"),
        prompt: CALL_WITH_TEXT,
        options: TOOLS,
        exact: r#""input":{"rawInvalidInput""#,
        fixed: r#""input":{"a":1}"#,
    },
    Fault {
        name: "failure-not-marked",
        target: ("amazon-bedrock", "converse", "anthropic.claude-sonnet-4-5"),
        prompt: r#"[{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"error-text","value":"no"}}]}]"#,
        options: TOOLS,
        exact: r#""content":[{"text":"no"}]}}"#,
        fixed: r#""status":"error""#,
    },
    Fault {
        name: "level-max-unknown",
        target: ("amazon-bedrock", "converse", "anthropic.claude-sonnet-4-5"),
        prompt: "[]",
        options: r#"{"reasoning":"max"}"#,
        exact: r#"reasoning \"max\" is not supported"#,
        fixed: r#""budget_tokens":60800"#,
    },
    Fault {
        name: "level-max-unknown",
        target: ("cohere", "chat", "command-a-03-2025"),
        prompt: "[]",
        options: r#"{"reasoning":"max"}"#,
        exact: r#"reasoning \"max\" is not supported"#,
        fixed: r#""token_budget":31130"#,
    },
    Fault {
        name: "level-max-unknown",
        target: ("deepseek", "chat", "deepseek-chat"),
        prompt: "[]",
        options: r#"{"reasoning":"max"}"#,
        exact: r#"reasoning \"max\" is not supported"#,
        fixed: r#""reasoning_effort":"max""#,
    },
    Fault {
        name: "level-max-unknown",
        target: ("xai", "responses", "grok-4"),
        prompt: "[]",
        options: r#"{"reasoning":"max"}"#,
        exact: r#"reasoning \"max\" is not supported by this model"#,
        fixed: r#""reasoning":{"effort":"high"}"#,
    },
    Fault {
        name: "names-on-every-object",
        target: ("openai", "responses", "gpt-4o"),
        prompt: r#"[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"__proto__","input":{}}]}]"#,
        options: "{}",
        exact: r#""name":{}"#,
        fixed: r#""name":"__proto__""#,
    },
    Fault {
        name: "placeholder-in-warning",
        target: ("amazon-bedrock", "converse", "anthropic.claude-sonnet-4-5"),
        prompt: "[]",
        options: r#"{"tools":[{"type":"provider","id":"x.y","name":"y","args":{}}]}"#,
        exact: "tool ${tool.id}",
        fixed: r#""feature":"tool x.y""#,
    },
    Fault {
        name: "definitions-cut",
        target: ("amazon-bedrock", "converse", "anthropic.claude-sonnet-4-5"),
        prompt: "[]",
        options: r##"{"responseFormat":{"type":"json","schema":{"$ref":"#/$defs/A","$defs":{"A":{"type":"string"}}}}}"##,
        exact: r##""schema":{"$ref":"#/$defs/A"}"##,
        fixed: r##""$defs":{"A":{"type":"string"}}"##,
    },
    Fault {
        name: "unnamed-error",
        target: ("mistral", "chat", "mistral-large-latest"),
        prompt: r#"[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"custom","kind":"x.y"}]}]"#,
        options: "{}",
        exact: "Unsupported content type in assistant message: custom",
        fixed: r#""kind":"dropped""#,
    },
    Fault {
        name: "document-not-decoded",
        target: ("cohere", "chat", "command-a-03-2025"),
        prompt: r#"[{"role":"user","content":[{"type":"file","mediaType":"text/plain","data":{"type":"data","data":"aGk="}}]}]"#,
        options: "{}",
        exact: r#""text":"aGk=""#,
        fixed: r#""text":"hi""#,
    },
    Fault {
        name: "text-beside-calls",
        target: ("cohere", "chat", "command-a-03-2025"),
        prompt: r#"[{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool-call","toolCallId":"c","toolName":"t","input":{}}]}]"#,
        options: "{}",
        exact: "the API is not told what the model says beside its calls",
        fixed: r#""tool_plan":"I look.""#,
    },
];

impl Fault {
    fn answer(&self, profile: &str) -> String {
        let (provider, api, model) = self.target;
        let Fault { prompt, options, .. } = self;
        convert_line(&format!(
            r#"{{"provider":"{provider}","api":"{api}","model":"{model}","prompt":{prompt},"options":{options},"profile":"{profile}"}}"#
        ))
    }
}

#[test]
fn the_exact_profile_keeps_each_fault_and_the_fixed_one_mends_it() {
    for fault in FAULTS {
        let (exact, fixed) = (fault.answer("exact"), fault.answer("fixed"));
        let name = fault.name;
        assert!(exact.contains(fault.exact), "{name}, exact: {exact}");
        assert!(!exact.contains(fault.fixed), "{name}, exact: {exact}");
        assert!(fixed.contains(fault.fixed), "{name}, fixed: {fixed}");
        assert!(!fixed.contains(fault.exact), "{name}, fixed: {fixed}");
        assert!(
            Json::parse(&fixed).is_ok_and(|answer| answer.get("body").is_some()),
            "{name}: {fixed}"
        );
    }
}

#[test]
fn the_page_of_profiles_names_each_fault_and_no_other() {
    let page = include_str!("../../../docs/prompt/profiles.md");
    let mut named: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    named.sort_unstable();
    let mut shown: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
    shown.sort_unstable();
    shown.dedup();
    assert_eq!(named, shown);
}
