//! Blocks that workers parsed in any order become one table in the one order there is.

use rayon::prelude::*;

use crate::format::detect::Choice;
use crate::traffic::dictionary::{Interner, join};
use crate::traffic::{Events, NONE, Traffic};

use super::parse::{ParsedBlock, Worker};
use super::projection::Projection;
use super::summary::{Counts, SourceSummary};

/// A parsed block and where it belongs.
pub(super) struct Placed {
    pub(super) source: usize,
    pub(super) index: usize,
    pub(super) worker: usize,
    pub(super) parsed: ParsedBlock,
}

/// New numbers for a worker's old ones.
struct Remaps {
    addresses: Vec<Vec<u32>>,
    places: Option<Vec<Vec<u32>>>,
    keys: Vec<Vec<Vec<u32>>>,
}

/// Joins dictionaries and blocks; fills the sources' counts, formats and order.
pub(super) fn assemble(
    workers: Vec<Worker<'_>>,
    mut blocks: Vec<Placed>,
    sources: &mut [SourceSummary],
    projection: &Projection,
    choice: &Choice,
) -> Traffic {
    let (remaps, mut traffic) = dictionaries(workers, projection);
    blocks.sort_unstable_by_key(|block| (block.source, block.index));
    let mut per_source: Vec<Vec<Part>> = sources.iter().map(|_| Vec::new()).collect();
    for block in blocks {
        let slots = per_source.get_mut(block.source).zip(sources.get_mut(block.source));
        if let Some((parts, summary)) = slots {
            parts.push((block.parsed.events, block.worker));
            summary.counts.append(block.parsed.counts);
        }
    }
    let per_source: Vec<Events> =
        per_source.into_iter().map(|parts| columns(parts, &remaps)).collect();
    for (events, summary) in per_source.iter().zip(sources.iter_mut()) {
        summary.out_of_order = count_out_of_order(&events.times_us);
        summary.detected = (summary.counts.tally.records > 0)
            .then(|| summary.counts.tally.format(&summary.scanner, choice, &summary.name));
    }
    traffic.events = in_order(per_source, sources);
    traffic
}

fn dictionaries(workers: Vec<Worker<'_>>, projection: &Projection) -> (Remaps, Traffic) {
    let mut addresses = Vec::new();
    let mut templates = Vec::new();
    let mut keys: Vec<Vec<Interner<Box<[u8]>>>> =
        projection.column_keys().map(|_| Vec::new()).collect();
    for worker in workers {
        addresses.push(worker.addresses);
        templates.push(worker.templates);
        for (list, interner) in keys.iter_mut().zip(worker.keys) {
            list.push(interner);
        }
    }
    let addresses = join(addresses);
    let templates = join(templates);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut traffic = Traffic { addresses: addresses.values, ..Traffic::default() };
    let places = if projection.routes.is_empty() {
        traffic.places = templates.values.iter().map(|template| text(template)).collect();
        Some(templates.remaps)
    } else {
        traffic.places = projection.routes.iter().map(|route| route.name.clone()).collect();
        None
    };
    let mut key_remaps = Vec::new();
    for (spec, interners) in projection.column_keys().zip(keys) {
        let joined = join(interners);
        traffic.key_texts.push((spec.name.clone(), joined.values));
        key_remaps.push(joined.remaps);
    }
    (Remaps { addresses: addresses.remaps, places, keys: key_remaps }, traffic)
}

/// A block's events, and the worker whose numbers they have.
type Part = (Events, usize);

/// The columns of one source, each put together on its own and its parts given back on the way.
fn columns(parts: Vec<Part>, remaps: &Remaps) -> Events {
    let mut workers = Vec::new();
    let mut lists = Lists::default();
    for (part, worker) in parts {
        workers.push(worker);
        lists.push(part);
    }
    let mut events = Events::default();
    events.keys.resize_with(lists.keys.len(), Vec::new);
    let Events { times_us, addresses, places, statuses, path_hashes, keys } = &mut events;
    let workers = workers.as_slice();
    rayon::scope(|scope| {
        scope.spawn(|_| *times_us = lists.times_us.concat());
        scope.spawn(|_| *statuses = lists.statuses.concat());
        scope.spawn(|_| *path_hashes = lists.path_hashes.concat());
        scope.spawn(|_| *addresses = renumbered(lists.addresses, workers, Some(&remaps.addresses)));
        scope.spawn(|_| *places = renumbered(lists.places, workers, remaps.places.as_ref()));
        for ((column, list), remap) in keys.iter_mut().zip(lists.keys).zip(&remaps.keys) {
            scope.spawn(move |_| *column = renumbered(list, workers, Some(remap)));
        }
    });
    events
}

/// For each column the parts of all blocks.
#[derive(Default)]
struct Lists {
    times_us: Vec<Vec<i64>>,
    addresses: Vec<Vec<u32>>,
    places: Vec<Vec<u32>>,
    statuses: Vec<Vec<u16>>,
    path_hashes: Vec<Vec<u64>>,
    keys: Vec<Vec<Vec<u32>>>,
}

impl Lists {
    fn push(&mut self, part: Events) {
        self.times_us.push(part.times_us);
        self.addresses.push(part.addresses);
        self.places.push(part.places);
        self.statuses.push(part.statuses);
        self.path_hashes.push(part.path_hashes);
        self.keys.resize_with(part.keys.len(), Vec::new);
        for (list, column) in self.keys.iter_mut().zip(part.keys) {
            list.push(column);
        }
    }
}

/// A column in the joined numbers; without any they are joined already.
fn renumbered(parts: Vec<Vec<u32>>, workers: &[usize], remaps: Option<&Vec<Vec<u32>>>) -> Vec<u32> {
    let mut whole = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    for (part, worker) in parts.into_iter().zip(workers) {
        let number = |remap: &Vec<u32>, id: u32| {
            usize::try_from(id).ok().and_then(|id| remap.get(id)).copied().unwrap_or(NONE)
        };
        match remaps.and_then(|remaps| remaps.get(*worker)) {
            Some(remap) => whole.extend(part.iter().map(|id| number(remap, *id))),
            None => whole.extend_from_slice(&part),
        }
    }
    whole
}

/// Arrivals before one that was read earlier.
fn count_out_of_order(times_us: &[i64]) -> u64 {
    let mut latest = i64::MIN;
    let mut count = 0;
    for &time in times_us {
        if time < latest {
            count += 1;
        } else {
            latest = time;
        }
    }
    count
}

/// Sources by (first arrival, last arrival, first line, digest), then all events by arrival; ties
/// keep the order of source and line.
fn in_order(per_source: Vec<Events>, sources: &[SourceSummary]) -> Events {
    let mut parts: Vec<(Events, &Counts, Option<&str>)> = per_source
        .into_iter()
        .zip(sources)
        .filter(|(events, _)| !events.times_us.is_empty())
        .map(|(events, source)| (events, &source.counts, source.digest.as_deref()))
        .collect();
    parts.sort_by_cached_key(|(events, counts, digest)| {
        let first = events.times_us.iter().min().copied();
        let last = events.times_us.iter().max().copied();
        (first, last, counts.first_line.clone(), digest.map(str::to_owned))
    });
    let mut all = Events::default();
    for (mut events, _, _) in parts {
        if all.times_us.is_empty() {
            all = events;
            continue;
        }
        all.times_us.append(&mut events.times_us);
        all.addresses.append(&mut events.addresses);
        all.places.append(&mut events.places);
        all.statuses.append(&mut events.statuses);
        all.path_hashes.append(&mut events.path_hashes);
        for (column, mut more) in all.keys.iter_mut().zip(events.keys) {
            column.append(&mut more);
        }
    }
    if !all.times_us.is_sorted() {
        sort_by_arrival(&mut all);
    }
    all
}

fn sort_by_arrival(events: &mut Events) {
    let times = &events.times_us;
    let mut order: Vec<(i64, u32)> =
        times.iter().zip(0_u32..).map(|(time, index)| (*time, index)).collect();
    // the index breaks ties, so an unstable sort is stable here
    order.par_sort_unstable();
    let order = &order;
    events.addresses = pick(&events.addresses, order, NONE);
    events.places = pick(&events.places, order, NONE);
    events.statuses = pick(&events.statuses, order, 0);
    events.path_hashes = pick(&events.path_hashes, order, 0);
    events.keys = events.keys.iter().map(|column| pick(column, order, NONE)).collect();
    events.times_us = order.iter().map(|(time, _)| *time).collect();
}

/// A column in another order.
fn pick<T: Copy + Send + Sync>(column: &[T], order: &[(i64, u32)], missing: T) -> Vec<T> {
    let value =
        |index: u32| usize::try_from(index).ok().and_then(|index| column.get(index)).copied();
    order.par_iter().map(|(_, index)| value(*index).unwrap_or(missing)).collect()
}
