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
    #[command(flatten)]
    pub(crate) cost: CostingArgs,
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

/// `recommend`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap recommend access.log* > recommended.toml
  shadowcap recommend access.log* --site site.toml --holdout 2d > recommended.toml
  shadowcap recommend access.log* --site site.toml --json - | jq .recommendations")]
pub(crate) struct RecommendArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) site: SiteArgs,
    /// Choose on what comes before the last so long, and say what the limits would have done since
    #[arg(long, value_name = "SPAN", value_parser = value::span, help_heading = "Sizing")]
    pub(crate) holdout: Option<i64>,
    /// Whether requests count that were refused when the log was written
    #[arg(long, value_enum, default_value = "keep", value_name = "WHAT", help_heading = "Sizing")]
    pub(crate) already_limited: AlreadyLimitedArg,
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

/// `cost`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap cost --site site.toml --policy today.toml --policy proposed.toml
  shadowcap cost --site site.toml --policy proposed.toml --horizon 8h --json - | jq .costs")]
pub(crate) struct CostArgs {
    #[command(flatten)]
    pub(crate) site: SiteArgs,
    /// A policy; several stand side by side
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) policy: Vec<String>,
    #[command(flatten)]
    pub(crate) cost: CostingArgs,
    /// Write the report as JSON to a file, or to standard output (-) instead of the tables
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Vec<String>,
    /// Colour the tables (`NO_COLOR` is honoured)
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: super::ColorArg,
    /// Print no tables
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `generate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap generate sample-logs/scenarios/tiffin.toml --out traffic --scale 0.001
  shadowcap generate sample-logs/scenarios/tiffin.toml --out dinner --from 2026-11-24T20:00:00+05:30 --to 2026-11-24T21:00:00+05:30")]
pub(crate) struct GenerateArgs {
    /// The scenario file
    #[arg(value_name = "SCENARIO.toml")]
    pub(crate) scenario: String,
    /// The folder to write logs and truth.jsonl to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: String,
    /// So many times the customers and the attacks' keys; no key's own rate changes
    #[arg(long, value_name = "X", default_value = "1", value_parser = value::scale)]
    pub(crate) scale: u64,
    /// What all randomness comes from [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Only what ends from this instant on, as in 2026-11-24T19:00:00+05:30
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub(crate) from: Option<i64>,
    /// Only what ends before this instant
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub(crate) to: Option<i64>,
    /// Threads [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Say nothing
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) no_progress: bool,
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

/// `export`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap export --site site.toml --policy proposed.toml --to nginx > /etc/nginx/shadowcap.conf
  shadowcap export --site site.toml --policy proposed.toml --to redis-lua --out shadowcap.lua")]
pub(crate) struct ExportArgs {
    /// The policy
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: String,
    /// The site that the policy is for
    #[arg(long, value_name = "FILE")]
    pub(crate) site: Option<String>,
    /// What decides about requests
    #[arg(long, value_enum, value_name = "TARGET")]
    pub(crate) to: TargetArg,
    /// The place whose limits are written [default for nginx: where its limits stand; else all]
    #[arg(long, value_name = "PLACE")]
    pub(crate) at: Option<String>,
    /// Where to: a file, or - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) out: String,
    /// Don't say on standard error what isn't translated: it stands in the file, too
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetArg {
    /// A file for the http block of nginx
    Nginx,
    /// A script for Redis
    RedisLua,
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

/// What things cost.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Costs")]
pub(crate) struct CostingArgs {
    /// In any so long time something may cost so much [default: that of the site's requirement, else 24h]
    #[arg(long, value_name = "SPAN", value_parser = value::span)]
    pub(crate) horizon: Option<i64>,
    /// The price book [default: that of the site, else a built-in one of December 2026]
    #[arg(long, value_name = "FILE")]
    pub(crate) prices: Option<String>,
    /// From when on limits must hold (RFC 3339); without, none counts as expired
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub(crate) now: Option<i64>,
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
