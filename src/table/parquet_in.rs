//! Parquet as `convert` writes it, read back as JSON Lines, so that it takes the same way as every
//! log: a row group at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use polars::prelude::{
    BooleanChunked, Column, DataType, Int64Chunked, ParallelStrategy, ParquetReader, PolarsResult,
    SerReader, StringChunked,
};
use shadowcap_engine::ingest::cells::Cell;

use super::cell;

/// What a Parquet file begins with.
const MAGIC: &[u8; 4] = b"PAR1";

/// Whether a file is Parquet.
pub(crate) fn is_parquet(path: &Path) -> bool {
    let mut magic = [0; 4];
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *MAGIC
}

/// The rows of a file as JSON Lines.
pub(crate) struct ParquetLines {
    path: PathBuf,
    /// Rows of each group that is still to be read, and the number of rows before it.
    groups: VecDeque<(usize, usize)>,
    columns: Vec<String>,
    lines: Vec<u8>,
    taken: usize,
}

impl ParquetLines {
    /// Opens a file.
    ///
    /// # Errors
    /// When it can't be read, or hasn't the columns that `convert` writes.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut reader = ParquetReader::new(File::open(path)?);
        let schema = reader.schema().map_err(broken)?;
        let has = |name: &str| schema.iter_names().any(|own| own.as_str() == name);
        let columns = schema.iter_names().map(ToString::to_string).collect();
        if !["time", "logged", "client_ip", "malformed"].into_iter().all(has) {
            let text = "has not the columns time, logged, client_ip and malformed, as shadowcap convert writes them";
            return Err(io::Error::other(text));
        }
        let mut before = 0;
        let mut groups = VecDeque::new();
        for group in &reader.get_metadata().map_err(broken)?.row_groups {
            groups.push_back((before, group.num_rows()));
            before += group.num_rows();
        }
        Ok(Self { path: path.to_owned(), groups, columns, lines: Vec::new(), taken: 0 })
    }

    /// Turns a group of rows into lines.
    fn fill(&mut self, group: (usize, usize)) -> io::Result<()> {
        let frame = ParquetReader::new(File::open(&self.path)?)
            .with_columns(Some(self.columns.clone()))
            .with_slice(Some(group))
            // the only strategy that skips the groups before without unpacking them
            .read_parallel(ParallelStrategy::RowGroups)
            .finish()
            .map_err(broken)?;
        self.lines.clear();
        self.taken = 0;
        let columns: Vec<Typed<'_>> =
            frame.columns().iter().map(Typed::of).collect::<PolarsResult<_>>().map_err(broken)?;
        for row in 0..frame.height() {
            for (index, column) in columns.iter().enumerate() {
                self.lines.push(if index == 0 { b'{' } else { b',' });
                column.write(row, &mut self.lines);
            }
            self.lines.extend_from_slice(b"}\n");
        }
        Ok(())
    }
}

/// A column with its name as JSON, and its values as what they are.
struct Typed<'f> {
    name: Vec<u8>,
    values: Values<'f>,
}

enum Values<'f> {
    Integers(&'f Int64Chunked),
    Times(&'f Int64Chunked),
    Bools(&'f BooleanChunked),
    Texts(&'f StringChunked),
}

impl<'f> Typed<'f> {
    fn of(column: &'f Column) -> PolarsResult<Self> {
        let mut name = Vec::new();
        cell::quoted(column.name(), &mut name);
        name.push(b':');
        let values = match column.dtype() {
            DataType::Int64 => Values::Integers(column.i64()?),
            DataType::Boolean => Values::Bools(column.bool()?),
            DataType::Datetime(..) => Values::Times(column.datetime()?.physical()),
            _ => Values::Texts(column.str()?),
        };
        Ok(Self { name, values })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.name);
        let cell = match &self.values {
            Values::Integers(list) => list.get(row).map(Cell::Integer),
            Values::Times(list) => list.get(row).map(Cell::Time),
            Values::Bools(list) => list.get(row).map(Cell::Bool),
            Values::Texts(list) => {
                // the text is escaped already
                return match list.get(row) {
                    Some(text) => cell::quoted(text, out),
                    None => cell::json(&Cell::Null, out),
                };
            }
        };
        cell::json(&cell.unwrap_or(Cell::Null), out);
    }
}

fn broken(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

impl Read for ParquetLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.lines.len() {
            let Some(group) = self.groups.pop_front() else { return Ok(0) };
            self.fill(group)?;
        }
        let left = &self.lines[self.taken..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}
