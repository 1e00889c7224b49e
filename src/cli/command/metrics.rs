//! `metrics`: what a requirement may be about.

use shadowcap_engine::metric;

use crate::cli::args::ColorArg;
use crate::cli::args::policy::MetricsArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::job;
use crate::cli::output::Target;
use crate::cli::setting::{read_policy, read_site};
use crate::report::{json, metric_list};

/// Runs the command.
///
/// # Errors
/// When the site or the policy can't be used, or the list can't be written.
pub(crate) fn run(args: &MetricsArgs) -> Result<Exit, Failure> {
    let target = job::json_target(&args.json)?;
    let site = args.site.as_deref().map(|name| read_site(Some(name))).transpose()?;
    let policy = match &args.policy {
        Some(name) => Some(read_policy(name, &site.clone().unwrap_or_default())?),
        None => None,
    };
    let document = metric_list::build(metric::list(site.as_ref(), policy.as_ref()));
    let to_stdout = matches!(target, Some(Target::Stdout));
    if let Some(target) = target {
        target.finish(&json::write(&document))?;
    }
    if !to_stdout {
        let table = metric_list::write(&document, job::look(ColorArg::Auto));
        Target::Stdout.finish(table.as_bytes())?;
    }
    Ok(Exit::Fine)
}
