//! Files that a site file names, beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where files come from; paths are relative to the site file's folder.
pub trait Files {
    /// The content of a file.
    ///
    /// # Errors
    /// When it can't be read.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// The path as seen from where the program runs, for messages and for opening it later.
    fn path(&self, path: &str) -> String {
        path.to_owned()
    }
}

/// A folder on disk.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder that a file is in.
    pub fn of(file: &Path) -> Self {
        Self(file.parent().map(Path::to_path_buf).unwrap_or_default())
    }
}

impl Files for Folder {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        fs::read(self.0.join(path))
    }

    fn path(&self, path: &str) -> String {
        self.0.join(path).to_string_lossy().into_owned()
    }
}
