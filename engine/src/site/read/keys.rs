//! `[keys]`: what clients are told apart by.

use super::Reading;
use crate::document::{Code, Item, Problem, Table, nearest};
use crate::site::key::{KeyError, KeySpec, Normalise};
use crate::site::phone;

/// By how many leading bits `ip` groups IPv6 in a key.
const IPV6_PREFIX: u8 = 64;

impl Reading<'_> {
    pub(super) fn keys(&mut self) -> Vec<KeySpec> {
        let captures = self.captures();
        let mut keys = Vec::new();
        for (name, table) in self.root.named("keys") {
            let normalise = normalise(&table);
            if let Some(Normalise::Phone { region }) = &normalise {
                self.phones.insert(name.value.to_owned(), region.clone());
            }
            let Some(from) = table.get("from") else { continue };
            let sources: Vec<String> =
                from.parts().iter().filter_map(|part| source(part, &captures)).collect();
            if sources.is_empty() {
                continue;
            }
            match KeySpec::new(name.value, &sources, normalise, IPV6_PREFIX) {
                Ok(key) => keys.push(key),
                Err(error @ KeyError::Name(_)) => {
                    table.report(Problem::new(Code::Malformed, name.place, error.to_string()));
                }
                Err(error) => from.malformed(error),
            }
        }
        keys
    }

    /// The names of all placeholders of all routes.
    fn captures(&self) -> Vec<String> {
        let mut names = Vec::new();
        for route in self.root.tables("route") {
            for item in ["path", "regex"].iter().filter_map(|key| route.peek(key)) {
                let text = if item.is_text() { item.text().unwrap_or_default() } else { "" };
                let (open, close) = if item.key == "path" { ('{', '}') } else { ('<', '>') };
                let parts = text.split(open).skip(1);
                names.extend(parts.filter_map(|part| Some(part.split_once(close)?.0.to_owned())));
            }
        }
        names
    }
}

fn source(part: &Item<'_>, captures: &[String]) -> Option<String> {
    let text = part.text()?;
    if text.contains(['|', '+', '=']) {
        let message = format!("`{text}` is more than one field");
        let problem = part.wrong(Code::Malformed, message);
        part.report(problem.allowed("one field, such as cookie:uid").help(
            "of a list the first that is present counts; a limit can have several keys together",
        ));
        return None;
    }
    if let Some(name) = text.strip_prefix("path:")
        && !captures.iter().any(|known| known == name)
    {
        let message = format!("no route has `{{{name}}}` in its path");
        let problem = part.wrong(Code::UnknownName, message);
        let known: Vec<&str> = captures.iter().map(String::as_str).collect();
        part.report(match nearest(name, &known) {
            Some(near) => problem.help(format!("did you mean `path:{near}`?")),
            None => problem.help(format!("write {{{name}}} in the path of a [[route]]")),
        });
        return None;
    }
    Some(text.to_owned())
}

fn normalise(table: &Table<'_>) -> Option<Normalise> {
    let chosen = table.word("normalise", &[("phone", ())]);
    let item = table.get("region");
    let region = item.and_then(|item| region(&item));
    if chosen.is_none() && table.has("region") && !table.has("normalise") {
        let help = "a region is the country of phone numbers: add normalise = \"phone\"";
        table.contradicts("region", "`region` needs `normalise`", help);
    }
    chosen.map(|()| Normalise::Phone { region })
}

fn region(item: &Item<'_>) -> Option<String> {
    let text = item.text()?;
    if phone::is_region(text) {
        return Some(text.to_owned());
    }
    let problem = item.wrong(Code::Malformed, format!("`{text}` is no country"));
    item.report(problem.allowed("two capital letters of ISO 3166, as in IN"));
    None
}
