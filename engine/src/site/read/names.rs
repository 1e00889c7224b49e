//! Names that a file refers to: routes, labels, keys. A name that nothing defines is a problem with the
//! nearest known one; read leniently, it is assumed to exist, and noted.

use std::cell::RefCell;

use crate::document::{Code, Item, Problem, nearest};
use crate::site::Site;
use crate::site::key::KeySpec;

/// A kind of name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// A route.
    Route,
    /// An address list.
    Label,
    /// A key.
    Key,
}

/// Keys that need no definition, in the order of messages.
const BUILT_IN: [&str; 2] = ["ip", "user"];

/// The names that are defined; indices are those of the site's lists.
#[derive(Debug, Default)]
pub(crate) struct Names {
    routes: RefCell<Vec<String>>,
    labels: RefCell<Vec<String>>,
    keys: RefCell<Vec<String>>,
    /// Keys that aren't phone numbers.
    no_phones: Vec<String>,
    lenient: bool,
}

impl Names {
    /// Of lists, in the site's order.
    pub(crate) fn new(routes: Vec<String>, labels: Vec<String>, keys: Vec<String>) -> Self {
        let (routes, labels, keys) = (routes.into(), labels.into(), keys.into());
        Self { routes, labels, keys, no_phones: Vec::new(), lenient: false }
    }

    /// Of a checked site; `lenient` assumes what isn't there.
    pub(crate) fn of_site(site: &Site, lenient: bool) -> Self {
        let routes = site.routes.iter().map(|route| route.name.clone()).collect();
        let labels = site.labels.iter().map(|label| label.name.clone()).collect();
        let keys = site.keys.iter().map(|key| key.name.clone()).collect();
        let mut names = Self { lenient, ..Self::new(routes, labels, keys) };
        names.tell_phones(&site.keys);
        names
    }

    /// Learns which keys are phone numbers.
    pub(crate) fn tell_phones(&mut self, keys: &[KeySpec]) {
        let others = keys.iter().filter(|key| key.normalise.is_none());
        self.no_phones = others.map(|key| key.name.clone()).collect();
    }

    /// Whether a key can be a phone number; one that isn't known may be.
    pub(crate) fn may_be_phone(&self, name: &str) -> bool {
        name != "ip" && !name.starts_with("ip/") && self.no_phones.iter().all(|key| key != name)
    }

    /// All names of a kind, those that were assumed last.
    pub(crate) fn all(&self, of: Of) -> Vec<String> {
        self.list(of).borrow().clone()
    }

    fn list(&self, of: Of) -> &RefCell<Vec<String>> {
        match of {
            Of::Route => &self.routes,
            Of::Label => &self.labels,
            Of::Key => &self.keys,
        }
    }

    /// The indices of what a text or list of texts names.
    pub(crate) fn find_all(&self, of: Of, item: &Item<'_>) -> Vec<usize> {
        let find = |part: &Item<'_>| self.find(of, part.text()?, part);
        let mut found: Vec<usize> = item.parts().iter().filter_map(find).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The index of a name; the item is where it stands.
    pub(crate) fn find(&self, of: Of, name: &str, item: &Item<'_>) -> Option<usize> {
        let list = self.list(of);
        if let Some(found) = list.borrow().iter().position(|known| known == name) {
            return Some(found);
        }
        let problem = self.unknown(of, name, item);
        if !self.lenient {
            item.report(problem);
            return None;
        }
        item.note(problem);
        let mut list = list.borrow_mut();
        list.push(name.to_owned());
        Some(list.len() - 1)
    }

    /// Checks a key's name: `ip`, `ip/N`, `user` or a defined one.
    pub(crate) fn check_key(&self, name: &str, item: &Item<'_>) {
        let address = name.strip_prefix("ip/").is_some_and(|prefix| {
            prefix.parse::<u8>().is_ok_and(|bits| bits <= 128 && !prefix.starts_with('+'))
        });
        if !address && !BUILT_IN.contains(&name) {
            let _ = self.find(Of::Key, name, item);
        }
    }

    fn unknown(&self, of: Of, name: &str, item: &Item<'_>) -> Problem {
        let (what, help) = match of {
            Of::Route => ("route", "define it in the site file as [[route]]"),
            Of::Label => ("label", "define it in the site file as [labels.NAME]"),
            Of::Key => ("key", "define it in the site file under [keys]"),
        };
        let list = self.list(of).borrow();
        let built_in: &[&str] = if of == Of::Key { &BUILT_IN } else { &[] };
        let known: Vec<&str> =
            built_in.iter().copied().chain(list.iter().map(String::as_str)).collect();
        let problem = item.wrong(Code::UnknownName, format!("there is no {what} `{name}`"));
        let problem = if known.is_empty() { problem } else { problem.allowed(known.join(", ")) };
        match nearest(name, &known) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help(help),
        }
    }
}
