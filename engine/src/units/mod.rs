//! Quantities and their text forms: time, spans, rates, zones, addresses, brackets. Knows no other
//! room.

pub mod address;
pub mod bracket;
pub mod decimal;
pub mod escape;
pub mod hex;
pub mod money;
pub mod rate;
pub mod slug;
pub mod span;
pub mod time;
pub mod zone;
