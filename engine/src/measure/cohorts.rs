//! Who is a customer and who attacks: a request is an attacker's if a rule matches it, else a
//! customer's if its identity has customer evidence anywhere in the log, else unknown.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::site::Site;
use crate::site::facts::{AttackerRule, CustomerRule, KeyList, Link};
use crate::traffic::bitmap::Bitmap;
use crate::traffic::select::Selector;
use crate::traffic::{NONE, Traffic};

/// Whose a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cohort {
    /// A customer's.
    Customer,
    /// An attacker's.
    Attacker,
    /// Nobody knows.
    Unknown,
}

impl Cohort {
    /// All, in the order in which reports list them.
    pub const ALL: [Self; 3] = [Self::Customer, Self::Attacker, Self::Unknown];

    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Attacker => "attacker",
            Self::Unknown => "unknown",
        }
    }
}

/// Whose each request is.
#[derive(Debug)]
pub struct Cohorts<'t> {
    attackers: Bitmap,
    customers: Bitmap,
    others: Bitmap,
    /// Per request its identity, linked ones too; [`NONE`] if nobody knows.
    identities: Cow<'t, [u32]>,
    /// Distinct identities.
    pub distinct: usize,
    /// Identities that are customers and match an attacker rule too.
    pub overlap: u64,
    /// The requests that each attacker rule matches, in the order of the site file.
    pub rules: Vec<(String, Bitmap)>,
    /// Requests that were given an identity by a link.
    pub linked: u64,
}

impl<'t> Cohorts<'t> {
    /// Tells who is who.
    pub fn new(site: &Site, traffic: &'t Traffic, selector: &Selector<'_>) -> Self {
        let (mut identities, distinct) = identities(site, traffic);
        let rules: Vec<(String, Bitmap)> = site
            .attackers
            .iter()
            .map(|rule| (rule.name.clone(), attackers(rule, traffic, selector)))
            .collect();
        let mut attacked = Bitmap::filled(traffic.len(), false);
        for (_, map) in &rules {
            attacked.or(map);
        }
        let mut customers = vec![false; distinct];
        for rule in &site.customers {
            evidence(rule, traffic, selector, &identities, &mut customers);
        }
        let is_customer = |customers: &[bool], id: u32| {
            usize::try_from(id).ok().and_then(|id| customers.get(id)).copied().unwrap_or(false)
        };
        let linked = site.link.as_ref().map_or(0, |link| {
            give_identities(link, site, traffic, &customers, identities.to_mut())
        });
        let mut both = vec![false; distinct];
        let mut of_customers = Bitmap::filled(traffic.len(), false);
        let any = customers.contains(&true);
        for (event, id) in identities.iter().enumerate().take_while(|_| any) {
            if is_customer(&customers, *id) {
                let slot = usize::try_from(*id).ok().and_then(|id| both.get_mut(id));
                match slot.filter(|_| attacked.contains(event)) {
                    Some(slot) => *slot = true,
                    None => of_customers.insert(event),
                }
            }
        }
        let mut others = Bitmap::filled(traffic.len(), true);
        others.and_not(&attacked);
        others.and_not(&of_customers);
        let overlap = both.iter().map(|both| u64::from(*both)).sum();
        let (attackers, customers) = (attacked, of_customers);
        Self { attackers, customers, others, identities, distinct, overlap, rules, linked }
    }

    /// Whose a request is.
    pub fn of(&self, event: usize) -> Cohort {
        if self.attackers.contains(event) {
            Cohort::Attacker
        } else if self.customers.contains(event) {
            Cohort::Customer
        } else {
            Cohort::Unknown
        }
    }

    /// The requests of a cohort.
    pub fn requests(&self, cohort: Cohort) -> &Bitmap {
        match cohort {
            Cohort::Customer => &self.customers,
            Cohort::Attacker => &self.attackers,
            Cohort::Unknown => &self.others,
        }
    }

    /// Distinct identities behind a set of requests, by cohort as [`Cohort::ALL`].
    pub fn identities_in(&self, set: &Bitmap) -> [u64; 3] {
        Cohort::ALL.map(|cohort| {
            let mut seen = vec![false; self.distinct];
            let mut count = 0;
            set.for_each_of_both(self.requests(cohort), |event| {
                if let Some(seen) = self.identity(event).and_then(|id| seen.get_mut(id)) {
                    count += u64::from(!*seen);
                    *seen = true;
                }
            });
            count
        })
    }

    /// Distinct identities behind a set of requests, whatever their cohorts.
    pub fn distinct_in(&self, set: &Bitmap) -> u64 {
        let mut seen = vec![false; self.distinct];
        let mut count = 0;
        set.for_each(|event| {
            if let Some(seen) = self.identity(event).and_then(|id| seen.get_mut(id)) {
                count += u64::from(!*seen);
                *seen = true;
            }
        });
        count
    }

    /// The identity behind a request.
    pub fn identity(&self, event: usize) -> Option<usize> {
        let id = self.identities.get(event).copied().filter(|id| *id != NONE)?;
        usize::try_from(id).ok()
    }
}

/// The identity key of every event, and how many there are.
fn identities<'t>(site: &Site, traffic: &'t Traffic) -> (Cow<'t, [u32]>, usize) {
    traffic.key_named(&site.identity).map_or_else(
        || (vec![NONE; traffic.len()].into(), 0),
        |mut column| (std::mem::take(&mut column.ids), column.distinct()),
    )
}

fn attackers(rule: &AttackerRule, traffic: &Traffic, selector: &Selector<'_>) -> Bitmap {
    let mut map = match &rule.matching {
        Some(matching) => selector.select(matching),
        None => Bitmap::filled(traffic.len(), true),
    };
    if rule.from_us.is_some() || rule.to_us.is_some() {
        let times = &traffic.events.times_us;
        map.and(&Bitmap::of(times.len(), |event| {
            times.get(event).is_some_and(|time| {
                rule.from_us.is_none_or(|from| *time >= from)
                    && rule.to_us.is_none_or(|to| *time < to)
            })
        }));
    }
    if let Some(list) = &rule.list {
        map.and(&listed(list, traffic));
    }
    map
}

/// The events whose key is in a list.
fn listed(list: &KeyList, traffic: &Traffic) -> Bitmap {
    let Some(column) = traffic.key_named(&list.key) else {
        return Bitmap::filled(traffic.len(), false);
    };
    let table: Vec<bool> = (0..column.distinct())
        .map(|id| {
            let text = column.text(id);
            list.values.binary_search_by(|value| value.as_bytes().cmp(&text)).is_ok()
        })
        .collect();
    Bitmap::of(traffic.len(), |event| {
        let id = column.ids.get(event).and_then(|id| usize::try_from(*id).ok());
        id.and_then(|id| table.get(id)).copied().unwrap_or(false)
    })
}

/// Marks the identities that a rule makes customers.
fn evidence(
    rule: &CustomerRule,
    traffic: &Traffic,
    selector: &Selector<'_>,
    identities: &[u32],
    customers: &mut [bool],
) {
    let mut events = match &rule.matching {
        Some(matching) => selector.select(matching),
        None => Bitmap::filled(traffic.len(), true),
    };
    if let Some(list) = &rule.list {
        events.and(&listed(list, traffic));
    }
    let by_list_alone = rule.matching.is_none();
    let mut counts = vec![0_u64; customers.len()];
    for event in events.iter() {
        let id = identities.get(event).and_then(|id| usize::try_from(*id).ok());
        if let Some(count) = id.and_then(|id| counts.get_mut(id)) {
            *count += 1;
        }
    }
    for (customer, count) in customers.iter_mut().zip(counts) {
        *customer |= count >= if by_list_alone { 1 } else { rule.at_least };
    }
}

/// Sightings of customers under one value of a key, by time, with where the next other customer is.
struct Sightings {
    times_us: Vec<i64>,
    who: Vec<u32>,
    next_other: Vec<usize>,
}

impl Sightings {
    fn new(seen: Vec<(i64, u32)>) -> Self {
        let (times_us, who): (Vec<i64>, Vec<u32>) = seen.into_iter().unzip();
        let mut next_other = vec![who.len(); who.len()];
        let mut later: Option<(u32, usize)> = None;
        for (index, (slot, id)) in next_other.iter_mut().zip(&who).enumerate().rev() {
            *slot = match later {
                Some((other, next)) if other == *id => next,
                Some(_) => index + 1,
                None => who.len(),
            };
            later = Some((*id, *slot));
        }
        Self { times_us, who, next_other }
    }

    /// The only customer seen within a distance of an instant; `None` for none or several.
    fn only_one_near(&self, time_us: i64, within_us: i64) -> Option<u32> {
        let first = self.times_us.partition_point(|time| *time <= time_us - within_us);
        let end = self.times_us.partition_point(|time| *time <= time_us + within_us);
        let alone = first < end && self.next_other.get(first).is_some_and(|next| *next >= end);
        self.who.get(first).filter(|_| alone).copied()
    }
}

/// Gives requests without identity to the one customer seen with the same key nearby.
fn give_identities(
    link: &Link,
    site: &Site,
    traffic: &Traffic,
    customers: &[bool],
    identities: &mut [u32],
) -> u64 {
    let known = identities.to_vec();
    let times = &traffic.events.times_us;
    let is_customer =
        |id: u32| usize::try_from(id).ok().and_then(|id| customers.get(id)) == Some(&true);
    let mut linked = 0;
    for key in link.keys.iter().filter(|key| **key != site.identity) {
        let Some(column) = traffic.key_named(key) else { continue };
        let mut seen: BTreeMap<u32, Vec<(i64, u32)>> = BTreeMap::new();
        for ((value, id), time) in column.ids.iter().zip(&known).zip(times) {
            if *value != NONE && is_customer(*id) {
                seen.entry(*value).or_default().push((*time, *id));
            }
        }
        let seen: BTreeMap<u32, Sightings> =
            seen.into_iter().map(|(value, list)| (value, Sightings::new(list))).collect();
        let open = identities.iter_mut().zip(column.ids.iter()).zip(times);
        for ((id, value), time) in open.filter(|((id, _), _)| **id == NONE) {
            let near = seen.get(value).and_then(|s| s.only_one_near(*time, link.within_us));
            if let Some(customer) = near {
                *id = customer;
                linked += 1;
            }
        }
    }
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_customer_nearby_is_a_link() {
        let seen = Sightings::new(vec![(10, 1), (20, 1), (30, 2), (90, 2)]);
        assert_eq!((seen.only_one_near(12, 8), seen.only_one_near(18, 8)), (Some(1), Some(1)));
        assert_eq!(seen.only_one_near(20, 10), None);
        assert_eq!((seen.only_one_near(40, 10), seen.only_one_near(40, 11)), (None, Some(2)));
        assert_eq!(seen.only_one_near(60, 29), None);
        assert_eq!(seen.only_one_near(60, 30), Some(2));
    }
}
