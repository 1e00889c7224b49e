//! Decisions of a real limiter, held against those of its model at the same times.
//!
//! Where the limiter's clock left a time open, every instant of its clock that is possible is tried, and
//! a decision agrees only if one of them, after ones that explain all earlier decisions of the key, gives
//! the verdict. Nothing else is tolerated.

use std::collections::HashMap;
use std::io::Write as _;

use shadowcap_engine::limiter::{Algorithm as _, Limiter, State, Verdict};

use super::decisions::Decision;

/// Instants of the limiter's clock that one decision may leave open: a process may be held up in between.
const MOST_OPEN_TICKS: i64 = 1_000;
/// States that the open decisions of one key may leave possible.
const MOST_STATES: usize = 200;
/// Disagreements that are shown.
const SHOWN: usize = 5;
/// The least decisions of a limiter.
const LEAST: u64 = 100_000;
/// Of all decisions, at least one in so many passes, and one in so many is refused or delayed.
const SHARE: u64 = 20;

/// How a model did beside a real limiter.
#[derive(Debug, Default)]
pub(crate) struct Agreement {
    name: String,
    decisions: u64,
    agreed: u64,
    passed: u64,
    /// Decisions that the time left open by the limiter's clock would have turned.
    open: u64,
    /// Decisions at the very first instant of the limiter's clock that gives their verdict.
    first: u64,
    /// Decisions at the very last instant before the verdict would be another one.
    last: u64,
    disagreements: Vec<String>,
}

impl Agreement {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Compares decisions of one limiter; keys start anew.
    pub(crate) fn judge(&mut self, limiter: &Limiter, tick_us: i64, decisions: &[Decision]) {
        let mut keys: HashMap<&str, Vec<State>> = HashMap::new();
        for decision in decisions {
            let states = keys.entry(&decision.key).or_insert_with(|| vec![limiter.fresh()]);
            self.decisions += 1;
            self.passed += u64::from(decision.verdict == Verdict::Pass);
            let (from_us, to_us) =
                (floor(decision.from_us, tick_us), floor(decision.to_us, tick_us));
            let agrees = if let ([state], true) = (states.as_mut_slice(), from_us == to_us) {
                self.edges(limiter, state, from_us, tick_us, decision.weight);
                step(limiter, state, from_us, decision.weight) == decision.verdict
            } else {
                self.possible(limiter, states, (from_us, to_us, tick_us), decision)
            };
            self.agreed += u64::from(agrees);
            if !agrees && self.disagreements.len() < SHOWN {
                self.disagreements
                    .push(format!("{limiter:?}: {decision:?}, states now {states:?}"));
            }
        }
    }

    /// Prints what was compared, and fails unless all agree and the decisions could show a difference:
    /// both verdicts are common, and so many decisions at least lie on either side of an edge.
    pub(crate) fn confirm(&self, least_edges: u64) {
        let Self { name, decisions, agreed, open, first, last, .. } = self;
        let _ = writeln!(
            std::io::stderr(),
            "fidelity {name} {decisions} {agreed} (open {open}, edges {first} {last})"
        );
        assert_eq!(decisions, agreed, "{name}:\n{}", self.disagreements.join("\n"));
        assert!(*decisions >= LEAST, "{name}: {decisions} decisions");
        let others = decisions - self.passed;
        assert!(self.passed.min(others) * SHARE >= *decisions, "{name}: {} passed", self.passed);
        assert!(*first >= least_edges, "{name}: {first} decisions at the first instant");
        assert!(*last >= least_edges, "{name}: {last} decisions at the last instant");
    }

    /// How many decisions the limiter's clock leaves open, per thousand, rounded up.
    pub(crate) fn open_permille(&self) -> u64 {
        (self.open * 1_000).div_ceil(self.decisions.max(1))
    }

    /// Counts a decision that would be another one an instant earlier or later.
    fn edges(&mut self, limiter: &Limiter, state: &State, t_us: i64, tick_us: i64, weight: u64) {
        let now = limiter.ask(state, t_us, weight).admits();
        self.first += u64::from(limiter.ask(state, t_us - tick_us, weight).admits() != now);
        self.last += u64::from(limiter.ask(state, t_us + tick_us, weight).admits() != now);
    }

    /// Leaves the states that explain the decision; without one, those that it could have come to.
    fn possible(
        &mut self,
        limiter: &Limiter,
        states: &mut Vec<State>,
        (from_us, to_us, tick_us): (i64, i64, i64),
        decision: &Decision,
    ) -> bool {
        let ticks = (to_us - from_us).div_euclid(tick_us);
        assert!((0..MOST_OPEN_TICKS).contains(&ticks), "{ticks} ticks are open: {decision:?}");
        let (mut explain, mut others) = (Vec::new(), Vec::new());
        for before in &*states {
            for tick in 0..=ticks {
                let mut state = before.clone();
                let t_us = from_us + tick * tick_us;
                let same = step(limiter, &mut state, t_us, decision.weight) == decision.verdict;
                let kind = if same { &mut explain } else { &mut others };
                if !kind.contains(&state) {
                    kind.push(state);
                }
            }
        }
        self.open += u64::from(!explain.is_empty() && !others.is_empty());
        let agrees = !explain.is_empty();
        *states = if agrees { explain } else { others };
        assert!(states.len() <= MOST_STATES, "{} states are possible", states.len());
        agrees
    }
}

/// What the model says, and accounts for it.
fn step(limiter: &Limiter, state: &mut State, t_us: i64, weight: u64) -> Verdict {
    let verdict = limiter.ask(state, t_us, weight);
    if verdict.admits() {
        limiter.charge(state, t_us, weight);
    } else {
        limiter.charge_refused(state, t_us, weight);
    }
    verdict
}

/// An instant as a clock of that step shows it.
fn floor(t_us: i64, tick_us: i64) -> i64 {
    t_us - t_us.rem_euclid(tick_us)
}
