//! The reference replay: all requests in time order, one at a time, through every limit of a policy.
//! It is the truth that a faster engine must equal, so it does nothing but walk.

use std::collections::BTreeMap;

use crate::traffic::select::Selector;
use crate::traffic::{Observed, Traffic};

use super::arrangement::Arrangement;
use super::observer::{Counted, Ended, Observer};
use super::prepare::{Prepared, PreparedLimit};
use super::states::{Holder, StateKey, States};
use super::tiers::Balancers;
use super::variant::Variant;
use super::waiting::Waiting;

/// Events between two looks at whether to stop.
const EVENTS_BETWEEN_LOOKS: usize = 1 << 16;

/// Replays a traffic through a policy; `false` if stopped before its end.
pub fn replay(
    prepared: &Prepared<'_>,
    traffic: &Traffic,
    selector: &Selector<'_>,
    arrangement: &Arrangement<'_>,
    variant: &Variant,
    stopped: &(dyn Fn() -> bool + Sync),
    observer: &mut dyn Observer,
) -> bool {
    let mut walk = Walk {
        prepared,
        traffic,
        selector,
        states: States::new(prepared, variant, observer.wants_detail()),
        detail: observer.wants_detail(),
        waiting: BTreeMap::new(),
        balancers: Balancers::new(&prepared.tiers, variant.seed),
        agenda: BTreeMap::new(),
        scheduled: 0,
        observer,
    };
    for (count, (event, t_us)) in arrangement.in_order().enumerate() {
        if count % EVENTS_BETWEEN_LOOKS == 0 && stopped() {
            return false;
        }
        if variant.drop_already_refused && traffic.already_refused(event) {
            continue;
        }
        walk.run_until(Moment { t_us, rank: Rank::Arrival, event, number: 0 });
        walk.go(Flight::new(event, t_us, prepared.tiers.len()), t_us);
    }
    walk.run_until(Moment { t_us: i64::MAX, rank: Rank::Arrival, event: usize::MAX, number: 0 });
    true
}

/// When something is due. At one instant completions come first, then what waits, then arrivals, in the
/// order in which they arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    t_us: i64,
    rank: Rank,
    event: usize,
    number: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Completion,
    Wake,
    Arrival,
}

/// What is due.
#[derive(Debug)]
enum Due {
    /// A request that holds a slot ends.
    Release(Holder),
    /// A response is there that may count.
    Count(Holder),
    /// The first that waits may start.
    Wake(usize, StateKey),
    /// A delayed request goes on.
    GoOn(Flight),
}

/// A request on its way through the policy.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) event: usize,
    pub(super) arrived_us: i64,
    next_unit: usize,
    /// Slots it holds.
    pub(super) held: Vec<Holder>,
    /// Limits that count it if its response matches.
    pub(super) counts: Vec<Holder>,
    /// The instance it was given at each tier.
    pub(super) instances: Vec<Option<u32>>,
}

impl Flight {
    fn new(event: usize, arrived_us: i64, tiers: usize) -> Self {
        let instances = vec![None; tiers];
        Self { event, arrived_us, next_unit: 0, held: Vec::new(), counts: Vec::new(), instances }
    }
}

/// What a unit says to a request.
pub(super) enum Step {
    Pass,
    Delay(i64),
    Refuse(usize),
}

/// A replay under way.
pub(super) struct Walk<'a> {
    prepared: &'a Prepared<'a>,
    pub(super) traffic: &'a Traffic,
    selector: &'a Selector<'a>,
    pub(super) states: States,
    /// What waits, by limit and key.
    pub(super) waiting: BTreeMap<(usize, StateKey), Waiting>,
    balancers: Balancers<'a>,
    agenda: BTreeMap<Moment, Due>,
    scheduled: u64,
    pub(super) detail: bool,
    pub(super) observer: &'a mut dyn Observer,
}

impl<'a> Walk<'a> {
    /// Does what is due before a moment.
    fn run_until(&mut self, until: Moment) {
        while let Some(entry) = self.agenda.first_entry() {
            if *entry.key() >= until {
                return;
            }
            let (moment, due) = entry.remove_entry();
            match due {
                Due::Release(holder) => {
                    self.states.complete(holder, moment.t_us);
                    self.wake(holder.limit, holder.key, moment.t_us);
                }
                Due::Count(holder) => {
                    self.states.charge(holder, moment.t_us);
                    self.observer.counted(&Counted {
                        event: moment.event,
                        limit: holder.limit,
                        key: holder.key.1,
                        t_us: moment.t_us,
                        after: self.states.level(holder, moment.t_us),
                    });
                }
                Due::Wake(limit, key) => self.wake(limit, key, moment.t_us),
                Due::GoOn(flight) => self.go(flight, moment.t_us),
            }
        }
    }

    fn schedule(&mut self, t_us: i64, rank: Rank, event: usize, due: Due) {
        self.scheduled += 1;
        self.agenda.insert(Moment { t_us, rank, event, number: self.scheduled }, due);
    }

    /// Has the first that waits looked at again at an instant.
    pub(super) fn schedule_wake(&mut self, t_us: i64, limit: usize, key: StateKey) {
        self.schedule(t_us, Rank::Wake, 0, Due::Wake(limit, key));
    }

    /// Takes a request on from where it is.
    pub(super) fn go(&mut self, mut flight: Flight, t_us: i64) {
        let prepared = self.prepared;
        while let Some(unit) = prepared.units.get(flight.next_unit) {
            flight.next_unit += 1;
            let (event, instances) = (flight.event, &mut flight.instances);
            self.balancers.reach(unit.tier, event, self.traffic, instances);
            let queued = match unit.members.as_slice() {
                [only] => self.limit(*only).is_some_and(|ready| ready.limit.queue.is_some()),
                _ => false,
            };
            let step = if queued {
                match self.line_up(flight, unit, t_us) {
                    Some(same) => {
                        flight = same;
                        continue;
                    }
                    None => return,
                }
            } else {
                self.ask(&mut flight, unit, t_us)
            };
            match step {
                Step::Pass => {}
                Step::Delay(us) => {
                    let event = flight.event;
                    let at = t_us.saturating_add(us);
                    return self.schedule(at, Rank::Arrival, event, Due::GoOn(flight));
                }
                Step::Refuse(limit) => return self.refuse(flight, limit, t_us),
            }
        }
        self.admit(flight, t_us);
    }

    pub(super) fn limit(&self, index: usize) -> Option<&'a PreparedLimit<'a>> {
        self.prepared.limits.get(index)
    }

    pub(super) fn refuse(&mut self, flight: Flight, limit: usize, t_us: i64) {
        for holder in &flight.held {
            self.states.complete(*holder, t_us);
        }
        let (event, delay_us) = (flight.event, t_us - flight.arrived_us);
        self.observer.ended(&Ended { event, t_us, delay_us, refused_by: Some(limit) });
        for holder in flight.held {
            // not at once: what then starts may be refused in turn, and so on without end
            if self.waits(holder.limit, holder.key).is_some() {
                self.schedule_wake(t_us, holder.limit, holder.key);
            }
        }
    }

    fn admit(&mut self, flight: Flight, t_us: i64) {
        let Flight { event, arrived_us, held, counts, .. } = flight;
        let delay_us = t_us - arrived_us;
        self.observer.ended(&Ended { event, t_us, delay_us, refused_by: None });
        let mut lasted_us = self.traffic.duration_us(event).unwrap_or(0).max(0);
        if self.traffic.events.observed.get(event) == Some(&Observed::Delay) {
            // how long it took includes how long it was held up then
            lasted_us = (lasted_us - delay_us).max(0);
        }
        for holder in held {
            let lasted_us = lasted_us.max(self.states.tick_us(holder.limit));
            let end_us = t_us.saturating_add(lasted_us);
            self.schedule(end_us, Rank::Completion, event, Due::Release(holder));
        }
        for holder in counts {
            let ranges = self.limit(holder.limit).and_then(|r| r.limit.count_when.as_ref());
            if ranges.is_some_and(|ranges| self.selector.status_fits(event, ranges)) {
                let end_us = t_us.saturating_add(lasted_us);
                self.schedule(end_us, Rank::Completion, event, Due::Count(holder));
            }
        }
    }
}
