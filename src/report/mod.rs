//! The report: one versioned document (`model`), built once (`build`), written in several forms.
//! Writers read the model and nothing else.

pub(crate) mod build;
pub(crate) mod json;
mod mask;
pub(crate) mod model;
mod number;
pub(crate) mod pseudonym;
#[cfg(test)]
mod schema;
pub(crate) mod terminal;
mod warning;
