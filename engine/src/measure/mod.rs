//! How fast clients really go: sliding peaks of every key, percentiles over keys, and what calendar
//! bins would have shown instead.

pub mod cohorts;
mod group;
pub mod hours;
pub mod peaks;
pub mod percentile;
pub mod population;
pub mod proxies;
pub mod shared;
pub mod suspects;
