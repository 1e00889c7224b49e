//! One file per command: load, call the engine, write.

pub(crate) mod analyze;
pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod convert;
pub(crate) mod cost;
mod decisions;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod init;
pub(crate) mod metrics;
pub(crate) mod recommend;
pub(crate) mod replay;
mod story;
