//! A real terminal: `tmux` runs the command, keys are sent to it, and what stands on its screen is read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A safety net only: nothing waits for it unless it fails.
const LONG: Duration = Duration::from_secs(60);
/// Between two looks at the screen.
const BETWEEN: Duration = Duration::from_millis(15);

const TAPLINE: &str = env!("CARGO_BIN_EXE_tapline");

/// Whether there is a terminal to try the chat in. Without `tmux` a test says so and passes; under `TAPLINE_CI` it fails.
fn has_tmux() -> bool {
    let found = Command::new("tmux")
        .arg("-V")
        .output()
        .is_ok_and(|out| out.status.success());
    if !found {
        assert!(
            std::env::var_os("TAPLINE_CI").is_none(),
            "tmux must be installed here"
        );
        eprintln!("skipped: there is no tmux on this machine, so the chat is not tried in a terminal");
    }
    found
}

/// A place for one journal, one script and one working folder.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    /// A place with this script. None where there is no terminal to try the chat in.
    pub(crate) fn new(script: &str) -> Option<Self> {
        if !has_tmux() {
            return None;
        }
        let dir = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(dir.path().join("work")).expect("a working folder");
        std::fs::write(dir.path().join("script.toml"), script).expect("the script is written");
        Some(Self { dir })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file in the session's folder.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path("work").join(name), bytes).expect("the file is written");
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let text = |path: PathBuf| path.to_str().expect("a path in UTF-8").to_owned();
        vec![
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", text(self.path("user"))),
            ("TAPLINE_HOME", text(self.path("home"))),
            ("USER", "ann".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("SECRET_TOKEN", "correct-horse-battery".to_owned()),
        ]
    }

    /// Another process on the same journal.
    pub(crate) fn tapline(&self, args: &[&str]) -> Output {
        let mut command = Command::new(TAPLINE);
        command.args(args).env_clear().envs(self.environment());
        command.stdin(Stdio::null()).current_dir(self.path("work"));
        command.output().expect("tapline runs")
    }

    /// The words that start the scripted agent.
    pub(crate) fn agent(&self) -> Vec<String> {
        let text = |path: PathBuf| path.to_str().expect("a path in UTF-8").to_owned();
        vec![
            TAPLINE.to_owned(),
            "demo-agent".to_owned(),
            "--state".to_owned(),
            text(self.path("state")),
            text(self.path("script.toml")),
        ]
    }

    /// A chat with the scripted agent, once it can be written to.
    pub(crate) fn chat(&self, args: &[&str]) -> Pane {
        let pane = self.pane(args, &[]);
        pane.until("the agent has started", |text| {
            text.contains("── scripted-agent ") && !text.contains("starting")
        });
        pane
    }

    /// A chat in a terminal of its own, with more variables.
    pub(crate) fn pane(&self, args: &[&str], more: &[(&str, &str)]) -> Pane {
        let mut words = vec!["chat".to_owned()];
        words.extend(args.iter().map(|&arg| arg.to_owned()));
        if !args.contains(&"--resume") {
            words.push("--".to_owned());
            words.extend(self.agent());
        }
        self.terminal(&words, more)
    }

    /// `tapline` with these words, in a terminal of its own.
    pub(crate) fn terminal(&self, words: &[String], more: &[(&str, &str)]) -> Pane {
        let number = std::fs::read_dir(self.dir.path()).expect("a folder").count();
        let socket = self.path(&format!("tmux-{number}"));
        let settings = self.path("tmux.conf");
        let conf =
            "set -g remain-on-exit on\nset -g status off\nset -g history-limit 5000\nset -s escape-time 0\n";
        std::fs::write(&settings, conf).expect("the settings are written");
        let code = self.path(&format!("code-{number}"));
        let pane = Pane { socket, code };
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&pane.socket).arg("-f").arg(&settings);
        command.args(["new-session", "-d", "-x", "100", "-y", "40", "-c"]);
        command
            .arg(self.path("work"))
            .args(["env", "-i", "TERM=tmux-256color"]);
        let environment = self.environment();
        command.args(environment.iter().map(|(name, value)| format!("{name}={value}")));
        command.args(more.iter().map(|(name, value)| format!("{name}={value}")));
        // tmux now and then does not hear how a command ended; the shell does.
        command.args(["sh", "-c", "\"$@\"; echo $? > \"$0.new\"; mv \"$0.new\" \"$0\""]);
        command.arg(&pane.code).arg(TAPLINE).args(words);
        let out = command.env_remove("TMUX").output().expect("tmux runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        pane
    }
}

/// One terminal.
pub(crate) struct Pane {
    socket: PathBuf,
    /// Where the exit code comes to stand.
    code: PathBuf,
}

impl Pane {
    fn tmux(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let out = command
            .arg("-S")
            .arg(&self.socket)
            .args(args)
            .output()
            .expect("tmux runs");
        assert!(
            out.status.success(),
            "tmux {args:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// All that was printed, and the screen; lines that the terminal has wrapped are joined.
    pub(crate) fn text(&self) -> String {
        let text = self.tmux(&["capture-pane", "-p", "-J", "-S", "-"]);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n")
    }

    /// The same, with the styles that are set.
    pub(crate) fn styled(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-S", "-"])
    }

    /// The screen alone, as it is.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Looks at the terminal until it shows something.
    pub(crate) fn until(&self, what: &str, shows: impl Fn(&str) -> bool) -> String {
        let since = Instant::now();
        loop {
            let text = self.text();
            if shows(&text) {
                return text;
            }
            assert!(
                !text.contains("Pane is dead"),
                "{what} was not seen before the end:\n{text}"
            );
            assert!(since.elapsed() < LONG, "{what} was never seen:\n{text}");
            std::thread::sleep(BETWEEN);
        }
    }

    /// Looks until these words are there.
    pub(crate) fn sees(&self, words: &str) -> String {
        self.until(words, |text| text.contains(words))
    }

    /// Looks until a turn has ended, and nothing runs or waits.
    pub(crate) fn idle(&self, turn: usize) -> String {
        let head = format!("── Turn {turn} ");
        self.until(&format!("the end of turn {turn}"), |text| {
            let mut told = text.lines().filter(|line| line.starts_with(&head));
            let told = told.any(|line| !line.contains("· running"));
            let lower = text
                .lines()
                .rev()
                .find(|line| line.starts_with("── "))
                .unwrap_or_default();
            told && lower.starts_with("── scripted-agent")
        })
    }

    /// Presses keys, by their names.
    pub(crate) fn press(&self, keys: &[&str]) {
        let mut args = vec!["send-keys"];
        args.extend(keys);
        self.tmux(&args);
    }

    /// Writes words.
    pub(crate) fn write(&self, words: &str) {
        self.tmux(&["send-keys", "-l", words]);
    }

    /// Writes a line, sees it stand there, and sends it.
    pub(crate) fn say(&self, words: &str) {
        self.write(words);
        self.until(&format!("\"{words}\" in the line"), |text| {
            let last = text.trim_end().lines().next_back().unwrap_or_default();
            last.trim_start_matches(['❯', '?', '✎', ' ']) == words
        });
        self.press(&["Enter"]);
    }

    /// Pastes words, as a terminal does that marks what is pasted.
    pub(crate) fn paste(&self, words: &str) {
        self.tmux(&["set-buffer", words]);
        self.tmux(&["paste-buffer", "-p", "-r"]);
    }

    pub(crate) fn resize(&self, columns: u16, lines: u16) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &lines]);
    }

    /// Looks until the command has ended; gives its exit code and all that it printed.
    pub(crate) fn ends(&self) -> (i32, String) {
        let since = Instant::now();
        loop {
            if let Ok(code) = std::fs::read_to_string(&self.code) {
                return (code.trim().parse().expect("an exit code"), self.text());
            }
            assert!(since.elapsed() < LONG, "it never ended:\n{}", self.text());
            std::thread::sleep(BETWEEN);
        }
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ = command.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

/// A script with these turns, as TOML.
pub(crate) fn script(turns: &[(&str, &str)]) -> String {
    let mut text = "about = \"A chat in a terminal.\"\n".to_owned();
    for (when, steps) in turns {
        let _ = writeln!(text, "[[turn]]\nwhen = \"{when}\"\nsteps = [{steps}]");
    }
    text.push_str("[[turn]]\nsteps = [{ text = \"You said: {{prompt}}\" }]\n");
    text
}

/// Whether a file is there that others must not read.
pub(crate) fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o077 == 0)
}
