//! Keys: what a client is told apart by. `ip` is always known; others are made of log fields.

use std::borrow::Cow;

use thiserror::Error;

use super::phone;

/// Why a key can't be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    /// The text isn't `NAME=EXPR`.
    #[error(
        "`{0}` is not a key: write NAME=FIELD, as in user=remote_user, token=query:token or client=ip+user_agent (a|b takes the first present, a+b both)"
    )]
    Shape(String),
    /// The name is empty, holds something else than letters, digits and `_`, or is taken.
    #[error("`{0}` can't name a key: use letters, digits and _, and none of ip, global, route")]
    Name(String),
    /// No name of a field.
    #[error(
        "`{0}` is no field: use ip, ip/N, client, remote_user, ident, host, method, path, referer, user_agent, query:NAME, path:NAME, cookie:NAME, header:NAME or the name of any field in the log"
    )]
    Field(String),
    /// The prefix is no number from 0 to 128.
    #[error("`{0}`: a prefix is 0 to 32 (IPv4) or 33 to 128 (IPv6)")]
    Prefix(String),
    /// The key is made of nothing.
    #[error("the key `{0}` needs a field to be taken from, as in from = \"cookie:uid\"")]
    NoSource(String),
    /// An address is no phone number.
    #[error("the key `{0}` is an address: only texts can be read as phone numbers")]
    NormalisedAddress(String),
}

/// Where one part of a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The client's address, cut to a prefix per family.
    Address {
        /// Leading bits of IPv4 addresses, 0 to 32.
        v4: u8,
        /// Leading bits of IPv6 addresses, 0 to 128.
        v6: u8,
    },
    /// The client as written, host names too.
    Client,
    /// Authenticated user.
    User,
    /// RFC 1413 identity.
    Ident,
    /// Virtual host.
    Host,
    /// Method.
    Method,
    /// Normalised path.
    Path,
    /// Referer header.
    Referer,
    /// User-Agent header.
    UserAgent,
    /// Any other field of the log's format.
    Field(String),
    /// A parameter of the query, percent-decoded.
    Query(String),
    /// A `{name}` of the route that the request matched.
    Capture(String),
}

/// How the texts of a key are made alike, so that one thing written in two ways is one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Normalise {
    /// As phone numbers, to E.164; a text that is none is missing.
    Phone {
        /// The region (ISO 3166-1, two letters) of numbers without a country code.
        region: Option<String>,
    },
}

impl Normalise {
    /// The text that stands for this one; `None` if it is missing then.
    pub fn apply(&self, text: &[u8]) -> Option<Vec<u8>> {
        let Self::Phone { region } = self;
        let text = str::from_utf8(text).ok()?;
        phone::normalise(text, region.as_deref()).map(String::into_bytes)
    }
}

/// The names of the fields without a parameter.
const FIELDS: [(&str, Source); 10] = [
    ("client", Source::Client),
    ("remote_user", Source::User),
    ("user", Source::User),
    ("agent", Source::UserAgent),
    ("ident", Source::Ident),
    ("host", Source::Host),
    ("method", Source::Method),
    ("path", Source::Path),
    ("referer", Source::Referer),
    ("user_agent", Source::UserAgent),
];

/// A key: parts that are all needed, each from the first source present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySpec {
    /// The name reports use, and the prefix of its pseudonyms.
    pub name: String,
    /// The parts, joined by `+` in the key's text.
    pub parts: Vec<Vec<Source>>,
    /// How its texts are made alike.
    pub normalise: Option<Normalise>,
    /// Whether nobody asked for it: then it is left out where no request has it.
    pub implied: bool,
}

impl KeySpec {
    /// The key `ip`: IPv4 addresses whole, IPv6 by `v6` leading bits.
    pub fn ip(v6: u8) -> Self {
        let parts = vec![vec![Source::Address { v4: 32, v6 }]];
        Self { name: "ip".to_owned(), parts, normalise: None, implied: false }
    }

    /// The key `user`: who logged in, where a log says it.
    pub fn user() -> Self {
        let parts = vec![vec![Source::User]];
        Self { name: "user".to_owned(), parts, normalise: None, implied: true }
    }

    /// A key with one part, from the first of its sources that is present, each written as in
    /// [`Self::parse`]; `v6` is the prefix by which `ip` groups IPv6.
    ///
    /// # Errors
    /// When the name or a source isn't one, there is none, or an address is to be normalised.
    pub fn new(
        name: &str,
        sources: &[String],
        normalise: Option<Normalise>,
        v6: u8,
    ) -> Result<Self, KeyError> {
        let name = checked_name(name)?;
        if sources.is_empty() {
            return Err(KeyError::NoSource(name));
        }
        let part: Vec<Source> = sources
            .iter()
            .map(|source| Source::parse(source.trim(), v6))
            .collect::<Result<_, _>>()?;
        if normalise.is_some() && part.iter().any(|s| matches!(s, Source::Address { .. })) {
            return Err(KeyError::NormalisedAddress(name));
        }
        Ok(Self { name, parts: vec![part], normalise, implied: false })
    }

    /// Reads `NAME=EXPR`; `v6` is the prefix by which `ip` groups IPv6.
    ///
    /// # Errors
    /// When the name or a field isn't one.
    pub fn parse(text: &str, v6: u8) -> Result<Self, KeyError> {
        let (name, expr) = text.split_once('=').ok_or_else(|| KeyError::Shape(text.to_owned()))?;
        let name = checked_name(name)?;
        let parts = expr
            .split('+')
            .map(|part| part.split('|').map(|source| Source::parse(source.trim(), v6)).collect())
            .collect::<Result<_, _>>()?;
        Ok(Self { name, parts, normalise: None, implied: false })
    }

    /// The address prefixes (IPv4, IPv6), if the key is made of the address alone.
    pub fn address_prefix(&self) -> Option<(u8, u8)> {
        match self.parts.as_slice() {
            [part] => match part.as_slice() {
                [Source::Address { v4, v6 }] => Some((*v4, *v6)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The text that counts as this one; `None` where it can't be normalised and is missing then.
    pub fn normalised<'t>(&self, text: Cow<'t, [u8]>) -> Option<Cow<'t, [u8]>> {
        match &self.normalise {
            Some(normalise) => normalise.apply(&text).map(Cow::Owned),
            None => Some(text),
        }
    }

    /// The names of fields that only some formats have.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flatten().filter_map(|source| match source {
            Source::Field(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The names of route placeholders that the key needs.
    pub fn captures(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flatten().filter_map(|source| match source {
            Source::Capture(name) => Some(name.as_str()),
            _ => None,
        })
    }
}

impl Source {
    /// Reads the name of a field; `v6` is the prefix by which `ip` groups IPv6.
    ///
    /// # Errors
    /// When it names none.
    pub fn parse(text: &str, v6: u8) -> Result<Self, KeyError> {
        if text == "ip" {
            return Ok(Self::Address { v4: 32, v6 });
        }
        if let Some(prefix) = text.strip_prefix("ip/") {
            return match prefix.parse::<u8>() {
                Ok(bits @ 0..=32) => Ok(Self::Address { v4: bits, v6 }),
                Ok(bits @ 33..=128) => Ok(Self::Address { v4: 32, v6: bits }),
                _ => Err(KeyError::Prefix(text.to_owned())),
            };
        }
        match text.split_once(':') {
            Some(("query", name)) if !name.is_empty() => return Ok(Self::Query(name.to_owned())),
            Some(("path", name)) if !name.is_empty() => return Ok(Self::Capture(name.to_owned())),
            Some(("cookie", name)) if is_word(name) => return Ok(Self::column("cookie", name)),
            Some(("header", name)) if is_word(name) => {
                return Ok(match name.to_ascii_lowercase().as_str() {
                    "referer" => Self::Referer,
                    "user-agent" => Self::UserAgent,
                    "host" => Self::Host,
                    "x-forwarded-for" => Self::Field("x_forwarded_for".to_owned()),
                    _ => Self::column("http", name),
                });
            }
            _ => {}
        }
        let known = FIELDS.iter().find(|(name, _)| *name == text).map(|(_, source)| source.clone());
        let other = || is_word(text).then(|| Self::Field(text.to_owned()));
        known.or_else(other).ok_or_else(|| KeyError::Field(text.to_owned()))
    }

    /// The column of a header or cookie, as nginx names its variable.
    fn column(prefix: &str, name: &str) -> Self {
        Self::Field(format!("{prefix}_{}", name.to_ascii_lowercase().replace('-', "_")))
    }
}

/// A name that a key may have.
fn checked_name(name: &str) -> Result<String, KeyError> {
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !plain || ["ip", "global", "route"].contains(&name) {
        return Err(KeyError::Name(name.to_owned()));
    }
    Ok(name.to_owned())
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_with_alternatives_and_parts() {
        let key = KeySpec::parse("who=remote_user|query:uid+ip/24", 64).unwrap();
        assert_eq!(key.name, "who");
        assert_eq!(
            key.parts,
            vec![
                vec![Source::User, Source::Query("uid".into())],
                vec![Source::Address { v4: 24, v6: 64 }]
            ]
        );
        assert_eq!(key.address_prefix(), None);
        assert_eq!(KeySpec::parse("net=ip/128", 64).unwrap().address_prefix(), Some((32, 128)));
        let phone = KeySpec::parse("phone=path:phone", 64).unwrap();
        assert_eq!(phone.captures().collect::<Vec<_>>(), ["phone"]);
    }

    #[test]
    fn a_key_of_several_sources_takes_the_first_present() {
        let new = |name: &str, sources: &[&str], normalise| {
            let sources: Vec<String> = sources.iter().map(|&source| source.to_owned()).collect();
            KeySpec::new(name, &sources, normalise, 64)
        };
        let phone = || Some(Normalise::Phone { region: Some("IN".into()) });
        let user = new("user", &["cookie:uid", "sent_http_x_user"], None).unwrap();
        let field = |name: &str| Source::Field(name.into());
        assert_eq!(user.parts, [[field("cookie_uid"), field("sent_http_x_user")]]);
        assert!(!user.implied);
        assert_eq!(new("net", &["ip/24"], None).unwrap().address_prefix(), Some((24, 64)));
        let spec = new("phone", &["path:phone", "query:q"], phone()).unwrap();
        let normalised = |text: &str| spec.normalised(text.as_bytes().to_vec().into());
        assert_eq!(normalised("098765 43210").unwrap(), b"+919876543210".as_slice());
        assert_eq!(normalised("none"), None);
        assert_eq!(new("global", &["user"], None), Err(KeyError::Name("global".into())));
        assert_eq!(new("a b", &["user"], None), Err(KeyError::Name("a b".into())));
        assert_eq!(new("a", &[], None), Err(KeyError::NoSource("a".into())));
        assert_eq!(new("a", &["b c"], None), Err(KeyError::Field("b c".into())));
        assert_eq!(new("a", &["ip"], phone()), Err(KeyError::NormalisedAddress("a".into())));
    }

    #[test]
    fn what_is_no_key_is_refused_with_a_way_out() {
        assert!(matches!(KeySpec::parse("user", 64), Err(KeyError::Shape(_))));
        assert!(matches!(KeySpec::parse("ip=client", 64), Err(KeyError::Name(_))));
        assert!(matches!(KeySpec::parse("a=ip/129", 64), Err(KeyError::Prefix(_))));
        assert!(matches!(KeySpec::parse("a=b c", 64), Err(KeyError::Field(_))));
        let parts = |text| KeySpec::parse(text, 64).unwrap().parts.concat();
        assert_eq!(parts("a=cookie:uid"), [Source::Field("cookie_uid".into())]);
        assert_eq!(parts("a=header:X-Api-Key"), [Source::Field("http_x_api_key".into())]);
        assert_eq!(parts("a=header:User-Agent"), [Source::UserAgent]);
    }
}
