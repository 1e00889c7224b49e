//! A token bucket, as Envoy's local rate limit, Stripe's limiter and Go's x/time/rate have it. Sources:
//! <https://github.com/envoyproxy/envoy/blob/main/source/extensions/filters/common/local_ratelimit/local_ratelimit_impl.cc>
//! (steps in older releases, continuous in newer ones), <https://github.com/golang/time/blob/master/rate/rate.go>.
//! Those count in floating point; here tokens are exact.

use super::critical::Critical;
use super::whole::{div_ceil, div_floor, nearest_i64, nearest_u64, product, since_us, span_us};
use super::{Algorithm, Bound, Level, Ready, Verdict};
use crate::units::rate::Rate;

/// A bucket that starts full.
///
/// A request passes iff at least its weight in tokens is there, and takes them. What is kept is how many
/// are missing, in units of 1 ÷ (the rate's period in µs) tokens, so that nothing is ever rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    /// Tokens when full: all that can pass at once.
    pub burst: u64,
    /// How it fills.
    pub refill: Refill,
}

/// How a bucket fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refill {
    /// Without steps.
    Continuous(Rate),
    /// So many tokens at once, each interval since the key's first request.
    Interval {
        /// Tokens.
        fill: u64,
        /// Length, microseconds.
        us: i64,
    },
}

/// What is remembered of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenBucketState {
    /// What is missing to a full bucket at `at_us`, in the refill's units; above the bucket's size
    /// where more was charged than it held.
    pub missing: i128,
    /// When that was so, microseconds; with steps the last step. `None` before the first charge.
    pub at_us: Option<i64>,
}

impl TokenBucket {
    /// Units in one token.
    #[inline]
    fn token(&self) -> i128 {
        match self.refill {
            Refill::Continuous(rate) => i128::from(rate.per_us.max(1)),
            Refill::Interval { .. } => 1,
        }
    }

    /// What comes in one step, and how long a step is, microseconds.
    #[inline]
    fn step(&self) -> (i128, i128) {
        match self.refill {
            Refill::Continuous(rate) => (i128::from(rate.count), 1),
            Refill::Interval { fill, us } => (i128::from(fill), i128::from(us.max(1))),
        }
    }

    /// What is missing at an instant, and the last step until then.
    #[inline]
    fn refilled(&self, state: &TokenBucketState, t_us: i64) -> (i128, i64) {
        let Some(at_us) = state.at_us else { return (0, t_us) };
        let (gain, length_us) = self.step();
        let elapsed_us = i128::from(since_us(at_us, t_us));
        let (steps, step_us) = if length_us == 1 {
            (elapsed_us, t_us.max(at_us))
        } else {
            let steps = div_floor(elapsed_us, length_us);
            (steps, nearest_i64(i128::from(at_us) + steps * length_us))
        };
        let missing = state.missing.saturating_sub(product(gain, steps)).max(0);
        (missing, step_us)
    }

    #[inline]
    fn cost(&self, weight: u64) -> i128 {
        product(i128::from(weight), self.token())
    }
}

impl Algorithm for TokenBucket {
    type State = TokenBucketState;

    fn fresh(&self) -> TokenBucketState {
        TokenBucketState::default()
    }

    fn ask(&self, state: &TokenBucketState, t_us: i64, weight: u64) -> Verdict {
        let (missing, _) = self.refilled(state, t_us);
        if missing.saturating_add(self.cost(weight)) <= self.cost(self.burst) {
            Verdict::Pass
        } else {
            Verdict::Refuse
        }
    }

    fn charge(&self, state: &mut TokenBucketState, t_us: i64, weight: u64) {
        let (missing, at_us) = self.refilled(state, t_us);
        state.missing = missing.saturating_add(self.cost(weight));
        state.at_us = Some(at_us);
    }

    #[expect(
        clippy::inline_always,
        reason = "the loop that decides all requests of a key lives by it"
    )]
    #[inline(always)]
    fn step(
        &self,
        state: &mut TokenBucketState,
        t_us: i64,
        weight: u64,
        _refusals_count: bool,
    ) -> (Verdict, i128) {
        let (missing, at_us) = self.refilled(state, t_us);
        let with = missing.saturating_add(self.cost(weight));
        if with > self.cost(self.burst) {
            return (Verdict::Refuse, missing);
        }
        state.missing = with;
        state.at_us = Some(at_us);
        (Verdict::Pass, with)
    }

    fn shift(&self, state: &mut TokenBucketState, by_us: i64) {
        if let Some(at_us) = &mut state.at_us {
            *at_us = at_us.saturating_add(by_us);
        }
    }

    fn ready(&self, state: &TokenBucketState, t_us: i64, weight: u64) -> Ready {
        if self.ask(state, t_us, weight).admits() {
            return Ready::At(t_us);
        }
        let (gain, length_us) = self.step();
        let Some(at_us) = state.at_us.filter(|_| weight <= self.burst && gain > 0) else {
            return Ready::Never;
        };
        let needed =
            state.missing.saturating_add(self.cost(weight)).saturating_sub(self.cost(self.burst));
        let wait_us = div_ceil(needed, gain).saturating_mul(length_us);
        Ready::At(nearest_i64(i128::from(at_us).saturating_add(wait_us)).max(t_us))
    }

    fn level(&self, state: &TokenBucketState, t_us: i64) -> Level {
        Level {
            used_milli: self.used_milli(self.fullness(state, t_us)),
            of_milli: self.burst.saturating_mul(1_000),
        }
    }

    fn used_milli(&self, missing: i128) -> u64 {
        nearest_u64(div_floor(missing.saturating_mul(1_000), self.token()))
    }

    fn fullness(&self, state: &TokenBucketState, t_us: i64) -> i128 {
        self.refilled(state, t_us).0
    }

    fn forgets_us(&self) -> Option<i64> {
        match self.refill {
            Refill::Continuous(rate) if rate.count > 0 => {
                Some(nearest_i64(div_ceil(self.cost(self.burst), i128::from(rate.count))))
            }
            // steps go on from the key's first request
            Refill::Continuous(_) | Refill::Interval { .. } => None,
        }
    }

    fn bound(&self, horizon_us: i64, tick_us: i64) -> Bound {
        let span_us = span_us(horizon_us, tick_us);
        let regained = match self.refill {
            Refill::Continuous(rate) => {
                i128::from(rate.count).saturating_mul(span_us).div_euclid(self.token())
            }
            Refill::Interval { fill, us } => {
                // a step can't fill more than the bucket holds
                let gain = i128::from(fill.min(self.burst));
                gain.saturating_mul(div_ceil(span_us, i128::from(us)))
            }
        };
        Bound::AtMost(nearest_u64(i128::from(self.burst).saturating_add(regained)))
    }
}

impl Critical for TokenBucket {
    fn resized(&self, size: u64) -> Self {
        Self { burst: size, ..*self }
    }

    fn size_for(&self, demand: i128) -> u64 {
        nearest_u64(div_ceil(demand, self.token()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn continuous(rate: &str, burst: u64) -> TokenBucket {
        TokenBucket { burst, refill: Refill::Continuous(Rate::parse(rate).unwrap()) }
    }

    fn drained(bucket: &TokenBucket, t_us: i64) -> TokenBucketState {
        let mut state = bucket.fresh();
        bucket.charge(&mut state, t_us, bucket.burst);
        state
    }

    #[test]
    fn a_bucket_starts_full_and_a_token_comes_back_in_its_time() {
        let bucket = continuous("10/s", 2);
        assert_eq!(bucket.ask(&bucket.fresh(), 0, 2), Verdict::Pass);
        assert_eq!(bucket.ready(&bucket.fresh(), 0, 3), Ready::Never);
        let state = drained(&bucket, 0);
        assert_eq!(bucket.ask(&state, 99_999, 1), Verdict::Refuse);
        assert_eq!(bucket.ask(&state, 100_000, 1), Verdict::Pass);
        assert_eq!(bucket.ready(&state, 0, 2), Ready::At(200_000));
        assert_eq!(bucket.level(&state, 50_000), Level { used_milli: 1_500, of_milli: 2_000 });
    }

    #[test]
    fn thirds_are_never_rounded() {
        let bucket = continuous("3/s", 2);
        let mut state = bucket.fresh();
        bucket.charge(&mut state, 0, 1);
        // three waits of 333,333.3 µs are a second exactly, not a microsecond more
        for t_us in [0, 333_334, 666_667, 1_000_000] {
            assert_eq!(bucket.ready(&state, 0, 1), Ready::At(t_us));
            bucket.charge(&mut state, t_us, 1);
        }
        assert_eq!(bucket.ask(&state, 1_333_333, 1), Verdict::Refuse);
        assert_eq!(bucket.ask(&state, 1_333_334, 1), Verdict::Pass);
    }

    #[test]
    fn steps_count_from_the_first_request() {
        let refill = Refill::Interval { fill: 2, us: 1_000 };
        let bucket = TokenBucket { burst: 5, refill };
        let mut state = bucket.fresh();
        bucket.charge(&mut state, 300, 5);
        assert_eq!(bucket.ask(&state, 1_299, 1), Verdict::Refuse);
        assert_eq!(bucket.ask(&state, 1_300, 2), Verdict::Pass);
        assert_eq!(bucket.ready(&state, 900, 3), Ready::At(2_300));
        bucket.charge(&mut state, 1_999, 1);
        // the next step is still at 2,300
        assert_eq!(bucket.ask(&state, 2_299, 2), Verdict::Refuse);
        assert_eq!(bucket.ask(&state, 2_300, 3), Verdict::Pass);
    }

    #[test]
    fn a_clock_that_goes_back_gives_nothing() {
        let bucket = continuous("10/s", 1);
        let state = drained(&bucket, 1_000_000);
        assert_eq!(bucket.ask(&state, 900_000, 1), Verdict::Refuse);
        assert_eq!(bucket.ready(&state, 900_000, 1), Ready::At(1_100_000));
    }

    #[test]
    fn the_bound_is_the_burst_and_what_flows_in_between_the_ticks() {
        let bucket = continuous("10/s", 5);
        assert_eq!(bucket.bound(1_000_000, 1), Bound::AtMost(14));
        assert_eq!(bucket.bound(1_000_001, 1), Bound::AtMost(15));
        let refill = Refill::Interval { fill: 9, us: 1_000 };
        let steps = TokenBucket { burst: 5, refill };
        assert_eq!(steps.bound(1, 1), Bound::AtMost(5));
        assert_eq!(steps.bound(2, 1), Bound::AtMost(10));
        assert_eq!(steps.bound(1_002, 1), Bound::AtMost(15));
    }
}
