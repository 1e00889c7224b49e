//! The reasons of a recommendation, in words. No text of a key is among them.

use std::fmt::Write;

use crate::limiter::Limiter;
use crate::limiter::critical::Sizing;
use crate::units::bracket::Bracket;
use crate::units::decimal;
use crate::units::span;

use super::answer::{Point, Real, Recommendation};
use super::candidate::Candidate;
use super::evidence::Evidence;
use super::ground::Ground;
use super::policy_text;
use super::protects::ProtectTarget;

/// One refused request in so many makes peaks too low to pass over.
const REFUSED_BEFORE: u64 = 100;

/// Said where a refused customer has a price and requests of the attack have none.
pub(super) const NO_PRICE: &str = "refusing a customer is priced, but no [[action]] of the site prices the requests of this attack, so the choice can't be weighed";

/// `4`, or `4 to 5`.
pub(super) fn between(bracket: Bracket<u64>) -> String {
    if bracket.is_exact() {
        return bracket.lo.to_string();
    }
    format!("{} to {}", bracket.lo, bracket.hi)
}

/// A factor in thousandths as people write it: `1.5`.
pub(super) fn factor(milli: u64) -> String {
    let (whole, rest) = (milli / 1_000, milli % 1_000);
    let digits = format!("{rest:03}");
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() { whole.to_string() } else { format!("{whole}.{digits}") }
}

/// A share in percent, one decimal; what is neither none nor all never looks so.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let tenths = decimal::ratio(part.saturating_mul(100), whole, 1).unwrap_or(0);
    match tenths {
        0 if part > 0 => "under 0.1 %".to_owned(),
        1_000 if part < whole => "over 99.9 %".to_owned(),
        _ => format!("{}.{} %", tenths / 10, tenths % 10),
    }
}

/// What a size counts: `12 in any 10 m`, `a burst of 12`.
fn counted(limiter: &Limiter, size: &str) -> String {
    let within = |us: i64| format!("{size} in {}", span::format(us));
    match limiter {
        Limiter::Nginx(_) => format!("a burst of {size} beyond the rate"),
        Limiter::TokenBucket(_) | Limiter::Gcra(_) => format!("a burst of {size}"),
        Limiter::SlidingLog(log) => format!("{size} in any {}", span::format(log.window_us)),
        Limiter::SlidingCounter(counter) => within(counter.window_us),
        Limiter::AwsWaf(waf) => within(waf.window_us),
        Limiter::FixedWindow(fixed) => {
            fixed.window_us(0).map_or_else(|| size.to_owned(), |(from, to)| within(to - from))
        }
        Limiter::Concurrency(_) => format!("{size} in flight"),
        Limiter::Spacing(_) | Limiter::Block(_) => size.to_owned(),
    }
}

fn size(limiter: &Limiter) -> String {
    Sizing::size_of(limiter).unwrap_or(0).to_string()
}

/// Why a size is what it is.
pub(super) fn sized(real: Real, target: &ProtectTarget, best: &Candidate) -> String {
    let whose = match real {
        Real::Customers => "customer",
        Real::AllButAttackers | Real::NoCustomerFound => "identity that no attacker rule matches",
        Real::Everyone => "identity",
    };
    let whose = format!("The busiest {whose} needs");
    let whose = if target.key.parts.is_empty() {
        format!("All {} together need", real.words())
    } else {
        whose
    };
    let needs = counted(&best.limiter, &between(best.busiest));
    let at = match &best.limiter {
        Limiter::Nginx(nginx) => format!(" at {}", policy_text::nginx_rate(nginx.rate_milli)),
        Limiter::TokenBucket(_) | Limiter::Gcra(_) => {
            best.limiter.long_run().map_or_else(String::new, |rate| format!(" at {rate}"))
        }
        _ => String::new(),
    };
    let rate = best.pace.map_or_else(String::new, |pace| {
        format!("the rate is above its {} in any {}, ", between(pace), span::format(best.window_us))
    });
    format!(
        "{whose} {needs}{at}; {rate}times {} and rounded up to a number people write, that is {}.",
        factor(target.headroom_milli),
        counted(&best.limiter, &size(&best.limiter))
    )
}

fn attack(point: &Point) -> String {
    format!(
        "{} of the attack's {} requests",
        percent(point.attack_refused, point.attack_requests),
        point.attack_requests
    )
}

/// Why a size that stops the attack is taken.
pub(super) fn fits(real: Real, target: &ProtectTarget, best: &Candidate, point: &Point) -> String {
    let mut text = sized(real, target, best);
    if Sizing::size_of(&point.limiter) != Sizing::size_of(&best.limiter) {
        let _ = write!(
            text,
            " Some share their key with the attack and would be refused along with it: only at {} none is.",
            size(&point.limiter)
        );
    }
    if point.real_refused > 0 {
        let _ = write!(
            text,
            " All share this count: once the attack fills it, {} {} would be refused too, which a cap on all can't help.",
            point.real_refused,
            real.words()
        );
    }
    let _ = write!(text, " It refuses {}.", attack(point));
    text
}

/// Why a size is given that stops nothing.
pub(super) fn stops_nothing(
    real: Real,
    target: &ProtectTarget,
    best: &Candidate,
    point: &Point,
) -> String {
    format!(
        "{} As a ceiling only: it refuses {}, and no smaller limit by `{}` that was tried would stop enough of it: by this key it is hardly faster than others.",
        sized(real, target, best),
        attack(point),
        target.key.name
    )
}

/// Why there is no single answer.
pub(super) fn overlap(
    real: Real,
    target: &ProtectTarget,
    enough_ppm: u64,
    required: bool,
) -> String {
    let share = percent(enough_ppm, 1_000_000);
    let whose =
        if required { "which the site requires" } else { "which is the least that would help" };
    format!(
        "By `{}`, {} and the attack overlap: no limit that spares all of them refuses {share} of the attack, {whose}. Which {} to refuse is a choice that the figures of the trade-off can inform and not make.",
        target.key.name,
        real.words(),
        real.words()
    )
}

/// The choice that a price makes.
pub(super) fn cheapest(real: Real, point: &Point) -> String {
    format!(
        "By what the site says a refused customer costs, {} is cheapest at {}: {} {} refused, {}.",
        size(&point.limiter),
        point.cost.unwrap_or_default(),
        point.real_refused,
        real.words(),
        attack(point)
    )
}

/// Why one key must not decide.
pub(super) fn dominated(
    real: Real,
    target: &ProtectTarget,
    best: &Candidate,
    (most, of): (u64, u64),
) -> String {
    let without = best
        .without_busiest
        .map_or_else(String::new, |size| format!(", and {size} without the busiest"));
    let who = if real == Real::Everyone {
        "nobody in it is shown to be a customer"
    } else {
        "nothing shows who is a customer"
    };
    format!(
        "One `{}` sends {most} of the {of} requests ({}), and {who}: a limit that spares it ({}{without}) may spare an attacker. Say who is a customer ([[cohort.customer]]), or that this one is none ([[cohort.attacker]]).",
        target.key.name,
        percent(most, of),
        counted(&best.limiter, &size(&best.limiter))
    )
}

/// What else is worth knowing of the evidence.
pub(super) fn of_evidence(
    ground: &Ground<'_>,
    evidence: &Evidence<'_>,
    target: &ProtectTarget,
    one: &Recommendation,
) -> Vec<String> {
    let mut notes = Vec::new();
    let asked = evidence.asked.count();
    if let Some(basis) = &one.basis {
        if !basis.busiest.is_exact() {
            notes.push(format!(
                "the log's stamps are {} apart, so what the busiest needs is only known to be {}: the upper end is taken",
                span::format(ground.resolution.us),
                between(basis.busiest)
            ));
        }
        if let Some(users) = basis.users_of_busiest.filter(|users| *users > 1) {
            notes.push(format!(
                "the busiest key stands for many people: {users} users were seen with it"
            ));
        }
    }
    if evidence.real_missing > 0 {
        notes.push(format!(
            "{} requests of {} have no `{}` and are not asked",
            evidence.real_missing,
            ground.real.words(),
            target.key.name
        ));
    }
    if evidence.already_refused.saturating_mul(REFUSED_BEFORE) > asked {
        notes.push(format!(
            "{} of {asked} requests had been refused by a limiter already: clients that were refused come less often, so the true peaks are higher than these",
            evidence.already_refused
        ));
    }
    let mut attack = evidence.asked.clone();
    attack.and(ground.attacks());
    let without_key = attack.count() - evidence.attack_requests;
    if without_key > 0 {
        notes.push(format!(
            "{without_key} of the attacks' {} requests have no `{}` and are not asked: this limit can't stop them",
            attack.count(),
            target.key.name
        ));
    }
    notes
}

/// What the replay of the whole policy adds.
pub(super) fn of_expected(real: Real, one: &Recommendation) -> Vec<String> {
    let Some(expected) = &one.expected else { return Vec::new() };
    let mut notes = Vec::new();
    if expected.never_binds {
        notes.push(
            "in this policy it never refused anything: a ceiling for what is yet to come, or limits before it take all that it would refuse".to_owned(),
        );
    }
    if expected.real_refused.hi > 0 {
        notes.push(format!(
            "replayed, {} {} would have been refused by it",
            between(expected.real_refused),
            real.words()
        ));
    }
    if expected.unknown_refused.hi > 0 {
        notes.push(format!(
            "of identities of which nobody knows whose they are it would have refused {}",
            between(expected.unknown_refused)
        ));
    }
    notes
}
