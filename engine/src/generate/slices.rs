//! The walk through time: slices are made in parallel, sorted, written in order.

use std::io::{self, Write};
use std::sync::mpsc::{SyncSender, sync_channel};

use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;

use super::event::Event;
use super::line::Writer;
use super::scenario::Scenario;
use super::schedule;
use super::sessions::{SLICE_US, SLICES_BACK, eligible, sessions, slice_of};
use super::truth::Truth;

/// Identities, or requests of an attack, of one piece of work.
const PIECE: u64 = 1 << 15;
/// Lines of one piece of output: each is a member of a gzip file.
const LINES: usize = 1 << 14;
/// Pieces of output that are held at once.
const HELD: usize = 16;

/// What was generated.
#[derive(Debug)]
pub enum Generated {
    /// All of it.
    Whole(Truth),
    /// Nothing of use: `stopped` said so.
    Stopped,
}

/// Events by the slice in which they end: this one, the next and so on.
type Buckets = Vec<Vec<Event>>;

/// A piece of work of a slice.
#[derive(Debug, Clone, Copy)]
enum Work {
    Crowd(usize, u64, u64),
    Schedule(usize, u64, u64),
}

/// Text on its way to the file of an output, by its index.
type Written = (usize, Vec<u8>);

/// Generates all lines that end within the scenario's span. `write` takes each output's bytes in order, by its
/// index, on a thread of its own, so that making goes on meanwhile; `progress` is told how many lines there are
/// after each slice.
///
/// # Errors
/// What `write` reports.
pub fn generate(
    scenario: &Scenario,
    write: &mut (dyn FnMut(usize, &[u8]) -> io::Result<()> + Send),
    stopped: &(dyn Fn() -> bool + Sync),
    progress: &mut dyn FnMut(u64),
) -> io::Result<Generated> {
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Written>(HELD);
        let writer =
            scope.spawn(move || receiver.iter().try_for_each(|(index, text)| write(index, &text)));
        let made = walk(scenario, &sender, stopped, progress);
        drop(sender);
        match writer.join() {
            Ok(written) => written.and(made),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Nobody takes what is made any more: the writer says why.
fn closed<T>(_: T) -> io::Error {
    io::Error::other("the writer has stopped")
}

fn walk(
    scenario: &Scenario,
    sender: &SyncSender<Written>,
    stopped: &(dyn Fn() -> bool + Sync),
    progress: &mut dyn FnMut(u64),
) -> io::Result<Generated> {
    let mut truth = Truth::new(scenario);
    let mut lines = 0;
    for (index, output) in scenario.outputs.iter().enumerate() {
        let header = output.header();
        if !header.is_empty() || output.is_gzip() {
            sender.send((index, packed(output.is_gzip(), header)?)).map_err(closed)?;
        }
    }
    let (first, last) = (slice_of(scenario.from_us), slice_of(scenario.to_us - 1));
    let mut carried: Buckets = Vec::new();
    for slice in first - SLICES_BACK..=last {
        if stopped() {
            return Ok(Generated::Stopped);
        }
        let made: Vec<Buckets> =
            work(scenario, slice).par_iter().map(|piece| events(scenario, slice, *piece)).collect();
        let mut now = if carried.is_empty() { Vec::new() } else { carried.remove(0) };
        for mut buckets in made {
            let first = if buckets.is_empty() { Vec::new() } else { buckets.remove(0) };
            now.extend(first);
            for (index, bucket) in buckets.into_iter().enumerate() {
                while carried.len() <= index {
                    carried.push(Vec::new());
                }
                if let Some(later) = carried.get_mut(index) {
                    later.extend(bucket);
                }
            }
        }
        if slice < first {
            continue;
        }
        now.retain(|event| (scenario.from_us..scenario.to_us).contains(&event.end_us));
        now.par_sort_unstable();
        for event in &now {
            truth.count(scenario, event);
        }
        lines += u64::try_from(now.len()).unwrap_or(0);
        write_out(scenario, &now, sender, stopped)?;
        progress(lines);
    }
    Ok(Generated::Whole(truth))
}

/// The pieces of work of a slice.
fn work(scenario: &Scenario, slice: i64) -> Vec<Work> {
    let mut list = Vec::new();
    for (index, crowd) in scenario.crowds.iter().enumerate() {
        let identities = scenario.groups.get(crowd.group).map_or(0, |group| group.identities);
        pieces(0, eligible(identities, slice), |from, to| list.push(Work::Crowd(index, from, to)));
    }
    for (index, schedule) in scenario.schedules.iter().enumerate() {
        let (from, to) = schedule::pieces(scenario, schedule, slice);
        pieces(from, to, |from, to| list.push(Work::Schedule(index, from, to)));
    }
    list
}

fn pieces(from: u64, to: u64, mut take: impl FnMut(u64, u64)) {
    let mut at = from;
    while at < to {
        let end = at.saturating_add(PIECE).min(to);
        take(at, end);
        at = end;
    }
}

fn events(scenario: &Scenario, slice: i64, piece: Work) -> Buckets {
    let mut buckets = Buckets::new();
    let take = |event: Event| {
        let ahead = event.end_us.div_euclid(SLICE_US) - slice;
        let ahead = usize::try_from(ahead).unwrap_or(0);
        while buckets.len() <= ahead {
            buckets.push(Vec::new());
        }
        if let Some(bucket) = buckets.get_mut(ahead) {
            bucket.push(event);
        }
    };
    match piece {
        Work::Crowd(index, from, to) => {
            if let Some(crowd) = scenario.crowds.get(index) {
                sessions(scenario, crowd, slice, from, to - from, take);
            }
        }
        Work::Schedule(index, from, to) => {
            if let Some(schedule) = scenario.schedules.get(index) {
                schedule::requests(scenario, schedule, slice, (from, to), take);
            }
        }
    }
    buckets
}

/// Writes the lines of sorted events, some pieces at a time.
fn write_out(
    scenario: &Scenario,
    events: &[Event],
    sender: &SyncSender<Written>,
    stopped: &(dyn Fn() -> bool + Sync),
) -> io::Result<()> {
    for held in events.chunks(LINES * HELD) {
        for (index, output) in scenario.outputs.iter().enumerate() {
            if stopped() {
                return Ok(());
            }
            let texts: Vec<io::Result<Vec<u8>>> = held
                .par_chunks(LINES)
                .map(|events| {
                    let mut text = Vec::with_capacity(events.len() * 256);
                    let mut writer = Writer::new(scenario, output);
                    for event in events {
                        writer.write(&mut text, event);
                    }
                    packed(output.is_gzip(), text)
                })
                .collect();
            for text in texts {
                sender.send((index, text?)).map_err(closed)?;
            }
        }
    }
    Ok(())
}

/// Text as it goes into the file: a gzip member, if that is compressed.
fn packed(gzip: bool, text: Vec<u8>) -> io::Result<Vec<u8>> {
    if !gzip {
        return Ok(text);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(9));
    encoder.write_all(&text)?;
    encoder.finish()
}
