//! Which requests a limit is asked about, as variables of nginx that are 1 or 0.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::super::pcre;
use super::keys::Keys;
use super::maps::{Maps, Row, Why, all_ones, found, quoted};
use super::routes;
use crate::site::Site;
use crate::site::key::{KeySpec, Source};
use crate::site::matching::{Match, TextCondition, TextField, TextPattern};

/// What conditions are made of.
#[derive(Debug, Clone)]
pub(super) struct Conditions<'s> {
    site: &'s Site,
    pub(super) keys: Keys<'s>,
    /// The variable that names the lists an address is in, once it is made.
    labels: Option<String>,
}

impl<'s> Conditions<'s> {
    pub(super) fn new(site: &'s Site, keys: Keys<'s>) -> Self {
        Self { site, keys, labels: None }
    }

    /// Variables of which all are 1 for the requests that are meant, and one is 0 for all others.
    ///
    /// # Errors
    /// When nginx can't tell them.
    pub(super) fn flags(&mut self, maps: &mut Maps, matching: &Match) -> Result<Vec<String>, Why> {
        let mut flags = Vec::new();
        if !matching.route.is_empty() {
            let route = self.keys.routes.variable(maps)?;
            let names = matching.route.iter().filter_map(|index| self.site.routes.get(*index));
            let names: Vec<String> =
                names.map(|route| pcre::literal(route.name.as_bytes())).collect();
            let row = (found(&format!(r"^(?:{})\z", names.join("|"))), "1".to_owned());
            flags.push(maps.map("is_route", &route, &[row], "0")?);
        }
        for condition in &matching.texts {
            flags.push(self.text(maps, condition)?);
        }
        for (labels, [inside, outside]) in
            [(&matching.label, ["1", "0"]), (&matching.not_label, ["0", "1"])]
        {
            if !labels.is_empty() {
                let variable = self.labels(maps)?;
                let numbers: Vec<String> = labels.iter().map(ToString::to_string).collect();
                let row = (found(&format!(":(?:{}):", numbers.join("|"))), inside.to_owned());
                flags.push(maps.map("has_label", &variable, &[row], outside)?);
            }
        }
        if let Some(wanted) = matching.logged_in {
            flags.push(self.logged_in(maps, wanted)?);
        }
        for (key, prefixes) in &matching.key_prefix {
            flags.push(self.key_prefix(maps, key, prefixes)?);
        }
        if !matching.key_country.is_empty() {
            return Err("nginx can't tell the country of a phone number".to_owned());
        }
        if !matching.status.is_empty() {
            return Err("nginx asks limits before there is a status".to_owned());
        }
        if let Some(not) = &matching.not {
            let inner = self.flags(maps, not)?;
            let row = (all_ones(inner.len()), "0".to_owned());
            flags.push(maps.map("is_not", &inner.concat(), &[row], "1")?);
        }
        flags.dedup();
        Ok(flags)
    }

    fn text(&mut self, maps: &mut Maps, condition: &TextCondition) -> Result<String, Why> {
        let (variable, sure) = match &condition.of {
            TextField::Method => ("$request_method".to_owned(), true),
            TextField::Host => (routes::host(maps)?, true),
            TextField::Path => ("$uri".to_owned(), true),
            // whoever sends no such header is meant by conditions on the empty text
            TextField::UserAgent => ("$http_user_agent".to_owned(), true),
            TextField::Field(name) => {
                let source =
                    Source::parse(name, 128).unwrap_or_else(|_| Source::Field(name.clone()));
                if matches!(source, Source::Address { .. }) {
                    return Err(
                        "nginx has no text of an address by its prefix: use a label".to_owned()
                    );
                }
                let value = self.keys.source(maps, &source)?;
                (value.text, value.sure)
            }
        };
        let mut rows: Vec<Row> = Vec::new();
        if !sure {
            rows.push((quoted(""), "0".to_owned()));
        }
        for pattern in &condition.any {
            let text = match pattern {
                TextPattern::Literal(text) => {
                    Some(format!(r"^{}\z", pcre::literal(text.as_bytes())))
                }
                TextPattern::Path { compiled, .. } => {
                    Some(format!(r"^{}\z", pcre::pattern(compiled, None)))
                }
                TextPattern::Glob { written, .. } => Some(pcre::glob(written)),
                TextPattern::Regex { compiled, .. } => pcre::regex(compiled.as_str(), None),
            };
            let Some(text) = text else {
                return Err(format!("nginx has no expression for `{}`", pattern.written()));
            };
            rows.push((found(&text), "1".to_owned()));
        }
        maps.map("is_text", &variable, &rows, "0")
    }

    /// The variable that holds the numbers of the lists in which the client's longest prefix is: `:0:2:`.
    fn labels(&mut self, maps: &mut Maps) -> Result<String, Why> {
        if let Some(why) = &self.keys.unknown_client {
            return Err(why.clone());
        }
        if let Some(made) = &self.labels {
            return Ok(made.clone());
        }
        let mut lists: BTreeMap<IpNet, Vec<usize>> = BTreeMap::new();
        for (number, label) in self.site.labels.iter().enumerate() {
            maps.comment(&format!("Address list {number}: {}", label.name));
            for range in &label.ranges {
                let numbers = lists.entry(range.trunc()).or_default();
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
        }
        let rows: Vec<Row> = lists
            .into_iter()
            .map(|(range, numbers)| {
                let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                (range.to_string(), format!(":{}:", numbers.join(":")))
            })
            .collect();
        let made = maps.geo("labels", &rows);
        self.labels = Some(made.clone());
        Ok(made)
    }

    fn logged_in(&mut self, maps: &mut Maps, wanted: bool) -> Result<String, Why> {
        let flag = self.has_all(maps, "user")?;
        self.keys.remarks.push(
            "nginx takes for logged in whoever sends the key `user`: a made-up one will do"
                .to_owned(),
        );
        if wanted {
            return Ok(flag);
        }
        maps.map("logged_out", &flag, &[("1".to_owned(), "0".to_owned())], "1")
    }

    /// Whether a request has a key.
    fn has_all(&mut self, maps: &mut Maps, key: &str) -> Result<String, Why> {
        let values = self.keys.spec(maps, &self.spec(key))?;
        let unsure = values.iter().filter(|value| !value.sure);
        let flags: Vec<String> =
            unsure.map(|value| maps.present(&value.text)).collect::<Result<_, _>>()?;
        maps.all("has_key", &flags)
    }

    fn spec(&self, key: &str) -> KeySpec {
        let known = self.site.keys.iter().find(|spec| spec.name == key);
        known.cloned().unwrap_or_else(|| match key {
            "ip" => KeySpec::ip(64),
            _ => KeySpec::user(),
        })
    }

    fn key_prefix(
        &mut self,
        maps: &mut Maps,
        key: &str,
        prefixes: &[String],
    ) -> Result<String, Why> {
        let spec = self.spec(key);
        if spec.parts.iter().flatten().any(|source| matches!(source, Source::Address { .. })) {
            return Err("nginx has no text of an address by its prefix: use a label".to_owned());
        }
        let values = self.keys.spec(maps, &spec)?;
        let [value] = values.as_slice() else {
            return Err(format!("the key `{key}` is made of several parts"));
        };
        // a missing key begins with nothing
        let mut rows = vec![(quoted(""), "0".to_owned())];
        for prefix in prefixes {
            rows.push((found(&format!("^{}", pcre::literal(prefix.as_bytes()))), "1".to_owned()));
        }
        maps.map("begins", &value.text, &rows, "0")
    }
}
