//! Curves equal replays: at any size, what a curve tells is what the reference replay of a policy of that
//! one limit counts.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::limiter::Limiter;
use crate::limiter::critical::Sizing;
use crate::limiter::nginx::{Nginx, Reclaim};
use crate::policy::{Counters, Limit, MissingKey, Mode, Policy};
use crate::recommend::critical::critical_limits;
use crate::replay::arrangement::Arrangement;
use crate::replay::equal::cases::{Case, any_case};
use crate::replay::keys::Keys;
use crate::replay::observer::{Asked, Ended, Observer};
use crate::replay::prepare::{Memo, Prepared};
use crate::replay::reference;
use crate::replay::variant::Variant;
use crate::site::labels::LabelIndex;
use crate::traffic::NONE;
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::Selector;

/// How many cases are compared unless `SHADOWCAP_CASES` says.
const CASES: u32 = 10_000;

/// Which requests are refused.
#[derive(Default)]
struct Refused(Vec<usize>);

impl Observer for Refused {
    fn asked(&mut self, _: &Asked) {}

    fn ended(&mut self, ended: &Ended) {
        if ended.refused_by.is_some() {
            self.0.push(ended.event);
        }
    }
}

/// The first limit of a generated policy, without what stands around limiters but for bans, which
/// change no critical limit.
fn bare(case: &Case) -> Limit {
    let limit = case.policy.limits[0].clone();
    let limiter = match limit.limiter {
        Limiter::Nginx(nginx) => Limiter::Nginx(Nginx { reclaim: Reclaim::None, ..nginx }),
        other => other,
    };
    Limit {
        limiter,
        at: None,
        group: None,
        zone: None,
        mode: Mode::Enforce,
        alarm: None,
        expires_us: None,
        missing_key: MissingKey::Skip,
        queue: None,
        counters: Counters::Shared,
        store: None,
        count_when: None,
        ..limit
    }
}

/// What the reference replay of a policy refuses.
fn replayed(case: &Case, policy: &Policy, selector: &Selector<'_>) -> Bitmap {
    let traffic = &case.traffic;
    let prepared = Prepared::new(policy, &case.site, traffic, selector, &mut Memo::default());
    let arrangement = Arrangement::bunched(traffic);
    let (variant, mut refused) = (Variant::default(), Refused::default());
    let going = || false;
    reference::replay(&prepared, traffic, selector, &arrangement, &variant, &going, &mut refused);
    Bitmap::of(traffic.len(), |event| refused.0.contains(&event))
}

fn compared(case: &Case, chosen: u64) -> Result<(), TestCaseError> {
    let limit = bare(case);
    let Ok(sizing) = Sizing::of(&limit.limiter) else { return Ok(()) };
    let open = OpenLimit { sizing, tick_us: limit.tick_us };
    let (traffic, labels) = (&case.traffic, LabelIndex::new(&[]));
    let selector = Selector::new(traffic, &[], &labels);
    let cohorts = Cohorts::new(&case.site, traffic, &selector);
    let (keys, set) = (Keys::new(&limit.key, traffic), selector.select(&limit.matching));
    let arrangement = Arrangement::bunched(traffic);
    let asked = AskedKeys::new(traffic, &arrangement, &set, &keys, &limit.weight);
    let plain = critical_limits(&asked, std::slice::from_ref(&open));
    let asked = asked.by_cohort(&cohorts);
    let critical = critical_limits(&asked, std::slice::from_ref(&open)).pop().unwrap();
    prop_assert_eq!(&plain[0].limits, &critical.limits);
    for (key, limit) in critical.limits.iter().enumerate() {
        let of_cohorts = Cohort::ALL.map(|cohort| critical.of(cohort)[key]);
        prop_assert_eq!(of_cohorts.iter().max(), Some(limit));
        prop_assert!(*limit == 0 || asked.requests_of(key) > 0);
    }
    let mut sizes = critical.limits.clone();
    sizes.extend(critical.limits.iter().map(|limit| limit.saturating_sub(1)));
    sizes.push(chosen);
    sizes.sort_unstable();
    sizes.dedup();
    let points = curve(&asked, &cohorts, &open, &critical, &sizes);
    prop_assert_eq!(points.len(), sizes.len().min(MOST_POINTS));
    for point in points {
        let limiter = open.sizing.limiter(point.size);
        let of_size = Limit { limiter, ..limit.clone() };
        let policy = Policy { limits: vec![of_size], ..Policy::default() };
        let refused = replayed(case, &policy, &selector);
        let keys_refused: BTreeSet<u32> = refused.iter().map(|event| keys.of(event)).collect();
        prop_assert!(!keys_refused.contains(&NONE));
        prop_assert_eq!(point.keys_refused, u64::try_from(keys_refused.len()).unwrap());
        if limit.ban.is_none() {
            let requests = Cohort::ALL.map(|cohort| refused.count_both(cohorts.requests(cohort)));
            prop_assert_eq!(point.requests_refused, requests, "{:?}", point);
            prop_assert_eq!(point.identities_refused, cohorts.identities_in(&refused));
        }
    }
    let all = Cohort::ALL.map(|cohort| {
        let mut with_key = set.clone();
        with_key.and(&Bitmap::of(traffic.len(), |event| keys.of(event) != NONE));
        with_key.count_both(cohorts.requests(cohort))
    });
    prop_assert_eq!(requests(&asked, &cohorts), all);
    Ok(())
}

#[test]
fn curves_equal_replays() {
    let cases = std::env::var("SHADOWCAP_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(CASES);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let done = TestRunner::new(config)
        .run(&(any_case(), 0_u64..12), |(case, chosen)| compared(&case, chosen));
    done.unwrap();
}

#[test]
fn a_busy_nginx_takes_no_more_burst_than_one_that_frees_nothing() {
    let config = Config { cases: CASES / 10, failure_persistence: None, ..Config::default() };
    let done = TestRunner::new(config).run(&any_case(), |case| {
        let limit = bare(&case);
        let Limiter::Nginx(nginx) = limit.limiter else { return Ok(()) };
        let busy = Nginx { reclaim: Reclaim::Busy, ..nginx };
        let open = OpenLimit::new(Sizing::of(&Limiter::Nginx(busy)).unwrap());
        let labels = LabelIndex::new(&[]);
        let selector = Selector::new(&case.traffic, &[], &labels);
        let (keys, set) = (Keys::new(&limit.key, &case.traffic), selector.select(&limit.matching));
        let arrangement = Arrangement::bunched(&case.traffic);
        let asked = AskedKeys::new(&case.traffic, &arrangement, &set, &keys, &limit.weight);
        let critical = critical_limits(&asked, std::slice::from_ref(&open)).pop().unwrap();
        let most = critical.limits.iter().copied().max().unwrap_or(0);
        let limiter = open.sizing.limiter(most);
        let limit = Limit { limiter, ban: None, tick_us: open.tick_us, ..limit };
        let policy = Policy { limits: vec![limit], ..Policy::default() };
        prop_assert!(replayed(&case, &policy, &selector).is_empty());
        Ok(())
    });
    done.unwrap();
}
