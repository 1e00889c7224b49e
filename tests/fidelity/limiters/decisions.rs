//! What adapters print: a line for each decision of a real limiter,
//! `[SEQUENCE] T_US KEY WEIGHT VERDICT`, separated by spaces or tabs, in the order in which the limiter
//! decided.
//!
//! `T_US` is the time as the limiter saw it, whole microseconds; `FROM..TO` (both included) where its
//! clock is finer than what it tells. `VERDICT` is `pass`, `refuse` or `delay:US`; `lost` where the limiter
//! did not tell what it decided by, and its key can be followed no further. Of several processes that ask
//! one limiter each line opens with the limiter's own sequence number.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use shadowcap_engine::limiter::Verdict;

/// One decision of a real limiter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The limiter's own number, 0 if it told none.
    pub(crate) sequence: u64,
    /// The earliest time that the limiter may have seen, microseconds.
    pub(crate) from_us: i64,
    /// The latest.
    pub(crate) to_us: i64,
    pub(crate) key: String,
    pub(crate) weight: u64,
    /// None if the key can be followed no further.
    pub(crate) verdict: Option<Verdict>,
}

impl Decision {
    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let (sequence, words) = match words.as_slice() {
            [sequence, rest @ ..] if rest.len() == 4 => (sequence.parse().ok()?, rest),
            all => (0, all),
        };
        let [time, key, weight, verdict] = words else { return None };
        let (from, to) = time.split_once("..").unwrap_or((time, time));
        Some(Self {
            sequence,
            from_us: from.parse().ok()?,
            to_us: to.parse().ok()?,
            key: (*key).to_owned(),
            weight: weight.parse().ok()?,
            verdict: match *verdict {
                "pass" => Some(Verdict::Pass),
                "refuse" => Some(Verdict::Refuse),
                "lost" => None,
                other => Some(Verdict::Delay { us: other.strip_prefix("delay:")?.parse().ok()? }),
            },
        })
    }
}

/// A file of this test target.
pub(crate) fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fidelity/limiters").join(name)
}

/// Ends the process if the test ends first.
struct Adapter(Child);

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs adapters at the same time to their end and gives what they printed, by sequence number.
pub(crate) fn run(commands: Vec<Command>) -> Vec<Decision> {
    let started: Vec<Adapter> = commands
        .into_iter()
        .map(|mut command| {
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
            let child = command.spawn();
            Adapter(child.unwrap_or_else(|error| panic!("{command:?}: {error}")))
        })
        .collect();
    // each is read by a thread of its own: one that waits for its reader would hold up the others
    let readers: Vec<_> = started
        .into_iter()
        .map(|mut adapter| {
            std::thread::spawn(move || {
                let mut text = String::new();
                adapter.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
                let status = adapter.0.wait().unwrap();
                assert!(status.success(), "an adapter failed: {status}");
                text
            })
        })
        .collect();
    let mut decisions = Vec::new();
    for reader in readers {
        let text = reader.join().unwrap();
        let read = |line| Decision::read(line).unwrap_or_else(|| panic!("no decision: {line:?}"));
        decisions.extend(text.lines().map(read));
    }
    decisions.sort_by_key(|decision| decision.sequence);
    decisions
}

#[test]
fn lines_are_read_as_they_are_written() {
    let expected = Decision {
        sequence: 7,
        from_us: 1_000,
        to_us: 1_999,
        key: "a".to_owned(),
        weight: 2,
        verdict: Some(Verdict::Delay { us: 5 }),
    };
    assert_eq!(Decision::read("7\t1000..1999\ta\t2\tdelay:5"), Some(expected.clone()));
    let exact = Decision { sequence: 0, to_us: 1_000, verdict: Some(Verdict::Refuse), ..expected };
    assert_eq!(Decision::read("1000 a 2 refuse"), Some(exact.clone()));
    assert_eq!(Decision::read("1000 a 2 lost"), Some(Decision { verdict: None, ..exact }));
    for wrong in ["", "1000 a 2", "1000 a 2 maybe", "1..2..3 a 2 pass", "x 1 a 2 pass"] {
        assert_eq!(Decision::read(wrong), None, "{wrong}");
    }
}
