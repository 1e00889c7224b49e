//! Any limiter, and the state of any: one place that hands on to the algorithm's own file.

use super::aws_waf::{AwsWaf, AwsWafState};
use super::block::Block;
use super::concurrency::{Concurrency, ConcurrencyState};
use super::fixed_window::{FixedWindow, FixedWindowState};
use super::gcra::{Gcra, GcraState};
use super::nginx::{Nginx, NginxState};
use super::sliding_counter::{SlidingCounter, SlidingCounterState};
use super::sliding_log::{SlidingLog, SlidingLogState};
use super::spacing::{Spacing, SpacingState};
use super::token_bucket::{TokenBucket, TokenBucketState};
use super::{Algorithm, Bound, Level, Ready, Verdict, Visitor};

macro_rules! limiters {
    ($($variant:ident: $parameters:ty, $state:ty, $name:literal;)+) => {
        /// An algorithm with its parameters.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Limiter {
            $(#[doc = concat!("`", $name, "`.")] $variant($parameters),)+
        }

        /// What is remembered of one key of a [`Limiter`].
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum State {
            $(#[doc = concat!("Of `", $name, "`.")] $variant($state),)+
        }

        impl Limiter {
            /// The name that policies use.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)+ }
            }

            /// Does work with the algorithm that it holds.
            pub fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
                match self { $(Self::$variant(limiter) => visitor.visit(limiter),)+ }
            }

            /// Names of all algorithms.
            pub const NAMES: &'static [&'static str] = &[$($name),+];
        }

        impl Algorithm for Limiter {
            type State = State;

            fn fresh(&self) -> State {
                match self { $(Self::$variant(limiter) => State::$variant(limiter.fresh()),)+ }
            }

            // a state of another algorithm can't come here: replay makes each state by `fresh` of its
            // own limiter
            fn ask(&self, state: &State, t_us: i64, weight: u64) -> Verdict {
                match (self, state) {
                    $((Self::$variant(limiter), State::$variant(state)) => limiter.ask(state, t_us, weight),)+
                    _ => Verdict::Pass,
                }
            }

            fn charge(&self, state: &mut State, t_us: i64, weight: u64) {
                match (self, state) {
                    $((Self::$variant(limiter), State::$variant(state)) => limiter.charge(state, t_us, weight),)+
                    _ => {}
                }
            }

            fn charge_refused(&self, state: &mut State, t_us: i64, weight: u64) {
                match (self, state) {
                    $((Self::$variant(limiter), State::$variant(state)) => limiter.charge_refused(state, t_us, weight),)+
                    _ => {}
                }
            }

            fn complete(&self, state: &mut State, t_us: i64, weight: u64) {
                match (self, state) {
                    $((Self::$variant(limiter), State::$variant(state)) => limiter.complete(state, t_us, weight),)+
                    _ => {}
                }
            }

            fn shift(&self, state: &mut State, by_us: i64) {
                match (self, state) {
                    $((Self::$variant(limiter), State::$variant(state)) => limiter.shift(state, by_us),)+
                    _ => {}
                }
            }

            fn forgetting_matters(&self, state: &State, t_us: i64) -> bool {
                match (self, state) {
                    $((Self::$variant(limiter), State::$variant(state)) => limiter.forgetting_matters(state, t_us),)+
                    _ => false,
                }
            }

            fn ready(&self, state: &State, t_us: i64, weight: u64) -> Ready {
                match (self, state) {
                    $((Self::$variant(limiter), State::$variant(state)) => limiter.ready(state, t_us, weight),)+
                    _ => Ready::Never,
                }
            }

            fn level(&self, state: &State, t_us: i64) -> Level {
                match (self, state) {
                    $((Self::$variant(limiter), State::$variant(state)) => limiter.level(state, t_us),)+
                    _ => Level::default(),
                }
            }

            fn bound(&self, horizon_us: i64, tick_us: i64) -> Bound {
                match self { $(Self::$variant(limiter) => limiter.bound(horizon_us, tick_us),)+ }
            }

            fn forgets_us(&self) -> Option<i64> {
                match self { $(Self::$variant(limiter) => limiter.forgets_us(),)+ }
            }

            fn tick_us(&self) -> i64 {
                match self { $(Self::$variant(limiter) => limiter.tick_us(),)+ }
            }
        }
    };
}

limiters! {
    Nginx: Nginx, NginxState, "nginx";
    FixedWindow: FixedWindow, FixedWindowState, "fixed-window";
    SlidingLog: SlidingLog, SlidingLogState, "sliding-log";
    SlidingCounter: SlidingCounter, SlidingCounterState, "sliding-counter";
    TokenBucket: TokenBucket, TokenBucketState, "token-bucket";
    Gcra: Gcra, GcraState, "gcra";
    Spacing: Spacing, SpacingState, "spacing";
    Concurrency: Concurrency, ConcurrencyState, "concurrency";
    AwsWaf: AwsWaf, AwsWafState, "aws-waf";
    Block: Block, (), "block";
}
