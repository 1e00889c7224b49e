//! The reference replay: all requests in time order, one at a time, through every limit of a policy.
//! It is the truth that a faster engine must equal, so it does nothing but walk.

use std::collections::BTreeMap;

use crate::traffic::select::Selector;
use crate::traffic::{Observed, Traffic};

use super::arrangement::Arrangement;
use super::clients::Clients;
use super::observer::{Counted, Ended, Observer};
use super::outage::{Call, Disruption, Try};
use super::prepare::{Prepared, PreparedLimit, Unit};
use super::states::{Holder, StateKey, States};
use super::tiers::Balancers;
use super::variant::Variant;
use super::waiting::Waiting;

/// Events between two looks at whether to stop.
pub(super) const EVENTS_BETWEEN_LOOKS: usize = 1 << 16;

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
        disruption: Disruption::new(prepared, variant),
        clients: variant.closed_loop.then(|| Clients::new(prepared.site, traffic, selector)),
        stopped,
        observer,
    };
    let turns_us = walk.disruption.map(Disruption::turns_us);
    for t_us in turns_us.into_iter().flatten() {
        walk.schedule(t_us, Rank::Turn, 0, Due::Turn);
    }
    for (count, (event, t_us)) in arrangement.in_order().enumerate() {
        if count % EVENTS_BETWEEN_LOOKS == 0 && stopped() {
            return false;
        }
        if variant.drop_already_refused && traffic.already_refused(event) {
            continue;
        }
        if !walk.run_until(Moment { t_us, rank: Rank::Arrival, event, number: 0 }) {
            return false;
        }
        if walk.clients.as_ref().is_some_and(|clients| clients.has_given_up(event)) {
            walk.observer.given_up(event);
            continue;
        }
        walk.go(Flight::new((event, 1), t_us, prepared.tiers.len()), t_us);
    }
    walk.run_until(Moment { t_us: i64::MAX, rank: Rank::Arrival, event: usize::MAX, number: 0 })
}

/// When something is due. At one instant a store's outage begins or ends first, then come completions, then
/// what waits, then arrivals, in the order in which they arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    t_us: i64,
    rank: Rank,
    event: usize,
    number: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Turn,
    Completion,
    Wake,
    Arrival,
}

/// What is due.
#[derive(Debug)]
enum Due {
    /// A store's outage begins or ends.
    Turn,
    /// A request that holds a slot ends.
    Release(Holder),
    /// A response is there that counts: to which attempt.
    Count(Holder, u32),
    /// The first that waits may start.
    Wake(usize, StateKey),
    /// A delayed request goes on.
    GoOn(Flight),
}

/// A request on its way through the policy.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) event: usize,
    /// Which attempt of its client it is, from 1.
    pub(super) attempt: u32,
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
    fn new((event, attempt): Try, arrived_us: i64, tiers: usize) -> Self {
        Self {
            event,
            attempt,
            arrived_us,
            next_unit: 0,
            held: Vec::new(),
            counts: Vec::new(),
            instances: vec![None; tiers],
        }
    }

    /// The request, and which attempt of its client it is.
    pub(super) fn of(&self) -> Try {
        (self.event, self.attempt)
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
    pub(super) disruption: Option<Disruption<'a>>,
    /// If they react to refusals.
    pub(super) clients: Option<Clients<'a>>,
    stopped: &'a (dyn Fn() -> bool + Sync),
    pub(super) detail: bool,
    pub(super) observer: &'a mut dyn Observer,
}

impl<'a> Walk<'a> {
    /// Does what is due before a moment; `false` if stopped.
    fn run_until(&mut self, until: Moment) -> bool {
        let mut done = 0;
        while let Some(entry) = self.agenda.first_entry() {
            if *entry.key() >= until {
                return true;
            }
            done += 1;
            if done % EVENTS_BETWEEN_LOOKS == 0 && (self.stopped)() {
                return false;
            }
            let (moment, due) = entry.remove_entry();
            match due {
                Due::Turn => self.turn(moment.t_us),
                Due::Release(holder) => {
                    self.states.complete(holder, moment.t_us);
                    self.wake(holder.limit, holder.key, moment.t_us);
                }
                Due::Count(holder, attempt) => {
                    self.count(holder, (moment.event, attempt), moment.t_us);
                }
                Due::Wake(limit, key) => self.wake(limit, key, moment.t_us),
                Due::GoOn(flight) => self.go(flight, moment.t_us),
            }
        }
        true
    }

    /// Charges what was to be charged once the response is there, in whatever memory the state is by now.
    fn count(&mut self, holder: Holder, of: Try, t_us: i64) {
        let late = self.answers_late(holder, of, t_us);
        let answered = match self.call(holder, of, t_us) {
            Call::Answered(holder) => Some(holder),
            Call::Failed(..) => None,
        };
        for holder in late.into_iter().chain(answered) {
            self.states.charge(holder, t_us);
        }
        if let Some(holder) = answered.or(late) {
            let after = self.states.level(holder, t_us);
            let (event, attempt) = of;
            let (limit, key) = (holder.limit, holder.key.1);
            self.observer.counted(&Counted { event, attempt, limit, key, t_us, after });
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

    /// Takes a request on at an instant that it was given, before what arrives then.
    pub(super) fn go_later(&mut self, flight: Flight, t_us: i64) {
        self.schedule(t_us, Rank::Wake, flight.event, Due::GoOn(flight));
    }

    /// Takes a request on from where it is.
    pub(super) fn go(&mut self, mut flight: Flight, t_us: i64) {
        let prepared = self.prepared;
        while let Some(unit) = prepared.units.get(flight.next_unit) {
            flight.next_unit += 1;
            let (of, instances) = (flight.of(), &mut flight.instances);
            self.balancers.reach(unit.tier, of, self.traffic, instances);
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

    pub(super) fn units(&self) -> &'a [Unit] {
        &self.prepared.units
    }

    pub(super) fn refuse(&mut self, flight: Flight, limit: usize, t_us: i64) {
        for holder in &flight.held {
            self.states.complete(*holder, t_us);
        }
        let ((event, attempt), delay_us) = (flight.of(), t_us - flight.arrived_us);
        self.observer.ended(&Ended { event, attempt, t_us, delay_us, refused_by: Some(limit) });
        if let Some(pause_us) = self.pause_us(&flight, limit, t_us) {
            let again_us = t_us.saturating_add(pause_us);
            let again = Flight::new((event, attempt + 1), again_us, self.prepared.tiers.len());
            self.schedule(again_us, Rank::Arrival, event, Due::GoOn(again));
        }
        if let Some(clients) = &mut self.clients {
            clients.answered(event, true);
        }
        for holder in flight.held {
            // not at once: what then starts may be refused in turn, and so on without end
            if self.waits(holder.limit, holder.key).is_some() {
                self.schedule_wake(t_us, holder.limit, holder.key);
            }
        }
    }

    fn admit(&mut self, flight: Flight, t_us: i64) {
        let Flight { event, attempt, arrived_us, held, counts, .. } = flight;
        let delay_us = t_us - arrived_us;
        self.observer.ended(&Ended { event, attempt, t_us, delay_us, refused_by: None });
        if let Some(clients) = &mut self.clients {
            clients.answered(event, false);
        }
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
                self.schedule(end_us, Rank::Completion, event, Due::Count(holder, attempt));
            }
        }
    }
}
