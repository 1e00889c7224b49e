//! Windows that a clock or a calendar cuts: which one an instant is in, when it ends, and the most of
//! them that an interval can meet. A zone that changes its offset cuts windows short or repeats them.

use super::whole::{div_ceil, div_floor, nearest_i64, span_us};
use crate::units::span::DAY_US;
use crate::units::zone::{CalendarUnit, Zone};

/// The years whose changes of offset a bound allows for: 2000 to 2060, microseconds since the epoch.
const YEARS_US: (i64, i64) = (946_684_800_000_000, 2_840_140_800_000_000);
/// Days of the months of a year that is no leap year.
const MONTH_DAYS: [i128; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// A stretch of time in which neither the window nor the zone's offset changes. Kept with a key's state, so
/// that the zone isn't asked about every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stretch {
    /// The window: its number on the clock, or when it began, microseconds.
    pub(super) window: i64,
    /// Where the window would have begun had the offset always been this, microseconds.
    pub(super) begin_us: i64,
    /// From, microseconds.
    from_us: i64,
    /// Until, microseconds, not included.
    until_us: i64,
}

impl Stretch {
    /// The civil period around an instant.
    pub(super) fn of_period(unit: CalendarUnit, zone: Zone, t_us: i64) -> Self {
        let (begin_us, until_us) = zone.period_us(unit, t_us);
        Self { window: begin_us, begin_us, from_us: begin_us, until_us }
    }

    /// Whether it covers an instant.
    #[inline]
    pub(super) fn covers(&self, t_us: i64) -> bool {
        self.from_us <= t_us && t_us < self.until_us
    }

    /// Itself if it covers an instant, else another that does.
    #[inline]
    pub(super) fn at(self, t_us: i64, other: impl FnOnce() -> Self) -> Self {
        if self.covers(t_us) { self } else { other() }
    }
}

/// Windows of one length, multiples of it on a zone's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockWindows {
    /// Length, microseconds, at least 1.
    pub(super) length_us: i64,
    /// Whose clock.
    pub(super) zone: Zone,
}

impl ClockWindows {
    /// The number of the window an instant is in.
    pub(super) fn number(self, t_us: i64) -> i64 {
        self.local_us(t_us).div_euclid(self.length_us.max(1))
    }

    /// The stretch that begins at an instant.
    #[inline]
    pub(super) fn stretch(self, t_us: i64) -> Stretch {
        let length_us = self.length_us.max(1);
        let local_us = self.local_us(t_us);
        let window = local_us.div_euclid(length_us);
        let begin_us =
            t_us.saturating_sub(local_us.saturating_sub(window.saturating_mul(length_us)));
        let end_us = begin_us.saturating_add(length_us);
        let until_us = self.zone.next_change_us(t_us, end_us).unwrap_or(end_us);
        Stretch { window, begin_us, from_us: t_us, until_us }
    }

    /// How far into its window an instant is, microseconds.
    pub(super) fn into_us(self, t_us: i64) -> i64 {
        self.local_us(t_us).rem_euclid(self.length_us.max(1))
    }

    /// The first instant after `t_us` that is in another window, microseconds.
    pub(super) fn end_us(self, t_us: i64) -> i64 {
        let number = self.number(t_us);
        let mut from_us = t_us;
        loop {
            let left_us = self.length_us.max(1).saturating_sub(self.into_us(from_us));
            let end_us = from_us.saturating_add(left_us);
            match self.zone.next_change_us(from_us, end_us) {
                None => return end_us,
                Some(change_us) if self.number(change_us) != number => return change_us,
                Some(change_us) => from_us = change_us,
            }
        }
    }

    fn local_us(self, t_us: i64) -> i64 {
        t_us.saturating_add(self.zone.offset_us(t_us))
    }

    /// The most windows that an interval `(a, a + horizon]` meets, for a clock of `tick_us`.
    ///
    /// A change of offset that doesn't shift the grid by whole windows, at one of its lines, ends a
    /// window early and begins another late: two more.
    pub(super) fn most_met(self, horizon_us: i64, tick_us: i64) -> i128 {
        let length_us = self.length_us.max(1);
        let span = span_us(horizon_us, tick_us);
        div_ceil(span, i128::from(length_us)) + 1 + 2 * self.most_cut(span)
    }

    /// The same for an interval that begins where a window does.
    pub(super) fn most_from_begin(self, horizon_us: i64, tick_us: i64) -> i128 {
        let length_us = self.length_us.max(1);
        if length_us.checked_rem(tick_us) != Some(0) {
            return self.most_met(horizon_us, tick_us);
        }
        let span = span_us(horizon_us, tick_us);
        div_floor(span, i128::from(length_us)) + 1 + 2 * self.most_cut(span)
    }

    /// The most changes of the offset that cut windows, of those that are at most `span` apart.
    fn most_cut(self, span: i128) -> i128 {
        let length_us = self.length_us.max(1);
        let cuts = |change: &(i64, i64)| {
            change.1.rem_euclid(length_us) != 0 || self.into_us(change.0) != 0
        };
        let changes = self.zone.changes_us(YEARS_US.0, YEARS_US.1).into_iter().filter(cuts);
        most_within(changes.map(|(at_us, _)| (at_us, 1)), span)
    }
}

/// The most civil days or months that an interval `(a, a + horizon]` meets, for a clock of `tick_us`.
///
/// Days are 24 h but for what the zone's clock jumps ahead within the interval; n months are at least
/// as long as the shortest n in a row.
pub(super) fn most_periods_met(
    unit: CalendarUnit,
    zone: Zone,
    horizon_us: i64,
    tick_us: i64,
) -> i128 {
    let span = span_us(horizon_us, tick_us);
    if span == 0 {
        return 1;
    }
    let local = longest_local(zone, span);
    let day = i128::from(DAY_US);
    match unit {
        CalendarUnit::Day => div_ceil(local, day) + 1,
        CalendarUnit::Month => {
            let mut between: i128 = 0;
            while shortest_months(between + 1) * day < local {
                between += 1;
            }
            between + 2
        }
    }
}

/// The same for an interval that begins where a day or month does.
pub(super) fn periods_from_begin(
    unit: CalendarUnit,
    zone: Zone,
    horizon_us: i64,
    tick_us: i64,
) -> i128 {
    let local = longest_local(zone, span_us(horizon_us, tick_us));
    let day = i128::from(DAY_US);
    match unit {
        CalendarUnit::Day => div_floor(local, day) + 1,
        CalendarUnit::Month => {
            let mut whole: i128 = 0;
            while shortest_months(whole + 1) * day <= local {
                whole += 1;
            }
            whole + 1
        }
    }
}

/// How far a zone's clock can go on in such a time, microseconds.
fn longest_local(zone: Zone, span: i128) -> i128 {
    let changes = zone.changes_us(YEARS_US.0, YEARS_US.1);
    let ahead = changes.into_iter().map(|(at_us, by_us)| (at_us, i128::from(by_us.max(0))));
    span + most_within(ahead, span)
}

/// Days of the shortest so many months in a row.
fn shortest_months(count: i128) -> i128 {
    let rest = usize::try_from(count.rem_euclid(12)).unwrap_or(0);
    let starts = 0..MONTH_DAYS.len();
    let days = |start| MONTH_DAYS.iter().cycle().skip(start).take(rest).sum::<i128>();
    count.div_euclid(12) * 365 + starts.map(days).min().unwrap_or(0)
}

/// The largest sum of amounts whose instants, in ascending order, are at most `span` apart.
fn most_within(amounts: impl Iterator<Item = (i64, i128)> + Clone, span: i128) -> i128 {
    let mut oldest = amounts.clone();
    let (mut sum, mut most) = (0, 0);
    let mut tail = oldest.next();
    for (at_us, amount) in amounts {
        sum += amount;
        while let Some((old_us, old)) = tail
            && i128::from(at_us) - i128::from(old_us) > span
        {
            sum -= old;
            tail = oldest.next();
        }
        most = most.max(sum);
    }
    most
}

/// When the civil period around an instant ends, microseconds.
pub(super) fn period_end_us(unit: CalendarUnit, zone: Zone, t_us: i64) -> i64 {
    let (_, end_us) = zone.period_us(unit, t_us);
    end_us.max(nearest_i64(i128::from(t_us) + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::span::{HOUR_US, MINUTE_US};
    use crate::units::time::parse_rfc3339;

    fn windows(length_us: i64, zone: &str) -> ClockWindows {
        ClockWindows { length_us, zone: Zone::parse(zone).unwrap() }
    }

    #[test]
    fn a_zone_shifts_where_windows_begin() {
        let kolkata = windows(HOUR_US, "Asia/Kolkata");
        let half_past = parse_rfc3339("2026-01-01T10:30:00Z").unwrap();
        assert_eq!(kolkata.into_us(half_past), 0);
        assert_eq!(kolkata.end_us(half_past - 1), half_past);
        assert_eq!(kolkata.end_us(half_past), half_past + HOUR_US);
        assert_eq!(kolkata.number(half_past - 1) + 1, kolkata.number(half_past));
    }

    #[test]
    fn a_change_of_offset_cuts_a_window_short_or_repeats_it() {
        // Berlin, 2026-03-29, 01:00 UTC: 02:00 becomes 03:00
        let change = parse_rfc3339("2026-03-29T01:00:00Z").unwrap();
        let day = windows(24 * HOUR_US, "Europe/Berlin");
        assert_eq!(day.end_us(change - 2 * HOUR_US), change + 21 * HOUR_US);
        let three = windows(3 * HOUR_US, "Europe/Berlin");
        assert_eq!(three.end_us(change - HOUR_US), change);
        // 2026-10-25, 01:00 UTC: 03:00 becomes 02:00, and that hour's window goes on
        let back = parse_rfc3339("2026-10-25T01:00:00Z").unwrap();
        assert_eq!(windows(HOUR_US, "Europe/Berlin").end_us(back - HOUR_US), back + HOUR_US);
    }

    #[test]
    fn an_interval_meets_so_many_windows_of_a_steady_clock() {
        let minutes = windows(MINUTE_US, "UTC");
        for (horizon_us, met) in [(1, 1), (2, 2), (MINUTE_US + 1, 2), (MINUTE_US + 2, 3)] {
            assert_eq!(minutes.most_met(horizon_us, 1), met, "{horizon_us}");
        }
        // an offset that moves by whole windows cuts none
        assert_eq!(windows(MINUTE_US, "Europe/Berlin").most_met(2, 1), 2);
        assert_eq!(windows(24 * HOUR_US, "Europe/Berlin").most_met(2, 1), 4);
    }

    #[test]
    fn days_and_months_are_met_at_their_shortest() {
        let (day, berlin) = (CalendarUnit::Day, Zone::parse("Europe/Berlin").unwrap());
        assert_eq!(most_periods_met(day, Zone::UTC, 1, 1), 1);
        assert_eq!(most_periods_met(day, Zone::UTC, DAY_US + 1, 1), 2);
        assert_eq!(most_periods_met(day, Zone::UTC, DAY_US + 2, 1), 3);
        assert_eq!(most_periods_met(day, berlin, 23 * HOUR_US + 1, 1), 2);
        assert_eq!(most_periods_met(day, berlin, 23 * HOUR_US + 2, 1), 3);
        let month = CalendarUnit::Month;
        assert_eq!(most_periods_met(month, Zone::UTC, 28 * DAY_US + 1, 1), 2);
        assert_eq!(most_periods_met(month, Zone::UTC, 28 * DAY_US + 2, 1), 3);
        assert_eq!(most_periods_met(month, Zone::UTC, 365 * DAY_US + 2, 1), 14);
        assert_eq!([1, 2, 3, 12, 13].map(shortest_months), [28, 59, 89, 365, 393]);
    }
}
