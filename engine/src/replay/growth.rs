//! How much more traffic a policy bears: it is replayed with less of everything, which is the same as more
//! requests against what it has.

use crate::limiter::Limiter;
use crate::limiter::token_bucket::Refill;
use crate::measure::cohorts::Cohort;
use crate::policy::{Limit, Policy};

use super::tally::{LimitTally, Tally};

/// The factors tried beside 1, hundredths, ascending.
pub const FACTORS: [u64; 4] = [110, 125, 150, 200];
/// What today's numbers count as, hundredths.
const TODAY: u64 = 100;

/// How much growth a policy bears.
#[derive(Debug, Clone, Copy)]
pub(super) struct FirstRefusal {
    /// The smallest factor at which anyone is refused who shouldn't be, hundredths; `None` if not even at the
    /// largest.
    pub(super) factor: Option<u64>,
    /// The limit that refuses most of them then.
    pub(super) by: Option<usize>,
}

/// The policy against so much growth, for each factor tried.
pub(super) fn shrunk(policy: &Policy) -> Vec<Policy> {
    let factors = if policy.limits.is_empty() { &[][..] } else { &FACTORS };
    factors.iter().map(|factor| by(policy, *factor)).collect()
}

/// The smallest of the factors 1, 1.1, 1.25, 1.5 and 2, in hundredths, at which the first customer is
/// refused, or anyone where nobody is known to be one; `today` is the replay at 1, `at` replays the n-th of
/// [`shrunk`] policies. `None` if stopped.
///
/// Each costs one replay of the base case, and none is made above the first that refuses.
pub(super) fn first_refusal(
    today: &Tally,
    shrunk: usize,
    at: impl Fn(usize) -> Option<Tally>,
) -> Option<FirstRefusal> {
    if refuses(today) {
        return Some(FirstRefusal { factor: Some(TODAY), by: refuses_most(today) });
    }
    for (number, factor) in FACTORS.iter().enumerate().take(shrunk) {
        let tally = at(number)?;
        if refuses(&tally) {
            return Some(FirstRefusal { factor: Some(*factor), by: refuses_most(&tally) });
        }
    }
    Some(FirstRefusal { factor: None, by: None })
}

/// Whether a customer is refused, or anyone where there is none.
fn refuses(tally: &Tally) -> bool {
    let customers = Cohort::ALL.iter().zip(&tally.cohorts);
    let customers = customers.filter(|(cohort, _)| **cohort == Cohort::Customer);
    let (known, refused) = customers.fold((0, 0), |(known, refused), (_, tally)| {
        (known + tally.identities, refused + tally.identities_refused)
    });
    if known > 0 { refused > 0 } else { tally.refused > 0 }
}

/// The limit that refuses most of those; the first of several.
fn refuses_most(tally: &Tally) -> Option<usize> {
    let known = tally.cohorts.first().is_some_and(|customers| customers.identities > 0);
    let of = |limit: &LimitTally| match limit.cohorts.first() {
        // what a limit in shadow would refuse counts among its cohorts
        Some(customers) if known && limit.shadow_refused == 0 => customers.identities_refused,
        Some(_) if known => 0,
        _ => limit.refused,
    };
    let refusing = tally.limits.iter().map(of).enumerate().filter(|(_, refused)| *refused > 0);
    refusing.rev().max_by_key(|(_, refused)| *refused).map(|(index, _)| index)
}

/// The policy with every limit, rate and burst divided by a factor in hundredths and rounded down.
fn by(policy: &Policy, factor: u64) -> Policy {
    let limits = policy.limits.iter();
    let limits =
        limits.map(|limit| Limit { limiter: limiter(&limit.limiter, factor), ..limit.clone() });
    Policy { limits: limits.collect(), ..policy.clone() }
}

fn limiter(of: &Limiter, factor: u64) -> Limiter {
    let mut less = of.clone();
    match &mut less {
        Limiter::Nginx(nginx) => {
            // in its own thousandths; without burst the first request still passes
            nginx.rate_milli = part(nginx.rate_milli, factor);
            nginx.burst = nginx.burst.saturating_mul(100) / factor.max(1);
        }
        Limiter::FixedWindow(fixed) => fixed.limit = part(fixed.limit, factor),
        Limiter::SlidingLog(log) => log.limit = part(log.limit, factor),
        Limiter::SlidingCounter(counter) => counter.limit = part(counter.limit, factor),
        Limiter::TokenBucket(bucket) => {
            bucket.burst = part(bucket.burst, factor);
            match &mut bucket.refill {
                Refill::Continuous(rate) => rate.count = part(rate.count, factor),
                Refill::Interval { fill, .. } => *fill = part(*fill, factor),
            }
        }
        Limiter::Gcra(gcra) => {
            gcra.rate.count = part(gcra.rate.count, factor);
            gcra.burst_total = part(gcra.burst_total, factor);
        }
        Limiter::Spacing(spacing) => {
            // a rate is less where starts are further apart
            let apart_us = i128::from(spacing.min_time_us).saturating_mul(i128::from(factor)) + 99;
            spacing.min_time_us = i64::try_from(apart_us / 100).unwrap_or(i64::MAX);
            spacing.max_concurrent = spacing.max_concurrent.map(|most| part(most, factor));
        }
        Limiter::Concurrency(concurrency) => concurrency.limit = part(concurrency.limit, factor),
        Limiter::AwsWaf(waf) => waf.limit = part(waf.limit, factor),
        Limiter::Block(_) => {}
    }
    less
}

/// A number ÷ a factor in hundredths, rounded down, never below 1 unless it was.
fn part(number: u64, factor: u64) -> u64 {
    let whole = u128::from(number).saturating_mul(100) / u128::from(factor.max(1));
    u64::try_from(whole).unwrap_or(number).max(number.min(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limiter::gcra::Gcra;
    use crate::limiter::nginx::{Delay, Nginx, Reclaim};
    use crate::limiter::spacing::Spacing;
    use crate::units::rate::Rate;

    #[test]
    fn everything_is_rounded_down_and_no_limit_is_below_one() {
        assert_eq!([110, 125, 150, 200].map(|factor| part(10, factor)), [9, 8, 6, 5]);
        assert_eq!((part(1, 200), part(0, 200), part(u64::MAX, 200)), (1, 0, u64::MAX / 2));
        let nginx =
            Nginx { rate_milli: 133, burst: 7, delay: Delay::After(3), reclaim: Reclaim::Busy };
        let less = Nginx { rate_milli: 88, burst: 4, ..nginx };
        assert_eq!(limiter(&Limiter::Nginx(nginx), 150), Limiter::Nginx(less));
        let spacing = Spacing { min_time_us: 333, max_concurrent: Some(1) };
        let apart = Spacing { min_time_us: 367, max_concurrent: Some(1) };
        assert_eq!(limiter(&Limiter::Spacing(spacing), 110), Limiter::Spacing(apart));
        let gcra = Gcra { rate: Rate::parse("60/m").unwrap(), burst_total: 1 };
        let slower = Gcra { rate: Rate::parse("54/m").unwrap(), burst_total: 1 };
        assert_eq!(limiter(&Limiter::Gcra(gcra), 110), Limiter::Gcra(slower));
    }
}
