//! How limits are deployed: SC005 local counters, SC020 names that only a site defines, SC024 queues
//! without an end.

use std::collections::BTreeSet;

use crate::limiter::Limiter;
use crate::limiter::spacing::Spacing;
use crate::policy::{Counters, KeyPart, Limit};
use crate::site::matching::Match;

use super::danger::broken_by;
use super::pace::allowance;
use super::{Code, Finding, Severity};
use crate::policy::coverage::Ground;

pub(super) fn lint(ground: &Ground<'_>, found: &mut Vec<Finding>) {
    for limit in &ground.policy.limits {
        found.extend(local_counters(ground, limit));
        found.extend(endless_queue(limit));
        found.extend(unknown_names(ground, limit));
    }
}

fn local_counters<'a>(ground: &Ground<'a>, limit: &'a Limit) -> Option<Finding> {
    let instances = ground.instances(limit);
    if limit.counters == Counters::Shared
        || instances < 2
        || matches!(limit.limiter, Limiter::Block(_))
    {
        return None;
    }
    let tier = limit.at.as_deref().unwrap_or("its tier");
    if ground.is_sticky(limit) {
        let text = format!(
            "counts on each of {instances} instances of `{tier}` by itself; while each client meets the same one, that is {}",
            allowance(&limit.limiter, 1)
        );
        let help = "expect new counters whenever instances come or go, or share them in a store";
        let finding = Finding::on(limit, Code::LocalCounters, text, help);
        return Some(Finding { severity: Severity::Note, ..finding });
    }
    let text = format!(
        "counts on each of {instances} instances of `{tier}` by itself: {} each, {} in all",
        allowance(&limit.limiter, 1),
        allowance(&limit.limiter, instances)
    );
    let help = "share the counters (`counters = \"shared\"`, a `store`), or divide the number and say so with `allow`";
    let requirement = broken_by(ground, limit, |limit| limit.counters = Counters::Shared);
    Some(Finding::on(limit, Code::LocalCounters, text, help).endangering(requirement))
}

fn endless_queue(limit: &Limit) -> Option<Finding> {
    let allowance = allowance(&limit.limiter, 1);
    let high_water = limit.queue.and_then(|queue| queue.high_water);
    if let (Limiter::Spacing(Spacing { max_concurrent: None, .. }), Some(1..)) =
        (&limit.limiter, high_water)
    {
        let text = format!(
            "lets whatever exceeds {allowance} wait without an end: without `max_concurrent` each gets its start at once, and none is left to count"
        );
        let help = "set `max_concurrent` too, or `high_water = 0` to let none wait";
        return Some(Finding::on(limit, Code::EndlessQueue, text, help));
    }
    let queues = limit.queue.is_some() || matches!(limit.limiter, Limiter::Spacing(_));
    if !queues || high_water.is_some() {
        return None;
    }
    let text = format!("lets whatever exceeds {allowance} wait in a queue without an end");
    let help = "set `high_water` to as many as may wait, and `strategy` to what happens above it";
    Some(Finding::on(limit, Code::EndlessQueue, text, help))
}

fn unknown_names(ground: &Ground<'_>, limit: &Limit) -> Option<Finding> {
    if ground.site.is_some() {
        return None;
    }
    let mut named = Named::default();
    named.gather(&limit.matching);
    named.routes.extend(limit.weight.by_route.iter().map(|(route, _)| *route));
    for part in &limit.key.parts {
        match part {
            KeyPart::Key(spec) if spec.address_prefix().is_none() => named.key(&spec.name),
            KeyPart::Key(_) | KeyPart::Route => {}
        }
    }
    let several = |what: &str, many: usize| match many {
        0 => None,
        1 => Some(format!("a {what}")),
        _ => Some(format!("{many} {what}s")),
    };
    let keys = named.keys.iter().map(|key| Some(format!("the key `{key}`")));
    let names: Vec<String> =
        [several("route", named.routes.len()), several("label", named.labels.len())]
            .into_iter()
            .chain(keys)
            .flatten()
            .collect();
    if names.is_empty() {
        return None;
    }
    let text =
        format!("names {}, which only a site defines, and none is given", names.join(" and "));
    let help = "check it with `--site`: a misspelt name matches nothing";
    Some(Finding::on(limit, Code::UnknownNames, text, help))
}

/// What a limit names that a site defines.
#[derive(Default)]
struct Named {
    routes: BTreeSet<usize>,
    labels: BTreeSet<usize>,
    keys: BTreeSet<String>,
}

impl Named {
    fn gather(&mut self, matching: &Match) {
        self.routes.extend(&matching.route);
        self.labels.extend(matching.label.iter().chain(&matching.not_label));
        for key in matching.key_prefix.keys().chain(matching.key_country.keys()) {
            self.key(key);
        }
        if let Some(not) = matching.not.as_deref() {
            self.gather(not);
        }
    }

    /// Takes the name of a key; `user` is known without a site where the log names one.
    fn key(&mut self, name: &str) {
        if name != "user" && name != "ip" && !name.starts_with("ip/") {
            self.keys.insert(name.to_owned());
        }
    }
}
