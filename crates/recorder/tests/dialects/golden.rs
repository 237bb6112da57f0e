//! Whole recordings, as a person reads them: rows without ids, frames and times.

use crate::talk::recording;

fn golden(agent: &str, scenarios: &[&str]) {
    for scenario in scenarios {
        let rows = recording(&format!("{agent}/{scenario}.jsonl"));
        insta::assert_snapshot!(format!("{agent}-{scenario}"), rows.golden());
    }
}

macro_rules! golden {
    ($($test:ident: $agent:literal [$($scenario:literal),+];)+) => {
        $(#[test] fn $test() { golden($agent, &[$($scenario),+]); })+
    };
}

golden! {
    claude: "claude" ["s3-tools-allow", "s9b-shell-bg", "s14-subagent"];
    cline: "cline" ["s3-tools-allow", "s9f-shell-fail"];
    codex: "codex" ["s3-tools-allow", "s9m-shell-long-meta", "s7-err400"];
    deepagents: "deepagents" ["s4-reject", "s9f-shell-fail"];
    fast_agent: "fast" ["s3-tools-allow", "s9f-shell-fail"];
    gemini: "gemini" ["s3-tools-allow", "s6-loadb", "s7-err500"];
    kilo: "kilo" ["s4-reject", "s14-subagent"];
    kimi: "kimi" ["s4-reject", "s9f-shell-fail", "s14-subagent"];
    opencode: "opencode" ["s4-reject", "s8-todo", "s9f-shell-fail"];
    pi: "pi" ["s3-tools-allow", "s9f-shell-fail", "s10c-concurrent"];
}
