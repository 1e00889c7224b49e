//! Reads a `match`: the same in site and policy files.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};

use super::names::{Names, Of};
use crate::document::{At, Code, Item, Problem, Table};
use crate::site::matching::{Match, StatusRange, TextCondition, TextField, TextPattern};
use crate::site::pattern::Pattern;
use crate::site::phone;

/// The most memory that a compiled regular expression may take, bytes.
const REGEX_MOST: usize = 1 << 20;

/// Whether the response is known where a match is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Response {
    /// It is: evidence, costs.
    Known,
    /// It isn't: a limit, whose `count_when` looks at it.
    UnknownToLimit,
    /// It isn't: anything else.
    Unknown,
}

/// Reads one value of a condition on text.
type ReadPattern = fn(&Item<'_>) -> Option<TextPattern>;

/// Reads matches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatchReader<'n> {
    /// What routes, labels and keys there are.
    pub(crate) names: &'n Names,
    /// Whether `status` may be asked.
    pub(crate) response: Response,
}

impl MatchReader<'_> {
    /// Reads the match under a key of a table; without it, everything matches.
    pub(crate) fn under(&self, table: &Table<'_>, key: &str) -> Match {
        table.table(key).map(|table| self.read(&table)).unwrap_or_default()
    }

    /// Reads a match; what is wrong is reported and left out.
    pub(crate) fn read(&self, table: &Table<'_>) -> Match {
        let not = table.table("not");
        let mut matching = Match {
            route: self.names_of(table, "route", Of::Route),
            label: self.names_of(table, "label", Of::Label),
            not_label: self.names_of(table, "not_label", Of::Label),
            logged_in: table.flag("logged_in"),
            key_prefix: self.by_key(table, "key_prefix", false),
            key_country: self.by_key(table, "key_country", true),
            not: not.map(|not| Box::new(self.read(&not))),
            ..Match::default()
        };
        if let Some(not) = not.filter(|not| not.present().is_empty()) {
            not.report(not.wrong(Code::OutOfRange, "`not` is empty: it would match nothing"));
        }
        let texts: [(&str, TextField, ReadPattern); 4] = [
            ("method", TextField::Method, method),
            ("host", TextField::Host, host),
            ("path", TextField::Path, path),
            ("user_agent", TextField::UserAgent, glob),
        ];
        for (key, of, pattern) in texts {
            if let Some(item) = table.get(key) {
                let any = item.parts().iter().filter_map(pattern).collect();
                matching.texts.push(TextCondition { of, any });
            }
        }
        for (name, item) in table.entries("field") {
            check_field(&name, &item);
            let any = item.parts().iter().filter_map(literal).collect();
            matching.texts.push(TextCondition { of: TextField::Field(name.value.to_owned()), any });
        }
        if let Some(item) = table.peek("status") {
            matching.status = self.statuses(&item);
        }
        matching
    }

    fn names_of(&self, table: &Table<'_>, key: &str, of: Of) -> Vec<usize> {
        table.get(key).map(|item| self.names.find_all(of, &item)).unwrap_or_default()
    }

    /// A table of key → texts; with `countries` the texts are countries, and the keys phone numbers.
    fn by_key(
        &self,
        table: &Table<'_>,
        key: &str,
        countries: bool,
    ) -> BTreeMap<String, Vec<String>> {
        let mut found = BTreeMap::new();
        for (name, item) in table.entries(key) {
            self.names.check_key(name.value, &item.blamed_at(name.place));
            if countries && !self.names.may_be_phone(name.value) {
                let message = format!("the key `{}` is no phone number", name.value);
                let problem = Problem::new(Code::Contradiction, name.place, message);
                item.report(problem.help("give it normalise = \"phone\" in the site file"));
            }
            let texts = item.texts().into_iter();
            let texts = texts.filter(|text| !countries || is_country(text, &item));
            found.insert(name.value.to_owned(), texts.map(|text| text.value.to_owned()).collect());
        }
        found
    }

    fn statuses(&self, item: &Item<'_>) -> Vec<StatusRange> {
        let help = match self.response {
            Response::Known => return statuses(item),
            Response::UnknownToLimit => "to count by the response, use count_when = { status = … }",
            Response::Unknown => "match requests only: route, path, method …",
        };
        let message = "`status`: the response isn't known yet when this is asked";
        item.report(item.wrong(Code::ResponseUnknown, message).help(help));
        Vec::new()
    }
}

/// Statuses: whole numbers and classes.
pub(crate) fn statuses(item: &Item<'_>) -> Vec<StatusRange> {
    let mut ranges: Vec<StatusRange> = item.parts().iter().filter_map(status).collect();
    ranges.sort_by_key(|range| (range.first, range.last));
    ranges.dedup();
    ranges
}

fn status(item: &Item<'_>) -> Option<StatusRange> {
    if !item.is_text() {
        let status = u16::try_from(item.whole(100..=599)?).ok()?;
        return Some(StatusRange { first: status, last: status });
    }
    let text = item.text()?;
    let class = text.strip_suffix("xx").and_then(|class| class.parse::<u16>().ok());
    if let Some(class @ 1..=5) = class {
        return Some(StatusRange { first: class * 100, last: class * 100 + 99 });
    }
    let problem = item.wrong(Code::Malformed, format!("`{text}` is no status"));
    item.report(problem.allowed("a number from 100 to 599, or \"1xx\" to \"5xx\""));
    None
}

/// Compiles a regular expression over bytes: `.` is any byte, classes are ASCII.
pub(super) fn regex(written: &str, item: &Item<'_>) -> Option<Regex> {
    let built = RegexBuilder::new(written).unicode(false).size_limit(REGEX_MOST).build();
    built
        .map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim().to_owned();
            item.malformed(format!("`{written}` is no regular expression: {reason}"));
        })
        .ok()
}

/// A regular expression if `regex:` stands before it, else what `plain` makes of the text.
fn regex_or(
    item: &Item<'_>,
    plain: impl FnOnce(&str) -> Option<TextPattern>,
) -> Option<TextPattern> {
    let text = item.text()?;
    let Some(written) = text.strip_prefix("regex:") else { return plain(text) };
    let compiled = regex(written, item)?;
    Some(TextPattern::Regex { written: written.to_owned(), compiled })
}

fn literal(item: &Item<'_>) -> Option<TextPattern> {
    regex_or(item, |text| Some(TextPattern::Literal(text.to_owned())))
}

fn glob(item: &Item<'_>) -> Option<TextPattern> {
    regex_or(item, |text| glob_of(item, text))
}

fn glob_of(item: &Item<'_>, text: &str) -> Option<TextPattern> {
    if !text.contains('*') {
        return Some(TextPattern::Literal(text.to_owned()));
    }
    let pieces: Vec<String> = text.split('*').map(regex::escape).collect();
    let compiled = regex(&format!(r"(?s)\A{}\z", pieces.join(".*")), item)?;
    Some(TextPattern::Glob { written: text.to_owned(), compiled })
}

/// A method as routes and matches write it.
pub(super) fn method_text<'d>(item: &Item<'d>) -> Option<&'d str> {
    let text = item.text()?;
    if text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-' || byte == b'_') {
        return Some(text);
    }
    let problem = item.wrong(Code::Malformed, format!("`{text}` is no method"));
    item.report(problem.allowed("capital letters, as in GET").help("leave the key out for any"));
    None
}

fn method(item: &Item<'_>) -> Option<TextPattern> {
    method_text(item).map(|text| TextPattern::Literal(text.to_owned()))
}

/// A host in small letters, without a port.
pub(super) fn host_text(item: &Item<'_>) -> Option<String> {
    let text = item.text()?;
    let ported = text.rsplit_once(':').is_some_and(|(_, port)| {
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    if (ported && !text.starts_with('[')) || text.contains('/') || text.contains(' ') {
        let problem = item.wrong(Code::Malformed, format!("`{text}` is no host"));
        item.report(problem.help("write the name alone, without scheme, port and path"));
        return None;
    }
    Some(text.to_ascii_lowercase())
}

fn host(item: &Item<'_>) -> Option<TextPattern> {
    regex_or(item, |_| glob_of(item, &host_text(item)?))
}

fn path(item: &Item<'_>) -> Option<TextPattern> {
    regex_or(item, |text| {
        let compiled = Pattern::parse(text).map_err(|error| item.malformed(error)).ok()?;
        Some(TextPattern::Path { written: text.to_owned(), compiled })
    })
}

fn check_field(name: &At<&str>, item: &Item<'_>) {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.value.is_empty() || !name.value.bytes().all(word) {
        let problem = item.wrong(Code::Malformed, format!("`{}` is no field", name.value));
        item.report(problem.allowed("letters, digits, _, - and ."));
    }
}

fn is_country(text: &At<&str>, item: &Item<'_>) -> bool {
    let known = phone::is_region(text.value);
    if !known {
        let message = format!("`{}` is no country", text.value);
        let problem = item.blamed_at(text.place).wrong(Code::Malformed, message);
        item.report(problem.allowed("two capital letters of ISO 3166, as in IN"));
    }
    known
}
