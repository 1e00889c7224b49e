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
/// A process, or Redis, that is later than this may miss the time of a planned call, milliseconds.
const LATE_MS: u64 = 100;
/// Rounds of [`LASTING_MS`], of which one must show what is to be shown.
const MOST_ROUNDS: u32 = 6;

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

    /// What they did until they end.
    fn called(self) -> Called {
        let mut late_ms = 0;
        let mut read = |mut worker: Worker| {
            let mut text = String::new();
            worker.stdout.read_to_string(&mut text).unwrap();
            let mut starts = Vec::new();
            for line in text.lines() {
                match line.strip_prefix("late ") {
                    Some(late) => late_ms = late_ms.max(late.parse().unwrap()),
                    None => starts.push(line.parse().unwrap()),
                }
            }
            starts
        };
        let starts: Vec<Vec<u64>> = self.0.into_iter().map(&mut read).collect();
        let first = *starts.iter().flatten().min().unwrap();
        // half a distance earlier: of calls that are planned a distance apart, none is near either end
        let end = first + LASTING_MS - DISTANCE_MS / 2;
        let within = |times: &Vec<u64>| times.iter().filter(|t| **t < end).count();
        Called { calls: starts.iter().map(within).collect(), late_ms }
    }
}

/// Calls of workers.
struct Called {
    /// How many each made within [`LASTING_MS`], of which the last half distance lies before the first of all.
    calls: Vec<usize>,
    /// How late one of them was, at most.
    late_ms: u64,
}

impl Called {
    fn sum(&self) -> usize {
        self.calls.iter().sum()
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

fn tell(what: &str, real: &Called, replayed: usize) {
    let (sum, Called { calls, late_ms }) = (real.sum(), real);
    let line = format!(
        "fidelity workers {what}: {sum} calls in 10 s {calls:?}, replayed {replayed}, late {late_ms} ms"
    );
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[test]
fn six_processes_are_six_limiters_unless_they_count_in_redis() {
    let (Some(node), Some(program)) = (node(), find("redis-server")) else { return };
    let (today, proposed) = (replayed("today.toml"), replayed("proposed.toml"));
    assert_eq!((today, proposed), (120, 20));
    let each = usize::try_from(LASTING_MS / DISTANCE_MS).unwrap();
    for _ in 0..MOST_ROUNDS {
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
        let (one, six, shared) = (one.called(), six.called(), shared.called());
        tell("one process, local", &one, today / 6);
        tell("six processes, local", &six, today);
        tell("six processes, redis", &shared, proposed);
        // a limiter plans its calls exactly 500 ms apart; who waits in Redis may come a call early or late
        let as_replayed = one.calls.iter().chain(&six.calls).all(|calls| *calls == each)
            && (proposed - 1..=proposed + 1).contains(&shared.sum());
        if as_replayed {
            return;
        }
        let late_ms = one.late_ms.max(six.late_ms).max(shared.late_ms);
        assert!(late_ms > LATE_MS, "not as replayed, and never later than {late_ms} ms");
    }
    panic!(
        "in each of {MOST_ROUNDS} rounds a process was later than {LATE_MS} ms, and calls were missed"
    );
}
