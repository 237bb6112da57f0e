//! What a typed line is: a prompt, or one of the chat's own commands.
//!
//! A line that begins with a slash and one of our names is ours; any other goes to the agent as it stands, since agents have
//! commands of their own. `//name` sends `/name` to the agent, also where it is one of ours.

/// One of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Stop,
    Steer(String),
    Queue,
    Edit(String, String),
    Withdraw(String),
    Tasks,
    Kill(String),
    Mode(String),
    Model(String),
    Option(String, String),
    Expand(String),
    Full(String),
    Inbox,
    Cancel,
    Quit,
}

/// A line, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    Command(Command),
    Prompt { text: String, steer: bool },
}

/// A name, what may follow it, and what it does.
pub(super) const OURS: &[(&str, &str, &str)] = &[
    ("help", "", "what can be typed here"),
    ("stop", "", "stop what runs (Ctrl-C)"),
    (
        "steer",
        "TEXT",
        "stop what runs, and send this next (also: TEXT!!)",
    ),
    ("queue", "", "prompts that wait"),
    ("edit", "N [TEXT]", "change a prompt that waits"),
    ("withdraw", "N", "take back a prompt that waits"),
    ("tasks", "", "what runs in the background"),
    ("kill", "N", "stop something in the background"),
    ("mode", "[MODE]", "show or choose the agent's mode"),
    ("model", "[MODEL]", "show or choose the agent's model"),
    ("option", "[OPTION VALUE]", "show or set the agent's options"),
    (
        "expand",
        "[N]",
        "show something folded whole; without a number, the newest",
    ),
    ("full", "[on|off]", "the same; on: fold nothing from now on"),
    ("inbox", "", "what waits for me, over all sessions"),
    ("cancel", "", "put away what is asked, unanswered"),
    ("quit", "", "end the session and leave (Ctrl-D)"),
];

/// Reads a line.
pub(super) fn read(line: &str) -> Typed {
    let line = line.trim();
    if let Some(agents) = line.strip_prefix("//") {
        let text = format!("/{agents}");
        return Typed::Prompt { text, steer: false };
    }
    if let Some(command) = line.strip_prefix('/').and_then(ours) {
        return Typed::Command(command);
    }
    match line.strip_suffix("!!").map(str::trim_end) {
        Some(text) if !text.is_empty() && !text.ends_with('!') => Typed::Prompt {
            text: text.to_owned(),
            steer: true,
        },
        _ => Typed::Prompt {
            text: line.to_owned(),
            steer: false,
        },
    }
}

fn ours(line: &str) -> Option<Command> {
    let (name, rest) = first_word(line);
    let rest = rest.to_owned();
    let two = || {
        let (first, rest) = first_word(&rest);
        (first.to_owned(), rest.to_owned())
    };
    Some(match name {
        "help" | "?" => Command::Help,
        "stop" => Command::Stop,
        "steer" => Command::Steer(rest),
        "queue" => Command::Queue,
        "edit" => {
            let (number, text) = two();
            Command::Edit(number, text)
        }
        "withdraw" => Command::Withdraw(rest),
        "tasks" => Command::Tasks,
        "kill" => Command::Kill(rest),
        "mode" => Command::Mode(rest),
        "model" => Command::Model(rest),
        "option" => {
            let (option, value) = two();
            Command::Option(option, value)
        }
        "expand" => Command::Expand(rest),
        "full" => Command::Full(rest),
        "inbox" => Command::Inbox,
        "cancel" => Command::Cancel,
        "quit" | "exit" => Command::Quit,
        _ => return None,
    })
}

fn first_word(text: &str) -> (&str, &str) {
    text.split_once(char::is_whitespace)
        .map_or((text, ""), |(word, rest)| (word, rest.trim()))
}

/// Which of a numbered list is meant.
///
/// # Errors
/// A sentence, where it is none.
pub(super) fn number(said: &str, count: usize, what: &str) -> Result<usize, String> {
    let most = match count {
        0 => return Err(format!("There is no {what}.")),
        1 if said.is_empty() => return Ok(0),
        1 => "1".to_owned(),
        n => format!("1 to {n}"),
    };
    said.parse::<usize>()
        .ok()
        .and_then(|n| n.checked_sub(1))
        .filter(|n| *n < count)
        .ok_or_else(|| format!("Give the number of the {what}: {most}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str, steer: bool) -> Typed {
        Typed::Prompt {
            text: text.to_owned(),
            steer,
        }
    }

    #[test]
    fn ours_are_read_and_others_go_to_the_agent_as_they_stand() {
        let command = |line| match read(line) {
            Typed::Command(command) => command,
            prompt => panic!("{line} is no command: {prompt:?}"),
        };
        assert_eq!(command(" /help "), Command::Help);
        assert_eq!(
            command("/steer  the other way"),
            Command::Steer("the other way".into())
        );
        assert_eq!(
            command("/edit 2 new words"),
            Command::Edit("2".into(), "new words".into())
        );
        assert_eq!(
            command("/option model large"),
            Command::Option("model".into(), "large".into())
        );
        assert_eq!(command("/model"), Command::Model(String::new()));
        assert_eq!(command("/exit"), Command::Quit);
        assert_eq!(read("/review all"), prompt("/review all", false));
        assert_eq!(read("/helper"), prompt("/helper", false));
        assert_eq!(read("//help me"), prompt("/help me", false));
    }

    #[test]
    fn all_that_help_names_is_read() {
        for (name, ..) in OURS {
            assert!(matches!(read(&format!("/{name}")), Typed::Command(_)), "/{name}");
        }
    }

    #[test]
    fn a_prompt_that_ends_with_two_marks_steers() {
        assert_eq!(read("the other file!!"), prompt("the other file", true));
        assert_eq!(read("wow!!!"), prompt("wow!!!", false));
        assert_eq!(read("!!"), prompt("!!", false));
        assert_eq!(read("stop it!"), prompt("stop it!", false));
    }

    #[test]
    fn a_number_is_checked_and_one_thing_needs_none() {
        assert_eq!(number("2", 3, "prompt"), Ok(1));
        assert_eq!(number("", 1, "prompt"), Ok(0));
        assert_eq!(number("1", 0, "prompt"), Err("There is no prompt.".into()));
        for said in ["0", "4", "x", ""] {
            let error = number(said, 3, "prompt").expect_err(said);
            assert!(error.contains("1 to 3"), "{error}");
        }
    }
}
