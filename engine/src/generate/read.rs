//! Reads a scenario file: text → checked [`Scenario`], or every problem at once.

use std::ops::RangeInclusive;

use ipnet::IpNet;

use super::address::Pool;
use super::curve::Curve;
use super::lognormal::LogNormal;
use super::output::output;
use super::scenario::{
    Crowd, Gap, Group, Habit, Kind, Members, Pattern, Request, Scenario, Schedule, Step,
};
use super::sessions::{SLICE_US, TURNS};
use super::shape::SCENARIO;
use super::text::Text;
use crate::document::{Code, Document, Item, Problem, Table};
use crate::site::read::{unique, utf8};
use crate::units::zone::Zone;

/// Reads a scenario. `file` is its name for messages.
///
/// # Errors
/// All problems of the file, by place.
pub fn read(bytes: &[u8], file: &str) -> Result<Scenario, Vec<Problem>> {
    let text = utf8(bytes, file)?;
    let document = Document::parse(file, text);
    let scenario = Reading::new(document.root(&SCENARIO)).scenario();
    let problems = document.into_problems();
    if problems.is_empty() { Ok(scenario) } else { Err(problems) }
}

struct Reading<'d> {
    root: Table<'d>,
    zone: Zone,
    pools: Vec<(&'d str, Table<'d>)>,
    curves: Vec<(&'d str, Table<'d>)>,
    requests: Vec<(&'d str, Table<'d>)>,
}

impl<'d> Reading<'d> {
    fn new(root: Table<'d>) -> Self {
        let zone = root.peek("timezone").and_then(|item| item.zone()).unwrap_or(Zone::UTC);
        let named = |key: &str| {
            let tables = root.named(key).into_iter();
            tables.map(|(name, table)| (name.value, table)).collect()
        };
        let (pools, curves, requests) = (named("pool"), named("curve"), named("request"));
        Self { root, zone, pools, curves, requests }
    }

    fn scenario(&self) -> Scenario {
        let root = &self.root;
        let from_us = root.instant_us("from", self.zone).unwrap_or_default();
        let to_us = root.instant_us("to", self.zone).unwrap_or_default();
        if to_us <= from_us && root.has("to") {
            root.contradicts("to", "`to` isn't after `from`", "a span of time has a length");
        }
        let crowds = root.tables("crowd");
        let schedules = root.tables("schedule");
        let all: Vec<Table<'d>> = crowds.iter().chain(&schedules).copied().collect();
        unique(&all, str::to_owned);
        let mut groups: Vec<Group> = Vec::new();
        for table in &all {
            let group = self.group(table, &groups);
            groups.push(group);
        }
        let of = |index: usize, table: &Table<'d>| (index, *table);
        let crowds: Vec<Crowd> = crowds
            .iter()
            .enumerate()
            .map(|(index, table)| of(index, table))
            .map(|(group, table)| self.crowd(group, &table))
            .collect();
        let begin = crowds.len();
        let schedules = schedules.iter().enumerate();
        let schedules = schedules.map(|(index, table)| self.schedule(begin + index, table));
        Scenario {
            name: root.text("name").unwrap_or_default().to_owned(),
            zone: self.zone,
            seed: root.whole("seed").unwrap_or(1),
            from_us,
            to_us,
            pools: self.pools.iter().map(|(name, table)| pool(name, table)).collect(),
            requests: self.requests.iter().map(|(name, table)| request(name, table)).collect(),
            groups,
            schedules: schedules.collect(),
            crowds,
            outputs: root.tables("output").iter().map(output).collect(),
        }
    }

    fn group(&self, table: &Table<'d>, before: &[Group]) -> Group {
        let kinds = [("customer", Kind::Customer), ("attacker", Kind::Attacker)];
        let like = table.get("like").and_then(|item| {
            let name = item.text()?;
            let found = before.iter().find(|group| group.name == name);
            if found.is_none() {
                let names: Vec<&str> = before.iter().map(|group| group.name.as_str()).collect();
                unknown(&item, name, &names);
            }
            found
        });
        let text = |key: &str, of: fn(&Group) -> Option<Text>| {
            let own = table.get(key).and_then(|item| parsed(&item));
            own.or_else(|| like.and_then(of))
        };
        let user = text("user", |group| group.user.clone());
        let phone = text("phone", |group| group.phone.clone());
        let mut pools = self.pools_of(table);
        if pools.is_empty() {
            pools = like.map(|group| group.pools.clone()).unwrap_or_default();
        }
        if pools.is_empty() {
            table.missing("pools", "say where their addresses come from");
        }
        let agents = table.entries("agents").into_iter();
        let agents = agents
            .filter_map(|(name, item)| Some((name.value.as_bytes().to_vec(), item.scaled(6)?)));
        let mut agents: Vec<(Vec<u8>, u64)> = agents.collect();
        if agents.is_empty() {
            agents = like.map(|group| group.agents.clone()).unwrap_or_default();
        }
        let fields = table.entries("fields").into_iter();
        let fields =
            fields.filter_map(|(name, item)| Some((name.value.to_owned(), parsed(&item)?)));
        let (identities, first) = (
            small(table.whole("identities")).unwrap_or(1),
            small(table.whole("first")).unwrap_or(0),
        );
        let rule = table.text("rule").map(str::to_owned);
        let same = |group: &&Group| {
            (group.identities, group.first, &group.rule) == (identities, first, &rule)
        };
        let same = like.filter(same).map(|group| group.name.as_str());
        let same_as = before.iter().position(|group| Some(group.name.as_str()) == same);
        Group {
            name: table.text("name").unwrap_or_default().to_owned(),
            kind: table.word("kind", &kinds).unwrap_or(Kind::Customer),
            rule,
            identities,
            first,
            same_as,
            user,
            phone,
            pools,
            agents,
            fields: fields.collect(),
            forges: table.flag("forges").unwrap_or(false),
        }
    }

    /// Pools that a table names, and their shares.
    fn pools_of(&self, table: &Table<'d>) -> Vec<(usize, u64)> {
        let names: Vec<&str> = self.pools.iter().map(|(name, _)| *name).collect();
        let pools = table.entries("pools").into_iter().filter_map(|(name, item)| {
            let index = names.iter().position(|known| *known == name.value);
            if index.is_none() {
                unknown(&item, name.value, &names);
            }
            Some((index?, item.scaled(6)?))
        });
        pools.collect()
    }

    fn crowd(&self, group: usize, table: &Table<'d>) -> Crowd {
        let names: Vec<&str> = self.curves.iter().map(|(name, _)| *name).collect();
        let curve = table.get("curve").and_then(|item| {
            let name = item.text()?;
            let found = self.curves.iter().find(|(known, _)| *known == name);
            if found.is_none() {
                unknown(&item, name, &names);
            }
            found.map(|(_, table)| curve(table))
        });
        let curve = curve.unwrap_or(Curve::FLAT);
        let per_day_milli = table.scaled("per_day").unwrap_or(0);
        if curve.peak_share(SLICE_US, per_day_milli).saturating_mul(TURNS) > 1 << 32
            && let Some(item) = table.peek("per_day")
        {
            let problem = item.wrong(Code::OutOfRange, "`per_day` is too much for the curve");
            item.report(problem.help("one of them has a session an hour at most: more people, or fewer sessions in the busiest hour"));
        }
        let logged_in = table.flag("logged_in").unwrap_or(false);
        let habits = table.tables("habit");
        let habits = habits.iter().map(|habit| {
            let members = match (habit.whole("identities"), habit.whole("one_in")) {
                (Some(many), None) => Members::Identities(small(Some(many)).unwrap_or(1)),
                (None, Some(many)) => Members::OneIn(small(Some(many)).unwrap_or(1)),
                (None, None) => Members::Rest,
                _ => {
                    let help = "write one of them";
                    habit.contradicts("one_in", "`identities` and `one_in` say both who", help);
                    Members::Rest
                }
            };
            Habit {
                members,
                hour: habit.whole("hour").and_then(|hour| u8::try_from(hour).ok()),
                logged_in: habit.flag("logged_in").unwrap_or(logged_in),
                steps: habit.tables("step").iter().map(|step| self.step(step)).collect(),
            }
        });
        Crowd { group, per_day_milli, curve, habits: habits.collect() }
    }

    fn step(&self, table: &Table<'d>) -> Step {
        let us = |key: &str| table.span_us(key).and_then(|us| u32::try_from(us).ok());
        let spread = small(table.scaled("spread")).unwrap_or(0);
        let think = LogNormal::new(us("think").unwrap_or(0), spread, us("least").unwrap_or(0));
        Step {
            request: self.request(table),
            times: range(table, "times").unwrap_or((1, 1)),
            chance_ppm: table.scaled("chance").unwrap_or(1_000_000),
            gap: us("every").map_or(Gap::Think(think), Gap::Every),
            pause_us: us("pause"),
            logs_in: table.flag("logs_in").unwrap_or(false),
        }
    }

    /// The request that a table names.
    fn request(&self, table: &Table<'d>) -> usize {
        let names: Vec<&str> = self.requests.iter().map(|(name, _)| *name).collect();
        let found = table.get("request").and_then(|item| {
            let name = item.text()?;
            let found = names.iter().position(|known| *known == name);
            if found.is_none() {
                unknown(&item, name, &names);
            }
            found
        });
        found.unwrap_or(0)
    }

    fn schedule(&self, group: usize, table: &Table<'d>) -> Schedule {
        let requests = table.whole("requests");
        let pattern = match (requests, table.has("burst")) {
            (Some(requests), false) => Pattern::Even(requests),
            (None, true) => {
                let within_us = table.span_us("within").unwrap_or(0);
                Pattern::Bursts(range(table, "burst").unwrap_or((1, 1)), within_us)
            }
            (Some(_), true) => {
                let help = "write one of them";
                table.contradicts("burst", "`requests` and `burst` say both how many", help);
                Pattern::Even(1)
            }
            (None, false) => {
                table.missing("requests", "or burst, for one burst of each");
                Pattern::Even(1)
            }
        };
        Schedule {
            group,
            request: self.request(table),
            from_us: table.instant_us("from", self.zone).unwrap_or_default(),
            length_us: table.span_us("for").unwrap_or(1).max(1),
            pattern,
            logged_in: table.flag("logged_in").unwrap_or(false),
            logs_in: table.flag("logs_in").unwrap_or(false),
        }
    }
}

fn small(number: Option<u64>) -> Option<u32> {
    number.map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// A name that nothing defines.
fn unknown(item: &Item<'_>, name: &str, known: &[&str]) {
    let problem = item.wrong(Code::UnknownName, format!("`{name}` isn't defined"));
    item.report(problem.allowed(known.join(", ")));
}

pub(super) fn parsed(item: &Item<'_>) -> Option<Text> {
    let text = item.text()?;
    let parsed = Text::parse(text);
    if let Err(found) = &parsed {
        let problem = item.wrong(Code::Malformed, format!("`{found}` is no place to fill"));
        let known: Vec<String> =
            super::text::PLACES.iter().map(|(name, _)| format!("{{{name}}}")).collect();
        let more = "{agent}, {field:NAME}, {n+9000} and {1-100}";
        item.report(problem.allowed(format!("{}, {more}", known.join(", "))));
    }
    parsed.ok()
}

/// `3`, or `"1-3"`.
fn range(table: &Table<'_>, key: &str) -> Option<(u32, u32)> {
    let Some(item) = table.get(key) else {
        return between(table.default(key)?);
    };
    if item.is_whole() {
        let number = small(item.whole(0..=u32::MAX.into()))?;
        return Some((number, number));
    }
    let text = item.text()?;
    let range = between(text);
    if range.is_none() {
        item.malformed(format!("`{text}` is no range: write 3 or \"1-3\""));
    }
    range
}

fn between(text: &str) -> Option<(u32, u32)> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    let (least, most) = (least.trim().parse().ok()?, most.trim().parse().ok()?);
    (least <= most).then_some((least, most))
}

fn pool(name: &str, table: &Table<'_>) -> Pool {
    let networks = table.get("networks").map(|item| item.parts()).unwrap_or_default();
    let networks = networks.iter().filter_map(|item| {
        let text = item.text()?;
        let network: Option<IpNet> = text.parse().ok();
        if network.is_none() {
            item.malformed(format!(
                "`{text}` is no network: write 203.0.113.0/24 or 2001:db8::/48"
            ));
        }
        network
    });
    let busy = table.tables("busy");
    let busy =
        busy.iter().filter_map(|table| Some((table.whole("addresses")?, table.scaled("share")?)));
    Pool {
        name: name.to_owned(),
        networks: networks.collect(),
        shared: table.whole("shared"),
        busy: busy.collect(),
        roams: table.flag("roams").unwrap_or(false),
    }
}

fn curve(table: &Table<'_>) -> Curve {
    let mut curve = Curve::FLAT;
    numbers(table, "hours", &mut curve.hours, 0..=1_000_000);
    if table.has("days") {
        numbers(table, "days", &mut curve.days_milli, 0..=10_000);
        curve.days_milli.iter_mut().for_each(|hundredths| *hundredths *= 10);
    }
    curve
}

/// Whole numbers between blanks, as many as there are places.
fn numbers(table: &Table<'_>, key: &str, places: &mut [u64], allowed: RangeInclusive<u64>) {
    let Some(item) = table.get(key) else { return };
    let Some(text) = item.text() else { return };
    let read: Option<Vec<u64>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    let fits = |read: &Vec<u64>| {
        read.len() == places.len()
            && read.iter().all(|number| allowed.contains(number))
            && read.iter().any(|number| *number > 0)
    };
    match read.filter(fits) {
        Some(read) => places.iter_mut().zip(read).for_each(|(place, number)| *place = number),
        None => item.malformed(format!(
            "write {} whole numbers up to {} with blanks between them, one of them above 0",
            places.len(),
            allowed.end()
        )),
    }
}

fn request(name: &str, table: &Table<'_>) -> Request {
    let us = table.span_us("takes").and_then(|us| u32::try_from(us).ok());
    let spread = small(table.scaled("spread")).unwrap_or(0);
    let statuses = table.entries("status").into_iter().filter_map(|(code, item)| {
        let status = code.value.parse().ok().filter(|code| (100..1_000).contains(code));
        if status.is_none() {
            let problem = item.wrong(Code::Malformed, format!("`{}` is no status", code.value));
            item.report(problem.allowed("100 to 999"));
        }
        Some((status?, item.scaled(6)?))
    });
    let mut statuses: Vec<(u16, u64)> = statuses.collect();
    if statuses.is_empty() {
        statuses.push((200, 1));
    }
    Request {
        name: name.to_owned(),
        method: table.text("method").unwrap_or("GET").to_owned(),
        path: table.get("path").and_then(|item| parsed(&item)).unwrap_or_default(),
        statuses,
        duration: LogNormal::new(us.unwrap_or(40_000), spread, 1_000),
        bytes: range(table, "bytes").unwrap_or((0, 0)),
        proves: table.flag("proves").unwrap_or(false),
    }
}
