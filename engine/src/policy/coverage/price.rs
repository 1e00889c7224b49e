//! What requests of an action cost: the dearest that can still happen, and money of a number of them.

use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;

use crate::site::facts::Action;
use crate::site::matching::Match;

use super::Ground;
use super::limit::limit;

/// The dearest that one request of an action can be: its units at most times the dearest price that no
/// limit refuses altogether, such as a `block` on numbers abroad. A key that no prefix of the price list
/// fits is taken for the dearest on it. `None` if the figure is out of range.
pub fn dearest(ground: &Ground<'_>, action: &Action, horizon_us: i64) -> Option<Decimal> {
    let units = Decimal::from(action.units_max.max(1));
    let Some(key) = &action.priced_key else { return action.unit_cost?.checked_mul(units) };
    let blocked = |only: &str, without: Vec<String>| {
        let restricted = restricted(action, key, only, without);
        ground.policy.limits.iter().any(|of| {
            limit(ground, of, &restricted, horizon_us).is_ok_and(|counted| counted.any == 0)
        })
    };
    let longer = |prefix: &str| -> Vec<String> {
        let prefixes = action.prices.iter().map(|(other, _)| other);
        let longer =
            prefixes.filter(|other| other.len() > prefix.len() && other.starts_with(prefix));
        longer.cloned().collect()
    };
    let all = || action.prices.iter().map(|(prefix, _)| prefix.clone()).collect();
    let unpriced = !action.prices.iter().any(|(prefix, _)| prefix.is_empty());
    let open = action.prices.iter().filter(|(prefix, _)| {
        (unpriced && !blocked("", all())) || !blocked(prefix, longer(prefix))
    });
    open.map(|(_, price)| *price).max().unwrap_or(Decimal::ZERO).checked_mul(units)
}

/// The action's requests whose priced key begins with `only`, and with none of `without`.
fn restricted(action: &Action, key: &str, only: &str, without: Vec<String>) -> Action {
    let mut restricted = action.clone();
    let prefixes = restricted.matching.key_prefix.entry(key.to_owned()).or_default();
    // where the action names prefixes, what it shares with this one
    let both = prefixes.iter().filter_map(|theirs| {
        let longer = if theirs.len() > only.len() { theirs.as_str() } else { only };
        (longer.starts_with(only) && longer.starts_with(theirs.as_str())).then(|| longer.to_owned())
    });
    let both: Vec<String> = both.collect();
    if prefixes.is_empty() {
        prefixes.push(only.to_owned());
    } else if !both.is_empty() {
        *prefixes = both;
    }
    // an action's own `not` stays, which holds more requests: the careful side
    if restricted.matching.not.is_none() && !without.is_empty() {
        let key_prefix = [(key.to_owned(), without)].into();
        restricted.matching.not = Some(Box::new(Match { key_prefix, ..Match::default() }));
    }
    restricted
}

/// What so many requests cost at such a price each; `None` if the figure is out of range.
pub fn spend(price: Decimal, requests: u128) -> Option<Decimal> {
    price.checked_mul(Decimal::from_u128(requests)?)
}
