//! SIGINT and SIGTERM: the first asks the reader to stop, a second ends the program at once. Unix
//! only; the one file that is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::exit::Exit;
use super::{diagnostics, output};

/// How long the reader may take to notice: it may be waiting for standard input.
const GRACE: Duration = Duration::from_millis(500);

/// Starts listening; the flag is raised by the first signal.
///
/// # Errors
/// When the system doesn't let signals be caught.
pub(crate) fn listen() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if raised.swap(true, Ordering::Relaxed) {
                leave();
            }
            std::thread::spawn(|| {
                std::thread::sleep(GRACE);
                leave();
            });
        }
    });
    Ok(stop)
}

#[expect(clippy::exit, reason = "the main thread may be blocked in a read that nothing else ends")]
fn leave() {
    output::remove_unfinished();
    diagnostics::error("interrupted");
    std::process::exit(i32::from(Exit::Interrupted.code()));
}
