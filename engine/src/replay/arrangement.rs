//! Where in its step of time each request is put: a stamp of one second leaves the order and the
//! distances inside the second open.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::traffic::Traffic;
use crate::traffic::bitmap::Bitmap;

/// Requests that a core spreads over their steps at a time, about.
const STRETCH: usize = if cfg!(test) { 4 } else { 1 << 16 };

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

impl Placement {
    /// All, as stamped first.
    pub const ALL: [Self; 3] = [Self::Bunched, Self::Spread, Self::Border];
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
                let times = traffic.events.times_us.par_iter().enumerate();
                times
                    .map(|(event, stamp)| {
                        let step = step(event);
                        let even = stamp.div_euclid(step).rem_euclid(2) == 0;
                        if even { stamp + step - 1 } else { *stamp }
                    })
                    .collect()
            }
        };
        let order = order(&traffic.events.times_us, &times);
        Self { times_us: Cow::Owned(times), order }
    }

    /// The events of a set with their arrivals, microseconds, by arrival, then as they are ordered.
    pub fn in_order_of<'a>(&'a self, set: &'a Bitmap) -> impl Iterator<Item = (usize, i64)> + 'a {
        let straight = self.order.is_none().then(|| set.iter());
        let turned = self.order.iter().flatten().filter_map(|event| usize::try_from(*event).ok());
        let turned = turned.filter(|event| set.contains(*event));
        let events = straight.into_iter().flatten().chain(turned);
        events.map(|event| (event, self.time_us(event)))
    }

    /// About as many parts of the time, in order, with about as many events each: ranges of places.
    pub fn parts(&self, parts: usize) -> Vec<Range<usize>> {
        let (len, parts) = (self.times_us.len(), parts.max(1));
        // whole words of a set
        let place = |part: usize| if part == parts { len } else { len * part / parts / 64 * 64 };
        (0..parts).map(|part| place(part)..place(part + 1)).collect()
    }

    /// Does something for the events of a set in one of the [`Self::parts`], with their arrivals in
    /// microseconds, by arrival, then as they are ordered.
    pub fn for_each_in(&self, part: &Range<usize>, set: &Bitmap, mut each: impl FnMut(usize, i64)) {
        match &self.order {
            None => set.for_each_within(part, |event| each(event, self.time_us(event))),
            Some(order) => {
                let events = order.get(part.clone()).unwrap_or_default().iter();
                let events = events.filter_map(|event| usize::try_from(*event).ok());
                for event in events.filter(|event| set.contains(*event)) {
                    each(event, self.time_us(event));
                }
            }
        }
    }

    /// Does something for all events of a set: as [`Self::in_order_of`], but faster than iterating.
    pub fn for_each(&self, set: &Bitmap, each: impl FnMut(usize, i64)) {
        self.for_each_in(&(0..self.times_us.len()), set, each);
    }

    /// When an event arrives, microseconds.
    pub fn time_us(&self, event: usize) -> i64 {
        self.times_us.get(event).copied().unwrap_or(0)
    }

    /// Whether events arrive in the order of the table.
    pub fn is_in_table_order(&self) -> bool {
        self.order.is_none()
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

/// The events by their new times, then as they are; `None` if that is how they are.
///
/// Nothing is put before its stamp, so what comes before a stamp is in order among itself.
fn order(stamps: &[i64], times: &[i64]) -> Option<Vec<u32>> {
    if times.is_sorted() {
        return None;
    }
    let mut order: Vec<u32> = (0..).take(times.len()).collect();
    let mut stretches: Vec<&mut [u32]> = Vec::new();
    let mut rest = order.as_mut_slice();
    let (mut length, mut latest) = (0, i64::MIN);
    for (stamp, time) in stamps.iter().zip(times) {
        if *stamp >= latest && length > 0 {
            let (stretch, behind) = rest.split_at_mut(length);
            stretches.push(stretch);
            (rest, length) = (behind, 0);
        }
        length += 1;
        latest = latest.max(*time);
    }
    stretches.push(rest);
    stretches.par_iter_mut().with_min_len(64).for_each(|stretch| {
        stretch.sort_by_key(|event| usize::try_from(*event).ok().and_then(|at| times.get(at)));
    });
    Some(order)
}

/// Each client's n requests of one stamp, the k-th at stamp + ⌊k·step/n⌋.
fn spread(traffic: &Traffic, step: impl Fn(usize) -> i64 + Sync) -> Vec<i64> {
    let mut times = traffic.events.times_us.clone();
    let mut stretches: Vec<(usize, &mut [i64])> = Vec::new();
    let (mut rest, mut begin) = (times.as_mut_slice(), 0);
    while let Some(last) = rest.iter().take(STRETCH).next_back().copied() {
        // the requests of a stamp stay together
        let length = rest.partition_point(|stamp| *stamp <= last);
        stretches.push((begin, rest.split_off_mut(..length).unwrap_or_default()));
        begin += length;
    }
    let addresses = &traffic.events.addresses;
    stretches.into_par_iter().for_each(|(begin, times)| {
        let addresses = addresses.get(begin..).unwrap_or_default();
        let mut by_client: Vec<(u32, usize)> = Vec::new();
        let mut from = 0;
        for same in times.chunk_by_mut(|a, b| a == b) {
            by_client.clear();
            by_client.extend(addresses.iter().copied().skip(from).zip(0..same.len()));
            by_client.sort_unstable();
            for mine in by_client.chunk_by(|a, b| a.0 == b.0).filter(|mine| mine.len() > 1) {
                let count = i64::try_from(mine.len()).unwrap_or(i64::MAX);
                for (place, (_, at)) in (0..).zip(mine) {
                    if let Some(time) = same.get_mut(*at) {
                        *time += place * step(begin + from + at) / count;
                    }
                }
            }
            from += same.len();
        }
    });
    times
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
