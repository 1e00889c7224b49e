//! Rows as JSON Lines.

use shadowcap_engine::ingest::cells::Row;
use shadowcap_engine::ingest::rows::RowSink;

use super::{Columns, cell};

/// Writes rows as JSON Lines.
#[derive(Debug)]
pub(crate) struct JsonLines {
    /// Which columns.
    pub(crate) columns: Columns,
}

impl RowSink for JsonLines {
    type Batch = Vec<u8>;

    fn push(&self, batch: &mut Vec<u8>, row: &Row<'_>) {
        let mut first = true;
        for (name, value) in self.columns.of(row) {
            batch.push(if first { b'{' } else { b',' });
            first = false;
            cell::quoted(name, batch);
            batch.push(b':');
            cell::json(value, batch);
        }
        batch.extend_from_slice(b"}\n");
    }
}
