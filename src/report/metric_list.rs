//! The metrics that requirements may name: one document, `shadowcap/metrics/1`, and a table.

use serde::Serialize;
use shadowcap_engine::metric;

use super::terminal::Look;

/// The list.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Document {
    /// `shadowcap/metrics/1`.
    pub(crate) schema: &'static str,
    /// The metrics, in a fixed order.
    pub(crate) metrics: Vec<Metric>,
}

/// One metric.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Metric {
    /// As a requirement names it.
    pub(crate) name: String,
    /// What its values count.
    pub(crate) unit: &'static str,
    /// What it means.
    pub(crate) about: &'static str,
}

/// Builds the list.
pub(crate) fn build(metrics: Vec<metric::Metric>) -> Document {
    let shown = |metric: metric::Metric| {
        let metric::Metric { name, unit, about } = metric;
        Metric { name, unit, about }
    };
    Document { schema: "shadowcap/metrics/1", metrics: metrics.into_iter().map(shown).collect() }
}

/// Writes the table.
pub(crate) fn write(document: &Document, look: Look) -> String {
    let mut table = look.left_table(&["metric", "unit", "what it is"]);
    for metric in &document.metrics {
        table.add_row([metric.name.as_str(), metric.unit, metric.about]);
    }
    format!("{table}\n")
}
