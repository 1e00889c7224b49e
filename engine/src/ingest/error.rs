//! Why reading came to an end without a result.

use thiserror::Error;

use crate::format::foreign::Foreign;

/// Why nothing could be read, or reading had to stop.
#[derive(Debug, Error)]
pub enum LoadError {
    /// An argument names nothing.
    #[error("{name}: {why}")]
    Missing {
        /// The argument.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A file can't be opened or read.
    #[error("{name}: can't be read: {why}")]
    Unreadable {
        /// The file.
        name: String,
        /// What the system said.
        why: String,
    },
    /// A file that was named is no access log.
    #[error("{name}: {}", what.describe())]
    Foreign {
        /// The file.
        name: String,
        /// What it is.
        what: Foreign,
    },
    /// The events don't fit.
    #[error("the log doesn't fit the memory limit of {} MB: about {fits} requests do, and {read} were read so far. Narrow it with --from and --to, give fewer files, or raise --memory", limit_bytes / 1_000_000)]
    Memory {
        /// The limit, bytes.
        limit_bytes: u64,
        /// Requests read until then.
        read: u64,
        /// Requests that would fit.
        fits: u64,
    },
    /// The field that names clients is in none of the logs.
    #[error("--client-ip {field}: no log read has that field{hint}")]
    NoField {
        /// The field.
        field: String,
        /// What to do.
        hint: &'static str,
    },
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
}
