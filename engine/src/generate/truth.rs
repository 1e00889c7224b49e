//! What is true of the traffic: who everybody was, and how much each sent.

use std::io::{self, Write};

use serde_json::{Map, Value};

use super::event::Event;
use super::scenario::{Group, Kind, Scenario};
use super::text::write_own;

/// Requests of each identity of each group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truth {
    /// Per group and identity: requests, and whether one of them proved a customer.
    counts: Vec<Vec<(u32, bool)>>,
}

impl Truth {
    /// Of nothing yet.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let of = |group: &Group| vec![(0, false); usize::try_from(group.identities).unwrap_or(0)];
        Self { counts: scenario.groups.iter().map(of).collect() }
    }

    /// Counts a request.
    pub(super) fn count(&mut self, scenario: &Scenario, event: &Event) {
        let group = usize::from(event.group);
        let same = scenario.groups.get(group).and_then(|group| group.same_as);
        let of_group = self.counts.get_mut(same.unwrap_or(group));
        let identity = usize::try_from(event.identity).unwrap_or(usize::MAX);
        if let Some((requests, proven)) = of_group.and_then(|of| of.get_mut(identity)) {
            *requests = requests.saturating_add(1);
            let request = scenario.requests.get(usize::from(event.request));
            let proves = request.is_some_and(|request| request.proves);
            *proven |= proves && (200..300).contains(&event.status);
        }
    }

    /// Requests in all.
    pub fn requests(&self) -> u64 {
        self.counts.iter().flatten().map(|(requests, _)| u64::from(*requests)).sum()
    }

    /// Identities that sent anything.
    pub fn identities(&self) -> u64 {
        let sent = self.counts.iter().flatten().filter(|(requests, _)| *requests > 0);
        u64::try_from(sent.count()).unwrap_or(u64::MAX)
    }

    /// Writes a JSON line per identity that sent anything, by group and number: `group`, `kind`, `rule`, `user`,
    /// `phone`, `ip`, `requests`, and whether one of these proves it to be a customer (`proven`).
    ///
    /// # Errors
    /// What the sink reports.
    pub fn write(&self, scenario: &Scenario, out: &mut dyn Write) -> io::Result<()> {
        for (group, counts) in scenario.groups.iter().zip(&self.counts) {
            for (identity, (requests, proven)) in (0_u32..).zip(counts) {
                if *requests > 0 {
                    let line = line(scenario, group, identity, *requests, *proven);
                    writeln!(out, "{}", Value::Object(line))?;
                }
            }
        }
        Ok(())
    }
}

fn line(
    scenario: &Scenario,
    group: &Group,
    identity: u32,
    requests: u32,
    proven: bool,
) -> Map<String, Value> {
    let number = group.number(identity);
    let own = |text: &Option<super::text::Text>| {
        text.as_ref().map_or(Value::Null, |text| {
            let mut out = Vec::new();
            write_own(&mut out, text, number, 0);
            String::from_utf8_lossy(&out).into_owned().into()
        })
    };
    let kind = match group.kind {
        Kind::Customer => "customer",
        Kind::Attacker => "attacker",
    };
    let address = scenario.address(group, identity, 0).map(|(address, roams)| {
        // a roaming address is known by its network
        if roams { address.truncate(32, 64).with_prefix(32, 64) } else { address.to_string() }
    });
    let entries: [(&str, Value); 8] = [
        ("group", group.name.clone().into()),
        ("kind", kind.into()),
        ("rule", group.rule.clone().map_or(Value::Null, Value::from)),
        ("user", own(&group.user)),
        ("phone", own(&group.phone)),
        ("ip", address.map_or(Value::Null, Value::from)),
        ("requests", requests.into()),
        ("proven", proven.into()),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
