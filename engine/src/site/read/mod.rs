//! Reads a site file: text → checked [`Site`], or every problem at once. One file per family of tables.

mod clients;
mod cohorts;
mod costs;
mod files;
mod goals;
mod input;
mod keys;
mod lists;
pub(crate) mod make;
pub(crate) mod matching;
pub(crate) mod names;
mod servers;
pub(crate) mod shape;

use std::collections::BTreeMap;

pub use files::{Files, Folder};
pub use shape::SITE;

use self::matching::{MatchReader, Response};
use self::names::Names;
use crate::document::{At, Code, Document, Item, Place, Problem, Table};
use crate::site::Site;
use crate::site::facts::Label;
use crate::units::zone::Zone;

/// Reads a site file. `file` is its name for messages; what it refers to comes from `files`.
///
/// # Errors
/// All problems of the file and of the lists it names, by place.
pub fn read(bytes: &[u8], file: &str, files: &dyn Files) -> Result<Site, Vec<Problem>> {
    let text = utf8(bytes, file)?;
    let document = Document::parse(file, text);
    let site = {
        let root = document.root(&SITE);
        let zone = root.peek("timezone").and_then(|item| item.zone()).unwrap_or(Zone::UTC);
        Reading::new(root, zone, files).site()
    };
    let problems = document.into_problems();
    if problems.is_empty() { Ok(site) } else { Err(problems) }
}

/// A file as text.
pub(crate) fn utf8<'t>(bytes: &'t [u8], file: &str) -> Result<&'t str, Vec<Problem>> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let begin = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let before = String::from_utf8_lossy(before.get(begin..).unwrap_or_default()).into_owned();
        let (from, column) = (error.valid_up_to(), before.chars().count() + 1);
        let place = Place { from, to: from + 1, line, column };
        let problem = Problem::new(Code::Syntax, place, "not TOML: this is no UTF-8 text");
        vec![problem.in_file(file).help("save the file as UTF-8")]
    })
}

/// A site file while it is read.
struct Reading<'d> {
    root: Table<'d>,
    names: Names,
    zone: Zone,
    files: &'d dyn Files,
    /// Keys that are phone numbers, with the region of numbers without one.
    phones: BTreeMap<String, Option<String>>,
}

impl<'d> Reading<'d> {
    fn new(root: Table<'d>, zone: Zone, files: &'d dyn Files) -> Self {
        let routes = root.tables("route").iter().map(name_or_empty).collect();
        let labels = root.entries("labels").iter().map(|(name, _)| name.value.to_owned()).collect();
        let keys = root.entries("keys").iter().map(|(name, _)| name.value.to_owned()).collect();
        let names = Names::new(routes, labels, keys);
        Self { root, names, zone, files, phones: BTreeMap::new() }
    }

    fn site(mut self) -> Site {
        let root = self.root;
        let keys = self.keys();
        self.names.tell_phones(&keys);
        let name = root.text("name").map(str::to_owned);
        let identity = match root.get("identity") {
            Some(item) => self.key_name(&item),
            None => "ip".to_owned(),
        };
        let (attackers, customers, link) = self.cohorts();
        Site {
            name,
            zone: self.zone,
            identity,
            input: self.input(),
            keys,
            keys_available: self.counts(&root, "keys_available"),
            max_in_flight: self.counts(&root, "max_in_flight"),
            tiers: self.tiers(),
            routes: self.routes(),
            labels: self.labels(),
            attackers,
            customers,
            link,
            clients: self.clients(),
            duplicates: self.duplicates(),
            actions: self.actions(),
            outages: self.outages(),
            attacks: self.attacks(),
            traffic: self.traffic(),
            infrastructure: self.infrastructure(),
            requirements: self.requirements(),
            protects: self.protects(),
        }
    }

    /// Reads matches where the response is known.
    fn evidence(&self) -> MatchReader<'_> {
        MatchReader { names: &self.names, response: Response::Known }
    }

    /// Reads matches where it isn't.
    fn requests(&self) -> MatchReader<'_> {
        MatchReader { names: &self.names, response: Response::Unknown }
    }

    /// A key's name out of a value.
    fn key_name(&self, item: &Item<'_>) -> String {
        let name = item.text().unwrap_or_default();
        if !name.is_empty() {
            self.names.check_key(name, item);
        }
        name.to_owned()
    }

    /// A key's name under a key of a table.
    fn key(&self, table: &Table<'_>, key: &str) -> String {
        table.get(key).map(|item| self.key_name(&item)).unwrap_or_default()
    }

    /// A table of key → how many.
    fn counts(&self, table: &Table<'_>, key: &str) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for (name, item) in table.entries(key) {
            self.names.check_key(name.value, &item.blamed_at(name.place));
            if let Some(count) = item.whole(1..=1_000_000_000_000) {
                counts.insert(name.value.to_owned(), count);
            }
        }
        counts
    }

    fn labels(&self) -> Vec<Label> {
        let read = |(name, table): (At<&str>, Table<'_>)| {
            let mut ranges = Vec::new();
            for file in table.get("files").map(|item| item.parts()).unwrap_or_default() {
                ranges.extend(lists::ranges(&file, self.files));
            }
            Label { name: name.value.to_owned(), ranges }
        };
        self.root.named("labels").into_iter().map(read).collect()
    }
}

/// The name of a table, or nothing.
fn name_or_empty(table: &Table<'_>) -> String {
    table.text("name").unwrap_or_default().to_owned()
}

/// Reports names that several tables share; `same` says what makes two names one.
pub(crate) fn unique(tables: &[Table<'_>], same: fn(&str) -> String) {
    let mut seen: BTreeMap<String, Place> = BTreeMap::new();
    for item in tables.iter().filter_map(|table| table.peek("name")) {
        let Some(name) = item.is_text().then(|| item.text()).flatten() else { continue };
        let alike = same(name);
        if alike.is_empty() {
            let problem = item.wrong(Code::Malformed, format!("`{name}` is no name"));
            item.report(problem.allowed("a text with at least one letter or digit"));
        } else if let Some(first) = seen.get(&alike) {
            let message = format!("`{name}` is already a name on line {}", first.line);
            let help = if alike == name { "" } else { "metrics write both alike; " };
            let problem = item.wrong(Code::DefinedTwice, message);
            item.report(problem.help(format!("{help}choose another name")));
        } else {
            seen.insert(alike, item.place);
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
pub(crate) mod tests;
