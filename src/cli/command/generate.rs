//! `generate`: traffic with known truth, from a scenario file.

use std::fs;
use std::io;

use shadowcap_engine::generate::{self, Generated, Scenario, Truth};

use crate::cli::args::policy::GenerateArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Target;
use crate::cli::progress::Progress;
use crate::cli::{diagnostics, inputs, setting, signals};

/// The file that says who everybody was.
const TRUTH: &str = "truth.jsonl";

/// Runs the command.
///
/// # Errors
/// When the scenario can't be used, or nothing can be written.
pub(crate) fn run(args: &GenerateArgs) -> Result<Exit, Failure> {
    let scenario = scenario(args)?;
    let stop = signals::listen().map_err(|error| Failure::System(error.to_string()))?;
    fs::create_dir_all(&args.out)
        .map_err(|error| Failure::Output { path: args.out.clone(), why: error.to_string() })?;
    let path = |name: &str| format!("{}/{name}", args.out.trim_end_matches('/'));
    let files = scenario.outputs.iter().map(|output| Target::open(&path(&output.file)));
    let mut files: Vec<Target> = files.collect::<Result<_, _>>()?;
    let truth_file = Target::open(&path(TRUTH))?;
    let progress = Progress::new(None, !args.no_progress && !args.quiet, stop);
    let made = inputs::pool(args.threads.map_or(0, usize::from))?
        .install(|| lines(&scenario, &mut files, &progress));
    progress.clear();
    let truth = made?;
    let mut text = Vec::new();
    truth.write(&scenario, &mut text).map_err(|error| truth_file.failed(&error.to_string()))?;
    for file in files {
        file.commit()?;
    }
    // last: who finds it finds all that it speaks of
    truth_file.finish(&text)?;
    if !args.quiet {
        diagnostics::note(&format!(
            "{} requests of {} identities written to {}",
            truth.requests(),
            truth.identities(),
            args.out
        ));
    }
    Ok(Exit::Fine)
}

/// The scenario with what the flags say.
fn scenario(args: &GenerateArgs) -> Result<Scenario, Failure> {
    let bytes = setting::bytes_of(&args.scenario)?;
    let read = generate::read(&bytes, &args.scenario);
    let read = read.map_err(|problems| setting::wrong(&args.scenario, &bytes, problems))?;
    let mut scenario = read.scaled(args.scale);
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    for (flag, at) in [("--from", args.from), ("--to", args.to)] {
        if at.is_some_and(|at| !(scenario.from_us..=scenario.to_us).contains(&at)) {
            return Err(Failure::Usage(format!("{flag}: outside the scenario's span")));
        }
    }
    scenario.from_us = args.from.unwrap_or(scenario.from_us);
    scenario.to_us = args.to.unwrap_or(scenario.to_us);
    if scenario.from_us >= scenario.to_us {
        return Err(Failure::Usage("--to must be after --from".to_owned()));
    }
    Ok(scenario)
}

fn lines(scenario: &Scenario, files: &mut [Target], progress: &Progress) -> Result<Truth, Failure> {
    let mut failed = None;
    let mut write = |index: usize, bytes: &[u8]| {
        let Some(file) = files.get_mut(index) else { return Ok(()) };
        progress.wrote(bytes.len());
        file.write(bytes).map_err(|failure| {
            let text = failure.to_string();
            failed = Some(failure);
            io::Error::other(text)
        })
    };
    let made = generate::generate(scenario, &mut write, &|| progress.interrupted(), &mut |_| {});
    match (made, failed) {
        (_, Some(failure)) => Err(failure),
        (Ok(Generated::Whole(truth)), _) => Ok(truth),
        (Ok(Generated::Stopped), _) => Err(Failure::interrupted()),
        (Err(error), _) => Err(Failure::System(error.to_string())),
    }
}
