//! Traffic with known truth: a scenario file becomes logs, in any format, and the truth beside them. The same
//! bytes for the same seed, on any number of threads, and for any span of time cut out of the whole.

pub mod address;
pub mod curve;
pub mod event;
pub mod line;
pub mod lognormal;
mod output;
pub mod random;
mod read;
pub mod scenario;
pub mod schedule;
pub mod sessions;
mod shape;
pub mod slices;
pub mod text;
pub mod truth;

pub use read::read;
pub use scenario::Scenario;
pub use shape::SCENARIO;
pub use slices::{Generated, generate};
pub use truth::Truth;
