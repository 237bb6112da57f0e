use serde_json::json;

use crate::talk::Talk;

#[test]
fn blank_lines_before_a_later_message_are_no_part_of_it() {
    let mut talk = Talk::with("hermes");
    talk.prompt("Go")
        .says("First.")
        .tool("tc-1", json!({"title": "read"}))
        .says("\n\nSecond")
        .says("\n\nparagraph.");
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.texts("assistant"), ["First.", "Second\n\nparagraph."]);
    let mut talk = Talk::with("hermes");
    talk.prompt("Go").says("\nOne line is the message's own.");
    assert_eq!(
        talk.ends("end_turn").rows().texts("assistant"),
        ["\nOne line is the message's own."]
    );
}

#[test]
fn a_permission_under_a_made_up_id_makes_no_tool_and_leaves_none_open() {
    let mut talk = Talk::with("hermes");
    talk.prompt("Go")
        .tool("tc-1", json!({"title": "edit a"}))
        .permission(
            0,
            json!({"toolCallId": "edit-approval-1", "title": "Approve edit: a"}),
        )
        .chooses(0, "once");
    let rows = talk.ends("end_turn").rows();
    assert_eq!(rows.of("tool").len(), 1);
    assert_eq!(rows.only("tool")["state"], "unknown");
    assert_eq!(rows.only("request")["outcome"], "allowed");
}

#[test]
fn the_note_that_a_prompt_waits_is_a_message_of_its_own() {
    let mut talk = Talk::with("hermes");
    talk.prompt("Go")
        .says("Working")
        .says("Queued for the next turn.")
        .says(" on it");
    let rows = talk.ends("end_turn").rows();
    assert_eq!(
        rows.texts("assistant"),
        ["Working", "Queued for the next turn.", " on it"]
    );
}

#[test]
fn a_permission_with_the_title_of_an_open_tool_is_that_tools() {
    let mut talk = Talk::with("hermes");
    talk.prompt("Go")
        .tool("tc-1", json!({"title": "rm -rf build", "kind": "execute"}))
        .permission(0, json!({"toolCallId": "perm-1", "title": "rm -rf build"}))
        .chooses(0, "no");
    let rows = talk.ends("end_turn").rows();
    let tool = rows.only("tool");
    assert_eq!(
        (&tool["state"], &tool["authorization"]),
        (&json!("rejected"), &json!("asked_rejected"))
    );
    assert_eq!(rows.only("request")["tool"], tool["id"]);
}
