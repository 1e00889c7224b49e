//! Lengths of time as users write them (`500ms`, `10s`, `5m`, `1h`, `2d`), in whole microseconds.

use thiserror::Error;

/// Microseconds in a second.
pub const SECOND_US: i64 = 1_000_000;
/// Microseconds in a minute.
pub const MINUTE_US: i64 = 60 * SECOND_US;
/// Microseconds in an hour.
pub const HOUR_US: i64 = 60 * MINUTE_US;
/// Microseconds in a day of 24 hours.
pub const DAY_US: i64 = 24 * HOUR_US;

/// The units a span may be written in, largest first.
const UNITS: [(&str, i64); 6] =
    [("d", DAY_US), ("h", HOUR_US), ("m", MINUTE_US), ("s", SECOND_US), ("ms", 1_000), ("us", 1)];

/// Why a text is not a span.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{found}` is not a length of time: write a whole number and a unit, as in 500ms, 10s, 5m, 1h or 2d (at most 366d)"
)]
pub struct SpanError {
    /// What was written.
    pub found: String,
}

/// Reads a span such as `5m`; the result is in microseconds, from 1 to 366 days.
///
/// # Errors
/// When the number or the unit is missing or unknown, or the span is zero or over 366 days.
pub fn parse(text: &str) -> Result<i64, SpanError> {
    let error = || SpanError { found: text.to_owned() };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).ok_or_else(error)?;
    let number: i64 = number.parse().map_err(|_| error())?;
    let (_, size) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
    number.checked_mul(*size).filter(|span| (1..=366 * DAY_US).contains(span)).ok_or_else(error)
}

/// Writes a span in its largest whole unit: 60,000,000 → `1 m`.
pub fn format(span_us: i64) -> String {
    let (unit, size) = UNITS
        .iter()
        .find(|(_, size)| span_us.checked_rem(*size) == Some(0) && span_us != 0)
        .unwrap_or(&("us", 1));
    format!("{} {unit}", span_us.checked_div(*size).unwrap_or(span_us))
}

/// Writes how long a period lasted, in its two largest units: `3 d 11 h`, `4 m 5 s`, `12 s`.
pub fn format_period(span_us: i64) -> String {
    let mut left = span_us;
    let mut parts = Vec::new();
    for (unit, size) in &UNITS[..4] {
        let whole = left.div_euclid(*size);
        left = left.rem_euclid(*size);
        if whole > 0 {
            parts.push(format!("{whole} {unit}"));
        } else if !parts.is_empty() {
            break;
        }
        if parts.len() == 2 {
            break;
        }
    }
    if parts.is_empty() { "under 1 s".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_in_every_unit() {
        for (text, us) in [("1us", 1), ("500ms", 500_000), ("10s", 10 * SECOND_US)] {
            assert_eq!(parse(text), Ok(us));
        }
        assert_eq!(parse("5m"), Ok(5 * MINUTE_US));
        assert_eq!(parse("366d"), Ok(366 * DAY_US));
    }

    #[test]
    fn what_is_not_a_span_is_refused() {
        for text in
            ["", "5", "m", "0s", "-5m", "5 m", "5x", "367d", "99999999999999999999s", "1.5h"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_written_in_their_largest_whole_unit() {
        assert_eq!(format(MINUTE_US), "1 m");
        assert_eq!(format(90 * SECOND_US), "90 s");
        assert_eq!(format(1_500), "1500 us");
        assert_eq!(format_period(3 * DAY_US + 11 * HOUR_US + 5), "3 d 11 h");
        assert_eq!(format_period(DAY_US + 5), "1 d");
        assert_eq!(format_period(10), "under 1 s");
    }
}
