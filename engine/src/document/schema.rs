//! JSON Schemas (draft 2020-12) out of field tables, for editors. They say types, words, ranges and
//! defaults; what depends on several keys together only the reader knows.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::shape::{Field, Kind, Need, Shape};
use super::value::MOST;

/// The schema of a file with this shape, as text with a line end.
pub fn schema(root: &'static Shape, title: &str) -> String {
    let mut shapes = BTreeMap::new();
    gather(root, &mut shapes);
    let definitions: Map<String, Value> = shapes
        .values()
        .filter(|shape| shape.name != root.name)
        .map(|shape| (shape.name.to_owned(), of_shape(shape)))
        .collect();
    let mut whole = of_shape(root);
    if let Value::Object(object) = &mut whole {
        object.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        object.insert("title".to_owned(), json!(title));
        object.insert("$defs".to_owned(), Value::Object(definitions));
    }
    format!("{whole:#}\n")
}

fn gather(shape: &'static Shape, shapes: &mut BTreeMap<&'static str, &'static Shape>) {
    if shapes.insert(shape.name, shape).is_some() {
        return;
    }
    for field in shape.fields {
        gather_kind(&field.kind, shapes);
    }
}

fn gather_kind(kind: &'static Kind, shapes: &mut BTreeMap<&'static str, &'static Shape>) {
    match kind {
        Kind::Table(shape) | Kind::Tables(shape) => gather(shape, shapes),
        Kind::Map(kind) => gather_kind(kind, shapes),
        Kind::Either(kinds) => kinds.iter().for_each(|kind| gather_kind(kind, shapes)),
        _ => {}
    }
}

fn of_shape(shape: &Shape) -> Value {
    let properties: Map<String, Value> =
        shape.fields.iter().map(|field| (field.key.to_owned(), of_field(field))).collect();
    let required: Vec<&str> = shape
        .fields
        .iter()
        .filter(|field| field.need == Need::Required && field.algorithms.is_empty())
        .map(|field| field.key)
        .collect();
    let mut object = json!({
        "type": "object",
        "description": shape.doc,
        "additionalProperties": false,
        "properties": properties,
    });
    if let (Value::Object(object), false) = (&mut object, required.is_empty()) {
        object.insert("required".to_owned(), json!(required));
    }
    object
}

fn of_field(field: &Field) -> Value {
    let mut value = of_kind(&field.kind);
    if let Value::Object(object) = &mut value {
        let for_whom = match field.algorithms {
            [] => String::new(),
            algorithms => format!(" For {}.", algorithms.join(", ")),
        };
        object.insert("description".to_owned(), json!(format!("{}{for_whom}", field.doc)));
        if let Need::Default(default) = field.need {
            let plain: Option<Value> =
                serde_json::from_str(default).ok().filter(|value: &Value| !value.is_string());
            object.insert("default".to_owned(), plain.unwrap_or_else(|| json!(default)));
        }
    }
    value
}

fn one_or_list(one: &Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }] })
}

fn reference(shape: &Shape) -> Value {
    json!({ "$ref": format!("#/$defs/{}", shape.name) })
}

fn of_kind(kind: &Kind) -> Value {
    let text = json!({ "type": "string", "minLength": 1 });
    let span = json!({ "type": "string", "pattern": "^[0-9]+(us|ms|s|m|h|d)$" });
    match kind {
        Kind::Text => text,
        Kind::Texts => one_or_list(&text),
        Kind::Whole(least, most) if *most >= MOST => json!({ "type": "integer", "minimum": least }),
        Kind::Whole(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Span | Kind::SpanOrZero => span,
        Kind::Spans => one_or_list(&span),
        Kind::Rate => json!({ "type": "string", "pattern": "^[0-9]+r?/[smhd]$" }),
        // editors show TOML dates as texts
        Kind::Instant => json!({ "type": "string" }),
        Kind::Money => json!({ "anyOf": [
            { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?$" },
            { "type": "integer", "minimum": 0 },
        ] }),
        Kind::Number(_) => json!({ "anyOf": [
            { "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?$" },
            { "type": "number", "minimum": 0 },
        ] }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Statuses => one_or_list(&json!({ "anyOf": [
            { "type": "integer", "minimum": 100, "maximum": 599 },
            { "type": "string", "pattern": "^[1-5]xx$" },
        ] })),
        Kind::TimesOfDay => json!({
            "type": "array", "minItems": 2, "maxItems": 2,
            "items": { "type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$" },
        }),
        Kind::Table(shape) => reference(shape),
        Kind::Tables(shape) => {
            json!({ "type": "array", "minItems": 1, "items": reference(shape) })
        }
        Kind::Map(kind) => json!({ "type": "object", "additionalProperties": of_kind(kind) }),
        Kind::Either(kinds) => {
            json!({ "anyOf": kinds.iter().map(of_kind).collect::<Vec<_>>() })
        }
    }
}
