//! What real enforcement points decide: one file per algorithm, each a pure step from (state,
//! arrival, weight) to a verdict. No clock, no I/O, no floats, no maps.

mod aligned;
pub mod aws_waf;
pub mod block;
mod clock;
pub mod concurrency;
pub mod critical;
pub mod fixed_window;
pub mod gcra;
#[expect(clippy::module_inception, reason = "any limiter is what the room is named after")]
mod limiter;
mod long_run;
pub mod nginx;
pub mod sliding_counter;
pub mod sliding_log;
pub mod spacing;
pub mod token_bucket;
mod whole;

use std::fmt::Debug;

pub use aligned::Grid;
pub use limiter::{Limiter, State};

/// What a limiter says to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// It goes on at once.
    Pass,
    /// It goes on after so many microseconds, at least 1.
    Delay {
        /// How long it is held, microseconds.
        us: i64,
    },
    /// It ends here.
    Refuse,
}

impl Verdict {
    /// Whether the request goes on, at once or later.
    pub fn admits(self) -> bool {
        self != Self::Refuse
    }
}

/// When a request that isn't admitted now would be, if nothing else happened to its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// At this instant, microseconds; not before the instant asked at.
    At(i64),
    /// Not before a request in flight completes.
    AfterCompletion,
    /// Never: it weighs more than the limit allows.
    Never,
}

/// How full a state is, in thousandths of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Level {
    /// What is used.
    pub used_milli: u64,
    /// What may be used.
    pub of_milli: u64,
}

/// Work to be done with an algorithm, whichever a [`Limiter`] holds: written once, compiled for each.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<A: Algorithm + Sync>(self, algorithm: &A) -> Self::Output
    where
        A::State: Send;
}

/// The most requests (by weight) that one key is ever admitted in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// So many at most.
    AtMost(u64),
    /// Nothing bounds them.
    Unbounded,
}

/// Whether the far end of a window still belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// What is exactly a window old has left it.
    Open,
    /// What is exactly a window old is still inside.
    Closed,
    /// What is exactly a window old is still inside unless the window is full: of fixed windows alone
    /// (BullMQ).
    UntilFull,
}

/// An algorithm with its parameters: three pure functions of a key's state, and what follows of them.
///
/// `t_us` is the arrival as the limiter's clock shows it: microseconds since the epoch, already floored
/// to the limiter's tick, and never before an earlier one of the same key by more than its clock errs.
pub trait Algorithm {
    /// What is remembered of one key.
    type State: Clone + Debug;

    /// The state of a key that was never seen.
    fn fresh(&self) -> Self::State;

    /// What the limiter says to a request, changing nothing.
    fn ask(&self, state: &Self::State, t_us: i64, weight: u64) -> Verdict;

    /// Accounts for a request that goes on, also where asking would refuse it by now: what is charged
    /// at its completion may find the state full.
    fn charge(&self, state: &mut Self::State, t_us: i64, weight: u64);

    /// Accounts for a request that this limiter refused: something only where refused requests count.
    fn charge_refused(&self, _state: &mut Self::State, _t_us: i64, _weight: u64) {}

    /// A request that was charged has ended: something only where requests in flight count.
    fn complete(&self, _state: &mut Self::State, _t_us: i64, _weight: u64) {}

    /// The earliest instant, not before `t_us`, at which [`Self::ask`] would admit the request if the
    /// key sent nothing else until then. A delay is an admission.
    fn ready(&self, state: &Self::State, t_us: i64, weight: u64) -> Ready;

    /// How full the state is at an instant, before any request of that instant.
    fn level(&self, state: &Self::State, t_us: i64) -> Level;

    /// What [`Level::used_milli`] is worked out from, undivided: a fuller state never has less. Whoever
    /// looks for the fullest needs the level itself of few states only.
    fn fullness(&self, state: &Self::State, t_us: i64) -> i128 {
        i128::from(self.level(state, t_us).used_milli)
    }

    /// [`Level::used_milli`] of a state that is so full: worked out from [`Self::fullness`] alone.
    fn used_milli(&self, fullness: i128) -> u64 {
        whole::nearest_u64(fullness)
    }

    /// Asks, accounts for the request (a refusal only if `refusals_count`), and tells
    /// [`Self::fullness`] after: as one by one, but what these have in common is worked out once.
    fn step(
        &self,
        state: &mut Self::State,
        t_us: i64,
        weight: u64,
        refusals_count: bool,
    ) -> (Verdict, i128) {
        let verdict = self.ask(state, t_us, weight);
        if verdict.admits() {
            self.charge(state, t_us, weight);
        } else if refusals_count {
            self.charge_refused(state, t_us, weight);
        }
        (verdict, self.fullness(state, t_us))
    }

    /// Whether a state that was idle for long could be forgotten by now, and what the next request finds
    /// would then be another: only where other keys' arrivals free idle ones.
    fn forgetting_matters(&self, _state: &Self::State, _t_us: i64) -> bool {
        false
    }

    /// How long without a request makes any state as good as fresh, microseconds, where anything does so and
    /// where a fresh state says the same, and is as full after, whenever it is asked; else `None`.
    fn forgets_us(&self) -> Option<i64> {
        None
    }

    /// Makes a state as good as fresh, keeping its memory for the next key.
    fn reset(&self, state: &mut Self::State) {
        *state = self.fresh();
    }

    /// The most weight that a key is admitted in any interval `(a, a + horizon]`, for a clock of
    /// `tick_us`; `horizon_us` is a whole number of ticks, at least one. Every request weighs at least
    /// 1. Under `spacing`, whose weights take slots but no time, starts are counted.
    fn bound(&self, horizon_us: i64, tick_us: i64) -> Bound;

    /// As if everything remembered of the key had happened so much later, microseconds (earlier if
    /// negative). Counts that belong to windows of a clock, and requests in flight, stay where they are.
    fn shift(&self, _state: &mut Self::State, _by_us: i64) {}

    /// The clock's step where the policy names none, microseconds.
    fn tick_us(&self) -> i64 {
        1
    }
}

#[cfg(test)]
pub(crate) mod properties;
