//! The policy file: limits as written, checked, and what is questionable about them.

pub mod coverage;
mod fleet;
mod limit;
pub mod lint;
pub mod read;

pub use crate::document::Place;
pub use limit::{
    Allow, Ban, Counters, Group, GroupCharge, KeyPart, Limit, LimitKey, MissingKey, Mode,
    OnStoreError, Policy, Queue, RetryAfter, Store, Strategy, Weight,
};
