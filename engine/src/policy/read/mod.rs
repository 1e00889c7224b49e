//! Reads a policy file: text and site → checked [`Policy`], or every problem at once.

mod algorithm;
mod groups;
mod key;
mod limit;
mod shape;
mod wrappers;

pub use shape::POLICY;

use self::limit::Reading;
use super::Policy;
use crate::document::{Document, Problem, Table};
use crate::site::Site;
use crate::site::facts::{Label, Tier};
use crate::site::read::names::{Names, Of};
use crate::site::read::{make, unique, utf8};
use crate::site::route::{Route, RoutePath};
use crate::units::slug::slug;

/// A policy that was read without knowing all of its site.
#[derive(Debug, Clone)]
pub struct Lenient {
    /// The policy; its indices are those of `site`.
    pub policy: Policy,
    /// The site, and behind it what the policy names and the site doesn't: routes that match every
    /// path, empty labels, keys that are fields of the log, tiers of one instance.
    pub site: Site,
    /// What was assumed.
    pub notes: Vec<Problem>,
}

/// Reads a policy. `file` is its name for messages.
///
/// # Errors
/// All problems of the file, by place.
pub fn read(bytes: &[u8], file: &str, site: &Site) -> Result<Policy, Vec<Problem>> {
    read_with(bytes, file, site, false).map(|lenient| lenient.policy)
}

/// Reads a policy; routes, labels, keys and tiers that the site doesn't define are assumed, and noted.
///
/// # Errors
/// All other problems of the file, by place.
pub fn read_lenient(bytes: &[u8], file: &str, site: &Site) -> Result<Lenient, Vec<Problem>> {
    read_with(bytes, file, site, true)
}

/// Whether a file is a policy: it has limits, or nothing but a name.
pub fn is_policy(text: &str) -> bool {
    let document = Document::parse("", text);
    let keys = document.keys();
    keys.contains(&"limit") || keys == ["name"]
}

fn read_with(
    bytes: &[u8],
    file: &str,
    site: &Site,
    lenient: bool,
) -> Result<Lenient, Vec<Problem>> {
    let text = utf8(bytes, file)?;
    let document = Document::parse(file, text);
    let names = Names::of_site(site, lenient);
    let (policy, tiers) = {
        let root = document.root(&POLICY);
        let reading = Reading::new(&names, site, lenient);
        let tables = root.tables("limit");
        unique(&tables, slug);
        let limits = tables.iter().filter_map(|table| Some((reading.limit(table)?, *table)));
        let limits: Vec<(super::Limit, Table<'_>)> = limits.collect();
        let policy = Policy {
            name: root.text("name").unwrap_or_default().to_owned(),
            file: file.to_owned(),
            limits: groups::grouped(limits),
        };
        (policy, reading.assumed_tiers())
    };
    let notes = document.notes();
    let problems = document.into_problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Lenient { policy, site: assumed(site, &names, tiers), notes })
}

/// A site with what was assumed.
fn assumed(site: &Site, names: &Names, tiers: Vec<Tier>) -> Site {
    let mut site = site.clone();
    for name in names.all(Of::Route).into_iter().skip(site.routes.len()) {
        if let Ok(route) = any_route(&name) {
            site.routes.push(route);
        }
    }
    for name in names.all(Of::Label).into_iter().skip(site.labels.len()) {
        site.labels.push(Label { name, ranges: Vec::new() });
    }
    for name in names.all(Of::Key).into_iter().skip(site.keys.len()) {
        if let Ok(key) = make::field_key(&name) {
            site.keys.push(key);
        }
    }
    site.tiers.extend(tiers);
    site
}

fn any_route(name: &str) -> Result<Route, crate::site::route::RouteError> {
    Route::new(name.to_owned(), Vec::new(), Vec::new(), RoutePath::Any)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
