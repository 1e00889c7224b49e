//! Matches as sets of requests: whether one surely holds all of another's, whether two may share one.
//! Both err to their careful side: what isn't plain is "not covered" and "may overlap".

use std::collections::BTreeSet;

use crate::site::Site;
use crate::site::matching::{Match, StatusRange, TextCondition, TextField, TextPattern};
use crate::site::route::{Route, RoutePath};

/// How deep `not` in `not` is looked into.
const DEEPEST: u32 = 6;

/// Whether every request of `inner` is surely one of `outer`. `site` is the one whose routes they name.
pub fn covers(outer: &Match, inner: &Match, site: Option<&Site>) -> bool {
    Sets { site, depth: DEEPEST }.covers(outer, inner)
}

/// Whether some request may be both of `one` and of `other`; `false` is sure.
pub fn overlaps(one: &Match, other: &Match, site: Option<&Site>) -> bool {
    Sets { site, depth: DEEPEST }.overlaps(one, other)
}

/// The routes that requests of a match can have. A request has one route or none.
enum Routes {
    /// One of these.
    Only(BTreeSet<usize>),
    /// Any but these, or none.
    AllBut(BTreeSet<usize>),
}

impl Routes {
    fn of(matching: &Match) -> Self {
        let excluded: BTreeSet<usize> = matching
            .not
            .as_deref()
            .filter(|not| is_about_routes_alone(not))
            .map_or_else(BTreeSet::new, |not| not.route.iter().copied().collect());
        if matching.route.is_empty() {
            return Self::AllBut(excluded);
        }
        Self::Only(matching.route.iter().copied().filter(|r| !excluded.contains(r)).collect())
    }

    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Only(one), Self::Only(two)) => !one.is_disjoint(two),
            (Self::Only(one), Self::AllBut(two)) | (Self::AllBut(two), Self::Only(one)) => {
                !one.is_subset(two)
            }
            // requests without a route are in both
            (Self::AllBut(_), Self::AllBut(_)) => true,
        }
    }

    fn is_within(&self, outer: &[usize]) -> bool {
        match self {
            Self::Only(routes) => routes.iter().all(|route| outer.contains(route)),
            Self::AllBut(_) => false,
        }
    }
}

struct Sets<'s> {
    site: Option<&'s Site>,
    depth: u32,
}

impl Sets<'_> {
    fn deeper(&self) -> Option<Self> {
        Some(Self { site: self.site, depth: self.depth.checked_sub(1)? })
    }

    fn covers(&self, outer: &Match, inner: &Match) -> bool {
        let routes = Routes::of(inner);
        let labels = |ours: &[usize], theirs: &[usize]| theirs.iter().all(|l| ours.contains(l));
        (outer.route.is_empty() || routes.is_within(&outer.route))
            && outer.texts.iter().all(|condition| self.implies(inner, &routes, condition))
            && (outer.label.is_empty()
                || (!inner.label.is_empty() && labels(&outer.label, &inner.label)))
            && labels(&inner.not_label, &outer.not_label)
            && (outer.logged_in.is_none() || outer.logged_in == inner.logged_in)
            && outer.key_prefix.iter().all(|(key, prefixes)| {
                inner.key_prefix.get(key).is_some_and(|theirs| {
                    theirs.iter().all(|t| prefixes.iter().any(|p| t.starts_with(p.as_str())))
                })
            })
            && outer.key_country.iter().all(|(key, countries)| {
                inner
                    .key_country
                    .get(key)
                    .is_some_and(|theirs| theirs.iter().all(|c| countries.contains(c)))
            })
            && (outer.status.is_empty() || covers_statuses(&outer.status, &inner.status))
            && outer.not.as_deref().is_none_or(|not| self.avoids(inner, not))
    }

    /// Whether no request of `matching` is one of `not`.
    fn avoids(&self, matching: &Match, not: &Match) -> bool {
        let Some(sets) = self.deeper() else { return false };
        !sets.overlaps(matching, not)
            || matching.not.as_deref().is_some_and(|theirs| sets.covers(theirs, not))
    }

    /// Whether every request of `inner` fulfils a condition on a text.
    fn implies(&self, inner: &Match, routes: &Routes, condition: &TextCondition) -> bool {
        let by_text = inner.texts.iter().any(|theirs| {
            theirs.of == condition.of
                && theirs.any.iter().all(|t| condition.any.iter().any(|c| covers_text(c, t)))
        });
        let by_route = || match (routes, self.site) {
            (Routes::Only(routes), Some(site)) => routes.iter().all(|route| {
                site.routes.get(*route).is_some_and(|route| route_implies(route, condition))
            }),
            _ => false,
        };
        by_text || by_route()
    }

    fn overlaps(&self, one: &Match, other: &Match) -> bool {
        let (routes, others) = (Routes::of(one), Routes::of(other));
        routes.meets(&others)
            && self.can_hold(&routes, other)
            && self.can_hold(&others, one)
            && one
                .texts
                .iter()
                .all(|condition| other.texts.iter().all(|theirs| may_share_text(condition, theirs)))
            && may_have_label(one, other)
            && may_have_label(other, one)
            && (one.logged_in.is_none()
                || other.logged_in.is_none()
                || one.logged_in == other.logged_in)
            && may_share_keys(one, other)
            && (one.status.is_empty()
                || other.status.is_empty()
                || one
                    .status
                    .iter()
                    .any(|a| other.status.iter().any(|b| a.first <= b.last && b.first <= a.last)))
            && !self.excludes(one, other)
            && !self.excludes(other, one)
    }

    /// Whether `one` leaves all of `other` out by its `not`.
    fn excludes(&self, one: &Match, other: &Match) -> bool {
        let Some(not) = one.not.as_deref() else { return false };
        self.deeper().is_some_and(|sets| sets.covers(not, other))
    }

    /// Whether one of the routes can have requests that fulfil the conditions of a match on texts.
    fn can_hold(&self, routes: &Routes, matching: &Match) -> bool {
        let (Routes::Only(routes), Some(site)) = (routes, self.site) else { return true };
        routes.iter().any(|route| {
            site.routes.get(*route).is_none_or(|route| {
                matching.texts.iter().all(|condition| route_may_hold(route, condition))
            })
        })
    }
}

/// Whether a match names routes and nothing else.
fn is_about_routes_alone(matching: &Match) -> bool {
    let rest = Match { route: Vec::new(), ..matching.clone() };
    !matching.route.is_empty() && rest.is_all()
}

/// Whether every text that fits `theirs` surely fits `ours`.
fn covers_text(ours: &TextPattern, theirs: &TextPattern) -> bool {
    match (ours, theirs) {
        _ if ours == theirs => true,
        (_, TextPattern::Literal(text)) => ours.fits(text.as_bytes()),
        (TextPattern::Path { compiled: ours, .. }, TextPattern::Path { compiled: theirs, .. }) => {
            ours.covers(theirs)
        }
        _ => false,
    }
}

/// Whether two conditions may be fulfilled by one request.
fn may_share_text(one: &TextCondition, other: &TextCondition) -> bool {
    one.of != other.of || one.any.iter().any(|a| other.any.iter().any(|b| may_share(a, b)))
}

fn may_share(one: &TextPattern, other: &TextPattern) -> bool {
    match (one, other) {
        (TextPattern::Literal(text), pattern) | (pattern, TextPattern::Literal(text)) => {
            pattern.fits(text.as_bytes())
        }
        (TextPattern::Path { compiled: one, .. }, TextPattern::Path { compiled: two, .. }) => {
            one.overlaps(two)
        }
        _ => true,
    }
}

/// Whether every request of a route fulfils a condition.
fn route_implies(route: &Route, condition: &TextCondition) -> bool {
    let all =
        |texts: &[Vec<u8>]| !texts.is_empty() && texts.iter().all(|text| condition.fits(text));
    match condition.of {
        TextField::Method => all(route.methods()),
        TextField::Host => all(route.hosts()),
        TextField::Path => condition.any.iter().any(|pattern| match (pattern, route.path()) {
            (TextPattern::Path { compiled, .. }, RoutePath::Pattern(path)) => compiled.covers(path),
            (TextPattern::Path { written, .. }, _) => written == "**" || written == "/**",
            _ => false,
        }),
        TextField::UserAgent | TextField::Field(_) => false,
    }
}

/// Whether a request of a route may fulfil a condition.
fn route_may_hold(route: &Route, condition: &TextCondition) -> bool {
    let any = |texts: &[Vec<u8>]| texts.is_empty() || texts.iter().any(|text| condition.fits(text));
    match condition.of {
        TextField::Method => any(route.methods()),
        TextField::Host => any(route.hosts()),
        TextField::Path => condition.any.iter().any(|pattern| match (pattern, route.path()) {
            (TextPattern::Path { compiled, .. }, RoutePath::Pattern(path)) => {
                compiled.overlaps(path)
            }
            (TextPattern::Literal(text), RoutePath::Pattern(path)) => path.matches(text.as_bytes()),
            _ => true,
        }),
        TextField::UserAgent | TextField::Field(_) => true,
    }
}

/// Whether addresses with a label of `one` may be among those of `other`.
fn may_have_label(one: &Match, other: &Match) -> bool {
    one.label.is_empty() || one.label.iter().any(|label| !other.not_label.contains(label))
}

/// Whether the keys of one request may fulfil both.
fn may_share_keys(one: &Match, other: &Match) -> bool {
    let prefixes = one.key_prefix.iter().all(|(key, ours)| {
        other.key_prefix.get(key).is_none_or(|theirs| {
            ours.iter().any(|a| {
                theirs.iter().any(|b| a.starts_with(b.as_str()) || b.starts_with(a.as_str()))
            })
        })
    });
    let countries = one.key_country.iter().all(|(key, ours)| {
        other.key_country.get(key).is_none_or(|theirs| ours.iter().any(|c| theirs.contains(c)))
    });
    prefixes && countries
}

/// Whether every status of `inner` is one of `outer`; no list is every status.
pub fn covers_statuses(outer: &[StatusRange], inner: &[StatusRange]) -> bool {
    !inner.is_empty()
        && inner.iter().all(|range| {
            (range.first..=range.last).all(|status| outer.iter().any(|o| o.contains(status)))
        })
}

#[cfg(test)]
#[path = "cover_tests.rs"]
mod tests;
