//! Lists that a site file names: address ranges, values of a key, prices.

use ipnet::IpNet;
use rust_decimal::Decimal;

use super::Reading;
use super::files::Files;
use crate::document::{Code, Item, Place, Problem, Table};
use crate::site::facts::KeyList;
use crate::site::labels;
use crate::site::phone;
use crate::units::address::Address;

/// Most lines of one list that are told apart.
const TOLD: usize = 20;

/// The content of the file that a value names.
pub(super) fn content(item: &Item<'_>, files: &dyn Files) -> Option<Vec<u8>> {
    let path = item.text()?;
    files
        .read(path)
        .map_err(|error| {
            let message = format!("`{path}` can't be read: {error}");
            let problem = item.wrong(Code::Unreadable, message);
            item.report(problem.help("paths are relative to the site file's folder"));
        })
        .ok()
}

/// The ranges of an address list.
pub(super) fn ranges(item: &Item<'_>, files: &dyn Files) -> Vec<IpNet> {
    let Some(bytes) = content(item, files) else { return Vec::new() };
    let file = files.path(item.text().unwrap_or_default());
    labels::parse_list(&bytes).unwrap_or_else(|problems| {
        let lines = problems.into_iter().map(|problem| (problem.line, problem.message));
        report_lines(item, &file, lines.collect());
        Vec::new()
    })
}

/// Reports wrong lines of a list; of many the first.
fn report_lines(item: &Item<'_>, file: &str, lines: Vec<(usize, String)>) {
    let more = lines.len().saturating_sub(TOLD);
    for (line, message) in lines.into_iter().take(TOLD) {
        item.report(Problem::new(Code::ListLine, Place::of_line(line), message).in_file(file));
    }
    if more > 0 {
        let list = item.text().unwrap_or_default();
        let message = format!("{more} more lines of `{list}` are wrong");
        item.report(item.wrong(Code::ListLine, message));
    }
}

impl Reading<'_> {
    /// The values of a key under `list`, sorted.
    pub(super) fn key_list(&self, table: &Table<'_>) -> Option<KeyList> {
        let table = table.table("list")?;
        let key = self.key(&table, "key");
        let file = table.get("file")?;
        let rows = self.rows(&file)?;
        let mut values = Vec::new();
        let mut wrong = Vec::new();
        for (line, row) in rows {
            let text = row.first().map(String::as_str).unwrap_or_default();
            let header = values.is_empty() && wrong.is_empty() && text.eq_ignore_ascii_case(&key);
            match self.key_text(&key, text) {
                _ if header => {}
                Some(value) => values.push(value),
                None => wrong.push((line, format!("`{text}` is no value of the key `{key}`"))),
            }
        }
        if values.is_empty() && wrong.is_empty() {
            file.report(file.wrong(Code::ListLine, "the list is empty"));
        }
        report_lines(&file, &self.files.path(file.text().unwrap_or_default()), wrong);
        values.sort();
        values.dedup();
        Some(KeyList { key, values })
    }

    /// A key's text as logs give it: addresses and phone numbers have one writing.
    fn key_text(&self, key: &str, text: &str) -> Option<String> {
        if key == "ip" {
            let address = Address::parse(text.as_bytes())?.truncate(32, 64);
            return Some(address.with_prefix(32, 64));
        }
        if let Some(region) = self.phones.get(key) {
            return phone::normalise(text, region.as_deref());
        }
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The prices in the file that a value names: prefix → price, sorted by prefix.
    pub(super) fn prices(&self, item: &Item<'_>) -> Vec<(String, Decimal)> {
        let Some(rows) = self.rows(item) else { return Vec::new() };
        let mut prices: Vec<(String, Decimal)> = Vec::new();
        let mut wrong = Vec::new();
        for (index, (line, row)) in rows.into_iter().enumerate() {
            let [prefix, price, ..] = row.as_slice() else {
                wrong.push((line, "a prefix and a price are needed".to_owned()));
                continue;
            };
            let prefix = prefix.clone();
            let amount =
                Decimal::from_str_exact(price).ok().filter(|price| !price.is_sign_negative());
            match amount {
                Some(_) if prices.iter().any(|(known, _)| *known == prefix) => {
                    wrong.push((line, format!("`{prefix}` has a price already")));
                }
                Some(amount) => prices.push((prefix, amount)),
                // a header
                None if index == 0 && !price.starts_with(|first: char| first.is_ascii_digit()) => {}
                None => wrong.push((line, format!("`{price}` is no price"))),
            }
        }
        if prices.is_empty() && wrong.is_empty() {
            item.report(item.wrong(Code::ListLine, "there are no prices in it"));
        }
        report_lines(item, &self.files.path(item.text().unwrap_or_default()), wrong);
        prices.sort();
        prices
    }

    /// The rows of a CSV file with their lines; blank lines and `#` comments are left out.
    fn rows(&self, item: &Item<'_>) -> Option<Vec<(usize, Vec<String>)>> {
        let bytes = content(item, self.files)?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .comment(Some(b'#'))
            .from_reader(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes));
        let mut rows = Vec::new();
        for record in reader.records() {
            match record {
                Ok(record) => {
                    let line = record.position().map_or(1, csv::Position::line);
                    let line = usize::try_from(line).unwrap_or(usize::MAX);
                    rows.push((line, record.iter().map(str::to_owned).collect()));
                }
                Err(error) => {
                    let line = error.position().map_or(1, csv::Position::line);
                    let line = usize::try_from(line).unwrap_or(usize::MAX);
                    let file = self.files.path(item.text().unwrap_or_default());
                    report_lines(item, &file, vec![(line, format!("not CSV: {error}"))]);
                    return None;
                }
            }
        }
        Some(rows)
    }
}
