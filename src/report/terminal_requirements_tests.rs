//! How values and limits stand beside each other.

use super::super::model::Seconds;
use super::super::number::{Kind, Millionths};
use super::*;

fn requirement(value: RequiredValue, min: Option<Limit>, max: Option<Limit>) -> Requirement {
    Requirement {
        name: "r".to_owned(),
        policy: "p".to_owned(),
        metric: "m".to_owned(),
        unit: "share, 0 to 1".to_owned(),
        value: Some(value),
        why: None,
        min,
        max,
        between: None,
        horizon_s: None,
        outage: None,
        pass: false,
        limit: None,
        file: None,
        line: None,
    }
}

#[test]
fn a_value_that_is_rounded_to_its_limit_says_on_which_side_it_is() {
    let share = || RequiredValue::Exact(End::Share(Millionths(990_000)));
    let limit = |number| Some(Limit::Number(number));
    assert_eq!(value(&requirement(share(), limit(0.99), None)), "just below 0.99");
    assert_eq!(value(&requirement(share(), None, limit(0.99))), "just above 0.99");
    assert_eq!(value(&requirement(share(), None, limit(0.9))), "0.99");
}

#[test]
fn brackets_money_and_what_has_no_end_are_shown_with_their_unit() {
    let max = Some(Limit::Money("1.00".to_owned()));
    let bound = RequiredValue::Exact(End::Money("22500.00".to_owned()));
    let mut bound = requirement(bound, None, max);
    bound.unit = "INR".to_owned();
    bound.horizon_s = Some(Seconds { us: 28_800_000_000 });
    assert_eq!(value(&bound), "22,500.00 INR");
    assert_eq!(required(&bound), "at most 1.00 INR in any 8 h");
    bound.value = Some(RequiredValue::Exact(End::Unbounded("unbounded")));
    assert_eq!(value(&bound), "unbounded");
    let (lo, hi) = (End::Decimal(Thousandths(1_250)), End::Decimal(Thousandths(1_500)));
    let growth = RequiredValue::Between { lo: lo.clone(), hi, kind: Kind::Sampled };
    let mut growth = requirement(growth, Some(Limit::Number(1.5)), None);
    growth.unit = "factor".to_owned();
    assert_eq!(value(&growth), "1.25\u{2013}1.5\u{d7}");
    let hi = End::Unbounded("unbounded");
    growth.value = Some(RequiredValue::Between { lo, hi, kind: Kind::Sampled });
    assert_eq!(value(&growth), "at least 1.25\u{d7}");
    growth.between = Some(("22:00".to_owned(), "02:00".to_owned()));
    growth.outage = Some("redis away".to_owned());
    let said = "at least 1.5\u{d7}, 22:00\u{2013}02:00, in \u{201c}redis away\u{201d}";
    assert_eq!(required(&growth), said);
}
