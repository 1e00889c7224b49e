//! A progress bar on stderr while logs are read, and the watch that the reader polls.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use shadowcap_engine::ingest::load::Watch;

/// Shows progress and passes interrupts on.
pub(crate) struct Progress {
    bar: ProgressBar,
    stop: Arc<AtomicBool>,
}

impl Progress {
    /// A bar over `total` bytes, or a spinner where the total isn't known; hidden unless `shown` and
    /// stderr is a terminal.
    pub(crate) fn new(total: Option<u64>, shown: bool, stop: Arc<AtomicBool>) -> Self {
        let bar = match total {
            Some(total) => ProgressBar::new(total).with_style(style(
                "{bar:40} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} left",
            )),
            None => ProgressBar::new_spinner()
                .with_style(style("{spinner} {bytes} {binary_bytes_per_sec}")),
        };
        let visible = shown && io::stderr().is_terminal();
        let target =
            if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        bar.set_draw_target(target);
        if visible {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, stop }
    }

    /// Whether the user interrupted.
    pub(crate) fn interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// So many bytes more were written.
    pub(crate) fn wrote(&self, bytes: usize) {
        self.bar.inc(u64::try_from(bytes).unwrap_or(0));
    }

    /// Says what goes on after reading.
    pub(crate) fn say(&self, what: &'static str) {
        self.bar.set_style(style("{spinner} {msg}"));
        self.bar.set_message(what);
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Progress {
    fn read(&self, bytes: u64) {
        self.bar.inc(bytes);
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
