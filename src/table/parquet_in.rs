//! Parquet as `convert` writes it, read back as JSON Lines, so that it takes the same way as every
//! log: a few thousand rows at a time.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use polars::prelude::{AnyValue, DataFrame, ParallelStrategy, ParquetReader, SerReader};
use shadowcap_engine::ingest::cells::{COLUMNS, Cell};

use super::cell;

/// Rows turned into lines at a time.
const ROWS: usize = 50_000;
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
    rows: usize,
    next: usize,
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
        let columns: Vec<String> =
            COLUMNS.iter().map(|(name, _)| (*name).to_owned()).filter(|name| has(name)).collect();
        if !["time", "logged", "client_ip", "malformed"].into_iter().all(has) {
            let text = "has not the columns time, logged, client_ip and malformed, as shadowcap convert writes them";
            return Err(io::Error::other(text));
        }
        let rows = reader.num_rows().map_err(broken)?;
        Ok(Self { path: path.to_owned(), rows, next: 0, columns, lines: Vec::new(), taken: 0 })
    }

    /// Turns the next rows into lines.
    fn fill(&mut self) -> io::Result<()> {
        let frame = ParquetReader::new(File::open(&self.path)?)
            .with_columns(Some(self.columns.clone()))
            .with_slice(Some((self.next, ROWS)))
            .read_parallel(ParallelStrategy::None)
            .finish()
            .map_err(broken)?;
        self.next += ROWS;
        self.lines.clear();
        self.taken = 0;
        for row in 0..frame.height() {
            self.line(&frame, row)?;
        }
        Ok(())
    }

    fn line(&mut self, frame: &DataFrame, row: usize) -> io::Result<()> {
        let mut first = true;
        for column in frame.columns() {
            let value = column.get(row).map_err(broken)?;
            let out = &mut self.lines;
            out.push(if first { b'{' } else { b',' });
            first = false;
            cell::quoted(column.name(), out);
            out.push(b':');
            match value {
                AnyValue::Int64(number) => cell::json(&Cell::Integer(number), out),
                AnyValue::Boolean(yes) => cell::json(&Cell::Bool(yes), out),
                AnyValue::Datetime(us, _, _) | AnyValue::DatetimeOwned(us, _, _) => {
                    cell::json(&Cell::Time(us), out);
                }
                // the text is escaped already
                AnyValue::String(text) => cell::quoted(text, out),
                AnyValue::StringOwned(text) => cell::quoted(&text, out),
                _ => cell::json(&Cell::Null, out),
            }
        }
        self.lines.extend_from_slice(b"}\n");
        Ok(())
    }
}

fn broken(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

impl Read for ParquetLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.lines.len() {
            if self.next >= self.rows {
                return Ok(0);
            }
            self.fill()?;
        }
        let left = &self.lines[self.taken..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Ok(count)
    }
}
