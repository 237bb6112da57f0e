//! Terminals offered to an agent: what they print, how they end, and that nothing of them is left.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // A test may fail where it stands.

mod common;

use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{gone, kill, line, lives};
use rustix::process::Signal;
use tapline_agent::files::Folders;
use tapline_agent::terminals::{Exit, LIVING, Spec, TERMINALS, TerminalError, Terminals, WAITING};

/// A safety net only: no test waits for it unless it fails.
const WATCHDOG: Duration = Duration::from_secs(60);

struct Place {
    folder: tempfile::TempDir,
    terminals: Terminals,
}

fn place() -> Place {
    place_with(None)
}

/// With a guard for each terminal.
fn guarded() -> Place {
    let exe = env!("CARGO_BIN_EXE_tapline-terminals");
    place_with(Some(vec![exe.into(), "__guard".into()]))
}

fn place_with(guard: Option<Vec<std::ffi::OsString>>) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let folders = Folders::open(folder.path(), &[]).unwrap();
    Place {
        folder,
        terminals: Terminals::new(folders, guard),
    }
}

impl Place {
    fn run(&mut self, line: &str) -> String {
        self.create(Spec {
            command: line.to_owned(),
            ..Spec::default()
        })
    }

    fn create(&mut self, spec: Spec) -> String {
        self.terminals.create(spec).unwrap()
    }

    fn exit(&self, id: &str) -> Exit {
        self.when_over(id).recv_timeout(WATCHDOG).unwrap()
    }

    fn when_over(&self, id: &str) -> Receiver<Exit> {
        let (tell, told) = channel();
        let callback = move |exit| tell.send(exit).unwrap();
        self.terminals.on_exit(id, callback).unwrap();
        told
    }

    fn text(&self, id: &str) -> String {
        self.terminals.output(id).unwrap().text
    }

    /// Runs to the end, and returns what was printed.
    fn whole(&mut self, spec: Spec) -> (String, Exit) {
        let id = self.create(spec);
        let exit = self.exit(&id);
        (self.text(&id), exit)
    }

    /// The number in the first line, once it is printed.
    fn number(&self, id: &str) -> u32 {
        let until = std::time::Instant::now() + WATCHDOG;
        while std::time::Instant::now() < until {
            if let Some((first, _)) = self.text(id).split_once('\n') {
                return first.parse().unwrap();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("the terminal prints no line");
    }
}

fn code(code: i32) -> Exit {
    Exit {
        code: Some(code),
        signal: None,
    }
}

fn signal(name: &str) -> Exit {
    Exit {
        code: None,
        signal: Some(name.to_owned()),
    }
}

#[test]
fn an_id_is_not_given_again_where_a_session_goes_on() {
    let mut given = std::collections::BTreeSet::from(["term-1".to_owned()]);
    for _ in 0..3 {
        let mut place = place();
        place.terminals = place.terminals.going_on();
        for _ in 0..2 {
            let id = place.run("true");
            assert!(id.starts_with("term-") && given.insert(id.clone()), "{id}");
        }
    }
}

#[test]
fn both_outputs_stand_in_the_order_in_which_they_were_written() {
    let mut place = place();
    let id = place.run("echo one; echo two >&2; echo three; echo four >&2; exit 3");
    assert_eq!(id, "term-1");
    assert_eq!(place.exit(&id), code(3));
    let output = place.terminals.output(&id).unwrap();
    assert_eq!(output.text, "one\ntwo\nthree\nfour\n");
    assert_eq!((output.truncated, output.exit), (false, Some(code(3))));
}

#[test]
fn arguments_reach_the_program_as_they_are_and_its_input_is_empty() {
    let mut place = place();
    let spec = Spec {
        command: "printf".into(),
        args: vec!["[%s]".into(), "a b".into(), "$HOME; `x`".into(), String::new()],
        ..Spec::default()
    };
    assert_eq!(place.whole(spec), ("[a b][$HOME; `x`][]".into(), code(0)));
    let id = place.run("cat; echo over");
    assert_eq!(place.exit(&id), code(0));
    assert_eq!(place.text(&id), "over\n");
    // A program without arguments is a program, also if its name could be a line of shell.
    let program = place.folder.path().join("a program");
    std::fs::write(&program, "#!/bin/sh\necho \"$0\"\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let id = place.run(program.to_str().unwrap());
    assert_eq!(place.exit(&id), code(0));
    assert_eq!(place.text(&id), format!("{}\n", program.display()));
}

#[test]
fn variables_are_added_and_the_folder_is_one_of_the_session() {
    let mut place = place();
    std::fs::create_dir(place.folder.path().join("sub")).unwrap();
    let real = std::fs::canonicalize(place.folder.path()).unwrap();
    let spec = |cwd: &str| Spec {
        command: "echo $A-${PATH:+path}; pwd -P".into(),
        env: vec![("A".into(), "x y".into())],
        cwd: Some(place.folder.path().join(cwd)),
        ..Spec::default()
    };
    let (inside, outside, missing) = (spec("sub"), spec(".."), spec("none"));
    let printed = format!("x y-path\n{}\n", real.join("sub").display());
    assert_eq!(place.whole(inside), (printed, code(0)));
    let id = place.run("pwd -P");
    place.exit(&id);
    assert_eq!(place.text(&id), format!("{}\n", real.display()));
    assert_eq!(place.terminals.create(outside).unwrap_err().code(), -32602);
    assert_eq!(place.terminals.create(missing).unwrap_err().code(), -32002);
}

#[test]
fn what_cannot_be_started_is_said_and_leaves_no_terminal() {
    for mut place in [place(), guarded()] {
        let spec = |command: &str, name: &str| Spec {
            command: command.into(),
            args: vec!["x".into()],
            env: vec![(name.into(), "x".into())],
            ..Spec::default()
        };
        let error = place.terminals.create(spec("no-such-program", "A")).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("`no-such-program` could not be started"),
            "{error}"
        );
        assert_eq!(error.code(), -32603);
        for name in ["", "A=B", "A\0"] {
            let error = place.terminals.create(spec("true", name)).unwrap_err();
            assert!(matches!(error, TerminalError::Variable(_)));
            assert_eq!(error.code(), -32602);
        }
        let error = place.terminals.output("term-1").unwrap_err();
        assert_eq!(error.code(), -32002);
        assert!(place.terminals.kill("term-1").is_err());
        assert!(place.terminals.release("term-1").is_err());
        assert!(place.terminals.on_exit("term-1", |_| ()).is_err());
        assert_eq!(place.run("true"), "term-1");
    }
}

#[test]
fn all_that_was_said_is_there_when_the_exit_is_told() {
    let mut place = place();
    for _ in 0..20 {
        let id = place.run("head -c 60000 /dev/zero | tr '\\0' x; printf end");
        let (tell, told) = channel();
        place
            .terminals
            .on_exit(&id, move |exit| tell.send(exit).unwrap())
            .unwrap();
        assert_eq!(told.recv_timeout(WATCHDOG).unwrap(), code(0));
        let text = place.text(&id);
        assert_eq!(text.len(), 60_003);
        assert!(text.ends_with("xend"));
        place.terminals.release(&id).unwrap();
    }
}

#[test]
fn the_end_of_the_output_is_kept() {
    let mut place = place();
    let mut output = |limit, line: &str| {
        let id = place.create(Spec {
            command: line.into(),
            output_byte_limit: limit,
            ..Spec::default()
        });
        place.exit(&id);
        let output = place.terminals.output(&id).unwrap();
        (output.text, output.truncated)
    };
    assert_eq!(output(Some(4), "printf abcdef"), ("cdef".into(), true));
    assert_eq!(output(Some(4), "printf a☃☃"), ("☃".into(), true));
    assert_eq!(output(Some(6), "printf abcdef"), ("abcdef".into(), false));
    assert_eq!(output(Some(0), "printf abcdef"), (String::new(), true));
    let long = "head -c 9000000 /dev/zero | tr '\\0' x; printf end";
    for (limit, kept) in [
        (None, 1 << 20),
        (Some(2 << 20), 2 << 20),
        (Some(u64::MAX), 4 << 20),
    ] {
        let (text, truncated) = output(limit, long);
        assert_eq!((text.len(), truncated), (kept, true));
        assert!(text.ends_with("xend"));
    }
}

#[test]
fn a_terminal_that_never_stops_printing_is_read_and_can_be_ended() {
    let mut place = place();
    let id = place.run("yes");
    while !place.terminals.output(&id).unwrap().truncated {
        std::thread::yield_now();
    }
    let over = place.when_over(&id);
    place.terminals.kill(&id).unwrap();
    assert_eq!(over.recv_timeout(WATCHDOG).unwrap(), signal("SIGTERM"));
    let output = place.terminals.output(&id).unwrap();
    assert_eq!(
        (output.text.len(), output.exit),
        (1 << 20, Some(signal("SIGTERM")))
    );
}

#[test]
fn a_kill_reaches_all_that_was_started_and_what_will_not_listen() {
    for mut place in [place(), guarded()] {
        let polite = place.run("sleep 1000 & echo $!; wait");
        let child = place.number(&polite);
        place.terminals.kill(&polite).unwrap();
        assert_eq!(place.exit(&polite), signal("SIGTERM"));
        assert!(gone(child));
        // It is still there to be asked, and may be killed again.
        place.terminals.kill(&polite).unwrap();
        assert_eq!(place.number(&polite), child);

        let deaf = place.run("trap '' TERM; sleep 1000 & echo $!; wait; wait");
        let child = place.number(&deaf);
        place.terminals.kill(&deaf).unwrap();
        assert_eq!(place.exit(&deaf), signal("SIGKILL"));
        assert!(gone(child));

        let stopped = place.run("echo $$; kill -STOP $$");
        place.number(&stopped);
        place.terminals.kill(&stopped).unwrap();
        assert_eq!(place.exit(&stopped), signal("SIGTERM"));
    }
}

#[test]
fn the_exit_is_told_though_a_grandchild_holds_the_pipe() {
    for mut place in [place(), guarded()] {
        let id = place.run("sleep 1000 & echo $!; exit 4");
        assert_eq!(place.exit(&id), code(4));
        let child = place.number(&id);
        assert!(lives(child));
        place.terminals.release(&id).unwrap();
        assert!(gone(child));

        // What it goes on saying is still read.
        let id = place.run("(while :; do echo more; done) & exit 0");
        assert_eq!(place.exit(&id), code(0));
        while !place.terminals.output(&id).unwrap().truncated {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_released_terminal_is_ended_and_who_waited_is_told() {
    for mut place in [place(), guarded()] {
        let id = place.run("echo $$; exec sleep 1000");
        let process = place.number(&id);
        let over = place.when_over(&id);
        place.terminals.release(&id).unwrap();
        assert_eq!(over.recv_timeout(WATCHDOG).unwrap(), signal("SIGTERM"));
        assert!(gone(process));
        assert!(matches!(
            place.terminals.output(&id),
            Err(TerminalError::Unknown(_))
        ));
        // Its id is not given to another.
        assert_eq!(place.run("true"), "term-2");
    }
}

#[test]
fn everybody_who_waits_is_told_once_whatever_the_others_do() {
    let mut place = place();
    let id = place.run("echo $$; exec sleep 1000");
    place.number(&id);
    let (tell, told) = channel();
    place
        .terminals
        .on_exit(&id, |_| panic!("a careless callback"))
        .unwrap();
    for number in 1..WAITING {
        let tell = tell.clone();
        place
            .terminals
            .on_exit(&id, move |_| tell.send(number).unwrap())
            .unwrap();
    }
    let error = place.terminals.on_exit(&id, |_| ()).unwrap_err();
    assert!(matches!(error, TerminalError::TooManyWait(_)));
    drop(tell);
    place.terminals.kill(&id).unwrap();
    // The channel closes once no callback is left, so none is called twice.
    assert!(told.iter().eq(1..WAITING));
    // Who comes late is told at once, on his own thread.
    let (tell, told) = channel();
    let callback = move |exit| tell.send((exit, std::thread::current().id())).unwrap();
    place.terminals.on_exit(&id, callback).unwrap();
    assert_eq!(
        told.try_recv().unwrap(),
        (signal("SIGTERM"), std::thread::current().id())
    );
}

#[test]
fn there_are_so_many_terminals_and_no_more_and_all_end_with_their_owner() {
    let mut place = place();
    let ids: Vec<_> = (0..TERMINALS)
        .map(|_| place.run("echo $$; exec sleep 1000"))
        .collect();
    let error = place.terminals.create(Spec::default()).unwrap_err();
    assert!(matches!(error, TerminalError::TooMany(TERMINALS)));
    assert_eq!(error.code(), -32603);
    let processes: Vec<_> = ids.iter().map(|id| place.number(id)).collect();
    place.terminals.release(&ids[7]).unwrap();
    let last = place.run("echo $$; exec sleep 1000");
    let last = place.number(&last);
    assert!(processes.iter().enumerate().all(|(n, pid)| n == 7 || lives(*pid)));
    drop(place);
    // The drop has waited for all of them.
    assert!(!processes.iter().chain([&last]).any(|pid| lives(*pid)));
}

#[test]
fn what_was_released_and_still_ends_is_counted() {
    let mut place = place();
    let (let_go, held) = channel::<()>();
    let held = Arc::new(Mutex::new(held));
    for _ in 0..LIVING {
        let id = place.run("exec sleep 1000");
        let held = held.clone();
        // A careless callback keeps the thread of its terminal from ending.
        let callback = move |_| assert!(held.lock().unwrap().recv().is_err());
        place.terminals.on_exit(&id, callback).unwrap();
        place.terminals.release(&id).unwrap();
    }
    let error = place.terminals.create(Spec::default()).unwrap_err();
    assert!(matches!(error, TerminalError::TooMany(LIVING)), "{error}");
    drop(let_go);
    let until = std::time::Instant::now() + WATCHDOG;
    while place.terminals.create(Spec::default()).is_err() {
        assert!(std::time::Instant::now() < until, "none of them ends");
        std::thread::yield_now();
    }
}

#[test]
fn the_end_of_the_owner_ends_what_will_not_listen() {
    for mut place in [place(), guarded()] {
        let deaf = place.run("trap '' TERM; sleep 1000 & echo $!; wait; wait");
        let child = place.number(&deaf);
        let gone_already = place.run("trap '' TERM; sleep 1000 & echo $!");
        assert_eq!(place.exit(&gone_already), code(0));
        let orphan = place.number(&gone_already);
        drop(place);
        // They were sent the signal that nobody outlives; nobody of ours waits for them to go.
        assert!(gone(child) && gone(orphan));
    }
}

#[test]
fn a_killed_owner_leaves_no_process_of_a_terminal() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_tapline-terminals"))
        .arg("trap '' TERM; sleep 1000 & echo $$ $!; wait; wait; sleep 1000")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let first = line(owner.stdout.as_mut().unwrap());
    let processes: Vec<u32> = first.split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(processes.len(), 2);
    assert!(processes.iter().all(|pid| lives(*pid)));
    kill(owner.id(), Signal::KILL);
    owner.wait().unwrap();
    assert!(processes.iter().all(|pid| gone(*pid)));
}
