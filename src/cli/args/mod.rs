//! What the user may type. No logic: clap's derive and the readers of single values.

pub(crate) mod value;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use value::Share;

/// Rehearses rate limits on the traffic you already have.
#[derive(Debug, Parser)]
#[command(name = "shadowcap", version, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 fine; 2 wrong arguments; 3 input missing, unreadable, foreign, or with too many unreadable lines; 4 interrupted; 101 a bug."
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
}

/// `analyze`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  shadowcap analyze /var/log/nginx/access.log
  shadowcap analyze 'logs/access.log*' --route 'login=POST /v1/login' --window 5m
  zcat -f access.log* | shadowcap analyze - --json -")]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) subject: SubjectArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
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

/// What is measured.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct SubjectArgs {
    /// Another key beside ip: NAME=FIELD, a|b for the first present, a+b for both
    #[arg(long, value_name = "NAME=EXPR")]
    pub(crate) define_key: Vec<String>,
    /// A route: NAME=METHOD PATH, with {name}, * and ** in the path; else the busiest path templates
    #[arg(long, value_name = "NAME=METHOD PATH")]
    pub(crate) route: Vec<String>,
    /// Another window beside 1s, 10s, 1m, 10m, 1h and 1d
    #[arg(long, value_name = "SPAN", value_parser = value::span)]
    pub(crate) window: Vec<i64>,
    /// Leading bits by which IPv6 clients are grouped
    #[arg(long, value_name = "BITS", default_value_t = 64, value_parser = clap::value_parser!(u8).range(0..=128))]
    pub(crate) ipv6_prefix: u8,
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
    /// nginx's built-in combined
    NginxCombined,
    /// Apache's common
    ApacheCommon,
    /// Apache's combined
    ApacheCombined,
    /// Apache's `vhost_combined`
    ApacheVhostCombined,
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
