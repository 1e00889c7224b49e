//! Requests as rows of named cells, source after source, line after line, in constant memory: what
//! `convert` writes. Nothing is kept and nothing is masked.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;

use crate::format::fields::Values;
use crate::format::record::Record;
use crate::format::request::RequestBuffer;
use crate::format::scanner::Scanner;
use crate::format::skip::SkipReason;

use super::cells::{Context, Row};
use super::error::LoadError;
use super::extract::{Extract, Extras};
use super::instance::{instance_field, instance_of};
use super::load::{LoadOptions, Watch, check_client_field};
use super::open::{self, LogBlocks};
use super::parse::read_line;
use super::source::blocks::Cut;
use super::source::decode::Compression;
use super::source::discover::{Found, Input};
use super::source::tap::Tap;
use super::summary::{Damage, Skips};

/// Takes rows, several blocks at a time, then what was made of each block, in order.
pub trait RowSink: Sync {
    /// What is made of a block's rows.
    type Batch: Default + Send;
    /// Adds a row.
    fn push(&self, batch: &mut Self::Batch, row: &Row<'_>);
}

/// What was read.
#[derive(Debug, Default)]
pub struct RowSummary {
    /// Lines that are requests.
    pub requests: u64,
    /// Lines that aren't.
    pub skips: Skips,
    /// The first skipped line of each reason: the file it is in.
    pub first_skipped: Vec<(SkipReason, String)>,
    /// Files left out, with what they are.
    pub left_out: Vec<(String, &'static str)>,
    /// Names of the columns there were besides [`super::cells::COLUMNS`], if they were asked for.
    pub columns: BTreeSet<String>,
    /// Files that break off, with where and why.
    pub damaged: Vec<(String, Damage)>,
}

/// Reads all inputs in the order of their names, giving each block's batch to `write` in order.
///
/// # Errors
/// As [`super::load::load`], and what `write` gives.
pub fn rows<S: RowSink, E: From<LoadError>>(
    found: &Found,
    options: &LoadOptions,
    all_columns: bool,
    watch: &dyn Watch,
    sink: &S,
    mut write: impl FnMut(S::Batch) -> Result<(), E>,
) -> Result<RowSummary, E> {
    let mut summary = RowSummary::default();
    let mut scanners: Vec<Arc<Scanner>> = Vec::new();
    for input in &found.inputs {
        let mut source = match Source::open(input, options)? {
            Ok(source) => source,
            Err(what) => {
                summary.left_out.push((input.name.clone(), what));
                continue;
            }
        };
        loop {
            let blocks = source.next_blocks(options, watch)?;
            if blocks.is_empty() {
                if let Some(damage) = source.damage()? {
                    summary.damaged.push((input.name.clone(), damage));
                }
                break;
            }
            if !scanners.contains(&source.scanner) {
                scanners.push(Arc::clone(&source.scanner));
            }
            let job = BlockJob { options, all_columns, input, scanner: &source.scanner, sink };
            let done: Vec<Done<S::Batch>> = blocks.par_iter().map(|block| job.run(block)).collect();
            for (Done { batch, requests, skips, columns }, block) in done.into_iter().zip(&blocks) {
                summary.requests += requests;
                summary.columns.extend(columns);
                for reason in SkipReason::ALL {
                    let new = skips.of(reason).count > 0 && summary.skips.of(reason).count == 0;
                    if new {
                        summary.first_skipped.push((reason, input.name.clone()));
                    }
                }
                summary.skips.append(skips, block.first_line);
                write(batch)?;
            }
        }
    }
    check_client_field(scanners.iter().map(|scanner| &**scanner), &options.projection)?;
    Ok(summary)
}

/// A file being read.
struct Source<'i> {
    input: &'i Input,
    tap: Tap,
    compression: Compression,
    reported: u64,
    blocks: LogBlocks,
    scanner: Arc<Scanner>,
    lines: u64,
}

/// A block and the number of lines before it.
struct Numbered {
    bytes: Vec<u8>,
    cut: Cut,
    first_line: u64,
}

impl<'i> Source<'i> {
    /// Opens an input; the inner error says what a file in a folder is instead of a log.
    fn open(
        input: &'i Input,
        options: &LoadOptions,
    ) -> Result<Result<Self, &'static str>, LoadError> {
        let (tap, compression, mut blocks) =
            open::open(input, options.block_bytes, options.max_line)?;
        let scanner = match open::scanner(compression, blocks.peek(), options) {
            Ok(scanner) => scanner,
            Err(what) if input.explicit => return Err(open::refuse(input, compression, what)),
            Err(what) => return Ok(Err(what.describe())),
        };
        let scanner = Arc::new(scanner);
        let cutter = Arc::clone(&scanner);
        blocks.cut_at(Box::new(move |block| cutter.last_record_end(block)));
        Ok(Ok(Self { input, tap, compression, reported: 0, blocks, scanner, lines: 0 }))
    }

    /// The next blocks, as many as there are threads.
    fn next_blocks(
        &mut self,
        options: &LoadOptions,
        watch: &dyn Watch,
    ) -> Result<Vec<Numbered>, LoadError> {
        let mut taken = Vec::new();
        for _ in 0..options.threads.max(1) {
            if watch.stopped() {
                return Err(LoadError::Interrupted);
            }
            let mut bytes = Vec::new();
            let cut = self.blocks.next_block(&mut bytes);
            let read = self.tap.bytes_read();
            watch.read(read - self.reported);
            self.reported = read;
            if cut == Cut::End {
                break;
            }
            let first_line = self.lines;
            self.lines += self.scanner.records(&bytes).fold(0, |count, _| count + 1);
            taken.push(Numbered { bytes, cut, first_line });
        }
        match self.tap.failure() {
            Some(why) => Err(open::unreadable(self.input, &why)),
            None => Ok(taken),
        }
    }

    /// Where the file broke off, if it did.
    fn damage(&self) -> Result<Option<Damage>, LoadError> {
        open::damage(self.input, self.compression, &self.blocks, &self.tap, self.lines > 0)
    }
}

/// What a block held.
#[derive(Default)]
struct Done<B> {
    batch: B,
    requests: u64,
    skips: Skips,
    /// Further columns of its first request.
    columns: Vec<String>,
}

/// What turns one block into a batch.
struct BlockJob<'j, S> {
    options: &'j LoadOptions,
    all_columns: bool,
    input: &'j Input,
    scanner: &'j Scanner,
    sink: &'j S,
}

impl<S: RowSink> BlockJob<'_, S> {
    fn run(&self, block: &Numbered) -> Done<S::Batch> {
        let mut done = Done::default();
        for (lines, (line, ended)) in (1..).zip(self.scanner.records(&block.bytes)) {
            let result = if !ended && block.cut == Cut::BrokenTail {
                Err(SkipReason::ArchiveDamaged)
            } else {
                let number = block.first_line + lines;
                read_line(self.scanner, line, self.options.max_line, &mut |record, values, _| {
                    self.row(record, values, number, &mut done)
                })
            };
            match result {
                Ok(()) => done.requests += 1,
                Err(reason) => done.skips.add(reason, lines, line),
            }
        }
        done
    }

    fn row(
        &self,
        record: &Record<'_>,
        values: &Values<'_>,
        line: u64,
        done: &mut Done<S::Batch>,
    ) -> Result<(), SkipReason> {
        let projection = &self.options.projection;
        if !projection.covers(record.arrival_us) {
            return Err(SkipReason::OutOfRange);
        }
        let layout = self.scanner.layout();
        let position = |name: &str| layout.and_then(|layout| layout.position(name));
        let fields: Vec<(Cow<'_, str>, Option<usize>)> = projection
            .fields()
            .map(|name| {
                let at = position(&name);
                (name, at)
            })
            .collect();
        let extras = Extras { fields: &fields, values };
        let (client, _) = projection.client_of(record, extras);
        let buffer = RequestBuffer::new(record);
        let extract = Extract::new(record, client, &buffer, extras);
        let place = extract.route(&projection.routes);
        let key = |name: &str| {
            let spec = projection.keys.iter().find(|key| key.name == name)?;
            let mut text = Vec::new();
            extract.key(spec, projection, place, &mut text).then_some(())?;
            spec.normalised(text.into()).map(Cow::into_owned)
        };
        let route = usize::try_from(place).ok().and_then(|place| projection.routes.get(place));
        let context = Context {
            record,
            client,
            request: buffer.request(),
            user: key("user"),
            phone: key("phone"),
            route: route.map(|route| route.name.as_str()),
            instance: instance_of(instance_field(layout), record, values),
            file: &self.input.name,
            line,
        };
        let more =
            if self.all_columns { context.more(buffer.line(), layout, values) } else { Vec::new() };
        if done.requests == 0 {
            done.columns = more.iter().map(|(name, _)| name.clone().into_owned()).collect();
        }
        self.sink.push(&mut done.batch, &Row { cells: context.cells(), more });
        Ok(())
    }
}
