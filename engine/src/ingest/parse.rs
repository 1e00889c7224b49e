//! One block of lines to columns: the loop every line of every log goes through.

use std::borrow::Cow;

use crate::format::combined;
use crate::format::fields::Values;
use crate::format::foreign;
use crate::format::record::{Client, Record};
use crate::format::request::RequestBuffer;
use crate::format::scanner::Scanner;
use crate::format::skip::SkipReason;
use crate::format::wrap;
use crate::traffic::dictionary::{AddressInterner, Interner};
use crate::traffic::{Events, NO_DURATION, NONE, Observed};
use crate::units::address::Address;

use super::conditions::Conditions;
use super::extract::{Extract, Extras};
use super::instance::{instance_field, instance_of};
use super::projection::{LIMIT_CONN_STATUS, Projection};
use super::source::blocks::Cut;
use super::summary::{Counts, EXAMPLE_BYTES};

/// Longest name of an instance, bytes; a longer one is none.
const LONGEST_INSTANCE: usize = 256;

/// What one worker keeps from block to block: its dictionaries and its scratch space.
pub(super) struct Worker<'p> {
    projection: &'p Projection,
    conditions: Conditions<'p>,
    max_line: usize,
    /// Client addresses.
    pub(super) addresses: AddressInterner,
    /// Path templates.
    pub(super) templates: Interner<Box<[u8]>>,
    /// Values of each key that has a column.
    pub(super) keys: Vec<Interner<Box<[u8]>>>,
    /// Instances that got requests.
    pub(super) instances: Interner<Box<[u8]>>,
    /// The field that names them, in the block at hand.
    instance_field: Option<usize>,
    scratch: Vec<u8>,
    /// Requests that the next block will have, about.
    expected: usize,
    /// Clients of the block at hand, numbered together at its end: then one look-up's wait for memory
    /// overlaps the next's.
    clients: Vec<Option<Address>>,
}

/// Columns in the worker's own numbers, and counts.
#[derive(Debug, Default)]
pub(super) struct ParsedBlock {
    pub(super) events: Events,
    pub(super) counts: Counts,
}

impl<'p> Worker<'p> {
    pub(super) fn new(projection: &'p Projection, max_line: usize) -> Self {
        Self {
            projection,
            conditions: Conditions::new(&projection.conditions),
            max_line,
            addresses: AddressInterner::default(),
            templates: Interner::default(),
            keys: projection.column_keys().map(|_| Interner::default()).collect(),
            instances: Interner::default(),
            instance_field: None,
            scratch: Vec::new(),
            expected: 0,
            clients: Vec::new(),
        }
    }

    /// Bytes of memory that all dictionaries take, about.
    pub(super) fn dictionary_bytes(&self) -> u64 {
        self.addresses.bytes()
            + self.templates.bytes()
            + self.instances.bytes()
            + self.keys.iter().map(Interner::bytes).sum::<u64>()
    }

    /// Parses the lines of a block.
    pub(super) fn parse(&mut self, block: &[u8], cut: Cut, scanner: &Scanner) -> ParsedBlock {
        let mut parsed = ParsedBlock::default();
        self.reserve(&mut parsed.events);
        let position = |name: &str| scanner.layout().and_then(|layout| layout.position(name));
        let fields: Vec<(Cow<'_, str>, Option<usize>)> = self
            .projection
            .fields()
            .map(|name| {
                let at = position(&name);
                (name, at)
            })
            .collect();
        self.instance_field = instance_field(scanner.layout());
        for (line, ended) in scanner.records(block) {
            parsed.counts.lines += 1;
            let result = if !ended && cut == Cut::BrokenTail {
                Err(SkipReason::ArchiveDamaged)
            } else {
                read_line(scanner, line, self.max_line, &mut |record, values, line| {
                    self.keep(
                        scanner,
                        record,
                        Extras { fields: &fields, values },
                        line,
                        &mut parsed,
                    )
                })
            };
            if let Err(reason) = result {
                let number = parsed.counts.lines;
                parsed.counts.skips.add(reason, number, line);
            }
        }
        self.expected = self.clients.len() + self.clients.len() / 16;
        let addresses = &mut self.addresses;
        let number = |client: Option<Address>| client.map_or(NONE, |client| addresses.id(client));
        parsed.events.addresses = self.clients.drain(..).map(number).collect();
        parsed
    }

    /// Makes room for about as many requests as the last block had.
    fn reserve(&self, events: &mut Events) {
        let expected = self.expected;
        events.times_us.reserve(expected);
        events.places.reserve(expected);
        events.statuses.reserve(expected);
        events.keys = self.keys.iter().map(|_| Vec::with_capacity(expected)).collect();
        events.conditions.resize_with(self.conditions.columns(), || Vec::with_capacity(expected));
        if self.projection.replay {
            events.durations_us.reserve(expected);
            events.observed.reserve(expected);
            events.observed_conn.reserve(expected);
            events.lines.reserve(expected);
        } else {
            events.path_hashes.reserve(expected);
        }
        if self.projection.instances {
            events.instances.reserve(expected);
        }
    }

    fn keep(
        &mut self,
        scanner: &Scanner,
        record: &Record<'_>,
        extras: Extras<'_>,
        line: &[u8],
        parsed: &mut ParsedBlock,
    ) -> Result<(), SkipReason> {
        let ParsedBlock { events, counts } = parsed;
        counts.stamp(record.arrival_us);
        counts.tally.observe(record, line, scanner);
        if !self.projection.covers(record.arrival_us) {
            return Err(SkipReason::OutOfRange);
        }
        if counts.first_line.is_empty() {
            counts.first_line = line.get(..EXAMPLE_BYTES).unwrap_or(line).to_vec();
        }
        counts.requests += 1;
        let limited = self.projection.is_limited(record);
        counts.limited += u64::from(limited);
        counts.unavailable += u64::from(!limited && record.status == Some(503));

        events.times_us.push(record.arrival_us);
        let (client, forwarded) = self.projection.client_of(record, extras);
        counts.forwarded += u64::from(forwarded);
        self.clients.push(match client {
            Client::Address(address) => Some(address),
            Client::Named(_) => None,
        });
        let request = RequestBuffer::new(record);
        let extract = Extract::new(record, client, &request, extras);
        let place = if self.projection.routes.is_empty() {
            extract.template(&mut self.scratch);
            self.templates.id(self.scratch.as_slice())
        } else {
            extract.route(&self.projection.routes)
        };
        events.places.push(place);
        events.statuses.push(record.status.unwrap_or(0));
        if self.projection.replay {
            events.durations_us.push(record.duration_us.unwrap_or(NO_DURATION));
            events.observed.push(Observed::of(record.limited, record.status));
            events.observed_conn.push(Observed::of(extras.get(LIMIT_CONN_STATUS), None));
            // in the block: those before it are added when blocks are joined
            events.lines.push(u32::try_from(counts.lines).unwrap_or(u32::MAX));
        } else {
            events.path_hashes.push(extract.path_hash());
        }
        if self.projection.instances {
            let instance = instance_of(self.instance_field, record, extras.values);
            let text = instance.as_deref().filter(|text| text.len() <= LONGEST_INSTANCE);
            events.instances.push(text.map_or(NONE, |text| self.instances.id(text)));
        }
        self.conditions.answer(&extract, self.projection, place, &mut events.conditions);
        let columns = self.keys.iter_mut().zip(&mut events.keys);
        for (spec, (interner, column)) in self.projection.column_keys().zip(columns) {
            let present = extract.key(spec, self.projection, place, &mut self.scratch);
            column.push(if present { interner.id(self.scratch.as_slice()) } else { NONE });
        }
        Ok(())
    }
}

/// What is done with a record: its values, and the line it came from.
pub(super) trait Keep:
    FnMut(&Record<'_>, &Values<'_>, &[u8]) -> Result<(), SkipReason>
{
}

impl<F: FnMut(&Record<'_>, &Values<'_>, &[u8]) -> Result<(), SkipReason>> Keep for F {}

/// The combined family has no fields besides those of every record.
static NO_VALUES: Values<'static> = Values::NONE;

/// Reads one line, with all that is forgiven; `keep` is called once if it is a request.
///
/// # Errors
/// The reason why it is none, or the one that `keep` gives.
pub(super) fn read_line(
    scanner: &Scanner,
    raw: &[u8],
    max_line: usize,
    keep: &mut impl Keep,
) -> Result<(), SkipReason> {
    let raw = without_padding(raw)?;
    if raw.len() > max_line {
        return Err(SkipReason::TooLong);
    }
    let line = raw.strip_suffix(b"\r").unwrap_or(raw);
    scan(scanner, line, keep).or_else(|reason| second_look(scanner, line, reason, keep))
}

#[inline]
fn scan(scanner: &Scanner, line: &[u8], keep: &mut impl Keep) -> Result<(), SkipReason> {
    if matches!(scanner, Scanner::Combined) {
        if wrap::looks_like_syslog(line) {
            return Err(SkipReason::BadShape);
        }
        return keep(&combined::scan(line)?, &NO_VALUES, line);
    }
    let mut values = Values::default();
    let record = scanner.scan(line, &mut values)?;
    keep(&record, &values, line)
}

/// A line that could not be read: blank, a comment, wrapped, another program's, or really bad.
#[cold]
fn second_look(
    scanner: &Scanner,
    line: &[u8],
    reason: SkipReason,
    keep: &mut impl Keep,
) -> Result<(), SkipReason> {
    if !reason.is_unreadable() {
        return Err(reason);
    }
    let trimmed = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if trimmed.is_empty() {
        return Err(SkipReason::Blank);
    }
    if trimmed.starts_with(b"#") {
        return Err(SkipReason::Comment);
    }
    // a log whose format was changed on the way, or that two hosts share
    if matches!(scanner, Scanner::LogFormat(..)) {
        match scan(&Scanner::Combined, trimmed, keep) {
            Err(reason) if reason.is_unreadable() => {}
            done => return done,
        }
    }
    let inner = wrap::unwrap(trimmed);
    let shorter = (trimmed.len() < line.len()).then_some(trimmed);
    for again in shorter.into_iter().chain(inner.as_deref()) {
        match scan(scanner, again, keep) {
            Err(reason) if reason.is_unreadable() => {}
            done => return done,
        }
    }
    let other = !matches!(scanner, Scanner::Combined)
        && Scanner::Combined.scan(trimmed, &mut Values::default()).is_ok();
    let foreign = other || foreign::recognise_line(trimmed).is_some();
    Err(if foreign { SkipReason::OtherFormat } else { reason })
}

/// A line without the NULs that `copytruncate` left before it.
fn without_padding(line: &[u8]) -> Result<&[u8], SkipReason> {
    if line.first() != Some(&0) {
        return Ok(line);
    }
    let start = line.iter().position(|byte| *byte != 0);
    start.and_then(|start| line.get(start..)).ok_or(SkipReason::NulPadding)
}
