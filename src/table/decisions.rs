//! Decisions of a replay as Parquet: a row for each request and limit asked, in the order in which they
//! were decided.

use std::fs::File;

use polars::prelude::{
    BatchedWriter, Column, DataFrame, DataType, IntoColumn, NamedFrom, PolarsResult, Schema,
    Series, TimeUnit, TimeZone,
};

use super::parquet::writer;

/// Rows that are written as one row group.
const GROUP_ROWS: usize = 50_000;

/// One row.
#[derive(Debug)]
pub(crate) struct Decision {
    /// When the request reached the limit, microseconds since the epoch.
    pub(crate) time_us: i64,
    /// The policy.
    pub(crate) policy: String,
    /// The limit.
    pub(crate) limit: String,
    /// The limit's key, as a pseudonym unless revealed.
    pub(crate) key: String,
    /// The route or path template.
    pub(crate) route: Option<String>,
    /// `customer`, `attacker` or `unknown`.
    pub(crate) cohort: &'static str,
    /// The first attack rule that matches.
    pub(crate) rule: Option<String>,
    /// `pass`, `delay`, `refuse`, or `shadow`: would be refused.
    pub(crate) verdict: &'static str,
    /// How long it was held, microseconds.
    pub(crate) delay_us: i64,
    /// The log.
    pub(crate) file: Option<String>,
    /// The line in it, from 1.
    pub(crate) line: u32,
}

/// Writes rows to a file.
pub(crate) struct DecisionFile {
    file: Option<File>,
    writer: Option<BatchedWriter<File>>,
    rows: Vec<Decision>,
}

impl DecisionFile {
    /// A writer to an open file.
    pub(crate) fn new(file: File) -> Self {
        Self { file: Some(file), writer: None, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When the file can't be written.
    pub(crate) fn push(&mut self, row: Decision) -> Result<(), String> {
        self.rows.push(row);
        if self.rows.len() < GROUP_ROWS {
            return Ok(());
        }
        self.flush().map_err(|error| error.to_string())
    }

    /// Writes what is left and the file's end.
    ///
    /// # Errors
    /// When the file can't be written.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        self.flush()
            .and_then(|()| self.writer.as_ref().map_or(Ok(0), BatchedWriter::finish))
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    fn flush(&mut self) -> PolarsResult<()> {
        let rows = std::mem::take(&mut self.rows);
        let frame = frame(&rows)?;
        if let Some(file) = self.file.take() {
            let schema: Schema = frame
                .columns()
                .iter()
                .map(|column| (column.name().clone(), column.dtype().clone()))
                .collect();
            self.writer = Some(writer(file, &schema)?);
        }
        match &mut self.writer {
            Some(writer) => writer.write_batch(&frame),
            None => Ok(()),
        }
    }
}

fn frame(rows: &[Decision]) -> PolarsResult<DataFrame> {
    let instant = DataType::Datetime(TimeUnit::Microseconds, Some(TimeZone::UTC));
    let texts = |name: &str, of: &dyn Fn(&Decision) -> Option<String>| -> Column {
        Series::new(name.into(), rows.iter().map(of).collect::<Vec<_>>()).into_column()
    };
    let numbers = |name: &str, of: &dyn Fn(&Decision) -> i64| {
        Series::new(name.into(), rows.iter().map(of).collect::<Vec<_>>())
    };
    let columns = vec![
        numbers("time", &|row| row.time_us).cast(&instant)?.into_column(),
        texts("policy", &|row| Some(row.policy.clone())),
        texts("limit", &|row| Some(row.limit.clone())),
        texts("key", &|row| Some(row.key.clone())),
        texts("route", &|row| row.route.clone()),
        texts("cohort", &|row| Some(row.cohort.to_owned())),
        texts("rule", &|row| row.rule.clone()),
        texts("verdict", &|row| Some(row.verdict.to_owned())),
        numbers("delay_us", &|row| row.delay_us).into_column(),
        texts("file", &|row| row.file.clone()),
        numbers("line", &|row| i64::from(row.line)).into_column(),
    ];
    DataFrame::new(rows.len(), columns)
}

#[cfg(test)]
mod tests {
    use polars::prelude::{ParquetReader, SerReader};

    use super::*;

    #[test]
    fn rows_are_read_back_as_they_were_written() {
        let path = std::env::temp_dir().join(format!("decisions-{}.parquet", std::process::id()));
        let mut file = DecisionFile::new(File::create(&path).unwrap());
        for line in 1..=3 {
            file.push(Decision {
                time_us: 1_000_000 * i64::from(line),
                policy: "p".to_owned(),
                limit: "l".to_owned(),
                key: "ip:3f9c0a1b2c3d".to_owned(),
                route: (line > 1).then(|| "menu".to_owned()),
                cohort: "unknown",
                rule: None,
                verdict: "delay",
                delay_us: 7,
                file: Some("access.log".to_owned()),
                line,
            })
            .unwrap();
        }
        file.finish().unwrap();
        let frame = ParquetReader::new(File::open(&path).unwrap()).finish().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(frame.shape(), (3, 11));
        let names: Vec<&str> = frame.get_column_names().iter().map(|name| name.as_str()).collect();
        let expected = [
            "time", "policy", "limit", "key", "route", "cohort", "rule", "verdict", "delay_us",
            "file", "line",
        ];
        assert_eq!(names, expected);
        assert_eq!(frame.column("route").unwrap().null_count(), 1);
        assert_eq!(frame.column("line").unwrap().i64().unwrap().get(2), Some(3));
    }
}
