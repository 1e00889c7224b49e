//! Log formats: one file each, and what tells them apart. Every format scans lines and writes them.

pub mod combined;
pub mod detect;
pub mod foreign;
pub mod record;
pub mod request;
pub mod skip;
pub mod template;
pub mod text;
pub mod writer_evidence;
