//! Correct in tests, six times over in production: Bottleneck with 500 ms between calls and one in flight, in
//! one worker process and in six, each counting for itself or all in Redis; and the same as the policies of
//! `policies/workers` say it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use shadowcap_engine::policy::{self, Policy};
use shadowcap_engine::site::read::Files;
use shadowcap_engine::site::{self, Site};

use super::node;
use super::replayed::{Outcome, Request, replay, traffic};
use crate::local::find;
use crate::server::Redis;

/// For how long workers call, milliseconds.
const LASTING_MS: u64 = 10_000;
/// How long a call takes, milliseconds: less than the distance of 500.
const TAKES_MS: u64 = 100;
/// What lies between two calls of one limiter, milliseconds.
const DISTANCE_MS: u64 = 500;

/// Workers that call at the same time.
struct Workers(Vec<Worker>);

struct Worker {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Workers {
    /// Starts them and waits until each is ready to call.
    fn start(count: usize, command: impl Fn() -> Command) -> Self {
        let start = || {
            let mut command = command();
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
            let mut child = command.spawn().unwrap();
            let stdin = child.stdin.take().unwrap();
            let stdout = BufReader::new(child.stdout.take().unwrap());
            Worker { child, stdin, stdout }
        };
        let mut workers: Vec<Worker> = (0..count).map(|_| start()).collect();
        for worker in &mut workers {
            let mut line = String::new();
            worker.stdout.read_line(&mut line).unwrap();
            assert_eq!(line, "ready\n");
        }
        Self(workers)
    }

    /// Has all begin at an instant, milliseconds since the epoch.
    fn begin(&mut self, from_ms: u128) {
        for worker in &mut self.0 {
            writeln!(worker.stdin, "{from_ms}").unwrap();
        }
    }

    /// How many calls each made within [`LASTING_MS`] after the first of all.
    fn calls(self) -> Vec<usize> {
        let read = |mut worker: Worker| {
            let mut text = String::new();
            worker.stdout.read_to_string(&mut text).unwrap();
            text.lines().map(|line| line.parse().unwrap()).collect()
        };
        let starts: Vec<Vec<u64>> = self.0.into_iter().map(read).collect();
        let first = *starts.iter().flatten().min().unwrap();
        let within = |times: &Vec<u64>| times.iter().filter(|t| **t < first + LASTING_MS).count();
        starts.iter().map(within).collect()
    }
}

/// Files beside the site's.
struct Beside<'a>(&'a Path);

impl Files for Beside<'_> {
    fn read(&self, path: &str) -> std::io::Result<Vec<u8>> {
        fs::read(self.0.join(path))
    }
}

/// Calls that start within [`LASTING_MS`] in a replay of a policy of `policies/workers`, where jobs wait
/// from the beginning.
fn replayed(policy: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/workers");
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    let site: Site = site::read::read(&bytes("site.toml"), "site.toml", &Beside(&folder)).unwrap();
    let policy: Policy = policy::read::read(&bytes(policy), policy, &site).unwrap();
    let job = |_| Request {
        at_us: 0,
        key: "tenant".to_owned(),
        weight: 1,
        lasts_us: i64::try_from(TAKES_MS * 1_000).unwrap(),
    };
    let jobs: Vec<Request> = (0..600).map(job).collect();
    // the one weight is the one route: calls to the vendor
    let (traffic, _) = traffic(&jobs);
    let until_us = i64::try_from(LASTING_MS * 1_000).unwrap();
    let ends = replay(&policy, &site, &traffic);
    let starts = |end: &&Option<Outcome>| matches!(end, Some(Outcome::Starts(t)) if *t < until_us);
    ends.iter().filter(starts).count()
}

fn tell(what: &str, real: &[usize], replayed: usize) {
    let sum: usize = real.iter().sum();
    let line =
        format!("fidelity workers {what}: {sum} calls in 10 s {real:?}, replayed {replayed}");
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[test]
fn six_processes_are_six_limiters_unless_they_count_in_redis() {
    let (Some(node), Some(program)) = (node(), find("redis-server")) else { return };
    let redis = Redis::start(&program);
    let worker = |port: &str| {
        let arguments = [port.to_owned(), LASTING_MS.to_string(), TAKES_MS.to_string()];
        node.script("workers.js", &arguments)
    };
    let port = redis.port().to_string();
    let mut one = Workers::start(1, || worker("-"));
    let mut six = Workers::start(6, || worker("-"));
    let mut shared = Workers::start(6, || worker(&port));
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    for workers in [&mut one, &mut six, &mut shared] {
        workers.begin(now_ms + 500);
    }
    let (one, six, shared) = (one.calls(), six.calls(), shared.calls());
    let (today, proposed) = (replayed("today.toml"), replayed("proposed.toml"));
    tell("one process, local", &one, today / 6);
    tell("six processes, local", &six, today);
    tell("six processes, redis", &shared, proposed);
    assert_eq!((today, proposed), (120, 20));
    // a limiter plans its calls exactly 500 ms apart, so that in 10 s of its own there are 20. Counted from
    // the first call of all, the last of a process that began later, or whose timer was late, may lie beyond
    let each = usize::try_from(LASTING_MS / DISTANCE_MS).unwrap();
    for calls in one.iter().chain(&six) {
        assert!((each - 1..=each).contains(calls), "one: {one:?}, six: {six:?}");
    }
    let sum: usize = shared.iter().sum();
    assert!((each - 1..=each + 1).contains(&sum), "in Redis: {shared:?}");
}
