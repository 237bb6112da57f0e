//! Settings as people have them, before and after.
#![allow(clippy::unwrap_used)] // A test may fail where it stands.

use std::fs;

use tapline_agent::setup::{Editor, Places, Request, SetupError, edit, snippet, write};

fn request(agent: Option<&str>, command: &[&str]) -> Request {
    Request {
        tapline: "tapline".to_owned(),
        agent: agent.map(str::to_owned),
        command: command.iter().map(|word| (*word).to_owned()).collect(),
    }
}

const ZED: &str = r#"// Zed settings
//
// For information see the documentation.
{
  "telemetry": { "diagnostics": false, "metrics": false },
  "theme": "One Dark", // the dark one
  "agent_servers": {
    /* ours */
    "gemini": {
      "type": "custom",
      "command": "gemini",
      "args": ["--experimental-acp"],
      "env": { "GEMINI_API_KEY": "x" },
    },
    "Codex": { "command": "/opt/codex acp/codex-acp" },
    "claude": { "type": "registry" },
  },
  "vim_mode": true,
}
"#;

#[test]
fn zed_wraps_what_stands_there_and_leaves_the_rest() {
    let edited = edit(Editor::Zed, ZED, &request(Some("gemini"), &[])).unwrap();
    assert_eq!(edited.wrapped, ["gemini"]);
    let expected = ZED
        .replace(r#""command": "gemini""#, r#""command": "tapline""#)
        .replace(
            r#"["--experimental-acp"]"#,
            r#"["wrap", "--", "gemini", "--experimental-acp"]"#,
        );
    assert_eq!(edited.text, expected);
    let again = edit(Editor::Zed, &edited.text, &request(Some("gemini"), &[])).unwrap();
    assert_eq!(
        (again.text, again.already),
        (edited.text, vec!["gemini".to_owned()])
    );
}

#[test]
fn zed_adds_an_agent_and_gives_one_of_the_registry_its_command() {
    let edited = edit(Editor::Zed, ZED, &request(Some("grok"), &["grok", "agent"])).unwrap();
    assert_eq!(edited.added, ["grok"]);
    let added = r#"    "claude": { "type": "registry" },
    "grok": {
      "type": "custom",
      "command": "tapline",
      "args": ["wrap", "--", "grok", "agent"],
    },
  },
  "vim_mode": true,"#;
    assert!(edited.text.contains(added), "{}", edited.text);
    let edited = edit(Editor::Zed, ZED, &request(Some("claude"), &["claude-agent-acp"])).unwrap();
    assert!(edited.text.contains(r#""type": "custom""#) && !edited.text.contains("registry"));
    let error = edit(Editor::Zed, ZED, &request(Some("claude"), &[])).unwrap_err();
    assert_eq!(
        error,
        SetupError::NoCommand {
            agent: "claude".to_owned(),
            known: "gemini, Codex".to_owned()
        }
    );
}

#[test]
fn all_agents_of_zed_are_wrapped_at_once() {
    let edited = edit(Editor::Zed, ZED, &request(None, &[])).unwrap();
    // A blank in a command is part of its path.
    let args = r#""args": ["wrap", "--", "/opt/codex acp/codex-acp"]"#;
    assert!(edited.text.contains(args), "{}", edited.text);
    assert_eq!(edited.wrapped, ["gemini", "Codex"]);
    assert_eq!(
        edit(Editor::Zed, &edited.text, &request(None, &[]))
            .unwrap()
            .already,
        ["gemini", "Codex"]
    );
}

#[test]
fn settings_that_are_not_there_are_made() {
    for (editor, text) in [
        (
            Editor::Zed,
            "{\n  \"agent_servers\": {\n    \"pi\": {\n      \"type\": \"custom\",\n      \"command\": \"tapline\",\n      \"args\": [\"wrap\", \"--\", \"pi-acp\"]\n    }\n  }\n}\n",
        ),
        (
            Editor::JetBrains,
            "{\n  \"agent_servers\": {\n    \"pi\": {\n      \"command\": \"tapline\",\n      \"args\": [\"wrap\", \"--\", \"pi-acp\"]\n    }\n  }\n}\n",
        ),
        (
            Editor::VsCode,
            "{\n  \"acp.agents\": {\n    \"pi\": {\n      \"command\": \"tapline\",\n      \"args\": [\"wrap\", \"--\", \"pi-acp\"]\n    }\n  }\n}\n",
        ),
        (
            Editor::Acpx,
            "{\n  \"agents\": {\n    \"pi\": {\n      \"argv\": [\"tapline\", \"wrap\", \"--\", \"pi-acp\"]\n    }\n  }\n}\n",
        ),
    ] {
        let request = request(Some("pi"), &["pi-acp"]);
        assert_eq!(edit(editor, "", &request).unwrap().text, text, "{editor:?}");
        assert_eq!(snippet(editor, &request), text, "{editor:?}");
    }
}

#[test]
fn jetbrains_keeps_what_belongs_to_the_agent() {
    let before = r#"{
    "default_mcp_settings": {
        "use_idea_mcp": true
    },
    "agent_servers": {
        "OpenCode": {
            "command": "/usr/local/bin/opencode",
            "args": [
                "acp"
            ],
            "env": {
                "KEY": "value"
            }
        },
        "Kimi": {
            "command": "kimi",
            "env": {}
        }
    }
}"#;
    let after = r#"{
    "default_mcp_settings": {
        "use_idea_mcp": true
    },
    "agent_servers": {
        "OpenCode": {
            "command": "tapline",
            "args": [
                "wrap",
                "--",
                "/usr/local/bin/opencode",
                "acp"
            ],
            "env": {
                "KEY": "value"
            }
        },
        "Kimi": {
            "command": "tapline",
            "args": ["wrap", "--", "kimi"],
            "env": {}
        }
    }
}"#;
    let edited = edit(Editor::JetBrains, before, &request(None, &[])).unwrap();
    assert_eq!(edited.text, after);
}

#[test]
fn vscode_settings_keep_their_comments_and_their_line_ends() {
    let before = "{\r\n\t// mine\r\n\t\"editor.fontSize\": 13,\r\n\t\"acp.agents\": {\r\n\t\t\"Claude Code\": { \"command\": \"npx\", \"args\": [\"@zed-industries/claude-code-acp@latest\"], \"env\": {} }\r\n\t}\r\n}\r\n";
    let edited = edit(Editor::VsCode, before, &request(Some("Claude Code"), &[])).unwrap();
    let expected = before.replace(
        "\"npx\", \"args\": [",
        "\"tapline\", \"args\": [\"wrap\", \"--\", \"npx\", ",
    );
    assert_eq!(edited.text, expected);
}

#[test]
fn acpx_is_wrapped_in_each_of_its_forms() {
    let before = r#"{
  "defaultAgent": "codex",
  "agents": {
    "codex": { "argv": ["/usr/local/bin/codex-acp", "--mode", "stable"] },
    "vendored": { "command": "/opt/codex-acp", "args": ["--profile", "x"] },
    "bot": { "command": "node ./scripts/bridge.mjs" }
  }
}
"#;
    let after = r#"{
  "defaultAgent": "codex",
  "agents": {
    "codex": { "argv": ["/opt/my tools/tapline", "wrap", "--", "/usr/local/bin/codex-acp", "--mode", "stable"] },
    "vendored": { "command": "/opt/my tools/tapline", "args": ["wrap", "--", "/opt/codex-acp", "--profile", "x"] },
    "bot": { "command": "'/opt/my tools/tapline' wrap -- node ./scripts/bridge.mjs" }
  }
}
"#;
    let request = Request {
        tapline: "/opt/my tools/tapline".to_owned(),
        ..request(None, &[])
    };
    let edited = edit(Editor::Acpx, before, &request).unwrap();
    assert_eq!(edited.text, after);
    assert_eq!(
        edit(Editor::Acpx, after, &request).unwrap().already,
        ["codex", "vendored", "bot"]
    );
}

#[test]
fn what_is_not_understood_is_left_alone() {
    let broken = edit(Editor::Zed, "{ \"agent_servers\": { ", &request(None, &[])).unwrap_err();
    assert!(matches!(broken, SetupError::Broken { .. }), "{broken}");
    let missing = edit(Editor::Zed, "{ \"a\": 1 \"b\": 2 }", &request(Some("x"), &["x"])).unwrap_err();
    assert!(matches!(missing, SetupError::Broken { .. }), "{missing}");
    for text in [
        "[]",
        "{ \"agent_servers\": [] }",
        "{ \"agent_servers\": { \"a\": \"b\" } }",
        "{ \"agent_servers\": { \"a\": { \"command\": 7 } } }",
    ] {
        let error = edit(Editor::Zed, text, &request(None, &[])).unwrap_err();
        assert!(matches!(error, SetupError::Form { .. }), "{text}: {error}");
    }
    assert_eq!(
        edit(Editor::Zed, "{}", &request(None, &[])).unwrap_err(),
        SetupError::NoAgent
    );
}

#[test]
fn emacs_gets_one_block_that_is_replaced() {
    let before =
        "(require 'package)\n(setq agent-shell-anthropic-claude-acp-command '(\"claude-agent-acp\"))";
    let first = edit(Editor::Emacs, before, &request(None, &[])).unwrap();
    assert!(first.text.starts_with(before) && first.text.ends_with(";; tapline: end\n"));
    assert!(
        first
            .text
            .contains(r#"(append '("tapline" "wrap" "--") command)"#)
    );
    let depth = |text: &str| text.matches('(').count() - text.matches(')').count();
    assert_eq!(depth(&first.text), depth(before));
    let same = edit(Editor::Emacs, &first.text, &request(None, &[])).unwrap();
    assert_eq!((&same.text, same.wrapped.len()), (&first.text, 0));
    let with_more = format!("{}(message \"after\")\n", first.text);
    let other = edit(Editor::Emacs, &with_more, &request(Some("claude"), &[])).unwrap();
    assert_eq!(other.text.matches("tapline: begin").count(), 1);
    assert!(other.text.contains("claude") && other.text.ends_with("(message \"after\")\n"));
}

#[test]
fn neovim_is_shown_and_never_written() {
    let request = request(Some("claude_code"), &["claude-agent-acp", "--say", "a \"word\""]);
    let shown = snippet(Editor::Neovim, &request);
    let command =
        r#"commands = { default = { "tapline", "wrap", "--", "claude-agent-acp", "--say", "a \"word\"" } }"#;
    assert!(
        shown.contains(command) && shown.contains("acp_providers"),
        "{shown}"
    );
    assert_eq!(
        edit(Editor::Neovim, "-- mine", &request).unwrap_err(),
        SetupError::ByHand { editor: "Neovim" }
    );
}

#[test]
fn writing_keeps_the_old_text_and_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/settings.json");
    assert_eq!(write(&path, "one").unwrap(), None);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let first = write(&path, "two").unwrap().unwrap();
    let second = write(&path, "three").unwrap().unwrap();
    assert_eq!(fs::read_to_string(&first).unwrap(), "one");
    assert_eq!(fs::read_to_string(&second).unwrap(), "two");
    assert_eq!(fs::read_to_string(&path).unwrap(), "three");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 3);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for file in [&first, &path] {
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        // Settings kept in another folder by a link stay there.
        let link = folder.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, "four").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "four");
    }
}

#[test]
fn every_editor_has_a_word_and_a_place() {
    let places = Places {
        home: "/home/a".into(),
        config: None,
        mac: false,
    };
    for editor in Editor::ALL {
        assert_eq!(Editor::parse(editor.word()), Some(editor));
        assert!(editor.settings(&places).starts_with("/home/a/."));
    }
    assert_eq!(Editor::parse("ed"), None);
}
