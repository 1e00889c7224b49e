//! What a policy can cost and what it stops, in money and time: worst cases and attacks from the files
//! alone, replayed spend from a log, and the bill of what the limits run on.

mod alarm;
mod attack;
mod book;
mod figures;
mod infrastructure;

pub use alarm::Times;
pub use attack::{Attacked, Needed, Stops, attack, per_s};
pub use book::{BOOK, BUILT_IN, Book, read as read_book};
pub use figures::{Figures, Seen, bracket, figures, horizon_us};
pub use infrastructure::{Basis, ITEMS, Load, Month, Problem, bill};
