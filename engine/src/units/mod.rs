//! Quantities and their text forms: time, spans, addresses, brackets. Knows no other room.

pub mod address;
pub mod bracket;
pub mod decimal;
pub mod escape;
pub mod hex;
pub mod span;
pub mod time;
