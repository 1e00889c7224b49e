//! `calibrate`: how well a simulation agrees with the verdicts in a log.

use shadowcap_engine::calibrate::{Calibration, calibrate};

use crate::cli::args::policy::CalibrateArgs;
use crate::cli::diagnostics;
use crate::cli::exit::{Exit, Failure};
use crate::cli::job::OutputJob;
use crate::cli::setting::Setting;
use crate::report::calibration;

/// Runs the command.
///
/// # Errors
/// When the arguments, the site or the policy can't be used, or nothing can be read or compared.
pub(crate) fn run(args: &CalibrateArgs) -> Result<Exit, Failure> {
    let site = args.site.site.as_deref();
    let policy = std::slice::from_ref(&args.policy);
    let setting = Setting::new(site, policy, &args.input, &args.keys, &args.machine)?;
    let output = OutputJob::new(&args.output)?;
    let (result, document) = setting.with_logs(&args.input, &output, &[], |read, progress| {
        progress.say("comparing");
        let policy = setting.policies.first().ok_or_else(Failure::interrupted)?;
        let stopped = || progress.interrupted();
        let scene = setting.scene(read, false);
        let result = calibrate(&scene, policy, &stopped).ok_or_else(Failure::interrupted)?;
        let document = calibration::build(&result, &read.traffic, &read.summary);
        Ok((result, document))
    })?;
    let quiet = output.quiet;
    output.deliver(&document, calibration::write)?;
    Ok(judge(args, &result, quiet))
}

/// Whether the agreement is what was asked for.
fn judge(args: &CalibrateArgs, result: &Calibration, quiet: bool) -> Exit {
    let Some(least) = args.min_agreement else { return Exit::Fine };
    let (compared, agreed) = (u128::from(result.compared()), u128::from(result.agreed()));
    if compared > 0 && agreed * 1_000_000 >= compared * u128::from(least.per_million) {
        return Exit::Fine;
    }
    if !quiet {
        let what = if compared == 0 { "nothing could be compared" } else { "too little agreement" };
        diagnostics::note(&format!("{what} (--min-agreement {least}); the exit code is 1"));
    }
    Exit::Failed
}
