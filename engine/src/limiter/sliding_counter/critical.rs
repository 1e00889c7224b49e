//! The smallest limit of a sliding counter that refuses none of a key's requests.

use super::super::critical::Critical;
use super::super::whole::{div_ceil, div_floor, nearest_u64};
use super::{Estimate, SlidingCounter, SlidingCounterState};

impl Critical for SlidingCounter {
    fn resized(&self, size: u64) -> Self {
        Self { limit: size, ..*self }
    }

    fn demand(&self, state: &mut SlidingCounterState, t_us: i64, weight: u64) -> i128 {
        self.cut(state, t_us);
        let now = self.with(state, state.stretch, t_us);
        *state = now.state;
        state.current = state.current.saturating_add(weight);
        self.used(state, now.into_us)
    }

    fn size_for(&self, demand: i128) -> u64 {
        nearest_u64(match self.estimate {
            Estimate::Interpolated => div_ceil(demand, self.length_us()),
            Estimate::Floored => div_floor(demand, self.length_us()),
        })
    }
}
