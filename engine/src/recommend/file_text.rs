//! The recommended policy as a file: every number with its evidence in a comment above it.

use std::fmt::Write;

use crate::limiter::Limiter;
use crate::limiter::critical::Sizing;
use crate::limiter::nginx::Nginx;
use crate::policy::{Limit, LimitKey};
use crate::site::Site;
use crate::units::span;
use crate::units::time::format_rfc3339;

use super::answer::{Basis, Point, Real, Recommendation, Recommended};
use super::holdout::Holdout;
use super::policy_text::{self, comment};
use super::why::{between, factor, percent};

/// Shows a key of a limit to people.
pub type ShowKey<'a> = &'a dyn Fn(&LimitKey, &[u8]) -> String;

/// Writes the policy file. `show` names keys, as pseudonyms unless they are to be revealed.
pub fn write(recommended: &Recommended, site: &Site, show: ShowKey<'_>) -> String {
    let mut out = opening(recommended);
    let _ = writeln!(out, "name = {}", policy_text::string(&recommended.policy.name));
    let file = File { real: recommended.real, site, show };
    for limit in &recommended.policy.limits {
        let named =
            |one: &&Recommendation| one.limit.as_ref().map(|l| &l.name) == Some(&limit.name);
        if let Some(one) = recommended.recommendations.iter().find(named) {
            out.push('\n');
            file.with_limit(&mut out, one, limit);
        }
    }
    for one in recommended.recommendations.iter().filter(|one| one.limit.is_none()) {
        out.push('\n');
        file.without_limit(&mut out, one);
    }
    out
}

/// What all of it rests on.
fn opening(recommended: &Recommended) -> String {
    let period = recommended.period_us.map_or_else(String::new, |(first, last)| {
        format!(
            ", {} to {} ({})",
            format_rfc3339(first),
            format_rfc3339(last),
            span::format_period(last - first)
        )
    });
    if recommended.requests == 0 {
        return comment("The log holds no request that counts: nothing can be recommended.");
    }
    let mut out = comment(&format!(
        "Recommended by shadowcap from {} requests{period}. Every number was replayed on them before it was written.",
        recommended.requests
    ));
    out.push_str(&comment(match recommended.real {
        Real::Customers => "Sized for the identities that the site's evidence shows to be customers.",
        Real::NoCustomerFound => "The site names customer evidence, but no identity of this log has it: sized for all that no attacker rule matches.",
        Real::AllButAttackers => "The site names no customer evidence: sized for all identities that no attacker rule matches.",
        Real::Everyone => "Nothing tells customers from attackers: sized so that no identity of this log is ever refused, robots included. Say in a site file who is a customer ([[cohort.customer]]), and limits may fall.",
    }));
    out.push_str(&comment("What a refused client would have done instead no log can show: the replay lets each go on as it did."));
    if let Some(both) = recommended.replayed.as_ref().map(|all| all.overlap).filter(|n| *n > 0) {
        out.push_str(&comment(&format!(
            "{both} identities have customer evidence and are matched by an attacker rule too: what the rule matches counts as the attack's."
        )));
    }
    if recommended.step_us > 1 {
        out.push_str(&comment(&format!(
            "The log's stamps are {} apart: peaks are brackets, and their upper end is taken.",
            span::format(recommended.step_us)
        )));
    }
    if recommended.already_refused > 0 {
        out.push_str(&comment(&format!(
            "{} requests had been refused by a limiter already: true peaks are higher than what this log shows.",
            recommended.already_refused
        )));
    }
    for key in &recommended.keys_without_evidence {
        out.push_str(&comment(&format!(
            "The key `{key}` of the site is in no request of this log."
        )));
    }
    for finding in &recommended.findings {
        out.push_str(&comment(&format!("Still wrong, whatever the sizes: {finding}.")));
    }
    for told in &recommended.requirements {
        let verdict = if told.met { "met" } else { "NOT MET by this policy" };
        out.push_str(&comment(&format!(
            "Requirement \"{}\": {verdict}; {}.",
            told.name, told.text
        )));
    }
    out
}

/// What parts of the file have in common.
struct File<'a> {
    real: Real,
    site: &'a Site,
    show: ShowKey<'a>,
}

impl File<'_> {
    fn with_limit(&self, out: &mut String, one: &Recommendation, limit: &Limit) {
        out.push_str(&comment(&format!("{}: {}", limit.name, one.why)));
        self.evidence(out, one);
        if let Some(expected) = &one.expected {
            let attack = if expected.attack_requests > 0 {
                let (lo, hi) = (expected.attack_refused.lo, expected.attack_refused.hi);
                let (lo, hi) =
                    (percent(lo, expected.attack_requests), percent(hi, expected.attack_requests));
                let share = if lo == hi { hi } else { format!("{lo} to {hi}") };
                format!(", and {share} of the {} requests of attacks", expected.attack_requests)
            } else {
                String::new()
            };
            out.push_str(&comment(&format!(
                "Replayed in this policy it refuses {} {}{attack}.",
                between(expected.real_refused),
                self.real.words()
            )));
        }
        if let Some(holdout) = &one.holdout {
            out.push_str(&comment(&self.held_out(holdout)));
        }
        if let Limiter::Nginx(nginx) = &limit.limiter {
            out.push_str(&comment(&stored(nginx, one.instances)));
        } else if one.instances == 1 && self.site.tiers.iter().any(|tier| tier.instances > 1) {
            out.push_str(&comment("Counted in one place: where several servers ask it, name `at`, counters = \"shared\", a store and on_store_error (\"refuse\" where it guards money, \"allow\" where it guards capacity)."));
        }
        self.rest(out, one);
        out.push_str(&policy_text::limit(limit, self.site));
    }

    fn without_limit(&self, out: &mut String, one: &Recommendation) {
        let window = one.window_us.map_or_else(String::new, |us| format!(", {}", span::format(us)));
        out.push_str(&comment(&format!(
            "NO LIMIT for \"{}\" (by {}, {}{window}): {}{}",
            one.target,
            one.key.name,
            one.algorithm,
            one.why,
            if one.why.ends_with('.') { "" } else { "." }
        )));
        self.evidence(out, one);
        self.rest(out, one);
    }

    fn rest(&self, out: &mut String, one: &Recommendation) {
        for note in &one.notes {
            out.push_str(&comment(&format!("Note: {note}.")));
        }
        for point in &one.tradeoff {
            out.push_str(&comment(&self.point(point)));
        }
        if let Some(split) = &one.split {
            out.push_str(&comment(&format!(
                "What tells them apart: {}. It refuses {} {} and {} of the attack's {} requests:",
                split.what,
                split.real_refused,
                self.real.words(),
                percent(split.attack_refused, split.attack_requests),
                split.attack_requests
            )));
            for line in policy_text::limit(&split.limit, self.site).lines() {
                let _ = writeln!(out, "#   {line}");
            }
        }
    }

    fn evidence(&self, out: &mut String, one: &Recommendation) {
        let Some(basis) = &one.basis else { return };
        let Basis { keys, requests, busiest, p999, headroom_milli, busiest_key, .. } = basis;
        let counters = match one.instances {
            1 => String::new(),
            several => format!(" on one of {several} counters"),
        };
        out.push_str(&comment(&format!(
            "Evidence: {keys} {} of {} with {requests} requests; {} needs most, {}{counters}; 99.9 % need at most {}; headroom {}.",
            if *keys == 1 { "key" } else { "keys" },
            self.real.words(),
            (self.show)(&one.key, busiest_key),
            between(*busiest),
            between(*p999),
            factor(*headroom_milli)
        )));
        if let Some(confidence) = &one.confidence {
            let days = confidence.bootstrap.map_or_else(
                || "too few days to tell how much they differ".to_owned(),
                |(lo, hi)| format!("drawing its days anew, the busiest needs {lo} to {hi}"),
            );
            out.push_str(&comment(&format!(
                "Confidence: of keys not seen yet {} need more (95 %); {}, {days}.",
                at_most(confidence.unseen_hi_ppm),
                if confidence.days == 1 {
                    "1 day".to_owned()
                } else {
                    format!("{} days", confidence.days)
                }
            )));
        }
    }

    fn point(&self, point: &Point) -> String {
        let size = Sizing::size_of(&point.limiter).unwrap_or(0);
        let rate = match &point.limiter {
            Limiter::Nginx(nginx) => {
                format!("{}, burst ", policy_text::nginx_rate(nginx.rate_milli))
            }
            Limiter::TokenBucket(_) | Limiter::Gcra(_) => {
                let rate = point.limiter.long_run();
                rate.map_or_else(String::new, |rate| format!("{rate}, burst "))
            }
            _ => String::new(),
        };
        let unknown = match point.unknown_refused {
            0 => String::new(),
            several => format!(", {several} unknown"),
        };
        let cost = point.cost.map_or_else(String::new, |cost| format!(", {cost} in all"));
        format!(
            "Trade-off: {rate}{size} refuses {} {}{unknown}, {} of the attack{cost}.",
            point.real_refused,
            self.real.words(),
            percent(point.attack_refused, point.attack_requests)
        )
    }

    fn held_out(&self, holdout: &Holdout) -> String {
        let attack = if holdout.attack_requests > 0 {
            format!(
                ", and {} of the attacks' {} requests",
                percent(holdout.attack_refused, holdout.attack_requests),
                holdout.attack_requests
            )
        } else {
            String::new()
        };
        let unknown = match holdout.unknown_refused {
            0 => String::new(),
            several => format!(", {several} of whom nobody knows whose they are"),
        };
        format!(
            "Held out: chosen on the days before {}; of the {} {} since then it would have refused {}{unknown}{attack}.",
            format_rfc3339(holdout.from_us),
            holdout.real_identities,
            self.real.words(),
            holdout.real_refused
        )
    }
}

/// `at most 6.0 %`, `under 0.1 %`.
fn at_most(ppm: u64) -> String {
    let share = percent(ppm, 1_000_000);
    if share.starts_with("under") { share } else { format!("at most {share}") }
}

/// What nginx keeps of a rate, and what the fleet makes of it.
fn stored(nginx: &Nginx, instances: u64) -> String {
    let rate = policy_text::nginx_rate(nginx.rate_milli);
    let of_fleet = |milli: u64| {
        let per_minute = milli.saturating_mul(60);
        factor(per_minute)
    };
    let mut text = format!(
        "nginx stores {rate} as {} thousandths of a request per second, exactly.",
        nginx.rate_milli
    );
    if instances > 1 {
        let _ = write!(
            text,
            " Each server counts for itself: a client that is spread over all {instances} gets {} a minute and {} at once.",
            of_fleet(nginx.rate_milli.saturating_mul(instances)),
            nginx.burst.saturating_add(1).saturating_mul(instances)
        );
    }
    text
}
