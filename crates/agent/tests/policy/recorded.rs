//! What real agents asked, and what the policies say to it.

use std::path::Path;

use tapline_agent::policy::{Asked, Mode, Policy, Verdict};
use tapline_recorder::{Memory, Recorder, Recording, Silent};
use tapline_timeline::Body;

use crate::rules;

/// All permissions of a recorded agent: title, verdict of each policy.
fn recorded(agent: &str, policies: &[&Policy]) -> Vec<(String, Vec<Verdict>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/recordings")
        .join(agent);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    files.sort();
    let mut all = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|e| e == "jsonl"))
    {
        let mut recording: Recording<Memory, Silent> =
            Recording::new(|hint| Recorder::new(Memory::new(), hint).with_seed("seed."));
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let _ = recording.line(line);
        }
        let recorder = recording.finish();
        for timeline in recorder.store().timelines() {
            let tool = |id| {
                timeline
                    .rows()
                    .iter()
                    .find(|row| row.id == id)
                    .map(|row| row.body.clone())
            };
            for row in timeline.rows() {
                let Body::Request(request) = &row.body else {
                    continue;
                };
                let tool = match request.tool.clone().and_then(tool) {
                    Some(Body::Tool(tool)) => Some(tool),
                    _ => None,
                };
                let asked = Asked {
                    request,
                    tool_kind: tool.as_ref().and_then(|tool| tool.tool_kind.as_deref()),
                    locations: tool.as_ref().map_or(&[][..], |tool| &tool.locations),
                    cwd: Path::new("/work-dir/ws"),
                };
                let verdicts = policies
                    .iter()
                    .map(|policy| policy.decide_asked(asked).verdict)
                    .collect();
                all.push((request.title.clone().unwrap_or_default(), verdicts));
            }
        }
    }
    all
}

#[test]
fn what_real_agents_ask_is_read() {
    let policies = [
        rules(Mode::AllowReads, &[]),
        rules(Mode::Ask, &["edit | *.txt | - => allow"]),
        rules(Mode::Ask, &["- | - | mkdir => allow", "- | - | echo => allow"]),
        rules(Mode::AllowAll, &["- | notes.txt | - => deny"]),
        rules(Mode::AllowAll, &["- | - | rm -rf => deny"]),
    ];
    let policies: Vec<_> = policies.iter().collect();
    let mut told = String::new();
    for agent in [
        "claude",
        "cline",
        "codex",
        "deepagents",
        "fast",
        "gemini",
        "grok",
        "kilo",
        "kimi",
        "opencode",
    ] {
        let asked = recorded(agent, &policies);
        let count = |at: usize, verdict| asked.iter().filter(|(_, v)| v[at] == verdict).count();
        let all = [
            count(0, Verdict::Allow),
            count(1, Verdict::Allow),
            count(2, Verdict::Allow),
            count(3, Verdict::Reject),
            count(4, Verdict::Reject),
        ];
        told.push_str(&format!("{agent} {} {all:?}\n", asked.len()));
        // The recorded lines that begin with a command that is allowed all go on with one that is not.
        for (title, verdicts) in &asked {
            let destroys = title.contains("rm -rf");
            assert!(!destroys || verdicts[4] == Verdict::Reject, "{agent}: {title}");
            assert!(
                !title.contains("notes.txt") || verdicts[3] == Verdict::Reject,
                "{agent}: {title}"
            );
        }
    }
    // Gemini and kimi show no input, so they are refused by their titles and diffs; kimi names no kinds.
    let expected = "\
        claude 15 [0, 5, 0, 4, 3]\n\
        cline 17 [6, 0, 0, 7, 2]\n\
        codex 16 [0, 5, 0, 4, 4]\n\
        deepagents 12 [0, 3, 0, 3, 2]\n\
        fast 14 [3, 3, 0, 6, 2]\n\
        gemini 26 [0, 4, 0, 5, 3]\n\
        grok 19 [0, 0, 0, 0, 0]\n\
        kilo 6 [0, 3, 0, 3, 0]\n\
        kimi 14 [0, 0, 0, 4, 3]\n\
        opencode 16 [0, 5, 0, 4, 3]\n";
    assert_eq!(told, expected);
}
