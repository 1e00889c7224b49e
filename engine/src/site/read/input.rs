//! `[input]`: how the logs read.

use std::collections::BTreeMap;

use super::{Reading, lists};
use crate::document::{Code, Field, Item, Table};
use crate::site::facts::{ClientIp, InputFacts};
use crate::site::labels;

/// The names of formats and of their families.
pub(super) const FORMATS: &[&str] = &[
    "auto",
    "nginx",
    "apache",
    "nginx-combined",
    "nginx-custom",
    "nginx-json",
    "apache-common",
    "apache-combined",
    "apache-vhost-combined",
    "apache-custom",
    "alb",
    "elb-classic",
    "jsonl",
    "csv",
    "parquet",
];

impl Reading<'_> {
    pub(super) fn input(&self) -> InputFacts {
        let Some(table) = self.root.table("input") else { return InputFacts::default() };
        let words: Vec<(&str, &str)> = FORMATS.iter().map(|name| (*name, *name)).collect();
        let mut fields = BTreeMap::new();
        for (name, item) in table.entries("fields") {
            if let Some(column) = item.text() {
                fields.insert(name.value.to_owned(), column.to_owned());
            }
        }
        InputFacts {
            format: table.word("format", &words).map(str::to_owned),
            log_format: table.get("log_format").and_then(|item| self.log_format(&table, &item)),
            client_ip: table.table("client_ip").map(|table| client_ip(&table)),
            fields,
        }
    }

    fn log_format(&self, table: &Table<'_>, item: &Item<'_>) -> Option<String> {
        if item.is_text() {
            return item.text().map(str::to_owned);
        }
        if !item.is_table() {
            item.wrong_type("a format string, or { nginx_conf = \"FILE\", name = \"NAME\" }");
            return None;
        }
        let table = item.table(table.shape.field("log_format").and_then(Field::table)?)?;
        let file = table.get("nginx_conf")?;
        lists::content(&file, self.files)?;
        let path = self.files.path(file.text()?);
        Some(match table.text("name") {
            Some(name) => format!("@{path}:{name}"),
            None => format!("@{path}"),
        })
    }
}

fn client_ip(table: &Table<'_>) -> ClientIp {
    let mut trusted = Vec::new();
    for part in table.get("trusted").map(|item| item.parts()).unwrap_or_default() {
        let Some(text) = part.text() else { continue };
        if let Some(range) = labels::parse_range(text) {
            trusted.push(range);
        } else {
            let problem = part.wrong(Code::Malformed, format!("`{text}` is no address range"));
            part.report(problem.allowed("an address or a range, as in 10.0.0.0/8"));
        }
    }
    let hop = table.whole("hop").and_then(|hop| u8::try_from(hop).ok());
    match (table.has("trusted"), table.has("hop")) {
        (true, true) => {
            let help = "name the proxies, or count from the right";
            table.contradicts("hop", "`hop` and `trusted` can't stand together", help);
        }
        (false, false) => table.missing("trusted", "name the proxies, or give hop = 1"),
        _ => {}
    }
    if table.has("hop") && table.has("recursive") {
        let help = "it looks past trusted proxies";
        table.contradicts("recursive", "`recursive` needs `trusted`", help);
    }
    let from = table.text("from").unwrap_or_default().to_owned();
    let recursive = table.flag("recursive").unwrap_or_default();
    ClientIp { from, trusted, recursive, hop }
}
