//! `calibrate`: how well a simulation agrees with the verdicts in a log.

use std::sync::atomic::Ordering;

use shadowcap_engine::calibrate::{Calibration, calibrate};

use crate::cli::args::policy::CalibrateArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::job::OutputJob;
use crate::cli::output::Target;
use crate::cli::progress::Progress;
use crate::cli::setting::Setting;
use crate::cli::{diagnostics, inputs, signals};
use crate::report::{calibration, json};

/// Runs the command.
///
/// # Errors
/// When the arguments, the site or the policy can't be used, or nothing can be read or compared.
pub(crate) fn run(args: &CalibrateArgs) -> Result<Exit, Failure> {
    let site = args.site.site.as_deref();
    let policy = std::slice::from_ref(&args.policy);
    let setting = Setting::new(site, policy, &args.input, &args.keys, &args.machine)?;
    let output = OutputJob::new(&args.output)?;
    let stop = signals::listen().map_err(|error| Failure::System(error.to_string()))?;
    let pool = inputs::pool(setting.load.threads)?;
    pool.install(|| {
        let found = inputs::find(&args.input.logs)?;
        if let Some(target) = &output.json {
            inputs::refuse_to_replace(&found, target, "--json")?;
        }
        let total = inputs::total_bytes(&found);
        let progress = Progress::new(total, output.progress, stop.clone());
        let read = setting.read(found, &progress).inspect_err(|_| progress.clear())?;
        setting.refuse_without_durations(&read)?;
        progress.say("comparing");
        let scene = setting.scene(&read, false);
        let stopped = || stop.load(Ordering::Relaxed);
        let policy = setting.policies.first().ok_or_else(Failure::interrupted)?;
        let result = calibrate(&scene, policy, &stopped).ok_or_else(Failure::interrupted)?;
        progress.clear();
        let document = calibration::build(&result, &read.traffic, &read.summary);
        let text = output.tables.map(|look| calibration::write(&document, look));
        if let Some(target) = output.json {
            target.finish(&json::write(&document))?;
        }
        if let Some(text) = text {
            Target::Stdout.finish(text.as_bytes())?;
        }
        Ok(judge(args, &result, output.quiet))
    })
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
