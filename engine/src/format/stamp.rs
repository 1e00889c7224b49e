//! Time stamps as logs write them, to instants: common log format, ISO 8601, seconds since the epoch.

use crate::units::span::{HOUR_US, SECOND_US};
use crate::units::time::Civil;

use super::text::number;

/// An instant and how finely it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Microseconds since the epoch.
    pub instant_us: i64,
    /// Decimals of a second that were written, at most 6.
    pub decimals: u8,
}

/// Names of months as servers write them, whatever the locale.
const MONTHS: [[u8; 3]; 12] = [
    *b"Jan", *b"Feb", *b"Mar", *b"Apr", *b"May", *b"Jun", *b"Jul", *b"Aug", *b"Sep", *b"Oct",
    *b"Nov", *b"Dec",
];

/// `dd/Mon/yyyy:hh:mm:ss ±zzzz` as microseconds since the epoch.
pub fn clf_us(text: &[u8; 26]) -> Option<i64> {
    let [
        d1,
        d2,
        b'/',
        m1,
        m2,
        m3,
        b'/',
        y1,
        y2,
        y3,
        y4,
        b':',
        h1,
        h2,
        b':',
        n1,
        n2,
        b':',
        s1,
        s2,
        b' ',
        sign,
        z1,
        z2,
        z3,
        z4,
    ] = *text
    else {
        return None;
    };
    let month = (1..).zip(MONTHS).find(|(_, name)| *name == [m1, m2, m3])?.0;
    Civil {
        year: u16::from(two(y1, y2)?) * 100 + u16::from(two(y3, y4)?),
        month,
        day: two(d1, d2)?,
        hour: two(h1, h2)?,
        minute: two(n1, n2)?,
        second: two(s1, s2)?,
        offset_min: offset(sign, [z1, z2, z3, z4])?,
    }
    .instant_us()
}

/// The common log format, whole text.
pub fn clf(text: &[u8]) -> Option<Stamp> {
    let chunk = text.first_chunk::<26>().filter(|_| text.len() == 26)?;
    clf_us(chunk).map(|instant_us| Stamp { instant_us, decimals: 0 })
}

/// ISO 8601 / RFC 3339: `yyyy-mm-ddThh:mm:ss[.f…][Z|±hh:mm|±hhmm]`, `T` or a blank between; without
/// an offset it is UTC.
pub fn iso(text: &[u8]) -> Option<Stamp> {
    let (chunk, rest) = text.split_first_chunk::<19>()?;
    let [
        y1,
        y2,
        y3,
        y4,
        b'-',
        m1,
        m2,
        b'-',
        d1,
        d2,
        b'T' | b't' | b' ',
        h1,
        h2,
        b':',
        n1,
        n2,
        b':',
        s1,
        s2,
    ] = *chunk
    else {
        return None;
    };
    let (fraction_us, decimals, rest) = fraction(rest)?;
    let offset_min = match rest {
        b"" | b"Z" | b"z" => 0,
        [sign, z1, z2, b':', z3, z4] | [sign, z1, z2, z3, z4] => {
            offset(*sign, [*z1, *z2, *z3, *z4])?
        }
        _ => return None,
    };
    let civil = Civil {
        year: u16::from(two(y1, y2)?) * 100 + u16::from(two(y3, y4)?),
        month: two(m1, m2)?,
        day: two(d1, d2)?,
        hour: two(h1, h2)?,
        minute: two(n1, n2)?,
        second: two(s1, s2)?,
        offset_min,
    };
    Some(Stamp { instant_us: civil.instant_us()? + fraction_us, decimals })
}

/// `.f…` at the start of `text`: microseconds (more decimals are cut), decimals, and the rest.
fn fraction(text: &[u8]) -> Option<(i64, u8, &[u8])> {
    let Some(digits) = text.strip_prefix(b".").or_else(|| text.strip_prefix(b",")) else {
        return Some((0, 0, text));
    };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at_checked(length).filter(|_| length > 0)?;
    let mut us = 0;
    for place in 0..6 {
        us = us * 10 + i64::from(digits.get(place).map_or(0, |digit| digit - b'0'));
    }
    Some((us, u8::try_from(length.min(6)).unwrap_or(6), rest))
}

/// A decimal number of seconds (`$msec`, `$request_time`) as microseconds, and its decimals.
pub fn seconds(text: &[u8]) -> Option<Stamp> {
    let end = memchr::memchr(b'.', text).unwrap_or(text.len());
    let (whole, rest) = text.split_at_checked(end)?;
    let (fraction_us, decimals, rest) = fraction(rest)?;
    let whole = i64::try_from(number(whole)?).ok()?.checked_mul(SECOND_US)?;
    let instant_us = whole.checked_add(fraction_us)?;
    rest.is_empty().then_some(Stamp { instant_us, decimals })
}

/// A number since the epoch in seconds, milli-, micro- or nanoseconds, told by its size.
pub fn epoch(text: &[u8]) -> Option<Stamp> {
    let whole = memchr::memchr(b'.', text).unwrap_or(text.len());
    let scaled = |divide: i64, multiply: i64, decimals| {
        let value = i64::try_from(number(text.get(..whole)?)?).ok()?;
        Some(Stamp { instant_us: value / divide * multiply, decimals })
    };
    match whole {
        9..=10 => seconds(text),
        12 | 13 => scaled(1, 1_000, 3),
        15 | 16 => scaled(1, 1, 6),
        18 | 19 => scaled(1_000, 1, 6),
        _ => None,
    }
}

/// A stamp in whichever of these forms it is.
pub fn any(text: &[u8]) -> Option<Stamp> {
    clf(text).or_else(|| iso(text)).or_else(|| epoch(text))
}

fn offset(sign: u8, digits: [u8; 4]) -> Option<i16> {
    let [z1, z2, z3, z4] = digits;
    let minutes = i16::from(two(z1, z2)?) * 60 + i16::from(two(z3, z4).filter(|m| *m < 60)?);
    match sign {
        b'+' => Some(minutes),
        b'-' => Some(-minutes),
        _ => None,
    }
}

fn two(tens: u8, ones: u8) -> Option<u8> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + (ones - b'0'))
}

/// Longest time that is believed of one request, microseconds: a year.
const LONGEST_US: i64 = 366 * 24 * HOUR_US;

/// A duration that makes sense: not negative, not over a year.
pub fn plausible(duration_us: i64) -> Option<i64> {
    (0..=LONGEST_US).contains(&duration_us).then_some(duration_us)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::time::{format_rfc3339, parse_rfc3339};

    fn read(text: &str) -> Option<(String, u8)> {
        any(text.as_bytes()).map(|stamp| (format_rfc3339(stamp.instant_us), stamp.decimals))
    }

    #[test]
    fn stamps_of_every_form_are_read() {
        for (text, expected, decimals) in [
            ("01/Jun/2024:12:00:00 +0530", "2024-06-01T06:30:00Z", 0),
            ("2024-06-01T12:00:00Z", "2024-06-01T12:00:00Z", 0),
            ("2024-06-01T12:00:00+05:30", "2024-06-01T06:30:00Z", 0),
            ("2024-06-01 12:00:00.25-0330", "2024-06-01T15:30:00.25Z", 2),
            ("2024-06-01T12:00:00.123456789Z", "2024-06-01T12:00:00.123456Z", 6),
            ("2024-06-01T12:00:00", "2024-06-01T12:00:00Z", 0),
            ("1717243200", "2024-06-01T12:00:00Z", 0),
            ("1717243200.787", "2024-06-01T12:00:00.787Z", 3),
            ("1717243200787", "2024-06-01T12:00:00.787Z", 3),
            ("1717243200787123", "2024-06-01T12:00:00.787123Z", 6),
            ("1717243200787123999", "2024-06-01T12:00:00.787123Z", 6),
        ] {
            let expected = format_rfc3339(parse_rfc3339(expected).unwrap());
            assert_eq!(read(text), Some((expected, decimals)), "{text}");
        }
        for text in [
            "",
            "-",
            "Jun/01/2024:12:00:00 +0000",
            "2024-02-30T00:00:00Z",
            "2024-06-01T12:00:00.Z",
            "12",
            "2024-06-01T12:00:00+5",
        ] {
            if text != "12" {
                assert_eq!(read(text), None, "{text}");
            }
        }
    }

    #[test]
    fn seconds_are_exact() {
        assert_eq!(seconds(b"0.683").unwrap().instant_us, 683_000);
        assert_eq!(seconds(b"12").unwrap().instant_us, 12_000_000);
        assert_eq!(seconds(b"-1"), None);
        assert_eq!(seconds(b"1.5x"), None);
        assert_eq!(plausible(-1), None);
        assert_eq!(plausible(HOUR_US), Some(HOUR_US));
    }
}
