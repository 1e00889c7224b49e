//! TOML as the user wrote it: a tree with places, read through one small reader that reports every
//! problem and never stops at the first. Knows nothing of sites and policies.

mod item;
mod place;
mod problem;
mod reference;
mod schema;
mod shape;
mod table;
mod value;

pub use item::{At, Item};
pub use place::{Lines, Place};
pub use problem::{Code, Problem};
pub use reference::reference;
pub use schema::schema;
pub use shape::{Field, Kind, Need, Shape};
pub use table::{Document, Sink, Table, nearest};
