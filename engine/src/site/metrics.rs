//! What requirements may be about: the one list of names, units, meanings, and what may narrow them.

use crate::units::slug::slug;

use super::Site;

/// What stands before the dot of a metric's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// `customer`, `attacker` or `unknown`.
    Cohort,
    /// An attacker rule.
    Rule,
    /// A paid action.
    Action,
    /// A limit.
    Limit,
    /// A kind of duplicate.
    Duplicate,
    /// Nobody: the name stands alone.
    Alone,
}

/// What a requirement about a metric may say besides its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Narrows {
    /// `between`: requests are counted one by one, so that some of them can be left out.
    pub between: bool,
    /// `horizon`: it is about any interval of some length.
    pub horizon: bool,
    /// `outage`: it is another in a what-if, or holds in all of them.
    pub outage: bool,
}

/// A form of metrics.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Whose it is.
    pub owner: Owner,
    /// What stands after the dot, or the whole name.
    pub field: Field,
    /// What its values count.
    pub unit: &'static str,
    /// What it means.
    pub about: &'static str,
    /// What may narrow it.
    pub narrows: Narrows,
}

/// Names of the cohorts, in the order of `Cohort::ALL`.
pub const COHORTS: [&str; 3] = ["customer", "attacker", "unknown"];
/// The unit of metrics that are money.
pub const MONEY: &str = "money";
/// The unit of metrics that are lengths of time.
pub const SECONDS: &str = "seconds";
const SHARE: &str = "share, 0 to 1";

const COUNTED: Narrows = Narrows { between: true, horizon: false, outage: true };
const WHOLE: Narrows = Narrows { between: false, horizon: false, outage: true };
const BOUND: Narrows = Narrows { between: false, horizon: true, outage: true };
const ONCE: Narrows = Narrows { between: false, horizon: false, outage: false };

macro_rules! fields {
    ($($variant:ident = $name:literal;)+) => {
        /// What a metric says of its owner.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Field { $(#[doc = concat!("`", $name, "`, as its form explains.")] $variant,)+ }

        impl Field {
            /// As requirements write it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

fields! {
    IdentitiesRefused = "identities_refused";
    RequestsRefused = "requests_refused";
    Delayed = "delayed";
    RefusedShare = "refused_share";
    AdmittedPerS = "admitted_per_s";
    KeysToDefeat = "keys_to_defeat";
    Bound = "bound";
    BoundAligned = "bound_aligned";
    ReplayedWorst = "replayed_worst";
    TimeToAlarmS = "time_to_alarm_s";
    FillMax = "fill_max";
    Admitted = "admitted";
    Growth = "growth_to_first_refusal";
    BadShare = "input.bad_share";
}

const fn form(
    owner: Owner,
    field: Field,
    unit: &'static str,
    about: &'static str,
    narrows: Narrows,
) -> Form {
    Form { owner, field, unit, about, narrows }
}

/// Every form.
pub const FORMS: [Form; 15] = {
    use Field as F;
    use Owner as O;
    [
        form(
            O::Cohort,
            F::IdentitiesRefused,
            "identities",
            "people with a request refused",
            COUNTED,
        ),
        form(O::Cohort, F::RequestsRefused, "requests", "requests refused", COUNTED),
        form(O::Cohort, F::Delayed, "requests", "requests admitted later than they came", COUNTED),
        form(
            O::Rule,
            F::RefusedShare,
            SHARE,
            "of the requests that the rule matches, refused",
            COUNTED,
        ),
        form(
            O::Rule,
            F::AdmittedPerS,
            "requests/s",
            "admitted over the time of the attack",
            COUNTED,
        ),
        form(
            O::Rule,
            F::KeysToDefeat,
            "keys",
            "how many keys make the limits useless; 0 if none holds it",
            ONCE,
        ),
        form(
            O::Action,
            F::Bound,
            MONEY,
            "the most that any interval as long as the horizon can cost",
            BOUND,
        ),
        form(
            O::Action,
            F::BoundAligned,
            MONEY,
            "the same for intervals aligned to the limits' windows",
            BOUND,
        ),
        form(
            O::Action,
            F::ReplayedWorst,
            MONEY,
            "the dearest interval as long as the horizon, replayed",
            BOUND,
        ),
        form(
            O::Action,
            F::TimeToAlarmS,
            SECONDS,
            "from the beginning of the attack to an alarm, at worst",
            WHOLE,
        ),
        form(O::Limit, F::FillMax, SHARE, "how full its fullest state was", WHOLE),
        form(
            O::Limit,
            F::IdentitiesRefused,
            "identities",
            "people with a request it refused",
            COUNTED,
        ),
        form(O::Duplicate, F::Admitted, "requests", "duplicates that were still admitted", COUNTED),
        form(
            O::Alone,
            F::Growth,
            "factor",
            "how much the traffic can grow until a customer is refused",
            ONCE,
        ),
        form(O::Alone, F::BadShare, SHARE, "of the lines meant to be requests, unreadable", ONCE),
    ]
};

/// What a requirement is about: a form, and its owner's name as a slug (empty where it stands alone).
///
/// A name that is both a cohort's and a limit's is the cohort's.
pub fn find(metric: &str) -> Option<(Form, &str)> {
    let of = |owner: Owner, name: &str| {
        FORMS.into_iter().find(|form| form.owner == owner && form.field.name() == name)
    };
    if let Some(alone) = of(Owner::Alone, metric) {
        return Some((alone, ""));
    }
    let (owner, field) = metric.rsplit_once('.')?;
    let cohort = of(Owner::Cohort, field).filter(|_| COHORTS.contains(&owner));
    let any = FORMS.into_iter().rev().find(|form| form.field.name() == field);
    let known = cohort.or(any).filter(|form| form.owner != Owner::Alone);
    known.map(|form| (form, owner))
}

impl Site {
    /// The times of day whose requests a replay counts on their own, minutes since local midnight, each once,
    /// in the order of the requirements that ask for them; `None` stands for all day, which is asked for
    /// where a figure is counted in no other place.
    pub fn times_asked(&self) -> Vec<Option<(u32, u32)>> {
        let mut list = Vec::new();
        for requirement in &self.requirements {
            let of_limit = find(&requirement.metric).is_some_and(|(form, _)| {
                (form.owner, form.field) == (Owner::Limit, Field::IdentitiesRefused)
            });
            let times = requirement.between_min;
            if (times.is_some() || of_limit) && !list.contains(&times) {
                list.push(times);
            }
        }
        list
    }
}

/// The place of a name among others, by their slugs.
pub fn position<'n>(slugged: &str, names: impl IntoIterator<Item = &'n String>) -> Option<usize> {
    names.into_iter().position(|name| slug(name) == slugged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_found_by_its_name() {
        let found = |metric| find(metric).map(|(form, owner)| (form.owner, form.field, owner));
        let customers = (Owner::Cohort, Field::IdentitiesRefused, "customer");
        assert_eq!(found("customer.identities_refused"), Some(customers));
        let limit = (Owner::Limit, Field::IdentitiesRefused, "sms-hard-stop");
        assert_eq!(found("sms-hard-stop.identities_refused"), Some(limit));
        assert_eq!(found("sms.bound"), Some((Owner::Action, Field::Bound, "sms")));
        assert_eq!(found("input.bad_share"), Some((Owner::Alone, Field::BadShare, "")));
        assert_eq!(found("growth_to_first_refusal"), Some((Owner::Alone, Field::Growth, "")));
        assert_eq!((found("x.growth_to_first_refusal"), found("sms.nothing")), (None, None));
    }
}
