//! Times as this machine's clock tells them. What is stored and what programs read stays in UTC.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tapline_timeline::Time;

/// How many minutes the clock of this machine was ahead of UTC at a moment, given in milliseconds since 1970.
pub(crate) fn minutes_east(at_ms: i64) -> i16 {
    let Ok(moment) = Timestamp::from_millisecond(at_ms) else {
        return 0;
    };
    let seconds = TimeZone::system().to_offset(moment).seconds();
    i16::try_from(seconds / 60).unwrap_or(0)
}

/// The same, now.
pub(crate) fn minutes_east_now() -> i16 {
    minutes_east(Timestamp::now().as_millisecond())
}

/// A moment to the minute, such as `2026-11-30 03:28`. Nothing where it is no moment that a calendar has.
pub(crate) fn minute(at_ms: i64) -> Option<String> {
    let local = at_ms.checked_add(i64::from(minutes_east(at_ms)) * 60_000)?;
    let text = Time::At(local).rfc3339()?;
    Some(text.get(..16)?.replace('T', " "))
}
