//! The report: one versioned document (`model`), built once (`build`), written in several forms.
//! Writers read the model and nothing else.

pub(crate) mod build;
pub(crate) mod calibration;
mod cost_model;
pub(crate) mod costs;
mod curve_model;
pub(crate) mod curves;
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
mod recommendation_model;
pub(crate) mod recommendations;
pub(crate) mod requirement_model;
pub(crate) mod requirements;
#[cfg(test)]
mod schema;
pub(crate) mod site_draft;
pub(crate) mod terminal;
pub(crate) mod terminal_costs;
mod terminal_curves;
mod terminal_notes;
mod terminal_policies;
mod terminal_recommendations;
mod terminal_requirements;
mod warning;
