//! `recommend`: which limits to set, as a policy file with the evidence of every number.

use shadowcap_engine::recommend::file_text;

use crate::cli::args::policy::{CostingArgs, EngineArg, RecommendArgs, ReplayingArgs, WhatIfArgs};
use crate::cli::arguments;
use crate::cli::exit::{Exit, Failure};
use crate::cli::job::{self, OutputJob};
use crate::cli::setting::{Setting, read_book};
use crate::report::recommendations::ToSet;

use super::story::{Story, WhatIf};

/// Runs the command.
///
/// # Errors
/// When the arguments or the site can't be used, the log is too short to hold days out, or nothing can be
/// read or written.
pub(crate) fn run(args: &RecommendArgs) -> Result<Exit, Failure> {
    let site = args.site.site.as_deref();
    let mut setting = Setting::new(site, &[], &args.input, &args.keys, &args.machine)?;
    setting.read_for_sizing();
    let replay = ReplayingArgs { already_limited: args.already_limited, engine: EngineArg::Auto };
    let nothing = WhatIfArgs { outage: Vec::new(), clients: false };
    let what_if = WhatIf::new(&nothing, &replay, &setting)?;
    let mut output = OutputJob::new(&args.output)?;
    if args.output.json.iter().all(|name| name != "-") {
        // the policy is the result, no table that could be left out
        output.tables = Some(job::look(args.output.color));
    }
    let story = Story {
        setting: &setting,
        input: &args.input,
        replay: &replay,
        what_if: &what_if,
        cost: &CostingArgs { horizon: None, prices: None, now: None },
        book: &read_book(None, &setting.site)?,
        windows_us: &[],
        arguments: &arguments::of_recommend(args),
    };
    let (built, text) = setting.with_logs(&args.input, &output, &[], |read, progress| {
        let recommended = story.recommended(read, progress, args.holdout)?;
        let names = output.names(&read.traffic);
        let to_set = ToSet { recommended: &recommended, site: &setting.site };
        let built = story.tell_with(read, &names, progress, Some(&to_set))?;
        let show = |key: &_, text: &[u8]| names.show_key(key, text);
        Ok((built, file_text::write(&recommended, &setting.site, &show)))
    })?;
    output.deliver_built(&built, |_, _| text)
}
