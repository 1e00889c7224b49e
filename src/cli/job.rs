//! From what was typed to a job that can be done: everything is checked here, before reading begins.

use std::fs;
use std::io::{self, IsTerminal};

use clap::ValueEnum;
use shadowcap_engine::ingest::load::LoadOptions;
use shadowcap_engine::units::span::{self, DAY_US, HOUR_US, MINUTE_US, SECOND_US};
use shadowcap_engine::units::time;

use crate::report::terminal::Look;

use super::args::value::DEFAULT_MAX_BAD;
use super::args::{AnalyzeArgs, ColorArg, FormatArg, OutputArgs};
use super::exit::Failure;
use super::output::Target;
use super::reading;

/// Windows that are always measured, microseconds.
const WINDOWS_US: [i64; 6] =
    [SECOND_US, 10 * SECOND_US, MINUTE_US, 10 * MINUTE_US, HOUR_US, DAY_US];
/// Columns of tables that don't go to a terminal.
const WIDTH_ELSEWHERE: u16 = 110;

/// `analyze`, ready to run.
#[derive(Debug)]
pub(crate) struct AnalyzeJob {
    /// What to read.
    pub(crate) logs: Vec<String>,
    /// How to read it.
    pub(crate) load: LoadOptions,
    /// Windows, ascending.
    pub(crate) windows_us: Vec<i64>,
    /// Most unreadable lines, parts per million.
    pub(crate) max_bad_per_million: u64,
    /// Where the JSON report goes.
    pub(crate) json: Option<Target>,
    /// Whether tables go to standard output, and how.
    pub(crate) tables: Option<Look>,
    /// Show keys as they are.
    pub(crate) reveal: bool,
    /// Content of `--pseudonym-key`.
    pub(crate) pseudonym_key: Option<Vec<u8>>,
    /// Whether progress may be shown.
    pub(crate) progress: bool,
    /// Whether notes are printed.
    pub(crate) quiet: bool,
    /// `--client-ip`.
    pub(crate) client_ip: Option<String>,
    /// `--field`, each `NAME=COLUMN`.
    pub(crate) fields: Vec<String>,
    /// The arguments that change the result, in a fixed order and form.
    pub(crate) arguments: Vec<String>,
}

impl AnalyzeJob {
    /// Checks the arguments and opens the outputs.
    ///
    /// # Errors
    /// When they can't be used.
    pub(crate) fn new(args: &AnalyzeArgs) -> Result<Self, Failure> {
        let AnalyzeArgs { input, keys, windows, output, machine } = args;
        let mut windows_us = WINDOWS_US.to_vec();
        windows_us.extend(&windows.window);
        windows_us.sort_unstable();
        windows_us.dedup();
        let json_to_stdout = output.json.iter().any(|name| name == "-");
        Ok(Self {
            logs: input.logs.clone(),
            load: reading::options(input, keys, machine)?,
            windows_us,
            max_bad_per_million: input.max_bad.per_million,
            json: json_target(output)?,
            tables: (!output.quiet && !json_to_stdout).then(|| look(output.color)),
            reveal: output.reveal,
            pseudonym_key: pseudonym_key(output)?,
            progress: !output.no_progress && !output.quiet,
            quiet: output.quiet,
            client_ip: input.client_ip.clone(),
            fields: input.field.clone(),
            arguments: arguments(args),
        })
    }
}

fn json_target(output: &OutputArgs) -> Result<Option<Target>, Failure> {
    match output.json.as_slice() {
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

fn look(color: ColorArg) -> Look {
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

/// Only what changes the result: not the logs' names, threads, or where the report goes, nor what is
/// in a secret.
fn arguments(args: &AnalyzeArgs) -> Vec<String> {
    let mut list = vec!["analyze".to_owned()];
    let mut add = |flag: &str, value: String| list.push(format!("--{flag}={value}"));
    for key in &args.keys.define_key {
        add("define-key", key.clone());
    }
    for route in &args.keys.route {
        add("route", route.clone());
    }
    for window in &args.windows.window {
        add("window", span::format(*window).replace(' ', ""));
    }
    if args.keys.ipv6_prefix != 64 {
        add("ipv6-prefix", args.keys.ipv6_prefix.to_string());
    }
    if let Some(from) = args.input.from {
        add("from", time::format_rfc3339(from));
    }
    if let Some(to) = args.input.to {
        add("to", time::format_rfc3339(to));
    }
    if let Some(format) = &args.input.log_format {
        add("log-format", format.clone());
    }
    for field in &args.input.field {
        add("field", field.clone());
    }
    if let Some(field) = &args.input.client_ip {
        add("client-ip", field.clone());
    }
    for proxy in &args.input.trusted_proxy {
        add("trusted-proxy", proxy.clone());
    }
    if let Some(hop) = args.input.hop {
        add("hop", hop.to_string());
    }
    if args.input.format != FormatArg::Auto {
        let format = args.input.format.to_possible_value();
        add("format", format.map_or_else(String::new, |value| value.get_name().to_owned()));
    }
    if args.input.max_line != LoadOptions::default().max_line {
        add("max-line", args.input.max_line.to_string());
    }
    if args.input.max_bad != DEFAULT_MAX_BAD {
        add("max-bad", args.input.max_bad.to_string());
    }
    if args.output.pseudonym_key.is_some() {
        list.push("--pseudonym-key".to_owned());
    }
    if args.output.reveal {
        list.push("--reveal".to_owned());
    }
    list
}
