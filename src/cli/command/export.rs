//! `export`: a policy as configuration of what decides about requests.

use std::path::Path;

use shadowcap_engine::export::{Target as Kind, export};

use crate::cli::args::policy::{ExportArgs, TargetArg};
use crate::cli::diagnostics;
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Target;
use crate::cli::setting::{read_policy, read_site};

/// Runs the command.
///
/// # Errors
/// When the site or the policy can't be used, it isn't told for which place the file is, or it can't be
/// written.
pub(crate) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let site = read_site(args.site.as_deref())?;
    let policy = read_policy(&args.policy, &site)?;
    let kind = match args.to {
        TargetArg::Nginx => Kind::Nginx,
        TargetArg::RedisLua => Kind::RedisLua,
    };
    let exported = export(&policy, &site, kind, args.at.as_deref())
        .map_err(|error| Failure::Usage(format!("{}: {error}", args.policy)))?;
    let target = Target::open(&args.out)?;
    for file in std::iter::once(&args.policy).chain(&args.site) {
        if target.replaces(Path::new(file)) {
            let text =
                format!("--out {file}: this is the site or the policy, and would be replaced");
            return Err(Failure::Usage(text));
        }
    }
    target.finish(exported.text.as_bytes())?;
    if !args.quiet {
        for note in &exported.notes {
            diagnostics::note(&format!("{}: {note}", args.policy));
        }
    }
    Ok(Exit::Fine)
}
