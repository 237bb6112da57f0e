//! `tapline agents`, by the real program on a machine that holds only what the test puts there.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A bare machine: a home, and a folder of programs.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("bin")).expect("is made");
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("is written");
        path
    }

    fn program(&self, name: &str) -> PathBuf {
        let path = self.write(&format!("bin/{name}"), "#!/bin/sh\n");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("is allowed");
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tapline"));
        command
            .env_clear()
            .env("HOME", self.0.path())
            .env("PATH", self.path("bin"))
            .env("TAPLINE_CONFIG", self.path("config.toml"))
            .args(["agents"])
            .args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        if !self.path("config.toml").exists() {
            self.write("config.toml", "");
        }
        self.command(arguments).output().expect("tapline runs")
    }

    fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", errors(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    fn objects(&self, arguments: &[&str]) -> Vec<Value> {
        let lines = self.text(arguments);
        lines
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect()
    }

    fn object(&self, name: &str) -> Value {
        self.objects(&["--json", name]).remove(0)
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_here_comes_first_and_what_is_not_has_the_command_that_installs_it() {
    let machine = Machine::new();
    let codex = machine.program("codex-acp");
    let text = machine.text(&[]);
    let (here, rest) = text.split_once("\nNot here; what installs it\n").unwrap();
    assert!(here.starts_with("Installed\n"));
    assert!(
        here.contains("codex") && here.contains(&*codex.to_string_lossy()),
        "{text}"
    );
    assert!(rest.contains("npm install -g @xai-official/grok"));
    assert!(rest.contains("pip install 'hermes-agent[acp]'"));
    assert!(rest.contains("see https://github.com/aaif-goose/goose"));
    assert!(!text.contains("Fetched when started"));

    machine.program("npx");
    let text = machine.text(&[]);
    let (_, rest) = text
        .split_once("\nFetched when started; what installs it for good\n")
        .unwrap();
    let (fetched, _) = rest.split_once("\nNot here").unwrap();
    assert!(fetched.contains("npm install -g @xai-official/grok"), "{text}");
    let grok = machine.text(&["grok"]);
    assert!(
        grok.contains("npx --yes --package=@xai-official/grok -- grok agent stdio"),
        "{grok}"
    );
}

#[test]
fn the_list_fits_the_terminal_and_cuts_no_command() {
    let machine = Machine::new();
    machine.write("config.toml", "");
    let width = |columns: &str| {
        let output = machine.command(&[]).env("COLUMNS", columns).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let wide = width("160");
    let narrow = width("60");
    assert!(wide.lines().count() < narrow.lines().count());
    assert!(wide.lines().all(|line| line.chars().count() <= 160));
    for line in narrow.lines().filter(|line| line.chars().count() > 60) {
        assert!(
            line.starts_with("      "),
            "only a command by itself may be longer: {line}"
        );
    }
    assert!(narrow.contains("npm install -g pi-acp @earendil-works/pi-coding-agent\n"));
}

#[test]
fn json_is_one_object_an_agent() {
    let machine = Machine::new();
    let codex = machine.program("codex-acp");
    machine.program("npx");
    let all = machine.objects(&["--json"]);
    assert!(all.len() >= 17);
    assert_eq!(all[0]["name"], "codex", "what is installed comes first");
    assert_eq!(all[0]["presence"], "installed");
    assert_eq!(all[0]["path"], &*codex.to_string_lossy());
    assert_eq!(all[0]["command"], serde_json::json!(["codex-acp"]));
    let gemini = machine.object("gemini");
    assert_eq!(
        (&gemini["presence"], &gemini["runner"]),
        (&"runnable".into(), &"npx".into())
    );
    assert_eq!(gemini["command"][0], "npx");
    let hermes = machine.object("hermes");
    assert_eq!(
        (&hermes["presence"], &hermes["missing"]),
        (&"missing".into(), &"hermes-acp".into())
    );
    assert_eq!(hermes["install"], "pip install 'hermes-agent[acp]'");
    assert_eq!(hermes.get("signed_in"), None, "nobody asked the agent");
}

#[test]
fn the_users_own_agents_are_listed_and_their_variables_keep_their_values() {
    let machine = Machine::new();
    machine.program("ssh");
    machine.write(
        "agents.toml",
        "[agents.far]\ntitle = \"Far \\u001b[31maway\"\ncommand = [\"ssh\", \"big\", \"codex-acp\"]\nenv = { API_KEY = \"s3cret\" }\n",
    );
    let text = machine.text(&["far"]);
    assert!(
        text.contains("ssh big codex-acp") && text.contains("API_KEY"),
        "{text}"
    );
    assert!(text.contains("agents.toml"));
    let all = machine.text(&[]) + &text + &machine.text(&["--json"]);
    assert!(!all.contains("s3cret") && !all.contains('\u{1b}'), "{all}");
    assert_eq!(machine.object("far")["source"], "user");
}

#[test]
fn a_misspelled_name_gets_a_suggestion_and_exit_code_1() {
    let machine = Machine::new();
    let output = machine.run(&["grokk"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("no agent is called `grokk`; did you mean `grok`?"));
    assert!(machine.text(&["Grok"]).contains("grok agent stdio"));
}

#[test]
fn a_fault_in_the_users_file_is_told_while_the_rest_is_listed() {
    let machine = Machine::new();
    machine.write("agents.toml", "[agents.grok]\ncommand = \"grok agent stdio\"\n");
    let output = machine.run(&[]);
    assert_eq!(output.status.code(), Some(78));
    assert!(
        errors(&output).contains("agents.toml:2: `agents.grok.command` must be a list"),
        "{}",
        errors(&output)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("codex") && !text.contains("grok"), "{text}");
    // Asking for that very agent tells the fault, not that it is unknown.
    let output = machine.run(&["grok"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(errors(&output).contains("must be a list"));
}

#[test]
fn a_registry_that_is_named_adds_agents_and_all_shows_those_that_are_far() {
    let machine = Machine::new();
    machine.write(
        "registry.json",
        r#"{"agents": [{"id": "new", "name": "New", "distribution": {"npx": {"package": "new@1"}}}, {"id": "bad\u001b[31m"}, {"id": "worse"}]}"#,
    );
    machine.write("config.toml", "[catalogue]\nregistry = \"registry.json\"\n");
    let output = machine.run(&[]);
    assert!(output.status.success(), "one bad entry is no failure");
    let said = errors(&output);
    assert!(
        said.contains("`worse` cannot be used") && !said.contains('\u{1b}'),
        "{said}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("1 more in the registry that are not here: `tapline agents --all`"),
        "{text}"
    );
    assert!(machine.text(&["--all"]).contains("npm install -g new@1"));
    assert!(machine.text(&["new"]).contains("registry.json"));

    let other = machine.write("other.json", r#"{"agents": []}"#);
    let set = format!("catalogue.registry={}", other.display());
    assert!(!machine.text(&["--all", "--set", &set]).contains("new@1"));
}

/// The user's own agents, each a scripted one that first writes its process id into a file of its own name.
fn scripted(machine: &Machine, agents: &[(&str, &str)]) {
    let tapline = env!("CARGO_BIN_EXE_tapline");
    let mut text = String::new();
    for (name, script) in agents {
        let pid = machine.path(&format!("{name}.pid"));
        let line = format!(
            "echo $$ > '{}'; exec '{tapline}' demo-agent {script}",
            pid.display()
        );
        text += &format!(
            "[agents.{name}]\ncommand = [\"/bin/sh\", \"-c\", \"{line}\"]\nsign_in = \"knock twice\"\n"
        );
    }
    machine.write("agents.toml", &text);
}

/// The agent has run, and runs no more; nor is there a journal.
fn left_no_trace(machine: &Machine, name: &str) {
    let pid = std::fs::read_to_string(machine.path(&format!("{name}.pid"))).expect("it has run");
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().expect("a number")).expect("a process id");
    assert_eq!(
        rustix::process::test_kill_process(pid),
        Err(rustix::io::Errno::SRCH),
        "{name} has left"
    );
    let entries = std::fs::read_dir(machine.0.path()).expect("a folder entry");
    let names: Vec<_> = entries
        .map(|entry| {
            entry
                .expect("a folder entry")
                .file_name()
                .into_string()
                .expect("a folder entry")
        })
        .filter(|name| name != "bin" && !name.ends_with(".toml") && !name.ends_with(".pid"))
        .collect();
    assert_eq!(names, [""; 0], "nothing is kept");
}

#[test]
fn a_check_tells_who_is_signed_in_and_leaves_nothing_behind() {
    let machine = Machine::new();
    let agents = [
        ("open", "builtin:demo"),
        ("locked", "builtin:needs-login"),
        ("broken", "builtin:there-is-none"),
    ];
    scripted(&machine, &agents);
    machine.program("npx");
    let text = machine.text(&["--check"]);
    let (installed, rest) = text.split_once("\nFetched when started").unwrap();
    let after = |name: &str| {
        let (_, rest) = installed.split_once(&format!("  {name} ")).unwrap();
        rest.lines().map(str::trim).take(3).collect::<Vec<_>>().join("\n")
    };
    assert!(after("open").contains("\nsigned in"), "{text}");
    assert!(after("locked").contains("\nnot signed in: knock twice"), "{text}");
    assert!(after("broken").contains("could not be set up"), "{text}");
    assert!(
        !rest.contains("signed in"),
        "what is not here is not fetched: {text}"
    );
    for (name, _) in agents {
        left_no_trace(&machine, name);
    }
    let all = machine.objects(&["--check", "--json"]);
    let found = |name: &str| all.iter().find(|agent| agent["name"] == name).unwrap();
    assert_eq!(found("open")["signed_in"], true);
    assert_eq!(found("locked")["signed_in"], false);
    assert_eq!(found("broken").get("signed_in"), None, "it never said");
    assert!(
        found("broken")["fault"]
            .as_str()
            .unwrap()
            .contains("could not be set up")
    );
    assert_eq!(found("codex").get("signed_in"), None);
}

#[test]
fn a_check_of_one_agent_ends_as_the_agent_did() {
    let machine = Machine::new();
    scripted(
        &machine,
        &[("open", "builtin:demo"), ("locked", "builtin:needs-login")],
    );
    let text = machine.text(&["--check", "open"]);
    assert!(text.contains("signed in   yes"), "{text}");
    left_no_trace(&machine, "open");
    assert!(
        !machine.path("locked.pid").exists(),
        "only the one that was named"
    );

    let output = machine.run(&["--check", "locked"]);
    assert_eq!(output.status.code(), Some(77), "{}", errors(&output));
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("signed in   no")
    );
    left_no_trace(&machine, "locked");

    let output = machine.run(&["--check", "codex"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("npm install"), "{}", errors(&output));
}

#[test]
fn a_check_of_an_agent_that_says_nothing_has_an_end() {
    let machine = Machine::new();
    let pid = machine.path("mute.pid");
    let line = format!("echo $$ > '{}'; exec /bin/sleep 1000", pid.display());
    machine.write(
        "agents.toml",
        &format!("[agents.mute]\ncommand = [\"/bin/sh\", \"-c\", \"{line}\"]\n"),
    );
    let output = machine.run(&["--check", "mute", "--set", "limits.start_seconds=1"]);
    assert_eq!(output.status.code(), Some(76), "{}", errors(&output));
    assert!(errors(&output).contains("within 1 s"), "{}", errors(&output));
    left_no_trace(&machine, "mute");
}
