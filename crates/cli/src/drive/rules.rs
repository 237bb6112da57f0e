//! The user's rules of permissions, as a judge of what the agent asks.

use std::path::{Path, PathBuf};

use tapline_agent::config::Config;
use tapline_agent::host::{Judge, Verdict};
use tapline_agent::policy::{self, Policy};
use tapline_timeline::{Request, Row};

use crate::failure::Failure;

/// Decides by the policy of the configuration and the flags.
struct ByPolicy {
    policy: Policy,
    cwd: PathBuf,
}

impl Judge for ByPolicy {
    fn decide(&self, _: &Row, request: &Request, tool: Option<&tapline_timeline::Tool>) -> Verdict {
        let decision = self.policy.decide_asked(policy::Asked {
            request,
            tool_kind: tool.and_then(|tool| tool.tool_kind.as_deref()),
            locations: tool.map_or(&[], |tool| &tool.locations),
            cwd: &self.cwd,
        });
        match (decision.verdict, decision.option) {
            (policy::Verdict::Ask, _) => Verdict::Ask,
            (_, Some(option)) => Verdict::Choose {
                option,
                by: decision.by,
            },
            (policy::Verdict::Reject, None) => Verdict::Cancel { by: decision.by },
            // There is nothing to choose that would allow it.
            (policy::Verdict::Allow, None) => Verdict::Ask,
        }
    }
}

/// The judge that the configuration makes. A mode that a flag or the environment names holds where no rule matches.
pub(crate) fn judge(config: &Config, cwd: &Path) -> Result<Box<dyn Judge>, Failure> {
    let read = config
        .permissions::<Policy>()
        .map_err(|error| Failure::Config(error.to_string()))?;
    let mut policy = read.map(|(policy, _)| policy).unwrap_or_default();
    let mode = config.policy.value.as_str();
    policy.mode = mode
        .parse()
        .map_err(|error| Failure::Config(format!("{error}")))?;
    Ok(Box::new(ByPolicy {
        policy,
        cwd: cwd.to_owned(),
    }))
}
