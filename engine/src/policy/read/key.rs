//! What a limit tells clients apart by.

use super::limit::Reading;
use crate::document::{Code, Item, Table};
use crate::policy::{KeyPart, LimitKey};
use crate::site::key::{KeySpec, Source};
use crate::site::read::make;
use crate::site::read::names::Of;

/// By how many leading bits IPv6 is grouped where nothing is said.
const IPV6_PREFIX: u8 = 64;

/// Reads `key` and `ipv6_prefix`.
pub(super) fn limit_key(reading: &Reading<'_>, table: &Table<'_>) -> LimitKey {
    let prefix = table.whole("ipv6_prefix").and_then(|bits| u8::try_from(bits).ok());
    let prefix = prefix.unwrap_or(IPV6_PREFIX);
    let mut names: Vec<String> = Vec::new();
    let mut parts = Vec::new();
    let mut groups_ipv6 = false;
    for item in table.get("key").map(|item| item.parts()).unwrap_or_default() {
        let Some(name) = item.text() else { continue };
        if names.iter().any(|known| known == name) {
            let problem = item.wrong(Code::DefinedTwice, format!("`{name}` stands twice in `key`"));
            item.report(problem);
            continue;
        }
        names.push(name.to_owned());
        if name == "global" {
            continue;
        }
        if name == "route" {
            parts.push(KeyPart::Route);
            continue;
        }
        let address = name == "ip" || name.starts_with("ip/");
        let key =
            if address { address_key(&item, name, prefix) } else { named(reading, &item, name) };
        // ip/128 says itself how IPv6 is grouped
        groups_ipv6 |= key
            .as_ref()
            .and_then(KeySpec::address_prefix)
            .is_some_and(|(v4, v6)| address && (name == "ip" || v4 < 32 || v6 == prefix));
        parts.extend(key.map(KeyPart::Key));
    }
    if table.has("ipv6_prefix") && !groups_ipv6 && !names.is_empty() {
        let help = "it says how `ip` groups IPv6";
        table.contradicts("ipv6_prefix", "`ipv6_prefix` needs the key `ip`", help);
    }
    LimitKey { name: names.join("+"), parts }
}

/// A key of the address. Its name tells how both families are cut, so that equal names are equal keys.
fn address_key(item: &Item<'_>, written: &str, prefix: u8) -> Option<KeySpec> {
    let parsed = KeySpec::new("key", &[written.to_owned()], None, prefix);
    let key = parsed.map_err(|error| item.malformed(error)).ok()?;
    let (v4, v6) = key.address_prefix()?;
    let name = match (v4, v6) {
        (32, IPV6_PREFIX) => "ip".to_owned(),
        (32, v6) if v6 > 32 => format!("ip/{v6}"),
        (v4, IPV6_PREFIX) => format!("ip/{v4}"),
        (v4, v6) => format!("ip/{v4},{v6}"),
    };
    let parts = vec![vec![Source::Address { v4, v6 }]];
    Some(KeySpec { name, parts, ..key })
}

/// A key of the site; `user` is known without.
fn named(reading: &Reading<'_>, item: &Item<'_>, name: &str) -> Option<KeySpec> {
    if let Some(key) = reading.site.keys.iter().find(|key| key.name == name) {
        return Some(key.clone());
    }
    if name == "user" {
        return Some(KeySpec::user());
    }
    reading.names.find(Of::Key, name, item)?;
    make::field_key(name).map_err(|error| item.malformed(error)).ok()
}
