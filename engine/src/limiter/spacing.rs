//! Starts that are apart and few at a time: Bottleneck's `minTime` and `maxConcurrent`. Source:
//! `__register__` and `conditionsCheck` in
//! <https://github.com/SGrondin/bottleneck/blob/master/src/LocalDatastore.coffee>. What can't start waits:
//! the queue, its high-water mark and its strategy belong to the replay.

use super::whole::{div_ceil, nearest_i64, nearest_u64, since_us};
use super::{Algorithm, Bound, Level, Ready, Verdict};

/// Starts that are apart, and few at a time; what can't start waits.
///
/// A request may start iff the last start is at least `min_time` ago and its weight fits beside what is
/// in flight. Being asked is being asked "can it start now"; being charged is starting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spacing {
    /// Least time between starts, microseconds; 0 for none.
    pub min_time_us: i64,
    /// Most weight in flight.
    pub max_concurrent: Option<u64>,
}

/// What is remembered of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpacingState {
    /// The last start, microseconds.
    pub last_start_us: Option<i64>,
    /// Weight that has started and not completed.
    pub in_flight: u64,
}

impl Spacing {
    /// When the next start may be, as far as spacing goes, microseconds.
    fn next_start_us(&self, state: &SpacingState, t_us: i64) -> i64 {
        state.last_start_us.map_or(t_us, |last| last.saturating_add(self.min_time_us).max(t_us))
    }

    /// Has the distance to the next start counted from an instant, whatever start was planned: what
    /// Bottleneck's `BLOCK` does with the end of its penalty, microseconds.
    pub fn pause(&self, state: &mut SpacingState, until_us: i64) {
        state.last_start_us = Some(until_us);
    }

    fn fits(&self, state: &SpacingState, weight: u64) -> bool {
        self.max_concurrent.is_none_or(|most| state.in_flight.saturating_add(weight) <= most)
    }
}

impl Algorithm for Spacing {
    type State = SpacingState;

    fn fresh(&self) -> SpacingState {
        SpacingState::default()
    }

    fn ask(&self, state: &SpacingState, t_us: i64, weight: u64) -> Verdict {
        if self.fits(state, weight) && self.next_start_us(state, t_us) == t_us {
            Verdict::Pass
        } else {
            Verdict::Refuse
        }
    }

    fn charge(&self, state: &mut SpacingState, t_us: i64, weight: u64) {
        state.last_start_us = Some(state.last_start_us.map_or(t_us, |last| last.max(t_us)));
        state.in_flight = state.in_flight.saturating_add(weight);
    }

    fn complete(&self, state: &mut SpacingState, _t_us: i64, weight: u64) {
        state.in_flight = state.in_flight.saturating_sub(weight);
    }

    fn shift(&self, state: &mut SpacingState, by_us: i64) {
        if let Some(last_us) = &mut state.last_start_us {
            *last_us = last_us.saturating_add(by_us);
        }
    }

    fn ready(&self, state: &SpacingState, t_us: i64, weight: u64) -> Ready {
        if self.max_concurrent.is_some_and(|most| weight > most) {
            Ready::Never
        } else if self.fits(state, weight) {
            Ready::At(self.next_start_us(state, t_us))
        } else {
            Ready::AfterCompletion
        }
    }

    /// The fuller of the slots in use and the time still to wait.
    fn level(&self, state: &SpacingState, t_us: i64) -> Level {
        let waiting_us = i128::from(since_us(t_us, self.next_start_us(state, t_us)));
        let min_time_us = i128::from(self.min_time_us.max(1));
        let spaced = Level {
            used_milli: nearest_u64((waiting_us * 1_000).div_euclid(min_time_us)),
            of_milli: 1_000,
        };
        let Some(most) = self.max_concurrent else { return spaced };
        let slots = Level {
            used_milli: state.in_flight.saturating_mul(1_000),
            of_milli: most.saturating_mul(1_000),
        };
        let fuller = |a: Level, b: Level| {
            u128::from(a.used_milli) * u128::from(b.of_milli)
                > u128::from(b.used_milli) * u128::from(a.of_milli)
        };
        if fuller(spaced, slots) { spaced } else { slots }
    }

    /// Starts, whatever they weigh: weight takes slots, not time.
    fn bound(&self, horizon_us: i64, _tick_us: i64) -> Bound {
        if self.max_concurrent == Some(0) {
            Bound::AtMost(0)
        } else if self.min_time_us <= 0 {
            Bound::Unbounded
        } else {
            let starts = div_ceil(i128::from(horizon_us), i128::from(self.min_time_us));
            Bound::AtMost(nearest_i64(starts).max(0).unsigned_abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_apart_and_one_exactly_so_far_apart_is_allowed() {
        let spacing = Spacing { min_time_us: 250, max_concurrent: None };
        let mut state = spacing.fresh();
        assert_eq!(spacing.ask(&state, -7, 1), Verdict::Pass);
        spacing.charge(&mut state, 1_000, 1);
        assert_eq!(spacing.level(&state, 1_000), Level { used_milli: 1_000, of_milli: 1_000 });
        assert_eq!(spacing.ask(&state, 1_249, 1), Verdict::Refuse);
        assert_eq!(spacing.ready(&state, 1_100, 1), Ready::At(1_250));
        assert_eq!(spacing.ask(&state, 1_250, 1), Verdict::Pass);
    }

    #[test]
    fn what_is_in_flight_holds_its_slots() {
        let spacing = Spacing { min_time_us: 100, max_concurrent: Some(3) };
        let mut state = spacing.fresh();
        spacing.charge(&mut state, 0, 2);
        assert_eq!(spacing.ready(&state, 100, 2), Ready::AfterCompletion);
        assert_eq!(spacing.ready(&state, 0, 1), Ready::At(100));
        assert_eq!(spacing.ready(&state, 0, 4), Ready::Never);
        assert_eq!(spacing.level(&state, 0).used_milli, 1_000);
        assert_eq!(spacing.level(&state, 90), Level { used_milli: 2_000, of_milli: 3_000 });
        spacing.complete(&mut state, 50, 2);
        assert_eq!(spacing.ready(&state, 60, 3), Ready::At(100));
    }

    #[test]
    fn the_bound_counts_starts() {
        let spacing = Spacing { min_time_us: 250, max_concurrent: None };
        assert_eq!(spacing.bound(250, 1), Bound::AtMost(1));
        assert_eq!(spacing.bound(251, 1), Bound::AtMost(2));
        let slots = Spacing { min_time_us: 0, max_concurrent: Some(5) };
        assert_eq!(slots.bound(1, 1), Bound::Unbounded);
    }
}
