//! `tapline chat` in a real terminal: keys are pressed, and the screen is read.
//!
//! Each test has a terminal, a journal and a scripted agent of its own. Nothing waits for time to pass: the screen is looked at
//! until it shows something.
#![cfg(unix)]

mod pane;

use std::process::{Command, Stdio};

use pane::{Pane, Place, is_private, script};

const PERMISSION: (&str, &str) = (
    "permission",
    r#"{ tool = { id = "p", title = "rm cache", kind = "delete", input = { path = "cache" } } },
    { permission = { tool = "p", allow = [{ finish = "p" }, { text = "Removed." }], reject = [{ fail = "p" }, { text = "Then not." }], cancelled = [{ fail = "p" }] } }"#,
);
const WAIT: (&str, &str) = ("wait", r#"{ text = "Waiting." }, "wait_for_cancel""#);
/// Runs until the test makes the file `go`.
const HOLD: (&str, &str) = (
    "hold",
    r#"{ text = "Holding." }, { run = { command = "sh", args = ["-c", "until [ -e go ]; do sleep 0.02; done"] } }, { text = "Let go." }"#,
);
const DIE: (&str, &str) = (
    "die",
    r#"{ text = "Going." }, { stderr = "out of cheese" }, { exit = { code = 3 } }"#,
);

/// A chat with an agent that knows these turns, once it can be written to. Nothing where there is no terminal to try it in.
fn talk(turns: &[(&str, &str)]) -> Option<(Place, Pane)> {
    let place = Place::new(&script(turns))?;
    let pane = place.chat(&[]);
    Some((place, pane))
}

#[test]
fn a_talk_is_shown_and_ended() {
    let Some((_place, pane)) = talk(&[]) else { return };
    pane.say("hello there");
    let text = pane.idle(1);
    assert!(text.contains("▌ hello there"), "{text}");
    assert!(text.contains("You said: hello there"), "{text}");
    pane.press(&["C-d"]);
    let (code, text) = pane.ends();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("tapline chat --resume"), "{text}");
    assert!(!text.contains('❯'), "the lower part is taken away: {text}");
}

#[test]
fn a_permission_is_allowed_by_letter_and_refused_by_number() {
    let Some((_place, pane)) = talk(&[PERMISSION]) else {
        return;
    };
    pane.say("permission please");
    pane.sees("1 Allow once (y)");
    pane.say("y");
    let text = pane.idle(1);
    assert!(text.contains("Removed."), "{text}");
    assert!(text.contains("allowed by cli:ann"), "{text}");
    pane.say("permission again");
    pane.until("the second one", |text| {
        text.matches("◆ Permission: rm cache").count() == 2
    });
    pane.say("maybe");
    pane.sees("There is no option \"maybe\"");
    pane.press(&["C-u"]);
    pane.say("3");
    let text = pane.idle(2);
    assert!(text.contains("Then not."), "{text}");
    assert!(text.contains("rejected by cli:ann"), "{text}");
}

#[test]
fn a_question_is_answered_in_place_and_half_a_prompt_waits_meanwhile() {
    let ask = r#"{ text = "Asking." }, { run = { command = "sh", args = ["-c", "until [ -e go ]; do sleep 0.02; done"] } },
        { question = { message = "Which colour?", options = ["Red", "Blue"], accept = [{ text = "You chose {{answer}}." }] } }"#;
    let Some(place) = Place::new(&script(&[("question", ask)])) else {
        return;
    };
    let pane = place.chat(&[]);
    pane.say("question");
    pane.sees("Asking.");
    pane.write("half a prompt");
    pane.sees("❯ half a prompt");
    place.file("go", b"");
    pane.sees("2 Blue");
    pane.until("the draft stands aside", |text| {
        text.contains("your draft waits") && text.trim_end().ends_with('?')
    });
    pane.say("2");
    pane.sees("You chose Blue.");
    pane.sees("❯ half a prompt");
}

#[test]
fn a_plan_is_answered_with_words() {
    let plan = r#"{ ask = { method = "x.ai/exit_plan_mode", params = { sessionId = "{{session}}", toolCallId = "t", planContent = "1. Delete it" } } }"#;
    let Some(place) = Place::new(&format!(
        "meta = {{ grokShell = true }}\n{}",
        script(&[("plan", plan)])
    )) else {
        return;
    };
    let pane = place.chat(&[]);
    pane.say("plan");
    let text = pane.sees("1 Approve the plan (y)");
    assert!(text.contains("1. Delete it"), "{text}");
    pane.say("test it first");
    let text = pane.idle(1);
    assert!(
        text.contains("\"outcome\":\"cancelled\"") && text.contains("\"test it first\""),
        "{text}"
    );
}

#[test]
fn ctrl_c_stops_the_turn_and_the_talk_goes_on() {
    let Some((_place, pane)) = talk(&[WAIT]) else {
        return;
    };
    pane.say("wait");
    pane.sees("Waiting.");
    pane.press(&["C-c"]);
    let text = pane.idle(1);
    assert!(text.contains("stopped"), "{text}");
    pane.say("next");
    pane.sees("You said: next");
}

#[test]
fn a_second_ctrl_c_ends_the_session() {
    let stubborn = format!("never_answers = [\"session/cancel\"]\n{}", script(&[WAIT]));
    let Some(place) = Place::new(&stubborn) else {
        return;
    };
    let pane = place.chat(&["--set", "limits.stop_seconds=600"]);
    pane.say("wait");
    pane.sees("Waiting.");
    pane.press(&["C-c"]);
    pane.sees("Ctrl-C again ends the session");
    pane.press(&["C-c"]);
    let (code, text) = pane.ends();
    assert_eq!(code, 130, "{text}");
    assert!(text.contains("interrupted: the session was ended"), "{text}");
}

#[test]
fn a_prompt_that_is_typed_meanwhile_waits_and_then_goes() {
    let Some((place, pane)) = talk(&[HOLD]) else {
        return;
    };
    pane.say("hold");
    pane.sees("Holding.");
    pane.say("second");
    pane.sees("1 waits: second");
    pane.say("third");
    pane.sees("2 waits: third");
    pane.say("fourth");
    pane.sees("3 waits: fourth");
    pane.say("/withdraw 2");
    pane.sees("Taken back.");
    pane.say("/queue");
    let text = pane.sees("2 fourth  (by cli:ann)");
    assert!(text.contains("1 second  (by cli:ann)"), "{text}");
    pane.say("/edit 2 fifth");
    pane.sees("2 waits: fifth");
    pane.say("/edit 1");
    pane.sees("✎ second");
    pane.write(" thoughts");
    pane.sees("✎ second thoughts");
    pane.press(&["Enter"]);
    pane.sees("1 waits: second thoughts");
    place.file("go", b"");
    let text = pane.idle(3);
    let said: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("You said:"))
        .collect();
    assert_eq!(said, ["You said: second thoughts", "You said: fifth"]);
}

#[test]
fn a_prompt_that_steers_stops_the_turn_and_goes_next() {
    let Some((_place, pane)) = talk(&[WAIT]) else {
        return;
    };
    pane.say("wait");
    pane.sees("Waiting.");
    pane.say("/steer go left");
    pane.sees("You said: go left");
    pane.say("wait more");
    pane.until("the second one waits", |text| {
        text.matches("Waiting.").count() == 2
    });
    pane.say("go right!!");
    let text = pane.sees("You said: go right");
    assert!(!text.contains("You said: go right!"), "{text}");
}

#[test]
fn files_and_pictures_go_with_a_prompt() {
    let Some(place) = Place::new(&script(&[])) else {
        return;
    };
    place.file("notes.txt", b"some notes");
    place.file("shot.png", b"\x89PNG\r\n\x1a\n0000");
    let pane = place.chat(&[]);
    pane.write("compare @no");
    pane.press(&["Tab"]);
    pane.sees("❯ compare @notes.txt");
    pane.write("with ");
    pane.paste("shot.png");
    pane.sees("❯ compare @notes.txt with @shot.png");
    pane.press(&["Enter"]);
    let text = pane.idle(1);
    assert!(text.contains("▌ compare @notes.txt with @shot.png"), "{text}");
    let out = place.tapline(&["export", "last", "--format", "json"]);
    let rows = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(
        rows.contains("some notes") && rows.contains("image/png"),
        "{rows}"
    );
}

#[test]
fn an_agent_that_dies_is_missed_and_the_next_prompt_resumes() {
    let Some((place, pane)) = talk(&[DIE]) else { return };
    pane.say("hello");
    pane.idle(1);
    pane.say("die");
    let text = pane.sees("The agent went away (exit code 3)");
    assert!(text.contains("cut: the agent process ended"), "{text}");
    pane.sees("out of cheese");
    pane.say("are you back");
    pane.sees("You said: are you back");
    pane.press(&["C-d"]);
    let (_, text) = pane.ends();
    assert_eq!(
        text.matches("You said: hello").count(),
        1,
        "history is not told again: {text}"
    );
    let out = place.tapline(&["list"]);
    assert_eq!(
        String::from_utf8_lossy(&out.stdout)
            .matches("scripted-agent")
            .count(),
        1
    );
}

#[test]
fn an_agent_that_lost_the_session_is_not_given_the_chat_where_that_is_not_wanted() {
    let Some(place) = Place::new(&script(&[DIE])) else {
        return;
    };
    let pane = place.chat(&["--no-context"]);
    pane.say("die");
    pane.sees("The agent went away");
    std::fs::remove_dir_all(place.path("state")).expect("the agent forgets");
    pane.say("are you back");
    pane.sees("could not load the session");
    pane.sees("❯ are you back");
}

#[test]
fn another_process_answers_sends_and_stops_in_the_same_talk() {
    let Some((place, pane)) = talk(&[PERMISSION, WAIT]) else {
        return;
    };
    pane.say("permission");
    pane.sees("1 Allow once (y)");
    let out = place.tapline(&["answer", "last", "reject"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = pane.idle(1);
    assert!(
        text.contains("rejected by cli:ann") && text.contains("Then not."),
        "{text}"
    );
    assert!(!text.contains("1 Allow once"), "the choices are gone: {text}");
    place.tapline(&["send", "last", "wait over there"]);
    pane.sees("▌ wait over there");
    pane.sees("Waiting.");
    place.tapline(&["stop", "last"]);
    pane.idle(2);
    place.tapline(&["stop", "last", "--close"]);
    pane.sees("The next prompt resumes the session.");
}

#[test]
fn a_talk_goes_on_another_day() {
    let Some((place, pane)) = talk(&[]) else { return };
    pane.say("first day");
    pane.idle(1);
    pane.say("/quit");
    pane.ends();
    let words = ["resume", "last"].map(str::to_owned);
    let pane = place.terminal(&words, &[]);
    pane.sees("You said: first day");
    pane.say("second day");
    pane.sees("You said: second day");
    // A second terminal in the same talk.
    let other = place.pane(&["--resume", "last"], &[]);
    other.sees("held by another process");
    other.say("from over there");
    other.sees("You said: from over there");
    pane.sees("You said: from over there");
    other.press(&["C-d"]);
    assert_eq!(other.ends().0, 0);
    pane.say("still here");
    pane.sees("You said: still here");
}

#[test]
fn what_was_typed_is_remembered_unless_it_is_secret() {
    let Some((place, pane)) = talk(&[]) else { return };
    pane.say("the token is correct-horse-battery");
    pane.idle(1);
    pane.say("remember me");
    pane.idle(2);
    pane.press(&["C-d"]);
    pane.ends();
    let path = place.path("home").join("chat-history");
    let kept = std::fs::read_to_string(&path).expect("the history is there");
    assert!(kept.contains("remember me") && !kept.contains("horse"), "{kept}");
    assert!(is_private(&path));
    let pane = place.chat(&[]);
    pane.press(&["Up"]);
    pane.sees("❯ remember me");
    pane.press(&["C-u", "C-r"]);
    pane.write("memb");
    pane.sees("history: memb");
    pane.press(&["Enter"]);
    pane.sees("❯ remember me");
}

#[test]
fn several_lines_are_one_prompt() {
    let Some((_place, pane)) = talk(&[]) else { return };
    pane.write("one\\");
    pane.press(&["Enter"]);
    pane.write("two");
    pane.press(&["C-j"]);
    pane.paste("three\nfour\n");
    pane.write("five");
    pane.until("all lines", |text| {
        text.trim_end().ends_with("❯ one\n  two\n  three\n  four\n  five")
    });
    pane.press(&["Enter"]);
    let text = pane.idle(1);
    assert!(text.contains("▌ one\n▌ two\n▌ three\n▌ four\n▌ five"), "{text}");
}

#[test]
fn modes_models_and_commands_of_the_agent_are_at_hand() {
    let Some(place) = Place::new(&format!(
        r#"modes = [{{ id = "ask", name = "Ask first" }}, {{ id = "code", name = "Code freely" }}]
options = [{{ id = "model", name = "Model", category = "model", type = "select", currentValue = "small", options = [
  {{ value = "small", name = "Small" }}, {{ value = "large", name = "Large" }} ] }}]
commands = [{{ name = "review", description = "Review the changes" }}]
{}"#,
        script(&[])
    )) else {
        return;
    };
    let pane = place.chat(&[]);
    pane.sees("── scripted-agent · Ask first · Small ─");
    pane.say("/mode 2");
    pane.sees("Mode: Code freely");
    pane.sees("── scripted-agent · Code freely ·");
    pane.say("/model huge");
    pane.sees("There is no Model \"huge\". Choose one of: small, large.");
    pane.say("/model large");
    pane.sees("· Code freely · Large ─");
    pane.write("/rev");
    pane.press(&["Tab"]);
    pane.sees("❯ /review");
    pane.write("all");
    pane.press(&["Enter"]);
    pane.sees("You said: /review all");
    pane.say("//help");
    pane.sees("You said: /help");
    pane.say("/help");
    pane.sees("Review the changes");
}

#[test]
fn work_in_the_background_is_listed_and_stopped() {
    let endless = r#"{ tool = { id = "loop", title = "Loop", kind = "execute", status = "in_progress" } },
        { background = { id = "task-3", tool = "loop", command = "loop", label = "Loop for ever", style = "grok" } }"#;
    let Some(place) = Place::new(&format!(
        "meta = {{ grokShell = true }}\n{}",
        script(&[("endless", endless)])
    )) else {
        return;
    };
    let pane = place.pane(&[], &[]);
    pane.sees("❯");
    pane.say("endless");
    pane.sees("1 in the background (/tasks)");
    pane.say("/tasks");
    pane.sees("1 Loop for ever");
    pane.say("/kill 1");
    pane.sees("Background command \"Loop for ever\" was stopped");
    pane.until("the rule without it", |text| {
        !text.contains("1 in the background")
    });
}

#[test]
fn what_is_folded_is_shown_whole_by_its_number() {
    let steps = r#"{ tool = { id = "a", title = "Read a.txt", kind = "read", status = "in_progress" } },
        { finish = { id = "a", output = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\nnumber twelve\n13\n14\n15\n16" } },
        { text = "Read." }"#;
    let Some(place) = Place::new(&script(&[("read", steps)])) else {
        return;
    };
    let pane = place.chat(&[]);
    pane.say("read");
    let text = pane.idle(1);
    assert!(
        text.contains("✓ Read a.txt  [1]") && !text.contains("number twelve"),
        "{text}"
    );
    pane.say("/expand 1");
    pane.sees("number twelve");
    pane.say("/expand 7");
    pane.sees("Give a number that stands in brackets");
    pane.say("/full on");
    pane.say("read again");
    pane.until("it is not folded", |text| {
        text.matches("number twelve").count() == 2
    });
}

#[test]
fn untrusted_words_never_command_the_terminal() {
    let hostile = r#"{ text = "a\u001B[2J\u001B]0;owned\u0007\u009B31mred\u202Eback" }, { title = "\u001B[H" },
        { tool = { id = "t", title = "x\u001B[1A\u001B[2Ky", kind = "read" } }, { finish = "t" }"#;
    let Some(place) = Place::new(&format!(
        "commands = [{{ name = \"bad\\u001B[31m\", description = \"\\u001B[2J\" }}]\n{}",
        script(&[("hostile", hostile)])
    )) else {
        return;
    };
    let pane = place.chat(&["--color", "never"]);
    pane.say("hostile");
    let text = pane.idle(1);
    assert!(
        text.contains("a\u{fffd}[2J\u{fffd}]0;owned\u{fffd}\u{fffd}31mred\u{fffd}back"),
        "{text}"
    );
    assert!(text.contains("x\u{fffd}[1A\u{fffd}[2Ky"), "{text}");
    pane.write("/ba");
    pane.press(&["Tab"]);
    pane.sees("❯ /bad\u{fffd}[31m");
    assert!(!pane.styled().contains('\u{1b}'), "{:?}", pane.styled());
}

#[test]
fn colours_are_for_those_who_want_them() {
    let Some(place) = Place::new(&script(&[])) else {
        return;
    };
    let pane = place.pane(&[], &[("NO_COLOR", "1")]);
    pane.sees("── scripted-agent ");
    pane.say("hello");
    pane.idle(1);
    assert!(!pane.styled().contains('\u{1b}'), "{:?}", pane.styled());
    let pane = place.chat(&[]);
    assert!(pane.styled().contains('\u{1b}'));
}

#[test]
fn help_fits_a_narrow_terminal() {
    let Some(place) = Place::new(&script(&[])) else {
        return;
    };
    let pane = place.chat(&[]);
    pane.resize(48, 60);
    pane.say("/help");
    let text = pane.sees("/expand N shows it");
    for line in ["show something folded whole; without a", "number, the newest"] {
        assert!(
            text.lines().any(|l| l.trim() == line),
            "no word is broken: {text}"
        );
    }
}

#[test]
fn a_dumb_terminal_is_printed_on_and_read_by_lines() {
    let Some(place) = Place::new(&script(&[PERMISSION])) else {
        return;
    };
    let pane = place.pane(&[], &[("TERM", "dumb")]);
    pane.write("permission");
    pane.press(&["Enter"]);
    pane.sees("1 Allow once (y)");
    pane.write("y");
    pane.press(&["Enter"]);
    pane.sees("Removed.");
    pane.press(&["C-d"]);
    let (code, text) = pane.ends();
    assert_eq!(code, 0, "{text}");
}

#[test]
fn another_width_lays_the_lower_part_out_anew() {
    let Some((_place, pane)) = talk(&[(
        "long",
        "{ text = \"one two three four five six seven eight nine ten eleven twelve\" }",
    )]) else {
        return;
    };
    pane.write("a draft that is long enough to need a second line on a narrow screen");
    pane.sees("narrow screen");
    pane.resize(40, 20);
    pane.until("one rule and one draft", |_| {
        let screen = pane.screen();
        let rules = screen
            .lines()
            .filter(|line| line.starts_with("── scripted-agent"));
        rules.count() == 1
            && screen.contains("❯ a draft that is long")
            && screen.matches("narrow").count() == 1
    });
    pane.press(&["C-u"]);
    pane.write("long");
    pane.press(&["Enter"]);
    pane.until("the reply in the new width", |_| {
        pane.screen()
            .contains("one two three four five six seven eight\nnine ten")
    });
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let out = Command::new(env!("CARGO_BIN_EXE_tapline"))
        .args(["chat", "--", "true"])
        .stdin(Stdio::null())
        .output()
        .expect("tapline runs");
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("`tapline exec`"), "{said}");
}

#[test]
fn an_agent_that_cannot_be_started_ends_the_chat_with_its_reason() {
    let Some(place) = Place::new(&script(&[])) else {
        return;
    };
    let words = ["chat", "--", "/nonexistent/agent"].map(str::to_owned);
    let (code, text) = place.terminal(&words, &[]).ends();
    assert_eq!(code, 76, "{text}");
    assert!(text.contains("/nonexistent/agent"), "{text}");
    let words = ["chat", "--", "sh", "-c", "echo no licence >&2; exit 4"].map(str::to_owned);
    let (code, text) = place.terminal(&words, &[]).ends();
    assert_eq!(code, 76, "{text}");
    assert!(text.contains("no licence"), "{text}");
}
