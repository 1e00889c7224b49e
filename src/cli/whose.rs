//! `--key`: whose requests are meant, by value or by the pseudonym out of a report.

use shadowcap_engine::replay::prepare::Prepared;
use shadowcap_engine::traffic::bitmap::Bitmap;
use shadowcap_engine::traffic::{KeyTexts, Traffic};
use shadowcap_engine::units::address::Address;

use crate::report::pseudonym::Names;

use super::exit::Failure;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// `NAME=VALUE`.
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
    /// `NAME:PSEUDONYM`.
    Pseudonym {
        /// The key.
        key: String,
        /// As reports print it, name and all.
        shown: String,
    },
}

/// Reads `--key`.
///
/// # Errors
/// When it is neither form.
pub(crate) fn parse(text: &str) -> Result<Wanted, Failure> {
    if let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.contains(':')) {
        return Ok(Wanted::Value { key: key.to_owned(), value: value.to_owned() });
    }
    if let Some((key, _)) = text.split_once(':') {
        return Ok(Wanted::Pseudonym { key: key.to_owned(), shown: text.to_owned() });
    }
    Err(Failure::Usage(format!(
        "--key {text}: write NAME=VALUE, as in ip=203.0.113.7, or a name out of a report, as in ip:3f9c0a1b2c3d"
    )))
}

/// The requests meant, and how their sender is shown.
///
/// # Errors
/// When the key isn't known or no request has it.
pub(crate) fn find(
    wanted: &Wanted,
    traffic: &Traffic,
    prepared: &Prepared<'_>,
    names: &Names,
) -> Result<(String, Bitmap), Failure> {
    let (Wanted::Value { key, .. } | Wanted::Pseudonym { key, .. }) = wanted;
    let fits = |text: &[u8]| match wanted {
        Wanted::Value { value, .. } => text == value.as_bytes(),
        Wanted::Pseudonym { shown, .. } => names.show(key, text) == *shown,
    };
    let found = if let Some(column) = traffic.key_named(key) {
        let id = match (&column.texts, wanted) {
            (KeyTexts::Addresses(list, (v4, v6)), Wanted::Value { value, .. }) => {
                let address = Address::parse(value.as_bytes());
                let cut = address.map(|address| address.truncate(*v4, *v6));
                cut.and_then(|cut| list.binary_search(&cut).ok())
            }
            _ => (0..column.distinct()).find(|id| fits(&column.text(*id))),
        };
        id.map(|id| {
            let number = u32::try_from(id).unwrap_or(u32::MAX);
            let events = Bitmap::of(traffic.len(), |event| column.ids.get(event) == Some(&number));
            (names.show(key, &column.text(id)), events)
        })
    } else {
        let mut limits = prepared.limits.iter().filter(|l| l.limit.key.name == *key);
        let Some(ready) = limits.next() else { return Err(unknown(key, traffic)) };
        let ids = 0..u32::try_from(ready.keys.distinct()).unwrap_or(u32::MAX);
        ids.into_iter().find(|id| fits(&ready.keys.text(*id))).map(|id| {
            let events = Bitmap::of(traffic.len(), |event| ready.keys.of(event) == id);
            (names.show_key(&ready.limit.key, &ready.keys.text(id)), events)
        })
    };
    found.ok_or_else(|| {
        Failure::Usage(match wanted {
            Wanted::Value { key, value } => {
                format!("--key {key}={value}: no request that was read has it")
            }
            Wanted::Pseudonym { shown, .. } => format!(
                "--key {shown}: no request that was read has it; names like this one hold for the same logs, or with the same --pseudonym-key"
            ),
        })
    })
}

fn unknown(key: &str, traffic: &Traffic) -> Failure {
    let known = traffic.key_texts.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = ["ip"].into_iter().chain(known).collect();
    Failure::Usage(format!(
        "--key: `{key}` is no key; there are {} and the keys of the policy's limits (more with --site or --define-key)",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_by_value_or_by_pseudonym() {
        let value = parse("ip=2001:db8::1").unwrap();
        assert_eq!(value, Wanted::Value { key: "ip".into(), value: "2001:db8::1".into() });
        let shown = parse("user:3f9c0a1b2c3d").unwrap();
        let expected = Wanted::Pseudonym { key: "user".into(), shown: "user:3f9c0a1b2c3d".into() };
        assert_eq!(shown, expected);
        assert!(parse("203.0.113.7").is_err());
    }
}
