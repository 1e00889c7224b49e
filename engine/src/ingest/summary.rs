//! What reading found besides the events: per source and per skipped line. Merged in a fixed order.

use std::sync::Arc;

use crate::format::detect::{Detected, Tally};
use crate::format::foreign::Foreign;
use crate::format::scanner::Scanner;
use crate::format::skip::SkipReason;

use super::source::decode::Compression;

/// Longest part of a skipped line that is kept as an example, bytes.
pub const EXAMPLE_BYTES: usize = 400;

/// One skipped line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// Line number, from 1.
    pub line: u64,
    /// Its first bytes, as in the file.
    pub text: Vec<u8>,
}

/// Lines skipped for one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub example: Option<Example>,
}

/// Skipped lines by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skips {
    reasons: [Skipped; SkipReason::ALL.len()],
}

impl Skips {
    /// Counts one line; the first of each reason is kept as its example.
    pub fn add(&mut self, reason: SkipReason, line: u64, text: &[u8]) {
        if let Some(skipped) = self.slot(reason) {
            skipped.count += 1;
            if skipped.example.is_none() {
                let text = text.get(..EXAMPLE_BYTES).unwrap_or(text).to_vec();
                skipped.example = Some(Example { line, text });
            }
        }
    }

    /// Adds the counts of lines that follow: `lines_before` are counted already.
    pub fn append(&mut self, later: Self, lines_before: u64) {
        for (mine, theirs) in self.reasons.iter_mut().zip(later.reasons) {
            mine.count += theirs.count;
            if mine.example.is_none() {
                mine.example = theirs
                    .example
                    .map(|example| Example { line: example.line + lines_before, ..example });
            }
        }
    }

    /// What was skipped for a reason.
    pub fn of(&self, reason: SkipReason) -> &Skipped {
        static NOTHING: Skipped = Skipped { count: 0, example: None };
        SkipReason::ALL
            .iter()
            .position(|known| *known == reason)
            .and_then(|at| self.reasons.get(at))
            .unwrap_or(&NOTHING)
    }

    /// All skipped lines.
    pub fn total(&self) -> u64 {
        self.reasons.iter().map(|skipped| skipped.count).sum()
    }

    /// Lines that were meant to be requests and couldn't be read.
    pub fn unreadable(&self) -> u64 {
        SkipReason::ALL.iter().filter(|r| r.is_unreadable()).map(|r| self.of(*r).count).sum()
    }

    fn slot(&mut self, reason: SkipReason) -> Option<&mut Skipped> {
        let at = SkipReason::ALL.iter().position(|known| *known == reason)?;
        self.reasons.get_mut(at)
    }
}

/// What one block, or one source, held.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Physical lines.
    pub lines: u64,
    /// Lines that are requests.
    pub requests: u64,
    /// Of these, answered 429: refused by some limiter.
    pub limited: u64,
    /// Of these, answered 503: perhaps refused by nginx's limiter, whose status that is by default.
    pub unavailable: u64,
    /// Requests with a value in the field that clients are, or without a rule could be, taken from.
    pub forwarded: u64,
    /// Lines that aren't.
    pub skips: Skips,
    /// First and last stamp of all requests, those left out by time too; microseconds.
    pub stamps_us: Option<(i64, i64)>,
    /// What the lines looked like, those left out by time too.
    pub tally: Tally,
    /// First bytes of the first request, which order sources that begin and end at one time.
    pub first_line: Vec<u8>,
}

impl Counts {
    /// Widens the period covered.
    pub fn stamp(&mut self, stamp_us: i64) {
        let (first, last) = self.stamps_us.unwrap_or((stamp_us, stamp_us));
        self.stamps_us = Some((first.min(stamp_us), last.max(stamp_us)));
    }

    /// Adds the counts of lines that follow.
    pub fn append(&mut self, later: Self) {
        self.skips.append(later.skips, self.lines);
        self.lines += later.lines;
        self.requests += later.requests;
        self.limited += later.limited;
        self.unavailable += later.unavailable;
        self.forwarded += later.forwarded;
        self.tally.merge(&later.tally);
        if let Some((first, last)) = later.stamps_us {
            self.stamp(first);
            self.stamp(last);
        }
        if self.first_line.is_empty() {
            self.first_line = later.first_line;
        }
    }
}

/// Where an archive or a file broke off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Bytes of the file read until then.
    pub at_byte: u64,
    /// What the decoder said.
    pub why: String,
}

/// What became of one input.
#[derive(Debug, Clone)]
pub struct SourceSummary {
    /// Its name in reports.
    pub name: String,
    /// How it is compressed.
    pub compression: Compression,
    /// Size as stored, bytes.
    pub bytes: u64,
    /// Digest of the bytes as stored, with the algorithm's name before it; `None` for what is no
    /// access log and wasn't read to its end.
    pub digest: Option<String>,
    /// What it is, if it isn't an access log.
    pub foreign: Option<Foreign>,
    /// Where it broke off, if it did.
    pub damage: Option<Damage>,
    /// What took its lines apart.
    pub scanner: Arc<Scanner>,
    /// Format, if any line was a request.
    pub detected: Option<Detected>,
    /// What it held.
    pub counts: Counts,
    /// Requests that arrived before one already read from this source.
    pub out_of_order: u64,
}

/// Everything read besides the events.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// The inputs, sorted by name.
    pub sources: Vec<SourceSummary>,
    /// Names that led to a file already named.
    pub repeated: Vec<String>,
    /// Names found in folders that can't be opened, and why.
    pub unusable: Vec<(String, String)>,
}

impl Summary {
    /// The name of a source by its index.
    pub fn source_name(&self, index: usize) -> Option<&str> {
        self.sources.get(index).map(|source| source.name.as_str())
    }

    /// Sums a count over the sources.
    pub fn sum(&self, count: impl Fn(&Counts) -> u64) -> u64 {
        self.sources.iter().map(|source| count(&source.counts)).sum()
    }

    /// Unreadable lines, and all lines that were meant to be requests.
    pub fn unreadable(&self) -> (u64, u64) {
        let unreadable = self.sum(|counts| counts.skips.unreadable());
        (unreadable, unreadable + self.sum(|counts| counts.requests))
    }

    /// The coarsest step of the stamps read, microseconds; `None` if nothing was read.
    pub fn resolution_us(&self) -> Option<i64> {
        self.sources.iter().filter_map(|s| s.detected.as_ref()).map(|d| d.resolution_us).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_keep_their_line_when_blocks_are_joined() {
        let mut first = Counts { lines: 10, ..Counts::default() };
        first.skips.add(SkipReason::BadShape, 4, b"x");
        let mut second = Counts { lines: 5, ..Counts::default() };
        second.skips.add(SkipReason::BadShape, 1, b"y");
        second.skips.add(SkipReason::BadTime, 2, b"z");
        first.append(second);
        assert_eq!(first.skips.of(SkipReason::BadShape).count, 2);
        assert_eq!(first.skips.of(SkipReason::BadShape).example.as_ref().unwrap().line, 4);
        assert_eq!(first.skips.of(SkipReason::BadTime).example.as_ref().unwrap().line, 12);
        assert_eq!((first.skips.total(), first.skips.unreadable()), (3, 3));
    }
}
