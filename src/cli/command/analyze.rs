//! `analyze`: reads logs, measures every key, shows the report.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use shadowcap_engine::ingest::load::load;
use shadowcap_engine::ingest::source::discover::{Found, Input, discover};
use shadowcap_engine::measure::population::{self, Plan};
use shadowcap_engine::measure::proxies;
use shadowcap_engine::units::span::SECOND_US;

use crate::cli::args::AnalyzeArgs;
use crate::cli::diagnostics;
use crate::cli::exit::{Exit, Failure};
use crate::cli::job::AnalyzeJob;
use crate::cli::output::Target;
use crate::cli::progress::Progress;
use crate::cli::signals;
use crate::report::build::{Material, build};
use crate::report::pseudonym::Names;
use crate::report::{json, terminal};

/// Path templates that are measured on their own when no routes are given.
const TOP_TEMPLATES: usize = 10;

/// Runs the command.
///
/// # Errors
/// When the arguments can't be used, or nothing can be read or written.
pub(crate) fn run(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    let job = AnalyzeJob::new(args)?;
    let stop = signals::listen().map_err(|error| Failure::System(error.to_string()))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(job.load.threads)
        .build()
        .map_err(|error| Failure::System(format!("no threads: {error}")))?;
    pool.install(|| analyze(job, stop))
}

fn analyze(job: AnalyzeJob, stop: Arc<AtomicBool>) -> Result<Exit, Failure> {
    let found = discover(&job.logs)?;
    refuse_to_replace(&found, job.json.as_ref())?;
    let progress = Progress::new(total_bytes(&found), job.progress, stop);
    let loaded = load(found, &job.load, &progress);
    if loaded.is_err() {
        progress.clear();
    }
    let (traffic, summary) = loaded?;
    progress.say("measuring");
    let projection = &job.load.projection;
    let places = if projection.routes.is_empty() {
        population::top_places(&traffic, TOP_TEMPLATES)
    } else {
        (0_u32..).zip(&projection.routes).map(|(place, _)| place).collect()
    };
    let plan = Plan {
        windows_us: job.windows_us.clone(),
        resolution_us: summary.resolution_us().unwrap_or(SECOND_US),
        places,
    };
    let (totals, measures) = population::measure(&traffic, &projection.keys, &plan);
    let names = Names::new(job.reveal, job.pseudonym_key.as_deref(), || traffic.digest());
    let report = build(&Material {
        traffic: &traffic,
        summary: &summary,
        totals: &totals,
        measures: &measures,
        windows_us: &job.windows_us,
        routes: &projection.routes,
        proxies: proxies::suspect(&traffic).as_ref(),
        max_bad_per_million: job.max_bad_per_million,
        names: &names,
        arguments: &job.arguments,
    });
    progress.clear();
    let too_many_bad = report.too_many_bad;
    let tables = job.tables.map(|look| terminal::write(&report.document, look));
    if let Some(target) = job.json {
        target.finish(&json::write(&report.document))?;
    }
    if let Some(tables) = tables {
        Target::Stdout.finish(tables.as_bytes())?;
    }
    if too_many_bad && !job.quiet {
        diagnostics::note("too many lines could not be read (see --max-bad); the exit code is 3");
    }
    Ok(if too_many_bad { Exit::Input } else { Exit::Fine })
}

/// A report must not take the place of a log, as `--json access.log*` would have it.
fn refuse_to_replace(found: &Found, target: Option<&Target>) -> Result<(), Failure> {
    let Some(target) = target else { return Ok(()) };
    let replaced = |input: &&Input| input.path.as_ref().is_some_and(|path| target.replaces(path));
    match found.inputs.iter().find(replaced) {
        Some(input) => Err(Failure::Usage(format!(
            "--json {}: this is one of the logs to read, and would be replaced by the report",
            input.name
        ))),
        None => Ok(()),
    }
}

/// What there is to read, where every input's size is known.
fn total_bytes(found: &Found) -> Option<u64> {
    found.inputs.iter().map(|input| input.size).sum()
}
