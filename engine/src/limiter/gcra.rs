//! The generic cell rate algorithm in whole nanoseconds, as redis-cell, governor, throttled and
//! `redis_rate` decide. Source: `Gcra::test_n_all_and_update` in
//! <https://github.com/boinkor-net/governor/blob/master/governor/src/gcra.rs>, whose emission interval is
//! truncated to whole nanoseconds and is at least one.

use super::critical::Critical;
use super::whole::{div_ceil, div_floor, nearest_i64, nearest_u64, product, span_us};
use super::{Algorithm, Bound, Level, Ready, Verdict};
use crate::units::rate::Rate;

/// Nanoseconds in a microsecond.
const US_NS: i128 = 1_000;

/// The generic cell rate algorithm in whole nanoseconds.
///
/// A key keeps the theoretical arrival time (tat) of its next request. A request of weight w at t passes
/// iff `t ≥ tat + (w − 1)·emission − (burst − 1)·emission`; then `tat = max(tat, t) + w·emission`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gcra {
    /// Sustained rate; the emission interval is its period ÷ its count, truncated to whole ns.
    pub rate: Rate,
    /// All that can pass at once (`burst_is = "extra"` is one more than written).
    pub burst_total: u64,
}

/// What is remembered of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GcraState {
    /// When the next request would arrive at the sustained rate, nanoseconds since the epoch; `None`
    /// for a key that was never charged.
    pub tat_ns: Option<i128>,
}

impl Gcra {
    /// Time between requests at the sustained rate, nanoseconds, at least 1.
    #[inline]
    pub fn emission_ns(&self) -> i128 {
        let period_ns = i128::from(self.rate.per_us) * US_NS;
        div_floor(period_ns, i128::from(self.rate.count)).max(1)
    }

    /// The first instant at which so much passes, nanoseconds.
    fn earliest_ns(&self, tat_ns: i128, weight: u64) -> i128 {
        let above = i128::from(weight) - i128::from(self.burst_total);
        tat_ns.saturating_add(above.saturating_mul(self.emission_ns()))
    }
}

impl Algorithm for Gcra {
    type State = GcraState;

    fn fresh(&self) -> GcraState {
        GcraState::default()
    }

    fn ask(&self, state: &GcraState, t_us: i64, weight: u64) -> Verdict {
        let now_ns = i128::from(t_us) * US_NS;
        let fits = weight <= self.burst_total;
        let tat_ns = state.tat_ns.unwrap_or(now_ns);
        if fits && now_ns >= self.earliest_ns(tat_ns, weight) {
            Verdict::Pass
        } else {
            Verdict::Refuse
        }
    }

    fn charge(&self, state: &mut GcraState, t_us: i64, weight: u64) {
        let now_ns = i128::from(t_us) * US_NS;
        let taken_ns = self.emission_ns().saturating_mul(i128::from(weight));
        let from_ns = state.tat_ns.unwrap_or(now_ns).max(now_ns);
        state.tat_ns = Some(from_ns.saturating_add(taken_ns));
    }

    #[expect(
        clippy::inline_always,
        reason = "the loop that decides all requests of a key lives by it"
    )]
    #[inline(always)]
    fn step(
        &self,
        state: &mut GcraState,
        t_us: i64,
        weight: u64,
        _refusals_count: bool,
    ) -> (Verdict, i128) {
        let now_ns = i128::from(t_us) * US_NS;
        let tat_ns = state.tat_ns.unwrap_or(now_ns);
        let emission_ns = self.emission_ns();
        let above = i128::from(weight) - i128::from(self.burst_total);
        let earliest_ns = tat_ns.saturating_add(product(above, emission_ns));
        if weight > self.burst_total || now_ns < earliest_ns {
            return (Verdict::Refuse, (tat_ns - now_ns).max(0));
        }
        let taken_ns = product(emission_ns, i128::from(weight));
        let next_ns = tat_ns.max(now_ns).saturating_add(taken_ns);
        state.tat_ns = Some(next_ns);
        (Verdict::Pass, next_ns - now_ns)
    }

    fn shift(&self, state: &mut GcraState, by_us: i64) {
        if let Some(tat_ns) = &mut state.tat_ns {
            *tat_ns += i128::from(by_us) * US_NS;
        }
    }

    fn ready(&self, state: &GcraState, t_us: i64, weight: u64) -> Ready {
        if weight > self.burst_total {
            return Ready::Never;
        }
        let Some(tat_ns) = state.tat_ns else { return Ready::At(t_us) };
        Ready::At(nearest_i64(div_ceil(self.earliest_ns(tat_ns, weight), US_NS)).max(t_us))
    }

    fn level(&self, state: &GcraState, t_us: i64) -> Level {
        Level {
            used_milli: self.used_milli(self.fullness(state, t_us)),
            of_milli: self.burst_total.saturating_mul(1_000),
        }
    }

    fn used_milli(&self, ahead_ns: i128) -> u64 {
        nearest_u64(div_floor(ahead_ns.saturating_mul(1_000), self.emission_ns()))
    }

    fn fullness(&self, state: &GcraState, t_us: i64) -> i128 {
        let now_ns = i128::from(t_us) * US_NS;
        (state.tat_ns.unwrap_or(now_ns) - now_ns).max(0)
    }

    fn forgets_us(&self) -> Option<i64> {
        // all that can be ahead is the whole burst
        let ahead_ns = product(i128::from(self.burst_total), self.emission_ns());
        Some(nearest_i64(div_ceil(ahead_ns, US_NS)))
    }

    fn bound(&self, horizon_us: i64, tick_us: i64) -> Bound {
        let span_ns = span_us(horizon_us, tick_us) * US_NS;
        let regained = span_ns.div_euclid(self.emission_ns());
        Bound::AtMost(nearest_u64(i128::from(self.burst_total) + regained))
    }
}

impl Critical for Gcra {
    fn resized(&self, size: u64) -> Self {
        Self { burst_total: size, ..*self }
    }

    fn size_for(&self, demand: i128) -> u64 {
        nearest_u64(div_ceil(demand, self.emission_ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gcra(rate: &str, burst_total: u64) -> Gcra {
        Gcra { rate: Rate::parse(rate).unwrap(), burst_total }
    }

    #[test]
    fn the_burst_passes_at_once_and_the_rest_an_emission_apart() {
        let gcra = gcra("10/s", 3);
        let mut state = gcra.fresh();
        for _ in 0..3 {
            assert_eq!(gcra.ask(&state, 7, 1), Verdict::Pass);
            gcra.charge(&mut state, 7, 1);
        }
        assert_eq!(gcra.level(&state, 7), Level { used_milli: 3_000, of_milli: 3_000 });
        assert_eq!(gcra.ready(&state, 7, 1), Ready::At(100_007));
        assert_eq!(gcra.ask(&state, 100_006, 1), Verdict::Refuse);
        assert_eq!(gcra.ask(&state, 100_007, 1), Verdict::Pass);
    }

    #[test]
    fn the_emission_is_truncated_to_whole_nanoseconds() {
        assert_eq!(gcra("3/s", 1).emission_ns(), 333_333_333);
        let third = gcra("3/s", 1);
        let mut state = third.fresh();
        third.charge(&mut state, 0, 1);
        // 333,333.333 µs: the next whole microsecond
        assert_eq!(third.ready(&state, 0, 1), Ready::At(333_334));
        let fastest = Gcra { rate: Rate { count: 5_000_000, per_us: 1_000 }, burst_total: 1 };
        assert_eq!(fastest.emission_ns(), 1);
    }

    #[test]
    fn weights_take_so_many_cells_or_none() {
        let gcra = gcra("1/s", 5);
        let mut state = gcra.fresh();
        assert_eq!(gcra.ready(&state, 0, 6), Ready::Never);
        assert_eq!(gcra.ask(&state, 0, 6), Verdict::Refuse);
        gcra.charge(&mut state, 0, 4);
        assert_eq!(gcra.ask(&state, 999_999, 2), Verdict::Refuse);
        assert_eq!(gcra.ask(&state, 1_000_000, 2), Verdict::Pass);
    }

    #[test]
    fn the_bound_is_the_burst_and_what_the_ticks_between_give_back() {
        let gcra = gcra("10/s", 3);
        assert_eq!(gcra.bound(1, 1), Bound::AtMost(3));
        assert_eq!(gcra.bound(100_000, 1), Bound::AtMost(3));
        assert_eq!(gcra.bound(100_001, 1), Bound::AtMost(4));
    }
}
