//! Bottleneck: when each job starts, which are dropped and when, with every strategy.

use std::process::{Command, Stdio};

use shadowcap_engine::limiter::Limiter;
use shadowcap_engine::limiter::spacing::Spacing;
use shadowcap_engine::policy::{Limit, Queue, Strategy};

use super::node;
use super::replayed::{Compared, Outcome, Request, limit};

/// A millisecond, microseconds.
const MS_US: i64 = 1_000;
/// Keys and jobs of one set.
const KEYS: u32 = 100;
const JOBS: u32 = 6_000;

/// minTime in ms, maxConcurrent, highWater, strategy, whether weights vary.
type Set = (i64, Option<u64>, Option<u64>, Strategy, bool);

const SETS: [Set; 18] = [
    (50, None, None, Strategy::Leak, false),
    (500, Some(1), None, Strategy::Leak, false),
    (0, Some(3), None, Strategy::Leak, true),
    (30, Some(4), None, Strategy::Leak, true),
    // a queue that is full
    (20, Some(2), Some(3), Strategy::Leak, false),
    (20, Some(2), Some(3), Strategy::Overflow, false),
    (20, Some(2), Some(3), Strategy::Block, false),
    (40, Some(3), Some(2), Strategy::Leak, true),
    (40, Some(3), Some(2), Strategy::Overflow, true),
    (40, Some(3), Some(2), Strategy::Block, true),
    // no queue at all
    (20, Some(2), Some(0), Strategy::Leak, false),
    (20, Some(2), Some(0), Strategy::Overflow, false),
    (20, Some(2), Some(0), Strategy::Block, false),
    (100, None, Some(0), Strategy::Overflow, false),
    // without slots what waits for its distance isn't in the queue
    (100, None, Some(1), Strategy::Leak, false),
    (100, None, Some(1), Strategy::Block, false),
    // without a distance the penalty is 5 s
    (0, Some(1), Some(2), Strategy::Block, false),
    // starts that are planned beyond the penalty's end
    (10, Some(30), Some(1), Strategy::Block, false),
];

fn word(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Leak => "LEAK",
        Strategy::Overflow => "OVERFLOW",
        Strategy::Block => "BLOCK",
    }
}

fn command(script: impl Fn(&[String]) -> Command, set: Set, seed: usize) -> Command {
    let (min_time_ms, most, high_water, strategy, weigh) = set;
    let optional = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
    let arguments = [
        min_time_ms.to_string(),
        optional(most),
        optional(high_water),
        word(strategy).to_owned(),
        u8::from(weigh).to_string(),
        KEYS.to_string(),
        JOBS.to_string(),
        seed.to_string(),
    ];
    script(&arguments)
}

fn policy(set: Set) -> Limit {
    let (min_time_ms, max_concurrent, high_water, strategy, _) = set;
    let spacing = Spacing { min_time_us: min_time_ms * MS_US, max_concurrent };
    let queue = Some(Queue { high_water, strategy });
    Limit { queue, ..limit(Limiter::Spacing(spacing), MS_US) }
}

/// What became of a job: `T_US KEY WEIGHT DURATION_US pass|delay:US|refuse:T_US`.
fn read(line: &str) -> Option<(Request, Outcome)> {
    let words: Vec<&str> = line.split(' ').collect();
    let [at, key, weight, lasts, verdict] = words.as_slice() else { return None };
    let at_us: i64 = at.parse().ok()?;
    let outcome = match verdict.split_once(':') {
        None if *verdict == "pass" => Outcome::Starts(at_us),
        Some(("delay", us)) => Outcome::Starts(at_us + us.parse::<i64>().ok()?),
        Some(("refuse", dropped)) => Outcome::Refused(dropped.parse().ok()?),
        _ => return None,
    };
    let (weight, lasts_us) = (weight.parse().ok()?, lasts.parse().ok()?);
    Some((Request { at_us, key: (*key).to_owned(), weight, lasts_us }, outcome))
}

#[test]
fn bottleneck_agrees() {
    let Some(node) = node() else { return };
    let mut compared = Compared::new("bottleneck");
    let sets: Vec<(usize, Set)> = SETS.into_iter().enumerate().collect();
    for two in sets.chunks(2) {
        let children: Vec<_> = two
            .iter()
            .map(|(seed, set)| {
                let mut command = command(|a| node.script("bottleneck.js", a), *set, *seed);
                command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
                command.spawn().unwrap()
            })
            .collect();
        let outputs: Vec<_> =
            children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        for ((_, set), output) in two.iter().zip(outputs) {
            assert!(output.status.success(), "bottleneck.js: {set:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            let line = |line| read(line).unwrap_or_else(|| panic!("no job: {line}"));
            compared.compare(policy(*set), text.lines().map(line).collect());
        }
    }
    compared.confirm();
}
