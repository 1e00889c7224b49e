//! `cost`: what policies can cost at most, without any log.

use shadowcap_engine::metric::{Evidence, evaluate};

use crate::cli::args::policy::CostArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::setting::{read_book, read_policies, read_site};
use crate::cli::{arguments, job};
use crate::report::costs::CostMaterial;
use crate::report::{build, json, terminal_costs};

use crate::cli::output::Target;

/// Runs the command.
///
/// # Errors
/// When the site, a policy or the price book can't be used, or nothing can be written.
pub(crate) fn run(args: &CostArgs) -> Result<Exit, Failure> {
    let target = job::json_target(&args.json)?;
    let site = read_site(args.site.site.as_deref())?;
    let policies = read_policies(&args.policy, &site)?;
    let book = read_book(args.cost.prices.as_deref(), &site)?;
    let pairs: Vec<_> = policies.iter().map(|policy| (policy, None)).collect();
    let required: Vec<_> = policies
        .iter()
        .map(|policy| {
            let evidence = Evidence { site: &site, policy, log: None, now_us: args.cost.now };
            (policy, evaluate(&evidence))
        })
        .collect();
    let report = build::without_log(
        &CostMaterial {
            site: &site,
            policies: &pairs,
            horizon_us: args.cost.horizon,
            now_us: args.cost.now,
            observed: &[],
            log: None,
            book: &book,
        },
        &required,
        &arguments::of_cost(args),
    );
    let to_stdout = matches!(target, Some(Target::Stdout));
    if let Some(target) = target {
        target.finish(&json::write(&report))?;
    }
    if !to_stdout && !args.quiet {
        let text = terminal_costs::alone(&report, job::look(args.color));
        Target::Stdout.finish(text.as_bytes())?;
    }
    Ok(Exit::Fine)
}
