//! What a policy lets through of a paid action in the worst case, worked out from the files alone: the one
//! rule that lints, costs and requirements share.
//!
//! A limit counts for a paid action iff it enforces, its match covers the action's, `missing_key` lets
//! nobody pass for lack of the key, it is in force for the whole horizon, and the keys that an attacker can
//! have are bounded. Every limit that doesn't count is listed, with each of its reasons. A chain admits at
//! most what its tightest limit that counts does; `dedupe` bounds it where its keys are.
//!
//! - Local counters count once per instance there can be, unless a key always meets the same instance.
//! - `on_store_error = "allow"` voids a limit; `"local"` counts it once per instance, and a full limit more.
//! - A flush of the store that the site declares adds a full limit each; else counters are assumed to last.
//! - A ban that empties the state adds a full limit for each ban that fits.
//! - A provider's quota adds what the chain admits until the provider notices, once per period met.

mod action;
mod cap;
mod cover;
mod ground;
mod limit;
mod price;

pub use action::{Binding, Bounded, Out, action, requests};
pub use cap::{Cap, cheapest};
pub use cover::{covers, covers_statuses, overlaps};
pub use ground::Ground;
pub use limit::{Counted, Cure, LeftOut, in_flight, is_of_addresses, limit};
pub use price::{dearest, spend};

/// The least whole number of ticks that holds a span, microseconds.
pub(crate) fn whole_ticks(us: i64, tick_us: i64) -> i64 {
    let tick = tick_us.max(1);
    let rest = us.max(1).checked_rem(tick).unwrap_or(0);
    if rest == 0 { us.max(1) } else { us.saturating_add(tick - rest) }
}
