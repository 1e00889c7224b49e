//! Reads all inputs into the event table: workers take blocks from whatever source has one ready,
//! parse them on their own, and what they made is joined in a fixed order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use crate::format::detect::Choice;
use crate::format::foreign::Foreign;
use crate::format::scanner::Scanner;
use crate::traffic::Traffic;

use super::error::LoadError;
use super::join::{Gathered, assemble};
use super::open::{self, LogBlocks};
use super::parse::Worker;
use super::projection::Projection;
use super::source::blocks::{BLOCK_BYTES, Cut};
use super::source::decode::Compression;
use super::source::discover::{Found, Input};
use super::source::tap::Tap;
use super::summary::{Counts, Damage, SourceSummary, Summary};

/// Bytes of memory that one event takes at most while it is read and measured, unless its columns need
/// more.
const EVENT_BYTES: u64 = 64;
/// Memory that is needed whatever is read, bytes.
const BASE_BYTES: u64 = 40_000_000;

/// How to read.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// What to keep of each line.
    pub projection: Projection,
    /// Which format the files have.
    pub choice: Choice,
    /// Longest line, bytes.
    pub max_line: usize,
    /// Worker threads, at least 1.
    pub threads: usize,
    /// Memory that may be used, bytes; `None` for no limit.
    pub memory_bytes: Option<u64>,
    /// Bytes of a block. [`BLOCK_BYTES`] but in tests.
    pub block_bytes: usize,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            projection: Projection::default(),
            choice: Choice::default(),
            max_line: 1 << 20,
            threads: 1,
            memory_bytes: None,
            block_bytes: BLOCK_BYTES,
        }
    }
}

/// Told how reading goes on, and asked whether it should.
pub trait Watch: Sync {
    /// So many more stored bytes were read.
    fn read(&self, bytes: u64);
    /// Whether to stop.
    fn stopped(&self) -> bool;
}

/// Reads what was found.
///
/// # Errors
/// When a file can't be read, is no access log although it was named, when memory runs out or the
/// user interrupts.
pub fn load(
    found: Found,
    options: &LoadOptions,
    watch: &dyn Watch,
) -> Result<(Traffic, Summary), LoadError> {
    let job = Job::new(&found.inputs, options, watch);
    let workers = run_workers(&job);
    if let Some(error) = into_inner(job.error) {
        return Err(error);
    }
    let mut sources = Vec::new();
    for (slot, input) in job.slots.into_iter().zip(&found.inputs) {
        sources.push(into_inner(slot).into_summary(input));
    }
    let gathered = job.gathered.into_iter().map(into_inner).collect();
    let read = sources.iter().filter(|source| source.bytes > 0 && source.foreign.is_none());
    check_client_field(read.map(|source| &*source.scanner), &options.projection)?;
    let traffic = assemble(workers, gathered, &mut sources, &options.projection, &options.choice);
    Ok((traffic, Summary { sources, repeated: found.repeated, unusable: found.unusable }))
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A field that names clients must be in some log, or nothing would be told apart by it.
pub(super) fn check_client_field<'s>(
    scanners: impl Iterator<Item = &'s Scanner>,
    projection: &Projection,
) -> Result<(), LoadError> {
    let field = projection.client.as_ref().and_then(|rule| rule.field.as_deref());
    let Some(field) = field else { return Ok(()) };
    let mut has = scanners
        .map(|scanner| scanner.layout().is_some_and(|layout| layout.position(field).is_some()))
        .peekable();
    if has.peek().is_some() && !has.any(|found| found) {
        let hint = "; give a field of the log_format, as it is named there without $";
        return Err(LoadError::NoField { field: field.to_owned(), hint });
    }
    Ok(())
}

/// Reads all; the workers come back with their dictionaries.
fn run_workers<'p>(job: &Job<'p>) -> Vec<Worker<'p>> {
    std::thread::scope(|scope| {
        let handles: Vec<_> =
            (0..job.options.threads.max(1)).map(|id| scope.spawn(move || job.work(id))).collect();
        handles
            .into_iter()
            .map(|handle| match handle.join() {
                Ok(worker) => worker,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    })
}

/// Where a source stands.
enum Stage {
    Waiting,
    Open { blocks: LogBlocks, next: usize },
    Done,
}

/// One source while it is read.
struct Slot {
    stage: Stage,
    tap: Option<Tap>,
    reported: u64,
    compression: Compression,
    scanner: Arc<Scanner>,
    foreign: Option<Foreign>,
    damage: Option<Damage>,
    digest: Option<String>,
}

impl Slot {
    fn into_summary(self, input: &Input) -> SourceSummary {
        SourceSummary {
            name: input.name.clone(),
            compression: self.compression,
            scanner: self.scanner,
            bytes: self.tap.as_ref().map_or(0, Tap::bytes_read),
            digest: self.digest,
            foreign: self.foreign,
            damage: self.damage,
            detected: None,
            counts: Counts::default(),
            out_of_order: 0,
        }
    }
}

/// What all workers share.
struct Job<'p> {
    inputs: &'p [Input],
    options: &'p LoadOptions,
    watch: &'p dyn Watch,
    slots: Vec<Mutex<Slot>>,
    /// What was parsed of each source.
    gathered: Vec<Mutex<Gathered>>,
    done: Vec<AtomicBool>,
    events: AtomicU64,
    dictionary_bytes: Vec<AtomicU64>,
    error: Mutex<Option<LoadError>>,
    failed: AtomicBool,
}

/// A block that a worker may parse.
struct Taken {
    source: usize,
    index: usize,
    cut: Cut,
    scanner: Arc<Scanner>,
}

impl<'p> Job<'p> {
    fn new(inputs: &'p [Input], options: &'p LoadOptions, watch: &'p dyn Watch) -> Self {
        let slot = || Slot {
            stage: Stage::Waiting,
            tap: None,
            reported: 0,
            compression: Compression::Plain,
            scanner: Arc::new(Scanner::Combined),
            foreign: None,
            damage: None,
            digest: None,
        };
        Self {
            inputs,
            options,
            watch,
            slots: inputs.iter().map(|_| Mutex::new(slot())).collect(),
            gathered: inputs.iter().map(|_| Mutex::default()).collect(),
            done: inputs.iter().map(|_| AtomicBool::new(false)).collect(),
            events: AtomicU64::new(0),
            dictionary_bytes: (0..options.threads.max(1)).map(|_| AtomicU64::new(0)).collect(),
            error: Mutex::new(None),
            failed: AtomicBool::new(false),
        }
    }

    fn work(&self, id: usize) -> Worker<'p> {
        let mut worker = Worker::new(&self.options.projection, self.options.max_line);
        let mut block = Vec::new();
        while let Some(taken) = self.take(&mut block) {
            let parsed = worker.parse(&block, taken.cut, &taken.scanner);
            self.account(id, &worker, parsed.counts.requests);
            if let Some(gathered) = self.gathered.get(taken.source) {
                let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
                gathered.take(taken.index, id, parsed);
            }
        }
        worker
    }

    /// The next block of the first source that isn't busy; waits only if all are.
    fn take(&self, block: &mut Vec<u8>) -> Option<Taken> {
        loop {
            let mut busy = None;
            for (source, slot) in self.slots.iter().enumerate() {
                if self.is_done(source) {
                    continue;
                }
                if self.failed.load(Ordering::Relaxed) {
                    return None;
                }
                match slot.try_lock() {
                    Ok(mut slot) => {
                        if let Some(taken) = self.advance(source, &mut slot, block) {
                            return Some(taken);
                        }
                    }
                    Err(TryLockError::WouldBlock) => busy = busy.or(Some(slot)),
                    Err(TryLockError::Poisoned(_)) => return None,
                }
            }
            // every unfinished source is being read: wait for the first
            drop(busy?.lock());
        }
    }

    fn is_done(&self, source: usize) -> bool {
        self.done.get(source).is_none_or(|done| done.load(Ordering::Acquire))
    }

    /// Opens a source if need be and reads its next block; `None` when it has no more.
    fn advance(&self, source: usize, slot: &mut Slot, block: &mut Vec<u8>) -> Option<Taken> {
        if self.watch.stopped() {
            self.fail(LoadError::Interrupted);
            return None;
        }
        if self.is_done(source) {
            return None; // finished by another worker since it was looked at
        }
        let input = self.inputs.get(source)?;
        let step = self.step(input, slot, block);
        self.report(slot);
        match step {
            Ok(Some((index, cut))) => {
                let scanner = Arc::clone(&slot.scanner);
                return Some(Taken { source, index, cut, scanner });
            }
            Ok(None) => {}
            Err(error) => self.fail(error),
        }
        slot.stage = Stage::Done;
        if let Some(done) = self.done.get(source) {
            done.store(true, Ordering::Release);
        }
        None
    }

    /// One block of one source, with its index.
    fn step(
        &self,
        input: &Input,
        slot: &mut Slot,
        block: &mut Vec<u8>,
    ) -> Result<Option<(usize, Cut)>, LoadError> {
        if matches!(slot.stage, Stage::Waiting) {
            let LoadOptions { block_bytes, max_line, .. } = self.options;
            let (tap, compression, blocks) = open::open(input, *block_bytes, *max_line)?;
            slot.tap = Some(tap);
            slot.compression = compression;
            slot.stage = Stage::Open { blocks, next: 0 };
        }
        let Stage::Open { blocks, next } = &mut slot.stage else { return Ok(None) };
        if *next == 0 {
            match open::scanner(slot.compression, blocks.peek(), self.options) {
                Ok(scanner) => slot.scanner = Arc::new(scanner.stored_as(input.opener.is_some())),
                Err(foreign) => slot.foreign = Some(foreign),
            }
            let scanner = Arc::clone(&slot.scanner);
            blocks.cut_at(Box::new(move |block| scanner.last_record_end(block)));
        }
        let cut = blocks.next_block(block);
        let index = *next;
        *next += 1;
        if let Some(what) = slot.foreign {
            let refused = input.explicit.then(|| open::refuse(input, slot.compression, what));
            return refused.map_or(Ok(None), Err);
        }
        if cut != Cut::End {
            return Ok(Some((index, cut)));
        }
        let Some(tap) = &mut slot.tap else { return Ok(None) };
        if let Some(why) = tap.failure() {
            return Err(open::unreadable(input, &why));
        }
        slot.damage = open::damage(input, slot.compression, blocks, tap, index > 0)?;
        slot.digest = Some(tap.finish().map_err(|error| open::unreadable(input, &error))?);
        Ok(None)
    }

    fn report(&self, slot: &mut Slot) {
        let bytes = slot.tap.as_ref().map_or(0, Tap::bytes_read);
        self.watch.read(bytes - slot.reported);
        slot.reported = bytes;
    }

    /// Adds up memory, and stops the job when it is used up.
    fn account(&self, id: usize, worker: &Worker<'_>, requests: u64) {
        let read = self.events.fetch_add(requests, Ordering::Relaxed) + requests;
        if let Some(slot) = self.dictionary_bytes.get(id) {
            slot.store(worker.dictionary_bytes(), Ordering::Relaxed);
        }
        let Some(limit_bytes) = self.options.memory_bytes else { return };
        let dictionaries: u64 =
            self.dictionary_bytes.iter().map(|slot| slot.load(Ordering::Relaxed)).sum();
        let base = self.base_bytes();
        let used =
            base + read * self.options.projection.event_bytes().max(EVENT_BYTES) + dictionaries;
        if used > limit_bytes {
            let room = limit_bytes.saturating_sub(base);
            let fits = u128::from(room) * u128::from(read) / u128::from((used - base).max(1));
            let fits = u64::try_from(fits).unwrap_or(u64::MAX);
            self.fail(LoadError::Memory { limit_bytes, read, fits });
        }
    }

    /// What is needed whatever is read: each worker's block, which an over-long line may lengthen.
    fn base_bytes(&self) -> u64 {
        let block = 2 * self.options.block_bytes + self.options.max_line;
        let blocks = u64::try_from(block * self.options.threads.max(1)).unwrap_or(u64::MAX);
        BASE_BYTES.saturating_add(blocks)
    }

    /// Keeps the first error and stops the others.
    fn fail(&self, error: LoadError) {
        self.failed.store(true, Ordering::Relaxed);
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}
