//! What is of the session as a whole: measures, facts, compactions, messages between sessions, failed loads.

use tapline_timeline::*;

use crate::bench::*;

#[test]
fn measures_nothing_is_no_measurement_and_a_window_of_nothing_is_unknown() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.dropped(context(0, 0), "no-measurement");
    b.apply(context(42, 100));
    b.apply(Event::Context {
        turn: None,
        context: Context {
            used: Some(50),
            size: None,
        },
        replay: false,
    });
    b.apply(Event::Context {
        turn: None,
        context: Context {
            used: Some(0),
            size: None,
        },
        replay: false,
    });
    b.shows(&["1 turn prompt open 50/100", "1 user accepted \"Go\""]);
    b.apply(Event::Context {
        turn: None,
        context: Context {
            used: Some(60),
            size: Some(0),
        },
        replay: false,
    });
    b.shows(&["1 turn prompt open 60/?", "1 user accepted \"Go\""]);
}

#[test]
fn measures_of_a_replay_go_to_the_session_and_to_no_row() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.ends("1");
    b.apply(Event::Context {
        turn: None,
        context: Context {
            used: Some(42),
            size: Some(100),
        },
        replay: true,
    });
    b.shows(&["1 turn prompt completed", "1 user accepted \"Go\""]);
    assert_eq!(
        b.host.timeline.session().and_then(|s| s.context),
        Some(Context {
            used: Some(42),
            size: Some(100)
        })
    );
}

#[test]
fn compaction_is_one_row_that_grows_and_settles() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let news = |state, piece: Option<&str>| {
        Event::Compaction(CompactionNews {
            compaction: "k1".into(),
            turn: None,
            state,
            summary: None,
            piece: piece.map(|text| Part::Text {
                text: text.to_owned(),
            }),
            detail: None,
        })
    };
    b.apply(news(Some(CompactionState::Running), None));
    b.apply(news(None, Some("We read ")));
    b.apply(news(None, Some("a file")));
    b.apply(news(Some(CompactionState::Completed), None));
    b.apply(news(Some(CompactionState::Running), None));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 compaction completed \"We read a file\"",
    ]);
}

#[test]
fn session_messages_are_one_row_each() {
    let mut b = Bench::new();
    let news = |content: Option<&str>, piece: Option<&str>| {
        Event::SessionMessage(SessionMessageNews {
            message: "g1",
            from: Some("parent".into()),
            to: Some("child".into()),
            content: content.map(Content::text),
            piece: piece.map(|text| Part::Text {
                text: text.to_owned(),
            }),
        })
    };
    b.apply(news(None, Some("Look ")));
    b.apply(news(None, Some("here")));
    b.shows(&["- session_message parent>child \"Look here\""]);
    b.apply(news(Some("Look here!"), None));
    b.shows(&["- session_message parent>child \"Look here!\""]);
}

#[test]
fn history_a_failed_load_leaves_one_warning_that_says_how_it_went_on() {
    let mut b = Bench::new();
    b.apply(Event::LoadFailed(failure("No such session")));
    b.apply(Event::CarriedOn {
        provider_session: "fresh",
    });
    b.prompt("1", "Go");
    b.shows(&[
        "- status warning \"No such session\"",
        "1 turn prompt open",
        "1 user accepted \"Go\"",
    ]);
    let Body::Status(status) = &b.the(Kind::Status).body else {
        panic!("a status")
    };
    let more = status
        .detail
        .as_ref()
        .and_then(|d| d.more.as_ref())
        .map(Json::as_str)
        .unwrap_or_default();
    assert!(more.contains("fresh"), "{more}");
}

#[test]
fn session_facts_keep_what_they_do_not_name() {
    let mut b = Bench::new();
    b.apply(Event::Session(SessionFacts {
        title: Some("A title".into()),
        cwd: Some("/p".into()),
        ..SessionFacts::default()
    }));
    assert_eq!(
        b.apply(Event::Session(SessionFacts::default())),
        ["session-unchanged"]
    );
    b.apply(Event::Session(SessionFacts {
        mode: Some("code".into()),
        ..SessionFacts::default()
    }));
    b.apply(Event::Session(SessionFacts {
        provider_session: Some("p1".into()),
        ..SessionFacts::default()
    }));
    b.apply(Event::Session(SessionFacts {
        provider_session: Some("p2".into()),
        ..SessionFacts::default()
    }));
    let session = b.assembler.session();
    assert_eq!(
        (session.title.as_deref(), session.cwd.as_deref()),
        (Some("A title"), Some("/p"))
    );
    assert_eq!(session.provider_session.as_deref(), Some("p2"));
    assert_eq!(session.provider_sessions, ["p1", "p2"]);
}
