//! Rows as CSV (RFC 4180). The header is that of the first row.

use csv::WriterBuilder;
use shadowcap_engine::ingest::cells::{COLUMNS, Cell, Row};
use shadowcap_engine::ingest::rows::RowSink;

use super::{Columns, cell};

/// Writes rows as CSV.
#[derive(Debug)]
pub(crate) struct Csv {
    /// Which columns.
    pub(crate) columns: Columns,
}

/// Rows as text, and the names of their columns.
#[derive(Debug, Default)]
pub(crate) struct CsvBatch {
    names: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
}

impl RowSink for Csv {
    type Batch = CsvBatch;

    fn push(&self, batch: &mut CsvBatch, row: &Row<'_>) {
        let cells = self.columns.of(row);
        if batch.names.is_empty() {
            batch.names = cells.iter().map(|(name, _)| (*name).to_owned()).collect();
        }
        let text = |value: &Cell<'_>| match value {
            Cell::Text(_) | Cell::List(_) => cell::plain(value).map(|text| cell::harmless(&text)),
            _ => cell::plain(value),
        };
        batch.rows.push(cells.into_iter().map(|(_, value)| text(value)).collect());
    }
}

/// Puts batches behind each other under one header.
#[derive(Debug, Default)]
pub(crate) struct CsvWriter {
    header: Vec<String>,
}

impl CsvWriter {
    /// The text of a batch; before the first the header. Columns that the first batch doesn't have are
    /// left out.
    pub(crate) fn write(&mut self, batch: &CsvBatch) -> Vec<u8> {
        let mut writer = WriterBuilder::new().from_writer(Vec::new());
        if self.header.is_empty() && !batch.names.is_empty() {
            self.header.clone_from(&batch.names);
            // a vector takes every byte, and all records have the header's length
            let _ = writer.write_record(&self.header);
        }
        let at: Vec<Option<usize>> =
            self.header.iter().map(|name| batch.names.iter().position(|own| own == name)).collect();
        for row in &batch.rows {
            let cells = at.iter().map(|at| at.and_then(|at| row.get(at)?.as_deref()).unwrap_or(""));
            let _ = writer.write_record(cells);
        }
        writer.into_inner().unwrap_or_default()
    }

    /// What is still to be written: the header, if there were no rows.
    pub(crate) fn rest(&self) -> Vec<u8> {
        if !self.header.is_empty() {
            return Vec::new();
        }
        let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        (names.join(",") + "\n").into_bytes()
    }
}
