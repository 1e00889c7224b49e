//! Values that are more than a text: numbers, lengths of time, rates, instants, money.

use std::ops::RangeInclusive;
use std::str::FromStr;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use toml::de::{DeInteger, DeValue};

use super::item::Item;
use super::problem::Code;
use crate::units::rate::Rate;
use crate::units::span;
use crate::units::time::parse_rfc3339;
use crate::units::zone::{CalendarUnit, Zone};

impl Item<'_> {
    /// A whole number in a range.
    pub fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let allowed = describe(&range);
        let Some(integer) = self.value.as_integer() else {
            self.wrong_type(&allowed);
            return None;
        };
        let found = number(integer).and_then(|number| u64::try_from(number).ok());
        let fits = found.filter(|number| range.contains(number));
        if fits.is_none() {
            let message = format!("`{}` is {}", self.key, integer.as_str());
            self.report(self.wrong(Code::OutOfRange, message).allowed(allowed));
        }
        fits
    }

    /// `true` or `false`.
    pub fn flag(&self) -> Option<bool> {
        let flag = self.value.as_bool();
        if flag.is_none() {
            self.wrong_type("true or false");
        }
        flag
    }

    /// A length of time, microseconds; with `zero`, `0s` too.
    pub fn span_us(&self, zero: bool) -> Option<i64> {
        let Some(text) = self.value.as_str() else {
            let problem = self.type_problem("a length of time");
            self.report(problem.help("write a number with its unit in quotes, as in \"10s\""));
            return None;
        };
        if zero && matches!(text, "0s" | "0ms" | "0us" | "0m" | "0h" | "0d") {
            return Some(0);
        }
        span::parse(text).map_err(|error| self.malformed(error)).ok()
    }

    /// Lengths of time, microseconds.
    pub fn spans_us(&self) -> Vec<i64> {
        self.parts().iter().filter_map(|part| part.span_us(false)).collect()
    }

    /// So many per so long.
    pub fn rate(&self) -> Option<Rate> {
        let Some(text) = self.value.as_str() else {
            let problem = self.type_problem("a rate");
            self.report(problem.help("write a number per unit in quotes, as in \"8r/m\""));
            return None;
        };
        Rate::parse(text).map_err(|error| self.malformed(error)).ok()
    }

    /// The name of a time zone.
    pub fn zone(&self) -> Option<Zone> {
        Zone::parse(self.text()?).map_err(|error| self.malformed(error)).ok()
    }

    /// An instant, microseconds since the epoch; a date alone is its midnight in `zone`.
    pub fn instant_us(&self, zone: Zone) -> Option<i64> {
        let allowed = "a date, or a date and time with an offset";
        let Some(stamp) = self.value.as_datetime() else {
            let problem = self.type_problem(allowed);
            let help = "write it without quotes, as in 2026-11-24T19:00:00+05:30 or 2027-06-01";
            self.report(problem.help(help));
            return None;
        };
        let instant = match (stamp.date, stamp.time, stamp.offset) {
            (Some(date), ..) if date.year == 0 => None,
            (Some(date), Some(time), Some(offset)) => {
                let (second, nanosecond) = (time.second.unwrap_or(0), time.nanosecond.unwrap_or(0));
                let (hour, minute) = (time.hour, time.minute);
                let written = format!("{hour:02}:{minute:02}:{second:02}.{nanosecond:09}{offset}");
                parse_rfc3339(&format!("{date}T{written}"))
            }
            (Some(date), None, None) => parse_rfc3339(&format!("{date}T12:00:00Z"))
                .map(|utc_noon_us| local_midnight_us(utc_noon_us, zone)),
            _ => {
                let message = format!("`{}` is `{stamp}`, which has no offset", self.key);
                let problem = self.wrong(Code::WrongType, message).allowed(allowed);
                self.report(problem.help("add Z or an offset, as in +05:30"));
                return None;
            }
        };
        if instant.is_none() {
            let message = format!("`{}`: there is no instant `{stamp}`", self.key);
            self.report(self.wrong(Code::OutOfRange, message).allowed("years 1 to 9999"));
        }
        instant
    }

    /// Money: a text or a whole number, from 0; never a float.
    pub fn money(&self) -> Option<Decimal> {
        let allowed = "an amount in quotes, as in \"0.25\"";
        let text = match self.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(integer) => number(integer)?.to_string(),
            DeValue::Float(float) => {
                let help =
                    format!("money is never a float: write \"{}\" in quotes", float.as_str());
                self.report(self.type_problem(allowed).help(help));
                return None;
            }
            _ => {
                self.wrong_type(allowed);
                return None;
            }
        };
        self.decimal(&text, 28, allowed)
    }

    /// A currency of ISO 4217; empty if there is no text.
    pub fn currency(&self) -> String {
        let text = self.text().unwrap_or_default();
        let code = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase());
        if !code && !text.is_empty() {
            let problem = self.wrong(Code::Malformed, format!("`{text}` is no currency"));
            self.report(problem.allowed("three capital letters of ISO 4217, as in INR"));
        }
        text.to_owned()
    }

    /// A number from 0 with at most so many decimals: whole, with decimals, or in quotes.
    pub fn number(&self, places: u32) -> Option<Decimal> {
        let allowed = format!("a number from 0 with at most {places} decimals");
        let text = match self.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(integer) => number(integer)?.to_string(),
            DeValue::Float(float) => float.as_str().replace('_', ""),
            _ => {
                self.wrong_type(&allowed);
                return None;
            }
        };
        self.decimal(&text, places, &allowed)
    }

    /// A number with at most so many decimals, in units of the last.
    pub fn scaled(&self, places: u32) -> Option<u64> {
        let number = self.number(places)?;
        let scaled = Decimal::from(10_u64.checked_pow(places)?)
            .checked_mul(number)
            .and_then(|scaled| scaled.to_u64())
            .filter(|scaled| *scaled <= MOST);
        if scaled.is_none() {
            let message = format!("`{}` is {number}", self.key);
            self.report(self.wrong(Code::OutOfRange, message).allowed("a smaller number"));
        }
        scaled
    }

    fn decimal(&self, text: &str, places: u32, allowed: &str) -> Option<Decimal> {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b".-+".contains(&byte));
        let Some(number) = Decimal::from_str(text).ok().filter(|_| plain) else {
            let message = format!("`{}`: `{text}` is no number", self.key);
            self.report(self.wrong(Code::Malformed, message).allowed(allowed));
            return None;
        };
        let number = number.normalize();
        if number.is_sign_negative() && !number.is_zero() || number.scale() > places {
            let message = format!("`{}` is {text}", self.key);
            self.report(self.wrong(Code::OutOfRange, message).allowed(allowed));
            return None;
        }
        Some(number)
    }

    /// Two times of day, minutes since midnight: from, and to before which it ends; over midnight, if that is
    /// earlier.
    pub fn times_of_day_min(&self) -> Option<(u32, u32)> {
        let allowed = "two times of day, as in [\"19:00\", \"22:00\"]";
        let texts = if self.value.is_array() { self.texts() } else { Vec::new() };
        let [from, to] = texts.as_slice() else {
            self.wrong_type(allowed);
            return None;
        };
        let (Some(from), Some(to)) = (minutes(from.value), minutes(to.value)) else {
            self.report(
                self.wrong(Code::Malformed, format!("`{}` holds no times of day", self.key))
                    .allowed(allowed),
            );
            return None;
        };
        // what ends before it begins goes on over midnight
        if from != to && (from, to) != (1440, 0) {
            return Some((from, to));
        }
        let message = format!("`{}` ends when it begins", self.key);
        let problem = self.wrong(Code::OutOfRange, message).allowed(allowed);
        self.report(problem.help("leave it out for all day"));
        None
    }
}

/// The most that a number of a file may be: products of two stay far inside 128 bits.
pub(super) const MOST: u64 = 1_000_000_000_000;

/// What a range allows, in words.
fn describe(range: &RangeInclusive<u64>) -> String {
    let (least, most) = (range.start(), range.end());
    if *most >= MOST {
        format!("a whole number from {least}")
    } else {
        format!("a whole number from {least} to {most}")
    }
}

/// The value of an integer in any notation; `None` outside 64 bits.
pub(super) fn number(integer: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
}

/// The instant at which the day of a UTC noon begins in a zone.
fn local_midnight_us(utc_noon_us: i64, zone: Zone) -> i64 {
    // noon of that date in the zone lies in its day, whatever the zone did at midnight
    let local_noon_us = utc_noon_us.saturating_sub(zone.offset_us(utc_noon_us));
    zone.period_us(CalendarUnit::Day, local_noon_us).0
}

/// Minutes since midnight of `HH:MM`; `24:00` is the end of the day.
fn minutes(text: &str) -> Option<u32> {
    let (hour, minute) = text.split_once(':')?;
    let two = |part: &str| {
        let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse::<u32>().ok()).flatten()
    };
    let (hour, minute) = (two(hour)?, two(minute)?);
    let sane = (hour < 24 && minute < 60) || (hour, minute) == (24, 0);
    sane.then_some(hour * 60 + minute)
}
