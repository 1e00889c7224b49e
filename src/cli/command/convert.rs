//! `convert`: the requests of logs as rows, in input order, in constant memory, nothing masked.

use std::collections::BTreeSet;
use std::path::Path;

use shadowcap_engine::ingest::cells::COLUMNS;
use shadowcap_engine::ingest::load::LoadOptions;
use shadowcap_engine::ingest::rows::{RowSink, RowSummary, rows};
use shadowcap_engine::ingest::source::discover::Found;
use shadowcap_engine::ingest::summary::Damage;

use crate::cli::args::ConvertArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Target;
use crate::cli::progress::Progress;
use crate::cli::{diagnostics, inputs, reading, setting, signals};
use crate::table::Columns;
use crate::table::csv::{Csv, CsvWriter};
use crate::table::jsonl::JsonLines;
use crate::table::parquet::{Parquet, ParquetFile};

/// What rows become.
#[derive(Clone, Copy)]
enum Form {
    JsonLines,
    Csv,
    Parquet,
}

/// Runs the command.
///
/// # Errors
/// When the arguments can't be used, or nothing can be read or written.
pub(crate) fn run(args: &ConvertArgs) -> Result<Exit, Failure> {
    let form = form(&args.out)?;
    let columns = match args.columns.as_str() {
        "default" => Columns::Default,
        "all" => Columns::All,
        names => Columns::Named(column_names(names)?),
    };
    let site = reading::site(setting::read_site(args.site.site.as_deref())?, &args.keys)?;
    let options = reading::options(&args.input, &args.keys, &args.machine, &site)?;
    let target = Target::open(&args.out)?;
    let stop = signals::listen().map_err(|error| Failure::System(error.to_string()))?;
    let found = inputs::find(&args.input.logs)?;
    inputs::refuse_to_replace(&found, &target, "--out")?;
    let shown = !args.no_progress && !args.quiet;
    let progress = Progress::new(inputs::total_bytes(&found), shown, stop);
    let pool = inputs::pool(options.threads)?;
    let job = Job { found: &found, options: &options, progress: &progress };
    let summary = pool.install(|| match form {
        Form::JsonLines => job.json_lines(&columns, target),
        Form::Csv => job.csv(&columns, target),
        Form::Parquet => job.parquet(&columns, target),
    });
    progress.clear();
    let summary = summary?;
    if !args.quiet {
        tell(&summary);
    }
    let bad = u128::from(summary.skips.unreadable());
    let meant = bad + u128::from(summary.requests);
    let too_many = bad * 1_000_000 > u128::from(args.input.max_bad.per_million) * meant;
    Ok(if too_many { Exit::Input } else { Exit::Fine })
}

fn column_names(text: &str) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for name in text.split(',').map(str::trim) {
        if name.is_empty() || names.iter().any(|known| known == name) {
            return Err(Failure::Usage(format!(
                "--columns {text}: each column once, as in time,client_ip"
            )));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn no_column(name: &str, more: &BTreeSet<String>) -> Failure {
    let known = COLUMNS.iter().map(|(fixed, _)| *fixed).chain(more.iter().map(String::as_str));
    let known = known.collect::<Vec<_>>().join(", ");
    Failure::Usage(format!("--columns {name}: no log read has that column; there are {known}"))
}

fn form(out: &str) -> Result<Form, Failure> {
    let extension = Path::new(out).extension().and_then(|extension| extension.to_str());
    match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("parquet") => Ok(Form::Parquet),
        Some("csv") => Ok(Form::Csv),
        Some("jsonl" | "ndjson") => Ok(Form::JsonLines),
        _ if out == "-" => Ok(Form::JsonLines),
        _ => Err(Failure::Usage(format!(
            "--out {out}: end the name in .parquet, .csv or .jsonl, or give - for JSON Lines on standard output"
        ))),
    }
}

fn tell(summary: &RowSummary) {
    for (file, what) in &summary.left_out {
        diagnostics::note(&format!("{file}: left out, since it is {what}"));
    }
    for (file, Damage { at_byte, why }) in &summary.damaged {
        diagnostics::note(&format!(
            "{file}: breaks off after {at_byte} bytes ({why}); all lines before that are written"
        ));
    }
    for (reason, file) in &summary.first_skipped {
        let skipped = summary.skips.of(*reason);
        let line = skipped.example.as_ref().map_or(0, |example| example.line);
        let (count, reason) = (skipped.count, reason.name());
        diagnostics::note(&format!(
            "{count} lines skipped as {reason}, the first is {file}:{line}"
        ));
    }
    let skipped = summary.skips.total();
    diagnostics::note(&format!(
        "{} requests written, addresses and users as they are; {skipped} lines skipped",
        summary.requests
    ));
}

/// What all forms share.
struct Job<'j> {
    found: &'j Found,
    options: &'j LoadOptions,
    progress: &'j Progress,
}

impl Job<'_> {
    fn each<S: RowSink>(
        &self,
        columns: &Columns,
        sink: &S,
        write: impl FnMut(S::Batch) -> Result<(), Failure>,
    ) -> Result<RowSummary, Failure> {
        let summary =
            rows(self.found, self.options, columns.wants_more(), self.progress, sink, write)?;
        match columns.missing(&summary.columns) {
            Some(name) if summary.requests > 0 => Err(no_column(name, &summary.columns)),
            _ => Ok(summary),
        }
    }

    fn json_lines(&self, columns: &Columns, mut target: Target) -> Result<RowSummary, Failure> {
        let sink = JsonLines { columns: columns.clone() };
        let summary = self.each(columns, &sink, |batch| target.write(&batch))?;
        target.commit()?;
        Ok(summary)
    }

    fn csv(&self, columns: &Columns, mut target: Target) -> Result<RowSummary, Failure> {
        let sink = Csv { columns: columns.clone() };
        let mut writer = CsvWriter::default();
        let summary = self.each(columns, &sink, |batch| target.write(&writer.write(&batch)))?;
        target.write(&writer.rest())?;
        target.commit()?;
        Ok(summary)
    }

    fn parquet(&self, columns: &Columns, target: Target) -> Result<RowSummary, Failure> {
        let file = target.file()?.ok_or_else(|| {
            Failure::Usage("Parquet can't go to standard output; give a file".to_owned())
        })?;
        let failure = |why: String| Failure::System(format!("Parquet: {why}"));
        let sink = Parquet { columns: columns.clone() };
        let mut writer = ParquetFile::new(file);
        let summary = self.each(columns, &sink, |batch| writer.write(batch).map_err(failure))?;
        writer.finish().map_err(failure)?;
        target.commit()?;
        Ok(summary)
    }
}
