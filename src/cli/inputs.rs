//! The inputs of a command: found, Parquet among them opened its own way, and kept from being
//! overwritten.

use std::path::Path;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use shadowcap_engine::ingest::source::discover::{Found, Input, Opener, discover};

use crate::table::parquet_in::{ParquetLines, is_parquet};

use super::exit::Failure;
use super::output::Target;

/// Finds what the arguments name.
///
/// # Errors
/// When one names nothing.
pub(crate) fn find(logs: &[String]) -> Result<Found, Failure> {
    let mut found = discover(logs)?;
    for input in &mut found.inputs {
        if let Some(path) = input.path.clone().filter(|path| is_parquet(path)) {
            let open = move || ParquetLines::open(&path).map(|lines| Box::new(lines) as _);
            input.opener = Some(Opener(Arc::new(open)));
        }
    }
    Ok(found)
}

/// What there is to read, where every input's size is known.
pub(crate) fn total_bytes(found: &Found) -> Option<u64> {
    found.inputs.iter().map(|input| input.size).sum()
}

/// A result must not take the place of a log, as `--json access.log*` would have it.
///
/// # Errors
/// When it would.
pub(crate) fn refuse_to_replace(found: &Found, target: &Target, flag: &str) -> Result<(), Failure> {
    let replaced =
        |input: &&Input| input.path.as_deref().is_some_and(|path: &Path| target.replaces(path));
    match found.inputs.iter().find(replaced) {
        Some(input) => Err(Failure::Usage(format!(
            "{flag} {}: this is one of the logs to read, and would be replaced",
            input.name
        ))),
        None => Ok(()),
    }
}

/// The threads that a command works with.
///
/// # Errors
/// When the system has none.
pub(crate) fn pool(threads: usize) -> Result<ThreadPool, Failure> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Failure::System(format!("no threads: {error}")))
}
