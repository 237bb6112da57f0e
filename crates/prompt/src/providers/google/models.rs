//! What the SDK knows about Google's models.
//!
//! Ids are open-ended, so a Gemini that nobody knows counts as the newest. Only older generations are
//! told apart.

/// What a model can do, as far as a request depends on it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    /// Whether instructions have to stand in the first user message.
    pub(super) is_gemma: bool,
    /// Whether the id is that of a Gemini, with nothing but folders in front.
    pub(super) is_gemini: bool,
    /// Whether the model is of the third generation or later: mixed tools, files in tool results, signed
    /// tool calls.
    pub(super) is_gemini_3: bool,
    /// Whether it has the tools of the second generation.
    pub(super) has_own_tools: bool,
    /// Whether it can search files.
    pub(super) has_file_search: bool,
    /// Whether it refuses penalties.
    pub(super) refuses_penalties: bool,
    /// The levels of thinking, for models that think by level.
    pub(super) levels: Option<Vec<(&'static str, &'static str)>>,
    /// The least and the most tokens to think for, for models that think by budget.
    pub(super) budget: (f64, f64),
}

/// What is known about the model of this id.
pub(super) fn of(id: &str) -> Model {
    let lower = id.to_lowercase();
    let is_gemini = starts(&lower).any(|name| name.starts_with("gemini-"));
    let is_first = has_family(&lower, "gemini-1")
        || starts(&lower).any(|name| name == "gemini-pro" || name == "gemini-pro-vision")
        || has_family(&lower, "gemini-robotics-er-1.5");
    let is_gemini_3 = is_gemini && !is_first && !has_family(&lower, "gemini-2");
    let is_25 = has_family(&lower, "gemini-2.5");
    let is_image = id.contains("gemini-3-pro-image");
    let is_25_pro = lower.contains("2.5-pro");
    Model {
        is_gemma: lower.starts_with("gemma-"),
        is_gemini: lower.starts_with("gemini-") || lower.contains("/gemini-"),
        is_gemini_3,
        has_own_tools: (is_gemini && !is_first) || lower.contains("nano-banana"),
        has_file_search: is_25 || is_gemini_3,
        refuses_penalties: is_25,
        levels: (is_gemini_3 && !is_image).then(|| levels(&lower)),
        budget: (
            if is_25_pro { 128.0 } else { 0.0 },
            if is_25_pro || lower.contains("gemini-3-pro-image") {
                32_768.0
            } else {
                24_576.0
            },
        ),
    }
}

/// The places in an id where a model's name can begin: its start, and behind every `/` and `.`.
fn starts(id: &str) -> impl Iterator<Item = &str> {
    std::iter::once(id).chain(
        id.match_indices(['/', '.'])
            .map(|(at, separator)| &id[at + separator.len()..]),
    )
}

/// Whether a name of this family, followed by `-`, `.` or nothing, stands in the id.
fn has_family(id: &str, family: &str) -> bool {
    starts(id).any(|name| {
        name.strip_prefix(family)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-']))
    })
}

fn levels(id: &str) -> Vec<(&'static str, &'static str)> {
    let is_hydrogen = starts(id).any(|name| {
        name.strip_prefix("gemini-4-hydrogen")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    let mut levels = Vec::new();
    if !is_hydrogen && !starts_low(id) {
        levels.push(("minimal", "minimal"));
    }
    levels.extend([("low", "low"), ("medium", "medium"), ("high", "high")]);
    if is_hydrogen {
        levels.push(("xhigh", "xhigh"));
    }
    levels
}

/// Whether the lowest level of the model is `low`: pro models, and flash models from 3.7 on.
fn starts_low(id: &str) -> bool {
    let name = starts(id).find(|name| name.starts_with("gemini-") && !name.contains('/'));
    let Some(version) = name.and_then(|name| name.strip_prefix("gemini-")) else {
        return false;
    };
    if version == "flash-latest" {
        return true;
    }
    let Some((number, kind)) = version.split_once('-') else {
        return false;
    };
    let (major, minor) = match number.split_once('.') {
        Some((major, minor)) => (major.parse::<u32>().ok(), minor.parse::<u32>().ok()),
        None => (number.parse().ok(), None),
    };
    let Some(major) = major else { return false };
    let rest = |kind: &str, name: &str| {
        kind.strip_prefix(name)
            .filter(|rest| rest.is_empty() || rest.starts_with('-'))
            .map(str::to_owned)
    };
    let is_minor_fine = minor.is_some() || !number.contains('.');
    if is_minor_fine && rest(kind, "pro").is_some() && major >= 3 {
        return true;
    }
    let is_lite = |rest: &str| rest == "-lite" || rest.starts_with("-lite-");
    match (rest(kind, "flash"), minor) {
        (Some(rest), Some(minor)) if !is_lite(&rest) => (major, minor) >= (3, 7),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_are_told_apart() {
        assert!(of("gemma-3-27b-it").is_gemma);
        assert!(!of("gemini-2.5-flash").is_gemini_3);
        assert!(of("models/gemini-3-pro-preview").is_gemini_3);
        assert!(of("gemini-flash-latest").is_gemini_3);
        for old in [
            "gemini-1.5-pro",
            "gemini-pro",
            "gemini-2.0-flash",
            "gemini-robotics-er-1.5-preview",
        ] {
            assert!(!of(old).is_gemini_3, "{old}");
        }
        assert!(of("nano-banana-pro-preview").has_own_tools);
        assert_eq!(of("gemini-2.5-pro").budget, (128.0, 32_768.0));
    }

    #[test]
    fn levels_begin_where_the_model_can() {
        let first = |id: &str| of(id).levels.map(|levels| levels[0].0);
        assert_eq!(first("gemini-3-pro-preview"), Some("low"));
        assert_eq!(first("gemini-3-flash-preview"), Some("minimal"));
        assert_eq!(first("gemini-3.6-flash"), Some("minimal"));
        assert_eq!(first("gemini-3.7-flash"), Some("low"));
        assert_eq!(first("gemini-3.8-flash-lite"), Some("minimal"));
        assert_eq!(first("gemini-flash-latest"), Some("low"));
        assert_eq!(first("gemini-3-pro-image-preview"), None);
        assert_eq!(first("gemini-2.5-pro"), None);
        let hydrogen = of("gemini-4-hydrogen").levels.unwrap_or_default();
        assert_eq!(hydrogen.last(), Some(&("xhigh", "xhigh")));
    }
}
