//! The frontier of a bucket: pairs of a rate and the smallest burst that together refuse nobody, or a
//! given share of the keys. A slower rate takes more burst; no pair is better than another in both.

use crate::limiter::critical::Sizing;
use crate::limiter::gcra::Gcra;
use crate::limiter::nginx::Nginx;
use crate::limiter::token_bucket::{Refill, TokenBucket};
use crate::units::rate::Rate;
use crate::units::span::{HOUR_US, MINUTE_US, SECOND_US};

use super::critical::{AskedKeys, CriticalLimits, OpenLimit, critical_limits};

/// Rates that a person would write, ascending: (requests, per microseconds).
const RATES: [(u64, i64); 41] = [
    (1, HOUR_US),
    (2, HOUR_US),
    (3, HOUR_US),
    (5, HOUR_US),
    (10, HOUR_US),
    (15, HOUR_US),
    (20, HOUR_US),
    (30, HOUR_US),
    (1, MINUTE_US),
    (2, MINUTE_US),
    (3, MINUTE_US),
    (4, MINUTE_US),
    (5, MINUTE_US),
    (6, MINUTE_US),
    (8, MINUTE_US),
    (10, MINUTE_US),
    (12, MINUTE_US),
    (15, MINUTE_US),
    (20, MINUTE_US),
    (30, MINUTE_US),
    (1, SECOND_US),
    (2, SECOND_US),
    (3, SECOND_US),
    (4, SECOND_US),
    (5, SECOND_US),
    (6, SECOND_US),
    (8, SECOND_US),
    (10, SECOND_US),
    (15, SECOND_US),
    (20, SECOND_US),
    (30, SECOND_US),
    (50, SECOND_US),
    (75, SECOND_US),
    (100, SECOND_US),
    (150, SECOND_US),
    (200, SECOND_US),
    (300, SECOND_US),
    (500, SECOND_US),
    (1_000, SECOND_US),
    (2_000, SECOND_US),
    (5_000, SECOND_US),
];
/// The slowest rate that nginx can be told: it knows seconds and minutes.
const SLOWEST_OF_NGINX: Rate = Rate { count: 1, per_us: MINUTE_US };

/// Rates that a person would write, ascending.
pub fn rates() -> impl Iterator<Item = Rate> {
    RATES.into_iter().map(|(count, per_us)| Rate { count, per_us })
}

/// A bucket with another rate; `None` for what is no bucket, and for a rate that nginx can't be told.
///
/// nginx keeps whole thousandths of a request per second, so `8r/m` is 133 of them: its critical burst is
/// that of the rate it keeps, which [`stored_milli`] tells.
pub fn at_rate(sizing: &Sizing, rate: Rate) -> Option<Sizing> {
    match sizing {
        Sizing::Nginx(nginx) => {
            let told = i128::from(rate.count) * i128::from(SLOWEST_OF_NGINX.per_us)
                >= i128::from(SLOWEST_OF_NGINX.count) * i128::from(rate.per_us);
            let unit = [SECOND_US, MINUTE_US].contains(&rate.per_us);
            let rate_milli = Nginx::stored_rate(rate);
            (told && unit).then_some(Sizing::Nginx(Nginx { rate_milli, ..*nginx }))
        }
        Sizing::TokenBucket(bucket) => {
            let refill = Refill::Continuous(rate);
            Some(Sizing::TokenBucket(TokenBucket { refill, ..*bucket }))
        }
        Sizing::Gcra(gcra) => Some(Sizing::Gcra(Gcra { rate, ..*gcra })),
        _ => None,
    }
}

/// What nginx keeps of a rate, thousandths of a request per second; `None` for other algorithms, which
/// keep rates as written (`gcra` to whole nanoseconds between requests).
pub fn stored_milli(sizing: &Sizing) -> Option<u64> {
    match sizing {
        Sizing::Nginx(nginx) => Some(nginx.rate_milli),
        _ => None,
    }
}

/// A rate with the smallest burst that is enough beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The rate, as written.
    pub rate: Rate,
    /// The bucket of this rate, its size left open.
    pub open: OpenLimit,
    /// The burst, as the algorithm's own size.
    pub burst: u64,
    /// Critical bursts of all keys at this rate.
    pub critical: CriticalLimits,
}

/// The frontier of a bucket: for each of these rates, ascending, the smallest burst that refuses at most
/// `refused_per_million` of the keys asked; rates whose burst is no smaller than that of a slower one are
/// left out. Empty for what is no bucket.
pub fn frontier(
    asked: &AskedKeys<'_>,
    bucket: &OpenLimit,
    rates: impl Iterator<Item = Rate>,
    refused_per_million: u64,
) -> Vec<Pair> {
    let at = |rate| {
        let sizing = at_rate(&bucket.sizing, rate)?;
        Some((rate, OpenLimit { sizing, tick_us: bucket.tick_us }))
    };
    let candidates: Vec<(Rate, OpenLimit)> = rates.filter_map(at).collect();
    let open: Vec<OpenLimit> = candidates.iter().map(|(_, open)| open.clone()).collect();
    let all = critical_limits(asked, &open);
    let keys = u64::try_from(asked.asked()).unwrap_or(u64::MAX);
    let spared = u128::from(keys) * u128::from(refused_per_million) / 1_000_000;
    let spared = usize::try_from(spared).unwrap_or(usize::MAX);
    let mut pairs: Vec<Pair> = Vec::new();
    for ((rate, open), critical) in candidates.into_iter().zip(all) {
        let burst = enough(&critical.limits, spared);
        if keys > 0 && pairs.last().is_none_or(|slower| burst < slower.burst) {
            pairs.push(Pair { rate, open, burst, critical });
        }
    }
    pairs
}

/// The smallest size that refuses at most so many keys.
pub fn enough(limits: &[u64], spared: usize) -> u64 {
    let mut limits = limits.to_vec();
    let Some(last) = limits.len().checked_sub(spared.saturating_add(1)) else { return 0 };
    *limits.select_nth_unstable(last).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::nginx::{Delay, Reclaim};

    #[test]
    fn rates_ascend_and_nginx_is_told_what_it_can_keep() {
        let per_hour = |rate: Rate| rate.count * u64::try_from(HOUR_US / rate.per_us).unwrap();
        assert!(rates().map(per_hour).is_sorted_by(|a, b| a < b));
        let (delay, reclaim) = (Delay::None, Reclaim::Busy);
        let nginx = Sizing::Nginx(Nginx { rate_milli: 1, burst: 0, delay, reclaim });
        let stored: Vec<Option<u64>> = rates()
            .take(15)
            .map(|rate| at_rate(&nginx, rate).and_then(|sizing| stored_milli(&sizing)))
            .collect();
        assert_eq!(stored[..8], [None; 8]);
        assert_eq!(stored[8..], [16, 33, 50, 66, 83, 100, 133].map(Some));
    }

    #[test]
    fn so_many_keys_may_be_refused() {
        let limits = [5, 1, 9, 7, 3];
        assert_eq!([0, 1, 4, 5, 99].map(|spared| enough(&limits, spared)), [9, 7, 1, 0, 0]);
        assert_eq!(enough(&[], 0), 0);
    }
}
