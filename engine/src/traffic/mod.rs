//! The event table: what was read, in one stable order, as columns. Nobody above reads log text.

pub mod bitmap;
pub mod dictionary;
mod digest;
mod events;
mod facts;
mod observed;
mod part;
pub mod select;

pub use events::{Events, KeyColumn, KeyTexts, NO_DURATION, NONE, Traffic};
pub use observed::Observed;
