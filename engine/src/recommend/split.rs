//! What tells customers from attackers where a limit by one key doesn't: part of the requests (by address
//! list, by login, by the beginning of a key), or another key. Each is sized and replayed like the target
//! itself; the one that stops most without refusing anyone real is told.

use std::collections::BTreeMap;

use crate::limiter::Limiter;
use crate::limiter::block::Block;
use crate::policy::{KeyPart, Limit, LimitKey};
use crate::site::Site;
use crate::site::key::KeySpec;
use crate::site::matching::Match;
use crate::traffic::bitmap::Bitmap;

use super::alone::trials;
use super::answer::Split;
use super::candidate::{Candidate, LEAST_KEYS, unfit};
use super::choose::is_enough;
use super::evidence::Evidence;
use super::ground::Ground;
use super::placed;
use super::protects::ProtectTarget;

/// Address lists that are tried.
const MOST_LABELS: usize = 16;
/// Characters of a key by whose beginning requests are parted.
const PREFIXES: std::ops::RangeInclusive<usize> = 2..=8;
/// Beginnings of keys that a limit may list.
const MOST_PREFIXES: usize = 3;

/// What might tell them apart.
struct Idea {
    what: String,
    target: ProtectTarget,
}

/// The best split of a target; `None` if nothing of what is tried tells them apart, or if stopped.
pub(super) fn split(
    ground: &Ground<'_>,
    target: &ProtectTarget,
    evidence: &Evidence<'_>,
    window_us: i64,
    enough_ppm: u64,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Split> {
    let mut attack = evidence.with_key.clone();
    attack.and(ground.attacks());
    let mut tried: Vec<(String, Limit)> = Vec::new();
    for Idea { what, target } in ideas(ground, target, evidence, &attack) {
        let part = Evidence::new(ground, &target);
        // nothing can come of what leaves most of the attack aside
        let within = u128::from(part.attack_requests) * 1_000_000;
        if within < u128::from(evidence.attack_requests) * u128::from(enough_ppm) {
            continue;
        }
        let limiter = if part.real_requests + part.real_missing == 0 {
            Limiter::Block(Block)
        } else if unfit(ground, &part, &target).is_some() {
            continue;
        } else {
            match Candidate::new(ground, &part, &target, window_us) {
                Ok(candidate) => candidate.limiter,
                Err(_) => continue,
            }
        };
        tried.push((what, placed::limit(&target, limiter, ground.scene.site)));
    }
    let limits: Vec<Limit> = tried.iter().map(|(_, limit)| limit.clone()).collect();
    let points = trials(ground, &limits, stopped)?;
    let splits = tried.into_iter().zip(points).filter_map(|((what, limit), mut point)| {
        // a part is held against the whole; another key may be in more requests
        point.attack_requests = point.attack_requests.max(evidence.attack_requests);
        let separates =
            point.real_refused == 0 && point.unknown_refused == 0 && is_enough(&point, enough_ppm);
        separates.then_some(Split {
            what,
            limit,
            real_refused: point.real_refused,
            attack_requests: point.attack_requests,
            attack_refused: point.attack_refused,
        })
    });
    // of several that stop as much the first, so compare from behind
    let splits: Vec<Split> = splits.collect();
    splits.into_iter().rev().max_by_key(|split| split.attack_refused)
}

fn ideas(
    ground: &Ground<'_>,
    target: &ProtectTarget,
    evidence: &Evidence<'_>,
    attack: &Bitmap,
) -> Vec<Idea> {
    let site = ground.scene.site;
    let part = |what: String, matching: Match| {
        let target = ProtectTarget { matching, ..target.clone() };
        Idea { what, target }
    };
    let mut list = Vec::new();
    if target.matching.label.is_empty() && target.matching.not_label.is_empty() {
        for (at, label) in site.labels.iter().enumerate().take(MOST_LABELS) {
            let name = &label.name;
            let matching = Match { label: vec![at], ..target.matching.clone() };
            list.push(part(format!("addresses in the list `{name}`"), matching));
            let matching = Match { not_label: vec![at], ..target.matching.clone() };
            list.push(part(format!("addresses outside the list `{name}`"), matching));
        }
    }
    let users = ground.scene.traffic.key_named("user");
    if target.matching.logged_in.is_none() && users.is_some_and(|users| users.distinct() > 0) {
        for (logged_in, what) in [(false, "requests without a login"), (true, "logged-in requests")]
        {
            let matching = Match { logged_in: Some(logged_in), ..target.matching.clone() };
            list.push(part(what.to_owned(), matching));
        }
    }
    if let Some((prefixes, matching)) = by_prefix(target, evidence, attack) {
        list.push(part(format!("keys that begin with {}", prefixes.join(", ")), matching));
    }
    for key in other_keys(site, target, ground) {
        let what = format!("the key `{}` instead of `{}`", key.name, target.key.name);
        list.push(Idea { what, target: ProtectTarget { key, ..target.clone() } });
    }
    list
}

/// The other keys of the site, and addresses with their networks.
fn other_keys(site: &Site, target: &ProtectTarget, ground: &Ground<'_>) -> Vec<LimitKey> {
    let network = KeySpec::new("net", &["ip/24".to_owned()], None, 56).ok();
    let network = network.map(|spec| KeySpec { name: "ip/24".to_owned(), ..spec });
    let user = KeySpec::user();
    let user = site.keys.iter().all(|key| key.name != user.name).then_some(user);
    let specs = [KeySpec::ip(64)].into_iter().chain(site.keys.iter().cloned());
    let specs = specs.chain(user).chain(network);
    let traffic = ground.scene.traffic;
    let known = specs.filter(|spec| traffic.key(spec).is_some_and(|column| column.distinct() > 0));
    let keys =
        known.map(|spec| LimitKey { name: spec.name.clone(), parts: vec![KeyPart::Key(spec)] });
    keys.filter(|key| key.name != target.key.name).collect()
}

/// Beginnings of the key that only attacks have, the shortest that do. Many keys of the attack begin so: what
/// few have in common may be a name, and says nothing of those yet to come.
fn by_prefix(
    target: &ProtectTarget,
    evidence: &Evidence<'_>,
    attack: &Bitmap,
) -> Option<(Vec<String>, Match)> {
    let [KeyPart::Key(spec)] = target.key.parts.as_slice() else { return None };
    if spec.address_prefix().is_some() || target.matching.key_prefix.contains_key(&spec.name) {
        return None;
    }
    let mut others = evidence.with_key.clone();
    others.and_not(attack);
    let counted = |set: &Bitmap| {
        let mut counts = vec![0_u64; evidence.keys.distinct()];
        set.for_each(|event| {
            let key = usize::try_from(evidence.keys.of(event)).ok();
            if let Some(count) = key.and_then(|key| counts.get_mut(key)) {
                *count += 1;
            }
        });
        counts
    };
    let (attacks, others) = (counted(attack), counted(&others));
    let wanted = u128::from(attack.count()) * 9 / 10;
    PREFIXES.into_iter().find_map(|length| {
        let mut by_text: BTreeMap<String, (u64, u64, usize)> = BTreeMap::new();
        for ((key, attacks), others) in (0_u32..).zip(&attacks).zip(&others) {
            if attacks + others > 0 {
                let text = String::from_utf8(evidence.keys.text(key)).ok()?;
                let prefix: String = text.chars().take(length).collect();
                let sums = by_text.entry(prefix).or_default();
                *sums = (sums.0 + attacks, sums.1 + others, sums.2 + usize::from(*attacks > 0));
            }
        }
        let mut only: Vec<(u64, String)> = by_text
            .into_iter()
            .filter(|(_, (_, others, keys))| *keys >= LEAST_KEYS && *others == 0)
            .filter(|(text, _)| text.chars().all(|c| c.is_ascii_graphic()))
            .map(|(text, (attacks, ..))| (attacks, text))
            .collect();
        only.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        only.truncate(MOST_PREFIXES);
        let held: u128 = only.iter().map(|(attacks, _)| u128::from(*attacks)).sum();
        let mut texts: Vec<String> = only.into_iter().map(|(_, text)| text).collect();
        texts.sort();
        let matching = || {
            let mut matching = target.matching.clone();
            matching.key_prefix.insert(spec.name.clone(), texts.clone());
            matching
        };
        (held >= wanted && !texts.is_empty()).then(|| (texts.clone(), matching()))
    })
}
