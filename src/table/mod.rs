//! Rows as files: JSON Lines, CSV, and Parquet out and in. The only room that sees the data-frame
//! library.

mod cell;
pub(crate) mod csv;
pub(crate) mod decisions;
pub(crate) mod jsonl;
pub(crate) mod parquet;
pub(crate) mod parquet_in;

use std::borrow::Cow;
use std::collections::BTreeSet;

use shadowcap_engine::ingest::cells::{COLUMNS, Cell, Row};

/// Which columns are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Those that every format has.
    Default,
    /// And what the format has besides.
    All,
    /// These.
    Named(Vec<String>),
}

impl Columns {
    /// Whether rows need more than the default columns.
    pub(crate) fn wants_more(&self) -> bool {
        *self != Self::Default
    }

    /// The first column asked for that no log has; `more` are those there were besides the fixed.
    pub(crate) fn missing(&self, more: &BTreeSet<String>) -> Option<&str> {
        let Self::Named(names) = self else { return None };
        let known =
            |name: &String| more.contains(name) || COLUMNS.iter().any(|(fixed, _)| fixed == name);
        names.iter().find(|name| !known(name)).map(String::as_str)
    }

    /// A row's cells with their names, in order.
    fn of<'r>(&'r self, row: &'r Row<'_>) -> Vec<(&'r str, &'r Cell<'r>)> {
        let fixed = || COLUMNS.iter().map(|(name, _)| *name).zip(&row.cells);
        let more = || row.more.iter().map(|(name, cell)| (Cow::as_ref(name), cell));
        match self {
            Self::Default => fixed().collect(),
            Self::All => fixed().chain(more()).collect(),
            Self::Named(names) => names
                .iter()
                .map(|wanted| {
                    let found = fixed().chain(more()).find(|(name, _)| name == wanted);
                    (wanted.as_str(), found.map_or(&Cell::Null, |(_, cell)| cell))
                })
                .collect(),
        }
    }
}
