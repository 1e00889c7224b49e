//! `analyze`: reads logs, measures every key, shows the report.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use shadowcap_engine::ingest::load::load;
use shadowcap_engine::ingest::summary::Summary;
use shadowcap_engine::measure::peaks::Resolution;
use shadowcap_engine::measure::population::{self, Plan};
use shadowcap_engine::measure::{proxies, suspects};
use shadowcap_engine::traffic::Traffic;
use shadowcap_engine::units::span::{MINUTE_US, SECOND_US};

use crate::cli::args::AnalyzeArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::job::AnalyzeJob;
use crate::cli::progress::Progress;
use crate::cli::{inputs, signals};
use crate::report::build::{Asked, Material, build};

/// Path templates that are measured on their own when no routes are given.
const TOP_TEMPLATES: usize = 10;

/// Runs the command.
///
/// # Errors
/// When the arguments can't be used, or nothing can be read or written.
pub(crate) fn run(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    let job = AnalyzeJob::new(args)?;
    let stop = signals::listen().map_err(|error| Failure::System(error.to_string()))?;
    inputs::pool(job.load.threads)?.install(|| analyze(job, stop))
}

fn analyze(job: AnalyzeJob, stop: Arc<AtomicBool>) -> Result<Exit, Failure> {
    let found = inputs::find(&job.logs)?;
    if let Some(target) = &job.output.json {
        inputs::refuse_to_replace(&found, target, "--json")?;
    }
    let progress = Progress::new(inputs::total_bytes(&found), job.output.progress, stop);
    let loaded = load(found, &job.load, &progress);
    if loaded.is_err() {
        progress.clear();
    }
    let (traffic, summary) = loaded?;
    progress.say("measuring");
    let projection = &job.load.projection;
    let plan = plan(&job, &traffic, &summary);
    let keys = &projection.keys;
    let (totals, measures) = population::measure(&traffic, keys, &plan);
    let minute = |row: &&population::Measure| row.place.is_none() && row.window_us == MINUTE_US;
    let suspects = match (keys.first(), measures.iter().find(minute)) {
        (Some(ip), Some(row)) if row.key == ip.name => {
            suspects::suspects(&traffic, ip, &row.histogram, plan.resolution.us)
        }
        _ => Vec::new(),
    };
    let names = job.output.names(&traffic);
    let report = build(&Material {
        traffic: &traffic,
        summary: &summary,
        totals: &totals,
        measures: &measures,
        windows_us: &job.windows_us,
        routes: &projection.routes,
        proxies: proxies::suspect(&traffic).as_ref(),
        suspects: &suspects,
        policies: &[],
        max_bad_per_million: job.max_bad_per_million,
        names: &names,
        arguments: &job.arguments,
        asked: Asked { client_ip: job.client_ip.as_deref(), fields: &job.fields },
    });
    progress.clear();
    job.output.deliver_report(&report)
}

/// What to measure: the routes, or the busiest templates.
fn plan(job: &AnalyzeJob, traffic: &Traffic, summary: &Summary) -> Plan {
    let routes = &job.load.projection.routes;
    let places = if routes.is_empty() {
        population::top_places(traffic, TOP_TEMPLATES)
    } else {
        (0_u32..).zip(routes).map(|(place, _)| place).collect()
    };
    let step_us = summary.resolution_us().unwrap_or(SECOND_US);
    let resolution = Resolution::of(&traffic.events.times_us, step_us);
    Plan { windows_us: job.windows_us.clone(), resolution, places }
}
