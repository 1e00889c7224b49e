//! What is to be sized: the site's `[[protect]]` tables, or without any each key over all requests and
//! over each route.

use crate::limiter::aws_waf::AwsWaf;
use crate::limiter::concurrency::Concurrency;
use crate::limiter::critical::Sizing;
use crate::limiter::fixed_window::{FixedWindow, Window};
use crate::limiter::gcra::Gcra;
use crate::limiter::nginx::{Delay, Nginx, Reclaim};
use crate::limiter::sliding_counter::{Anchor, Estimate, SlidingCounter};
use crate::limiter::sliding_log::SlidingLog;
use crate::limiter::token_bucket::{Refill, TokenBucket};
use crate::limiter::{Boundary, Limiter};
use crate::measure::population::top_places;
use crate::policy::{KeyPart, LimitKey, Weight};
use crate::site::Site;
use crate::site::facts::Protect;
use crate::site::key::KeySpec;
use crate::site::matching::Match;
use crate::traffic::Traffic;
use crate::units::rate::Rate;
use crate::units::span::{HOUR_US, MINUTE_US};
use crate::units::zone::Zone;

use super::critical::OpenLimit;

/// The algorithm where nobody asks for one: what it admits in any window is what it says, so its critical
/// limits are the peaks that people know.
const ALGORITHM: &str = "sliding-log";
/// Windows where nobody asks for any: a burst, a visit, a session.
const WINDOWS_US: [i64; 3] = [MINUTE_US, 10 * MINUTE_US, HOUR_US];
/// Headroom where nobody asks for any, thousandths.
const HEADROOM_MILLI: u64 = 1_500;
/// Most routes that are sized where nobody says which.
const MOST_ROUTES: usize = 20;
/// By how many leading bits IPv6 is grouped.
const IPV6_PREFIX: u8 = 64;

/// Something to be sized.
#[derive(Debug, Clone, PartialEq)]
pub struct ProtectTarget {
    /// Its name: that of the `[[protect]]`, or made of key and route.
    pub name: String,
    /// Whether the site file asks for it.
    pub asked_for: bool,
    /// Which requests.
    pub matching: Match,
    /// The routes of the match, as reports name them: `*` if it names none.
    pub route: String,
    /// By what key.
    pub key: LimitKey,
    /// What a request weighs: 1.
    pub weight: Weight,
    /// With what algorithm, as policies name it.
    pub algorithm: String,
    /// Windows to try, microseconds, ascending, at least one.
    pub windows_us: Vec<i64>,
    /// What the limit is above the busiest, thousandths, at least 1,000.
    pub headroom_milli: u64,
}

impl ProtectTarget {
    /// Whether it is a bucket, whose size is a rate and a burst.
    pub fn is_bucket(&self) -> bool {
        ["nginx", "token-bucket", "gcra"].contains(&self.algorithm.as_str())
    }

    /// The algorithm over a window, its limit left open; `None` for a bucket and for what has no limit
    /// to be sized. Where enforcement points differ it is the plain form: clocks of `zone`, the
    /// interpolated estimate, refused requests not counted.
    pub fn over(&self, window_us: i64, zone: Zone) -> Option<OpenLimit> {
        let limiter = match self.algorithm.as_str() {
            "sliding-log" => Limiter::SlidingLog(SlidingLog {
                limit: 0,
                window_us,
                boundary: Boundary::Open,
                count_refused: false,
            }),
            "fixed-window" => Limiter::FixedWindow(FixedWindow {
                limit: 0,
                window: Window::Clock { us: window_us, zone },
                count_refused: false,
            }),
            "sliding-counter" => Limiter::SlidingCounter(SlidingCounter {
                limit: 0,
                window_us,
                estimate: Estimate::Interpolated,
                anchor: Anchor::Clock(zone),
                count_refused: false,
            }),
            "aws-waf" => Limiter::AwsWaf(AwsWaf {
                limit: 0,
                window_us,
                detect_us: 0,
                release_us: 0,
                phase_us: 0,
            }),
            "concurrency" => Limiter::Concurrency(Concurrency { limit: 0 }),
            _ => return None,
        };
        Sizing::of(&limiter).ok().map(OpenLimit::new)
    }

    /// The bucket of a rate, its burst left open; `None` for what is no bucket.
    pub fn bucket(&self, rate: Rate) -> Option<OpenLimit> {
        let limiter = match self.algorithm.as_str() {
            "nginx" => Limiter::Nginx(Nginx {
                rate_milli: Nginx::stored_rate(rate),
                burst: 0,
                delay: Delay::None,
                reclaim: Reclaim::Busy,
            }),
            "token-bucket" => {
                Limiter::TokenBucket(TokenBucket { burst: 0, refill: Refill::Continuous(rate) })
            }
            "gcra" => Limiter::Gcra(Gcra { rate, burst_total: 0 }),
            _ => return None,
        };
        Sizing::of(&limiter).ok().map(OpenLimit::new)
    }
}

/// What is to be sized: the site's `[[protect]]` tables in their order; without any, each of the keys that
/// any request has, over all requests and over each of the busiest routes, at most 20. `keys` are those
/// that the traffic was read with.
pub fn protects(site: &Site, traffic: &Traffic, keys: &[KeySpec]) -> Vec<ProtectTarget> {
    if !site.protects.is_empty() {
        return site.protects.iter().filter_map(|protect| of(protect, site, keys)).collect();
    }
    let mut routes = vec![None];
    if traffic.places_are_routes {
        let busiest = top_places(traffic, MOST_ROUTES);
        let mut busiest: Vec<usize> =
            busiest.into_iter().filter_map(|place| usize::try_from(place).ok()).collect();
        busiest.sort_unstable();
        routes.extend(busiest.into_iter().map(Some));
    }
    let present =
        keys.iter().filter(|key| traffic.key(key).is_some_and(|column| column.distinct() > 0));
    present.flat_map(|key| routes.iter().map(move |route| by_default(key, *route, site))).collect()
}

/// A key over all requests, or over a route.
fn by_default(key: &KeySpec, route: Option<usize>, site: &Site) -> ProtectTarget {
    let matching = Match { route: route.into_iter().collect(), ..Match::default() };
    let place = place(&matching, site);
    let name = match route {
        None => format!("all requests per {}", key.name),
        Some(_) => format!("{place} per {}", key.name),
    };
    ProtectTarget {
        name,
        asked_for: false,
        matching,
        route: place,
        key: limit_key(&key.name, Some(key)),
        weight: one(),
        algorithm: ALGORITHM.to_owned(),
        windows_us: WINDOWS_US.to_vec(),
        headroom_milli: HEADROOM_MILLI,
    }
}

/// What a `[[protect]]` asks for; `None` if its key is none.
fn of(protect: &Protect, site: &Site, keys: &[KeySpec]) -> Option<ProtectTarget> {
    let known = keys.iter().find(|key| key.name == protect.key).cloned();
    let key = known.or_else(|| named(&protect.key, site));
    if key.is_none() && protect.key != "global" {
        return None;
    }
    let windows_us = if protect.windows_us.is_empty() {
        WINDOWS_US.to_vec()
    } else {
        protect.windows_us.clone()
    };
    Some(ProtectTarget {
        name: protect.name.clone(),
        asked_for: true,
        matching: protect.matching.clone(),
        route: place(&protect.matching, site),
        key: limit_key(&protect.key, key.as_ref()),
        weight: one(),
        algorithm: protect.algorithm.clone().unwrap_or_else(|| ALGORITHM.to_owned()),
        windows_us,
        headroom_milli: protect.headroom_milli,
    })
}

/// A key by the name that files give it, which a log may not have.
fn named(name: &str, site: &Site) -> Option<KeySpec> {
    if let Some(key) = site.keys.iter().find(|key| key.name == name) {
        return Some(key.clone());
    }
    match name {
        "ip" => Some(KeySpec::ip(IPV6_PREFIX)),
        "user" => Some(KeySpec::user()),
        _ if name.starts_with("ip/") => {
            let key = KeySpec::new("key", &[name.to_owned()], None, IPV6_PREFIX).ok()?;
            Some(KeySpec { name: name.to_owned(), ..key })
        }
        _ => None,
    }
}

fn limit_key(name: &str, key: Option<&KeySpec>) -> LimitKey {
    let parts = key.into_iter().cloned().map(KeyPart::Key).collect();
    LimitKey { name: name.to_owned(), parts }
}

fn one() -> Weight {
    Weight { default: 1, by_route: Vec::new() }
}

/// The routes of a match, as reports name them.
fn place(matching: &Match, site: &Site) -> String {
    let names = matching.route.iter().filter_map(|route| site.routes.get(*route));
    let names: Vec<&str> = names.map(|route| route.name.as_str()).collect();
    if names.is_empty() { "*".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::route::Route;
    use crate::traffic::{Events, NONE};
    use crate::units::address::Address;

    fn traffic() -> Traffic {
        let events = Events {
            addresses: vec![0; 4],
            places: vec![1, NONE, 1, 0],
            times_us: vec![0; 4],
            keys: vec![vec![NONE; 4]],
            ..Events::default()
        };
        Traffic {
            events,
            addresses: vec![Address::from_v4_bits(0xc000_0201)],
            places: vec!["login".to_owned(), "menu".to_owned()],
            places_are_routes: true,
            key_texts: vec![("user".to_owned(), Vec::new())],
            ..Traffic::default()
        }
    }

    fn site() -> Site {
        let route = |name: &str| Route::parse(&format!("{name}=GET /{name}")).unwrap();
        Site { routes: vec![route("login"), route("menu")], ..Site::default() }
    }

    #[test]
    fn without_protects_each_key_that_is_there_is_sized_over_all_and_over_each_route() {
        let keys = [KeySpec::ip(64), KeySpec::user()];
        let targets = protects(&site(), &traffic(), &keys);
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["all requests per ip", "login per ip", "menu per ip"]);
        let routes: Vec<&str> = targets.iter().map(|target| target.route.as_str()).collect();
        assert_eq!(routes, ["*", "login", "menu"]);
        assert!(targets.iter().all(|target| !target.asked_for && !target.windows_us.is_empty()));
        assert!(targets[0].over(MINUTE_US, Zone::UTC).is_some());
        assert!(targets[0].bucket(Rate { count: 1, per_us: 1 }).is_none());
    }

    #[test]
    fn protects_are_taken_as_written() {
        let protect = |key: &str, algorithm: Option<&str>| Protect {
            name: format!("by {key}"),
            matching: Match { route: vec![1], ..Match::default() },
            key: key.to_owned(),
            algorithm: algorithm.map(str::to_owned),
            windows_us: Vec::new(),
            headroom_milli: 2_000,
            refused_customer_cost: None,
        };
        let protects_of = vec![protect("global", Some("gcra")), protect("ip/24", None)];
        let site = Site { protects: protects_of, ..site() };
        let targets = protects(&site, &traffic(), &[KeySpec::ip(64)]);
        assert_eq!(targets.len(), 2);
        assert!(targets[0].key.parts.is_empty() && targets[0].is_bucket());
        assert_eq!((targets[0].route.as_str(), targets[0].headroom_milli), ("menu", 2_000));
        assert_eq!(targets[1].algorithm, "sliding-log");
        let KeyPart::Key(by_24) = &targets[1].key.parts[0] else { panic!("a key of its own") };
        assert_eq!(by_24.address_prefix(), Some((24, 64)));
        for algorithm in Limiter::NAMES {
            let target = ProtectTarget { algorithm: (*algorithm).to_owned(), ..targets[0].clone() };
            let rate = Rate { count: 10, per_us: MINUTE_US };
            let sized = target.over(MINUTE_US, Zone::UTC).or_else(|| target.bucket(rate));
            assert_eq!(sized.is_none(), ["spacing", "block"].contains(algorithm), "{algorithm}");
            assert_eq!(target.bucket(rate).is_some(), target.is_bucket());
            assert!(sized.is_none_or(|open| open.sizing.name() == *algorithm));
        }
    }
}
