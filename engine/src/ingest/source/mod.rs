//! Where bytes come from: finding files, counting and digesting what is read, undoing compression,
//! cutting blocks at line ends. Knows no format.

pub mod blocks;
pub mod decode;
pub mod discover;
pub mod tap;
