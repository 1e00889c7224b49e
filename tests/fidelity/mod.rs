//! The product's claim, tested: real enforcement points are asked, and a replay of the log they write
//! must decide as they did.

mod local;
mod nginx;
