//! shadowcap: rehearses rate limits on the traffic you already have. Only starts the command line.

#![deny(clippy::iter_over_hash_type)]

mod cli;
mod report;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
