//! From what was typed to a job that can be done: everything is checked here, before reading begins.

use std::fs;
use std::io::{self, IsTerminal};

use serde::Serialize;
use shadowcap_engine::traffic::Traffic;

use crate::report::build::Built;
use crate::report::json;
use crate::report::model::Report;
use crate::report::pseudonym::Names;
use crate::report::terminal::{self, Look};

use super::args::{ColorArg, OutputArgs};
use super::diagnostics;
use super::exit::{Exit, Failure};
use super::output::Target;

/// Columns of tables that don't go to a terminal.
const WIDTH_ELSEWHERE: u16 = 110;

/// Where results go and how they look: of every command that reads logs and makes a report.
#[derive(Debug)]
pub(crate) struct OutputJob {
    /// Where the JSON goes.
    pub(crate) json: Option<Target>,
    /// Whether tables go to standard output, and how.
    pub(crate) tables: Option<Look>,
    /// Whether progress may be shown.
    pub(crate) progress: bool,
    /// Whether notes are printed.
    pub(crate) quiet: bool,
    reveal: bool,
    pseudonym_key: Option<Vec<u8>>,
}

impl OutputJob {
    /// Checks the flags and opens the output.
    ///
    /// # Errors
    /// When they can't be used.
    pub(crate) fn new(output: &OutputArgs) -> Result<Self, Failure> {
        let json_to_stdout = output.json.iter().any(|name| name == "-");
        Ok(Self {
            json: json_target(&output.json)?,
            tables: (!output.quiet && !json_to_stdout).then(|| look(output.color)),
            progress: !output.no_progress && !output.quiet,
            quiet: output.quiet,
            reveal: output.reveal,
            pseudonym_key: pseudonym_key(output)?,
        })
    }

    /// Makes a result appear: as JSON where that was asked for, as text unless it isn't wanted.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn deliver<T: Serialize>(
        self,
        document: &T,
        text: impl FnOnce(&T, Look) -> String,
    ) -> Result<(), Failure> {
        let text = self.tables.map(|look| text(document, look));
        if let Some(target) = self.json {
            target.finish(&json::write(document))?;
        }
        text.map_or(Ok(()), |text| Target::Stdout.finish(text.as_bytes()))
    }

    /// Makes a report appear, and says how it went: too many unreadable lines are a failure.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn deliver_report(self, report: &Built) -> Result<Exit, Failure> {
        self.deliver_built(report, terminal::write)
    }

    /// The same with another text.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn deliver_built(
        self,
        report: &Built,
        text: impl FnOnce(&Report, Look) -> String,
    ) -> Result<Exit, Failure> {
        let quiet = self.quiet;
        self.deliver(&report.document, text)?;
        if !report.too_many_bad {
            return Ok(Exit::Fine);
        }
        if !quiet {
            let note = "too many lines could not be read (see --max-bad); the exit code is 3";
            diagnostics::note(note);
        }
        Ok(Exit::Input)
    }

    /// How keys are shown.
    pub(crate) fn names(&self, traffic: &Traffic) -> Names {
        Names::new(self.reveal, self.pseudonym_key.as_deref(), || traffic.digest())
    }
}

/// The target of `--json`.
///
/// # Errors
/// When it is given twice or can't be opened.
pub(crate) fn json_target(names: &[String]) -> Result<Option<Target>, Failure> {
    match names {
        [] => Ok(None),
        [name] => Target::open(name).map(Some),
        _ => Err(Failure::Usage("--json can be given once".to_owned())),
    }
}

fn pseudonym_key(output: &OutputArgs) -> Result<Option<Vec<u8>>, Failure> {
    let Some(name) = &output.pseudonym_key else { return Ok(None) };
    let key = fs::read(name)
        .map_err(|error| Failure::Usage(format!("--pseudonym-key {name}: {error}")))?;
    if key.len() < 16 {
        return Err(Failure::Usage(format!(
            "--pseudonym-key {name}: {} bytes are too few to keep a secret; give at least 16, as from: head -c 32 /dev/urandom > {name}",
            key.len()
        )));
    }
    Ok(Some(key))
}

/// How tables look.
pub(crate) fn look(color: ColorArg) -> Look {
    let terminal = io::stdout().is_terminal();
    let allowed = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Look {
        color: match color {
            ColorArg::Always => true,
            ColorArg::Never => false,
            ColorArg::Auto => terminal && allowed,
        },
        width: if terminal {
            terminal_size::terminal_size().map_or(80, |(width, _)| width.0)
        } else {
            WIDTH_ELSEWHERE
        },
    }
}
