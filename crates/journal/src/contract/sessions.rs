//! Sessions, intents, search, waiting, forgetting.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tapline_timeline::{Append, Change, Close, Grows, Json, Kind, Row, RowId, Session, SessionId, TextState};

use super::*;
use crate::*;

pub(super) fn sessions_are_listed(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    for index in 0..25 {
        let id = format!("s{index:02}");
        writer.begin(&begin(&id, Mode::Hosted)).unwrap();
        let mut object = Session::new(SessionId::from(id.as_str()));
        object.parent = (index % 5 == 4).then(|| SessionId::from("s00"));
        writer.apply(&Change::Session(&object)).unwrap();
        writer.flush().unwrap();
        if index % 2 == 0 {
            writer.end(&object.id).unwrap();
        }
    }
    writer
        .apply(&Change::Put(&row(
            "s03",
            1,
            json!({"kind": "request", "ask": "question", "state": "pending"}),
        )))
        .unwrap();
    writer.flush().unwrap();
    let list = |query: &SessionQuery| journal.sessions(query).unwrap();
    let mut seen = Vec::new();
    let mut query = SessionQuery {
        limit: 4,
        ..SessionQuery::default()
    };
    loop {
        let page = list(&query);
        let Some(last) = page.last() else { break };
        query.after = Some(last.place);
        seen.extend(page);
    }
    assert_eq!(seen.len(), 25);
    assert!(
        seen.is_sorted_by(|a, b| a.place > b.place),
        "newest change first, none twice"
    );
    let count = |status| {
        list(&SessionQuery {
            status: Some(status),
            ..SessionQuery::default()
        })
        .len()
    };
    assert_eq!(
        [Status::Live, Status::Waiting, Status::Ended, Status::Cut].map(count),
        [11, 1, 13, 0]
    );
    let children = list(&SessionQuery {
        parent: Some(SessionId::from("s00")),
        ..SessionQuery::default()
    });
    assert_eq!(children.len(), 5);
}

pub(super) fn sessions_are_found(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Wrapped)).unwrap();
    let session = SessionId::from("s");
    writer.provider(&session, "grok", "first").unwrap();
    let mut object = Session::new(session.clone());
    object.agent = Some(tapline_timeline::Agent {
        name: "grok".to_owned(),
        version: None,
    });
    object.provider_session = Some("third".to_owned());
    object.provider_sessions = vec!["second".to_owned(), "third".to_owned()];
    writer.apply(&Change::Session(&object)).unwrap();
    writer.flush().unwrap();
    for provider in ["first", "second", "third"] {
        assert_eq!(
            journal.session_of_provider("grok", provider).unwrap().as_ref(),
            Some(&session)
        );
    }
    assert_eq!(journal.session_of_provider("other", "first").unwrap(), None);
    assert_eq!(journal.session(&SessionId::from("none")).unwrap(), None);
}

pub(super) fn imports_are_told_apart(subject: &dyn Subject) {
    let journal = subject.open();
    let mut first = begin("s", Mode::Imported);
    first.origin = Some("content".to_owned());
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&first).unwrap();
    assert_eq!(
        journal.session_of_origin("content").unwrap(),
        Some((SessionId::from("s"), false))
    );
    writer.end(&SessionId::from("s")).unwrap();
    let again = writer
        .begin(&Begin {
            session: SessionId::from("t"),
            ..first
        })
        .unwrap_err();
    assert!(
        matches!(again, Error::AlreadyHere { complete: true, .. }),
        "{again}"
    );
    assert_eq!(journal.session_of_origin("other").unwrap(), None);
}

pub(super) fn new_intent(session: &str, words: &str) -> NewIntent {
    NewIntent {
        session: SessionId::from(session),
        kind: "prompt".to_owned(),
        payload: Json::string(words),
        by: "page".to_owned(),
    }
}

pub(super) fn intents(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("wrapped", Mode::Wrapped)).unwrap();
    let generation = writer.begin(&begin("hosted", Mode::Hosted)).unwrap();
    let refused = journal.post_intent(&new_intent("wrapped", "x")).unwrap_err();
    assert!(
        matches!(&refused, Error::IntentRefused { reason } if reason.contains("editor")),
        "{refused}"
    );
    assert!(matches!(
        journal.post_intent(&new_intent("none", "x")),
        Err(Error::NoSession { .. })
    ));
    let posted: Vec<Intent> = ["one", "two", "three"]
        .iter()
        .map(|words| journal.post_intent(&new_intent("hosted", words)).unwrap())
        .collect();
    assert!(posted.is_sorted_by(|a, b| a.id < b.id));
    let edited = journal
        .edit_intent(posted[0].id, &Json::string("better"))
        .unwrap();
    assert_eq!(
        (edited.payload.as_str(), edited.state),
        ("\"better\"", IntentState::Open)
    );
    journal.withdraw_intent(posted[1].id).unwrap();
    let claimed = journal.claim_intent(posted[0].id, &generation).unwrap();
    assert_eq!(
        (claimed.state, claimed.generation),
        (IntentState::Claimed, Some(1))
    );
    for id in [posted[0].id, posted[1].id] {
        assert!(matches!(
            journal.edit_intent(id, &Json::string("x")),
            Err(Error::IntentTaken { .. })
        ));
        assert!(matches!(
            journal.withdraw_intent(id),
            Err(Error::IntentTaken { .. })
        ));
        assert!(matches!(
            journal.claim_intent(id, &generation),
            Err(Error::IntentTaken { .. })
        ));
    }
    assert!(matches!(
        journal.finish_intent(posted[2].id, &generation, &Json::string("x"), None),
        Err(Error::IntentTaken { .. })
    ));
    let done = journal
        .finish_intent(
            posted[0].id,
            &generation,
            &Json::string("sent"),
            Some(&Json::string("masked")),
        )
        .unwrap();
    assert_eq!(done.payload.as_str(), "\"masked\"");
    assert_eq!(
        (done.state, done.outcome.unwrap().as_str()),
        (IntentState::Done, "\"sent\"")
    );
    let old = Generation {
        number: 0,
        ..generation
    };
    assert!(matches!(
        journal.claim_intent(posted[2].id, &old),
        Err(Error::Fenced { .. })
    ));
    assert!(matches!(
        journal.claim_intent(IntentId(99), &old),
        Err(Error::NoIntent { .. })
    ));
    let ids = |query: IntentQuery| {
        journal
            .intents(&query)
            .unwrap()
            .iter()
            .map(|intent| intent.id)
            .collect::<Vec<_>>()
    };
    let session = Some(SessionId::from("hosted"));
    assert_eq!(
        ids(IntentQuery {
            session,
            state: Some(IntentState::Open),
            ..IntentQuery::default()
        }),
        [posted[2].id]
    );
    assert_eq!(
        ids(IntentQuery {
            after: Some(posted[0].id),
            limit: 1,
            ..IntentQuery::default()
        }),
        [posted[1].id]
    );
}

pub(super) fn an_intent_is_claimed_once(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    let generation = writer.begin(&begin("s", Mode::Hosted)).unwrap();
    let others: Vec<Box<dyn Journal>> = (0..4).map(|_| subject.open()).collect();
    for _ in 0..10 {
        let intent = journal.post_intent(&new_intent("s", "answer")).unwrap().id;
        let winners: usize = std::thread::scope(|scope| {
            let tries: Vec<_> = others
                .iter()
                .map(|other| scope.spawn(|| usize::from(other.claim_intent(intent, &generation).is_ok())))
                .collect();
            tries.into_iter().map(|one| one.join().unwrap()).sum()
        });
        assert_eq!(winners, 1);
    }
}

pub(super) fn search(subject: &dyn Subject) {
    let journal = subject.open();
    let mut writer = journal.writer("c", WriterOptions::default()).unwrap();
    for session in ["a", "b"] {
        writer.begin(&begin(session, Mode::Wrapped)).unwrap();
        let rows = [
            json!({"kind": "user", "text": "Please fix the Größe of the parser"}),
            json!({"kind": "assistant", "state": "open", "text": "unfinished parser words"}),
            json!({"kind": "tool", "call": "c", "title": "Read parser.rs", "state": "completed", "authorization": "not_asked",
                   "output": "fn parse_all() {}", "input": {"path": "src/parser.rs"}}),
            json!({"kind": "session_message", "text": "the parser again"}),
        ];
        for (index, members) in rows.into_iter().enumerate() {
            writer
                .apply(&Change::Put(&row(session, index as u64 + 1, members)))
                .unwrap();
        }
    }
    writer.flush().unwrap();
    let find = |query: SearchQuery| {
        let hits = journal.search(&query).unwrap();
        hits.iter()
            .map(|hit| (hit.session.to_string(), hit.seq))
            .collect::<Vec<_>>()
    };
    let words = |words: &str| SearchQuery {
        words: words.to_owned(),
        ..SearchQuery::default()
    };
    let hit = |session: &str, seq| (session.to_owned(), seq);
    let all = [
        hit("b", 4),
        hit("b", 3),
        hit("b", 1),
        hit("a", 4),
        hit("a", 3),
        hit("a", 1),
    ];
    assert_eq!(find(words("PARSER")), all, "open text is not found yet");
    assert_eq!(find(words("grosse")), [], "ß is no s");
    assert_eq!(
        find(words("große parser")),
        [hit("b", 1), hit("a", 1)],
        "all words, accents aside"
    );
    assert_eq!(find(words("\"parser again\"")), [hit("b", 4), hit("a", 4)]);
    assert_eq!(find(words("pars*")).len(), 6);
    assert_eq!(find(words("parse_all")), [hit("b", 3), hit("a", 3)]);
    for odd in ["", "\"", "AND", "(", "kind:tool", "a OR", "-parser^", "\0"] {
        let _ = find(words(odd));
    }
    let session = Some(SessionId::from("a"));
    assert_eq!(
        find(SearchQuery {
            session,
            ..words("parser")
        }),
        all[3..]
    );
    assert_eq!(
        find(SearchQuery {
            kinds: vec![Kind::Tool, Kind::SessionMessage],
            ..words("parser")
        })
        .len(),
        4
    );
    let first = journal
        .search(&SearchQuery {
            limit: 2,
            ..words("parser")
        })
        .unwrap();
    assert_eq!(
        find(SearchQuery {
            after: Some(first[1].place),
            ..words("parser")
        }),
        all[2..]
    );
    let snippet = &first[0].snippet;
    assert_eq!(
        snippet
            .matches
            .iter()
            .map(|(a, b)| &snippet.text[*a..*b])
            .collect::<Vec<_>>(),
        ["parser"]
    );
    assert_eq!(
        (first[0].kind, first[0].row.as_str()),
        (Kind::SessionMessage, "b/r:4")
    );
    // A row that changes is found by its new words only, one that closes by all of them.
    let mut changed = Row::clone(&row(
        "a",
        4,
        json!({"kind": "session_message", "text": "other words"}),
    ));
    changed.revision = 2;
    writer.apply(&Change::Put(&Arc::new(changed))).unwrap();
    let open = RowId::from("a/r:2");
    let close = Close {
        id: &open,
        seq: 2,
        state: TextState::Ended,
        superseded: false,
        ended_at: None,
        cut_bytes: None,
        revision: 2,
        frame: 9,
    };
    writer.apply(&Change::Close(close)).unwrap();
    writer.flush().unwrap();
    let session = Some(SessionId::from("a"));
    assert_eq!(
        find(SearchQuery {
            session,
            ..words("parser")
        }),
        [hit("a", 3), hit("a", 2), hit("a", 1)]
    );
}

pub(super) fn waiting(subject: &dyn Subject) {
    let (one, two) = (subject.open(), subject.open());
    let session = SessionId::from("s");
    let mut writer = one.writer("c", WriterOptions::default()).unwrap();
    writer.begin(&begin("s", Mode::Hosted)).unwrap();
    let short = Duration::from_millis(1);
    let long = Duration::from_secs(60);
    assert!(!two.wait(&Watch::Session(session.clone(), 0), short).unwrap());
    assert!(!two.wait(&Watch::Intent(None, IntentId(0)), short).unwrap());
    assert!(matches!(
        two.wait(&Watch::Session(SessionId::from("none"), 0), short),
        Err(Error::NoSession { .. })
    ));
    let mark = two.mark();
    std::thread::scope(|scope| {
        let rows = scope.spawn(|| two.wait(&Watch::Session(session.clone(), 0), long).unwrap());
        let any = scope.spawn(|| two.wait(&Watch::Any(mark), long).unwrap());
        let near = scope.spawn(|| one.wait(&Watch::Session(session.clone(), 0), long).unwrap());
        let text = row("s", 1, json!({"kind": "assistant", "state": "open", "text": "a"}));
        writer.apply(&Change::Put(&text)).unwrap();
        writer.flush().unwrap();
        assert!(rows.join().unwrap() && any.join().unwrap() && near.join().unwrap());
        let grown = scope.spawn(|| two.wait(&Watch::Session(session.clone(), 1), long).unwrap());
        let intent = scope.spawn(|| {
            one.wait(&Watch::Intent(Some(session.clone()), IntentId(0)), long)
                .unwrap()
        });
        let append = Append {
            id: &text.id,
            seq: 1,
            member: Grows::Text,
            offset: 1,
            text: "b",
            revision: 2,
            frame: 2,
        };
        writer.apply(&Change::Append(append)).unwrap();
        writer.seal().unwrap();
        two.post_intent(&new_intent("s", "x")).unwrap();
        assert!(grown.join().unwrap() && intent.join().unwrap());
    });
}

pub(super) fn forgetting(subject: &dyn Subject) {
    let journal = subject.open();
    let mut shared = journal.writer("shared", WriterOptions::default()).unwrap();
    for session in ["gone", "stays"] {
        shared.begin(&begin(session, Mode::Hosted)).unwrap();
    }
    let mut own = journal.writer("own", WriterOptions::default()).unwrap();
    let mut hashes = Vec::new();
    for (session, bytes) in [("gone", "mine"), ("gone", "both"), ("stays", "both")] {
        let hash = shared.blob(bytes.as_bytes()).unwrap();
        let part = json!([{"type": "text", "text": "secret"}, {"type": "file", "blob": hash}]);
        let seq = 1 + hashes.len() as u64;
        shared
            .apply(&Change::Put(&row(
                session,
                seq,
                json!({"kind": "user", "parts": part}),
            )))
            .unwrap();
        hashes.push(hash);
    }
    shared.input(1, None, b"frame").unwrap();
    let gone = SessionId::from("gone");
    shared.provider(&gone, "agent", "p").unwrap();
    shared.flush().unwrap();
    journal.post_intent(&new_intent("gone", "x")).unwrap();
    assert!(
        matches!(journal.forget(&gone), Err(Error::Held { .. })),
        "a session that is written stays"
    );
    shared.end(&gone).unwrap();
    own.begin(&begin("gone", Mode::Hosted)).unwrap();
    own.input(1, None, b"frame").unwrap();
    own.end(&gone).unwrap();
    drop(own);
    let forgotten = journal.forget(&gone).unwrap();
    assert_eq!((forgotten.rows, forgotten.blobs, forgotten.tapes), (2, 1, 1));
    assert_eq!(forgotten.shared_tapes, ["shared"]);
    assert_eq!(journal.session(&gone).unwrap(), None);
    assert!(journal.rows(&gone, Window::Last(9)).unwrap().is_empty());
    assert!(
        journal.read_tape("own", 0, 9).unwrap().is_empty()
            && journal.read_tape("shared", 0, 9).unwrap().len() == 1
    );
    assert_eq!(
        (
            journal.blob(&hashes[0]).unwrap(),
            journal.blob(&hashes[1]).unwrap()
        ),
        (None, Some(b"both".to_vec()))
    );
    assert_eq!(journal.session_of_provider("agent", "p").unwrap(), None);
    assert!(journal.intents(&IntentQuery::default()).unwrap().is_empty());
    let hits = journal
        .search(&SearchQuery {
            words: "secret".to_owned(),
            ..SearchQuery::default()
        })
        .unwrap();
    assert!(hits.iter().all(|hit| hit.session.as_str() == "stays") && hits.len() == 1);
    assert!(matches!(journal.forget(&gone), Err(Error::NoSession { .. })));
    assert!(journal.verify(None).unwrap().is_empty());
    // The same id again is a new session.
    let mut again = journal.writer("again", WriterOptions::default()).unwrap();
    assert_eq!(again.begin(&begin("gone", Mode::Hosted)).unwrap().cursor, 0);
}
