//! The one way to say which requests are meant: `match`, the same in limits, cohorts, actions,
//! duplicates and routes' exceptions.

use std::collections::BTreeMap;

use regex::bytes::Regex;

use super::pattern::Pattern;

/// Which requests are meant: all conditions together; each list is "any of". Without conditions: all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Match {
    /// Indices of [`super::Site::routes`].
    pub route: Vec<usize>,
    /// Conditions on the text of the request, each answered while the log is read.
    pub texts: Vec<TextCondition>,
    /// Indices of [`super::Site::labels`]: the client's address is in one of them.
    pub label: Vec<usize>,
    /// Indices of [`super::Site::labels`]: the client's address is in none of them.
    pub not_label: Vec<usize>,
    /// Whether the key `user` is present.
    pub logged_in: Option<bool>,
    /// Key name → its text begins with one of these.
    pub key_prefix: BTreeMap<String, Vec<String>>,
    /// Key name → the country of the phone number in it (ISO 3166-1, two letters) is one of these.
    pub key_country: BTreeMap<String, Vec<String>>,
    /// The response's status: never in a limit's match.
    pub status: Vec<StatusRange>,
    /// None of what this matches.
    pub not: Option<Box<Self>>,
}

impl Match {
    /// Whether it matches every request.
    pub fn is_all(&self) -> bool {
        self.route.is_empty()
            && self.texts.is_empty()
            && self.label.is_empty()
            && self.not_label.is_empty()
            && self.logged_in.is_none()
            && self.key_prefix.is_empty()
            && self.key_country.is_empty()
            && self.status.is_empty()
            && self.not.is_none()
    }

    /// Whether it asks for the status of the response.
    pub fn looks_at_status(&self) -> bool {
        !self.status.is_empty() || self.not.as_ref().is_some_and(|not| not.looks_at_status())
    }

    /// Every condition on text, those of `not` too, in a fixed order.
    pub fn text_conditions(&self) -> Vec<&TextCondition> {
        let mut all: Vec<&TextCondition> = self.texts.iter().collect();
        if let Some(not) = &self.not {
            all.extend(not.text_conditions());
        }
        all
    }
}

/// A condition on a text of the request: one of the values fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextCondition {
    /// Which text.
    pub of: TextField,
    /// What fits; any of them.
    pub any: Vec<TextPattern>,
}

/// A text of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextField {
    /// The method.
    Method,
    /// The virtual host, without its port, in small letters.
    Host,
    /// The normalised path.
    Path,
    /// The `User-Agent` header; missing is the empty text.
    UserAgent,
    /// Any field of the log.
    Field(String),
}

/// What a text is held against.
#[derive(Debug, Clone)]
pub enum TextPattern {
    /// The whole text.
    Literal(String),
    /// `*` stands for any run of characters.
    Glob {
        /// As written.
        written: String,
        /// Compiled, anchored.
        compiled: Regex,
    },
    /// A regular expression that is found somewhere in the text.
    Regex {
        /// As written, without `regex:`.
        written: String,
        /// Compiled.
        compiled: Regex,
    },
    /// A path pattern with `{name}`, `*` and `**`.
    Path {
        /// As written.
        written: String,
        /// Compiled.
        compiled: Pattern,
    },
}

impl TextPattern {
    /// As the user wrote it.
    pub fn written(&self) -> &str {
        match self {
            Self::Literal(written)
            | Self::Glob { written, .. }
            | Self::Regex { written, .. }
            | Self::Path { written, .. } => written,
        }
    }

    /// Whether a text fits.
    pub fn fits(&self, text: &[u8]) -> bool {
        match self {
            Self::Literal(literal) => literal.as_bytes() == text,
            Self::Glob { compiled, .. } | Self::Regex { compiled, .. } => compiled.is_match(text),
            Self::Path { compiled, .. } => compiled.matches(text),
        }
    }
}

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.written() == other.written()
    }
}

impl Eq for TextPattern {}

impl TextCondition {
    /// Whether one of the values fits.
    pub fn fits(&self, text: &[u8]) -> bool {
        self.any.iter().any(|pattern| pattern.fits(text))
    }
}

/// A status, or a class of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusRange {
    /// First, such as 200.
    pub first: u16,
    /// Last, such as 299.
    pub last: u16,
}

impl StatusRange {
    /// Whether a status is in the range.
    pub fn contains(self, status: u16) -> bool {
        (self.first..=self.last).contains(&status)
    }
}
