//! What the user may type for the commands about policies. No logic.

use clap::{Args as ClapArgs, ValueEnum};

use super::value::{self, Share};
use super::{InputArgs, KeyArgs, MachineArgs, OutputArgs};

/// `replay`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap replay access.log* --policy today.toml --policy proposed.toml
  shadowcap replay access.log* --site site.toml --policy proposed.toml --decisions decisions.parquet
  shadowcap replay access.log* --site site.toml --policy proposed.toml --outage all --clients
  shadowcap replay access.log* --policy proposed.toml --json - | jq .policies[].total")]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) site: SiteArgs,
    #[command(flatten)]
    pub(crate) replay: ReplayingArgs,
    #[command(flatten)]
    pub(crate) what_if: WhatIfArgs,
    /// A policy to replay; several stand side by side
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) policy: Vec<String>,
    /// Write a row for each request and limit asked to a Parquet file
    #[arg(long, value_name = "FILE.parquet")]
    pub(crate) decisions: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

/// `explain`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap explain access.log* --policy proposed.toml --key ip=203.0.113.7
  shadowcap explain access.log* --site site.toml --policy proposed.toml --key ip:3f9c0a1b2c3d")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) site: SiteArgs,
    #[command(flatten)]
    pub(crate) replay: ReplayingArgs,
    /// The policy
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: String,
    /// Whose requests: NAME=VALUE, or a pseudonym out of a report
    #[arg(long, value_name = "NAME=VALUE|NAME:PSEUDONYM")]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

/// `calibrate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap calibrate access.log --log-format @nginx.conf --policy nginx.toml
  shadowcap calibrate access.log --policy nginx.toml --min-agreement 99.5%")]
pub(crate) struct CalibrateArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) site: SiteArgs,
    /// The policy that was in service when the log was written
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: String,
    /// Least share of equal verdicts, running free, before the exit code is 1
    #[arg(long, value_name = "SHARE", value_parser = value::share)]
    pub(crate) min_agreement: Option<Share>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

/// `check`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap check policy.toml
  shadowcap check --site site.toml site.toml proposed.toml --deny warning")]
pub(crate) struct CheckArgs {
    /// Site and policy files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<String>,
    /// The site that the policies are for [default: the one among FILE, else none]
    #[arg(long, value_name = "FILE")]
    pub(crate) site: Option<String>,
    /// From which severity on the exit code is 1
    #[arg(long, value_enum, default_value = "error", value_name = "SEVERITY")]
    pub(crate) deny: SeverityArg,
    /// The time for which limits are in force (RFC 3339); without, none counts as expired
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub(crate) now: Option<i64>,
    /// Write the findings as JSON to a file, or to standard output (-) instead of text
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Vec<String>,
    /// Colour the text (`NO_COLOR` is honoured)
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: super::ColorArg,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `metrics`.
#[derive(Debug, ClapArgs)]
pub(crate) struct MetricsArgs {
    /// The site whose metrics are listed [default: their general forms]
    #[arg(long, value_name = "FILE")]
    pub(crate) site: Option<String>,
    /// A policy, for the metrics of its limits
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<String>,
    /// Write the list as JSON to a file, or to standard output (-) instead of a table
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Vec<String>,
}

/// `init`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap init /var/log/nginx/access.log > site.toml")]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    /// Where to: a file that doesn't exist yet, or - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: String,
    /// Print no notes
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) no_progress: bool,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

/// The site.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Site")]
pub(crate) struct SiteArgs {
    /// The site file: routes, keys, cohorts, and how its logs read
    #[arg(long, value_name = "FILE")]
    pub(crate) site: Option<String>,
}

/// How is replayed.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Replaying")]
pub(crate) struct ReplayingArgs {
    /// Whether requests count that were refused when the log was written
    #[arg(long, value_enum, default_value = "keep", value_name = "WHAT")]
    pub(crate) already_limited: AlreadyLimitedArg,
    /// The engine; what tells of single requests (explain, --decisions) is the reference's in any case
    #[arg(long, value_enum, default_value = "auto", value_name = "ENGINE")]
    pub(crate) engine: EngineArg,
}

/// What else could happen.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "What if")]
pub(crate) struct WhatIfArgs {
    /// Replay an outage of the site as well, by its name, or all of them
    #[arg(long, value_name = "NAME|all")]
    pub(crate) outage: Vec<String>,
    /// Let the site's clients react to refusals, instead of going on as they did
    #[arg(long)]
    pub(crate) clients: bool,
}

/// `--already-limited`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlreadyLimitedArg {
    /// They are arrivals like any other
    Keep,
    /// They are left out
    Drop,
}

/// `--engine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// The fastest that gives the truth
    Auto,
    /// One request at a time
    Reference,
    /// One limit at a time, in parallel; an error for a policy that needs the reference
    Fast,
}

/// `--deny`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SeverityArg {
    /// Errors only
    Error,
    /// Errors and warnings
    Warning,
    /// Anything found
    Note,
}
