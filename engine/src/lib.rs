//! The rooms that read, decide or count. Nothing here prints, draws or parses arguments.
//!
//! Data walk through once: `ingest` reads logs into `traffic`, `measure` counts what is there. A room
//! imports only from rooms before it: units, site, format, traffic, ingest, measure.

#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::iter_over_hash_type
)]

pub mod calibrate;
pub mod cost;
pub mod document;
pub mod export;
pub mod format;
#[doc(hidden)]
pub mod fuzzing;
pub mod generate;
pub mod ingest;
pub mod limiter;
pub mod measure;
pub mod metric;
pub mod policy;
pub mod recommend;
pub mod replay;
pub mod site;
pub mod traffic;
pub mod units;
