//! A number of slots: nginx `limit_conn`, connection and worker pools. Source:
//! <https://github.com/nginx/nginx/blob/master/src/http/modules/ngx_http_limit_conn_module.c>, which
//! refuses at `conn >= limit` and frees a slot when the request is cleaned up.

use super::critical::Critical;
use super::whole::nearest_u64;
use super::{Algorithm, Bound, Level, Ready, Verdict};

/// A number of slots.
///
/// A request passes iff what is in flight and its own weight fit the limit; it holds them until it
/// completes. That a request holds its slots for at least a tick is seen to by whoever completes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    /// Most weight in flight.
    pub limit: u64,
}

/// What is remembered of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConcurrencyState {
    /// Weight that has started and not completed.
    pub in_flight: u64,
}

impl Algorithm for Concurrency {
    type State = ConcurrencyState;

    fn fresh(&self) -> ConcurrencyState {
        ConcurrencyState::default()
    }

    fn ask(&self, state: &ConcurrencyState, _t_us: i64, weight: u64) -> Verdict {
        if state.in_flight.saturating_add(weight) <= self.limit {
            Verdict::Pass
        } else {
            Verdict::Refuse
        }
    }

    fn charge(&self, state: &mut ConcurrencyState, _t_us: i64, weight: u64) {
        state.in_flight = state.in_flight.saturating_add(weight);
    }

    fn complete(&self, state: &mut ConcurrencyState, _t_us: i64, weight: u64) {
        state.in_flight = state.in_flight.saturating_sub(weight);
    }

    fn ready(&self, state: &ConcurrencyState, t_us: i64, weight: u64) -> Ready {
        if self.ask(state, t_us, weight).admits() {
            Ready::At(t_us)
        } else if weight > self.limit {
            Ready::Never
        } else {
            Ready::AfterCompletion
        }
    }

    fn level(&self, state: &ConcurrencyState, _t_us: i64) -> Level {
        Level {
            used_milli: state.in_flight.saturating_mul(1_000),
            of_milli: self.limit.saturating_mul(1_000),
        }
    }

    /// How many pass depends on how soon they complete.
    fn bound(&self, _horizon_us: i64, _tick_us: i64) -> Bound {
        if self.limit == 0 { Bound::AtMost(0) } else { Bound::Unbounded }
    }
}

impl Critical for Concurrency {
    fn resized(&self, size: u64) -> Self {
        Self { limit: size }
    }

    fn demand(&self, state: &mut ConcurrencyState, t_us: i64, weight: u64) -> i128 {
        self.charge(state, t_us, weight);
        i128::from(state.in_flight)
    }

    fn size_for(&self, demand: i128) -> u64 {
        nearest_u64(demand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_again_once_its_request_completes() {
        let slots = Concurrency { limit: 2 };
        let mut state = slots.fresh();
        slots.charge(&mut state, 0, 1);
        assert_eq!(slots.ask(&state, 0, 2), Verdict::Refuse);
        slots.charge(&mut state, 0, 1);
        assert_eq!(slots.ready(&state, 5, 1), Ready::AfterCompletion);
        assert_eq!(slots.level(&state, 5), Level { used_milli: 2_000, of_milli: 2_000 });
        slots.complete(&mut state, 9, 1);
        assert_eq!(slots.ready(&state, 9, 1), Ready::At(9));
    }

    #[test]
    fn more_than_all_slots_never_fits() {
        let slots = Concurrency { limit: 2 };
        assert_eq!(slots.ready(&slots.fresh(), 0, 3), Ready::Never);
        assert_eq!(slots.bound(1, 1), Bound::Unbounded);
        assert_eq!(Concurrency { limit: 0 }.bound(1, 1), Bound::AtMost(0));
    }
}
