//! The report as `report.json`.

use super::model::Report;

/// The document, indented, with a line end.
pub(crate) fn write(report: &Report) -> Vec<u8> {
    let mut out = serde_json::to_vec_pretty(report).unwrap_or_default();
    out.push(b'\n');
    out
}
