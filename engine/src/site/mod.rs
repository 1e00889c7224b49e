//! What the user says about the site: how paths become routes, what a key is made of, who the clients
//! are, what things cost and what must hold.

pub mod facts;
mod goals;
pub mod key;
pub mod labels;
pub mod matching;
pub mod metrics;
mod outage;
pub mod path;
pub mod pattern;
pub mod phone;
pub mod read;
pub mod route;

pub use facts::Site;
