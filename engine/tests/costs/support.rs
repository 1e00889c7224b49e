//! Files of the three cases and files out of texts.

use std::path::{Path, PathBuf};

use rust_decimal::Decimal;
use shadowcap_engine::cost::{Attacked, Figures, Seen, attack, figures};
use shadowcap_engine::policy::coverage::Ground;
use shadowcap_engine::policy::{self, Policy};
use shadowcap_engine::site::read::Folder;
use shadowcap_engine::site::{self, Site};
use shadowcap_engine::units::span::HOUR_US;

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the engine is in the repository")
        .join(path)
}

fn text_of(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A case's site.
pub(crate) fn case_site(case: &str) -> Site {
    let path = format!("policies/{case}/site.toml");
    read_site(&text_of(&path), &Folder::of(&repository(&path)))
}

/// One of a case's policies, with one text instead of another.
pub(crate) fn case_policy(case: &str, file: &str, change: (&str, &str), site: &Site) -> Policy {
    let text = text_of(&format!("policies/{case}/{file}"));
    assert!(change.0.is_empty() || text.contains(change.0), "{file} says nothing of {}", change.0);
    policy(&if change.0.is_empty() { text } else { text.replace(change.0, change.1) }, site)
}

/// A checked site.
pub(crate) fn site(text: &str) -> Site {
    read_site(text, &Folder::of(Path::new("site.toml")))
}

fn read_site(text: &str, files: &Folder) -> Site {
    site::read::read(text.as_bytes(), "site.toml", files)
        .unwrap_or_else(|problems| panic!("{problems:#?} in\n{text}"))
}

/// A checked policy.
pub(crate) fn policy(text: &str, site: &Site) -> Policy {
    policy::read::read(text.as_bytes(), "policy.toml", site)
        .unwrap_or_else(|problems| panic!("{problems:#?} in\n{text}"))
}

/// Money.
pub(crate) fn money(text: &str) -> Decimal {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The figures of a case's only action, without a log.
pub(crate) fn of_case(case: &str, file: &str, horizon_h: i64) -> Figures {
    let site = case_site(case);
    let policy = case_policy(case, file, ("", ""), &site);
    let ground = Ground { policy: &policy, site: Some(&site), now_us: None };
    figures(&ground, &site.actions[0], horizon_h * HOUR_US, Seen::default())
}

/// What a case's policy, with a change, does to an attack of its site.
pub(crate) fn attacked(case: &str, file: &str, change: (&str, &str), name: &str) -> Attacked {
    let site = case_site(case);
    let policy = case_policy(case, file, change, &site);
    let ground = Ground { policy: &policy, site: Some(&site), now_us: None };
    let facts = site.attacks.iter().find(|attack| attack.name == name);
    attack(&ground, facts.unwrap_or_else(|| panic!("no attack {name}"))).expect("it has a pace")
}
