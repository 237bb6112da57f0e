//! The agent catalogue: the user's own file, a registry, what is on the machine.

use std::path::PathBuf;

use tapline_agent::catalogue::{Agent, Catalogue, Launch, Presence, Runner, Search, Source, Sources, limits};
use tapline_agent::origin::Problem;
use tempfile::TempDir;

/// A folder with the files of a catalogue.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder above")).expect("is made");
        std::fs::write(&path, text).expect("is written");
        path
    }

    /// A program in a folder of its own, and a search that finds nothing else.
    #[cfg(unix)]
    fn program(&self, name: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(&format!("bin/{name}"), "#!/bin/sh\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("is allowed");
        path
    }

    fn search(&self) -> Search {
        Search {
            path: Some(self.0.path().join("bin").into()),
            folder: self.0.path().to_owned(),
        }
    }
}

fn with_user(text: &str) -> (Catalogue, Vec<Problem>) {
    let place = Place::new();
    let user = place.write("agents.toml", text);
    Catalogue::load(&Sources {
        user: Some(user),
        ..Sources::default()
    })
}

fn with_registry(text: &str) -> (Catalogue, Vec<Problem>) {
    let place = Place::new();
    let registry = place.write("registry.json", text);
    Catalogue::load(&Sources {
        registry: Some(registry),
        ..Sources::default()
    })
}

/// What is said, without the folder of the test.
fn said(problems: &[Problem]) -> Vec<String> {
    problems
        .iter()
        .map(|p| {
            let text = p.to_string();
            let cut = text.find("agents.toml").or_else(|| text.find("registry.json"));
            text[cut.unwrap_or(0)..].to_owned()
        })
        .collect()
}

fn find<'a>(catalogue: &'a Catalogue, name: &str) -> &'a Agent {
    catalogue.find(name).unwrap_or_else(|| panic!("{name} is known"))
}

#[test]
fn the_built_in_agents_are_known_without_any_file() {
    let (catalogue, problems) = Catalogue::load(&Sources::default());
    assert!(problems.is_empty());
    assert_eq!(find(&catalogue, "grok").launch.to_string(), "grok agent stdio");
    assert_eq!(find(&catalogue, "Claude").launch.to_string(), "claude-agent-acp");
    assert_eq!(find(&catalogue, "oh-my-pi").name, "omp");
    let names: Vec<&str> = catalogue.agents().map(|a| a.name.as_str()).collect();
    assert!(names.is_sorted());
}

#[test]
fn a_misspelled_name_gets_those_most_like_it() {
    let (catalogue, _) = Catalogue::load(&Sources::default());
    let error = catalogue.get("grokk").unwrap_err();
    assert_eq!(error.suggestions, ["grok"]);
    assert_eq!(
        error.to_string(),
        "no agent is called `grokk`; did you mean `grok`? (`tapline agents --all` lists them)"
    );
    assert_eq!(catalogue.get("claude-cod").unwrap_err().suggestions[0], "claude");
    let unlike = catalogue.get("zzz").unwrap_err();
    assert!(unlike.suggestions.is_empty() && !unlike.to_string().contains("did you mean"));
    assert!(catalogue.get("co").unwrap_err().suggestions.len() <= limits::SUGGESTIONS);
}

#[test]
fn the_users_file_changes_single_members_and_adds_agents() {
    let (catalogue, problems) = with_user(
        r#"
        [agents.codex]
        env = { CODEX_HOME = "/work", OPENAI_API_KEY = "k" }

        [agents.gemini]
        title = "Gemini, pinned"
        command = ["/opt/gemini", "--acp", "-m", "x y"]

        [agents.far]
        command = ["ssh", "big", "codex-acp"]
        "#,
    );
    assert!(problems.is_empty(), "{problems:?}");
    let codex = find(&catalogue, "codex");
    assert_eq!(codex.launch.program, "codex-acp");
    assert_eq!(codex.launch.env.len(), 2);
    assert_eq!(codex.packages.as_ref().unwrap().launch.env, codex.launch.env);
    assert!(codex.install.is_some() && matches!(&codex.source, Source::User(_)));
    let gemini = find(&catalogue, "gemini");
    assert_eq!(gemini.launch.to_string(), "/opt/gemini --acp -m 'x y'");
    assert_eq!(
        (&*gemini.title, &gemini.packages, &gemini.install),
        ("Gemini, pinned", &None, &None)
    );
    let far = find(&catalogue, "far");
    assert_eq!(far.launch.to_string(), "ssh big codex-acp");
    assert_eq!(far.title, "far");
}

#[test]
fn a_wrong_entry_of_the_users_is_told_with_its_line_and_loses_that_agent_only() {
    let (catalogue, problems) = with_user(
        r#"[agents.codex]
comand = ["x"]

[agents.claude]
env = { A = 1 }

[agents.mine]
title = "Mine"

[agents.empty]
command = []

[agents.words]
command = "one two"

[agents.kimi]
title = "Kimi here"

[agnets.x]
command = ["x"]
"#,
    );
    assert_eq!(
        said(&problems),
        [
            "agents.toml:5: `agents.claude.env.A` must be a string, but is a number",
            "agents.toml:2: `agents.codex.comand` is not known; did you mean `command`?",
            "agents.toml:11: `agents.empty.command` must be a list of strings: the program and its arguments, but is without a program",
            "agents.toml:7: `agents.mine.command` is missing: no other source says how this agent is started",
            "agents.toml:14: `agents.words.command` must be a list of strings: the program and its arguments, but is a string",
            "agents.toml:19: `agnets` is not known; did you mean `agents`?",
        ]
    );
    for gone in ["codex", "claude", "mine", "empty", "words"] {
        assert_eq!(catalogue.find(gone), None, "{gone}");
    }
    assert_eq!(find(&catalogue, "kimi").title, "Kimi here");
    assert!(problems.iter().all(|p| !p.is_minor()));
}

#[test]
fn a_file_that_is_no_toml_or_is_not_there_is_told() {
    let (catalogue, problems) = with_user("[agents.codex\n");
    assert!(
        said(&problems)[0].starts_with("agents.toml:1: this is no TOML"),
        "{problems:?}"
    );
    assert!(catalogue.find("codex").is_some());

    let place = Place::new();
    let mut sources = Sources {
        user: Some(place.0.path().join("agents.toml")),
        ..Sources::default()
    };
    assert!(Catalogue::load(&sources).1.is_empty());
    sources.user_must_exist = true;
    assert!(matches!(
        &Catalogue::load(&sources).1[..],
        [Problem::Unreadable { .. }]
    ));
}

#[test]
fn bounded_a_users_file_over_its_limit_is_not_read() {
    let text = "#".repeat(limits::USER_FILE);
    assert!(with_user(&text).1.is_empty());
    assert!(
        matches!(&with_user(&(text + "#")).1[..], [Problem::TooLong { limit, .. }] if *limit == limits::USER_FILE)
    );
}

#[test]
fn a_name_that_reads_as_a_flag_or_has_blanks_is_no_name() {
    let long = "x".repeat(limits::NAME + 1);
    let (_, problems) = with_user(&format!(
        "[agents]\n\"-x\" = {{ command = [\"a\"] }}\n\"a b\" = {{ command = [\"a\"] }}\n{long} = {{ command = [\"a\"] }}\n"
    ));
    assert_eq!(problems.len(), 3, "{problems:?}");
    let (catalogue, problems) = with_user(&format!("[agents]\n{} = {{ command = [\"a\"] }}\n", &long[1..]));
    assert!(problems.is_empty() && catalogue.find(&long[1..]).is_some());
}

#[test]
fn a_registry_adds_agents_and_fills_gaps_but_replaces_nothing() {
    let (catalogue, problems) = with_registry(
        r#"{"version": "1.0.0", "agents": [
            {"id": "gemini", "name": "Other name", "version": "9.9.9", "description": "Google's.",
             "distribution": {"npx": {"package": "@google/gemini-cli@9.9.9", "args": ["--other"]}}},
            {"id": "claude-acp", "name": "Claude", "version": "0.200.0",
             "distribution": {"npx": {"package": "@agentclientprotocol/claude-agent-acp@0.200.0"}}},
            {"id": "goose", "name": "goose", "distribution": {"binary": {
               "linux-x86_64": {"archive": "https://example.org/l.tgz", "cmd": "./goose", "args": ["acp"]},
               "linux-aarch64": {"archive": "https://example.org/a.tgz", "cmd": "./goose", "args": ["acp"]},
               "darwin-aarch64": {"archive": "https://example.org/d.tgz", "cmd": "./goose", "args": ["acp"]}}}},
            {"id": "new", "name": "New One", "website": "https://example.org/new",
             "distribution": {"npx": {"package": "new-one@1.0.0", "args": ["--acp", "a b"], "env": {"X": "1"}}}},
            {"id": "snake", "distribution": {"uvx": {"package": "snake-acp@2.0", "args": ["-x"]}}}
        ], "extensions": []}"#,
    );
    assert!(problems.is_empty(), "{problems:?}");
    let gemini = find(&catalogue, "gemini");
    assert_eq!(
        (&*gemini.title, gemini.launch.to_string().as_str()),
        ("Gemini CLI", "gemini --acp")
    );
    assert_eq!(gemini.version.as_deref(), Some("9.9.9"));
    assert_eq!(gemini.description.as_deref(), Some("Google's."));
    assert_eq!(
        gemini.install.as_deref(),
        Some("npm install -g @google/gemini-cli")
    );
    assert_eq!(gemini.source, Source::BuiltIn);
    assert_eq!(
        find(&catalogue, "claude-acp").name,
        "claude",
        "the same package is the same agent"
    );
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    assert!(
        find(&catalogue, "goose")
            .install
            .as_ref()
            .unwrap()
            .starts_with("fetch https://example.org/")
    );

    let new = find(&catalogue, "new");
    assert_eq!(new.launch.to_string(), "npx --yes new-one@1.0.0 --acp 'a b'");
    assert_eq!(new.launch.env, [("X".into(), "1".into())]);
    assert_eq!(new.install.as_deref(), Some("npm install -g new-one@1.0.0"));
    assert_eq!(new.packages.as_ref().unwrap().runner, Runner::Npx);
    let snake = find(&catalogue, "snake");
    assert_eq!(snake.launch.to_string(), "uvx snake-acp@2.0 -x");
    assert_eq!(snake.install.as_deref(), Some("pip install snake-acp==2.0"));
    assert_eq!(snake.title, "snake");
}

#[test]
fn an_entry_of_a_registry_that_cannot_be_read_is_told_and_loses_only_itself() {
    let (catalogue, problems) = with_registry(
        r#"{"agents": [
            7,
            {"id": "none"},
            {"id": "empty", "distribution": {}},
            {"id": "half", "distribution": {"npx": {"args": []}, "uvx": {"package": "half"}}},
            {"id": "args", "distribution": {"npx": {"package": "a", "args": ["x", 1]}}},
            {"id": "env", "distribution": {"npx": {"package": "a", "env": {"A": 1}}}},
            {"id": "flag", "distribution": {"npx": {"package": "--registry=x"}}},
            {"id": "good", "distribution": {"npx": {"package": "good", "args": null, "env": null}, "later": 1}, "new": {}},
            {"id": "good", "distribution": {"npx": {"package": "bad"}}},
            {"id": "a b", "distribution": {"npx": {"package": "x"}}}
        ]}"#,
    );
    let said = said(&problems);
    assert_eq!(said.len(), 12, "{said:#?}");
    assert_eq!(said[0], "registry.json: entry 1 cannot be used: it has no `id`");
    assert_eq!(
        said[1],
        "registry.json: `none` cannot be used: it has no `distribution`"
    );
    assert!(said.contains(&"registry.json: entry 9 cannot be used: `good` stands there twice".to_owned()));
    assert!(problems.iter().all(Problem::is_minor));
    assert_eq!(find(&catalogue, "good").launch.to_string(), "npx --yes good");
    assert_eq!(find(&catalogue, "half").launch.to_string(), "uvx half");
    for gone in ["none", "empty", "args", "env", "flag", "a b"] {
        assert_eq!(catalogue.find(gone), None, "{gone}");
    }
}

#[test]
fn a_registry_that_is_none_is_told() {
    for (text, what) in [("{", "EOF"), ("[]", "no list"), ("{\"agents\": {}}", "no list")] {
        let (_, problems) = with_registry(text);
        assert!(
            problems.len() == 1 && said(&problems)[0].contains(what),
            "{problems:?}"
        );
    }
    let (_, problems) = Catalogue::load(&Sources {
        registry: Some(PathBuf::from("/nowhere/registry.json")),
        ..Sources::default()
    });
    assert!(matches!(&problems[..], [Problem::Unreadable { .. }]));
}

#[test]
fn bounded_a_registry_gives_no_more_agents_than_its_limit() {
    let entry =
        |n: usize| format!(r#"{{"id": "many-{n}", "distribution": {{"npx": {{"package": "many-{n}"}}}}}}"#);
    let entries: Vec<String> = (0..=limits::REGISTRY_AGENTS).map(entry).collect();
    let (catalogue, problems) = with_registry(&format!("{{\"agents\": [{}]}}", entries.join(",")));
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].to_string().contains("at most 4096 agents"),
        "{}",
        problems[0]
    );
    let many = catalogue.agents().filter(|a| a.name.starts_with("many-")).count();
    assert_eq!(many, limits::REGISTRY_AGENTS);
}

#[cfg(unix)]
mod presence {
    use super::*;

    fn agent(catalogue: &Catalogue, place: &Place, name: &str) -> Presence {
        find(catalogue, name).presence_in(&place.search())
    }

    #[test]
    fn a_program_in_path_is_installed_one_for_a_runner_can_be_run_and_the_rest_is_missing() {
        let (catalogue, _) = Catalogue::load(&Sources::default());
        let place = Place::new();
        let codex = place.program("codex-acp");
        assert_eq!(
            agent(&catalogue, &place, "codex"),
            Presence::Installed(codex.clone())
        );
        let missing = |program: &str| Presence::Missing {
            program: program.to_owned(),
        };
        assert_eq!(agent(&catalogue, &place, "gemini"), missing("gemini"));
        let npx = place.program("npx");
        let runnable = Presence::Runnable {
            by: "npx",
            path: npx.clone(),
        };
        assert_eq!(agent(&catalogue, &place, "gemini"), runnable);
        assert_eq!(
            agent(&catalogue, &place, "hermes"),
            missing("hermes-acp"),
            "uvx is not there"
        );
        assert_eq!(agent(&catalogue, &place, "goose"), missing("goose"));

        let start = |name: &str| find(&catalogue, name).start_in(&place.search());
        assert_eq!(start("codex").unwrap(), Launch::new(codex));
        let gemini = start("gemini").unwrap();
        assert_eq!(gemini.program, npx);
        assert_eq!(gemini.args.last().unwrap(), "--acp");
        assert_eq!(
            start("hermes").unwrap_err().to_string(),
            "Hermes cannot be started: no program `hermes-acp` was found; install it with `pip install 'hermes-agent[acp]'`"
        );
    }

    #[test]
    fn an_agent_whose_own_programs_are_missing_is_not_installed() {
        let (catalogue, _) = Catalogue::load(&Sources::default());
        let place = Place::new();
        let adapter = place.program("pi-acp");
        let missing = Presence::Missing {
            program: "pi".to_owned(),
        };
        assert_eq!(agent(&catalogue, &place, "pi"), missing);
        place.program("pi");
        assert_eq!(agent(&catalogue, &place, "pi"), Presence::Installed(adapter));
    }

    #[test]
    fn a_program_is_looked_for_where_the_agent_itself_would_look() {
        let place = Place::new();
        let tool = place.program("tool");
        std::fs::create_dir(place.0.path().join("elsewhere")).unwrap();
        let user = place.write(
            "agents.toml",
            &format!(
                "[agents.own-path]\ncommand = [\"tool\"]\nenv = {{ PATH = \"{}\" }}\n\
                 [agents.whole]\ncommand = [\"{}\"]\n[agents.relative]\ncommand = [\"bin/tool\"]\n",
                place.0.path().join("bin").display(),
                tool.display(),
            ),
        );
        let (catalogue, problems) = Catalogue::load(&Sources {
            user: Some(user),
            ..Sources::default()
        });
        assert!(problems.is_empty(), "{problems:?}");
        let search = Search {
            path: Some(place.0.path().join("elsewhere").into()),
            folder: place.0.path().to_owned(),
        };
        for name in ["own-path", "whole", "relative"] {
            let seen = find(&catalogue, name).presence_in(&search);
            assert_eq!(seen, Presence::Installed(tool.clone()), "{name}");
        }
    }

    #[test]
    fn a_registry_agent_of_a_package_is_never_installed_and_one_of_a_binary_is_where_its_program_is() {
        let place = Place::new();
        let registry = place.write(
            "registry.json",
            r#"{"agents": [
                {"id": "pack", "distribution": {"npx": {"package": "pack"}}},
                {"id": "bin", "distribution": {"binary": {"plan9-mips": {"archive": "https://x", "cmd": "dist\\one.exe", "args": ["acp"]}}}}
            ]}"#,
        );
        let (catalogue, problems) = Catalogue::load(&Sources {
            registry: Some(registry),
            ..Sources::default()
        });
        assert!(problems.is_empty(), "{problems:?}");
        let missing = |program: &str| Presence::Missing {
            program: program.to_owned(),
        };
        assert_eq!(agent(&catalogue, &place, "pack"), missing("npx"));
        assert_eq!(agent(&catalogue, &place, "bin"), missing("one"));
        assert_eq!(
            find(&catalogue, "bin").install,
            None,
            "there is none for this machine"
        );
        place.program("npx");
        let one = place.program("one");
        assert!(matches!(
            agent(&catalogue, &place, "pack"),
            Presence::Runnable { by: "npx", .. }
        ));
        assert_eq!(agent(&catalogue, &place, "bin"), Presence::Installed(one));
        let launch = find(&catalogue, "pack").start_in(&place.search()).unwrap();
        assert_eq!(launch.args, ["--yes", "pack"]);
    }

    #[test]
    fn a_file_that_may_not_be_run_is_no_program() {
        let (catalogue, _) = Catalogue::load(&Sources::default());
        let place = Place::new();
        place.write("bin/codex-acp", "#!/bin/sh\n");
        assert!(!agent(&catalogue, &place, "codex").is_here());
    }
}
