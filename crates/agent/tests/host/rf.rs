//! RF and RG: the words of a failure, and agents that nobody is signed in to.

use serde_json::json;
use tapline_agent::host::StartError;
use tapline_timeline::{Body, End};

use crate::rig::{Rig, ends};

/// What the one error row of a turn says that an agent of this name failed with this error.
fn told(agent: &str, error: &str) -> String {
    let scenario = format!(
        "[agent]\nname = \"{agent}\"\ntitle = \"{agent}\"\nversion = \"1\"\n[[turn]]\nsteps = [{{ error = {error} }}]"
    );
    let rig = Rig::new();
    let chat = rig.start(&scenario);
    let outcome = chat.outcome(chat.prompt("go"));
    assert_eq!(outcome["delivery"], "accepted", "{error}");
    chat.until_ended(&[End::Failed]);
    let rows = chat.rows();
    let told: Vec<String> = rows
        .iter()
        .filter_map(|row| match &row.body {
            Body::Status(status) => Some(status.text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 1, "{error}: {}", chat.told());
    chat.close();
    told.into_iter().next().unwrap_or_default()
}

/// The words of a failed turn are the agent's: its message, else what its data says; numbers and ids are no words, and
/// then a sentence of ours stands there.
#[test]
fn rf_the_words_of_a_failure_are_the_agents() {
    let cases = [
        (
            r#"{ message = "The model is overloaded." }"#,
            "The model is overloaded.",
        ),
        (
            r#"{ message = "Internal error", data = { details = "Rate limit reached." } }"#,
            "Rate limit reached.",
        ),
        (
            r#"{ message = "Internal error", data = "No credits are left." }"#,
            "No credits are left.",
        ),
        (
            r#"{ message = "Internal error", data = { message = "No such model." } }"#,
            "No such model.",
        ),
        (
            r#"{ message = "Internal error: No such model." }"#,
            "No such model.",
        ),
        (
            r#"{ message = "Internal error", data = { requestId = "7f3a", status = 500 } }"#,
            "probe ended this turn with an error.",
        ),
    ];
    for (error, words) in cases {
        assert_eq!(told("probe", error), words, "{error}");
    }
}

/// Where nobody is signed in and the agent has no words for it, our sentence says so; its own words come first.
#[test]
fn rf_a_failure_for_want_of_signing_in_is_told_as_that() {
    let bare = r#"{ code = -32000, message = "Internal error" }"#;
    assert_eq!(told("probe", bare), "probe is not signed in.");
    let worded =
        r#"{ code = -32000, message = "Internal error", data = { details = "The token has expired." } }"#;
    assert_eq!(told("probe", worded), "The token has expired.");
}

/// A start that fails for want of signing in is told as that: by the protocol's code from any agent, and by its own
/// words from an agent that is known to say it so (OMP by their beginning); the same words of another are no sign-in.
#[test]
fn rg_a_start_that_wants_a_sign_in_is_told_by_code_and_by_the_agents_words() {
    let no_key = r#"{ code = -32603, message = "Internal error", data = { details = "No API key found for provider x" } }"#;
    let cases = [
        (
            "probe",
            r#"{ code = -32000, message = "Authentication required" }"#,
            true,
        ),
        ("omp", no_key, true),
        ("probe", no_key, false),
        (
            "gemini",
            r#"{ code = -32603, message = "Gemini API key is missing or not configured." }"#,
            true,
        ),
    ];
    for (agent, error, wants) in cases {
        let scenario = format!(
            "on_new = [{{ error = {error} }}]\n[agent]\nname = \"{agent}\"\ntitle = \"{agent}\"\nversion = \"1\"\n"
        );
        let rig = Rig::new();
        let failed = rig.begin(rig.options(&scenario)).err().expect("it is refused");
        let is = matches!(&failed, StartError::SignIn { words: Some(_), .. });
        assert_eq!(is, wants, "{agent} {error}: {failed}");
    }
}

/// After a prompt was accepted the same error fails its turn, in the agent's words; the session stays and takes more.
#[test]
fn rg_a_turn_that_wants_a_sign_in_fails_and_the_session_stays() {
    let words = "No API key found for provider x";
    let error = json!({ "code": -32603, "message": "Internal error", "data": { "details": words } });
    let scenario = format!(
        "[agent]\nname = \"omp\"\ntitle = \"OMP\"\nversion = \"1\"\n[[turn]]\nwhen = \"go\"\nsteps = [{{ error = {{ code = {}, message = {}, data = {{ details = {} }} }} }}]\n\
         [[turn]]\nwhen = \"hello\"\nsteps = [{{ text = \"Hi.\" }}]",
        error["code"], error["message"], error["data"]["details"]
    );
    let rig = Rig::new();
    let chat = rig.start(&scenario);
    chat.ask("go");
    chat.ask("hello");
    assert_eq!(ends(&chat.rows()), [Some(End::Failed), Some(End::Completed)]);
    assert!(chat.told().contains(words));
    chat.close();
}
