//! Result files: opened before the long work, so that a bad path fails at once; written beside their
//! place, synced and renamed, so that they appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::exit::Failure;

/// Temporary files that a sudden end must remove.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Where a result goes.
#[derive(Debug)]
pub(crate) enum Target {
    /// Standard output.
    Stdout,
    /// A file that appears when it is finished.
    File { file: File, temporary: PathBuf, path: PathBuf },
    /// A device or pipe, written in place.
    Device { file: File, path: PathBuf },
}

impl Target {
    /// Opens a target; `-` is standard output.
    ///
    /// # Errors
    /// When the file can't be made.
    pub(crate) fn open(name: &str) -> Result<Self, Failure> {
        if name == "-" {
            return Ok(Self::Stdout);
        }
        let path = PathBuf::from(name);
        let failure = |error: &io::Error| failure(&path, error);
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                return Err(Failure::Output {
                    path: name.to_owned(),
                    why: "is a folder".to_owned(),
                });
            }
            Ok(meta) if !meta.is_file() => {
                let file = File::options().write(true).open(&path).map_err(|e| failure(&e))?;
                return Ok(Self::Device { file, path });
            }
            _ => {}
        }
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{file_name}.{}.tmp", std::process::id()));
        let file = File::create(&temporary).map_err(|error| failure(&error))?;
        unfinished(|list| list.push(temporary.clone()));
        Ok(Self::File { file, temporary, path })
    }

    /// Whether finishing would replace this file.
    pub(crate) fn replaces(&self, other: &Path) -> bool {
        match self {
            Self::File { path, .. } => {
                let same = fs::canonicalize(path).ok().zip(fs::canonicalize(other).ok());
                same.is_some_and(|(mine, theirs)| mine == theirs)
            }
            Self::Stdout | Self::Device { .. } => false,
        }
    }

    /// Writes everything and makes it appear.
    ///
    /// # Errors
    /// When the system can't write, sync or rename.
    pub(crate) fn finish(mut self, content: &[u8]) -> Result<(), Failure> {
        self.write(content)?;
        self.commit()
    }

    /// Writes a part. A closed pipe is success: the reader has what it wanted.
    ///
    /// # Errors
    /// When the system can't write.
    pub(crate) fn write(&mut self, content: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(content).and_then(|()| stdout.flush());
                unless_closed(written).map_err(|error| failure(Path::new("stdout"), &error))
            }
            Self::Device { file, path } => {
                unless_closed(file.write_all(content)).map_err(|error| failure(path, &error))
            }
            Self::File { file, path, .. } => {
                file.write_all(content).map_err(|error| failure(path, &error))
            }
        }
    }

    /// Makes what was written appear.
    ///
    /// # Errors
    /// When the system can't sync or rename.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        let Self::File { file, temporary, path } = self else { return Ok(()) };
        file.sync_all()
            .and_then(|()| fs::rename(&temporary, &path))
            .map_err(|error| failure(&path, &error))?;
        unfinished(|list| list.retain(|name| *name != temporary));
        Ok(())
    }

    /// The failure to write it.
    pub(crate) fn failed(&self, why: &str) -> Failure {
        let path = match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File { path, .. } | Self::Device { path, .. } => {
                path.to_string_lossy().into_owned()
            }
        };
        Failure::Output { path, why: why.to_owned() }
    }

    /// A handle to the file itself, for writers that need one; `None` for standard output.
    ///
    /// # Errors
    /// When the system has no handles left.
    pub(crate) fn file(&self) -> Result<Option<File>, Failure> {
        match self {
            Self::Stdout => Ok(None),
            Self::Device { file, path } | Self::File { file, path, .. } => {
                file.try_clone().map(Some).map_err(|error| failure(path, &error))
            }
        }
    }
}

/// Removes temporary files of results that were not finished.
pub(crate) fn remove_unfinished() {
    unfinished(|list| {
        for path in list.drain(..) {
            // it may be gone already
            let _ = fs::remove_file(path);
        }
    });
}

fn unfinished(change: impl FnOnce(&mut Vec<PathBuf>)) {
    change(&mut UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner));
}

fn unless_closed(result: io::Result<()>) -> io::Result<()> {
    result.or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::Output { path: path.to_string_lossy().into_owned(), why: error.to_string() }
}
