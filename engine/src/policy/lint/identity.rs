//! Whom limits tell apart: SC006 proxies, SC007 headers that clients forge, SC008 single IPv6
//! addresses, SC019 bans on addresses that many share.

use crate::policy::{KeyPart, Limit};
use crate::site::key::Source;
use crate::site::matching::Match;
use crate::units::span;

use super::ground::is_address;
use super::{Code, Finding};
use crate::policy::coverage::Ground;

/// The longest IPv6 prefix that is still a network rather than a machine.
const NETWORK_BITS: u8 = 64;

pub(super) fn lint(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    for limit in &ground.policy.limits {
        found.extend(proxy_address(ground, limit));
        found.extend(forgeable(limit));
        found.extend(single_ipv6(limit));
        found.extend(shared_ban(ground, limit));
    }
}

fn proxy_address(ground: &Ground<'_>, limit: &Limit) -> Option<Finding> {
    let site = ground.site?;
    let tier = site.tiers.first()?;
    let says_where = site.input.client_ip.is_some() || site.input.fields.contains_key("client_ip");
    let by_address = limit.key.parts.iter().flat_map(KeyPart::sources).any(is_peer);
    if says_where || !by_address {
        return None;
    }
    let (key, tier) = (&limit.key.name, &tier.name);
    let text = format!(
        "the key `{key}` is the address of what stands before `{tier}`, since the site doesn't say where the client's is found"
    );
    let help = "say it in the site: `client_ip = { from = \"x_forwarded_for\", trusted = [\"10.0.0.0/8\"], recursive = true }`";
    Some(Finding::on(limit, Code::ProxyAddress, text, help).endangering(ground.customers()))
}

fn is_peer(source: &Source) -> bool {
    matches!(source, Source::Address { .. } | Source::Client)
}

fn forgeable(limit: &Limit) -> Option<Finding> {
    let header = limit.key.parts.iter().flat_map(KeyPart::sources).find_map(forgeable_header)?;
    let key = &limit.key.name;
    let text = format!(
        "the key `{key}` is taken from the header {header}, which any client can set: each new value is a new client"
    );
    let help = "use `ip` with `client_ip` of the site, which counts trusted proxies from the right, or what the server itself has verified";
    Some(Finding::on(limit, Code::ForgeableKey, text, help))
}

/// The request header that a source is, if clients can set it to anything. The host decides which site
/// answers, so it is not among them; nor are cookies, which carry what the server once handed out.
fn forgeable_header(source: &Source) -> Option<String> {
    match source {
        Source::UserAgent => Some("User-Agent".to_owned()),
        Source::Referer => Some("Referer".to_owned()),
        Source::Field(name) => {
            let name = name.to_ascii_lowercase();
            let header = match name.as_str() {
                "x_forwarded_for" | "x_real_ip" | "forwarded" => name.as_str(),
                "http_host" | "http_cookie" => return None,
                _ => name.strip_prefix("http_")?,
            };
            Some(header.split('_').map(capitalised).collect::<Vec<_>>().join("-"))
        }
        _ => None,
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn single_ipv6(limit: &Limit) -> Option<Finding> {
    let bits =
        limit.key.parts.iter().flat_map(KeyPart::sources).find_map(|source| match source {
            Source::Address { v6, .. } if *v6 > NETWORK_BITS => Some(*v6),
            _ => None,
        })?;
    let power = bits - NETWORK_BITS;
    let text = format!(
        "tells IPv6 addresses apart by {bits} bits, so a home or a rented server with its /{NETWORK_BITS} is 2^{power} clients"
    );
    let help = format!("set `ipv6_prefix = {NETWORK_BITS}`, or leave it out");
    Some(Finding::on(limit, Code::SingleIpv6, text, help))
}

fn shared_ban(ground: &Ground<'_>, limit: &Limit) -> Option<Finding> {
    let ban = limit.ban?;
    let parts = &limit.key.parts;
    let by_address = !parts.is_empty()
        && parts.iter().all(|part| *part == KeyPart::Route || is_address(part))
        && parts.iter().any(is_address);
    let narrows = |matching: &Match| !matching.label.is_empty() || !matching.not_label.is_empty();
    let is_narrow = narrows(&limit.matching) || limit.matching.not.as_deref().is_some_and(narrows);
    if !by_address || is_narrow {
        return None;
    }
    let text = format!(
        "shuts everyone behind an address out for {} after one of them went too fast",
        span::format(ban.us)
    );
    let help = "ban by user, name the addresses with a label, or answer with `retry_after` instead";
    Some(Finding::on(limit, Code::SharedBan, text, help).endangering(ground.customers()))
}
