//! The strategies of Python's `limits`, in memory on a clock that the adapter sets, and on a real Redis.

mod memory;
mod stored;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::decisions::here;
use super::local::{find, skip};

/// A Python that has what `requirements.txt` lists; `None` where there is no Python, or where it can't be
/// installed. It is kept beside the build for the next time.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<Result<PathBuf, String>>> = OnceLock::new();
    let installed =
        PYTHON.get_or_init(|| find("python3").map(|program| installed(&program))).as_ref()?;
    installed.as_ref().map(PathBuf::as_path).map_err(|error| skip(error)).ok()
}

fn installed(program: &Path) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fidelity-python");
    let wanted = fs::read_to_string(here("limits/requirements.txt")).unwrap();
    let (python, done) = (folder.join("bin/python"), folder.join("installed.txt"));
    // what is installed is written last: a folder without it was left half done
    if fs::read_to_string(&done).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    let _ = fs::remove_dir_all(&folder);
    let run = |command: &mut Command| {
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            other => Err(format!("{command:?}: {other:?}")),
        }
    };
    run(Command::new(program).args(["-m", "venv"]).arg(&folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
    run(Command::new(&python).args(install).arg("-r").arg(here("limits/requirements.txt")))?;
    fs::write(done, wanted).unwrap();
    Ok(python)
}
