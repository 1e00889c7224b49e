//! A file as a tree of tables, and the reader of one table: each getter finds type, range and default
//! in the table's [`Shape`], and reports what is wrong.

use std::cell::RefCell;
use std::ops::Range;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use toml::Spanned;
use toml::de::DeTable;

use super::item::{At, Item};
use super::place::{Lines, Place};
use super::problem::{Code, Problem};
use super::shape::{Field, Kind, Need, Shape};
use super::value::MOST;
use crate::units::rate::Rate;
use crate::units::span;
use crate::units::zone::Zone;

/// Where problems of a file are gathered.
#[derive(Debug)]
pub struct Sink<'t> {
    file: &'t str,
    lines: Lines<'t>,
    problems: RefCell<Vec<Problem>>,
    notes: RefCell<Vec<Problem>>,
}

impl Sink<'_> {
    /// The place of a range of bytes.
    pub(super) fn place(&self, range: Range<usize>) -> Place {
        self.lines.place(range)
    }

    /// Takes what is only to be noted.
    pub fn note(&self, problem: Problem) {
        self.notes.borrow_mut().push(problem.in_file(self.file));
    }

    /// Takes a problem; one without a file is of this file.
    pub fn report(&self, problem: Problem) {
        let here = problem.file.is_empty();
        let problem = if here { problem.in_file(self.file) } else { problem };
        self.problems.borrow_mut().push(problem);
    }
}

/// A parsed file.
#[derive(Debug)]
pub struct Document<'t> {
    root: Spanned<DeTable<'t>>,
    sink: Sink<'t>,
}

impl<'t> Document<'t> {
    /// Parses a file; what isn't TOML is reported, and the rest is read all the same.
    pub fn parse(file: &'t str, text: &'t str) -> Self {
        let (root, errors) = DeTable::parse_recoverable(text);
        let sink = Sink {
            file,
            lines: Lines::new(text),
            problems: RefCell::default(),
            notes: RefCell::default(),
        };
        for error in errors {
            let place = sink.place(error.span().unwrap_or(0..0));
            let problem = if error.message().starts_with("duplicate key") {
                let help = "keep one; a list of tables has two brackets, as in [[limit]]";
                Problem::new(Code::DefinedTwice, place, "this is defined twice").help(help)
            } else {
                Problem::new(Code::Syntax, place, format!("not TOML: {}", error.message()))
            };
            sink.report(problem);
        }
        Self { root, sink }
    }

    /// The file's own table.
    pub fn root(&self, shape: &'static Shape) -> Table<'_> {
        Table::open(self.root.get_ref(), self.sink.place(0..0), shape, &self.sink)
    }

    /// The keys of the file's own table.
    pub fn keys(&self) -> Vec<&str> {
        self.root.get_ref().keys().map(|key| key.get_ref().as_ref()).collect()
    }

    /// What was noted, by place.
    pub fn notes(&self) -> Vec<Problem> {
        let mut notes = self.sink.notes.borrow().clone();
        notes.sort_by_key(|note| (note.place, note.code));
        notes.dedup();
        notes
    }

    /// All problems, by place. Where a table isn't TOML, only that is said of it; names are then not
    /// checked, since what defines them may be what can't be read.
    pub fn into_problems(self) -> Vec<Problem> {
        let lines = self.sink.lines;
        let mut problems = self.sink.problems.into_inner();
        let broken: Vec<usize> = problems
            .iter()
            .filter(|problem| problem.code == Code::Syntax)
            .map(|problem| lines.region(problem.place.from))
            .collect();
        problems.retain(|problem| {
            let here = problem.file == self.sink.file;
            let unread = here && broken.contains(&lines.region(problem.place.from));
            let unsure = !broken.is_empty() && problem.code == Code::UnknownName;
            problem.code == Code::Syntax || !unread && !unsure
        });
        let elsewhere = |problem: &Problem| problem.file != self.sink.file;
        problems.sort_by(|a, b| {
            (elsewhere(a), &a.file, a.place, a.code).cmp(&(elsewhere(b), &b.file, b.place, b.code))
        });
        problems.dedup();
        problems
    }
}

/// A table as written, read by the keys of its shape.
#[derive(Debug, Clone, Copy)]
pub struct Table<'d> {
    /// Where it begins.
    pub place: Place,
    /// Its keys.
    pub shape: &'static Shape,
    entries: &'d DeTable<'d>,
    sink: &'d Sink<'d>,
}

impl<'d> Table<'d> {
    /// Opens a table; its unknown keys are reported.
    pub(super) fn open(
        entries: &'d DeTable<'d>,
        place: Place,
        shape: &'static Shape,
        sink: &'d Sink<'d>,
    ) -> Self {
        let known: Vec<&str> = shape.fields.iter().map(|field| field.key).collect();
        for key in entries.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let name: &str = key.get_ref();
            let message = format!("`{name}` is no key of {}", shape.name);
            let problem = Problem::new(Code::UnknownKey, sink.place(key.span()), message);
            sink.report(with_nearest(problem.allowed(known.join(", ")), name, &known));
        }
        Self { place, shape, entries, sink }
    }

    /// Where problems go.
    pub fn sink(&self) -> &'d Sink<'d> {
        self.sink
    }

    /// Hands a problem on.
    pub fn report(&self, problem: Problem) {
        self.sink.report(problem);
    }

    /// Reports a problem of the whole table.
    pub fn wrong(&self, code: Code, message: impl Into<String>) -> Problem {
        Problem::new(code, self.place, message)
    }

    /// Reports that a key has to be there.
    pub fn missing(&self, key: &str, help: &str) {
        let message = format!("`{key}` is missing in {}", self.shape.name);
        let doc = self.shape.field(key).map_or("", |field| field.doc);
        let problem = self.wrong(Code::MissingKey, message);
        self.report(problem.help(if help.is_empty() { doc } else { help }));
    }

    /// Reports that a key can't stand here.
    pub fn contradicts(&self, key: &str, message: &str, help: &str) {
        let place = self.key_place(key).unwrap_or(self.place);
        self.report(Problem::new(Code::Contradiction, place, message).help(help));
    }

    /// Whether a key is there, whatever its value.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Where a key stands.
    pub fn key_place(&self, key: &str) -> Option<Place> {
        self.entries.get_key_value(key).map(|(key, _)| self.sink.place(key.span()))
    }

    /// The keys that are there, in the order of the file.
    pub fn present(&self) -> Vec<At<&'d str>> {
        let at = |key: &'d Spanned<toml::de::DeString<'d>>| At {
            value: key.get_ref().as_ref(),
            place: self.sink.place(key.span()),
        };
        let mut keys: Vec<_> = self.entries.keys().map(at).collect();
        keys.sort_by_key(|key| key.place);
        keys
    }

    /// The value of a key, if it is there, and whether or not it must be.
    pub fn peek(&self, key: &str) -> Option<Item<'d>> {
        let (key, value) = self.entries.get_key_value(key)?;
        let place = self.sink.place(value.span());
        Some(Item { key: key.get_ref(), place, value: value.get_ref(), sink: self.sink })
    }

    /// The value of a key; one that is required and isn't there is reported.
    pub fn get(&self, key: &str) -> Option<Item<'d>> {
        let item = self.peek(key);
        let required = || self.shape.field(key).is_some_and(|f| f.need == Need::Required);
        if item.is_none() && required() {
            self.missing(key, "");
        }
        item
    }

    /// A text.
    pub fn text(&self, key: &str) -> Option<&'d str> {
        self.get(key)?.text()
    }

    /// A whole number in the range of its field.
    pub fn whole(&self, key: &str) -> Option<u64> {
        let range = match self.shape.field(key) {
            Some(Field { kind: Kind::Whole(least, most), .. }) => *least..=*most,
            _ => 0..=MOST,
        };
        match self.get(key) {
            Some(item) => item.whole(range),
            None => self.default(key)?.parse().ok(),
        }
    }

    /// `true` or `false`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key) {
            Some(item) => item.flag(),
            None => self.default(key)?.parse().ok(),
        }
    }

    /// A length of time, microseconds.
    pub fn span_us(&self, key: &str) -> Option<i64> {
        let zero = self.shape.field(key).is_some_and(|f| matches!(f.kind, Kind::SpanOrZero));
        match self.get(key) {
            Some(item) => item.span_us(zero),
            None => span::parse(self.default(key)?).ok(),
        }
    }

    /// So many per so long.
    pub fn rate(&self, key: &str) -> Option<Rate> {
        self.get(key)?.rate()
    }

    /// An instant, microseconds since the epoch.
    pub fn instant_us(&self, key: &str, zone: Zone) -> Option<i64> {
        self.get(key)?.instant_us(zone)
    }

    /// Money.
    pub fn money(&self, key: &str) -> Option<Decimal> {
        self.get(key)?.money()
    }

    /// A number in units of the last decimal its field has.
    pub fn scaled(&self, key: &str) -> Option<u64> {
        let places = match self.shape.field(key) {
            Some(Field { kind: Kind::Number(places), .. }) => *places,
            _ => 0,
        };
        if let Some(item) = self.get(key) {
            return item.scaled(places);
        }
        let default: Decimal = self.default(key)?.parse().ok()?;
        default.checked_mul(Decimal::from(10_u64.pow(places.min(9))))?.to_u64()
    }

    /// One of several words.
    pub fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Option<T> {
        if let Some(item) = self.get(key) {
            return item.word(words);
        }
        let default = self.default(key)?;
        words.iter().find(|(word, _)| *word == default).map(|(_, value)| *value)
    }

    /// Texts; none if the key isn't there.
    pub fn texts(&self, key: &str) -> Vec<At<&'d str>> {
        self.get(key).map(|item| item.texts()).unwrap_or_default()
    }

    /// A table of the shape its field names.
    pub fn table(&self, key: &str) -> Option<Self> {
        match self.shape.field(key)?.kind {
            Kind::Table(shape) => self.get(key)?.table(shape),
            _ => None,
        }
    }

    /// The tables of a list, of the shape its field names.
    pub fn tables(&self, key: &str) -> Vec<Self> {
        match self.shape.field(key).map(|field| &field.kind) {
            Some(Kind::Tables(shape)) => {
                self.get(key).map(|item| item.tables(shape)).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// The named tables of a table with free keys, of the shape its field names.
    pub fn named(&self, key: &str) -> Vec<(At<&'d str>, Self)> {
        let Some(Kind::Map(Kind::Table(shape))) = self.shape.field(key).map(|field| &field.kind)
        else {
            return Vec::new();
        };
        let open = |(name, item): (At<&'d str>, Item<'d>)| Some((name, item.table(shape)?));
        self.entries(key).into_iter().filter_map(open).collect()
    }

    /// The entries of a table with free keys.
    pub fn entries(&self, key: &str) -> Vec<(At<&'d str>, Item<'d>)> {
        self.get(key).map(|item| item.entries()).unwrap_or_default()
    }

    /// The default of a key, as its field has it.
    pub fn default(&self, key: &str) -> Option<&'static str> {
        match self.shape.field(key)?.need {
            Need::Default(default) => Some(default),
            Need::Required | Need::Optional => None,
        }
    }
}

/// The known name that a text is most like, if it is like one.
pub fn nearest<'k>(text: &str, known: &[&'k str]) -> Option<&'k str> {
    let text = text.to_lowercase();
    let mut best: Option<(usize, &'k str)> = None;
    for name in known {
        let distance = strsim::damerau_levenshtein(&text, &name.to_lowercase());
        // a third of the letters may differ
        let near = distance * 3 <= text.chars().count().max(name.chars().count()) && distance > 0
            || distance == 1
            || (name.len() >= 4 && text.len() >= 4 && name.starts_with(&text));
        if near && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// Adds the nearest known name to a problem.
pub(super) fn with_nearest(problem: Problem, text: &str, known: &[&str]) -> Problem {
    match nearest(text, known) {
        Some(name) => problem.help(format!("did you mean `{name}`?")),
        None => problem,
    }
}
