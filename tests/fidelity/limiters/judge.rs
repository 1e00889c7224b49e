//! Decisions of a real limiter, held against those of its model at the same times.
//!
//! Where the limiter's clock left a time open, every instant of its clock that is possible is tried, and
//! a decision agrees only if one of them, after ones that explain all earlier decisions of the key, gives
//! the verdict. Nothing else is tolerated.

#[path = "judge_tests.rs"]
mod tests;

use std::collections::HashMap;
use std::io::Write as _;

use shadowcap_engine::limiter::{Algorithm as _, Limiter, State, Verdict};

use super::decisions::Decision;

/// Instants of the limiter's clock that one decision may leave open. Where a process was held up for
/// longer, its key is followed no further.
const MOST_OPEN_TICKS: i64 = 50;
/// States that the open decisions of one key may leave possible, or it is followed no further.
const MOST_STATES: usize = 200;
/// Disagreements that are shown.
const SHOWN: usize = 5;
/// The least decisions of a limiter that no open time could have turned.
const LEAST: u64 = 100_000;
/// The least of them that pass, and the least that are refused or delayed.
const LEAST_OF_EACH: u64 = 5_000;
/// Rounds in which all that is wanted must have been seen.
const MOST_ROUNDS: u64 = 10;

/// How a model did beside a real limiter.
#[derive(Debug, Default)]
pub(crate) struct Agreement {
    name: String,
    decisions: u64,
    agreed: u64,
    passed: u64,
    /// Decisions that the time left open by the limiter's clock would have turned.
    open: u64,
    /// Decisions that were not compared, since too little is known of their key's time.
    left_out: u64,
    /// Decisions at the very first instant of the limiter's clock that gives their verdict.
    first: u64,
    /// Decisions at the very last instant before the verdict would be another one.
    last: u64,
    rounds: u64,
    disagreements: Vec<String>,
}

/// Has a limiter asked in rounds, by other requests and with no key known yet in each, until enough was
/// seen, and confirms it. On a real clock it's a matter of the machine how many decisions fall on an edge
/// and how many times stay open: too few are a failure after the last round only, a disagreement in any.
pub(crate) fn confirm_in_rounds(
    name: &str,
    least_edges: u64,
    mut round: impl FnMut(&mut Agreement, u64),
) {
    let mut agreement = Agreement::new(name);
    for number in 0..MOST_ROUNDS {
        round(&mut agreement, number);
        agreement.rounds = number + 1;
        let agrees = agreement.decisions == agreement.agreed;
        if !agrees || agreement.lacking(least_edges).is_empty() {
            break;
        }
    }
    agreement.confirm(least_edges);
}

impl Agreement {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), rounds: 1, ..Self::default() }
    }

    /// Compares decisions of one limiter; keys start anew.
    pub(crate) fn judge(&mut self, limiter: &Limiter, tick_us: i64, decisions: &[Decision]) {
        // none: followed no further
        let mut keys: HashMap<&str, Option<Vec<State>>> = HashMap::new();
        for decision in decisions {
            let key = keys.entry(&decision.key).or_insert_with(|| Some(vec![limiter.fresh()]));
            let span = (floor(decision.from_us, tick_us), floor(decision.to_us, tick_us));
            let too_open = (span.1 - span.0).div_euclid(tick_us) >= MOST_OPEN_TICKS;
            if too_open || decision.verdict.is_none() {
                *key = None;
            }
            let (Some(states), Some(verdict)) = (key.as_mut(), decision.verdict) else {
                self.left_out += 1;
                continue;
            };
            self.decisions += 1;
            self.passed += u64::from(verdict == Verdict::Pass);
            let agrees = if let ([state], true) = (states.as_mut_slice(), span.0 == span.1) {
                self.edges(limiter, state, span.0, tick_us, decision.weight);
                step(limiter, state, span.0, decision.weight) == verdict
            } else {
                self.possible(limiter, states, (span, tick_us), (decision.weight, verdict))
            };
            self.agreed += u64::from(agrees);
            if !agrees && self.disagreements.len() < SHOWN {
                self.disagreements
                    .push(format!("{limiter:?}: {decision:?}, states now {states:?}"));
            }
            if states.len() > MOST_STATES {
                *key = None;
            }
        }
    }

    /// Prints what was compared, and fails unless all agree and the decisions could show a difference:
    /// enough of them have no open time, both verdicts are common, and so many at least lie on either side
    /// of an edge.
    pub(crate) fn confirm(&self, least_edges: u64) {
        let Self { name, decisions, agreed, open, left_out, first, last, rounds, .. } = self;
        let _ = writeln!(
            std::io::stderr(),
            "fidelity {name} {decisions} {agreed} \
             (open {open}, left out {left_out}, edges {first} {last}, rounds {rounds})"
        );
        assert_eq!(decisions, agreed, "{name}:\n{}", self.disagreements.join("\n"));
        let lacking = self.lacking(least_edges).join("; ");
        assert!(lacking.is_empty(), "{name}: all agree, but in {rounds} rounds {lacking}");
    }

    /// What was not seen often enough yet.
    fn lacking(&self, least_edges: u64) -> Vec<String> {
        let wanted = [
            (self.decisions - self.open, LEAST, "decisions at a time that is known"),
            (self.passed, LEAST_OF_EACH, "that pass"),
            (self.decisions - self.passed, LEAST_OF_EACH, "refused or delayed"),
            (self.first, least_edges, "at the first instant of their verdict"),
            (self.last, least_edges, "at the last instant of their verdict"),
        ];
        let lacking = wanted.into_iter().filter(|(seen, least, _)| seen < least);
        lacking.map(|(seen, least, what)| format!("{seen} of {least} {what}")).collect()
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
        ((from_us, to_us), tick_us): ((i64, i64), i64),
        (weight, verdict): (u64, Verdict),
    ) -> bool {
        assert!(from_us <= to_us, "{}: from {from_us} to {to_us}", self.name);
        let (mut explain, mut others) = (Vec::new(), Vec::new());
        for before in &*states {
            for tick in 0..=(to_us - from_us).div_euclid(tick_us) {
                let mut state = before.clone();
                let same = step(limiter, &mut state, from_us + tick * tick_us, weight) == verdict;
                let kind = if same { &mut explain } else { &mut others };
                if !kind.contains(&state) {
                    kind.push(state);
                }
            }
        }
        self.open += u64::from(!explain.is_empty() && !others.is_empty());
        let agrees = !explain.is_empty();
        *states = if agrees { explain } else { others };
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
