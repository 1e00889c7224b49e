//! One file per command: load, call the engine, write.

pub(crate) mod analyze;
pub(crate) mod convert;
