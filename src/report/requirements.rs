//! Builds the report's part about what the site requires from what the engine evaluated.

use shadowcap_engine::metric::{self, Outcome, Value};
use shadowcap_engine::policy::Policy;
use shadowcap_engine::site::facts::Requirement as Required;
use shadowcap_engine::site::metrics::{Field, MONEY};
use shadowcap_engine::units::decimal::scaled;
use shadowcap_engine::units::escape;
use shadowcap_engine::units::money::{self, Round};

use super::model::Seconds;
use super::number::{Kind, Millionths, Thousandths};
use super::requirement_model::{End, Limit, RequiredValue, Requirement};

/// Builds the part about one policy, in the order of the site file.
pub(crate) fn requirements(policy: &Policy, outcomes: &[Outcome<'_>]) -> Vec<Requirement> {
    outcomes.iter().map(|outcome| requirement(policy, outcome)).collect()
}

fn text(of: &str) -> String {
    escape::terminal(of.as_bytes())
}

fn requirement(policy: &Policy, outcome: &Outcome<'_>) -> Requirement {
    let Outcome { requirement, form, action, value, pass, fault } = outcome;
    let currency = action.filter(|_| form.unit == MONEY).map(|action| action.currency.as_str());
    let fault = fault.and_then(|index| policy.limits.get(index));
    let (value, why) = match value {
        Value::Known(of) => {
            let end = |of| end(of, form.field, currency);
            let known = if of.is_exact() {
                RequiredValue::Exact(end(of.lo))
            } else {
                RequiredValue::Between { lo: end(of.lo), hi: end(of.hi), kind: Kind::of(of.kind) }
            };
            (Some(known), None)
        }
        Value::Unknown(why) => (None, Some(why.to_string())),
    };
    Requirement {
        name: text(&requirement.name),
        policy: text(&policy.name),
        metric: text(&requirement.metric),
        unit: text(currency.unwrap_or(form.unit)),
        value,
        why,
        min: limit(requirement, |of| of.min, currency),
        max: limit(requirement, |of| of.max, currency),
        between: requirement.between_min.map(|(from, to)| (clock(from), clock(to))),
        horizon_s: form.narrows.horizon.then_some(Seconds { us: requirement.horizon_us }),
        outage: requirement.outage.as_deref().map(text),
        pass: *pass,
        limit: fault.map(|limit| text(&limit.name)),
        file: fault.map(|_| text(&policy.file)),
        line: fault.map(|limit| limit.place.line),
    }
}

fn end(of: metric::End, field: Field, currency: Option<&str>) -> End {
    let metric::End::At(number) = of else { return End::Unbounded("unbounded") };
    match (currency, field) {
        (Some(currency), _) => End::Money(money::text(number, currency, Round::Nearest)),
        (None, Field::RefusedShare | Field::FillMax | Field::BadShare) => {
            End::Share(Millionths(scaled(number, 6)))
        }
        (None, Field::AdmittedPerS | Field::Growth) => End::Decimal(Thousandths(scaled(number, 3))),
        (None, _) => End::Count(scaled(number, 0)),
    }
}

/// What the site file says, as it does: money with at least the digits of its currency.
fn limit<D: ToString>(
    of: &Required,
    which: impl Fn(&Required) -> Option<D>,
    currency: Option<&str>,
) -> Option<Limit> {
    let written = which(of)?.to_string();
    let Some(currency) = currency else { return written.parse().ok().map(Limit::Number) };
    let digits = usize::try_from(money::digits(currency)).unwrap_or(0);
    let (whole, decimals) = written.split_once('.').unwrap_or((&written, ""));
    let padded = format!("{decimals:0<digits$}");
    let amount = if padded.is_empty() { whole.to_owned() } else { format!("{whole}.{padded}") };
    Some(Limit::Money(amount))
}

/// Minutes since midnight as a time of day.
fn clock(minutes: u32) -> String {
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}
