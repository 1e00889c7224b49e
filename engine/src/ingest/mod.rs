//! From files to the event table: discover, open, decompress, cut into blocks, scan in parallel.

pub mod cells;
pub mod client;
mod conditions;
pub mod error;
mod extract;
mod instance;
mod join;
pub mod load;
mod open;
mod parse;
pub mod projection;
pub mod rows;
pub mod source;
pub mod summary;

#[cfg(test)]
mod replay_tests;
