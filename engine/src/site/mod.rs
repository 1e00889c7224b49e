//! What the user says about the site: how paths become routes, and what a key is made of.

pub mod key;
pub mod path;
pub mod pattern;
pub mod route;
