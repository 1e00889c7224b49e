//! The event table: what was read, in one stable order, as columns. Nobody above reads log text.

pub mod dictionary;
mod digest;
mod events;

pub use events::{Events, KeyColumn, KeyTexts, NONE, Traffic};
