//! The report: one versioned document (`model`), built once (`build`), written in several forms.
//! Writers read the model and nothing else.

pub(crate) mod build;
pub(crate) mod calibration;
pub(crate) mod explanation;
pub(crate) mod explanation_text;
pub(crate) mod findings;
pub(crate) mod json;
mod limit_words;
mod mask;
pub(crate) mod metric_list;
pub(crate) mod model;
mod number;
pub(crate) mod policies;
pub(crate) mod policy_model;
mod policy_warnings;
pub(crate) mod pseudonym;
#[cfg(test)]
mod schema;
pub(crate) mod site_draft;
pub(crate) mod terminal;
mod terminal_notes;
mod terminal_policies;
mod warning;
