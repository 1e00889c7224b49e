//! Where in its step of time each request is put: a stamp of one second leaves the order and the
//! distances inside the second open.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::traffic::Traffic;

/// Arrival times, and the order that follows of them.
#[derive(Debug)]
pub struct Arrangement<'t> {
    times_us: Cow<'t, [i64]>,
    /// Events by arrival; `None` where they are in order already.
    order: Option<Vec<u32>>,
}

/// Where in its step of time each request is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// All at the beginning: as stamped.
    Bunched,
    /// Each client's evenly over the step.
    Spread,
    /// All at the end of even steps and the beginning of odd ones: two steps' worth at once.
    Border,
}

impl<'t> Arrangement<'t> {
    /// The events as stamped.
    pub fn bunched(traffic: &'t Traffic) -> Self {
        Self { times_us: Cow::Borrowed(&traffic.events.times_us), order: None }
    }

    /// The events as stamped; those of one stamp by `rank` first.
    pub fn ranked<R: Ord>(traffic: &'t Traffic, rank: impl Fn(usize) -> R) -> Self {
        let times = &traffic.events.times_us;
        let mut order: Vec<u32> = (0..).take(times.len()).collect();
        order.sort_by_key(|event| {
            let event = usize::try_from(*event).ok();
            (event.and_then(|event| times.get(event)).copied(), event.map(&rank))
        });
        Self { times_us: Cow::Borrowed(times), order: Some(order) }
    }

    /// The events placed within their steps; `steps_us` is each source's step, microseconds.
    pub fn new(traffic: &'t Traffic, placement: Placement, steps_us: &[i64]) -> Self {
        let step = |event: usize| {
            let source = traffic.events.sources.get(event).and_then(|s| usize::try_from(*s).ok());
            source.and_then(|source| steps_us.get(source)).copied().unwrap_or(1).max(1)
        };
        let times: Vec<i64> = match placement {
            Placement::Bunched => return Self::bunched(traffic),
            Placement::Spread => spread(traffic, step),
            Placement::Border => {
                let times = traffic.events.times_us.iter().enumerate();
                times
                    .map(|(event, stamp)| {
                        let step = step(event);
                        let even = stamp.div_euclid(step).rem_euclid(2) == 0;
                        if even { stamp + step - 1 } else { *stamp }
                    })
                    .collect()
            }
        };
        let mut order: Vec<u32> = (0..).take(times.len()).collect();
        order.sort_by_key(|event| {
            usize::try_from(*event).ok().and_then(|event| times.get(event)).copied()
        });
        Self { times_us: Cow::Owned(times), order: Some(order) }
    }

    /// (event, arrival in microseconds), by arrival, then as the events are ordered.
    pub fn in_order(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        (0..self.times_us.len()).filter_map(|index| {
            let event = match &self.order {
                None => index,
                Some(order) => order.get(index).and_then(|event| usize::try_from(*event).ok())?,
            };
            self.times_us.get(event).map(|time| (event, *time))
        })
    }
}

/// Each client's n requests of one stamp, the k-th at stamp + ⌊k·step/n⌋.
fn spread(traffic: &Traffic, step: impl Fn(usize) -> i64) -> Vec<i64> {
    let events = &traffic.events;
    let mut seen: BTreeMap<(i64, u32), (i64, i64)> = BTreeMap::new();
    for (time, address) in events.times_us.iter().zip(&events.addresses) {
        seen.entry((*time, *address)).or_insert((0, 0)).1 += 1;
    }
    let stamps = events.times_us.iter().zip(&events.addresses).enumerate();
    stamps
        .map(|(event, (time, address))| {
            let Some((taken, of)) = seen.get_mut(&(*time, *address)) else { return *time };
            let place = *taken;
            *taken += 1;
            time + place * step(event) / (*of).max(1)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Events;

    fn traffic() -> Traffic {
        let events = Events {
            times_us: vec![0, 0, 0, 1_000_000, 1_000_000],
            addresses: vec![7, 7, 8, 7, 7],
            sources: vec![0; 5],
            ..Events::default()
        };
        Traffic { events, ..Traffic::default() }
    }

    #[test]
    fn a_clients_requests_of_one_stamp_are_spread_over_its_step() {
        let traffic = traffic();
        let spread = Arrangement::new(&traffic, Placement::Spread, &[1_000_000]);
        let placed: Vec<_> = spread.in_order().collect();
        assert_eq!(placed, [(0, 0), (2, 0), (1, 500_000), (3, 1_000_000), (4, 1_500_000)]);
    }

    #[test]
    fn at_the_border_two_steps_meet() {
        let traffic = traffic();
        let border = Arrangement::new(&traffic, Placement::Border, &[1_000_000]);
        let placed: Vec<_> = border.in_order().collect();
        let last = 999_999;
        assert_eq!(placed, [(0, last), (1, last), (2, last), (3, 1_000_000), (4, 1_000_000)]);
        let bunched = Arrangement::new(&traffic, Placement::Bunched, &[1_000_000]);
        assert_eq!(bunched.in_order().last(), Some((4, 1_000_000)));
    }
}
