//! Blocks that workers parsed in any order become one table in the one order there is.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::format::detect::Choice;
use crate::site::key::KeySpec;
use crate::traffic::dictionary::{Interner, Joined, join};
use crate::traffic::{Events, NO_DURATION, NONE, Observed, Traffic};

use super::parse::{ParsedBlock, Worker};
use super::projection::Projection;
use super::summary::{Counts, SourceSummary};

/// What was parsed of one source so far. Blocks are added in their order as soon as those before them
/// are there, and given back: nothing is held twice.
#[derive(Default)]
pub(super) struct Gathered {
    /// Columns in the numbers of the workers that parsed them.
    events: Events,
    /// Which worker's, in order.
    runs: Vec<Run>,
    counts: Counts,
    /// The index of the block that comes next.
    next: usize,
    /// Blocks before which one is still missing, by index.
    waiting: BTreeMap<usize, (usize, ParsedBlock)>,
}

/// Events that one worker parsed.
struct Run {
    worker: usize,
    events: usize,
}

impl Gathered {
    /// Takes a block, by its index in the source, from the worker that parsed it.
    pub(super) fn take(&mut self, index: usize, worker: usize, block: ParsedBlock) {
        self.waiting.insert(index, (worker, block));
        while let Some((worker, block)) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.add(worker, block);
        }
    }

    fn add(&mut self, worker: usize, block: ParsedBlock) {
        let ParsedBlock { mut events, counts } = block;
        let lines_before = u32::try_from(self.counts.lines).unwrap_or(u32::MAX);
        for line in &mut events.lines {
            *line = line.saturating_add(lines_before);
        }
        self.counts.append(counts);
        self.runs.push(Run { worker, events: events.times_us.len() });
        append(&mut self.events, events);
    }
}

/// New numbers for a worker's old ones.
struct Remaps {
    addresses: Vec<Vec<u32>>,
    places: Option<Vec<Vec<u32>>>,
    keys: Vec<KeyRemap>,
    instances: Vec<Vec<u32>>,
}

/// New numbers for a key's old ones.
struct KeyRemap {
    numbers: Vec<Vec<u32>>,
    /// For a key that is normalised: events whose text can't be.
    unnormalised: Option<AtomicU64>,
}

/// Joins dictionaries and what was gathered of each source; fills the sources' counts, formats and
/// order.
pub(super) fn assemble(
    workers: Vec<Worker<'_>>,
    gathered: Vec<Gathered>,
    sources: &mut [SourceSummary],
    projection: &Projection,
    choice: &Choice,
) -> Traffic {
    let (remaps, mut traffic) = dictionaries(workers, projection);
    let mut per_source = Vec::new();
    for (Gathered { mut events, runs, counts, .. }, summary) in
        gathered.into_iter().zip(&mut *sources)
    {
        renumber_events(&mut events, &runs, &remaps);
        per_source.push(events);
        summary.counts = counts;
    }
    for (events, summary) in per_source.iter().zip(sources.iter_mut()) {
        summary.out_of_order = count_out_of_order(&events.times_us);
        summary.detected = (summary.counts.tally.records > 0)
            .then(|| summary.counts.tally.format(&summary.scanner, choice, &summary.name));
    }
    traffic.events = in_order(per_source, sources, projection.replay);
    traffic.instances_are_sources = instances_by_source(&mut traffic, sources);
    for (spec, remap) in projection.column_keys().zip(remaps.keys) {
        if let Some(count) = remap.unnormalised {
            traffic.unnormalised.push((spec.name.clone(), count.into_inner()));
        }
    }
    traffic
}

fn dictionaries(workers: Vec<Worker<'_>>, projection: &Projection) -> (Remaps, Traffic) {
    let mut addresses = Vec::new();
    let mut templates = Vec::new();
    let mut instances = Vec::new();
    let mut keys: Vec<Vec<Interner<Box<[u8]>>>> =
        projection.column_keys().map(|_| Vec::new()).collect();
    for worker in workers {
        addresses.push(worker.addresses);
        templates.push(worker.templates);
        instances.push(worker.instances);
        for (list, interner) in keys.iter_mut().zip(worker.keys) {
            list.push(interner);
        }
    }
    let addresses = join(addresses);
    let templates = join(templates);
    let instances = join(instances);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut traffic = Traffic { addresses: addresses.values, ..Traffic::default() };
    traffic.address_keys =
        projection.keys.iter().filter(|key| key.address_prefix().is_some()).cloned().collect();
    let places = if projection.routes.is_empty() {
        traffic.places = templates.values.iter().map(|template| text(template)).collect();
        Some(templates.remaps)
    } else {
        traffic.places_are_routes = true;
        traffic.places = projection.routes.iter().map(|route| route.name.clone()).collect();
        None
    };
    let mut key_remaps = Vec::new();
    for (spec, interners) in projection.column_keys().zip(keys) {
        let joined = normalised(spec, join(interners));
        traffic.key_texts.push((spec.name.clone(), joined.values));
        let unnormalised = spec.normalise.is_some().then(AtomicU64::default);
        key_remaps.push(KeyRemap { numbers: joined.remaps, unnormalised });
    }
    traffic.instances = instances.values.iter().map(|name| text(name)).collect();
    let instances = instances.remaps;
    (Remaps { addresses: addresses.remaps, places, keys: key_remaps, instances }, traffic)
}

/// A key's texts made alike: those that become one share a number, those that can't be have none.
fn normalised(spec: &KeySpec, joined: Joined<Box<[u8]>>) -> Joined<Box<[u8]>> {
    let Some(normalise) = &spec.normalise else { return joined };
    let alike: Vec<Option<Box<[u8]>>> = joined
        .values
        .into_par_iter()
        .map(|text| normalise.apply(&text).map(Vec::into_boxed_slice))
        .collect();
    let mut values: Vec<Box<[u8]>> = alike.iter().flatten().cloned().collect();
    values.sort_unstable();
    values.dedup();
    let number = |text: &Option<Box<[u8]>>| {
        let at = text.as_ref().and_then(|text| values.binary_search(text).ok());
        at.and_then(|at| u32::try_from(at).ok()).unwrap_or(NONE)
    };
    let numbers: Vec<u32> = alike.iter().map(number).collect();
    let mut remaps = joined.remaps;
    for id in remaps.iter_mut().flatten() {
        *id = renumber(&numbers, *id);
    }
    Joined { values, remaps }
}

/// The columns of one source in the joined numbers.
fn renumber_events(events: &mut Events, runs: &[Run], remaps: &Remaps) {
    let Events { addresses, places, keys, instances, .. } = events;
    rayon::scope(|scope| {
        scope.spawn(|_| renumber_column(addresses, runs, &remaps.addresses));
        scope.spawn(|_| renumber_column(instances, runs, &remaps.instances));
        if let Some(remap) = &remaps.places {
            scope.spawn(|_| renumber_column(places, runs, remap));
        }
        for (column, remap) in keys.iter_mut().zip(&remaps.keys) {
            scope.spawn(|_| {
                let missing = |column: &[u32]| column.iter().filter(|id| **id == NONE).count();
                let before = remap.unnormalised.as_ref().map(|_| missing(column));
                renumber_column(column, runs, &remap.numbers);
                if let Some((count, before)) = remap.unnormalised.as_ref().zip(before) {
                    let lost = missing(column).saturating_sub(before);
                    count.fetch_add(u64::try_from(lost).unwrap_or(u64::MAX), Ordering::Relaxed);
                }
            });
        }
    });
}

fn renumber_column(column: &mut [u32], runs: &[Run], remaps: &[Vec<u32>]) {
    let mut rest = column;
    for run in runs {
        let Some((ids, after)) = rest.split_at_mut_checked(run.events) else { return };
        let remap = remaps.get(run.worker).map_or(&[][..], Vec::as_slice);
        for id in ids {
            *id = renumber(remap, *id);
        }
        rest = after;
    }
}

fn renumber(remap: &[u32], id: u32) -> u32 {
    usize::try_from(id).ok().and_then(|id| remap.get(id)).copied().unwrap_or(NONE)
}

/// Where no line names an instance and there are several files, each file is taken for one's; whether it is
/// so.
fn instances_by_source(traffic: &mut Traffic, sources: &[SourceSummary]) -> bool {
    let Events { instances, sources: numbers, .. } = &mut traffic.events;
    let with_events: Vec<u32> = (0_u32..)
        .zip(sources)
        .filter(|(_, source)| source.counts.requests > 0)
        .map(|(number, _)| number)
        .collect();
    let known = !traffic.instances.is_empty() || numbers.len() != instances.len();
    if known || with_events.len() < 2 {
        return false;
    }
    let number = |source: &u32| {
        let at = with_events.binary_search(source).ok();
        at.and_then(|at| u32::try_from(at).ok()).unwrap_or(NONE)
    };
    *instances = numbers.iter().map(number).collect();
    let name = |number: &u32| usize::try_from(*number).ok().and_then(|at| sources.get(at));
    let names = with_events.iter().filter_map(name).map(|source| source.name.clone());
    traffic.instances = names.collect();
    true
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
/// keep the order of source and line. `numbered`: each event gets the number of its source.
fn in_order(per_source: Vec<Events>, sources: &[SourceSummary], numbered: bool) -> Events {
    let mut parts: Vec<(Events, &Counts, Option<&str>)> = per_source
        .into_iter()
        .zip(0_u32..)
        .zip(sources)
        .filter(|((events, _), _)| !events.times_us.is_empty())
        .map(|((mut events, number), source)| {
            if numbered {
                events.sources = vec![number; events.times_us.len()];
            }
            (events, &source.counts, source.digest.as_deref())
        })
        .collect();
    parts.sort_by_cached_key(|(events, counts, digest)| {
        let first = events.times_us.iter().min().copied();
        let last = events.times_us.iter().max().copied();
        (first, last, counts.first_line.clone(), digest.map(str::to_owned))
    });
    let mut all = Events::default();
    for (events, _, _) in parts {
        if all.times_us.is_empty() {
            all = events;
        } else {
            append(&mut all, events);
        }
    }
    if !all.times_us.is_sorted() {
        sort_by_arrival(&mut all);
    }
    all
}

/// Adds later events, whose columns are given back on the way.
fn append(all: &mut Events, more: Events) {
    all.keys.resize_with(all.keys.len().max(more.keys.len()), Vec::new);
    all.conditions.resize_with(all.conditions.len().max(more.conditions.len()), Vec::new);
    add(&mut all.times_us, more.times_us);
    add(&mut all.addresses, more.addresses);
    add(&mut all.places, more.places);
    add(&mut all.statuses, more.statuses);
    add(&mut all.path_hashes, more.path_hashes);
    add(&mut all.durations_us, more.durations_us);
    add(&mut all.observed, more.observed);
    add(&mut all.observed_conn, more.observed_conn);
    add(&mut all.sources, more.sources);
    add(&mut all.lines, more.lines);
    add(&mut all.instances, more.instances);
    for (column, more) in all.keys.iter_mut().zip(more.keys) {
        add(column, more);
    }
    for (column, more) in all.conditions.iter_mut().zip(more.conditions) {
        add(column, more);
    }
}

fn add<T: Copy>(column: &mut Vec<T>, more: Vec<T>) {
    column.extend_from_slice(&more);
    drop(more);
}

fn sort_by_arrival(events: &mut Events) {
    let times = std::mem::take(&mut events.times_us);
    let mut order: Vec<(i64, u32)> =
        times.iter().zip(0_u32..).map(|(time, index)| (*time, index)).collect();
    drop(times);
    // the index breaks ties, so an unstable sort is stable here
    order.par_sort_unstable();
    // the memory of the pairs is given back before columns are copied
    events.times_us = order.iter().map(|(time, _)| *time).collect();
    let indices: Vec<u32> = order.iter().map(|(_, index)| *index).collect();
    drop(order);
    let order = indices.as_slice();
    pick(&mut events.addresses, order, NONE);
    pick(&mut events.places, order, NONE);
    pick(&mut events.statuses, order, 0);
    pick(&mut events.path_hashes, order, 0);
    pick(&mut events.durations_us, order, NO_DURATION);
    pick(&mut events.observed, order, Observed::Unknown);
    pick(&mut events.observed_conn, order, Observed::Unknown);
    pick(&mut events.sources, order, NONE);
    pick(&mut events.lines, order, 0);
    pick(&mut events.instances, order, NONE);
    for column in &mut events.keys {
        pick(column, order, NONE);
    }
    for column in &mut events.conditions {
        pick(column, order, 0);
    }
}

/// Puts a column in another order, unless it is one that isn't kept.
fn pick<T: Copy + Send + Sync>(column: &mut Vec<T>, order: &[u32], missing: T) {
    if column.is_empty() {
        return;
    }
    let value =
        |index: u32| usize::try_from(index).ok().and_then(|index| column.get(index)).copied();
    *column = order.par_iter().map(|index| value(*index).unwrap_or(missing)).collect();
}
