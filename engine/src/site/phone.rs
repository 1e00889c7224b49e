//! Phone numbers: one text for one number, however it was written. The rules of each country's
//! numbering plan are those of Google's libphonenumber, whose metadata the `phonenumber` crate carries.
//!
//! A number is taken if its length is one of its country's and its digits fit the country's general
//! pattern. Whether a series is in use isn't asked: operators open new ones faster than metadata tell.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use phonenumber::country::Id;
use phonenumber::metadata::{DATABASE, Database, Descriptor};
use phonenumber::{Metadata, PhoneNumber, parse};
use regex::bytes::{Regex, RegexBuilder};

/// Digits that a number has at least, its country code included.
const FEWEST_DIGITS: usize = 7;
/// Digits that are written at least: those of small islands, dialled there.
const FEWEST_WRITTEN: usize = 4;
/// Digits that E.164 allows, its country code included.
const MOST_DIGITS: usize = 15;
/// Digits that are looked at at most: those of E.164, and prefixes before them.
const MOST_WRITTEN: usize = 20;
/// The international prefix that most countries have, and Recommendation ITU-T E.164 asks for.
const INTERNATIONAL_PREFIX: &str = "00";

/// Patterns that the crate keeps compiled: those of all countries. Its own choice of 100 is compiled
/// anew for nearly every number where numbers of many countries are mixed.
const KEPT_PATTERNS: usize = 10_000;

/// The numbering plans.
static PLANS: LazyLock<&Database> = LazyLock::new(|| {
    let cache = DATABASE.cache();
    cache.lock().unwrap_or_else(PoisonError::into_inner).set_capacity(KEPT_PATTERNS);
    &DATABASE
});

/// The number in E.164 (`+` and digits); `None` for what is no phone number. `region` (ISO 3166-1, two
/// letters) is where numbers without a country code are dialled.
///
/// Blanks, hyphens, dots, slashes and parentheses don't matter. A text with anything else is no number:
/// names for digits and extensions aren't read.
pub fn normalise(text: &str, region: Option<&str>) -> Option<String> {
    let written = digits(text)?;
    let region = region.and_then(|region| region.to_ascii_uppercase().parse::<Id>().ok());
    // a country without a numbering plan of its own has none to apply
    let region = region.filter(|region| PLANS.by_id(region.as_ref()).is_some());
    // the region's trunk prefix is not that of a number from elsewhere: it is left out of account
    if let Some(number) = international(&written, region) {
        return e164(&parse(None, number).ok()?);
    }
    let code = PLANS.by_id(region?.as_ref())?.country_code();
    // a number may begin like its country's code, which must stay then: read as a national one first
    let national = parse(None, format!("+{code}{written}")).ok();
    let dialled = || parse(region, &written).ok().and_then(|number| e164(&number));
    national.and_then(|number| e164(&number)).or_else(dialled)
}

/// The country (ISO 3166-1, two letters) whose numbering plan a number in E.164 belongs to; `None`
/// where it is in none, as those of international networks, or none of several that share a code knows
/// its series.
pub fn country(e164: &str) -> Option<String> {
    let number = parse(None, e164.starts_with('+').then_some(e164)?).ok()?;
    let national = number.national().to_string();
    let countries = PLANS.region(&number.code().value())?;
    let country = match countries.as_slice() {
        [only] => only,
        several => several.iter().find(|country| {
            PLANS.by_id(**country).is_some_and(|plan| has_series(plan, &national))
        })?,
    };
    (country.len() == 2).then(|| (*country).to_owned())
}

/// Whether there are numbers of a country (ISO 3166-1, two capital letters).
pub fn is_region(text: &str) -> bool {
    text.len() == 2
        && text.bytes().all(|byte| byte.is_ascii_uppercase())
        && PLANS.by_id(text).is_some()
}

/// Whether a number is in a series that a country's plan has, where its code is shared. The first digits
/// alone tell some countries.
fn has_series(plan: &Metadata, national: &str) -> bool {
    if let Some(leading) = plan.leading_digits() {
        return leading.find(national).is_some_and(|found| found.start() == 0);
    }
    let known = plan.descriptors();
    let series = [
        known.fixed_line(),
        known.mobile(),
        known.toll_free(),
        known.premium_rate(),
        known.shared_cost(),
        known.personal_number(),
        known.voip(),
        known.pager(),
        known.uan(),
        known.voicemail(),
    ];
    series.into_iter().flatten().any(|series| fits(series, national))
}

/// The patterns that were asked for, each for whole numbers: as they are written, some find the shorter
/// of two numbers first.
static WHOLE: LazyLock<RwLock<BTreeMap<String, Arc<Regex>>>> = LazyLock::new(RwLock::default);

/// Whether a number is one of a series.
fn fits(series: &Descriptor, national: &str) -> bool {
    let written = series.national_number().as_str();
    let known = WHOLE.read().unwrap_or_else(PoisonError::into_inner).get(written).cloned();
    let whole = known.or_else(|| {
        let mut builder = RegexBuilder::new(&format!("^(?:{written})$"));
        // the metadata's patterns are laid out in lines; digits are ASCII
        let regex = Arc::new(builder.ignore_whitespace(true).unicode(false).build().ok()?);
        let mut all = WHOLE.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(written.to_owned(), Arc::clone(&regex));
        Some(regex)
    });
    whole.is_some_and(|whole| whole.is_match(national.as_bytes()))
}

/// The digits, with a `+` before them if one was written; `None` for what can be no number.
fn digits(text: &str) -> Option<String> {
    let mut out = String::with_capacity(MOST_WRITTEN + 1);
    for letter in text.trim().chars() {
        match letter {
            '0'..='9' => out.push(letter),
            '+' | '\u{ff0b}' if out.is_empty() => out.push('+'),
            // blanks and hyphens as word processors write them, too
            ' ' | '-' | '.' | '/' | '(' | ')' | '\u{a0}' | '\u{202f}' | '\u{2010}'..='\u{2015}' => {
            }
            _ => return None,
        }
        if out.len() > MOST_WRITTEN + 1 {
            return None;
        }
    }
    (out.len() >= FEWEST_WRITTEN).then_some(out)
}

/// A number with a country code, `+` before it; `None` for one that is dialled within its country.
fn international(written: &str, region: Option<Id>) -> Option<String> {
    if written.starts_with('+') {
        return Some(written.to_owned());
    }
    let prefix = region.and_then(|region| PLANS.by_id(region.as_ref())?.international_prefix());
    let end = match prefix {
        Some(prefix) => prefix.find(written).filter(|found| found.start() == 0)?.end(),
        None => written.starts_with(INTERNATIONAL_PREFIX).then_some(INTERNATIONAL_PREFIX.len())?,
    };
    // no country code begins with 0
    let rest = written.get(end..).filter(|rest| !rest.starts_with('0'))?;
    Some(format!("+{rest}"))
}

/// A number in E.164, if its country has numbers like it.
fn e164(number: &PhoneNumber) -> Option<String> {
    let code = number.code().value();
    let national = number.national().to_string();
    let plans = PLANS.by_code(&code)?;
    plans.iter().any(|plan| fits(plan.descriptors().general(), &national)).then_some(())?;
    let text = format!("+{code}{national}");
    (FEWEST_DIGITS..=MOST_DIGITS).contains(&(text.len() - 1)).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn india(text: &str) -> Option<String> {
        normalise(text, Some("IN"))
    }

    #[test]
    fn one_number_has_one_text() {
        for text in [
            "+91 98765 43210",
            "+919876543210",
            "098765 43210",
            "0091 98765-43210",
            "00919876543210",
            "9876543210",
            "(0)98765.43210",
            "919876543210",
            " 919876543210", // a + in a query that nobody encoded
            "+91 (0) 98765 43210",
            "+91\u{a0}98765\u{2011}43210",
        ] {
            assert_eq!(india(text).as_deref(), Some("+919876543210"), "{text}");
        }
        // begins like the country code and is none
        assert_eq!(india("9198765432").as_deref(), Some("+919198765432"));
        assert_eq!(india("080 2222 3333").as_deref(), Some("+918022223333"));
    }

    #[test]
    fn numbers_of_other_countries_keep_their_own_rules() {
        assert_eq!(india("+44 (0)20 7946 0958").as_deref(), Some("+442079460958"));
        assert_eq!(india("+39 02 3661 8300").as_deref(), Some("+390236618300"));
        assert_eq!(india("0039 02 3661 8300").as_deref(), Some("+390236618300"));
        assert_eq!(normalise("011 91 98765 43210", Some("us")).as_deref(), Some("+919876543210"));
        assert_eq!(normalise("(212) 555-2368", Some("US")).as_deref(), Some("+12125552368"));
    }

    #[test]
    fn without_a_region_a_number_needs_its_country_code() {
        assert_eq!(normalise("+91 98765 43210", None).as_deref(), Some("+919876543210"));
        assert_eq!(normalise("0091 98765 43210", None).as_deref(), Some("+919876543210"));
        for region in [None, Some("AQ"), Some("XX")] {
            assert_eq!(normalise("98765 43210", region), None);
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            "+",
            "-",
            "me",
            "12345",
            "98765",
            "+91 98765",
            "98765432109876",
            "1-800-FLOWERS",
            "+999 98765 43210",
            "98765 43210 ext 7",
            "9876543210,9876543211",
            "98765+43210",
            "00000000000",
            "+0000000000",
            "٩٨٧٦٥٤٣٢١٠",
            "999999999999999999999999",
        ] {
            assert_eq!(india(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_tells_its_country() {
        for (number, expected) in [
            ("+919876543210", Some("IN")),
            ("+442079460958", Some("GB")),
            ("+447624123456", Some("IM")),
            ("+390236618300", Some("IT")),
            ("+12125552368", Some("US")),
            ("+16137827274", Some("CA")),
            ("+77011234567", Some("KZ")),
            ("+80012345678", None),
            ("919876543210", None),
            ("+", None),
        ] {
            assert_eq!(country(number).as_deref(), expected, "{number}");
        }
    }

    #[test]
    fn the_example_numbers_of_every_country_are_numbers() {
        for plan in DATABASE.iter() {
            let known = plan.descriptors();
            for series in [known.fixed_line(), known.mobile()] {
                let Some(example) = series.and_then(Descriptor::example) else { continue };
                let number = format!("+{}{example}", plan.country_code());
                assert_eq!(normalise(&number, None).as_deref(), Some(&*number), "{}", plan.id());
                assert_eq!(normalise(&number, Some("IN")).as_deref(), Some(&*number));
                assert_eq!(normalise(example, Some(plan.id())).as_deref(), Some(&*number));
                // countries that share a code share some series, too
                let sharing = DATABASE.region(&plan.country_code()).unwrap();
                let found = country(&number).unwrap_or_else(|| "001".to_owned());
                assert!(sharing.contains(&&*found), "{number} is of {found}, not {}", plan.id());
            }
        }
    }

    proptest! {
        #[test]
        fn a_normal_number_stays(
            text in "[+]?[0-9 ()-]{0,24}",
            region in prop::sample::select(vec!["IN", "US", "BR", "AR", "MX", "IT", "GB", "SM", "MN"]),
        ) {
            if let Some(number) = normalise(&text, Some(region)) {
                prop_assert!(number.starts_with('+') && number.len() <= 16);
                prop_assert_eq!(normalise(&number, Some(region)), Some(number.clone()));
                let _ = country(&number);
            }
        }

        #[test]
        fn any_text_is_taken(text in "\\PC{0,30}", region in "[A-Z]{2}") {
            let _ = normalise(&text, Some(&region));
            let _ = country(&text);
        }
    }
}
