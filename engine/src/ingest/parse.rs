//! One block of lines to columns: the loop every line of every log goes through.

use crate::format::combined;
use crate::format::foreign;
use crate::format::record::{Client, Record};
use crate::format::skip::SkipReason;
use crate::format::text::unescape;
use crate::traffic::dictionary::Interner;
use crate::traffic::{Events, NONE};
use crate::units::address::Address;

use super::extract::Extract;
use super::projection::Projection;
use super::source::blocks::Cut;
use super::summary::{Counts, EXAMPLE_BYTES};

/// What one worker keeps from block to block: its dictionaries and its scratch space.
pub(super) struct Worker<'p> {
    projection: &'p Projection,
    max_line: usize,
    /// Client addresses.
    pub(super) addresses: Interner<Address>,
    /// Path templates.
    pub(super) templates: Interner<Box<[u8]>>,
    /// Values of each key that has a column.
    pub(super) keys: Vec<Interner<Box<[u8]>>>,
    scratch: Vec<u8>,
    last_client: Option<(Address, u32)>,
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
            max_line,
            addresses: Interner::default(),
            templates: Interner::default(),
            keys: projection.column_keys().map(|_| Interner::default()).collect(),
            scratch: Vec::new(),
            last_client: None,
        }
    }

    /// Bytes of memory that all dictionaries take, about.
    pub(super) fn dictionary_bytes(&self) -> u64 {
        self.addresses.bytes()
            + self.templates.bytes()
            + self.keys.iter().map(Interner::bytes).sum::<u64>()
    }

    /// Parses the lines of a block.
    pub(super) fn parse(&mut self, block: &[u8], cut: Cut) -> ParsedBlock {
        let mut parsed = ParsedBlock::default();
        parsed.events.keys = self.keys.iter().map(|_| Vec::new()).collect();
        let mut rest = block;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest);
            let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            rest = end.and_then(|end| rest.get(end + 1..)).unwrap_or_default();
            parsed.counts.lines += 1;
            let result = if end.is_none() && cut == Cut::BrokenTail {
                Err(SkipReason::ArchiveDamaged)
            } else {
                self.line(line, &mut parsed)
            };
            if let Err(reason) = result {
                let number = parsed.counts.lines;
                parsed.counts.skips.add(reason, number, line);
            }
        }
        parsed
    }

    fn line(&mut self, raw: &[u8], parsed: &mut ParsedBlock) -> Result<(), SkipReason> {
        let raw = without_padding(raw)?;
        if raw.len() > self.max_line {
            return Err(SkipReason::TooLong);
        }
        let line = raw.strip_suffix(b"\r").unwrap_or(raw);
        let record = match combined::scan(line) {
            Ok(record) => record,
            Err(reason) => return self.second_look(line, reason, parsed),
        };
        self.keep(&record, line, parsed)
    }

    /// A line that could not be read: blank, a comment, padded, another program's, or really bad.
    fn second_look(
        &mut self,
        line: &[u8],
        reason: SkipReason,
        parsed: &mut ParsedBlock,
    ) -> Result<(), SkipReason> {
        let trimmed = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if trimmed.is_empty() {
            return Err(SkipReason::Blank);
        }
        if trimmed.starts_with(b"#") {
            return Err(SkipReason::Comment);
        }
        if trimmed.len() < line.len()
            && let Ok(record) = combined::scan(trimmed)
        {
            return self.keep(&record, trimmed, parsed);
        }
        let foreign = foreign::recognise_line(trimmed).is_some();
        Err(if foreign { SkipReason::OtherFormat } else { reason })
    }

    fn keep(
        &mut self,
        record: &Record<'_>,
        line: &[u8],
        parsed: &mut ParsedBlock,
    ) -> Result<(), SkipReason> {
        let ParsedBlock { events, counts } = parsed;
        counts.stamp(record.stamp_us);
        counts.tally.observe(record, line);
        if !self.projection.covers(record.stamp_us) {
            return Err(SkipReason::OutOfRange);
        }
        if counts.first_line.is_empty() {
            counts.first_line = line.get(..EXAMPLE_BYTES).unwrap_or(line).to_vec();
        }
        counts.requests += 1;
        counts.limited += u64::from(record.status == Some(429));
        counts.unavailable += u64::from(record.status == Some(503));

        events.times_us.push(record.stamp_us);
        events.addresses.push(self.address(record.client));
        let unescaped = unescape(record.request);
        let extract = Extract::new(record, unescaped.as_deref());
        let place = if self.projection.routes.is_empty() {
            extract.template(&mut self.scratch);
            self.templates.id(self.scratch.as_slice())
        } else {
            extract.route(&self.projection.routes)
        };
        events.places.push(place);
        let columns = self.keys.iter_mut().zip(&mut events.keys);
        for (spec, (interner, column)) in self.projection.column_keys().zip(columns) {
            let present = extract.key(spec, self.projection, place, &mut self.scratch);
            column.push(if present { interner.id(self.scratch.as_slice()) } else { NONE });
        }
        Ok(())
    }

    fn address(&mut self, client: Client<'_>) -> u32 {
        let Client::Address(address) = client else { return NONE };
        match self.last_client {
            Some((last, id)) if last == address => id,
            _ => {
                let id = self.addresses.id(&address);
                self.last_client = Some((address, id));
                id
            }
        }
    }
}

/// A line without the NULs that `copytruncate` left before it.
fn without_padding(line: &[u8]) -> Result<&[u8], SkipReason> {
    if line.first() != Some(&0) {
        return Ok(line);
    }
    let start = line.iter().position(|byte| *byte != 0);
    start.and_then(|start| line.get(start..)).ok_or(SkipReason::NulPadding)
}
