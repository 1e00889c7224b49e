//! Replays requests through a policy as its enforcement points would decide them.

mod alarm;
pub mod arrangement;
mod asking;
mod duplicates;
mod key_tally;
pub mod observer;
pub mod prepare;
pub mod reference;
pub mod run;
mod states;
pub mod synced;
pub mod tally;
mod tiers;
pub mod timeline;
pub mod variant;
mod waiting;

pub use duplicates::DuplicateWatch;
pub use key_tally::FillTally;

#[cfg(test)]
mod tests;
