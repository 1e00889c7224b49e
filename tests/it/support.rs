//! What the tests share: running the program, shared data.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

pub(crate) use crate::folder::Folder;

/// The root of the project.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program, ready for arguments.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shadowcap"));
    command.current_dir(root()).env_remove("NO_COLOR");
    command
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// Standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Runs `analyze` with these arguments and gives its JSON report.
pub(crate) fn report(arguments: &[&str]) -> Value {
    let output = program().arg("analyze").args(arguments).args(["--json", "-"]).output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", stderr(&output)))
}

/// The report without what depends on how the log came.
pub(crate) fn without_input(mut report: Value) -> Value {
    report.as_object_mut().unwrap().remove("input");
    report
}

/// The folder of shared test data; `None`, with a line saying so, where it is absent. With `shared` in
/// `SHADOWCAP_REQUIRE` its absence is a failure.
pub(crate) fn shared(what: &str) -> Option<PathBuf> {
    let base = std::env::var_os("SHADOWCAP_SHARED")
        .map_or_else(|| root().join("../shared"), PathBuf::from);
    let path = base.join(what);
    if path.exists() {
        return Some(path);
    }
    let required = std::env::var("SHADOWCAP_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|word| word == "shared"), "{} is absent", path.display());
    let _ = writeln!(std::io::stdout(), "skipped: {what} of the shared test data is absent");
    None
}

/// A line of nginx's combined format.
pub(crate) fn line(client: &str, time: &str, request: &str, status: u16) -> String {
    format!("{client} - - [{time}] \"{request}\" {status} 612 \"-\" \"curl/8.0.0\"\n")
}

/// The upper end of a number or a bracket.
pub(crate) fn hi(value: &Value) -> u64 {
    value.as_u64().or_else(|| value["hi"].as_u64()).unwrap_or_else(|| panic!("{value}"))
}
