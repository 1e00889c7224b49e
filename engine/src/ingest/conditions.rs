//! Conditions on the texts of a request, answered while its line is at hand: the texts aren't kept.

use std::borrow::Cow;

use crate::site::key::Source;
use crate::site::matching::{TextCondition, TextField};

use super::extract::Extract;
use super::projection::Projection;

/// Bits of a word: conditions that share a column.
const WORD_BITS: usize = 64;

/// All conditions of a projection, those on one text together, so that it is made once.
#[derive(Debug)]
pub(super) struct Conditions<'p> {
    groups: Vec<Group<'p>>,
    columns: usize,
}

/// The conditions on one text.
#[derive(Debug)]
struct Group<'p> {
    field: &'p TextField,
    /// Where a [`TextField::Field`] comes from.
    source: Option<Source>,
    tests: Vec<Test<'p>>,
}

/// A condition, and its bit.
#[derive(Debug)]
struct Test<'p> {
    column: usize,
    bit: u64,
    condition: &'p TextCondition,
}

/// Where a field named in a condition comes from: the same names as in a key.
pub(super) fn source_of(name: &str) -> Source {
    Source::parse(name, 128).unwrap_or_else(|_| Source::Field(name.to_owned()))
}

impl<'p> Conditions<'p> {
    pub(super) fn new(all: &'p [TextCondition]) -> Self {
        let mut groups: Vec<Group<'p>> = Vec::new();
        for (index, condition) in all.iter().enumerate() {
            let test = Test { column: index / WORD_BITS, bit: 1 << (index % WORD_BITS), condition };
            if let Some(group) = groups.iter_mut().find(|group| *group.field == condition.of) {
                group.tests.push(test);
                continue;
            }
            let source = match &condition.of {
                TextField::Field(name) => Some(source_of(name)),
                _ => None,
            };
            groups.push(Group { field: &condition.of, source, tests: vec![test] });
        }
        Self { groups, columns: all.len().div_ceil(WORD_BITS) }
    }

    /// How many columns the answers take.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Adds the answers for one request to its columns, of which there are [`Self::columns`].
    pub(super) fn answer(
        &self,
        extract: &Extract<'_>,
        projection: &Projection,
        place: u32,
        columns: &mut [Vec<u64>],
    ) {
        for column in columns.iter_mut() {
            column.push(0);
        }
        for group in &self.groups {
            let Some(text) = group.text(extract, projection, place) else { continue };
            for test in group.tests.iter().filter(|test| test.condition.fits(&text)) {
                let word = columns.get_mut(test.column).and_then(|column| column.last_mut());
                if let Some(word) = word {
                    *word |= test.bit;
                }
            }
        }
    }
}

impl Group<'_> {
    /// The text of a request; without one, no condition fits.
    fn text<'e>(
        &self,
        extract: &'e Extract<'_>,
        projection: &Projection,
        place: u32,
    ) -> Option<Cow<'e, [u8]>> {
        let source = match self.field {
            TextField::Host => return extract.host().map(lowercase),
            // whoever sends no such header is meant by conditions on the empty text
            TextField::UserAgent => {
                return Some(
                    extract.source(&Source::UserAgent, projection, place).unwrap_or_default(),
                );
            }
            TextField::Method => &Source::Method,
            TextField::Path => &Source::Path,
            TextField::Field(_) => self.source.as_ref()?,
        };
        extract.source(source, projection, place)
    }
}

fn lowercase(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if text.iter().any(u8::is_ascii_uppercase) { text.to_ascii_lowercase().into() } else { text }
}
