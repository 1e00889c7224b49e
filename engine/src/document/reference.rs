//! A reference of every key, in Markdown, out of the field tables: for people what schemas are for
//! editors.

use std::fmt::Write;

use super::shape::{Field, Kind, Need, Shape};

/// The reference of a file with this shape: a section for each kind of table, its keys in a table.
pub fn reference(root: &'static Shape, title: &str) -> String {
    let mut sections: Vec<(&'static Shape, String)> = Vec::new();
    gather(root, "", &mut sections);
    let mut out = format!("## {title}\n");
    for (shape, path) in &sections {
        if !path.is_empty() {
            let _ = write!(out, "\n### `{path}`\n");
        }
        let _ = write!(
            out,
            "\n{}\n\n| key | what it is | value | else |\n|---|---|---|---|\n",
            shape.doc
        );
        for field in shape.fields {
            let _ = writeln!(out, "{}", row(field));
        }
    }
    out
}

/// Every shape once, with where it stands: `[[limit]]`, `[input]`, `match`.
fn gather(shape: &'static Shape, path: &str, sections: &mut Vec<(&'static Shape, String)>) {
    if sections.iter().any(|(known, _)| known.name == shape.name) {
        return;
    }
    sections.push((shape, path.to_owned()));
    let inside = path.trim_matches(['[', ']']).to_owned();
    for field in shape.fields {
        let name = if inside.is_empty() {
            field.key.to_owned()
        } else {
            format!("{inside}.{}", field.key)
        };
        gather_kind(&field.kind, &name, sections);
    }
}

fn gather_kind(kind: &'static Kind, name: &str, sections: &mut Vec<(&'static Shape, String)>) {
    match kind {
        Kind::Table(shape) => gather(shape, &format!("[{name}]"), sections),
        Kind::Tables(shape) => gather(shape, &format!("[[{name}]]"), sections),
        Kind::Map(kind) => gather_kind(kind, &format!("{name}.NAME"), sections),
        Kind::Either(kinds) => kinds.iter().for_each(|kind| gather_kind(kind, name, sections)),
        _ => {}
    }
}

fn row(field: &Field) -> String {
    let need = match field.need {
        Need::Required => "required".to_owned(),
        Need::Optional => String::new(),
        Need::Default(text) => format!("`{text}`"),
    };
    let only = if field.algorithms.is_empty() {
        String::new()
    } else {
        format!(" Only for {}.", field.algorithms.join(", "))
    };
    let doc = format!("{}{only}", field.doc).replace('|', "\\|");
    format!("| `{}` | {doc} | {} | {need} |", field.key, value(&field.kind).replace('|', "\\|"))
}

fn value(kind: &Kind) -> String {
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Texts => "text, or a list of texts".to_owned(),
        Kind::Whole(from, to) if *to >= super::value::MOST => format!("whole number from {from}"),
        Kind::Whole(from, to) => format!("whole number, {from} to {to}"),
        Kind::Flag => "`true`, `false`".to_owned(),
        Kind::Span => "length of time: `\"10m\"`".to_owned(),
        Kind::SpanOrZero => "length of time, or `\"0s\"`".to_owned(),
        Kind::Spans => "lengths of time".to_owned(),
        Kind::Rate => "rate: `\"8r/m\"`, `\"60/m\"`".to_owned(),
        Kind::Instant => "date, or date and time with offset".to_owned(),
        Kind::Money => "money: `\"0.25\"`".to_owned(),
        Kind::Number(places) => format!("number, at most {places} decimals"),
        Kind::Word(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Statuses => "status, `\"2xx\"`, or a list".to_owned(),
        Kind::TimesOfDay => "`[\"19:00\", \"22:00\"]`".to_owned(),
        Kind::Table(_) => "table, below".to_owned(),
        Kind::Tables(_) => "tables, below".to_owned(),
        Kind::Map(kind) => format!("table: name = {}", value(kind)),
        Kind::Either(kinds) => kinds.iter().map(value).collect::<Vec<_>>().join("; or "),
    }
}
