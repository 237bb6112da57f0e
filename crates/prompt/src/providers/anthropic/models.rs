//! What the SDK knows about Anthropic's models.

/// What a model can and cannot do, as far as a request depends on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::providers) struct Model {
    /// The longest answer in tokens.
    pub(in crate::providers) max_output: f64,
    /// Whether an answer can be held to a schema.
    pub(in crate::providers) has_structured_output: bool,
    /// Whether the model decides itself how much it thinks.
    pub(in crate::providers) thinks_adaptively: bool,
    /// Whether temperature and the like are taken.
    pub(in crate::providers) takes_sampling: bool,
    /// Whether there is an effort between high and max.
    pub(in crate::providers) has_extra_high: bool,
    /// Whether thinking can be off when the effort is above high.
    pub(in crate::providers) can_rest_above_high: bool,
    /// Whether thinking can be off at all.
    pub(in crate::providers) can_rest: bool,
    /// Whether thinking can have a budget of tokens.
    pub(in crate::providers) takes_budget: bool,
    /// Whether the caller can force a tool.
    pub(in crate::providers) can_be_forced: bool,
    /// Whether it can think between tools only.
    pub(in crate::providers) thinks_between_tools: bool,
    /// Whether the SDK knows the model.
    pub(in crate::providers) is_known: bool,
}

const OLD: Model = Model {
    max_output: 4096.0,
    has_structured_output: false,
    thinks_adaptively: false,
    takes_sampling: true,
    has_extra_high: false,
    can_rest_above_high: true,
    can_rest: true,
    takes_budget: true,
    can_be_forced: true,
    thinks_between_tools: false,
    is_known: true,
};
const UNKNOWN: Model = Model {
    is_known: false,
    ..OLD
};
const CURRENT: Model = Model {
    max_output: 128_000.0,
    has_structured_output: true,
    thinks_adaptively: true,
    ..OLD
};
const WITHOUT_SAMPLING: Model = Model {
    takes_sampling: false,
    has_extra_high: true,
    ..CURRENT
};

/// Families by a part of the id; the first that fits counts.
const FAMILIES: &[(&[&str], Model)] = &[
    (
        &["claude-sonnet-5-5"],
        Model {
            can_rest_above_high: false,
            can_rest: false,
            takes_budget: false,
            can_be_forced: false,
            thinks_between_tools: true,
            ..WITHOUT_SAMPLING
        },
    ),
    (
        &["claude-opus-5-5"],
        Model {
            can_rest_above_high: false,
            can_rest: false,
            takes_budget: false,
            can_be_forced: false,
            ..WITHOUT_SAMPLING
        },
    ),
    (
        &["claude-haiku-5-5"],
        Model {
            can_rest_above_high: false,
            takes_budget: false,
            ..WITHOUT_SAMPLING
        },
    ),
    (
        &["claude-opus-5"],
        Model {
            can_rest_above_high: false,
            ..WITHOUT_SAMPLING
        },
    ),
    (
        &["claude-fable-5-2", "claude-fable-5-1"],
        Model {
            can_rest: false,
            takes_budget: false,
            can_be_forced: false,
            ..WITHOUT_SAMPLING
        },
    ),
    (
        &["claude-fable-5"],
        Model {
            can_rest: false,
            takes_budget: false,
            ..WITHOUT_SAMPLING
        },
    ),
    (
        &["claude-opus-4-8", "claude-opus-4-7", "claude-sonnet-5"],
        WITHOUT_SAMPLING,
    ),
    (&["claude-sonnet-4-6", "claude-opus-4-6"], CURRENT),
    (
        &["claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5"],
        Model {
            max_output: 64_000.0,
            has_structured_output: true,
            ..OLD
        },
    ),
    (
        &["claude-opus-4-1"],
        Model {
            max_output: 32_000.0,
            has_structured_output: true,
            ..OLD
        },
    ),
    (
        &["claude-sonnet-4-", "claude-sonnet-4@"],
        Model {
            max_output: 64_000.0,
            ..OLD
        },
    ),
    (
        &["claude-opus-4-", "claude-opus-4@"],
        Model {
            max_output: 32_000.0,
            ..OLD
        },
    ),
    (&["claude-3-haiku"], OLD),
];

/// What is known about the model of this id. A Claude of a family that is not known counts as a coming
/// one, unless its name is that of an early one.
pub(in crate::providers) fn of(id: &str) -> Model {
    let family = FAMILIES
        .iter()
        .find(|(names, _)| names.iter().any(|name| id.contains(name)));
    match family {
        Some((_, model)) => *model,
        None if id.contains("claude-") && !is_early(id) => Model {
            can_rest_above_high: false,
            is_known: false,
            ..WITHOUT_SAMPLING
        },
        None => UNKNOWN,
    }
}

/// Whether the id is that of Claude Instant, 2 or 3, as in `claude-instant-1`, `claude-v2:1`,
/// `claude-3.5-sonnet`.
fn is_early(id: &str) -> bool {
    let ends = |rest: Option<&str>, ends: &[char], at_end: bool| {
        rest.is_some_and(|rest| rest.starts_with(ends) || (at_end && rest.is_empty()))
    };
    id.match_indices("claude-").any(|(at, name)| {
        let rest = &id[at + name.len()..];
        ends(rest.strip_prefix("instant"), &['-'], true)
            || ends(
                rest.strip_prefix('v').unwrap_or(rest).strip_prefix('2'),
                &['-', '.', ':'],
                true,
            )
            || ends(rest.strip_prefix('3'), &['-', '.'], false)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_apart() {
        assert_eq!(of("claude-sonnet-4-5-20250929").max_output, 64_000.0);
        assert!(!of("claude-sonnet-4-20250514").has_structured_output);
        assert!(of("claude-opus-4-1").has_structured_output);
        for early in [
            "claude-instant-1.2",
            "anthropic.claude-v2:1",
            "claude-3-5-sonnet",
            "MiniMax-M2",
        ] {
            assert_eq!(of(early), UNKNOWN, "{early}");
        }
        assert!(of("claude-3-haiku-20240307").is_known);
        assert!(!of("claude-nova-9").is_known);
        assert!(!of("claude-nova-9").takes_sampling);
        assert!(!of("claude-23").takes_sampling);
    }
}
