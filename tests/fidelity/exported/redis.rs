//! The exported Redis script in a real Redis: every decision that it makes must be the replay's at the time
//! that the script says it decided by, and so must what it answers besides.
//!
//! Asked twice: by the clock of Redis, and by one that the test sets, which comes to every edge: for that,
//! one line of the script, which asks the time, is replaced.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;

use shadowcap_engine::export::Target;
use shadowcap_engine::format::detect::{Choice, Format};
use shadowcap_engine::limiter::{Limiter, Ready, Verdict};
use shadowcap_engine::policy::{Limit, Mode, Policy, RetryAfter};
use shadowcap_engine::site::Site;
use shadowcap_engine::site::read::Folder as Files;
use shadowcap_engine::units::span;
use shadowcap_engine::units::time::format_rfc3339;

use crate::folder::Folder;
use crate::local::find;
use crate::replayed::{Decided, exported, here, policy_of, read, replayed};
use crate::server::Redis;

/// Decisions of each limit and group; each algorithm has three or more.
const DECISIONS: u64 = 7_000;
/// The least decisions of an algorithm.
const LEAST: u64 = 20_000;
/// The line of the script that asks the time.
const TIME: &str = "local time = redis.call('TIME')";
/// The same with the test's clock.
const SET_TIME: &str = "local time = { table.remove(ARGV, #ARGV - 1), table.remove(ARGV) }";
/// When the test's clock begins: shortly before a month ends in Bogota, 2028, a leap year; microseconds.
const BEGIN_US: i64 = 1_835_499_599_000_000;
/// Disagreements that are shown.
const SHOWN: usize = 8;

/// How a limit or group is asked, as the policy's comments say.
#[derive(Debug)]
struct Plan {
    name: String,
    weights: Vec<u64>,
    text: String,
}

/// What was answered to one request.
#[derive(Debug)]
struct Answer {
    name: String,
    weight: usize,
    key: u64,
    t_us: i64,
    allowed: bool,
    remaining: i64,
    retry_ms: i64,
    by: usize,
    /// When its response was counted, microseconds.
    counted_us: Option<i64>,
}

fn plans(text: &str) -> Vec<Plan> {
    let mut plans = Vec::new();
    for line in text.lines() {
        let Some(words) = line.strip_prefix("# ask: ") else { continue };
        let (name, rest) = words.split_once(' ').unwrap();
        let fields: BTreeMap<&str, &str> =
            rest.split(' ').map(|word| word.split_once('=').unwrap_or((word, "1"))).collect();
        let field = |name: &str| fields.get(name).copied().unwrap_or_default();
        let weights = fields.get("weights").copied().unwrap_or("1");
        let gap_us = span::parse(field("gap")).unwrap();
        let text = format!(
            "{name}:{}:{gap_us}:{weights}:{}:{DECISIONS}:{}",
            field("keys"),
            field("group"),
            field("responses")
        );
        let weights = weights.split(',').map(|weight| weight.parse().unwrap()).collect();
        plans.push(Plan { name: name.to_owned(), weights, text });
    }
    plans
}

/// The site, with a route for each limit or group and further weight.
fn site(plans: &[Plan]) -> Site {
    let mut routes = String::new();
    for plan in plans {
        for number in 0..plan.weights.len() {
            let route = route(&plan.name, number);
            write!(routes, "[[route]]\nname = \"{route}\"\npath = \"/{route}\"\n").unwrap();
        }
    }
    let text = std::fs::read_to_string(here("redis-site.toml")).unwrap();
    let text = text.replace("ROUTES", &routes);
    let files = Files::of(&here("redis-site.toml"));
    shadowcap_engine::site::read::read(text.as_bytes(), "site.toml", &files).unwrap()
}

fn route(name: &str, weight: usize) -> String {
    if weight == 0 { name.to_owned() } else { format!("{name}-{weight}") }
}

/// The policy, each limit about the routes of its own name, or of its group.
fn policy(text: &str, plans: &[Plan], site: &Site) -> Policy {
    let mut policy = policy_of(text, site);
    for limit in &mut policy.limits {
        let asked = limit.group.as_ref().map_or(&limit.name, |group| &group.name);
        let plan = plans.iter().find(|plan| plan.name == *asked).unwrap();
        let routes = (0..plan.weights.len()).map(|number| route(asked, number));
        let place = |name: String| site.routes.iter().position(|route| route.name == name).unwrap();
        limit.matching.route = routes.map(place).collect();
    }
    policy
}

fn answers(text: &str) -> Vec<Answer> {
    let answer = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<i64>().unwrap();
        Answer {
            name: words[0].to_owned(),
            weight: words[1].parse().unwrap(),
            key: words[2].parse().unwrap(),
            t_us: number(3),
            allowed: number(4) == 1,
            remaining: number(5),
            retry_ms: number(6),
            by: words[9].parse().unwrap(),
            counted_us: words[10].parse().ok(),
        }
    };
    text.lines().map(answer).collect()
}

/// The log that the requests would have left: a line each, stamped when they ended.
fn log(answers: &[Answer]) -> String {
    let mut log = String::new();
    for answer in answers {
        let end_us = answer.counted_us.unwrap_or(answer.t_us);
        let status = if answer.counted_us.is_some() { 404 } else { 200 };
        let duration_us = end_us - answer.t_us;
        let (route, key) = (route(&answer.name, answer.weight), answer.key);
        writeln!(
            log,
            r#"{{"ts":"{}","client_ip":"192.0.2.1","method":"GET","path":"/{route}","status":{status},"duration_us":{duration_us},"k":"{key}"}}"#,
            format_rfc3339(end_us)
        )
        .unwrap();
    }
    log
}

/// What is wrong with an answer beside the replay's.
fn judge(answer: &Answer, decided: &Decided, policy: &Policy) -> Option<String> {
    let refused = decided.refused_by.is_some();
    if answer.allowed == refused {
        return Some("the verdict".to_owned());
    }
    let members: Vec<usize> = decided.said.iter().map(|said| said.limit).collect();
    let first = policy.limits.iter().position(|limit| {
        limit.group.as_ref().map_or(&limit.name, |group| &group.name) == &answer.name
    })?;
    let would = decided.said.iter().find(|said| !said.verdict.admits()).map(|said| said.limit);
    let by = decided.refused_by.or(would).map_or(0, |limit| limit - first + 1);
    if answer.by != by {
        return Some(format!("who refuses: {by}, asked {members:?}"));
    }
    let [said] = decided.said.as_slice() else { return None };
    let limit = &policy.limits[said.limit];
    let left = said.after.of_milli.saturating_sub(said.after.used_milli) / 1_000;
    let left = i64::try_from(left).unwrap();
    let off = left - answer.remaining;
    if off != 0 && !(off == 1 && rounds(limit)) && !said_until_full(limit) {
        return Some(format!("what is left: {left}"));
    }
    retry(answer, limit, said.verdict, said.ready)
}

/// Whether thousandths of a request, which a replay tells, can hide that a whole one isn't left.
fn rounds(limit: &Limit) -> bool {
    matches!(limit.limiter, Limiter::SlidingCounter(_) | Limiter::TokenBucket(_) | Limiter::Gcra(_))
}

/// A full window of BullMQ's ends with the next request of its last instant: whoever looks on sees it full.
fn said_until_full(limit: &Limit) -> bool {
    limit.name == "fixed-until-full"
}

/// What is wrong with the time after which the answer tells to come again.
fn retry(answer: &Answer, limit: &Limit, verdict: Verdict, ready: Option<Ready>) -> Option<String> {
    if verdict.admits() || limit.mode == Mode::Shadow {
        return (answer.retry_ms != 0).then(|| "a time to come again".to_owned());
    }
    let tick_us = limit.tick_us;
    let expected = match ready? {
        Ready::Never => -1,
        Ready::AfterCompletion => return None,
        Ready::At(at_us) => {
            let at_us = (at_us + tick_us - 1).div_euclid(tick_us) * tick_us;
            (at_us - answer.t_us + 999).div_euclid(1_000).max(0)
        }
    };
    let counts = matches!(&limit.limiter, Limiter::SlidingLog(log) if log.count_refused);
    let careful = counts && limit.retry_after != RetryAfter::Exact;
    let agrees = if careful { answer.retry_ms >= expected } else { answer.retry_ms == expected };
    (!agrees).then(|| format!("when to come again: {expected} ms"))
}

/// Asks and compares; `set` is where the test's clock begins, if it isn't Redis'.
fn compare(set_us: Option<i64>) {
    let (Some(program), Some(python)) = (find("redis-server"), find("python3")) else { return };
    let text = std::fs::read_to_string(here("redis-policy.toml")).unwrap();
    let plans = plans(&text);
    let site = site(&plans);
    let policy = policy(&text, &plans, &site);
    let script = exported(&policy, &site, Target::RedisLua).text;
    assert_eq!(script.matches(TIME).count(), 1);
    let script = if set_us.is_some() { script.replace(TIME, SET_TIME) } else { script };
    let folder = Folder::new();
    let script = folder.write("shadowcap.lua", script);
    let redis = Redis::start(&program);
    // the clock that is set goes its own way for each limit, so one process asks after another's limits
    let mut command = Command::new(python);
    command.arg(here("client.py")).arg(redis.port().to_string()).arg(script).arg("7");
    command.arg(set_us.map_or("real".to_owned(), |us| us.to_string()));
    command.args(plans.iter().map(|plan| &plan.text));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers = answers(std::str::from_utf8(&output.stdout).unwrap());
    let path = folder.write("decisions.jsonl", log(&answers));

    let choice = Choice { format: Some(Format::Jsonl), ..Choice::default() };
    let read = read(path.as_ref(), &site, &policy, choice);
    assert_eq!(read.traffic.len(), answers.len());
    let decided = replayed(&read, &site, &policy);
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (decided, line) in decided.iter().zip(&read.traffic.events.lines) {
        let answer = &answers[usize::try_from(*line).unwrap() - 1];
        assert!(!decided.said.is_empty(), "nobody was asked: {answer:?}");
        if let Some(what) = judge(answer, decided, &policy) {
            wrong.push(format!("{what}: {answer:?}: {decided:?}"));
        }
        let refused = decided.said.iter().any(|said| !said.verdict.admits());
        counts.entry(answer.name.clone()).or_default()[usize::from(refused)] += 1;
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), answers.len(), shown(&wrong));
    confirm(&policy, &counts);
    // how close requests come by the clock of Redis depends on the machine; the other clock is the same anywhere
    if set_us.is_some() {
        for (name, [passed, refused]) in &counts {
            assert!(passed.min(refused) * 100 >= passed + refused, "{name}: {passed} {refused}");
        }
        must_differ(&read, &site, &policy, &decided);
    }
}

fn shown(wrong: &[String]) -> String {
    wrong[..wrong.len().min(SHOWN)].join("\n")
}

/// Each algorithm decided often, and both ways.
fn confirm(policy: &Policy, counts: &BTreeMap<String, [u64; 2]>) {
    let mut algorithms: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (name, [passed, refused]) in counts {
        let of_plan =
            |limit: &&Limit| limit.group.as_ref().map_or(&limit.name, |group| &group.name) == name;
        let limit = policy.limits.iter().find(of_plan).unwrap();
        let sum = algorithms.entry(limit.limiter.name()).or_default();
        *sum = [sum[0] + passed, sum[1] + refused];
    }
    assert_eq!(algorithms.len(), 5);
    for (name, [passed, refused]) in algorithms {
        let decisions = passed + refused;
        let _ = writeln!(std::io::stderr(), "exported redis {name} {decisions}");
        assert!(decisions >= LEAST, "{name}: {decisions}");
        assert!(passed.min(refused) * 100 >= decisions, "{name}: {passed} {refused}");
    }
}

/// A limit that is one smaller decides otherwise: the comparison can tell limits apart.
fn must_differ(read: &crate::replayed::Read, site: &Site, policy: &Policy, decided: &[Decided]) {
    let mut other = policy.clone();
    for limit in &mut other.limits {
        match &mut limit.limiter {
            Limiter::SlidingLog(log) => log.limit -= 1,
            Limiter::FixedWindow(fixed) => fixed.limit -= 1,
            Limiter::SlidingCounter(counter) => counter.limit -= 1,
            Limiter::TokenBucket(bucket) => bucket.burst -= 1,
            Limiter::Gcra(gcra) => gcra.burst_total -= 1,
            _ => {}
        }
    }
    let others = replayed(read, site, &other);
    let mut differ = vec![false; policy.limits.len()];
    for (one, two) in decided.iter().zip(&others) {
        for (one, two) in one.said.iter().zip(&two.said) {
            differ[one.limit] |= one.limit == two.limit && one.verdict != two.verdict;
        }
    }
    let same: Vec<&str> = policy
        .limits
        .iter()
        .zip(&differ)
        .filter(|(_, d)| !**d)
        .map(|(l, _)| l.name.as_str())
        .collect();
    assert!(same.is_empty(), "{same:?} decide alike with other numbers");
}

#[test]
fn a_script_decides_by_the_clock_of_redis_as_a_replay() {
    compare(None);
}

#[test]
fn a_script_decides_at_every_edge_as_a_replay() {
    compare(Some(BEGIN_US));
}
