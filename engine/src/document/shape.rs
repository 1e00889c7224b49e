//! Field tables: which keys a table may have, of what type, with what default, and what they mean. The
//! reader and the JSON Schemas come from the same tables.

/// The keys of one kind of table.
#[derive(Debug)]
pub struct Shape {
    /// What names it in schemas: letters and `-`.
    pub name: &'static str,
    /// What it is, for schemas.
    pub doc: &'static str,
    /// Its keys, in the order in which they are listed.
    pub fields: &'static [Field],
}

/// One key of a table.
#[derive(Debug)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// Whether it has to be there.
    pub need: Need,
    /// What it means.
    pub doc: &'static str,
    /// The algorithms it is for; empty for all.
    pub algorithms: &'static [&'static str],
}

/// Whether a key has to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It has to.
    Required,
    /// It may be left out, and then nothing is said.
    Optional,
    /// It may be left out, and then it is this, written as in TOML without quotes.
    Default(&'static str),
}

/// What a value is.
#[derive(Debug)]
pub enum Kind {
    /// A text.
    Text,
    /// A text, or a list of them.
    Texts,
    /// A whole number from … to.
    Whole(u64, u64),
    /// `true` or `false`.
    Flag,
    /// A length of time, from 1 us.
    Span,
    /// A length of time, or `0s`.
    SpanOrZero,
    /// Lengths of time.
    Spans,
    /// So many per so long.
    Rate,
    /// A date with time and offset, or a date.
    Instant,
    /// Money: a text or a whole number, never a float.
    Money,
    /// A number with at most so many decimals.
    Number(u32),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A status, a class of them as in `"2xx"`, or a list of these.
    Statuses,
    /// Two times of day.
    TimesOfDay,
    /// A table.
    Table(&'static Shape),
    /// A list of tables.
    Tables(&'static Shape),
    /// A table whose keys are free, and whose values are all alike.
    Map(&'static Self),
    /// One of several kinds.
    Either(&'static [Self]),
}

impl Shape {
    /// The field of a key.
    pub fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}

impl Field {
    /// A key that has to be there.
    pub const fn required(key: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self { key, kind, need: Need::Required, doc, algorithms: &[] }
    }

    /// A key that may be left out.
    pub const fn optional(key: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self { key, kind, need: Need::Optional, doc, algorithms: &[] }
    }

    /// A key that may be left out and then has a value all the same.
    pub const fn default(
        key: &'static str,
        kind: Kind,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self { key, kind, need: Need::Default(default), doc, algorithms: &[] }
    }

    /// The shape of its table, if it is one, or may be one.
    pub fn table(&self) -> Option<&'static Shape> {
        let shape = |kind: &Kind| match kind {
            Kind::Table(shape) => Some(*shape),
            _ => None,
        };
        match &self.kind {
            Kind::Either(kinds) => kinds.iter().find_map(shape),
            kind => shape(kind),
        }
    }

    /// The same, for some algorithms alone.
    #[must_use]
    pub const fn of(self, algorithms: &'static [&'static str]) -> Self {
        let Self { key, kind, need, doc, .. } = self;
        Self { key, kind, need, doc, algorithms }
    }
}
