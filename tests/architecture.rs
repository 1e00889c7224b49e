//! Holds the tree to its rules: who may import whom, how long a file may be, what each file opens
//! with, and that each heavy dependency stays in its room. Standard library only, so that it can be
//! run before anything is built: `rustc --edition 2024 --test tests/architecture.rs`.

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms of the engine, bottom up: a room imports only from rooms before it.
const ENGINE: [&str; 16] = [
    "units",
    "document",
    "limiter",
    "site",
    "policy",
    "format",
    "traffic",
    "ingest",
    "measure",
    "replay",
    "calibrate",
    "cost",
    "generate",
    "metric",
    "recommend",
    "export",
];
/// Rooms of the program, bottom up.
const PROGRAM: [&str; 3] = ["table", "report", "cli"];
/// Lines of a file, tests and blank lines included.
const MOST_LINES: usize = 450;
/// Lines of a file before its tests.
const MOST_CODE_LINES: usize = 400;
/// A dependency and the files (by prefix) that may name it.
const HEAVY: [(&str, &[&str]); 14] = [
    ("annotate_snippets", &["src/cli/problems.rs"]),
    ("clap", &["src/cli/"]),
    ("chrono_tz", &["engine/src/units/zone.rs"]),
    ("comfy_table", &["src/report/terminal"]),
    ("csv", &["src/table/csv.rs", "engine/src/site/read/lists.rs"]),
    ("indicatif", &["src/cli/progress.rs"]),
    ("phonenumber", &["engine/src/site/phone.rs"]),
    ("polars", &["src/table/"]),
    ("signal_hook", &["src/cli/signals.rs"]),
    (
        "serde_json",
        &[
            "src/report/",
            "src/table/cell.rs",
            "engine/src/site/labels",
            "engine/src/document/schema",
            "engine/src/generate/",
        ],
    ),
    ("flate2", &["engine/src/ingest/source/decode.rs", "engine/src/generate/slices.rs"]),
    ("zstd", &["engine/src/ingest/source/decode.rs"]),
    ("toml", &["engine/src/document/"]),
    ("walkdir", &["engine/src/ingest/source/discover.rs"]),
];
/// What the engine never knows.
const BANNED_IN_ENGINE: [&str; 5] = ["clap", "comfy_table", "indicatif", "polars", "plotters"];

fn root() -> PathBuf {
    // compiled by cargo or by rustc alone
    option_env!("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// Every Rust file under a folder, as (path from the root, text).
fn files(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    assert!(!found.is_empty(), "{folder} holds no Rust file");
    found.sort();
    found
}

fn walk(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            found.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The part of a file before its tests: tests may look anywhere.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

fn is_test_file(name: &str) -> bool {
    name.ends_with("_tests.rs") || name.ends_with("/tests.rs")
}

/// The room a file belongs to: the folder, or the file, right under the package's `src`.
fn room(name: &str, source: &str) -> String {
    let inside = name.strip_prefix(source).unwrap();
    inside.split('/').next().unwrap().trim_end_matches(".rs").to_owned()
}

fn assert_layers(source: &str, rooms: &[&str]) {
    let mut wrong = Vec::new();
    for (name, text) in files(source) {
        let here = room(&name, source);
        let Some(level) = rooms.iter().position(|r| *r == here) else {
            assert!(["lib", "main", "fuzzing"].contains(&here.as_str()), "{name} is in no room");
            continue;
        };
        if is_test_file(&name) {
            continue;
        }
        for line in code(&text).lines().filter(|line| line.contains("crate::")) {
            let above =
                rooms.iter().skip(level + 1).find(|r| line.contains(&format!("crate::{r}")));
            if let Some(above) = above {
                wrong.push(format!("{name}: {here} imports {above}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn rooms_of_the_engine_import_only_from_rooms_below() {
    assert_layers("engine/src/", &ENGINE);
}

#[test]
fn rooms_of_the_program_import_only_from_rooms_below() {
    // diagnostics escape what they print: `report::escape` is below `cli`
    assert_layers("src/", &PROGRAM);
}

#[test]
fn every_file_says_what_it_is_for_and_stays_short() {
    let mut wrong = Vec::new();
    for folder in ["engine/src", "src", "tests"] {
        for (name, text) in files(folder) {
            if !text.starts_with("//! ") {
                wrong.push(format!("{name} does not open with a //! line"));
            }
            let (lines, code_lines) = (text.lines().count(), code(&text).lines().count());
            if code_lines > MOST_CODE_LINES || lines > MOST_LINES {
                wrong.push(format!("{name} has {lines} lines, {code_lines} of code"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn heavy_dependencies_stay_in_their_rooms() {
    let mut wrong = Vec::new();
    for folder in ["engine/src", "src"] {
        for (name, text) in files(folder) {
            for (dependency, homes) in HEAVY {
                let named = code(&text)
                    .lines()
                    .any(|line| line.starts_with(&format!("use {dependency}::")));
                if named && !homes.iter().any(|home| name.starts_with(home)) {
                    wrong.push(format!("{name} names {dependency}, which lives in {homes:?}"));
                }
            }
            for banned in BANNED_IN_ENGINE {
                if folder == "engine/src" && text.contains(&format!("{banned}::")) {
                    wrong.push(format!("{name} names {banned}, which the engine doesn't know"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn nothing_is_left_unfinished() {
    let marks = ["todo", "unimplemented"].map(|mark| format!("{mark}!("));
    for folder in ["engine/src", "src", "tests"] {
        for (name, text) in files(folder) {
            assert!(!marks.iter().any(|mark| text.contains(mark.as_str())), "{name} is unfinished");
            assert!(!text.contains(concat!("#[ig", "nore]")), "{name} ignores a test");
        }
    }
}
