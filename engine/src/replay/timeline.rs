//! One client's story: every limit asked about its requests, in order.

use std::collections::BTreeMap;

use crate::traffic::bitmap::Bitmap;

use super::observer::{Asked, Counted, Ended, Observer};

/// What became of each of some requests.
#[derive(Debug)]
pub struct Timeline<'a> {
    events: &'a Bitmap,
    /// By request and attempt.
    entries: BTreeMap<(usize, u32), Entry>,
}

/// What became of one request.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// The limits asked, in order.
    pub asked: Vec<Asked>,
    /// Limits that counted its response.
    pub counted: Vec<Counted>,
    /// How it ended.
    pub ended: Option<Ended>,
}

impl<'a> Timeline<'a> {
    /// Watches these requests.
    pub fn new(events: &'a Bitmap) -> Self {
        Self { events, entries: BTreeMap::new() }
    }

    /// The requests with what became of them, by arrival; several times where clients tried again, each
    /// attempt an entry of its own.
    pub fn finish(self) -> Vec<(usize, Entry)> {
        self.entries.into_iter().map(|((event, _), entry)| (event, entry)).collect()
    }

    fn entry(&mut self, event: usize, attempt: u32) -> Option<&mut Entry> {
        self.events.contains(event).then(|| self.entries.entry((event, attempt)).or_default())
    }
}

impl Observer for Timeline<'_> {
    fn wants_detail(&self) -> bool {
        true
    }

    fn asked(&mut self, asked: &Asked) {
        if let Some(entry) = self.entry(asked.event, asked.attempt) {
            entry.asked.push(*asked);
        }
    }

    fn counted(&mut self, counted: &Counted) {
        if let Some(entry) = self.entry(counted.event, counted.attempt) {
            entry.counted.push(*counted);
        }
    }

    fn ended(&mut self, ended: &Ended) {
        if let Some(entry) = self.entry(ended.event, ended.attempt) {
            entry.ended = Some(*ended);
        }
    }
}
