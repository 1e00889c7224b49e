//! What the user may type. No logic: clap's derive and the readers of single values.

pub(crate) mod policy;
pub(crate) mod value;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use policy::{
    CalibrateArgs, CheckArgs, CostArgs, CostingArgs, ExplainArgs, ExportArgs, GenerateArgs,
    InitArgs, MetricsArgs, RecommendArgs, ReplayArgs, ReplayingArgs, SiteArgs, WhatIfArgs,
};
use value::Share;

/// Rehearses rate limits on the traffic you already have.
#[derive(Debug, Parser)]
#[command(name = "shadowcap", version, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 fine; 1 findings, or too little agreement; 2 wrong arguments, site or policy; 3 input missing, unreadable, foreign, or with too many unreadable lines; 4 interrupted; 101 a bug."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Reads access logs and says how fast clients really go.
    Analyze(AnalyzeArgs),
    /// Replays logs through policies and says whom each would have refused.
    Replay(ReplayArgs),
    /// Says which limits to set: a policy file, each number with its evidence.
    Recommend(RecommendArgs),
    /// Tells one client's story: each request, each limit, what it decided and why.
    Explain(ExplainArgs),
    /// Holds a simulation against the verdicts that an enforcer left in the log.
    Calibrate(CalibrateArgs),
    /// Looks for mistakes in site and policy files; needs no log.
    Check(CheckArgs),
    /// Says what policies can cost at most, and what declared attacks get; needs no log.
    Cost(CostArgs),
    /// Writes a policy as configuration of nginx or as a script for Redis.
    Export(ExportArgs),
    /// Generates logs with known truth from a scenario file.
    Generate(GenerateArgs),
    /// Lists what a requirement may be about.
    Metrics(MetricsArgs),
    /// Writes a commented site file from a log.
    Init(InitArgs),
    /// Writes the requests of logs as Parquet, CSV or JSON Lines, nothing masked.
    Convert(ConvertArgs),
}

/// `analyze`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap analyze /var/log/nginx/access.log
  shadowcap analyze 'logs/access.log*' --route 'login=POST /v1/login' --window 5m
  shadowcap analyze AWSLogs/ --define-key target=target
  shadowcap analyze access.log* --site site.toml --policy proposed.toml
  shadowcap analyze access.log --log-format @/etc/nginx/nginx.conf:main --client-ip x_forwarded_for --trusted-proxy 10.0.0.0/8
  zcat -f access.log* | shadowcap analyze - --json -")]
pub(crate) struct AnalyzeArgs {
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
    /// A policy to replay as well; several stand side by side
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<String>,
    #[command(flatten)]
    pub(crate) windows: WindowArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

/// `convert`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap convert access.log* --out requests.parquet
  shadowcap convert AWSLogs/ --out - --columns all | jq .")]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    #[command(flatten)]
    pub(crate) site: SiteArgs,
    /// Where to: FILE.parquet, FILE.csv, FILE.jsonl, or - for JSON Lines on standard output
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) out: String,
    /// Which columns: default, all (what the format has besides), or names parted by commas
    #[arg(long, value_name = "COLUMNS", default_value = "default")]
    pub(crate) columns: String,
    /// Show no progress
    #[arg(long)]
    pub(crate) no_progress: bool,
    /// Print no notes
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
}

/// What is read, and how.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Reading")]
pub(crate) struct InputArgs {
    /// Logs: files, folders, globs, or - for standard input; plain, gzip or zstd
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<String>,
    /// Format of the logs
    #[arg(long, value_enum, default_value = "auto", value_name = "FORMAT")]
    pub(crate) format: FormatArg,
    /// Format string of nginx or Apache, or @nginx.conf or @nginx.conf:NAME for one out of a file
    #[arg(long, value_name = "STR|@FILE")]
    pub(crate) log_format: Option<String>,
    /// In JSON and CSV, which column is what, as in time=ts or ip=addr
    #[arg(long, value_name = "NAME=COLUMN")]
    pub(crate) field: Vec<String>,
    /// Field that names the client behind proxies: `x_forwarded_for`, or any other
    #[arg(long, value_name = "FIELD")]
    pub(crate) client_ip: Option<String>,
    /// Proxies to believe: the client is the last address that is none of them
    #[arg(long, value_name = "CIDR")]
    pub(crate) trusted_proxy: Vec<String>,
    /// The client is the N-th address from the right
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    pub(crate) hop: Option<u8>,
    /// Leave out requests before this time (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub(crate) from: Option<i64>,
    /// Leave out requests at or after this time (RFC 3339)
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub(crate) to: Option<i64>,
    /// Longest line; longer ones are skipped and counted (at most 256MiB)
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = value::line_size)]
    pub(crate) max_line: usize,
    /// Most unreadable lines before the exit code is 3
    #[arg(long, value_name = "SHARE", default_value_t = value::DEFAULT_MAX_BAD, value_parser = value::share)]
    pub(crate) max_bad: Share,
}

/// Who is told apart, and by what.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Keys and routes")]
pub(crate) struct KeyArgs {
    /// Another key beside ip: NAME=FIELD, a|b for the first present, a+b for both
    #[arg(long, value_name = "NAME=EXPR")]
    pub(crate) define_key: Vec<String>,
    /// A route: NAME=METHOD PATH, with {name}, * and ** in the path; else the busiest path templates
    #[arg(long, value_name = "NAME=METHOD PATH")]
    pub(crate) route: Vec<String>,
    /// Leading bits by which IPv6 clients are grouped
    #[arg(long, value_name = "BITS", default_value_t = 64, value_parser = clap::value_parser!(u8).range(0..=128))]
    pub(crate) ipv6_prefix: u8,
}

/// What is measured.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct WindowArgs {
    /// Another window beside 1s, 10s, 1m, 10m, 1h and 1d
    #[arg(long, value_name = "SPAN", value_parser = value::span)]
    pub(crate) window: Vec<i64>,
}

/// What is shown, and where.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Showing")]
pub(crate) struct OutputArgs {
    /// Write the report as JSON to a file, or to standard output (-) instead of the tables
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Vec<String>,
    /// Show addresses and users as they are, not as pseudonyms
    #[arg(long)]
    pub(crate) reveal: bool,
    /// Key pseudonyms by this file's content, so that they are the same for other logs
    #[arg(long, value_name = "FILE")]
    pub(crate) pseudonym_key: Option<String>,
    /// Print no tables and no notes
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) no_progress: bool,
    /// Colour the tables (`NO_COLOR` is honoured)
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorArg,
}

/// What of the machine is used.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineArgs {
    /// Threads [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Memory to use at most [default: 60 % of what there is]
    #[arg(long, value_name = "SIZE", value_parser = value::size)]
    pub(crate) memory: Option<u64>,
}

/// `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// Find out
    Auto,
    /// Any of nginx's
    Nginx,
    /// Any of Apache's
    Apache,
    /// nginx's built-in combined, and main of its own configuration
    NginxCombined,
    /// An nginx `log_format`, given by --log-format
    NginxCustom,
    /// JSON with nginx's names
    NginxJson,
    /// Apache's common
    ApacheCommon,
    /// Apache's combined
    ApacheCombined,
    /// Apache's `vhost_combined`
    ApacheVhostCombined,
    /// An Apache `LogFormat`, given by --log-format
    ApacheCustom,
    /// AWS Application Load Balancer
    Alb,
    /// AWS classic load balancer
    ElbClassic,
    /// JSON Lines, names understood or given by --field
    Jsonl,
    /// CSV with a header, names understood or given by --field
    Csv,
    /// Parquet as convert writes it
    Parquet,
}

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorArg {
    /// On a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_holds_together() {
        Args::command().debug_assert();
    }
}
