//! Instants: whole microseconds since the Unix epoch, to and from RFC 3339 and civil dates.

use chrono::{DateTime, SecondsFormat};

use super::span::{DAY_US, HOUR_US, MINUTE_US, SECOND_US};

/// A civil date and time with its offset from UTC, as a log writes it.
#[derive(Debug, Clone, Copy)]
pub struct Civil {
    /// Year, 1 to 9999.
    pub year: u16,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
    /// Hour, 0 to 23.
    pub hour: u8,
    /// Minute, 0 to 59.
    pub minute: u8,
    /// Second, 0 to 60: a leap second is the first instant of the next minute.
    pub second: u8,
    /// Offset from UTC in minutes, east positive.
    pub offset_min: i16,
}

impl Civil {
    /// The instant in microseconds since the Unix epoch; `None` for a date that doesn't exist.
    ///
    /// Days are counted with March as the first month of a year, so that the leap day comes last
    /// (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`).
    pub fn instant_us(self) -> Option<i64> {
        let Self { year, month, day, hour, minute, second, offset_min } = self;
        if day == 0 || day > days_in_month(year, month)? || hour > 23 || minute > 59 || second > 60
        {
            return None;
        }
        if offset_min.unsigned_abs() > MOST_OFFSET_MIN {
            return None;
        }
        let shifted_year = i64::from(year) - i64::from(month <= 2);
        let era = shifted_year.div_euclid(400);
        let year_of_era = shifted_year.rem_euclid(400);
        let month_from_march = (i64::from(month) + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        let of_day = i64::from(hour) * HOUR_US
            + (i64::from(minute) - i64::from(offset_min)) * MINUTE_US
            + i64::from(second) * SECOND_US;
        let instant_us = days * DAY_US + of_day;
        YEARS_US.contains(&instant_us).then_some(instant_us)
    }
}

/// The farthest any zone is from UTC, minutes.
const MOST_OFFSET_MIN: u16 = 14 * 60;
/// Years 1 to 9999, which is what RFC 3339 can write.
const YEARS_US: std::ops::Range<i64> = -62_135_596_800 * SECOND_US..253_402_300_800 * SECOND_US;

/// Days of a month in the Gregorian calendar; `None` for a month outside 1 to 12 or year 0.
fn days_in_month(year: u16, month: u8) -> Option<u8> {
    if year == 0 {
        return None;
    }
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        4 | 6 | 9 | 11 => Some(30),
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            Some(29)
        }
        2 => Some(28),
        _ => None,
    }
}

/// Writes an instant as RFC 3339 in UTC with 6 decimals: `2015-05-17T10:05:03.000000Z`.
pub fn format_rfc3339(instant_us: i64) -> String {
    DateTime::from_timestamp_micros(instant_us).map_or_else(
        || instant_us.to_string(),
        |time| time.to_rfc3339_opts(SecondsFormat::Micros, true),
    )
}

/// Writes an instant for people, in UTC to the second: `2015-05-17 10:05:03`.
pub fn format_seconds(instant_us: i64) -> String {
    DateTime::from_timestamp_micros(instant_us)
        .map_or_else(|| instant_us.to_string(), |time| time.format("%Y-%m-%d %H:%M:%S").to_string())
}

/// Reads an RFC 3339 instant (`2015-05-17T10:05:03Z`, any offset); `None` if it isn't one.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_micros())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn civil(text: &str) -> Option<i64> {
        let n = |from: usize, to: usize| text[from..to].parse::<u16>().unwrap();
        let small = |from, to| u8::try_from(n(from, to)).unwrap();
        Civil {
            year: n(0, 4),
            month: small(5, 7),
            day: small(8, 10),
            hour: small(11, 13),
            minute: small(14, 16),
            second: small(17, 19),
            offset_min: 0,
        }
        .instant_us()
    }

    #[test]
    fn impossible_dates_are_none() {
        for text in ["2024-02-30T00:00:00", "2023-02-29T00:00:00", "1900-02-29T00:00:00"] {
            assert_eq!(civil(text), None, "{text}");
        }
        assert_eq!(civil("2024-13-01T00:00:00"), None);
        assert_eq!(civil("2024-06-00T00:00:00"), None);
        assert_eq!(civil("2024-06-01T24:00:00"), None);
    }

    #[test]
    fn a_leap_second_is_the_next_minute() {
        assert_eq!(civil("2016-12-31T23:59:60"), civil("2017-01-01T00:00:00"));
    }

    proptest! {
        #[test]
        fn civil_dates_agree_with_chrono(seconds in -62_135_596_800_i64..253_402_300_800) {
            let us = seconds * SECOND_US;
            let text = format_rfc3339(us);
            prop_assert_eq!(civil(&text), Some(us));
            prop_assert_eq!(parse_rfc3339(&text), Some(us));
        }
    }
}
