//! Keeps `schemas/report.schema.json` equal to the model. Run with `SHADOWCAP_BLESS=1` to rewrite it.

use std::fs;
use std::path::Path;

use schemars::generate::SchemaSettings;

use super::model::Report;

#[test]
fn the_published_schema_is_that_of_the_model() {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.into_root_schema_for::<Report>();
    let current = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/report.schema.json");
    if std::env::var_os("SHADOWCAP_BLESS").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(published == current, "run SHADOWCAP_BLESS=1 cargo test --release schema");
}
