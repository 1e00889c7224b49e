//! Who the client is behind proxies: taken from a header, as nginx's `real_ip` module decides.
//! Source: `ngx_http_realip_module` and `ngx_http_get_forwarded_addr`.

use ipnet::IpNet;

use crate::format::parts::split_port;
use crate::format::record::{Client, Record};
use crate::units::address::Address;

/// How the client's address is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRule {
    /// The field that names clients; `None` for `X-Forwarded-For`.
    pub field: Option<String>,
    /// Which of the addresses in the field counts.
    pub pick: Pick,
}

/// Which address of a list counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pick {
    /// From the right, the first that is no trusted proxy; only if the connection came from one.
    Untrusted(Vec<IpNet>),
    /// The last, only if the connection came from a trusted proxy (nginx without
    /// `real_ip_recursive`).
    Last(Vec<IpNet>),
    /// The n-th from the right, from 1.
    Hop(usize),
}

impl ClientRule {
    /// What the record's header says; `field` is the value of the rule's field.
    pub fn header<'a>(&self, record: &Record<'a>, field: Option<&'a [u8]>) -> Option<&'a [u8]> {
        if self.field.is_some() { field } else { record.forwarded }
    }

    /// The client of a record; `header` is what [`Self::header`] gives. The address the connection
    /// came from stays where the header doesn't tell, as nginx leaves it.
    pub fn client<'a>(&self, record: &Record<'a>, header: Option<&[u8]>) -> Client<'a> {
        let entries =
            header.unwrap_or_default().rsplit(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let parse = |entry: &[u8]| {
            // a list that was converted is JSON
            let bare: Vec<u8> = entry.iter().copied().filter(|b| !b"\\\"".contains(b)).collect();
            let bare = without_list_brackets(&bare);
            Address::parse(bare).or_else(|| Address::parse(split_port(bare).0))
        };
        match &self.pick {
            Pick::Hop(hop) => {
                let mut entries = entries.skip(hop.saturating_sub(1));
                entries.next().and_then(parse).map_or(record.client, Client::Address)
            }
            Pick::Untrusted(proxies) | Pick::Last(proxies) => {
                let trusted = |client: Client<'_>| match client {
                    Client::Address(address) => {
                        let ip = address.to_ip();
                        proxies.iter().any(|net| net.contains(&ip))
                    }
                    // a connection from a local socket is the proxy's; a log without the peer can't tell
                    Client::Named(name) => name == b"unix:" || name == b"-",
                };
                let most = if matches!(self.pick, Pick::Last(_)) { 1 } else { usize::MAX };
                let mut client = record.client;
                for address in entries.map(parse).take(most) {
                    let Some(address) = address.filter(|_| trusted(client)) else { break };
                    client = Client::Address(address);
                }
                client
            }
        }
    }
}

/// An entry of a JSON list without the brackets of the list; those of `[2001:db8::1]:443` stay.
fn without_list_brackets(entry: &[u8]) -> &[u8] {
    match (entry.strip_prefix(b"["), entry.strip_suffix(b"]")) {
        (Some(inner), None) if !inner.contains(&b']') => inner,
        (None, Some(inner)) => inner,
        (Some(_), Some(_)) => entry.get(1..entry.len() - 1).unwrap_or(entry),
        _ => entry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::combined::scan;

    fn client(peer: &str, forwarded: &str, pick: Pick) -> String {
        let line = format!(
            r#"{peer} - - [01/Jun/2024:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x" "{forwarded}""#
        );
        let record = scan(line.as_bytes()).unwrap();
        let rule = ClientRule { field: None, pick };
        match rule.client(&record, rule.header(&record, None)) {
            Client::Address(address) => address.to_string(),
            Client::Named(name) => String::from_utf8_lossy(name).into_owned(),
        }
    }

    #[test]
    fn the_first_address_that_is_no_trusted_proxy_is_the_client() {
        let pick = || Pick::Untrusted(vec!["10.0.0.0/8".parse().unwrap()]);
        for (peer, forwarded, expected) in [
            ("10.0.0.9", "203.0.113.195, 198.51.100.3, 192.0.2.77", "192.0.2.77"),
            ("10.0.0.9", "203.0.113.195, 192.0.2.77, 10.1.1.1", "192.0.2.77"),
            ("10.0.0.9", "10.2.2.2, 10.1.1.1", "10.2.2.2"),
            ("10.0.0.9", "203.0.113.1, unknown, 10.1.1.1", "10.1.1.1"),
            ("10.0.0.9", "203.0.113.1:5555", "203.0.113.1"),
            ("10.0.0.9", "[2001:db8::1]:443", "2001:db8::1"),
            ("10.0.0.9", r#"[\"203.0.113.1\",\"192.0.2.77\"]"#, "192.0.2.77"),
            ("10.0.0.9", r#"[\"192.0.2.77\"]"#, "192.0.2.77"),
            ("10.0.0.9", "-", "10.0.0.9"),
            ("192.0.2.1", "203.0.113.195", "192.0.2.1"),
            ("unix:", "203.0.113.195", "203.0.113.195"),
        ] {
            assert_eq!(client(peer, forwarded, pick()), expected, "{peer} {forwarded}");
        }
    }

    #[test]
    fn without_recursion_only_the_last_address_counts() {
        let pick = || Pick::Last(vec!["10.0.0.0/8".parse().unwrap()]);
        assert_eq!(client("10.0.0.9", "203.0.113.195, 10.1.1.1", pick()), "10.1.1.1");
        assert_eq!(client("192.0.2.1", "203.0.113.195", pick()), "192.0.2.1");
    }

    #[test]
    fn a_hop_counts_from_the_right() {
        assert_eq!(client("10.0.0.9", "203.0.113.1, 192.0.2.7", Pick::Hop(1)), "192.0.2.7");
        assert_eq!(client("10.0.0.9", "203.0.113.1, 192.0.2.7", Pick::Hop(2)), "203.0.113.1");
        assert_eq!(client("10.0.0.9", "203.0.113.1", Pick::Hop(3)), "10.0.0.9");
    }
}
