//! A scenario, checked: who there is, what they do, when schedules come, and how lines are written.

use super::address::Pool;
use super::curve::Curve;
use super::line::Output;
use super::lognormal::LogNormal;
use super::random::{choose, mixed};
use super::text::Text;
use crate::units::address::Address;
use crate::units::zone::Zone;

/// What an identity's number is mixed with for different things.
const AGENT: u64 = 51;
const POOL: u64 = 52;

/// Traffic with known truth.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The zone of its clock: curves follow it, and stamps are written in it.
    pub zone: Zone,
    /// What all randomness comes from.
    pub seed: u64,
    /// The first instant at which a request may end, microseconds since the epoch.
    pub from_us: i64,
    /// The first instant at which none may any more.
    pub to_us: i64,
    /// Pools of addresses.
    pub pools: Vec<Pool>,
    /// Kinds of requests.
    pub requests: Vec<Request>,
    /// Everybody; crowds and schedules refer to them by index.
    pub groups: Vec<Group>,
    /// Those who come in sessions.
    pub crowds: Vec<Crowd>,
    /// What comes by a schedule: attacks, and peaks that are to be exact.
    pub schedules: Vec<Schedule>,
    /// How lines are written, and where to.
    pub outputs: Vec<Output>,
}

/// A kind of request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its name.
    pub name: String,
    /// GET and so on.
    pub method: String,
    /// Its path.
    pub path: Text,
    /// Statuses and how often each comes, in proportion.
    pub statuses: Vec<(u16, u64)>,
    /// How long it takes, microseconds.
    pub duration: LogNormal,
    /// Bytes of the response, from … to.
    pub bytes: (u32, u32),
    /// Whether a 2xx proves its identity to be a customer.
    pub proves: bool,
}

/// What the truth says of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// People who are welcome.
    Customer,
    /// Those whom an attack rule is to match.
    Attacker,
}

/// People, machines or bots that have something in common.
#[derive(Debug, Clone)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Whether they are welcome.
    pub kind: Kind,
    /// The site's attack rule that is to match them.
    pub rule: Option<String>,
    /// How many there are.
    pub identities: u32,
    /// The number of the first.
    pub first: u32,
    /// Name of a user; none if they never log in.
    pub user: Option<Text>,
    /// Phone number.
    pub phone: Option<Text>,
    /// Pools that their addresses come from, and in which proportion.
    pub pools: Vec<(usize, u64)>,
    /// What their clients call themselves, in proportion.
    pub agents: Vec<(Vec<u8>, u64)>,
    /// Fields of their own.
    pub fields: Vec<(String, Text)>,
    /// The group of the very same identities, which the truth counts there.
    pub same_as: Option<usize>,
    /// Whether they send an `X-Forwarded-For` of their own with each request.
    pub forges: bool,
}

/// A group that comes in sessions.
#[derive(Debug, Clone)]
pub struct Crowd {
    /// Who.
    pub group: usize,
    /// Sessions of one of them on a usual day, thousandths.
    pub per_day_milli: u64,
    /// When.
    pub curve: Curve,
    /// What they do; who has which is found in this order.
    pub habits: Vec<Habit>,
}

/// Who has a habit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// So many, the first that have none yet.
    Identities(u32),
    /// One in so many.
    OneIn(u32),
    /// All others.
    Rest,
}

/// What happens in a session.
#[derive(Debug, Clone)]
pub struct Habit {
    /// Who has it.
    pub members: Members,
    /// The only hour of the day, 0 to 23, in which they come; none: any.
    pub hour: Option<u8>,
    /// Whether its sessions begin logged in.
    pub logged_in: bool,
    /// One after the other.
    pub steps: Vec<Step>,
}

/// How long from one request to the next.
#[derive(Debug, Clone)]
pub enum Gap {
    /// As people think.
    Think(LogNormal),
    /// Always the same, microseconds.
    Every(u32),
}

/// Requests of one kind.
#[derive(Debug, Clone)]
pub struct Step {
    /// Which.
    pub request: usize,
    /// How many, from … to.
    pub times: (u32, u32),
    /// In how many of a million sessions.
    pub chance_ppm: u64,
    /// What lies between them, and before the first unless `pause_us` does.
    pub gap: Gap,
    /// What lies before the first, microseconds.
    pub pause_us: Option<u32>,
    /// Whether its response logs in, and all later requests are.
    pub logs_in: bool,
}

/// Requests by a schedule.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Who.
    pub group: usize,
    /// What they ask for.
    pub request: usize,
    /// When it begins, microseconds since the epoch.
    pub from_us: i64,
    /// How long it goes on, microseconds, at least 1.
    pub length_us: i64,
    /// How the requests lie in it.
    pub pattern: Pattern,
    /// Whether they are logged in.
    pub logged_in: bool,
    /// Whether each response logs in.
    pub logs_in: bool,
}

/// How scheduled requests lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// So many, evenly, of one identity after the other.
    Even(u64),
    /// Each identity comes once, with so many requests (from … to) evenly over so long, microseconds.
    Bursts((u32, u32), i64),
}

impl Scenario {
    /// The scenario with another number of customers, of an attack's keys and their totals: `scale` in
    /// millionths. No key's own rate changes: shared addresses become fewer, and an attack of one key stays.
    #[must_use]
    pub fn scaled(mut self, scale_ppm: u64) -> Self {
        let times = |count: u64| {
            let product = u128::from(count) * u128::from(scale_ppm) / 1_000_000;
            u64::try_from(product).unwrap_or(u64::MAX)
        };
        let least_one = |count: u32| u32::try_from(times(count.into()).max(1)).unwrap_or(u32::MAX);
        for schedule in &mut self.schedules {
            let Some(group) = self.groups.get(schedule.group) else { continue };
            if let (Pattern::Even(requests), true) = (&mut schedule.pattern, group.identities > 1) {
                // whole rounds: each key keeps its own total
                let each = *requests / u64::from(group.identities);
                *requests = each * u64::from(least_one(group.identities));
            }
        }
        for group in self.groups.iter_mut().filter(|group| group.identities > 1) {
            group.identities = least_one(group.identities);
        }
        for pool in &mut self.pools {
            pool.scale(&times);
        }
        self
    }
}

impl Group {
    /// The number of one of its identities, which names and addresses are made of.
    pub fn number(&self, identity: u32) -> u64 {
        u64::from(self.first) + u64::from(identity)
    }

    /// What an identity's client calls itself.
    pub fn agent(&self, identity: u32) -> &[u8] {
        choose(mixed(self.number(identity), AGENT), &self.agents).map_or(b"-", Vec::as_slice)
    }
}

impl Scenario {
    /// The address of an identity for a request with these random bits, and whether it changes with them.
    pub fn address(&self, group: &Group, identity: u32, bits: u64) -> Option<(Address, bool)> {
        let number = group.number(identity);
        let pool = self.pools.get(*choose(mixed(number, POOL), &group.pools)?)?;
        Some((pool.address(number, bits), pool.roams))
    }
}
