//! Messages on stderr: errors, notes, and what a bug says of itself.

use std::io::{self, Write};

use shadowcap_engine::units::escape;

/// Prints an error. Names of files in it may hold anything, so it is escaped.
pub(crate) fn error(text: &str) {
    line("error", text);
}

/// Prints something worth knowing that changes nothing.
pub(crate) fn note(text: &str) {
    line("note", text);
}

fn line(kind: &str, text: &str) {
    // nobody can be told that stderr is closed
    let _ = writeln!(io::stderr(), "shadowcap: {kind}: {}", escape::terminal(text.as_bytes()));
}

/// Replaces the default panic message by one that holds no part of the log.
pub(crate) fn install_panic_message() {
    std::panic::set_hook(Box::new(|panic| {
        let place =
            panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        let version = env!("CARGO_PKG_VERSION");
        let text = format!(
            "this is a bug in shadowcap {version}, at {place}; please report it with this line"
        );
        error(&text);
    }));
}
