//! Time zones: what the offset is at an instant, and where local days and months begin.

use std::str::FromStr;

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, Offset, TimeZone, Utc};
use chrono_tz::Tz;
use thiserror::Error;

use super::span::{DAY_US, HOUR_US, SECOND_US};

/// A time zone of the IANA database, compiled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone(Tz);

/// Why a text names no zone.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{found}` is no time zone: use a name of the IANA database, as in UTC, Asia/Kolkata or Europe/Berlin"
)]
pub struct ZoneError {
    /// What was written.
    pub found: String,
}

/// A period of the civil calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarUnit {
    /// Midnight to midnight.
    Day,
    /// First to first of the next.
    Month,
}

impl Zone {
    /// Coordinated universal time.
    pub const UTC: Self = Self(Tz::UTC);

    /// Reads a name of the IANA database.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn parse(text: &str) -> Result<Self, ZoneError> {
        Tz::from_str(text).map(Self).map_err(|_| ZoneError { found: text.to_owned() })
    }

    /// Its name in the database.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// How far local time is ahead of UTC at an instant, microseconds.
    pub fn offset_us(self, instant_us: i64) -> i64 {
        if self == Self::UTC {
            return 0;
        }
        DateTime::<Utc>::from_timestamp_micros(instant_us).map_or(0, |utc| {
            let offset = self.0.offset_from_utc_datetime(&utc.naive_utc());
            i64::from(offset.fix().local_minus_utc()) * SECOND_US
        })
    }

    /// An instant as the zone's clocks show it, with milliseconds unless they are 0:
    /// `2026-11-24 19:02:11`, `2026-11-24 19:02:11.250`.
    pub fn format(self, instant_us: i64) -> String {
        DateTime::<Utc>::from_timestamp_micros(instant_us).map_or_else(
            || instant_us.to_string(),
            |utc| {
                let whole = instant_us.rem_euclid(SECOND_US) < 1_000;
                let form = if whole { "%Y-%m-%d %H:%M:%S" } else { "%Y-%m-%d %H:%M:%S%.3f" };
                utc.with_timezone(&self.0).format(form).to_string()
            },
        )
    }

    /// The civil period around an instant, `[begin, end)` in microseconds since the epoch; days and
    /// months are as long as the zone makes them.
    pub fn period_us(self, unit: CalendarUnit, instant_us: i64) -> (i64, i64) {
        self.civil_period(unit, instant_us).unwrap_or_else(|| {
            // outside the years a civil date can have
            let begin = instant_us.div_euclid(DAY_US) * DAY_US;
            (begin, begin + DAY_US)
        })
    }

    /// The first instant in `(after, until]` at which the offset is another than at `after`,
    /// microseconds. Two changes within a week that undo each other aren't seen.
    pub fn next_change_us(self, after_us: i64, until_us: i64) -> Option<i64> {
        if self == Self::UTC {
            return None;
        }
        let offset_us = self.offset_us(after_us);
        let mut same_us = after_us;
        while same_us < until_us {
            let mut other_us = same_us.saturating_add(7 * DAY_US).min(until_us);
            if self.offset_us(other_us) == offset_us {
                same_us = other_us;
                continue;
            }
            while other_us - same_us > 1 {
                let middle_us = same_us.midpoint(other_us);
                if self.offset_us(middle_us) == offset_us {
                    same_us = middle_us;
                } else {
                    other_us = middle_us;
                }
            }
            return Some(other_us);
        }
        None
    }

    /// Every change of the offset in `(after, until]`: when, and by how much, microseconds.
    pub fn changes_us(self, after_us: i64, until_us: i64) -> Vec<(i64, i64)> {
        let mut changes = Vec::new();
        let mut from_us = after_us;
        while let Some(at_us) = self.next_change_us(from_us, until_us) {
            changes.push((at_us, self.offset_us(at_us) - self.offset_us(from_us)));
            from_us = at_us;
        }
        changes
    }

    fn civil_period(self, unit: CalendarUnit, instant_us: i64) -> Option<(i64, i64)> {
        let utc = DateTime::<Utc>::from_timestamp_micros(instant_us)?;
        let shown = utc.with_timezone(&self.0).date_naive();
        // where clocks go back over midnight, the day that has begun goes on
        let next = shown.checked_add_days(Days::new(1))?;
        let today = if self.midnight_us(next)? <= instant_us { next } else { shown };
        let (first, next) = match unit {
            CalendarUnit::Day => (today, today.checked_add_days(Days::new(1))?),
            CalendarUnit::Month => {
                let first = today.with_day(1)?;
                (first, first.checked_add_months(Months::new(1))?)
            }
        };
        Some((self.midnight_us(first)?, self.midnight_us(next)?))
    }

    /// The first instant of a civil date; where midnight is skipped, the first that exists.
    fn midnight_us(self, date: NaiveDate) -> Option<i64> {
        let midnight = date.and_hms_opt(0, 0, 0)?;
        if let Some(time) = self.0.from_local_datetime(&midnight).earliest() {
            return Some(time.timestamp_micros());
        }
        // a gap over midnight: the day begins where the offset changes
        let around_us = midnight.and_utc().timestamp_micros();
        self.next_change_us(around_us - 24 * HOUR_US, around_us + 24 * HOUR_US)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::time::parse_rfc3339;

    fn at(text: &str) -> i64 {
        parse_rfc3339(text).unwrap()
    }

    #[test]
    fn offsets_follow_the_zone() {
        assert_eq!(Zone::parse("Asia/Kolkata").unwrap().offset_us(0), 19_800 * SECOND_US);
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        assert_eq!(berlin.offset_us(at("2026-07-01T00:00:00Z")), 2 * HOUR_US);
        assert!(Zone::parse("Mars/Olympus").is_err());
        let kolkata = Zone::parse("Asia/Kolkata").unwrap();
        assert_eq!(kolkata.format(1_250_000), "1970-01-01 05:30:01.250");
        assert_eq!(kolkata.format(1_000_000), "1970-01-01 05:30:01");
    }

    #[test]
    fn days_and_months_are_as_long_as_the_zone_makes_them() {
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        let (begin, end) = berlin.period_us(CalendarUnit::Day, at("2026-03-29T12:00:00Z"));
        assert_eq!((begin, end - begin), (at("2026-03-28T23:00:00Z"), 23 * HOUR_US));
        let (begin, end) = berlin.period_us(CalendarUnit::Day, at("2026-10-25T12:00:00Z"));
        assert_eq!((begin, end - begin), (at("2026-10-24T22:00:00Z"), 25 * HOUR_US));
        let month = Zone::UTC.period_us(CalendarUnit::Month, at("2024-02-10T00:00:00Z"));
        assert_eq!(month, (at("2024-02-01T00:00:00Z"), at("2024-03-01T00:00:00Z")));
    }

    #[test]
    fn a_day_whose_midnight_is_skipped_begins_where_the_gap_ends() {
        // Beirut went from 00:00 to 01:00 on 2021-03-28
        let beirut = Zone::parse("Asia/Beirut").unwrap();
        let (begin, end) = beirut.period_us(CalendarUnit::Day, at("2021-03-28T10:00:00Z"));
        assert_eq!((begin, end - begin), (at("2021-03-27T22:00:00Z"), 23 * HOUR_US));
    }

    #[test]
    fn a_day_that_a_zone_skips_is_empty_and_its_neighbours_meet() {
        // Apia went from 2011-12-29 to 2011-12-31
        let apia = Zone::parse("Pacific/Apia").unwrap();
        let skip = at("2011-12-30T10:00:00Z");
        assert_eq!(apia.period_us(CalendarUnit::Day, skip - 1), (skip - DAY_US, skip));
        assert_eq!(apia.period_us(CalendarUnit::Day, skip), (skip, skip + DAY_US));
    }

    #[test]
    fn a_day_that_clocks_fall_back_into_goes_on() {
        // St John's went back at 00:01, to 23:01 of the day before, on 2010-11-07
        let johns = Zone::parse("America/St_Johns").unwrap();
        let begin = at("2010-11-07T02:30:00Z");
        let expected = (begin, begin + 25 * HOUR_US);
        for instant in [begin, begin + 30 * 60 * SECOND_US, begin + HOUR_US + 60 * SECOND_US] {
            assert_eq!(johns.period_us(CalendarUnit::Day, instant), expected, "{instant}");
        }
    }

    #[test]
    fn changes_of_the_offset_are_found_to_the_microsecond() {
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        let changes = berlin.changes_us(at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z"));
        let spring = (at("2026-03-29T01:00:00Z"), HOUR_US);
        assert_eq!(changes, [spring, (at("2026-10-25T01:00:00Z"), -HOUR_US)]);
        assert_eq!(berlin.next_change_us(spring.0 - 1, spring.0), Some(spring.0));
        assert_eq!(berlin.next_change_us(spring.0, spring.0 + HOUR_US), None);
        assert_eq!(Zone::UTC.next_change_us(0, i64::MAX), None);
    }
}
