//! Groups and zones: what several limits have to agree on.

use std::collections::BTreeMap;

use crate::document::{Code, Table};
use crate::limiter::Limiter;
use crate::policy::{Group, GroupCharge, Limit};

const CHARGES: [(&str, GroupCharge); 2] = [("none", GroupCharge::None), ("all", GroupCharge::All)];

/// A limit with what its table says of groups.
struct Member<'d> {
    limit: Limit,
    table: Table<'d>,
    group: Option<String>,
    charge: Option<GroupCharge>,
}

/// Puts limits into their groups; what they don't agree on is reported.
pub(super) fn grouped(limits: Vec<(Limit, Table<'_>)>) -> Vec<Limit> {
    let mut members: Vec<Member<'_>> =
        limits.into_iter().map(|(limit, table)| member(limit, table)).collect();
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        if let Some(group) = &member.group {
            groups.entry(group.clone()).or_default().push(index);
        }
    }
    for (name, indices) in groups {
        let of_group: Vec<&Member<'_>> =
            indices.iter().filter_map(|index| members.get(*index)).collect();
        adjacent(&name, &indices, &of_group);
        let charge = charge(&name, &of_group);
        for index in indices {
            if let Some(member) = members.get_mut(index) {
                member.limit.group = Some(Group { name: name.clone(), charge });
            }
        }
    }
    zones(&members);
    members.into_iter().map(|member| member.limit).collect()
}

fn is_nginx(limit: &Limit) -> bool {
    matches!(limit.limiter, Limiter::Nginx(_))
}

/// What a table says of its group.
pub(super) fn stated(table: &Table<'_>) -> (Option<String>, Option<GroupCharge>) {
    (table.text("group").map(str::to_owned), table.word("charge", &CHARGES))
}

fn member(limit: Limit, table: Table<'_>) -> Member<'_> {
    let (stated, charge) = stated(&table);
    // nginx asks all limits of a place together
    let implied = || is_nginx(&limit).then(|| limit.at.clone().unwrap_or_default());
    let group = stated.or_else(implied);
    if table.has("charge") && group.is_none() {
        let help = "a limit alone charges what it admits";
        table.contradicts("charge", "`charge` needs `group`", help);
    }
    Member { limit, table, group, charge }
}

/// Members stand next to each other, at one place.
fn adjacent(name: &str, indices: &[usize], members: &[&Member<'_>]) {
    let shown = if name.is_empty() { "of nginx limits without `at`" } else { name };
    for (pair, together) in indices.windows(2).zip(members.windows(2)) {
        let ([first, second], [before, here]) = (pair, together) else { continue };
        if first + 1 != *second {
            let message = format!(
                "`{}` isn't next to `{}` of its group `{shown}`",
                here.limit.name, before.limit.name
            );
            let help = if here.table.has("group") {
                "move it there"
            } else {
                "nginx asks all limits of a place together: move it there, or give it a `group`"
            };
            here.table.report(here.table.wrong(Code::Contradiction, message).help(help));
        }
        if before.limit.at != here.limit.at {
            let message = format!("the group `{shown}` is at two places");
            here.table.contradicts("group", &message, "members of a group have the same `at`");
        }
    }
}

/// What all members say of charging.
fn charge(name: &str, members: &[&Member<'_>]) -> GroupCharge {
    let mut stated: Option<GroupCharge> = None;
    for member in members {
        match (stated, member.charge) {
            (None, Some(charge)) => stated = Some(charge),
            (Some(known), Some(charge)) if known != charge => {
                let message = format!("members of the group `{name}` charge differently");
                member.table.contradicts("charge", &message, "say the same in each");
            }
            _ => {}
        }
    }
    let other = members.iter().find(|member| !is_nginx(&member.limit));
    if let (None, Some(member)) = (stated, other)
        && members.iter().all(|member| !member.table.has("charge"))
    {
        let help =
            "none: all must pass (nginx); all: each counts for itself (Envoy, Kong on Redis)";
        member.table.missing("charge", help);
    }
    stated.unwrap_or(GroupCharge::None)
}

/// Limits of one zone share a state, so they have to keep it alike.
fn zones(members: &[Member<'_>]) {
    let mut seen: BTreeMap<&str, &Member<'_>> = BTreeMap::new();
    for member in members {
        let Some(zone) = &member.limit.zone else { continue };
        let Some(first) = seen.get(zone.as_str()) else {
            seen.insert(zone, member);
            continue;
        };
        let rate = |limit: &Limit| match &limit.limiter {
            Limiter::Nginx(nginx) => Some(nginx.rate_milli),
            _ => None,
        };
        let differs = [
            ("rate", rate(&first.limit) != rate(&member.limit)),
            ("key", first.limit.key != member.limit.key),
            ("at", first.limit.at != member.limit.at),
        ];
        for (what, _) in differs.iter().filter(|(_, differs)| *differs) {
            let message =
                format!("the zone `{zone}` has another `{what}` in `{}`", first.limit.name);
            let help = "limits of one zone share one state: same rate, key and at";
            member.table.contradicts("zone", &message, help);
        }
    }
}
