//! Limiters from npm, the packages as published, in processes of Node. Where their clock is `Date`,
//! `clock.js` is, so that every decision's time is known and 100,000 of them take seconds.

mod bottleneck;
mod bullmq;
mod express_rate_limit;
mod rate_limiter_flexible;
mod replayed;
mod workers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::decisions::{Decision, here, run};
use super::local::find;

/// What makes the folder in which the scripts run.
const FILES: [&str; 12] = [
    "package.json",
    "package-lock.json",
    ".npmrc",
    "clock.js",
    "traffic.js",
    "redis.js",
    "bottleneck.js",
    "bullmq.js",
    "express_rate_limit.js",
    "rate_limiter_flexible.js",
    "rate_limiter_flexible_redis.js",
    "workers.js",
];

/// Node, with the packages that the lock file names, in a folder of the build: scripts beside
/// `node_modules`. `None` without Node or npm.
fn node() -> Option<&'static Node> {
    static NODE: OnceLock<Option<Node>> = OnceLock::new();
    NODE.get_or_init(|| {
        let (program, npm) = (find("node")?, find("npm")?);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limiters-npm");
        install(&npm, &folder);
        Some(Node { program, folder })
    })
    .as_ref()
}

/// Sets, each with the seed of its script: another one in each round, from 1.
fn seeds<Set, const SETS: usize>(
    round: u64,
    sets: [Set; SETS],
) -> impl Iterator<Item = (i64, Set)> {
    let first = round * u64::try_from(SETS).unwrap() + 1;
    (first.cast_signed()..).zip(sets)
}

/// Runs scripts, two at a time, and gives what each printed.
fn in_pairs(commands: Vec<Command>) -> Vec<Vec<Decision>> {
    let mut commands = commands.into_iter();
    let mut decisions = Vec::new();
    loop {
        let pair: Vec<Command> = commands.by_ref().take(2).collect();
        if pair.is_empty() {
            return decisions;
        }
        let threads: Vec<_> =
            pair.into_iter().map(|command| std::thread::spawn(|| run(vec![command]))).collect();
        decisions.extend(threads.into_iter().map(|thread| thread.join().unwrap()));
    }
}

/// Node and the folder of the scripts.
#[derive(Debug)]
struct Node {
    program: PathBuf,
    folder: PathBuf,
}

impl Node {
    /// A process of a script with arguments.
    fn script(&self, name: &str, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        // young objects live long enough here for a small nursery to be walked over and over
        command.arg("--max-semi-space-size=64").arg(self.folder.join(name)).args(arguments);
        command
    }
}

/// Copies the scripts, and installs the packages unless those of the same lock file are there.
fn install(npm: &Path, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for name in FILES {
        fs::copy(here("npm").join(name), folder.join(name)).unwrap();
    }
    fs::copy(here("wait.lua"), folder.join("wait.lua")).unwrap();
    let lock = fs::read(folder.join("package-lock.json")).unwrap();
    let installed = folder.join("installed-lock.json");
    if fs::read(&installed).is_ok_and(|before| before == lock) {
        return;
    }
    let output = Command::new(npm).arg("ci").current_dir(folder).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "npm ci: {told}");
    fs::write(installed, lock).unwrap();
}
