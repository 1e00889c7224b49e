//! Builds the report's part about limits to set from what the engine recommends.

use shadowcap_engine::limiter::Limiter;
use shadowcap_engine::limiter::critical::Sizing;
use shadowcap_engine::limiter::token_bucket::Refill;
use shadowcap_engine::recommend::answer::{self, Real, Recommended};
use shadowcap_engine::recommend::{holdout, policy_text};
use shadowcap_engine::site::Site;
use shadowcap_engine::units::bracket::Bracket;
use shadowcap_engine::units::escape;
use shadowcap_engine::units::time::format_rfc3339;

use super::model::Seconds;
use super::number::{Bracketed, Millionths, Thousandths, share};
use super::pseudonym::Names;
use super::recommendation_model::{
    Basis, Confidence, Expected, Holdout, Point, Recommendation, Split,
};

/// What was recommended, and for what.
pub(crate) struct ToSet<'a> {
    pub(crate) recommended: &'a Recommended,
    pub(crate) site: &'a Site,
}

/// Every recommendation, in the order of the site's `[[protect]]`s, else of keys and routes.
pub(super) fn all(of: &ToSet<'_>, names: &Names) -> Vec<Recommendation> {
    let ToSet { recommended, site } = of;
    let built = recommended.recommendations.iter();
    built.map(|one| build(one, recommended.real, site, names)).collect()
}

fn text(of: &str) -> String {
    escape::terminal(of.as_bytes())
}

fn build(one: &answer::Recommendation, real: Real, site: &Site, names: &Names) -> Recommendation {
    let bucket = one.is_bucket();
    Recommendation {
        protect: text(&one.target),
        key: text(&one.key.name),
        route: text(&one.route),
        confidence: one.confidence.map(|confidence| Confidence {
            n: confidence.keys,
            days: confidence.days,
            unseen_hi: Millionths(confidence.unseen_hi_ppm),
            bootstrap: confidence.bootstrap,
        }),
        tradeoff: (!one.tradeoff.is_empty()).then(|| one.tradeoff.iter().map(point).collect()),
        algorithm: text(&one.algorithm),
        limit: one.size().filter(|_| !bucket),
        window_s: one.window_us.map(|us| Seconds { us }),
        rate: one.limit.as_ref().and_then(|limit| rate(&limit.limiter)),
        burst: one.size().filter(|_| bucket),
        basis: one.basis.as_ref().map(|basis| Basis {
            sized_for: real.words(),
            customers: basis.keys,
            busiest: whole(basis.busiest),
            p999: whole(basis.p999),
            headroom: Thousandths(basis.headroom_milli),
            busiest_key: names.show_key(&one.key, &basis.busiest_key),
            users_of_busiest: basis.users_of_busiest,
            pace: basis.pace.map(whole),
        }),
        expected: one.expected.as_ref().map(expected),
        holdout: one.holdout.as_ref().map(held_out),
        why: text(&one.why),
        notes: one.notes.iter().map(|note| text(note)).collect(),
        split: one.split.as_ref().map(|split| Split {
            what: text(&split.what),
            key: text(&split.limit.key.name),
            // written so that nothing in it needs escaping
            policy: policy_text::limit(&split.limit, site),
            customer_identities_refused: split.real_refused,
            attacker_refused_share: share(split.attack_refused, split.attack_requests),
        }),
        instances: one.instances,
    }
}

fn whole(bracket: Bracket<u64>) -> Bracketed<u64> {
    Bracketed::new(bracket, |count| count)
}

/// A bucket's rate as policies write it.
fn rate(limiter: &Limiter) -> Option<String> {
    match limiter {
        Limiter::Nginx(nginx) => Some(policy_text::nginx_rate(nginx.rate_milli)),
        Limiter::Gcra(gcra) => Some(gcra.rate.to_string()),
        Limiter::TokenBucket(bucket) => match bucket.refill {
            Refill::Continuous(rate) => Some(rate.to_string()),
            Refill::Interval { .. } => None,
        },
        _ => None,
    }
}

fn expected(expected: &answer::Expected) -> Expected {
    let requests = expected.attack_requests;
    let of_attack = |refused| share(refused, requests).unwrap_or(Millionths(0));
    let refused = Bracketed::new(expected.attack_refused, of_attack);
    Expected {
        customer_identities_refused: whole(expected.real_refused),
        attacker_refused_share: (requests > 0).then_some(refused),
        unknown_identities_refused: whole(expected.unknown_refused),
        never_binds: expected.never_binds,
    }
}

fn point(point: &answer::Point) -> Point {
    Point {
        limit: Sizing::size_of(&point.limiter).unwrap_or(0),
        rate: rate(&point.limiter),
        customer_identities_refused: point.real_refused,
        unknown_identities_refused: point.unknown_refused,
        attacker_refused_share: share(point.attack_refused, point.attack_requests),
        cost: point.cost.map(|cost| cost.to_string()),
    }
}

fn held_out(holdout: &holdout::Holdout) -> Holdout {
    Holdout {
        from: format_rfc3339(holdout.from_us),
        to: format_rfc3339(holdout.to_us - 1),
        requests: holdout.requests,
        customer_identities: holdout.real_identities,
        customer_identities_refused: holdout.real_refused,
        unknown_identities_refused: holdout.unknown_refused,
        attacker_refused_share: share(holdout.attack_refused, holdout.attack_requests),
    }
}
