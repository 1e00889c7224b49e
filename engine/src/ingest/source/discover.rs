//! Turns the arguments of a command into files: folders are walked, globs expanded, `-` is standard
//! input. A file is read once, however often it is named.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use walkdir::WalkDir;

use crate::ingest::error::LoadError;

/// Opens an input that isn't read as it is stored, giving lines instead.
#[derive(Clone)]
pub struct Opener(pub Arc<OpenLines>);

/// What an [`Opener`] calls.
pub type OpenLines = dyn Fn() -> io::Result<Box<dyn Read + Send>> + Send + Sync;

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opener")
    }
}

/// One thing to read.
#[derive(Debug, Clone)]
pub struct Input {
    /// What reports call it: the path as it follows from the argument, or `-`.
    pub name: String,
    /// Where it is; `None` for standard input.
    pub path: Option<PathBuf>,
    /// Whether the user named this very file, and not a folder or glob that holds it.
    pub explicit: bool,
    /// Its size in bytes, where that is known before reading.
    pub size: Option<u64>,
    /// How its lines are had, if it holds none itself (Parquet).
    pub opener: Option<Opener>,
}

/// What the arguments name.
#[derive(Debug, Default)]
pub struct Found {
    /// The inputs, sorted by name.
    pub inputs: Vec<Input>,
    /// Names that led to a file already named.
    pub repeated: Vec<String>,
    /// Names found in folders that can't be opened, and why.
    pub unusable: Vec<(String, String)>,
}

/// Finds what the arguments name.
///
/// # Errors
/// When an argument names nothing, or something that can't be opened.
pub fn discover(arguments: &[String]) -> Result<Found, LoadError> {
    let mut found = Found::default();
    let mut seen = BTreeSet::new();
    for argument in arguments {
        if argument == "-" {
            let input = Input {
                name: "-".to_owned(),
                path: None,
                explicit: true,
                size: None,
                opener: None,
            };
            add(&mut found, &mut seen, PathBuf::from("-"), input);
        } else if fs::metadata(argument).is_ok_and(|meta| meta.is_dir()) {
            add_folder(&mut found, &mut seen, argument)?;
        } else if fs::symlink_metadata(argument).is_err() && argument.contains(['*', '?', '[']) {
            add_glob(&mut found, &mut seen, argument)?;
        } else {
            add_file(&mut found, &mut seen, Path::new(argument), true)?;
        }
    }
    found.inputs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn add(found: &mut Found, seen: &mut BTreeSet<PathBuf>, identity: PathBuf, input: Input) {
    if seen.insert(identity) {
        found.inputs.push(input);
    } else {
        found.repeated.push(input.name);
    }
}

fn add_file(
    found: &mut Found,
    seen: &mut BTreeSet<PathBuf>,
    path: &Path,
    explicit: bool,
) -> Result<(), LoadError> {
    let name = path.to_string_lossy().into_owned();
    let missing = |why: String| LoadError::Missing { name: name.clone(), why };
    let meta = fs::metadata(path).map_err(|error| {
        let hint = if error.kind() == io::ErrorKind::NotFound {
            "no such file; give a log, a folder of logs, a glob in quotes, or - for standard input"
                .to_owned()
        } else {
            error.to_string()
        };
        missing(hint)
    })?;
    // opening a pipe may wait for its writer, so only files are tried beforehand
    if meta.is_file() {
        fs::File::open(path).map_err(|error| missing(format!("can't be opened: {error}")))?;
    }
    let identity = if meta.is_file() { fs::canonicalize(path).ok() } else { None };
    let size = meta.is_file().then_some(meta.len());
    let input = Input { name, path: Some(path.to_owned()), explicit, size, opener: None };
    add(found, seen, identity.unwrap_or_else(|| path.to_owned()), input);
    Ok(())
}

/// Every plain file under a folder, but hidden ones.
fn add_folder(
    found: &mut Found,
    seen: &mut BTreeSet<PathBuf>,
    folder: &str,
) -> Result<(), LoadError> {
    let before = found.inputs.len() + found.repeated.len();
    let hidden = |entry: &walkdir::DirEntry| {
        entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with('.')
    };
    let walk = WalkDir::new(folder).follow_links(true).sort_by_file_name();
    for entry in walk.into_iter().filter_entry(|entry| !hidden(entry)) {
        let refused = match entry {
            Ok(entry) if !entry.file_type().is_file() => continue,
            Ok(entry) => add_file(found, seen, entry.path(), false),
            Err(error) => Err(LoadError::Missing {
                name: error.path().unwrap_or(Path::new(folder)).to_string_lossy().into_owned(),
                why: error
                    .io_error()
                    .map_or_else(|| "links to itself".to_owned(), ToString::to_string),
            }),
        };
        match refused {
            // one bad link must not keep the rest of a folder from being read
            Err(LoadError::Missing { name, why }) if name != folder => {
                found.unusable.push((name, why));
            }
            other => other?,
        }
    }
    if found.inputs.len() + found.repeated.len() == before {
        let why = "the folder holds no files".to_owned();
        return Err(LoadError::Missing { name: folder.to_owned(), why });
    }
    Ok(())
}

fn add_glob(found: &mut Found, seen: &mut BTreeSet<PathBuf>, glob: &str) -> Result<(), LoadError> {
    let missing = |why: String| LoadError::Missing { name: glob.to_owned(), why };
    let paths = glob::glob(glob).map_err(|error| missing(format!("is no glob: {}", error.msg)))?;
    let mut any = false;
    for path in paths {
        let path = path.map_err(|error| missing(error.to_string()))?;
        any = true;
        if path.is_dir() {
            add_folder(found, seen, &path.to_string_lossy())?;
        } else {
            add_file(found, seen, &path, false)?;
        }
    }
    if any { Ok(()) } else { Err(missing("no file matches".to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &Found) -> Vec<&str> {
        found.inputs.iter().map(|input| input.name.rsplit('/').next().unwrap()).collect()
    }

    #[test]
    fn folders_globs_and_files_are_each_read_once() {
        let folder =
            std::env::temp_dir().join(format!("shadowcap-discover-{}", std::process::id()));
        fs::create_dir_all(folder.join("deep")).unwrap();
        for name in ["b.log", "a.log", "deep/c.gz", ".hidden"] {
            fs::write(folder.join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("nowhere", folder.join("dangling")).unwrap();
        let root = folder.to_string_lossy().into_owned();
        let found =
            discover(&[root.clone(), format!("{root}/*.log"), format!("{root}/a.log")]).unwrap();
        assert_eq!(names(&found), ["a.log", "b.log", "c.gz"]);
        assert_eq!(found.repeated.len(), 3);
        assert!(found.unusable[0].0.ends_with("dangling"), "{:?}", found.unusable);
        let missing = discover(&[format!("{root}/none.log")]).unwrap_err().to_string();
        assert!(missing.contains("no such file"), "{missing}");
        assert!(discover(&[format!("{root}/*.none")]).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
