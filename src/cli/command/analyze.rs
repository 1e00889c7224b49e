//! `analyze`: reads logs, measures every key, replays the policies given, shows the report.

use shadowcap_engine::units::span::{DAY_US, HOUR_US, MINUTE_US, SECOND_US};

use crate::cli::args::AnalyzeArgs;
use crate::cli::arguments;
use crate::cli::exit::{Exit, Failure};
use crate::cli::job::OutputJob;
use crate::cli::setting::{Setting, read_book};
use crate::report::recommendations::ToSet;

use super::story::{Story, WhatIf};

/// Windows that are always measured, microseconds.
const WINDOWS_US: [i64; 6] =
    [SECOND_US, 10 * SECOND_US, MINUTE_US, 10 * MINUTE_US, HOUR_US, DAY_US];

/// Runs the command.
///
/// # Errors
/// When the arguments, the site or a policy can't be used, or nothing can be read or written.
pub(crate) fn run(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    let site = args.site.site.as_deref();
    let mut setting = Setting::new(site, &args.policy, &args.input, &args.keys, &args.machine)?;
    // sizing takes longer than all the rest: it is for sites that say what to protect
    let sizes = !setting.site.protects.is_empty();
    if sizes {
        setting.read_for_sizing();
    }
    let what_if = WhatIf::new(&args.what_if, &args.replay, &setting)?;
    let output = OutputJob::new(&args.output)?;
    let mut windows_us = WINDOWS_US.to_vec();
    windows_us.extend(&args.windows.window);
    windows_us.sort_unstable();
    windows_us.dedup();
    let story = Story {
        setting: &setting,
        input: &args.input,
        replay: &args.replay,
        what_if: &what_if,
        cost: &args.cost,
        book: &read_book(args.cost.prices.as_deref(), &setting.site)?,
        windows_us: &windows_us,
        arguments: &arguments::of_analyze(args),
    };
    let report = setting.with_logs(&args.input, &output, &[], |read, progress| {
        let recommended = sizes.then(|| story.recommended(read, progress, None)).transpose()?;
        let to_set = recommended.as_ref();
        let to_set = to_set.map(|recommended| ToSet { recommended, site: &setting.site });
        story.tell_with(read, &output.names(&read.traffic), progress, to_set.as_ref())
    })?;
    output.deliver_report(&report)
}
