//! Readers of single values: times, spans, sizes, shares. Each says what is allowed.

use std::fmt;

use bytesize::ByteSize;
use shadowcap_engine::units::{span as spans, time as times};

/// A share in parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// 0 to 1,000,000.
    pub(crate) per_million: u64,
}

/// The default of `--max-bad`.
pub(crate) const DEFAULT_MAX_BAD: Share = Share { per_million: 10_000 };

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:04}", self.per_million % 10_000);
        match decimals.trim_end_matches('0') {
            "" => write!(f, "{}%", self.per_million / 10_000),
            decimals => write!(f, "{}.{decimals}%", self.per_million / 10_000),
        }
    }
}

/// An RFC 3339 time, in microseconds since the epoch.
pub(super) fn time(text: &str) -> Result<i64, String> {
    times::parse_rfc3339(text).ok_or_else(|| {
        "write a date, a time and an offset, as in 2026-11-25T20:00:00+05:30".to_owned()
    })
}

/// A factor from 0.000001 to 1000, in millionths.
pub(super) fn scale(text: &str) -> Result<u64, String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let millionths = format!("{whole}{decimals:0<6}").parse::<u64>().ok();
    millionths
        .filter(|_| digits(whole) && digits(decimals) && decimals.len() <= 6)
        .filter(|scale| (1..=1_000_000_000).contains(scale))
        .ok_or_else(|| "write a number from 0.000001 to 1000, as in 0.01".to_owned())
}

/// A span, in microseconds.
pub(super) fn span(text: &str) -> Result<i64, String> {
    spans::parse(text).map_err(|error| error.to_string())
}

/// A size in bytes.
pub(super) fn size(text: &str) -> Result<u64, String> {
    text.parse::<ByteSize>()
        .map(|size| size.as_u64())
        .ok()
        .filter(|size| *size > 0)
        .ok_or_else(|| "write a number and a unit, as in 512KiB, 64MiB or 4GiB".to_owned())
}

/// The size of a line in bytes.
pub(super) fn line_size(text: &str) -> Result<usize, String> {
    let bytes = size(text)?;
    usize::try_from(bytes)
        .ok()
        .filter(|bytes| (64..=256 << 20).contains(bytes))
        .ok_or_else(|| "give 64B to 256MiB".to_owned())
}

/// A share as a percentage: `1%`, `0.5%`, `0%`.
pub(super) fn share(text: &str) -> Result<Share, String> {
    let wrong = || "write a percentage with at most 4 decimals, as in 1% or 0.5%".to_owned();
    let number = text.strip_suffix('%').ok_or_else(wrong)?;
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    if decimals.is_empty() || decimals.len() > 4 || !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let decimals: u64 = format!("{decimals:0<4}").parse().map_err(|_| wrong())?;
    let per_million = whole.saturating_mul(10_000).saturating_add(decimals);
    if per_million > 1_000_000 {
        return Err("a share is at most 100%".to_owned());
    }
    Ok(Share { per_million })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percentages() {
        assert_eq!(share("1%").unwrap(), DEFAULT_MAX_BAD);
        for text in ["1%", "0.5%", "100%", "0.0001%"] {
            assert_eq!(share(text).unwrap().to_string(), text);
        }
        assert_eq!(share("0.0001%").unwrap().per_million, 1);
        assert_eq!(share("100%").unwrap().per_million, 1_000_000);
        for text in ["1", "101%", "-1%", "1.23456%", "%", "1.%", "x%", "1.x%"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_need_sense() {
        assert_eq!(size("1MiB"), Ok(1 << 20));
        assert_eq!(line_size("1MiB"), Ok(1 << 20));
        for text in ["", "0", "x", "-1MiB"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert!(line_size("1B").is_err() && line_size("1GiB").is_err());
    }
}
