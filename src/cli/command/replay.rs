//! `replay`: policies side by side on the same requests.

use crate::cli::args::policy::ReplayArgs;
use crate::cli::arguments;
use crate::cli::exit::{Exit, Failure};
use crate::cli::job::OutputJob;
use crate::cli::setting::{Setting, read_book};

use super::decisions;
use super::story::{Story, WhatIf};

/// Runs the command.
///
/// # Errors
/// When the arguments, the site or a policy can't be used, or nothing can be read or written.
pub(crate) fn run(args: &ReplayArgs) -> Result<Exit, Failure> {
    let site = args.site.site.as_deref();
    let setting = Setting::new(site, &args.policy, &args.input, &args.keys, &args.machine)?;
    let what_if = WhatIf::new(&args.what_if, &args.replay, &setting)?;
    let output = OutputJob::new(&args.output)?;
    if args.decisions.is_some() && args.what_if.clients {
        let text = "--decisions tells of each request once, as the log has it: not with --clients";
        return Err(Failure::Usage(text.to_owned()));
    }
    let decisions = args.decisions.as_deref().map(decisions::open).transpose()?;
    let written: Vec<_> = decisions.iter().map(|target| (target, "--decisions")).collect();
    let story = Story {
        setting: &setting,
        input: &args.input,
        replay: &args.replay,
        what_if: &what_if,
        cost: &args.cost,
        book: &read_book(args.cost.prices.as_deref(), &setting.site)?,
        windows_us: &[],
        arguments: &arguments::of_replay(args),
    };
    let report = setting.with_logs(&args.input, &output, &written, |read, progress| {
        let names = output.names(&read.traffic);
        let report = story.tell(read, &names, progress)?;
        if let Some(target) = &decisions {
            progress.say("writing decisions");
            let drop = story.drops_already_refused();
            decisions::write(&setting, read, drop, &names, target, progress)?;
        }
        Ok(report)
    })?;
    if let Some(target) = decisions {
        target.commit()?;
    }
    output.deliver_report(&report)
}
