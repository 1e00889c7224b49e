//! Names as metrics write them: `sms hard stop` → `sms-hard-stop`.

/// Small letters and digits of a name; what stands between them becomes one `-`.
///
/// ```
/// use shadowcap_engine::units::slug::slug;
/// assert_eq!(slug("app 5.3 loop"), "app-5-3-loop");
/// ```
pub fn slug(name: &str) -> String {
    let lower = name.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn names_become_small_words() {
        assert_eq!(slug("sms hard stop"), "sms-hard-stop");
        assert_eq!(slug("  SMS (night) "), "sms-night");
        assert_eq!(slug("--"), "");
    }
}
