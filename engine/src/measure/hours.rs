//! Times of day as the site's clocks show them, and the requests that arrive in them. A time that clocks
//! show twice, when they are put back, counts both times; one that they skip never comes.

use crate::traffic::bitmap::Bitmap;
use crate::units::span::{DAY_US, MINUTE_US, SECOND_US};
use crate::units::zone::Zone;

/// Times of day: from (inclusive) and to (exclusive), minutes since local midnight. Where it ends before it
/// begins, it goes on over midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimesOfDay {
    /// From, 0 to 1440.
    pub from_min: u32,
    /// To before which, 0 to 1440.
    pub to_min: u32,
    /// Whose clocks.
    pub zone: Zone,
}

impl TimesOfDay {
    /// When the clocks show these times in `[from, to)`: half-open stretches, microseconds since the epoch,
    /// ascending, none empty.
    pub fn stretches_us(self, from_us: i64, to_us: i64) -> Vec<(i64, i64)> {
        let mut list: Vec<(i64, i64)> = Vec::new();
        let mut since_us = from_us;
        while since_us < to_us {
            let change_us = self.zone.next_change_us(since_us, to_us).unwrap_or(to_us);
            let offset_us = self.zone.offset_us(since_us);
            let mut day_us = (since_us + offset_us).div_euclid(DAY_US) * DAY_US - offset_us;
            while day_us < change_us {
                for (begin_us, end_us) in self.of_a_day_us().into_iter().flatten() {
                    let begin_us = (day_us + begin_us).max(since_us);
                    let end_us = (day_us + end_us).min(change_us);
                    match list.last_mut() {
                        _ if begin_us >= end_us => {}
                        Some((_, last_us)) if *last_us == begin_us => *last_us = end_us,
                        _ => list.push((begin_us, end_us)),
                    }
                }
                day_us += DAY_US;
            }
            since_us = change_us;
        }
        list
    }

    /// The same in a day without changes, microseconds since midnight.
    fn of_a_day_us(self) -> [Option<(i64, i64)>; 2] {
        let (from_us, to_us) =
            (i64::from(self.from_min) * MINUTE_US, i64::from(self.to_min) * MINUTE_US);
        if from_us < to_us {
            [Some((from_us, to_us)), None]
        } else {
            [Some((0, to_us)), Some((from_us, DAY_US))]
        }
    }
}

/// The requests that arrive at some times of day: what a replay counts on its own, since something is
/// required of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InHours {
    /// The times; `None` for all.
    pub times: Option<TimesOfDay>,
    /// The requests.
    pub requests: Bitmap,
}

impl InHours {
    /// Of requests that arrive at these instants, ascending, microseconds since the epoch.
    pub fn new(times: Option<TimesOfDay>, arrivals_us: &[i64]) -> Self {
        let Some(of_day) = times else {
            return Self { times, requests: Bitmap::filled(arrivals_us.len(), true) };
        };
        let ends = arrivals_us.first().zip(arrivals_us.last());
        let stretches = ends.map_or_else(Vec::new, |(first, last)| {
            of_day.stretches_us(*first, last.saturating_add(1))
        });
        let mut left = stretches.iter().peekable();
        let requests = Bitmap::of(arrivals_us.len(), |event| {
            let Some(at_us) = arrivals_us.get(event) else { return false };
            while left.next_if(|(_, end_us)| end_us <= at_us).is_some() {}
            left.peek().is_some_and(|(begin_us, _)| begin_us <= at_us)
        });
        Self { times, requests }
    }

    /// Seconds of these times that a period touches, both of its ends included.
    pub fn seconds(&self, (first_us, last_us): (i64, i64)) -> u64 {
        let second_us = |us: i64| us.div_euclid(SECOND_US) * SECOND_US;
        let (from_us, to_us) = (second_us(first_us), second_us(last_us) + SECOND_US);
        let us: i64 = match self.times {
            None => to_us - from_us,
            Some(times) => {
                let stretches = times.stretches_us(from_us, to_us);
                stretches.iter().map(|(begin_us, end_us)| end_us - begin_us).sum()
            }
        };
        u64::try_from(us / SECOND_US).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::span::HOUR_US;
    use crate::units::time::parse_rfc3339;

    fn at(text: &str) -> i64 {
        parse_rfc3339(text).unwrap()
    }

    fn times(zone: &str, from_min: u32, to_min: u32) -> TimesOfDay {
        TimesOfDay { from_min, to_min, zone: Zone::parse(zone).unwrap() }
    }

    fn inside(times: TimesOfDay, arrivals: &[&str]) -> Vec<usize> {
        let arrivals: Vec<i64> = arrivals.iter().map(|text| at(text)).collect();
        InHours::new(Some(times), &arrivals).requests.iter().collect()
    }

    #[test]
    fn an_evening_is_that_of_the_sites_clocks_and_open_at_its_end() {
        let dinner = times("Asia/Kolkata", 19 * 60, 22 * 60);
        let arrivals = [
            "2026-11-24T19:00:00Z",
            "2026-11-25T13:29:59.999999Z",
            "2026-11-25T13:30:00Z",
            "2026-11-25T16:29:59.999999Z",
            "2026-11-25T16:30:00Z",
        ];
        assert_eq!(inside(dinner, &arrivals), [2, 3]);
    }

    #[test]
    fn a_night_goes_on_over_midnight() {
        let night = times("UTC", 22 * 60, 2 * 60);
        let arrivals = [
            "2026-11-24T21:59:59Z",
            "2026-11-24T22:00:00Z",
            "2026-11-25T00:00:00Z",
            "2026-11-25T01:59:59Z",
            "2026-11-25T02:00:00Z",
            "2026-11-25T23:00:00Z",
        ];
        assert_eq!(inside(night, &arrivals), [1, 2, 3, 5]);
        // both halves of a night are one stretch
        let day = (at("2026-11-24T12:00:00Z"), at("2026-11-25T12:00:00Z"));
        let stretch = (at("2026-11-24T22:00:00Z"), at("2026-11-25T02:00:00Z"));
        assert_eq!(night.stretches_us(day.0, day.1), [stretch]);
        // until midnight, written as the next day's beginning or as this one's end
        assert_eq!(inside(times("UTC", 22 * 60, 0), &arrivals), [1, 5]);
        assert_eq!(inside(times("UTC", 22 * 60, 24 * 60), &arrivals), [1, 5]);
    }

    #[test]
    fn an_hour_that_clocks_show_twice_counts_twice_and_one_they_skip_never_comes() {
        let small_hours = times("Europe/Berlin", 2 * 60, 3 * 60);
        let of = |from: &str, to: &str| -> i64 {
            let stretches = small_hours.stretches_us(at(from), at(to));
            stretches.iter().map(|(begin, end)| end - begin).sum()
        };
        assert_eq!(of("2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z"), 2 * HOUR_US);
        assert_eq!(of("2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z"), 0);
        assert_eq!(of("2026-06-01T12:00:00Z", "2026-06-02T12:00:00Z"), HOUR_US);
        // 02:30 before and after the clocks go back, and 03:00
        let arrivals = ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"];
        assert_eq!(inside(small_hours, &arrivals), [0, 1]);
    }

    #[test]
    fn an_attacks_seconds_are_those_within_the_times() {
        let dinner = times("UTC", 19 * 60, 22 * 60);
        let hours = InHours { times: Some(dinner), requests: Bitmap::default() };
        let period = (at("2026-11-24T21:59:50.5Z"), at("2026-11-25T19:00:09.5Z"));
        assert_eq!(hours.seconds(period), 10 + 10);
        let always = InHours { times: None, ..hours };
        assert_eq!(always.seconds((at("2026-11-24T00:00:00.9Z"), at("2026-11-24T00:00:01.1Z"))), 2);
    }

    proptest! {
        #[test]
        fn what_is_inside_is_what_the_clock_shows(
            from_min in 0_u32..=1440,
            to_min in 0_u32..=1440,
            offsets in prop::collection::vec(0_i64..400 * 24 * 60, 1..40),
            zone in prop::sample::select(vec!["UTC", "Asia/Kolkata", "Europe/Berlin", "America/New_York"]),
        ) {
            prop_assume!(from_min != to_min);
            let times = times(zone, from_min, to_min);
            let mut arrivals: Vec<i64> =
                offsets.iter().map(|minute| at("2026-01-01T00:00:00Z") + minute * MINUTE_US).collect();
            arrivals.sort_unstable();
            let shown = |at_us: i64| {
                let local_us = at_us + times.zone.offset_us(at_us);
                u32::try_from(local_us.rem_euclid(DAY_US) / MINUTE_US).unwrap()
            };
            let expected = Bitmap::of(arrivals.len(), |event| {
                let minute = shown(arrivals[event]);
                if from_min < to_min {
                    (from_min..to_min).contains(&minute)
                } else {
                    minute >= from_min || minute < to_min
                }
            });
            prop_assert_eq!(InHours::new(Some(times), &arrivals).requests, expected);
        }
    }
}
