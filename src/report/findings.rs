//! What `check` found: one document, `shadowcap/check/1`.

use serde::Serialize;

/// The whole result.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document {
    /// `shadowcap/check/1`.
    pub(crate) schema: &'static str,
    /// The files, in the order given.
    pub(crate) files: Vec<File>,
    /// Findings of all of them that are errors.
    pub(crate) errors: u64,
    /// Findings that are warnings.
    pub(crate) warnings: u64,
    /// Findings that are notes.
    pub(crate) notes: u64,
    /// Whether none is at the denied level or above.
    pub(crate) pass: bool,
}

/// One file.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are the document's")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct File {
    /// Its name as given.
    pub(crate) file: String,
    /// `site` or `policy`.
    pub(crate) kind: &'static str,
    /// What was found, by line, column, code.
    pub(crate) findings: Vec<Finding>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Finding {
    /// A stable code: `F…` for what can't be used, `SC…` for what is questionable.
    pub(crate) code: &'static str,
    /// `error`, `warning` or `note`.
    pub(crate) severity: &'static str,
    /// Line, from 1.
    pub(crate) line: usize,
    /// Column in characters, from 1.
    pub(crate) column: usize,
    /// The limit it is about.
    pub(crate) limit: Option<String>,
    /// The requirement that it endangers.
    pub(crate) requirement: Option<String>,
    /// What was found.
    pub(crate) text: String,
    /// What is allowed, and what to do.
    pub(crate) help: Option<String>,
}
