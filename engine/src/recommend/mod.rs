//! Which limit to set: what each key would need, what each limit would refuse, and how sure that is.

mod alone;
pub mod answer;
mod candidate;
mod choice;
mod choose;
mod chooser;
pub mod confidence;
pub mod critical;
pub mod curve;
mod evidence;
pub mod file_text;
mod form;
pub mod frontier;
mod ground;
pub mod holdout;
mod placed;
pub mod points;
pub mod policy_text;
pub mod protects;
pub mod requirements;
pub mod round;
pub mod sizing;
mod split;
mod trial;
mod why;

pub use choice::recommend;
