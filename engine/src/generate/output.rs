//! Reads how lines look: format strings, and the forms that have one of their own.

use super::line::{Form, Output, Piece};
use super::read::parsed;
use super::text::{Part, Text};
use crate::document::{Code, Table};

/// Lines of nginx as they come.
const COMBINED: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\"";
/// Lines of an AWS application load balancer.
const ALB: &str = "http $end app/shop/0123456789abcdef $client:$port 10.0.0.9:8080 0.000 $seconds 0.000 $status $status 500 $bytes \"$method http://shop.example:80$path HTTP/1.1\" \"$agent\" - - arn:aws:elasticloadbalancing:ap-south-1:123456789012:targetgroup/shop/0123456789abcdef \"Root=1-00000000-$random\" \"-\" \"-\" 0 $time \"forward\" \"-\" \"-\" \"10.0.0.9:8080\" \"$status\" \"-\" \"-\"";
/// Variables of nginx that are named otherwise here.
const VARIABLES: [(&str, &str); 12] = [
    ("remote_addr", "{peer}"),
    ("remote_user", ""),
    ("request", "{method} {path} HTTP/1.1"),
    ("request_method", "{method}"),
    ("request_uri", "{path}"),
    ("uri", "{path}"),
    ("body_bytes_sent", "{bytes}"),
    ("http_referer", ""),
    ("http_user_agent", "{agent}"),
    ("http_x_forwarded_for", "{forwarded}"),
    ("request_time", "{seconds}"),
    ("time_iso8601", "{end}"),
];

/// Reads an `[[output]]`.
pub(super) fn output(table: &Table<'_>) -> Output {
    let fields = table.entries("fields").into_iter();
    let fields = fields.filter_map(|(name, item)| Some((name.value.to_owned(), parsed(&item)?)));
    let fields: Vec<(String, Text)> = fields.collect();
    let words = [("nginx", 0), ("combined", 1), ("alb", 2), ("jsonl", 3), ("csv", 4)];
    let word = table.word("format", &words);
    if fields.is_empty() && matches!(word, Some(3 | 4)) {
        table.missing("fields", "say which fields a line has");
    }
    let form = match word {
        Some(3) => Form::Json(fields),
        Some(4) => Form::Csv(fields),
        Some(2) => Form::Log(pieces(ALB, &[]).unwrap_or_default()),
        Some(0) => {
            let read = table.text("log_format").map(|text| pieces(text, &fields));
            if read.is_none() {
                table.missing("log_format", "as in nginx.conf");
            }
            Form::Log(match (read, table.peek("log_format")) {
                (Some(Err(name)), Some(item)) => {
                    let problem = item.wrong(Code::UnknownName, format!("`${name}` has no value"));
                    item.report(
                        problem.help(format!("give it one: fields = {{ {name} = \"…\" }}")),
                    );
                    Vec::new()
                }
                (Some(Ok(pieces)), _) => pieces,
                _ => Vec::new(),
            })
        }
        _ => Form::Log(pieces(COMBINED, &fields).unwrap_or_default()),
    };
    Output { file: file_name(table), form, peer: table.get("peer").and_then(|item| parsed(&item)) }
}

/// A name of a file in the folder that is written to, and nowhere else.
fn file_name(table: &Table<'_>) -> String {
    let name = table.text("file").unwrap_or_default();
    let plain = |name: &str| {
        !name.is_empty()
            && !name.starts_with('.')
            && name != "truth.jsonl"
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    if let Some(item) = table.peek("file").filter(|_| !plain(name)) {
        item.malformed(format!(
            "`{name}`: write letters, digits, `-`, `_` and `.` alone, and not truth.jsonl"
        ));
    }
    name.to_owned()
}

/// A format string with `$variables`.
fn pieces(text: &str, fields: &[(String, Text)]) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        if !before.is_empty() {
            pieces.push(Piece::Literal(before.as_bytes().to_vec()));
        }
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, after) = match after.strip_prefix('{').and_then(|a| a.split_once('}')) {
            Some(found) => found,
            None => after.split_at(after.find(|c| !word(c)).unwrap_or(after.len())),
        };
        pieces.push(Piece::Variable(variable(name, fields).ok_or_else(|| name.to_owned())?));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Literal(rest.as_bytes().to_vec()));
    }
    Ok(pieces)
}

fn variable(name: &str, fields: &[(String, Text)]) -> Option<Text> {
    if let Some((_, text)) = fields.iter().find(|(known, _)| known == name) {
        return Some(text.clone());
    }
    if let Some((_, text)) = VARIABLES.iter().find(|(known, _)| *known == name) {
        return Text::parse(text).ok();
    }
    let known = !name.contains(['-', ':', '+']);
    super::text::place(name).filter(|_| known).map(|part: Part| Text(vec![part]))
}
