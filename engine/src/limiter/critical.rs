//! The critical limit: the smallest size of a limiter that refuses none of a key's requests.
//!
//! As long as nothing was refused, what a limiter remembers of a key doesn't depend on its size. So a
//! limiter without end is fed each request, and tells the least size at which that one would have passed
//! too: the greatest of these is the critical limit. A smaller size refuses at least one request, whatever
//! it refused before: had it refused none, it would have come to the request that needs more. This needs
//! no limiter to be monotone, and bans change nothing of it.

use super::aws_waf::AwsWaf;
use super::concurrency::Concurrency;
use super::fixed_window::{FixedWindow, Window};
use super::gcra::Gcra;
use super::nginx::Nginx;
use super::sliding_counter::SlidingCounter;
use super::sliding_log::SlidingLog;
use super::token_bucket::TokenBucket;
use super::{Algorithm, Boundary, Limiter};

/// A size no traffic comes to.
const ENDLESS: u64 = u64::MAX;

/// An algorithm whose critical limit can be told. Its size is its limit; a bucket's is its burst, as the
/// algorithm's own parameter has it.
pub trait Critical: Algorithm + Sync {
    /// The same with another size.
    #[must_use]
    fn resized(&self, size: u64) -> Self;

    /// The same as [`Self::demand`] wants it: it refuses nothing.
    #[must_use]
    fn open(&self) -> Self
    where
        Self: Sized,
    {
        self.resized(ENDLESS)
    }

    /// Has an open limiter admit a request, and tells what that took, undivided: what
    /// [`Self::size_for`] gives of it is the least size at which the request passes, all before it having
    /// passed. It never falls as the size grows.
    #[inline]
    fn demand(&self, state: &mut Self::State, t_us: i64, weight: u64) -> i128 {
        self.step(state, t_us, weight, true).1
    }

    /// The least size for such a demand.
    fn size_for(&self, demand: i128) -> u64;
}

/// Work to be done with an algorithm whose size is open: written once, compiled for each.
pub trait SizingVisitor {
    /// What comes of it.
    type Output;

    /// Does it with an open limiter.
    fn visit<A: Critical>(self, open: &A) -> Self::Output
    where
        A::State: Send;
}

/// Why a limiter has no critical limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsized {
    /// It refuses whatever matches.
    RefusesAll,
    /// What can't start waits: it refuses nothing.
    RefusesNothing,
    /// Its windows end once they are full, so its limit decides where the next ones are.
    WindowsEndWhenFull,
}

impl Unsized {
    /// In words.
    pub fn why(self) -> &'static str {
        match self {
            Self::RefusesAll => "it refuses every request, whatever its size",
            Self::RefusesNothing => "requests wait instead of being refused",
            Self::WindowsEndWhenFull => {
                "a window ends once it is full, so another limit has other windows"
            }
        }
    }
}

macro_rules! sizings {
    ($($variant:ident: $parameters:ty;)+) => {
        /// An algorithm with its size left open; the size that it holds says nothing.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Sizing {
            $(#[doc = concat!("As [`Limiter::", stringify!($variant), "`].")] $variant($parameters),)+
        }

        impl Sizing {
            /// The limiter of a size: a limit, or a bucket's burst as the algorithm has it (of `gcra` the
            /// total, of `nginx` what passes beyond the first).
            pub fn limiter(&self, size: u64) -> Limiter {
                match self { $(Self::$variant(open) => Limiter::$variant(open.resized(size)),)+ }
            }

            /// Does work with the open limiter.
            pub fn visit<V: SizingVisitor>(&self, visitor: V) -> V::Output {
                match self { $(Self::$variant(open) => visitor.visit(&open.open()),)+ }
            }

            /// Its clock's step where nothing else is said, microseconds.
            pub fn tick_us(&self) -> i64 {
                match self { $(Self::$variant(open) => open.tick_us(),)+ }
            }
        }
    };
}

sizings! {
    Nginx: Nginx;
    FixedWindow: FixedWindow;
    SlidingLog: SlidingLog;
    SlidingCounter: SlidingCounter;
    TokenBucket: TokenBucket;
    Gcra: Gcra;
    Concurrency: Concurrency;
    AwsWaf: AwsWaf;
}

impl Sizing {
    /// A limiter's algorithm, its size left open.
    ///
    /// `nginx` is taken to free no idle keys: with `reclaim = "busy"` a key may start anew, which takes no
    /// more than this. `aws-waf` is taken to act at once, as in a replay's base case.
    ///
    /// # Errors
    ///
    /// If no size refuses nothing, or there is no size.
    pub fn of(limiter: &Limiter) -> Result<Self, Unsized> {
        Ok(match limiter {
            Limiter::Nginx(nginx) => Self::Nginx(*nginx),
            Limiter::FixedWindow(FixedWindow {
                window: Window::FirstRequest { boundary: Boundary::UntilFull, .. },
                ..
            }) => return Err(Unsized::WindowsEndWhenFull),
            Limiter::FixedWindow(window) => Self::FixedWindow(*window),
            Limiter::SlidingLog(log) => Self::SlidingLog(*log),
            Limiter::SlidingCounter(counter) => Self::SlidingCounter(*counter),
            Limiter::TokenBucket(bucket) => Self::TokenBucket(*bucket),
            Limiter::Gcra(gcra) => Self::Gcra(*gcra),
            Limiter::Concurrency(slots) => Self::Concurrency(*slots),
            Limiter::AwsWaf(waf) => Self::AwsWaf(AwsWaf { detect_us: 0, release_us: 0, ..*waf }),
            Limiter::Spacing(_) => return Err(Unsized::RefusesNothing),
            Limiter::Block(_) => return Err(Unsized::RefusesAll),
        })
    }

    /// The size of a limiter, in the terms of [`Self::limiter`]; `None` where it has none.
    pub fn size_of(limiter: &Limiter) -> Option<u64> {
        match limiter {
            Limiter::Nginx(nginx) => Some(nginx.burst),
            Limiter::FixedWindow(window) => Some(window.limit),
            Limiter::SlidingLog(log) => Some(log.limit),
            Limiter::SlidingCounter(counter) => Some(counter.limit),
            Limiter::TokenBucket(bucket) => Some(bucket.burst),
            Limiter::Gcra(gcra) => Some(gcra.burst_total),
            Limiter::Concurrency(slots) => Some(slots.limit),
            Limiter::AwsWaf(waf) => Some(waf.limit),
            Limiter::Spacing(_) | Limiter::Block(_) => None,
        }
    }

    /// The name that policies use for the algorithm.
    pub fn name(&self) -> &'static str {
        self.limiter(0).name()
    }

    /// Whether a request is held until it completes, and so its duration matters.
    pub fn counts_in_flight(&self) -> bool {
        matches!(self, Self::Concurrency(_))
    }

    /// Whether the requests refused at a size are just those that need more: where refused requests
    /// count no refusal makes room, and in fixed windows none does for requests of the same weight.
    /// Elsewhere a refusal spares later requests, and only a replay tells which.
    pub fn tells_requests(&self, same_weight: bool) -> bool {
        match self {
            Self::SlidingLog(log) => log.count_refused,
            Self::SlidingCounter(counter) => counter.count_refused,
            Self::FixedWindow(window) => same_weight || window.count_refused,
            Self::AwsWaf(_) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
#[path = "critical_tests.rs"]
mod tests;
