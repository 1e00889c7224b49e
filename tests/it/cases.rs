//! Whole runs as data: each folder of `tests/data/cases/` holds a log, the arguments (one a line in
//! `args`) and what is expected. Add a folder to add a case; `SHADOWCAP_BLESS=1` writes what is
//! expected, to be read before it is kept.

use std::fs;
use std::path::Path;

use shadowcap_engine::limiter::Limiter;

use crate::support::{program, root};

fn expect(path: &Path, current: &[u8]) {
    if std::env::var_os("SHADOWCAP_BLESS").is_some() {
        fs::write(path, current).unwrap();
    }
    let expected = String::from_utf8(fs::read(path).unwrap_or_default()).unwrap();
    let current = String::from_utf8(current.to_vec()).unwrap();
    assert!(expected == current, "{}: expected\n{expected}\nfound\n{current}", path.display());
}

#[test]
fn every_case_gives_what_it_expects() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("tests/data/cases")).unwrap() {
        let folder = entry.unwrap().path();
        let arguments = fs::read_to_string(folder.join("args")).unwrap();
        let output = program().current_dir(&folder).args(arguments.lines()).output().unwrap();
        expect(&folder.join("stdout"), &output.stdout);
        expect(&folder.join("stderr"), &output.stderr);
        let code = format!("{}\n", output.status.code().unwrap());
        expect(&folder.join("exit"), code.as_bytes());
        count += 1;
    }
    assert!(count >= 4, "only {count} cases");
}

#[test]
fn every_algorithm_has_a_case() {
    for name in Limiter::NAMES {
        let folder = root().join("tests/data/cases").join(format!("replay-{name}"));
        assert!(folder.is_dir(), "{} is missing", folder.display());
        let policy = fs::read_to_string(folder.join("policy.toml")).unwrap();
        assert!(policy.contains(&format!("algorithm = \"{name}\"")), "{name}");
    }
}
