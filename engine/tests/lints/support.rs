//! Files out of texts, as `check` reads them.

use std::path::{Path, PathBuf};

use shadowcap_engine::policy::lint::{Finding, lint};
use shadowcap_engine::policy::{self, Policy};
use shadowcap_engine::site::read::Folder;
use shadowcap_engine::site::{self, Site};
use shadowcap_engine::units::time::parse_rfc3339;

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the engine is in the repository")
        .join(path)
}

/// The instant of `--now`.
pub(crate) fn now_us() -> i64 {
    parse_rfc3339("2026-12-01T12:00:00Z").expect("an instant")
}

/// The codes found in a policy of these limits, each the lines of a `[[limit]]` without its name; the
/// first is called `one`, the second `two` …
pub(crate) fn codes(facts: &str, limits: &[&str]) -> Vec<&'static str> {
    found(facts, limits).into_iter().map(|finding| finding.code.text()).collect()
}

/// What is found in such a policy.
pub(crate) fn found(facts: &str, limits: &[&str]) -> Vec<Finding> {
    let names = ["one", "two", "three", "four"];
    let tables = names.iter().zip(limits);
    let tables: Vec<String> =
        tables.map(|(name, limit)| format!("[[limit]]\nname = \"{name}\"\n{limit}\n")).collect();
    let text = format!("name = \"test\"\n\n{}", tables.join("\n"));
    let facts = (!facts.is_empty()).then(|| site(facts));
    lint(&policy(&text, facts.as_ref()), facts.as_ref(), Some(now_us()))
}

/// So many in so long, of any interval.
pub(crate) fn log(limit: u64, window: &str) -> String {
    format!(
        "algorithm = \"sliding-log\"\nlimit = {limit}\nwindow = \"{window}\"\ncount_refused = false"
    )
}

/// An nginx limit without delays.
pub(crate) fn nginx(rate: &str, burst: u64) -> String {
    format!("algorithm = \"nginx\"\nrate = \"{rate}\"\nburst = {burst}\ndelay = \"none\"")
}

/// A bucket.
pub(crate) fn bucket(rate: &str, burst: u64) -> String {
    format!("algorithm = \"token-bucket\"\nrate = \"{rate}\"\nburst = {burst}")
}

/// A key and an algorithm, with more lines if need be.
pub(crate) fn by(key: &str, rest: &str) -> String {
    format!("key = \"{key}\"\n{rest}")
}

/// A checked site.
pub(crate) fn site(text: &str) -> Site {
    read_site(text.as_bytes(), "site.toml", &Folder::of(Path::new("site.toml")))
}

/// A checked policy; without a site, names are assumed as `check` does.
pub(crate) fn policy(text: &str, site: Option<&Site>) -> Policy {
    let read = match site {
        Some(site) => policy::read::read(text.as_bytes(), "policy.toml", site),
        None => policy::read::read_lenient(text.as_bytes(), "policy.toml", &Site::default())
            .map(|lenient| lenient.policy),
    };
    read.unwrap_or_else(|problems| panic!("{problems:#?} in\n{text}"))
}

/// A site file of the repository.
pub(crate) fn site_file(path: &Path) -> Site {
    read_site(&bytes(path), &path.to_string_lossy(), &Folder::of(path))
}

/// A policy file of the repository.
pub(crate) fn policy_file(path: &Path, site: &Site) -> Policy {
    policy::read::read(&bytes(path), &path.to_string_lossy(), site)
        .unwrap_or_else(|problems| panic!("{problems:#?}"))
}

fn read_site(bytes: &[u8], name: &str, files: &Folder) -> Site {
    site::read::read(bytes, name, files)
        .unwrap_or_else(|problems| panic!("{problems:#?} in\n{}", String::from_utf8_lossy(bytes)))
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
