//! Numbers that a person would write, and the smallest of them that is enough.

use crate::limiter::nginx::Nginx;
use crate::units::rate::Rate;
use crate::units::span::{DAY_US, HOUR_US, MINUTE_US, SECOND_US};

/// Below ten: every number that isn't odd for its own sake.
const UNITS: [u64; 8] = [1, 2, 3, 4, 5, 6, 8, 10];
/// From ten on, times any power of ten.
const TENS: [u64; 11] = [10, 12, 15, 20, 25, 30, 40, 50, 60, 75, 80];
/// The greatest count that a policy may hold.
const MOST: u64 = 1_000_000_000_000;
/// Requests a minute that nginx stores exactly and people write; above, it is the ladder per second.
const NGINX_PER_MINUTE: [u64; 17] =
    [3, 6, 9, 12, 15, 24, 30, 45, 60, 75, 90, 120, 150, 240, 300, 450, 600];

/// The numbers a person would write, ascending: 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60,
/// 75, 80, 100, 120 and so on.
pub fn ladder() -> impl Iterator<Item = u64> {
    let tens = (0..11).flat_map(|power: u32| TENS.map(|number| number * 10_u64.pow(power)));
    UNITS.into_iter().take(UNITS.len() - 1).chain(tens).chain([MOST])
}

/// The smallest number of the [`ladder`] that isn't less; its last for what is more than that.
pub fn up(number: u64) -> u64 {
    ladder().find(|step| *step >= number).unwrap_or(MOST)
}

/// The greatest number of the [`ladder`] that isn't more; 1 for 0.
pub fn down(number: u64) -> u64 {
    ladder().take_while(|step| *step <= number).last().unwrap_or(1)
}

/// A count times a factor in thousandths, rounded up.
pub fn times(count: u64, milli: u64) -> u64 {
    let product = u128::from(count).saturating_mul(u128::from(milli)).div_ceil(1_000);
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// The least of these units in which so many per so long are five at least, with how many they are there,
/// rounded up; the last where they are fewer everywhere.
fn in_unit(count: u64, per_us: i64, units: &[i64]) -> (u64, i64) {
    let per = |unit_us: i64| {
        let product = u128::from(count) * u128::from(unit_us.unsigned_abs());
        let whole = product.div_ceil(u128::from(per_us.max(1).unsigned_abs()));
        (u64::try_from(whole).unwrap_or(u64::MAX), unit_us)
    };
    let enough = units.iter().map(|unit| per(*unit)).find(|(count, _)| *count >= 5);
    enough.or_else(|| units.last().map(|unit| per(*unit))).unwrap_or((count, per_us))
}

/// The rate that a person would write for at least so many per so long: in the unit of the window, if it
/// is one, else in the shortest of minute, hour and day in which it is five or more.
pub fn rate(count: u64, per_us: i64) -> Rate {
    let own = [SECOND_US, MINUTE_US, HOUR_US, DAY_US].into_iter().find(|unit| *unit == per_us);
    let (count, per_us) = match own {
        Some(unit_us) => (count, unit_us),
        None => in_unit(count, per_us, &[MINUTE_US, HOUR_US, DAY_US]),
    };
    Rate { count: up(count), per_us }
}

/// The same for nginx, which knows seconds and minutes and keeps thousandths of a request per second: only
/// rates that it keeps exactly, so that what is written is what holds. From three a minute.
pub fn nginx_rate(count: u64, per_us: i64) -> Rate {
    let wanted = Rate { count: count.max(1), per_us: per_us.max(1) };
    let per_minute = NGINX_PER_MINUTE.into_iter().map(|count| Rate { count, per_us: MINUTE_US });
    let per_second = ladder().map(|count| Rate { count, per_us: SECOND_US });
    let enough = |rate: &Rate| is_exact(*rate) && !slower(*rate, wanted);
    let last = Rate { count: 1_000_000_000, per_us: SECOND_US };
    per_minute.chain(per_second).find(enough).unwrap_or(last)
}

/// Whether nginx keeps a rate without truncating it.
pub fn is_exact(rate: Rate) -> bool {
    let stored = u128::from(Nginx::stored_rate(rate));
    let written = u128::from(rate.count) * 1_000 * u128::from(SECOND_US.unsigned_abs());
    stored * u128::from(rate.per_us.unsigned_abs()) == written
}

/// Whether one rate is less than another.
fn slower(rate: Rate, than: Rate) -> bool {
    u128::from(rate.count) * u128::from(than.per_us.unsigned_abs())
        < u128::from(than.count) * u128::from(rate.per_us.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_ladder_is_what_people_write() {
        let first: Vec<u64> = ladder().take(22).collect();
        let people =
            [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 75, 80, 100, 120, 150, 200];
        assert_eq!(first, people);
        assert!(ladder().is_sorted_by(|a, b| a < b));
        assert_eq!(ladder().last(), Some(MOST));
        // the design of the sample site: its busiest customers and its headrooms
        assert_eq!(up(times(4, 1_250)), 5);
        assert_eq!(up(times(60, 1_500)), 100);
        assert_eq!(up(times(3_000, 3_000)), 10_000);
        assert_eq!((up(0), up(u64::MAX), down(0), down(99)), (1, MOST, 1, 80));
    }

    #[test]
    fn rates_are_in_a_unit_people_use() {
        assert_eq!(rate(117, MINUTE_US).to_string(), "120/m");
        assert_eq!(rate(90, 10 * MINUTE_US).to_string(), "10/m");
        assert_eq!(rate(6, 10 * MINUTE_US).to_string(), "40/h");
        assert_eq!(rate(3, DAY_US).to_string(), "3/d");
        assert_eq!(nginx_rate(8, MINUTE_US).to_string(), "9/m");
        assert_eq!(nginx_rate(1, HOUR_US).to_string(), "3/m");
        assert_eq!(nginx_rate(601, MINUTE_US).to_string(), "12/s");
        assert!(!is_exact(Rate { count: 7, per_us: MINUTE_US }));
    }

    proptest! {
        #[test]
        fn nothing_is_rounded_down(count in 1_u64..1_000_000, windows in 1_i64..2_000) {
            let window_us = windows * 10 * SECOND_US;
            let wanted = Rate { count, per_us: window_us };
            prop_assert!(up(count) >= count && down(count) <= count);
            prop_assert!(!slower(rate(count, window_us), wanted));
            let nginx = nginx_rate(count, window_us);
            prop_assert!(!slower(nginx, wanted) && is_exact(nginx));
        }
    }
}
