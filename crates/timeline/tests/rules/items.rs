//! Items and the order in which they stand: group AI of the scenarios.

use tapline_timeline::*;

use crate::bench::*;

#[test]
fn ai_1_tools_and_texts_stand_in_the_order_they_came() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("First ");
    b.say("I look");
    b.apply(call("c1"));
    b.tool_is("c1", ToolStatus::Completed);
    b.say("Then ");
    b.apply(call("c2"));
    b.say("done");
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 assistant \"First I look\"",
        "1 tool c1 completed",
        "1 assistant \"Then \"",
        "1 tool c2 pending",
        "1 assistant open \"done\"",
    ]);
}

#[test]
fn ai_2_a_second_end_of_a_tool_changes_nothing() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Completed);
    let told = b.apply(update("c1", ToolStatus::Failed));
    assert_eq!(told, ["tool-unchanged"]);
    assert_eq!(b.tool("c1").state, ToolState::Completed);
}

/// Orca drops the whole update. Here a late one fills gaps and moves nothing.
#[test]
fn ai_3_news_after_the_end_only_fills_gaps() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let news = |input: &str, output: &str| ToolNews {
        call: "c1",
        input: Json::parse(input).ok(),
        output: Some(output.to_owned().into()),
        ..ToolNews::default()
    };
    b.apply(tool(ToolNews {
        output: Some("42".into()),
        status: Some(ToolStatus::Completed),
        call: "c1",
        ..ToolNews::default()
    }));
    b.apply(tool(ToolNews {
        status: Some(ToolStatus::Running),
        ..news("{\"a\":1}", "43")
    }));
    b.apply(tool(news("{\"a\":2}", "44")));
    let tool = b.tool("c1");
    assert_eq!(tool.state, ToolState::Completed);
    assert_eq!(tool.output.as_deref(), Some("42"));
    assert_eq!(
        tool.input.as_ref().map(Json::as_str),
        Some("{\"a\":1}"),
        "the gap is filled once"
    );
}

/// What the end of a process settled is only completed by what really happened, never lit again.
#[test]
fn ai_4_a_verdict_of_the_sweep_stands_against_a_late_running() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.exit(137);
    b.restart("2");
    assert_eq!(b.apply(update("c1", ToolStatus::Running)), ["tool-unchanged"]);
    assert_eq!(b.tool("c1").state, ToolState::Interrupted);
    b.tool_is("c1", ToolStatus::Failed);
    assert_eq!(b.tool("c1").state, ToolState::Failed, "the real news");
}

/// Orca reopens the item. Here a tool that ended in its own turn stays; in a later turn it is a new one.
#[test]
fn ai_5_only_an_announcement_in_a_later_turn_opens_a_call_again() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Completed);
    b.apply(call("c1"));
    assert_eq!(b.all(Kind::Tool).len(), 1);
    b.ends("1");
    b.prompt("2", "Again");
    b.tool_is("c1", ToolStatus::Running);
    assert_eq!(
        b.all(Kind::Tool).len(),
        1,
        "an update is news of the tool that ended"
    );
    b.apply(call("c1"));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 tool c1 completed",
        "2 turn prompt open",
        "2 user accepted \"Again\"",
        "2 tool c1 pending",
    ]);
    assert_eq!(b.all(Kind::Tool)[1].id.as_str(), "s/c:c1#2");
}

#[test]
fn ai_6_a_plan_is_replaced_in_place() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(plan(&[("Read", "in_progress"), ("Write", "pending")]));
    b.apply(call("c1"));
    b.apply(plan(&[("Read", "completed"), ("Write", "in_progress")]));
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 plan [completed] Read [in_progress] Write",
        "1 tool c1 pending",
    ]);
    b.ends("1");
    let plan = b.the(Kind::Plan);
    assert!(
        matches!(&plan.body, Body::Plan(p) if p.entries[1].status == "pending"),
        "nothing is in progress after the turn"
    );
}

/// Orca writes a thread row. Here a tool with no turn open is work that the agent began itself.
#[test]
fn ai_7_a_tool_without_a_turn_opens_one_of_the_agents_own() {
    let mut b = Bench::new();
    b.apply(call("c1"));
    b.shows(&["1 turn agent open", "1 tool c1 pending"]);
    b.prompt("1", "Go");
    b.shows(&[
        "1 turn agent unknown",
        "1 tool c1 unknown",
        "2 turn prompt open",
        "2 user accepted \"Go\"",
    ]);
}

#[test]
fn ai_8_a_stopped_turn_interrupts_its_tool_and_its_task_goes_on() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.tool_is("c1", ToolStatus::Running);
    b.apply(Event::Task(TaskNews {
        call: Some("c1".into()),
        ..task_news("w1")
    }));
    b.stop();
    b.apply(answer("1", End::Stopped));
    b.shows(&[
        "1 turn prompt stopped",
        "1 user accepted \"Go\"",
        "1 tool c1 interrupted",
        "1 task running \"Started background command \\\"w1\\\"\"",
    ]);
    b.prompt("2", "More");
    b.apply(task("w1", WorkState::Completed));
    let task = b.the(Kind::Task);
    assert_eq!(
        task.turn,
        b.all(Kind::Tool)[0].turn,
        "it stays in the turn that launched it"
    );
    assert_eq!(task.parent, Some(b.all(Kind::Tool)[0].id.clone()));
    assert!(matches!(&task.body, Body::Task(t) if t.state == WorkState::Completed));
}

fn task_news(id: &str) -> TaskNews<'_> {
    TaskNews {
        task: id.into(),
        kind: Some(TaskKind::Command),
        state: Some(WorkState::Running),
        ..TaskNews::default()
    }
}

#[test]
fn ai_9_who_made_a_row_stands_on_it() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    let producer = Producer {
        agent: "reviewer".to_owned(),
        session: Some("child".to_owned()),
    };
    b.apply(tool(ToolNews {
        call: "c1",
        announced: true,
        producer: Some(producer.clone()),
        ..ToolNews::default()
    }));
    let news = RequestNews {
        producer: Some(producer.clone()),
        ..request("7", None)
    };
    b.apply(Event::Request(Box::new(news)));
    assert_eq!(b.the(Kind::Tool).producer.as_ref(), Some(&producer));
    assert_eq!(b.the(Kind::Request).producer.as_ref(), Some(&producer));
}

/// Orca gathers deltas for 60 ms before it writes a row whole. Here each delta is one append of its own bytes; gathering
/// is the journal's.
#[test]
fn ai_10_ai_11_each_delta_is_one_append_of_its_own_bytes() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("a");
    for _ in 0..100 {
        let before = b.host.ledger.appended;
        assert_eq!(b.counted(say("bc")), 1);
        assert_eq!(b.host.ledger.appended - before, 2);
    }
}

#[test]
fn ai_12_a_message_has_one_row_however_often_its_id_comes() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.apply(say_as("m1", "Hel"));
    b.apply(call("c1"));
    b.apply(say_as("m1", "lo"));
    b.ends("1");
    b.apply(say_as("m1", "!"));
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 assistant \"Hello!\"",
        "1 tool c1 unknown",
    ]);
}

#[test]
fn ai_13_a_thought_is_reasoning() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.think("Hm");
    b.say("Yes");
    b.shows(&[
        "1 turn prompt open",
        "1 user accepted \"Go\"",
        "1 reasoning \"Hm\"",
        "1 assistant open \"Yes\"",
    ]);
}

#[test]
fn ai_14_what_is_blank_makes_no_row_until_there_is_something_to_read() {
    let mut b = Bench::new();
    b.prompt("1", "Go");
    b.say("\n");
    b.say("  ");
    assert!(b.all(Kind::Assistant).is_empty());
    b.say("x");
    b.apply(call("c1"));
    b.say(" \n ");
    b.ends("1");
    b.shows(&[
        "1 turn prompt completed",
        "1 user accepted \"Go\"",
        "1 assistant \"\\n  x\"",
        "1 tool c1 unknown",
    ]);
}
