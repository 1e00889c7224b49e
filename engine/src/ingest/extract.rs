//! From a scanned record to what the projection keeps: its place (route or template) and its keys.

use std::borrow::Cow;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::format::fields::Values;
use crate::format::parts::split_port;
use crate::format::record::{Client, Record};
use crate::format::request::{Request, RequestBuffer};
use crate::format::{template, text};
use crate::site::key::{KeySpec, Source};
use crate::site::path::{normalise, percent_decode};
use crate::site::route::Route;
use crate::traffic::NONE;

use super::projection::Projection;

/// Longest text of a key, bytes.
const LONGEST_KEY: usize = 256;
/// The place of requests whose request line is malformed, when paths are folded into templates.
const MALFORMED: &[u8] = b"(malformed request)";

/// A record with its request taken apart and its path normalised.
#[derive(Debug)]
pub(super) struct Extract<'r> {
    record: &'r Record<'r>,
    client: Client<'r>,
    extras: Extras<'r>,
    request: Option<Request<'r>>,
    path: Cow<'r, [u8]>,
}

/// The values of fields that only some formats have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extras<'r> {
    /// Names, each with the field's position in the layout, if it is there.
    pub(super) fields: &'r [(Cow<'r, str>, Option<usize>)],
    /// The values of the line.
    pub(super) values: &'r Values<'r>,
}

impl<'r> Extras<'r> {
    /// A field's value, as written.
    pub(super) fn get(&self, name: &str) -> Option<&'r [u8]> {
        let (_, position) = self.fields.iter().find(|(known, _)| known == name)?;
        position.and_then(|at| self.values.get(at))
    }
}

impl<'r> Extract<'r> {
    /// `client` is who counts as the client; `request` holds the request with its escapes undone.
    pub(super) fn new(
        record: &'r Record<'r>,
        client: Client<'r>,
        request: &'r RequestBuffer<'r>,
        extras: Extras<'r>,
    ) -> Self {
        let request = request.request();
        let path = request.map_or(Cow::Borrowed(b"".as_slice()), |request| normalise(request.path));
        Self { record, client, extras, request, path }
    }

    /// The index of the first route that matches, or [`NONE`].
    pub(super) fn route(&self, routes: &[Route]) -> u32 {
        let Some(request) = self.request else { return NONE };
        let host = routes.iter().any(Route::needs_host).then(|| self.host()).flatten();
        let matches = |route: &Route| route.matches(request.method, host.as_deref(), &self.path);
        let at = routes.iter().position(matches);
        at.and_then(|at| u32::try_from(at).ok()).unwrap_or(NONE)
    }

    /// The virtual host, without its port or brackets, as written else.
    pub(super) fn host(&self) -> Option<Cow<'_, [u8]>> {
        let written = match (self.request.and_then(|request| request.host), self.record.host) {
            (Some(host), _) => Cow::Borrowed(host),
            (None, Some(host)) => self.record.escape.undo(host),
            (None, None) => {
                Cow::Borrowed(self.record.request.line().and_then(Request::host_of_malformed)?)
            }
        };
        let host = match written {
            Cow::Borrowed(text) => Cow::Borrowed(without_port(text)),
            Cow::Owned(text) => Cow::Owned(without_port(&text).to_vec()),
        };
        text::present(&host).is_some().then_some(host)
    }

    /// A hash of the normalised path; of nothing for a malformed request.
    pub(super) fn path_hash(&self) -> u64 {
        xxh3_64(&self.path)
    }

    /// Writes `METHOD template` into `out` (cleared first).
    pub(super) fn template(&self, out: &mut Vec<u8>) {
        out.clear();
        match self.request {
            None => out.extend_from_slice(MALFORMED),
            Some(request) => {
                out.extend_from_slice(request.method);
                out.push(b' ');
                template::fold(&self.path, out);
            }
        }
    }

    /// Writes the key's text into `out` (cleared first); whether every part is present.
    pub(super) fn key(
        &self,
        spec: &KeySpec,
        projection: &Projection,
        place: u32,
        out: &mut Vec<u8>,
    ) -> bool {
        out.clear();
        for (index, part) in spec.parts.iter().enumerate() {
            if index > 0 {
                out.push(b'+');
            }
            let found = part.iter().find_map(|source| self.source(source, projection, place));
            let Some(value) = found else { return false };
            out.extend_from_slice(&value);
        }
        shorten(out);
        true
    }

    /// The value of one source, escapes undone; `None` where it is missing or empty.
    pub(super) fn source(
        &self,
        source: &Source,
        projection: &Projection,
        place: u32,
    ) -> Option<Cow<'_, [u8]>> {
        let header = |field: Option<&'r [u8]>| field.map(|raw| self.record.escape.undo(raw));
        let value = match source {
            Source::Address { v4, v6 } => match self.client {
                Client::Address(address) => {
                    Some(address.truncate(*v4, *v6).with_prefix(*v4, *v6).into_bytes().into())
                }
                Client::Named(_) => None,
            },
            Source::Client => match self.client {
                Client::Address(address) => Some(address.to_string().into_bytes().into()),
                Client::Named(name) => text::present(name).map(Cow::Borrowed),
            },
            Source::User => header(self.record.user),
            Source::Ident => header(self.record.ident),
            Source::Host => {
                self.request.and_then(|r| r.host).or(self.record.host).map(Cow::Borrowed)
            }
            Source::Method => self.request.map(|request| Cow::Borrowed(request.method)),
            Source::Path => self.request.map(|_| Cow::Borrowed(&*self.path)),
            Source::Referer => header(self.record.referer),
            Source::UserAgent => header(self.record.user_agent),
            Source::Field(name) => header(self.extras.get(name).and_then(text::present)),
            Source::Query(name) => self
                .request
                .and_then(|r| r.query)
                .and_then(|q| query_value(q, name))
                .map(Cow::Owned),
            Source::Capture(name) => usize::try_from(place)
                .ok()
                .and_then(|place| projection.routes.get(place))
                .and_then(|route| route.capture(name, &self.path))
                .map(Cow::Borrowed),
        };
        value.filter(|value| !value.is_empty())
    }
}

/// A host without its port, an IPv6 address without its brackets.
fn without_port(host: &[u8]) -> &[u8] {
    let host = split_port(host).0;
    host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]")).unwrap_or(host)
}

/// Keeps a long key's beginning and a digest of the whole, so that no client can fill the memory.
fn shorten(key: &mut Vec<u8>) {
    if key.len() > LONGEST_KEY {
        let digest = format!("...{:032x}", xxh3_128(key));
        key.truncate(LONGEST_KEY - digest.len());
        key.extend_from_slice(digest.as_bytes());
    }
}

/// The first parameter of that name, percent-decoded, `+` as a blank.
fn query_value(query: &[u8], name: &str) -> Option<Vec<u8>> {
    query.split(|byte| *byte == b'&').find_map(|pair| {
        let (key, value) = text::cut(pair, b'=').unwrap_or((pair, b""));
        (percent_decode(key) == name.as_bytes()).then(|| {
            let spaced: Vec<u8> =
                value.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
            percent_decode(&spaced)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::combined::scan;

    fn key(expr: &str, line: &str) -> Option<String> {
        let projection = Projection {
            routes: vec![Route::parse("otp=* /otp/{phone}").unwrap()],
            ..Projection::default()
        };
        let record = scan(line.as_bytes()).unwrap();
        let request = RequestBuffer::new(&record);
        let mut values = Values::default();
        values.set(3, b"u7");
        let fields = [("cookie_uid".into(), Some(3)), ("cookie_none".into(), None)];
        let extras = Extras { fields: &fields, values: &values };
        let extract = Extract::new(&record, record.client, &request, extras);
        let place = extract.route(&projection.routes);
        let mut out = Vec::new();
        let spec = KeySpec::parse(&format!("k={expr}"), 64).unwrap();
        extract.key(&spec, &projection, place, &mut out).then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn keys_are_taken_from_every_field() {
        let line = r#"shop.example:443 192.0.2.7 - ann [01/Jun/2024:12:00:00 +0000] "GET /otp/%2B91?u=a%20b+c&e= HTTP/1.1" 200 5 "-" "app \"5\"""#;
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(key("remote_user", line), some("ann"));
        assert_eq!(key("ip/24", line), some("192.0.2.0/24"));
        assert_eq!(key("user_agent", line), some("app \"5\""));
        assert_eq!(key("query:u", line), some("a b c"));
        assert_eq!(key("query:e", line), None);
        assert_eq!(key("path:phone", line), some("+91"));
        assert_eq!(key("host", line), some("shop.example:443"));
        assert_eq!(key("referer|method", line), some("GET"));
        assert_eq!(key("remote_user+ip", line), some("ann+192.0.2.7"));
        assert_eq!(key("remote_user+referer", line), None);
        assert_eq!(key("cookie:uid", line), some("u7"));
        assert_eq!(key("cookie:none", line), None);
        let long = |end: &str| line.replace("app", &("x".repeat(9_000) + end));
        let (one, other) =
            (key("user_agent", &long("1")).unwrap(), key("user_agent", &long("2")).unwrap());
        assert!(one.len() == LONGEST_KEY && one != other);
    }
}
