//! Builds the report's part about curves.

use shadowcap_engine::recommend::protects::ProtectTarget;
use shadowcap_engine::recommend::sizing::{SizedCurve, SizedPoint};
use shadowcap_engine::units::escape;

use super::curve_model::{Curve, Mark, Point};
use super::model::Seconds;
use super::number::share;

/// What was sized.
pub(crate) struct CurveMaterial {
    pub(crate) target: ProtectTarget,
    pub(crate) curves: Vec<SizedCurve>,
    /// Whether the site says who is a customer.
    pub(crate) knows_customers: bool,
}

fn text(of: &str) -> String {
    escape::terminal(of.as_bytes())
}

/// The curves of what was sized.
pub(super) fn curves(material: &CurveMaterial) -> Vec<Curve> {
    let CurveMaterial { target, knows_customers, .. } = material;
    let curve = |sized: &SizedCurve| Curve {
        protect: text(&target.name),
        key: text(&target.key.name),
        route: text(&target.route),
        algorithm: target.algorithm.clone(),
        window_s: sized.window_us.map(|us| Seconds { us }),
        keys: sized.keys,
        marks: sized
            .marks
            .iter()
            .map(|mark| Mark { what: text(&mark.what), limit: mark.size })
            .collect(),
        points: sized.points.iter().map(|of| point(of, sized, *knows_customers)).collect(),
    };
    material.curves.iter().map(curve).collect()
}

fn point(sized: &SizedPoint, curve: &SizedCurve, knows_customers: bool) -> Point {
    let SizedPoint { rate, point } = sized;
    let [customers_refused, ..] = point.identities_refused;
    let [_, attack_refused, _] = point.requests_refused;
    let [_, attack_asked, _] = curve.requests;
    Point {
        limit: rate.is_none().then_some(point.size),
        rate: rate.map(|rate| rate.to_string()),
        burst: rate.is_some().then_some(point.size),
        basis: point.basis.name(),
        keys_refused: point.keys_refused,
        customer_identities_refused: knows_customers.then_some(customers_refused),
        attacker_refused_share: share(attack_refused, attack_asked),
    }
}
