//! Rows as Parquet: instants as UTC microseconds, whole numbers as 64 bits, everything else as text
//! (lists as JSON). Compressed with zstd; one row group for each batch.

use std::fs::File;

use polars::prelude::{
    BatchedWriter, Column, DataFrame, DataType, IntoColumn, NamedFrom, ParquetCompression,
    ParquetWriter, PolarsResult, Schema, Series, StatisticsOptions, TimeUnit, TimeZone,
};
use shadowcap_engine::ingest::cells::{COLUMNS, Cell, ColumnKind, Row};
use shadowcap_engine::ingest::rows::RowSink;

use super::{Columns, cell};

/// Rows that are written as one row group.
const GROUP_ROWS: usize = 50_000;

/// Collects rows as columns.
#[derive(Debug)]
pub(crate) struct Parquet {
    /// Which columns.
    pub(crate) columns: Columns,
}

/// One column in the making.
#[derive(Debug)]
enum Values {
    Integers(Vec<Option<i64>>),
    Bools(Vec<Option<bool>>),
    Texts(Vec<Option<String>>),
}

/// Columns with their names.
#[derive(Debug, Default)]
pub(crate) struct ColumnBatch {
    names: Vec<String>,
    columns: Vec<Values>,
    rows: usize,
}

impl RowSink for Parquet {
    type Batch = ColumnBatch;

    fn push(&self, batch: &mut ColumnBatch, row: &Row<'_>) {
        let cells = self.columns.of(row);
        if batch.names.is_empty() {
            batch.names = cells.iter().map(|(name, _)| (*name).to_owned()).collect();
            batch.columns = batch.names.iter().map(|name| empty(kind_of(name))).collect();
        }
        for ((_, value), column) in cells.into_iter().zip(&mut batch.columns) {
            match (column, value) {
                (Values::Integers(list), Cell::Integer(number) | Cell::Time(number)) => {
                    list.push(Some(*number));
                }
                (Values::Integers(list), _) => list.push(None),
                (Values::Bools(list), Cell::Bool(yes)) => list.push(Some(*yes)),
                (Values::Bools(list), _) => list.push(None),
                (Values::Texts(list), value) => list.push(cell::plain(value)),
            }
        }
        batch.rows += 1;
    }
}

fn kind_of(name: &str) -> ColumnKind {
    COLUMNS.iter().find(|(known, _)| *known == name).map_or(ColumnKind::Text, |(_, kind)| *kind)
}

fn empty(kind: ColumnKind) -> Values {
    match kind {
        ColumnKind::Integer | ColumnKind::Time => Values::Integers(Vec::new()),
        ColumnKind::Bool => Values::Bools(Vec::new()),
        ColumnKind::Text => Values::Texts(Vec::new()),
    }
}

fn data_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::Time => DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC)),
        ColumnKind::Integer => DataType::Int64,
        ColumnKind::Bool => DataType::Boolean,
        ColumnKind::Text => DataType::String,
    }
}

/// Writes batches to a file.
pub(crate) struct ParquetFile {
    file: Option<File>,
    writer: Option<BatchedWriter<File>>,
    names: Vec<String>,
    waiting: ColumnBatch,
}

impl ParquetFile {
    /// A writer to an open file.
    pub(crate) fn new(file: File) -> Self {
        Self { file: Some(file), writer: None, names: Vec::new(), waiting: ColumnBatch::default() }
    }

    /// Adds a batch. Columns that the first batch doesn't have are left out.
    ///
    /// # Errors
    /// When the file can't be written.
    pub(crate) fn write(&mut self, batch: ColumnBatch) -> Result<(), String> {
        if batch.rows == 0 {
            return Ok(());
        }
        if self.names.is_empty() {
            self.names.clone_from(&batch.names);
        }
        self.waiting.append(batch, &self.names);
        let full = self.waiting.rows >= GROUP_ROWS;
        if full { self.flush().map_err(|error| error.to_string()) } else { Ok(()) }
    }

    /// Writes what is left and the file's end.
    ///
    /// # Errors
    /// When the file can't be written.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        if self.names.is_empty() {
            self.names = COLUMNS.iter().map(|(name, _)| (*name).to_owned()).collect();
            self.waiting.append(ColumnBatch::default(), &self.names.clone());
        }
        self.flush()
            .and_then(|()| self.writer.as_ref().map_or(Ok(0), BatchedWriter::finish))
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    fn flush(&mut self) -> PolarsResult<()> {
        let batch = std::mem::take(&mut self.waiting);
        let frame = batch.into_frame()?;
        if let Some(file) = self.file.take() {
            let schema: Schema = self
                .names
                .iter()
                .map(|name| (name.as_str().into(), data_type(kind_of(name))))
                .collect();
            self.writer = Some(writer(file, &schema)?);
        }
        match &mut self.writer {
            Some(writer) => writer.write_batch(&frame),
            None => Ok(()),
        }
    }
}

/// A writer of row groups, compressed, by one thread.
pub(super) fn writer(file: File, schema: &Schema) -> PolarsResult<BatchedWriter<File>> {
    ParquetWriter::new(file)
        .with_compression(ParquetCompression::Zstd(None))
        .with_statistics(StatisticsOptions::default())
        .set_parallel(false)
        .batched(schema)
}

impl ColumnBatch {
    /// Adds another batch's rows under these names.
    fn append(&mut self, mut other: Self, names: &[String]) {
        if self.names.is_empty() {
            self.names = names.to_vec();
            self.columns = names.iter().map(|name| empty(kind_of(name))).collect();
        }
        for (name, column) in self.names.iter().zip(&mut self.columns) {
            let theirs = other.names.iter().position(|own| own == name);
            match (column, theirs.and_then(|at| other.columns.get_mut(at))) {
                (Values::Integers(mine), Some(Values::Integers(more))) => mine.append(more),
                (Values::Bools(mine), Some(Values::Bools(more))) => mine.append(more),
                (Values::Texts(mine), Some(Values::Texts(more))) => mine.append(more),
                (Values::Integers(mine), _) => mine.extend((0..other.rows).map(|_| None)),
                (Values::Bools(mine), _) => mine.extend((0..other.rows).map(|_| None)),
                (Values::Texts(mine), _) => mine.extend((0..other.rows).map(|_| None)),
            }
        }
        self.rows += other.rows;
    }

    fn into_frame(self) -> PolarsResult<DataFrame> {
        let rows = self.rows;
        let mut columns: Vec<Column> = Vec::new();
        for (name, values) in self.names.iter().zip(self.columns) {
            let series = match values {
                Values::Integers(list) => Series::new(name.as_str().into(), list),
                Values::Bools(list) => Series::new(name.as_str().into(), list),
                Values::Texts(list) => Series::new(name.as_str().into(), list),
            };
            columns.push(series.cast(&data_type(kind_of(name)))?.into_column());
        }
        DataFrame::new(rows, columns)
    }
}
