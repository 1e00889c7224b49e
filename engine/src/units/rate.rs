//! Rates as users write them (`10r/s`, `8r/m`, `60/m`, `25000/h`), kept as exact ratios.

use std::fmt;

use thiserror::Error;

use super::span::{DAY_US, HOUR_US, MINUTE_US, SECOND_US};

/// So many per so long, never divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many, at least 1.
    pub count: u64,
    /// Per how long, microseconds, at least 1.
    pub per_us: i64,
}

/// Why a text is not a rate.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{found}` is not a rate: write a whole number per s, m, h or d, as in 10r/s, 8r/m or 60/m"
)]
pub struct RateError {
    /// What was written.
    pub found: String,
}

/// The units of a rate.
const UNITS: [(&str, i64); 4] = [("s", SECOND_US), ("m", MINUTE_US), ("h", HOUR_US), ("d", DAY_US)];
/// The most that a rate may have per second, so that sums of products stay far inside 128 bits.
const MOST: u64 = 1_000_000_000;

impl Rate {
    /// Reads `NUMBER/UNIT` or `NUMBERr/UNIT`.
    ///
    /// # Errors
    /// When the number isn't whole, is 0 or over 1,000,000,000, or the unit isn't s, m, h or d.
    pub fn parse(text: &str) -> Result<Self, RateError> {
        let error = || RateError { found: text.to_owned() };
        let (number, unit) = text.split_once('/').ok_or_else(error)?;
        let number = number.strip_suffix('r').unwrap_or(number);
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(error());
        }
        let count: u64 = number.parse().map_err(|_| error())?;
        let (_, per_us) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
        let sane = (1..=MOST).contains(&count);
        sane.then_some(Self { count, per_us: *per_us }).ok_or_else(error)
    }

    /// Whether it is written per second or per minute, all that nginx knows.
    pub fn is_per_second_or_minute(self) -> bool {
        self.per_us == SECOND_US || self.per_us == MINUTE_US
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, size)| *size == self.per_us) {
            Some((unit, _)) => write!(f, "{}/{unit}", self.count),
            None => write!(f, "{} per {} us", self.count, self.per_us),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_and_without_r() {
        assert_eq!(Rate::parse("8r/m"), Ok(Rate { count: 8, per_us: MINUTE_US }));
        assert_eq!(Rate::parse("25000/h"), Ok(Rate { count: 25_000, per_us: HOUR_US }));
        assert_eq!(Rate::parse("10r/s").unwrap().to_string(), "10/s");
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for text in ["", "8", "8r", "r/m", "0/s", "1.5/s", "-1/s", "8/w", "8r/ms", "9999999999/s"] {
            assert!(Rate::parse(text).is_err(), "{text}");
        }
    }
}
