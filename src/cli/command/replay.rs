//! `replay`: policies side by side on the same requests.

use shadowcap_engine::measure::population::{self, Plan};
use shadowcap_engine::measure::{peaks::Resolution, proxies};
use shadowcap_engine::replay::run::{Replayed, replay};

use crate::cli::args::policy::{AlreadyLimitedArg, ReplayArgs};
use crate::cli::arguments;
use crate::cli::exit::{Exit, Failure};
use crate::cli::job::OutputJob;
use crate::cli::progress::Progress;
use crate::cli::setting::{Read, Setting};
use crate::report::build::{Asked, Built, Material, build};
use crate::report::policies::PolicyMaterial;
use crate::report::pseudonym::Names;

use super::decisions;

/// Runs the command.
///
/// # Errors
/// When the arguments, the site or a policy can't be used, or nothing can be read or written.
pub(crate) fn run(args: &ReplayArgs) -> Result<Exit, Failure> {
    let site = args.site.site.as_deref();
    let setting = Setting::new(site, &args.policy, &args.input, &args.keys, &args.machine)?;
    let output = OutputJob::new(&args.output)?;
    let decisions = args.decisions.as_deref().map(decisions::open).transpose()?;
    let written: Vec<_> = decisions.iter().map(|target| (target, "--decisions")).collect();
    let drop = args.replay.already_limited == AlreadyLimitedArg::Drop;
    let report = setting.with_logs(&args.input, &output, &written, |read, progress| {
        progress.say("replaying");
        let replayed = replay_all(&setting, read, drop, progress)?;
        let names = output.names(&read.traffic);
        let report = report(args, &setting, read, &replayed, &names);
        if let Some(target) = &decisions {
            progress.say("writing decisions");
            decisions::write(&setting, read, drop, &names, target, progress)?;
        }
        Ok(report)
    })?;
    if let Some(target) = decisions {
        target.commit()?;
    }
    output.deliver_report(&report)
}

/// Replays every policy, one after another: each uses all threads for what it varies.
fn replay_all(
    setting: &Setting,
    read: &Read,
    drop_already_refused: bool,
    progress: &Progress,
) -> Result<Vec<Replayed>, Failure> {
    let scene = setting.scene(read, drop_already_refused);
    let stopped = || progress.interrupted();
    let all = setting.policies.iter().map(|policy| replay(&scene, policy, &stopped));
    all.collect::<Option<_>>().ok_or_else(Failure::interrupted)
}

fn report(
    args: &ReplayArgs,
    setting: &Setting,
    read: &Read,
    replayed: &[Replayed],
    names: &Names,
) -> Built {
    let times = &read.traffic.events.times_us;
    let period_us = times.last().zip(times.first()).map_or(0, |(last, first)| last - first);
    let policies: Vec<PolicyMaterial<'_>> = setting
        .policies
        .iter()
        .zip(replayed)
        .map(|(policy, replayed)| PolicyMaterial {
            policy,
            replayed,
            site: &setting.site,
            period_us,
        })
        .collect();
    let step_us = read.summary.resolution_us().unwrap_or(1);
    let plan = Plan {
        windows_us: Vec::new(),
        resolution: Resolution::of(times, step_us),
        places: Vec::new(),
    };
    let keys = &setting.load.projection.keys;
    let (totals, _) = population::measure(&read.traffic, keys, &plan);
    build(&Material {
        traffic: &read.traffic,
        summary: &read.summary,
        totals: &totals,
        measures: &[],
        windows_us: &[],
        routes: &setting.load.projection.routes,
        proxies: proxies::suspect(&read.traffic).as_ref(),
        suspects: &[],
        policies: &policies,
        max_bad_per_million: args.input.max_bad.per_million,
        names,
        arguments: &arguments::of_replay(args),
        asked: Asked { client_ip: args.input.client_ip.as_deref(), fields: &args.input.field },
    })
}
