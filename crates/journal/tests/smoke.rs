use std::sync::Arc;
use tapline_journal::*;
use tapline_timeline::*;

#[test]
fn basic() {
    let dir = tempfile::tempdir().unwrap();
    let journal = SqliteJournal::open(&Home::at(dir.path())).unwrap();
    let mut w = journal.writer("c1", WriterOptions::default()).unwrap();
    let id = SessionId::from("s1");
    let owner = Owner {
        pid: 1,
        host: "h".into(),
        started: Time::At(1),
    };
    w.begin(&Begin {
        session: id.clone(),
        owner,
        mode: Mode::Hosted,
        origin: None,
    })
    .unwrap();
    let row: Row = serde_json::from_value(serde_json::json!({"id":"s1/m:1","seq":1,"kind":"assistant","session":"s1","revision":1,"frames":[1,1],"state":"open","text":"hello "})).unwrap();
    let row = Arc::new(row);
    w.input(1, None, b"x").unwrap();
    assert_eq!(w.apply(&Change::Put(&row)).unwrap(), 1);
    w.seal().unwrap();
    w.apply(&Change::Append(Append {
        id: &row.id,
        seq: 1,
        member: Grows::Text,
        offset: 6,
        text: "world",
        revision: 2,
        frame: 2,
    }))
    .unwrap();
    w.flush().unwrap();
    assert_eq!(w.saved(&id), 2);
    let f = journal
        .follow(
            &id,
            1,
            Follow {
                limit: 10,
                appends: true,
            },
        )
        .unwrap();
    println!("{f:?}");
    let f = journal
        .follow(
            &id,
            0,
            Follow {
                limit: 10,
                appends: false,
            },
        )
        .unwrap();
    println!("{f:?}");
    w.apply(&Change::Close(Close {
        id: &row.id,
        seq: 1,
        state: TextState::Ended,
        superseded: false,
        ended_at: None,
        cut_bytes: None,
        revision: 3,
        frame: 3,
    }))
    .unwrap();
    w.flush().unwrap();
    let hits = journal
        .search(&SearchQuery {
            words: "world".into(),
            ..Default::default()
        })
        .unwrap();
    println!("{hits:?}");
    println!("{:?}", journal.sessions(&SessionQuery::default()).unwrap());
    println!("{:?}", journal.read_tape("c1", 0, 10).unwrap());
    println!("{:?}", journal.verify(None).unwrap());
    drop(w);
    println!("{:?}", journal.sessions(&SessionQuery::default()).unwrap());
}
