//! The command line: what was typed (`args`) → a checked job (`job`) → a command that loads, calls the
//! engine and writes. Nothing here counts anything.

mod args;
mod arguments;
mod command;
mod diagnostics;
mod exit;
mod inputs;
mod job;
mod memory;
mod output;
mod problems;
mod progress;
mod reading;
mod setting;
mod signals;
mod whose;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Args, Command};
use exit::{Exit, Failure};

/// Parses the arguments, runs the command, and says how it went.
pub(crate) fn run() -> ExitCode {
    diagnostics::install_panic_message();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let asked_for =
                matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // a closed pipe is no error
            let _ = error.print();
            return if asked_for { Exit::Fine } else { Exit::Usage }.into();
        }
    };
    let outcome = std::panic::catch_unwind(|| match args.command {
        Command::Analyze(analyze) => command::analyze::run(&analyze),
        Command::Convert(convert) => command::convert::run(&convert),
        Command::Replay(replay) => command::replay::run(&replay),
        Command::Recommend(recommend) => command::recommend::run(&recommend),
        Command::Explain(explain) => command::explain::run(&explain),
        Command::Calibrate(calibrate) => command::calibrate::run(&calibrate),
        Command::Check(check) => command::check::run(&check),
        Command::Cost(cost) => command::cost::run(&cost),
        Command::Export(export) => command::export::run(&export),
        Command::Generate(generate) => command::generate::run(&generate),
        Command::Metrics(metrics) => command::metrics::run(&metrics),
        Command::Init(init) => command::init::run(&init),
    });
    match outcome {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => report(&failure).into(),
        Err(_) => {
            output::remove_unfinished();
            Exit::Bug.into()
        }
    }
}

fn report(failure: &Failure) -> Exit {
    output::remove_unfinished();
    match failure {
        Failure::Wrong(file) => problems::show(file),
        _ => diagnostics::error(&failure.to_string()),
    }
    failure.exit()
}
