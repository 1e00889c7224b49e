//! Log formats: one file each, and what tells them apart. Every format scans lines; `fields` says what
//! their fields mean, `scanner` is one of them ready for a file.

pub mod apache;
pub mod combined;
pub mod csv;
pub mod detect;
pub mod fields;
pub mod foreign;
pub mod json;
pub mod load_balancer;
pub mod log_format;
pub mod nginx;
pub mod parts;
pub mod record;
pub mod request;
pub mod scanner;
pub mod skip;
pub mod stamp;
pub mod template;
pub mod text;
pub mod wrap;
pub mod writer_evidence;
