//! Replays requests through a policy as its enforcement points would decide them.

mod alarm;
pub mod arrangement;
mod asking;
mod cases;
mod clients;
mod duplicates;
pub(crate) mod fast;
mod fullest;
mod growth;
mod hours_tally;
mod instance_tally;
mod key_tally;
pub mod keys;
mod limit_count;
mod memory;
pub mod observer;
mod outage;
mod outage_tally;
pub mod plan;
pub mod prepare;
pub mod reference;
pub mod run;
mod side_by_side;
pub mod spend;
mod stage;
pub(crate) mod states;
pub mod sustained;
pub mod synced;
pub mod tally;
mod tiers;
pub mod timeline;
pub mod variant;
mod waiting;

pub use duplicates::DuplicateWatch;
pub use growth::FACTORS as GROWTH_FACTORS;
pub use hours_tally::{HoursLimitTally, HoursTally};
pub use key_tally::FillTally;
pub use outage_tally::OutageTally;
pub use tiers::spread;

#[cfg(test)]
pub(crate) mod equal;
#[cfg(test)]
mod tests;
