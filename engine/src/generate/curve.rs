//! How the day and the week go: which share of a day's sessions begins when.

use chrono::{DateTime, Datelike, Timelike, Utc};

use crate::units::span::{DAY_US, HOUR_US};
use crate::units::zone::Zone;

/// Weights of the hours of a day and the days of a week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Curve {
    /// Of 0 to 24 h: any unit, at least one above 0.
    pub hours: [u64; 24],
    /// Of Monday to Sunday, thousandths of a usual day.
    pub days_milli: [u64; 7],
}

impl Curve {
    /// Every hour as every other.
    pub const FLAT: Self = Self { hours: [1; 24], days_milli: [1_000; 7] };

    /// What begins in the slice of `slice_us` from `from_us` on of `per_day_milli` a day and identity, in 2³²
    /// parts; the hour is that of the zone's clock at the slice's beginning.
    pub fn share(&self, zone: Zone, from_us: i64, slice_us: i64, per_day_milli: u64) -> u64 {
        let Some(local) = local(zone, from_us) else { return 0 };
        let hour = usize::try_from(local.hour()).unwrap_or(0);
        let day = usize::try_from(local.weekday().num_days_from_monday()).unwrap_or(0);
        let weight = self.hours.get(hour).copied().unwrap_or(0);
        let day_milli = self.days_milli.get(day).copied().unwrap_or(0);
        let all = u128::from(self.hours.iter().sum::<u64>()).max(1);
        let of_hour = u128::from(weight) * u128::from(day_milli) * u128::from(per_day_milli);
        let part = u128::from(slice_us.unsigned_abs()) << 32;
        let share = of_hour * part / (all * 1_000_000 * u128::from(HOUR_US.unsigned_abs()));
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// The most that [`Curve::share`] gives in any slice.
    pub fn peak_share(&self, slice_us: i64, per_day_milli: u64) -> u64 {
        let slices = (0..7 * 24).map(|hour| {
            // 1970-01-05 was a Monday
            let from_us = 4 * DAY_US + hour * HOUR_US;
            self.share(Zone::UTC, from_us, slice_us, per_day_milli)
        });
        slices.max().unwrap_or(0)
    }
}

/// The hour of the day, 0 to 23, of the zone's clock.
pub fn hour_of(zone: Zone, us: i64) -> u8 {
    local(zone, us).and_then(|local| u8::try_from(local.hour()).ok()).unwrap_or(0)
}

fn local(zone: Zone, us: i64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_micros(us.saturating_add(zone.offset_us(us)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_s_slices_hold_a_day_s_sessions() {
        let mut hours = [1; 24];
        hours[20] = 12;
        let curve = Curve { hours, days_milli: [1_000, 1_000, 1_000, 1_000, 1_000, 1_500, 1_000] };
        let zone = Zone::parse("Asia/Kolkata").unwrap();
        let slice_us = HOUR_US / 6;
        let day = |from_us: i64| -> u64 {
            (0..144).map(|at| curve.share(zone, from_us + at * slice_us, slice_us, 2_000)).sum()
        };
        // 2026-11-23 00:00 in India, a Monday
        let monday = 1_795_372_200_000_000;
        let whole = 1_u64 << 32;
        assert!((2 * whole - 200..=2 * whole).contains(&day(monday)));
        assert!((3 * whole - 200..=3 * whole).contains(&day(monday + 5 * DAY_US)));
        let dinner = curve.share(zone, monday + 20 * HOUR_US, slice_us, 2_000);
        assert_eq!(dinner / curve.share(zone, monday, slice_us, 2_000), 12);
        assert_eq!(curve.peak_share(slice_us, 2_000), dinner * 3 / 2);
    }
}
