//! Small facts as a person reads them: times, sizes, amounts.

use tapline_timeline::{Context, Cost, Measure, Row, Time, Usage};

/// A moment: date and time of day by a clock so many minutes ahead of UTC, or the time since the recording began.
pub(crate) fn moment(time: Time, minutes_east: i16) -> String {
    let by_clock = match time {
        Time::At(ms) => Time::At(ms.saturating_add(i64::from(minutes_east) * 60_000)),
        since => since,
    };
    match by_clock.rfc3339() {
        // 2023-11-14T22:13:20.000Z, without the parts that nobody reads.
        Some(text) => text
            .replace('T', " ")
            .split('.')
            .next()
            .unwrap_or_default()
            .to_owned(),
        None => match time {
            Time::Since(ms) => format!("+{}", duration(ms)),
            Time::At(ms) => format!("{ms} ms"),
        },
    }
}

/// How long a row took, in milliseconds, where both its times are known. Times come from anywhere, so also from so far apart
/// that their distance is no number.
pub(crate) fn took(row: &Row) -> Option<u64> {
    match (row.at?, row.ended_at?) {
        (Time::At(begin), Time::At(end)) => end.checked_sub(begin).and_then(|ms| u64::try_from(ms).ok()),
        (begin, end) => end.since(begin),
    }
}

/// A length of time.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// A number of bytes.
pub(crate) fn bytes(bytes: u64) -> String {
    scaled(bytes, &["bytes", "kB", "MB", "GB"])
}

/// A number of tokens.
pub(crate) fn tokens(tokens: u64) -> String {
    scaled(tokens, &["", "k", "M", "G"]).trim_end().replace(' ', "")
}

fn scaled(number: u64, units: &[&str]) -> String {
    let mut value = number;
    let mut tenth = 0;
    let mut unit = 0;
    while value >= 1000 && unit + 1 < units.len() {
        tenth = value % 1000 / 100;
        value /= 1000;
        unit += 1;
    }
    match (unit, tenth) {
        (0, _) | (_, 0) => format!("{value} {}", units[unit]),
        _ => format!("{value}.{tenth} {}", units[unit]),
    }
}

/// How full the context is.
pub(crate) fn context(context: Context) -> Option<String> {
    match (context.used, context.size) {
        (Some(used), Some(size)) if size > 0 => {
            let percent = u128::from(used) * 100 / u128::from(size);
            Some(format!(
                "context {} of {} ({percent} %)",
                tokens(used),
                tokens(size)
            ))
        }
        (Some(used), _) => Some(format!("context {}", tokens(used))),
        _ => None,
    }
}

/// What was used, with what it measures.
pub(crate) fn usage(usage: &Usage) -> Option<String> {
    let mut facts = Vec::new();
    for (count, name) in [
        (usage.input, "in"),
        (usage.output, "out"),
        (usage.cached_read, "cached"),
    ] {
        if let Some(count) = count {
            facts.push(format!("{} {name}", tokens(count)));
        }
    }
    if let (true, Some(total)) = (facts.is_empty(), usage.total) {
        facts.push(format!("{} tokens", tokens(total)));
    }
    if let Some(Cost { amount, currency }) = &usage.cost {
        facts.push(format!("{amount:.4} {currency}"));
    }
    let of = match usage.measure {
        Measure::Call => " (last call)",
        Measure::Session => " (session)",
        Measure::TurnWithHelpers => " (with helpers)",
        Measure::Turn | Measure::Unsaid => "",
    };
    (!facts.is_empty()).then(|| format!("{}{of}", facts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_read_well() {
        assert_eq!(moment(Time::At(1_700_000_000_000), 0), "2023-11-14 22:13:20");
        assert_eq!(moment(Time::Since(12_340), 0), "+12.3 s");
        assert_eq!(moment(Time::At(i64::MAX), 0), format!("{} ms", i64::MAX));
        assert_eq!(
            [duration(999), duration(61_000), duration(7_260_000)],
            ["999 ms", "1 min 1 s", "2 h 1 min"]
        );
        assert_eq!(
            [bytes(12), bytes(1_000), bytes(1_560_000)],
            ["12 bytes", "1 kB", "1.5 MB"]
        );
        assert_eq!(
            [tokens(999), tokens(45_200), tokens(200_000)],
            ["999", "45.2k", "200k"]
        );
        let full = Context {
            used: Some(45_200),
            size: Some(200_000),
        };
        assert_eq!(context(full).as_deref(), Some("context 45.2k of 200k (22 %)"));
    }
}
