//! What clients are told apart by, as variables of nginx.

use std::fmt::Write as _;

use super::super::pcre;
use super::maps::{GROUP, Maps, Row, Why, found, quoted};
use super::routes::{self, Routes};
use crate::policy::{KeyPart, LimitKey};
use crate::site::key::{KeySpec, Source};

/// A variable that holds a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    /// The variable, with its `$`; or what stands for all requests.
    pub(super) text: String,
    /// Whether every request has it: else it is empty where it is missing.
    pub(super) sure: bool,
    /// Whether it is a few bytes long.
    pub(super) short: bool,
}

impl Value {
    fn unsure(text: String) -> Self {
        Self { text, sure: false, short: false }
    }
}

/// Variables of nginx, beside those of headers, cookies and arguments, that are known when limits are asked.
const KNOWN: [&str; 21] = [
    "args",
    "connection",
    "content_length",
    "content_type",
    "host",
    "hostname",
    "https",
    "query_string",
    "remote_port",
    "request_length",
    "request_method",
    "request_uri",
    "scheme",
    "server_addr",
    "server_name",
    "server_port",
    "server_protocol",
    "ssl_cipher",
    "ssl_protocol",
    "ssl_server_name",
    "ssl_session_id",
];

/// What keys are made of.
#[derive(Debug, Clone)]
pub(super) struct Keys<'s> {
    pub(super) routes: Routes<'s>,
    /// Why the client's address isn't that of the site, if so.
    pub(super) unknown_client: Option<Why>,
    /// What is to be said of the key that was made last.
    pub(super) remarks: Vec<String>,
    /// Variables whose values tell keys apart, for the log.
    pub(super) logged: Vec<String>,
}

impl Keys<'_> {
    /// The parts of a limit's key; none for all requests together.
    ///
    /// # Errors
    /// When a part isn't known to nginx.
    pub(super) fn limit(&mut self, maps: &mut Maps, key: &LimitKey) -> Result<Vec<Value>, Why> {
        let mut values = Vec::new();
        for part in &key.parts {
            match part {
                KeyPart::Route => values.push(Value {
                    text: self.routes.variable(maps)?,
                    sure: false,
                    short: true,
                }),
                KeyPart::Key(spec) => values.extend(self.spec(maps, spec)?),
            }
        }
        Ok(values)
    }

    /// The parts of a key.
    ///
    /// # Errors
    /// When a source isn't known to nginx.
    pub(super) fn spec(&mut self, maps: &mut Maps, spec: &KeySpec) -> Result<Vec<Value>, Why> {
        if spec.normalise.is_some() {
            return Err(format!("nginx can't read `{}` as a phone number", spec.name));
        }
        spec.parts.iter().map(|sources| self.first_of(maps, &spec.name, sources)).collect()
    }

    /// The first of several sources that is present.
    fn first_of(&mut self, maps: &mut Maps, name: &str, sources: &[Source]) -> Result<Value, Why> {
        let values: Vec<Value> =
            sources.iter().map(|source| self.source(maps, source)).collect::<Result<_, _>>()?;
        let mut rest: Option<Value> = None;
        for value in values.into_iter().rev() {
            rest = Some(match rest {
                Some(rest) if !value.sure => {
                    let row = (quoted(""), rest.text);
                    let name = format!("key_{name}");
                    let text = maps.map(&name, &value.text, &[row], &value.text)?;
                    Value { text, sure: rest.sure, short: false }
                }
                _ => value,
            });
        }
        rest.ok_or_else(|| format!("the key `{name}` is made of nothing"))
    }

    /// One source.
    ///
    /// # Errors
    /// When nginx doesn't know it when limits are asked.
    pub(super) fn source(&mut self, maps: &mut Maps, source: &Source) -> Result<Value, Why> {
        Ok(match source {
            Source::Address { v4, v6 } => self.address(maps, *v4, *v6)?,
            Source::Client => self.address(maps, 32, 128)?,
            Source::User => {
                self.remarks.push(
                    "$remote_user is what a client claims: limits are asked before the password is"
                        .to_owned(),
                );
                Value::unsure("$remote_user".to_owned())
            }
            Source::Ident => return Err("nginx has no `ident`".to_owned()),
            Source::Host => Value::unsure(routes::host(maps)?),
            Source::Method => Value { text: "$request_method".to_owned(), sure: true, short: true },
            Source::Path => Value { text: "$uri".to_owned(), sure: true, short: false },
            Source::Referer => Value::unsure("$http_referer".to_owned()),
            Source::UserAgent => Value::unsure("$http_user_agent".to_owned()),
            Source::Field(name) => self.field(name)?,
            Source::Query(name) => {
                self.remarks.push(format!(
                    "nginx doesn't undo percent-encoding of `{name}`: one value written in two ways is two keys, and one in which the name is encoded has none"
                ));
                let name = pcre::literal(name.as_bytes());
                let text = format!("(?:^|&){name}=(?<{GROUP}>[^&]*)");
                let row = (found(&text), format!("${GROUP}"));
                Value::unsure(maps.map("query", "$args", &[row], "\"\"")?)
            }
            Source::Capture(name) => Value::unsure(self.routes.capture(maps, name)?),
        })
    }

    /// A field of the log that is a variable of nginx.
    fn field(&mut self, name: &str) -> Result<Value, Why> {
        let word = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if name == "x_forwarded_for" {
            return Ok(Value::unsure("$http_x_forwarded_for".to_owned()));
        }
        let of_request = ["http_", "cookie_", "arg_"]
            .iter()
            .any(|prefix| name.strip_prefix(prefix).is_some_and(word));
        if !of_request && !KNOWN.contains(&name) {
            let response =
                ["sent_http_", "upstream_"].iter().any(|prefix| name.starts_with(prefix));
            return Err(if response {
                format!("`{name}` is of the response, and limits are asked before there is one")
            } else {
                format!("`{name}` is a field of the log and no variable of nginx's requests")
            });
        }
        if name.starts_with("arg_") {
            self.remarks.push(format!(
                "nginx doesn't undo percent-encoding in ${name}: one value written in two ways is two keys"
            ));
        }
        let text = format!("${name}");
        if !self.logged.contains(&text) {
            self.logged.push(text.clone());
        }
        Ok(Value::unsure(text))
    }

    /// The client's address by its leading bits; IPv4 written as IPv6 is IPv4.
    fn address(&mut self, maps: &mut Maps, v4: u8, v6: u8) -> Result<Value, Why> {
        if let Some(why) = &self.unknown_client {
            return Err(why.clone());
        }
        let (v4, v6) = (v4.min(32), v6.min(128));
        let whole_bytes = |bits: u8| bits.is_multiple_of(8);
        // else a prefix of one family could be one of the other's
        let tagged = !whole_bytes(v4) || !whole_bytes(v6) || v4 == v6 || v4 == 0 || v6 == 0;
        let tags = if tagged { ["4", "6"] } else { ["", ""] };
        let mut rows = prefix(r"\x00{10}\xff\xff", 4, v4, tags[0]);
        if v4 < 32 || tagged {
            rows.extend(prefix("", 4, v4, tags[0]));
        }
        if v6 < 128 || tagged {
            rows.extend(prefix("", 16, v6, tags[1]));
        }
        let name = match (v4, v6) {
            (32, 64) => "ip".to_owned(),
            _ => format!("ip_{v4}_{v6}"),
        };
        let address = "$binary_remote_addr";
        let text = maps.map(&name, address, &rows, address)?;
        Ok(Value { text, sure: true, short: true })
    }
}

/// Rows that keep the leading bits of an address of so many bytes, which follow what is before them. A byte of
/// which only some bits count is written as their value.
fn prefix(before: &str, bytes: u8, bits: u8, tag: &str) -> Vec<Row> {
    let (whole, odd) = (bits / 8, bits % 8);
    let kept = match whole {
        0 => String::new(),
        _ => format!("(?<{GROUP}>.{{{whole}}})"),
    };
    let value = match whole {
        0 => tag.to_owned(),
        _ => format!("{tag}${{{GROUP}}}"),
    };
    if odd == 0 {
        let rest = bytes.saturating_sub(whole);
        let text = format!(r"^{before}(?s:{kept}.{{{rest}}})\z");
        return vec![(found(&text), quoted(&value))];
    }
    let rest = bytes.saturating_sub(whole).saturating_sub(1);
    let size = 1_u16 << (8 - odd);
    let steps = 0..(1_u16 << odd);
    let rows = steps.map(|step| {
        let first = step * size;
        let mut text = format!(r"^{before}(?s:{kept})[\x{first:02x}-");
        let _ = write!(text, r"\x{:02x}](?s:.{{{rest}}})\z", first + size - 1);
        (found(&text), quoted(&format!("{value}:{step:02x}")))
    });
    rows.collect()
}
