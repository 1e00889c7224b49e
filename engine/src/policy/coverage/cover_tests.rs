//! Tests of the algebra of matches: plain cases, and random matches held against every request of a
//! small world.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::site::pattern::Pattern;

/// Routes: 0 GET menus, 1 POST /otp, 2 anything under /static.
fn site() -> Site {
    let routes = ["menu=GET /menu/{city}", "otp=POST /otp", "static=* /static/**"];
    Site { routes: routes.map(|text| Route::parse(text).unwrap()).to_vec(), ..Site::default() }
}

struct Request {
    method: &'static str,
    path: &'static str,
    label: Option<usize>,
    user: bool,
    phone: &'static str,
    status: u16,
}

fn world() -> Vec<Request> {
    let mut all = Vec::new();
    for method in ["GET", "POST"] {
        for path in ["/menu/pune", "/otp", "/static/a.js", "/other"] {
            for label in [None, Some(0), Some(1)] {
                for user in [false, true] {
                    for (phone, status) in [("+91981", 200), ("+4930", 200), ("+91981", 404)] {
                        all.push(Request { method, path, label, user, phone, status });
                    }
                }
            }
        }
    }
    all
}

/// What a match means, as plainly as it can be said.
fn holds(matching: &Match, request: &Request) -> bool {
    let (method, path) = (request.method.as_bytes(), request.path.as_bytes());
    let route = site().routes.iter().position(|route| route.matches(method, None, path));
    let text = |of: &TextField| if *of == TextField::Method { method } else { path };
    (matching.route.is_empty() || route.is_some_and(|route| matching.route.contains(&route)))
        && matching.texts.iter().all(|condition| condition.fits(text(&condition.of)))
        && (matching.label.is_empty() || request.label.is_some_and(|l| matching.label.contains(&l)))
        && request.label.is_none_or(|label| !matching.not_label.contains(&label))
        && matching.logged_in.is_none_or(|wanted| wanted == request.user)
        && matching
            .key_prefix
            .values()
            .all(|prefixes| prefixes.iter().any(|prefix| request.phone.starts_with(prefix)))
        && (matching.status.is_empty()
            || matching.status.iter().any(|range| range.contains(request.status)))
        && matching.not.as_deref().is_none_or(|not| !holds(not, request))
}

fn path(written: &str) -> TextPattern {
    TextPattern::Path { written: written.to_owned(), compiled: Pattern::parse(written).unwrap() }
}

fn on_path(patterns: &[&str]) -> TextCondition {
    TextCondition { of: TextField::Path, any: patterns.iter().map(|text| path(text)).collect() }
}

fn on_method(method: &str) -> TextCondition {
    TextCondition { of: TextField::Method, any: vec![TextPattern::Literal(method.to_owned())] }
}

fn routes(route: &[usize]) -> Match {
    Match { route: route.to_vec(), ..Match::default() }
}

fn texts(texts: Vec<TextCondition>) -> Match {
    Match { texts, ..Match::default() }
}

fn not(matching: Match) -> Match {
    Match { not: Some(Box::new(matching)), ..Match::default() }
}

fn prefix(prefix: &str) -> Match {
    let key_prefix = BTreeMap::from([("phone".to_owned(), vec![prefix.to_owned()])]);
    Match { key_prefix, ..Match::default() }
}

fn covered(outer: &Match, inner: &Match) -> bool {
    covers(outer, inner, Some(&site()))
}

fn shared(one: &Match, other: &Match) -> bool {
    overlaps(one, other, Some(&site()))
}

#[test]
fn everything_covers_all_and_is_covered_by_nothing_less() {
    let all = Match::default();
    for less in [routes(&[0]), not(routes(&[0])), prefix("+91"), texts(vec![on_path(&["/otp"])])] {
        assert!(covered(&all, &less) && covered(&less, &less) && !covered(&less, &all));
    }
}

#[test]
fn routes_are_sets_and_not_takes_them_away() {
    assert!(covered(&routes(&[0, 1]), &routes(&[1])) && !covered(&routes(&[1]), &routes(&[0, 1])));
    let rest = not(routes(&[1, 2]));
    assert!(covered(&rest, &routes(&[0])) && !covered(&rest, &routes(&[1])));
    assert!(!shared(&rest, &routes(&[1])) && shared(&rest, &routes(&[0, 1])));
    assert!(covered(&not(routes(&[1])), &rest) && !covered(&rest, &not(routes(&[1]))));
    assert!(shared(&rest, &not(routes(&[0]))), "requests without a route");
}

#[test]
fn labels_and_what_has_none_of_them() {
    let label = |label: &[usize], not_label: &[usize]| Match {
        label: label.to_vec(),
        not_label: not_label.to_vec(),
        ..Match::default()
    };
    assert!(!shared(&label(&[0], &[]), &label(&[], &[0])));
    assert!(shared(&label(&[0, 1], &[]), &label(&[], &[0])));
    assert!(covered(&label(&[0, 1], &[]), &label(&[1], &[])));
    assert!(covered(&label(&[], &[0]), &label(&[], &[0, 1])));
    assert!(!covered(&label(&[], &[0, 1]), &label(&[], &[0])));
}

#[test]
fn routes_say_which_methods_and_paths_they_have() {
    assert!(!shared(&texts(vec![on_method("GET")]), &routes(&[1])));
    assert!(covered(&texts(vec![on_method("POST")]), &routes(&[1])));
    assert!(!covered(&texts(vec![on_method("GET")]), &routes(&[2])), "any method");
    assert!(covered(&texts(vec![on_path(&["/menu/*", "/x"])]), &routes(&[0])));
    assert!(!shared(&texts(vec![on_path(&["/search"])]), &routes(&[0, 1])));
    assert!(!shared(&texts(vec![on_path(&["/a/**"])]), &texts(vec![on_path(&["/b", "/c"])])));
}

#[test]
fn prefixes_of_keys_nest() {
    assert!(covered(&prefix("+91"), &prefix("+919")) && !covered(&prefix("+919"), &prefix("+91")));
    assert!(!shared(&prefix("+91"), &prefix("+49")) && shared(&prefix("+9"), &prefix("+91")));
    let abroad = not(prefix("+91"));
    assert!(!shared(&abroad, &prefix("+919")) && covered(&abroad, &prefix("+49")));
}

#[test]
fn a_limit_covers_an_action_whatever_the_response() {
    let ok = vec![StatusRange { first: 200, last: 299 }];
    let action = Match { status: ok.clone(), ..routes(&[1]) };
    assert!(covered(&routes(&[1]), &action) && !covered(&action, &routes(&[1])));
    assert!(covers_statuses(&[StatusRange { first: 100, last: 599 }], &ok));
    assert!(!covers_statuses(&ok, &[]) && !covers_statuses(&[], &ok));
}

#[test]
fn not_within_not_within_not_comes_to_an_end() {
    let mut deep = routes(&[0]);
    for _ in 0..500 {
        deep = not(deep);
    }
    assert!(shared(&deep, &deep), "the careful answer");
}

fn leaf() -> impl Strategy<Value = Match> {
    let condition = prop_oneof![
        Just(Vec::new()),
        prop::sample::select(vec!["/menu/*", "/otp", "/static/**", "/{x}/{y}", "/**"])
            .prop_map(|text| vec![on_path(&[text])]),
        prop::sample::select(vec!["GET", "POST"]).prop_map(|method| vec![on_method(method)]),
    ];
    let subset = || prop::collection::vec(0..2_usize, 0..2);
    (
        prop::collection::vec(0..3_usize, 0..3),
        condition,
        subset(),
        subset(),
        prop::option::of(any::<bool>()),
        prop::option::of(prop::sample::select(vec!["+91", "+4", "+919"])),
        prop::sample::select(vec![None, Some((200, 299)), Some((404, 404))]),
    )
        .prop_map(|(route, texts, label, not_label, logged_in, begins, status)| Match {
            route,
            texts,
            label,
            not_label,
            logged_in,
            key_prefix: begins.map_or_else(BTreeMap::new, |text| prefix(text).key_prefix),
            status: status.map(|(first, last)| StatusRange { first, last }).into_iter().collect(),
            ..Match::default()
        })
}

fn any_match() -> impl Strategy<Value = Match> {
    leaf().prop_recursive(3, 4, 1, |inner| {
        (leaf(), inner).prop_map(|(leaf, not)| Match { not: Some(Box::new(not)), ..leaf })
    })
}

proptest! {
    #[test]
    fn what_is_sure_holds_for_every_request(one in any_match(), two in any_match()) {
        for request in world() {
            let (in_one, in_two) = (holds(&one, &request), holds(&two, &request));
            if in_two && !in_one {
                prop_assert!(!covered(&one, &two), "{one:?} {two:?}");
            }
            if in_one && in_two {
                prop_assert!(shared(&one, &two), "{one:?} {two:?}");
            }
        }
        prop_assert!(covered(&one, &one) || one.not.is_some());
        prop_assert_eq!(shared(&one, &two), shared(&two, &one));
    }
}
