//! `explain`: one client's story under a policy.

use shadowcap_engine::measure::cohorts::Cohorts;
use shadowcap_engine::replay::arrangement::Arrangement;
use shadowcap_engine::replay::prepare::{Memo, Prepared};
use shadowcap_engine::replay::reference;
use shadowcap_engine::replay::timeline::Timeline;
use shadowcap_engine::replay::variant::Variant;
use shadowcap_engine::traffic::select::AlreadyRefused;

use crate::cli::args::policy::{AlreadyLimitedArg, ExplainArgs};
use crate::cli::exit::{Exit, Failure};
use crate::cli::job::OutputJob;
use crate::cli::setting::{Read, Setting};
use crate::cli::whose;
use crate::report::explanation::{self, Story};
use crate::report::explanation_text;

/// Runs the command.
///
/// # Errors
/// When the arguments, the site or the policy can't be used, the key is in no request, or nothing can be
/// read.
pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let wanted = whose::parse(&args.key)?;
    let site = args.site.site.as_deref();
    let policy = std::slice::from_ref(&args.policy);
    let setting = Setting::new(site, policy, &args.input, &args.keys, &args.machine)?;
    let output = OutputJob::new(&args.output)?;
    let document = setting.with_logs(&args.input, &output, &[], |read, progress| {
        progress.say("replaying");
        explain(args, &setting, read, &output, &wanted, &|| progress.interrupted())
    })?;
    let zone = setting.site.zone;
    output.deliver(&document, |document, look| explanation_text::write(document, zone, look))?;
    Ok(Exit::Fine)
}

fn explain(
    args: &ExplainArgs,
    setting: &Setting,
    read: &Read,
    output: &OutputJob,
    wanted: &whose::Wanted,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<explanation::Document, Failure> {
    let drop_already_refused = args.replay.already_limited == AlreadyLimitedArg::Drop;
    let scene = setting.scene(read, drop_already_refused);
    let selector = scene.selector(AlreadyRefused::NoneMatch);
    let policy = setting.policies.first().ok_or_else(Failure::interrupted)?;
    let prepared =
        Prepared::new(policy, &setting.site, &read.traffic, &selector, &mut Memo::default());
    let names = output.names(&read.traffic);
    let (client, events) = whose::find(wanted, &read.traffic, &prepared, &names)?;
    let mut timeline = Timeline::new(&events);
    let variant = Variant { drop_already_refused, ..Variant::default() };
    let arrangement = Arrangement::bunched(&read.traffic);
    let done = reference::replay(
        &prepared,
        &read.traffic,
        &selector,
        &arrangement,
        &variant,
        stopped,
        &mut timeline,
    );
    if !done {
        return Err(Failure::interrupted());
    }
    let cohorts = Cohorts::new(&setting.site, &read.traffic, &selector);
    Ok(explanation::build(&Story {
        client,
        prepared: &prepared,
        traffic: &read.traffic,
        summary: &read.summary,
        cohorts: &cohorts,
        zone: setting.site.zone,
        names: &names,
        timeline: &timeline.finish(),
    }))
}
