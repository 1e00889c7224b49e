//! Blocks that workers parsed in any order become one table in the one order there is.

use rayon::prelude::*;

use crate::format::detect::Choice;
use crate::traffic::dictionary::{Interner, join};
use crate::traffic::{Events, NONE, Traffic};
use crate::units::address::Address;

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
    let mut per_source: Vec<Events> = sources.iter().map(|_| Events::default()).collect();
    for block in blocks {
        let slots = per_source.get_mut(block.source).zip(sources.get_mut(block.source));
        if let Some((events, summary)) = slots {
            append(events, block.parsed.events, block.worker, &remaps);
            summary.counts.append(block.parsed.counts);
        }
    }
    for (events, summary) in per_source.iter().zip(sources.iter_mut()) {
        summary.out_of_order = count_out_of_order(&events.times_us);
        summary.detected = (summary.counts.tally.records > 0)
            .then(|| summary.counts.tally.format(&summary.scanner, choice, &summary.name));
    }
    traffic.events = in_order(per_source, sources);
    traffic
}

fn dictionaries(workers: Vec<Worker<'_>>, projection: &Projection) -> (Remaps, Traffic) {
    let mut addresses: Vec<Interner<Address>> = Vec::new();
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

fn append(into: &mut Events, block: Events, worker: usize, remaps: &Remaps) {
    into.times_us.extend_from_slice(&block.times_us);
    into.statuses.extend_from_slice(&block.statuses);
    into.path_hashes.extend_from_slice(&block.path_hashes);
    renumber(&mut into.addresses, &block.addresses, remaps.addresses.get(worker));
    match &remaps.places {
        Some(places) => renumber(&mut into.places, &block.places, places.get(worker)),
        None => into.places.extend_from_slice(&block.places),
    }
    into.keys.resize_with(block.keys.len(), Vec::new);
    for ((column, old), remap) in into.keys.iter_mut().zip(block.keys).zip(&remaps.keys) {
        renumber(column, &old, remap.get(worker));
    }
}

fn renumber(into: &mut Vec<u32>, old: &[u32], remap: Option<&Vec<u32>>) {
    let Some(remap) = remap else { return };
    into.extend(
        old.iter()
            .map(|id| usize::try_from(*id).ok().and_then(|id| remap.get(id)).unwrap_or(&NONE)),
    );
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
