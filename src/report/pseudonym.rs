//! Names of clients in reports: pseudonyms that nobody can undo without the log, unless the user
//! asks for the real ones.

use shadowcap_engine::policy::LimitKey;
use shadowcap_engine::units::escape;

/// Hex digits of a pseudonym.
const DIGITS: usize = 12;

/// How keys are shown.
pub(crate) enum Names {
    /// As they are, escaped.
    Revealed,
    /// As a digest under this key.
    Pseudonyms([u8; 32]),
}

impl Names {
    /// Chooses: revealed, keyed by the user's secret, or keyed by a digest of the events, so that one
    /// log gives the same names again and another log others.
    pub(crate) fn new(
        reveal: bool,
        secret: Option<&[u8]>,
        digest: impl FnOnce() -> [u8; 32],
    ) -> Self {
        match (reveal, secret) {
            (true, _) => Self::Revealed,
            (false, Some(secret)) => {
                Self::Pseudonyms(blake3::derive_key("shadowcap 2026 pseudonym key", secret))
            }
            (false, None) => {
                Self::Pseudonyms(blake3::derive_key("shadowcap 2026 pseudonym log", &digest()))
            }
        }
    }

    /// Whether keys are shown as they are.
    pub(crate) fn revealed(&self) -> bool {
        matches!(self, Self::Revealed)
    }

    /// A limit's key; one that all requests share names nobody.
    pub(crate) fn show_key(&self, key: &LimitKey, text: &[u8]) -> String {
        if key.parts.is_empty() { key.name.clone() } else { self.show(&key.name, text) }
    }

    /// `ip:203.0.113.7` or `ip:3f9c0a1b2c3d`.
    pub(crate) fn show(&self, key: &str, text: &[u8]) -> String {
        match self {
            Self::Revealed => format!("{key}:{}", escape::terminal(text)),
            Self::Pseudonyms(secret) => {
                let mut hasher = blake3::Hasher::new_keyed(secret);
                hasher.update(key.as_bytes());
                hasher.update(&[0]);
                hasher.update(text);
                let hex = hasher.finalize().to_hex();
                format!("{key}:{}", &hex.as_str()[..DIGITS])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_depend_on_the_log_or_the_secret_and_hide_the_key() {
        let log = Names::new(false, None, || [1; 32]);
        let name = log.show("ip", b"203.0.113.7");
        assert_eq!(name.len(), "ip:".len() + 12);
        assert_eq!(name, Names::new(false, None, || [1; 32]).show("ip", b"203.0.113.7"));
        assert_ne!(name, Names::new(false, None, || [2; 32]).show("ip", b"203.0.113.7"));
        assert_ne!(name[3..], log.show("user", b"203.0.113.7")[5..]);
        let secret = |digest| Names::new(false, Some(b"a secret of 16 b"), || digest);
        assert_eq!(secret([1; 32]).show("ip", b"x"), secret([2; 32]).show("ip", b"x"));
        assert_eq!(Names::new(true, None, || [1; 32]).show("ip", b"a\x1b"), r"ip:a\x1B");
    }
}
