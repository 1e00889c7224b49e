//! Keeps `schemas/*.schema.json` equal to the documents. Run with `SHADOWCAP_BLESS=1` to rewrite them.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

use super::{calibration, explanation, findings, metric_list, model};

fn check<T: JsonSchema>(name: &str) {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = generator.into_root_schema_for::<T>();
    let current = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let path = folder.join(format!("{name}.schema.json"));
    if std::env::var_os("SHADOWCAP_BLESS").is_some() {
        fs::write(&path, &current).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(published == current, "{name}: run SHADOWCAP_BLESS=1 cargo test --release schema");
}

#[test]
fn the_published_schemas_are_those_of_the_documents() {
    check::<model::Report>("report");
    check::<calibration::Document>("calibration");
    check::<explanation::Document>("explanation");
    check::<findings::Document>("check");
    check::<metric_list::Document>("metrics");
}
