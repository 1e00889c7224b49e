//! The cheapest cap for an action that nothing bounds: the least change to a limit that is there, else one
//! counter for all.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use crate::policy::Policy;
use crate::site::facts::Action;
use crate::units::span;

use super::limit::Cure;
use super::price::{dearest, spend};
use super::{Ground, action as bound_action, limit as bound_limit};

/// What would bound an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cap {
    /// What to do: a sentence without its full stop.
    pub text: String,
    /// The limit to change, as an index of the policy's; `None` for a new one.
    pub limit: Option<usize>,
    /// What any interval of the horizon can cost then; `None` where no size can be told.
    pub bound: Option<Decimal>,
}

/// The cheapest cap: of the limits that one or few words would make count the one with the fewest changes,
/// then the least bound; else a `sliding-log` for all, as large as `most` money allows, or else as small as `need`
/// requests in the horizon do.
pub fn cheapest(
    ground: &Ground<'_>,
    action: &Action,
    horizon_us: i64,
    need: Option<u128>,
    most: Option<Decimal>,
) -> Cap {
    mended(ground, action, horizon_us).unwrap_or_else(|| {
        let size = size(ground, action, horizon_us, need, most);
        let meets = size.is_some_and(|(_, meets)| meets);
        let size = size.map(|(size, _)| size);
        let price = dearest(ground, action, horizon_us);
        Cap {
            text: global(ground, action, horizon_us, size, !meets),
            limit: None,
            bound: price.zip(size).and_then(|(price, size)| spend(price, size)),
        }
    })
}

/// The weakest change to a limit that is there.
fn mended(ground: &Ground<'_>, action: &Action, horizon_us: i64) -> Option<Cap> {
    let limits = ground.policy.limits.iter().enumerate();
    let caps = limits.filter_map(|(index, limit)| {
        let reasons = bound_limit(ground, limit, action, horizon_us).err()?;
        let cures: Vec<Cure> = reasons.iter().map(|r| r.cure).collect::<Option<_>>()?;
        let mut policy: Policy = ground.policy.clone();
        let mended = policy.limits.get_mut(index)?;
        for cure in &cures {
            cure.mend(mended);
        }
        let mended = Ground { policy: &policy, ..*ground };
        let money = bound_action(&mended, action, horizon_us).money?;
        let words: Vec<&str> = cures.iter().map(|cure| cure.text()).collect();
        let text = format!("{} `{}`", words.join(" and "), limit.name);
        Some((cures.len(), money, Cap { text, limit: Some(index), bound: Some(money) }))
    });
    caps.min_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1))).map(|(.., cap)| cap)
}

/// The limit of one counter for all, and whether it is the largest that meets the requirement: that is
/// preferred to what customers needed, which any attack takes from them.
fn size(
    ground: &Ground<'_>,
    action: &Action,
    horizon_us: i64,
    need: Option<u128>,
    most: Option<Decimal>,
) -> Option<(u128, bool)> {
    let by_money = || most?.checked_div(dearest(ground, action, horizon_us)?)?.floor().to_u128();
    let (need, most) = (need.map(round_up), by_money());
    match (need, most) {
        (Some(need), most) if most.is_none_or(|most| most < need) => Some((need, false)),
        (_, most) => Some((most?, true)),
    }
}

/// The next number that a person would write: one of 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 times a power of ten.
fn round_up(least: u128) -> u128 {
    let mut tens: u128 = 1;
    loop {
        for tenths in [10_u128, 12, 15, 20, 25, 30, 40, 50, 60, 80] {
            let number = tenths.saturating_mul(tens);
            if number.is_multiple_of(10) && number / 10 >= least {
                return number / 10;
            }
        }
        let Some(next) = tens.checked_mul(10) else { return least };
        tens = next;
    }
}

fn global(
    ground: &Ground<'_>,
    action: &Action,
    horizon_us: i64,
    size: Option<u128>,
    needed: bool,
) -> String {
    let routes: Vec<String> = ground.site.map_or_else(Vec::new, |site| {
        let names = action.matching.route.iter().filter_map(|route| site.routes.get(*route));
        names.map(|route| format!("\"{}\"", route.name)).collect()
    });
    let matching = if routes.is_empty() {
        String::new()
    } else {
        format!(" and `match = {{ route = [{}] }}`", routes.join(", "))
    };
    let window = span::format(horizon_us).replace(' ', "");
    let number = size.map(|size| {
        if needed {
            format!(
                "; `limit = {size}` in `window = \"{window}\"` holds what customers asked for, of which an attack takes its share"
            )
        } else {
            format!("; at most `limit = {size}` in `window = \"{window}\"` meets the requirement")
        }
    });
    let per_key = ground.policy.limits.iter().any(|limit| !limit.key.parts.is_empty());
    let or = if per_key {
        ", or say in `[keys_available]` how many keys an attacker can have"
    } else {
        ""
    };
    format!(
        "add a `sliding-log` with `key = \"global\"`{matching} that refuses when its store can't be asked{}{or}",
        number.unwrap_or_default()
    )
}
