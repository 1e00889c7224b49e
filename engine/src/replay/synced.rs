//! A replay that is set right after each decision by what the real enforcement point decided: each
//! verdict then stands for itself, and by how little a wrong one was missed can be told.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::limiter::{Limiter, Verdict};
use crate::policy::{GroupCharge, MissingKey};
use crate::traffic::{NONE, Traffic};
use crate::units::span::SECOND_US;

use super::arrangement::Arrangement;
use super::prepare::{Prepared, Unit};
use super::states::{Answer, Holder, StateKey, States};
use super::tiers::Balancers;
use super::variant::Variant;

/// How far an arrival is moved at most to find the observed verdict, microseconds.
const FARTHEST_US: i64 = 120 * SECOND_US;
/// How long ended requests are kept, for arrivals that are moved backwards, microseconds.
const KEPT_US: i64 = 5 * SECOND_US;

/// The kind of a verdict, the more severe the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It goes on at once.
    Pass,
    /// It goes on later.
    Delay,
    /// It is refused.
    Refuse,
}

impl From<Verdict> for Kind {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Delay { .. } => Self::Delay,
            Verdict::Refuse => Self::Refuse,
        }
    }
}

/// What a limiter in service decided about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// Its verdict.
    pub kind: Kind,
    /// Whether it only would have.
    pub dry_run: bool,
}

/// The words of the limiters in service: of rates, and of requests in flight.
pub type Words = [Option<Word>; 2];

/// What came of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncedVerdict {
    /// What the simulation says: the most severe verdict of its limits.
    pub simulated: Kind,
    /// Whether every limit with an observed word says the same.
    pub agrees: bool,
    /// By how much the arrival would have to move for the observed verdicts, microseconds; the farthest
    /// tried (120 s) where no move does it.
    pub margin_us: i64,
}

/// A request that holds, or lately held, a slot.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    from_us: i64,
    to_us: i64,
    weight: u64,
}

/// Where a delayed request goes on: the next unit, and the instance it was given at each tier.
type Onward = (usize, Vec<Option<u32>>);

/// The replay under way.
#[derive(Debug)]
pub struct Synced<'a> {
    prepared: &'a Prepared<'a>,
    traffic: &'a Traffic,
    states: States,
    balancers: Balancers<'a>,
    /// Requests in flight, and those that ended lately.
    flights: BTreeMap<(usize, StateKey), Vec<InFlight>>,
    /// Delayed requests: when they reach which unit; ties by the request.
    agenda: BTreeMap<(i64, usize), Onward>,
    verdicts: Vec<Option<SyncedVerdict>>,
}

impl<'a> Synced<'a> {
    /// Begins.
    pub fn new(prepared: &'a Prepared<'a>, traffic: &'a Traffic) -> Self {
        Self {
            prepared,
            traffic,
            states: States::new(prepared, &Variant::default(), false),
            balancers: Balancers::new(&prepared.tiers, 0),
            flights: BTreeMap::new(),
            agenda: BTreeMap::new(),
            verdicts: vec![None; traffic.len()],
        }
    }

    /// Decides every request, and takes the observed words for what happened; `None` for requests that no
    /// limit is asked about.
    pub fn run(
        mut self,
        arrangement: &Arrangement<'_>,
        words: impl Fn(usize) -> Words,
    ) -> Vec<Option<SyncedVerdict>> {
        for (event, t_us) in arrangement.in_order() {
            self.catch_up(t_us, &words);
            let fresh = (0, vec![None; self.prepared.tiers.len()]);
            self.go(event, fresh, t_us, words(event));
        }
        self.catch_up(i64::MAX, &words);
        self.verdicts
    }

    /// Takes delayed requests on that are due before an instant.
    fn catch_up(&mut self, t_us: i64, words: &impl Fn(usize) -> Words) {
        while let Some(entry) = self.agenda.first_entry() {
            let (due_us, event) = *entry.key();
            if due_us > t_us {
                return;
            }
            let onward = entry.remove();
            self.go(event, onward, due_us, words(event));
        }
    }

    /// Takes a request on from a unit.
    fn go(&mut self, event: usize, onward: Onward, t_us: i64, words: Words) {
        let (first, mut instances) = onward;
        let prepared = self.prepared;
        for (index, unit) in prepared.units.iter().enumerate().skip(first) {
            let members = self.asked(event, unit, t_us, &mut instances);
            if members.is_empty() {
                continue;
            }
            let word = self.word_for(&members, words);
            let (simulated, delay_us) = self.verdict(&members, t_us);
            let observed = word.map_or(simulated, |word| word.kind);
            let margin_us = match simulated.cmp(&observed) {
                Ordering::Equal => None,
                Ordering::Greater => Some(self.ease(&members, t_us, observed)),
                Ordering::Less => Some(self.tighten(&members, t_us, observed)),
            };
            self.note(event, simulated, margin_us);
            self.settle(unit, &members, event, t_us, observed);
            let in_earnest = word.is_none_or(|word| !word.dry_run);
            match observed {
                Kind::Refuse if in_earnest => return,
                Kind::Delay if in_earnest && delay_us > 0 => {
                    self.agenda.insert((t_us + delay_us, event), (index + 1, instances));
                    return;
                }
                _ => {}
            }
        }
    }

    /// What the limiter in service that these limits stand for said.
    fn word_for(&self, members: &[Holder], words: Words) -> Option<Word> {
        let [rates, flights] = words;
        let counts_flights = members.iter().all(|holder| self.slots(*holder).is_some());
        if counts_flights { flights } else { rates }
    }

    fn note(&mut self, event: usize, simulated: Kind, margin_us: Option<i64>) {
        if let Some(slot) = self.verdicts.get_mut(event) {
            let fresh = SyncedVerdict { simulated, agrees: true, margin_us: 0 };
            let verdict = slot.get_or_insert(fresh);
            verdict.simulated = verdict.simulated.max(simulated);
            verdict.agrees &= margin_us.is_none();
            verdict.margin_us = verdict.margin_us.max(margin_us.unwrap_or(0));
        }
    }

    /// Where the simulation is too severe: each state is set back in time until it is not. How far the
    /// farthest had to go.
    fn ease(&mut self, members: &[Holder], t_us: i64, observed: Kind) -> i64 {
        let mut farthest_us = 0;
        for holder in members {
            match self.least_move(*holder, t_us, 1, observed) {
                Some(us) => {
                    self.states.shift(*holder, -us);
                    farthest_us = farthest_us.max(us);
                }
                None => farthest_us = FARTHEST_US,
            }
        }
        farthest_us
    }

    /// Where the simulation is too lenient: the state that has the least way to go is set forward in time
    /// until it is not. How far that was.
    fn tighten(&mut self, members: &[Holder], t_us: i64, observed: Kind) -> i64 {
        let mut nearest: Option<(i64, Holder)> = None;
        for holder in members {
            if let Some(us) = self.least_move(*holder, t_us, -1, observed)
                && nearest.is_none_or(|(least, _)| us < least)
            {
                nearest = Some((us, *holder));
            }
        }
        let Some((us, holder)) = nearest else { return FARTHEST_US };
        self.states.shift(holder, us);
        us
    }

    /// The states of a unit that are asked.
    fn asked(
        &mut self,
        event: usize,
        unit: &Unit,
        t_us: i64,
        instances: &mut [Option<u32>],
    ) -> Vec<Holder> {
        self.balancers.reach(unit.tier, (event, 1), self.traffic, instances);
        let members = unit.members.iter().filter_map(|index| {
            let ready = self.prepared.limits.get(*index)?;
            let holder = ready.holder(*index, self.traffic, event, t_us, instances)?;
            let (_, key) = holder.key;
            let has_key = key != NONE || ready.limit.missing_key == MissingKey::Shared;
            has_key.then_some(holder)
        });
        members.collect()
    }

    /// What a unit says to an arrival at an instant, and how long it would hold it.
    fn verdict(&mut self, members: &[Holder], t_us: i64) -> (Kind, i64) {
        let mut kind = Kind::Pass;
        let mut delay_us = 0;
        for holder in members {
            let verdict = self.answer(*holder, t_us).verdict;
            kind = kind.max(verdict.into());
            if let Verdict::Delay { us } = verdict {
                delay_us = delay_us.max(us);
            }
            if kind == Kind::Refuse {
                // a real nginx asks no further
                break;
            }
        }
        (kind, delay_us)
    }

    fn slots(&self, holder: Holder) -> Option<u64> {
        match self.prepared.limits.get(holder.limit).map(|ready| &ready.limit.limiter) {
            Some(Limiter::Concurrency(slots)) => Some(slots.limit),
            _ => None,
        }
    }

    /// What one limit says to an arrival at an instant; slots are counted at that instant.
    fn answer(&mut self, holder: Holder, t_us: i64) -> Answer {
        let answer = self.states.ask(holder, t_us);
        let Some(limit) = self.slots(holder) else { return answer };
        let flights = self.flights.get(&(holder.limit, holder.key)).into_iter().flatten();
        let then = flights.filter(|flight| (flight.from_us..flight.to_us).contains(&t_us));
        let used: u64 = then.map(|flight| flight.weight).sum();
        let room = used.saturating_add(holder.weight) <= limit;
        Answer { verdict: if room { Verdict::Pass } else { Verdict::Refuse }, ..answer }
    }

    /// The least move of the arrival, forwards or backwards, that gives the observed verdict. What comes
    /// later is never treated more severely, so the least is found by halving.
    fn least_move(
        &mut self,
        holder: Holder,
        t_us: i64,
        direction: i64,
        observed: Kind,
    ) -> Option<i64> {
        let step_us = self.states.tick_us(holder.limit);
        let mut reached = |steps: i64| {
            let moved_us = t_us + direction * steps * step_us;
            let kind = Kind::from(self.answer(holder, moved_us).verdict);
            if direction > 0 { kind <= observed } else { kind >= observed }
        };
        if reached(0) {
            return Some(0);
        }
        let (mut short, mut far) = (0, 1);
        while !reached(far) {
            short = far;
            far *= 2;
            if far * step_us > FARTHEST_US {
                return None;
            }
        }
        while far - short > 1 {
            let middle = short + (far - short) / 2;
            if reached(middle) {
                far = middle;
            } else {
                short = middle;
            }
        }
        Some(far * step_us)
    }

    /// Takes the observed verdict for what happened.
    fn settle(&mut self, unit: &Unit, members: &[Holder], event: usize, t_us: i64, observed: Kind) {
        let all = unit.charge == GroupCharge::All;
        for holder in members {
            let answer = self.answer(*holder, t_us);
            if observed != Kind::Refuse || (all && answer.verdict.admits()) {
                self.charge(*holder, event, t_us);
            } else if !answer.verdict.admits() {
                self.states.refuse(&answer, !unit.grouped, t_us);
                if !all {
                    return;
                }
            }
        }
    }

    fn charge(&mut self, holder: Holder, event: usize, t_us: i64) {
        if self.states.holds(holder.limit) {
            // what it was held up before counts as part of how long it took
            let arrived_us = self.traffic.events.times_us.get(event).copied().unwrap_or(t_us);
            let lasted_us = self.traffic.duration_us(event).unwrap_or(0);
            let least_us = t_us + self.states.tick_us(holder.limit);
            let to_us = (arrived_us + lasted_us).max(least_us);
            let flights = self.flights.entry((holder.limit, holder.key)).or_default();
            flights.retain(|flight| flight.to_us > t_us - KEPT_US);
            flights.push(InFlight { from_us: t_us, to_us, weight: holder.weight });
        } else {
            self.states.charge(holder, t_us);
        }
    }
}
