//! What requirements are evaluated from: the files, a policy's replay, and what was read.

use rust_decimal::Decimal;

use crate::policy::Policy;
use crate::policy::coverage::Ground;
use crate::replay::run::Replayed;
use crate::replay::tally::Tally;
use crate::replay::{HoursLimitTally, HoursTally};
use crate::site::Site;
use crate::site::facts::Requirement;
use crate::units::bracket::Bracket;

/// What is known of a policy.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The site, whose requirements these are.
    pub site: &'a Site,
    /// The policy.
    pub policy: &'a Policy,
    /// What a log tells; without one, only what needs none is evaluated.
    pub log: Option<Log<'a>>,
    /// The instant of `--now`, microseconds since the epoch; without it nothing has expired.
    pub now_us: Option<i64>,
}

impl<'a> Evidence<'a> {
    /// What is asked without any log.
    pub(super) fn ground(&self) -> Ground<'a> {
        Ground { policy: self.policy, site: Some(self.site), now_us: self.now_us }
    }
}

/// What a log tells.
#[derive(Debug, Clone, Copy)]
pub struct Log<'a> {
    /// The policy's replay.
    pub replayed: &'a Replayed,
    /// The same in each of the [outages that requirements name](super::outages_required): its index in the
    /// site file, and what was counted.
    pub outages: &'a [(usize, Tally)],
    /// Unreadable lines, and all lines that were meant to be requests.
    pub unreadable: (u64, u64),
}

/// What a replay told, in the what-if and at the times of day that a requirement names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    replay: Replay<'a>,
    /// Which of the tally's times of day.
    hours: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Replay<'a> {
    /// The base case with its doubts.
    Doubtful(&'a Replayed),
    /// A what-if, of which only the base case is replayed.
    Base(&'a Tally),
}

impl<'a> Told<'a> {
    /// For a requirement; `None` if its what-if, or its times of day, weren't replayed.
    pub(super) fn new(
        site: &Site,
        log: Log<'a>,
        requirement: &Requirement,
        counts_all_day: bool,
    ) -> Option<Self> {
        let replay = match &requirement.outage {
            None => Replay::Doubtful(log.replayed),
            Some(name) => {
                let index = site.outages.iter().position(|outage| outage.name == *name)?;
                let (_, tally) = log.outages.iter().find(|(of, _)| *of == index)?;
                Replay::Base(tally)
            }
        };
        let times = requirement.between_min;
        let hours = if times.is_some() || counts_all_day {
            Some(site.times_asked().iter().position(|asked| *asked == times)?)
        } else {
            None
        };
        Some(Self { replay, hours })
    }

    /// Whether it is about a what-if.
    pub(super) fn is_of_an_outage(self) -> bool {
        matches!(self.replay, Replay::Base(_))
    }

    /// The base case.
    pub(super) fn base(self) -> &'a Tally {
        match self.replay {
            Replay::Doubtful(replayed) => &replayed.base,
            Replay::Base(tally) => tally,
        }
    }

    /// What was counted of the requests at the requirement's times of day.
    pub(super) fn hours(self, tally: &Tally) -> Option<&HoursTally> {
        tally.hours.get(self.hours?)
    }

    /// What was counted of a limit at the requirement's times of day.
    pub(super) fn hours_limit(self, tally: &Tally, limit: usize) -> Option<&HoursLimitTally> {
        self.hours(tally)?.limits.get(limit)
    }

    /// A figure with its doubts: between the least and the most of the cases that have it; `None` if the base
    /// case hasn't.
    pub(super) fn figure(self, of: impl Fn(&Tally) -> Option<Decimal>) -> Option<Bracket<Decimal>> {
        match self.replay {
            Replay::Base(tally) => of(tally).map(Bracket::exact),
            Replay::Doubtful(replayed) => {
                let base = of(&replayed.base)?;
                Some(replayed.bracket(|tally| of(tally).unwrap_or(base)).0)
            }
        }
    }
}
