//! Exit codes, and the failures that lead to them.

use std::process::ExitCode;

use shadowcap_engine::ingest::error::LoadError;
use thiserror::Error;

use super::setting::WrongFile;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Fine,
    /// Findings at the denied level, or too little agreement.
    Failed,
    /// The arguments are wrong.
    Usage,
    /// An input is missing, unreadable, foreign, too large, or has too many unreadable lines.
    Input,
    /// The user interrupted.
    Interrupted,
    /// The program is wrong.
    Bug,
}

impl Exit {
    /// The number the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::Interrupted => 4,
            Self::Bug => 101,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command gave no result.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The arguments contradict each other or can't be used.
    #[error("{0}")]
    Usage(String),
    /// A site or policy file is wrong.
    #[error("{}: {} to mend", .0.name, .0.problems.len())]
    Wrong(Box<WrongFile>),
    /// Reading failed.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A result can't be written.
    #[error("{path}: can't be written: {why}")]
    Output {
        /// Where it should have gone.
        path: String,
        /// What the system said.
        why: String,
    },
    /// Something the system refuses: threads, for one.
    #[error("{0}")]
    System(String),
}

impl Failure {
    /// The user interrupted.
    pub(crate) fn interrupted() -> Self {
        Self::Load(LoadError::Interrupted)
    }

    /// The exit code it leads to.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_)
            | Self::Wrong(_)
            | Self::Output { .. }
            | Self::Load(LoadError::NoField { .. }) => Exit::Usage,
            Self::Load(LoadError::Interrupted) => Exit::Interrupted,
            Self::Load(_) | Self::System(_) => Exit::Input,
        }
    }
}
