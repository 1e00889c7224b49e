//! `init`: a commented site file as a first draft, from a log.

use std::path::Path;

use shadowcap_engine::ingest::load::load;
use shadowcap_engine::measure::proxies;
use shadowcap_engine::site::Site;
use shadowcap_engine::traffic::NONE;

use crate::cli::args::policy::InitArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Target;
use crate::cli::progress::Progress;
use crate::cli::{diagnostics, inputs, reading, signals};
use crate::report::site_draft::{self, Draft};

/// Runs the command.
///
/// # Errors
/// When the file is there already, or nothing can be read or written.
pub(crate) fn run(args: &InitArgs) -> Result<Exit, Failure> {
    if args.out != "-" && Path::new(&args.out).exists() {
        return Err(Failure::Usage(format!(
            "--out {}: is there already; remove it first if it is no longer wanted",
            args.out
        )));
    }
    let site = reading::site(Site::default(), &args.keys)?;
    let mut options = reading::options(&args.input, &args.keys, &args.machine, &site)?;
    // routes are what is to be found
    options.projection.routes.clear();
    let target = Target::open(&args.out)?;
    let stop = signals::listen().map_err(|error| Failure::System(error.to_string()))?;
    inputs::pool(options.threads)?.install(|| {
        let found = inputs::find(&args.input.logs)?;
        inputs::refuse_to_replace(&found, &target, "--out")?;
        let shown = !args.no_progress && !args.quiet;
        let progress = Progress::new(inputs::total_bytes(&found), shown, stop);
        let loaded = load(found, &options, &progress);
        progress.clear();
        let (traffic, summary) = loaded?;
        let user = traffic.key_named("user");
        let has_user = user.is_some_and(|column| column.ids.iter().any(|id| *id != NONE));
        let text = site_draft::write(&Draft {
            traffic: &traffic,
            summary: &summary,
            proxies: proxies::suspect(&traffic).as_ref(),
            log_format: args.input.log_format.as_deref(),
            has_user,
        });
        target.finish(text.as_bytes())?;
        if !args.quiet && args.out != "-" {
            diagnostics::note(&format!(
                "{} is written; look it over: shadowcap check {0}",
                args.out
            ));
        }
        Ok(Exit::Fine)
    })
}
