//! One value of a file with its place, read as what it should be. Each reader reports what is wrong and
//! then gives nothing.

use std::fmt::Display;

use toml::de::DeValue;

use super::place::Place;
use super::problem::{Code, Problem};
use super::shape::Shape;
use super::table::{Sink, Table};

/// A value and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub place: Place,
}

/// A value as written.
#[derive(Debug, Clone, Copy)]
pub struct Item<'d> {
    /// The key it belongs to, for messages.
    pub key: &'d str,
    /// Where it stands.
    pub place: Place,
    pub(super) value: &'d DeValue<'d>,
    pub(super) sink: &'d Sink<'d>,
}

impl<'d> Item<'d> {
    /// The same value, blamed at another place: that of its key.
    #[must_use]
    pub fn blamed_at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// A problem at this value.
    pub fn wrong(&self, code: Code, message: impl Into<String>) -> Problem {
        Problem::new(code, self.place, message)
    }

    /// Hands a problem on.
    pub fn report(&self, problem: Problem) {
        self.sink.report(problem);
    }

    /// Notes what isn't a problem where reading is lenient.
    pub fn note(&self, problem: Problem) {
        self.sink.note(problem);
    }

    /// Reports a text that isn't what it should be; `error` says what would be.
    pub fn malformed(&self, error: impl Display) {
        self.report(self.wrong(Code::Malformed, format!("`{}`: {error}", self.key)));
    }

    /// Reports a value of the wrong type.
    pub fn wrong_type(&self, allowed: &str) {
        self.report(self.type_problem(allowed));
    }

    /// A value of the wrong type.
    pub(super) fn type_problem(&self, allowed: &str) -> Problem {
        let found = match self.value {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with decimals",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.wrong(Code::WrongType, format!("`{}` is {found}", self.key)).allowed(allowed)
    }

    /// Whether it is a text.
    pub fn is_text(&self) -> bool {
        self.value.is_str()
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// Whether it is a whole number.
    pub fn is_whole(&self) -> bool {
        self.value.is_integer()
    }

    /// Whether it is a number with decimals.
    pub fn is_float(&self) -> bool {
        self.value.is_float()
    }

    /// A text that isn't empty.
    pub fn text(&self) -> Option<&'d str> {
        let Some(text) = self.value.as_str() else {
            self.wrong_type("a text");
            return None;
        };
        if text.trim().is_empty() || text.contains(char::is_control) {
            let message = format!("`{}` is empty or holds control characters", self.key);
            self.report(self.wrong(Code::OutOfRange, message).allowed("a text"));
            return None;
        }
        Some(text)
    }

    /// The parts of a list, at least one; a single value is a list of one.
    pub fn parts(&self) -> Vec<Self> {
        let Some(array) = self.value.as_array() else { return vec![*self] };
        if array.is_empty() {
            let message = format!("`{}` is an empty list", self.key);
            self.report(
                self.wrong(Code::OutOfRange, message)
                    .allowed("at least one value")
                    .help("leave the key out to say nothing"),
            );
        }
        let part = |value: &'d toml::Spanned<DeValue<'d>>| Self {
            key: self.key,
            place: self.sink.place(value.span()),
            value: value.get_ref(),
            sink: self.sink,
        };
        array.iter().map(part).collect()
    }

    /// A text or a list of texts.
    pub fn texts(&self) -> Vec<At<&'d str>> {
        let one = |part: Self| Some(At { value: part.text()?, place: part.place });
        self.parts().into_iter().filter_map(one).collect()
    }

    /// One of several words.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let allowed: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let Some(text) = self.value.as_str() else {
            self.wrong_type(&allowed.join(", "));
            return None;
        };
        if let Some((_, found)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*found);
        }
        let message = format!("`{}` can't be `{text}`", self.key);
        let problem = self.wrong(Code::UnknownWord, message).allowed(allowed.join(", "));
        self.report(super::table::with_nearest(problem, text, &allowed));
        None
    }

    /// A table of a shape; its unknown keys are reported.
    pub fn table(&self, shape: &'static Shape) -> Option<Table<'d>> {
        let Some(entries) = self.value.as_table() else {
            self.wrong_type("a table");
            return None;
        };
        Some(Table::open(entries, self.place, shape, self.sink))
    }

    /// A list of tables of a shape.
    pub fn tables(&self, shape: &'static Shape) -> Vec<Table<'d>> {
        if !self.value.is_array() {
            let problem = self.type_problem("a list of tables");
            self.report(problem.help(format!("write [[{}]] with two brackets", shape.name)));
            return Vec::new();
        }
        self.parts().into_iter().filter_map(|part| part.table(shape)).collect()
    }

    /// The entries of a table whose keys are free, in the order of the file.
    pub fn entries(&self) -> Vec<(At<&'d str>, Self)> {
        let Some(table) = self.value.as_table() else {
            self.wrong_type("a table");
            return Vec::new();
        };
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| {
                let text: &'d str = key.get_ref();
                let key = At { value: text, place: self.sink.place(key.span()) };
                let place = self.sink.place(value.span());
                (key, Self { key: text, place, value: value.get_ref(), sink: self.sink })
            })
            .collect();
        entries.sort_by_key(|(key, _)| key.place);
        entries
    }
}
