//! `[[tier]]` and `[[route]]`: the servers, and what is asked of them.

use super::{Reading, matching, name_or_empty, unique};
use crate::document::{Item, Table};
use crate::site::facts::{Balance, Tier};
use crate::site::pattern::Pattern;
use crate::site::route::{Route, RouteError, RoutePath};

const BALANCES: [(&str, u8); 4] =
    [("round-robin", 0), ("random", 1), ("by-client", 2), ("observed", 3)];

impl Reading<'_> {
    pub(super) fn tiers(&self) -> Vec<Tier> {
        let tables = self.root.tables("tier");
        unique(&tables, str::to_owned);
        tables.iter().map(tier).collect()
    }

    pub(super) fn routes(&self) -> Vec<Route> {
        let tables = self.root.tables("route");
        unique(&tables, str::to_owned);
        tables.iter().filter_map(route).collect()
    }
}

fn tier(table: &Table<'_>) -> Tier {
    let instances = table.whole("instances").unwrap_or(1);
    let instances_max = table.whole("instances_max").unwrap_or(instances);
    if instances_max < instances {
        let message = format!("`instances_max` is {instances_max}, but there are {instances}");
        let help = "it is what an autoscaler may reach; leave it out for a fixed number";
        table.contradicts("instances_max", &message, help);
    }
    let balance = table.word("balance", &BALANCES).map(|chosen| match chosen {
        0 => Balance::RoundRobin,
        1 => Balance::Random,
        2 => Balance::ByClient,
        _ => Balance::Observed,
    });
    if instances.max(instances_max) > 1 && !table.has("balance") {
        table.missing("balance", "above one instance it matters who gets which request");
    }
    Tier { name: name_or_empty(table), instances, instances_max, balance }
}

fn route(table: &Table<'_>) -> Option<Route> {
    let parts = |key: &str| table.get(key).map(|item| item.parts()).unwrap_or_default();
    let methods: Vec<String> = parts("method")
        .iter()
        .filter_map(|part| matching::method_text(part).map(str::to_owned))
        .collect();
    let hosts: Vec<String> = parts("host").iter().filter_map(matching::host_text).collect();
    let path = match (table.get("path"), table.get("regex")) {
        (Some(_), Some(regex)) => {
            let help = "write one of them";
            table.contradicts("regex", "`path` and `regex` can't stand together", help);
            let _ = regex.text();
            None
        }
        (Some(path), None) => pattern(&path),
        (None, Some(item)) => {
            item.text().and_then(|text| matching::regex(text, &item)).map(RoutePath::Regex)
        }
        (None, None) => {
            if !table.has("method") && !table.has("host") {
                table.missing("path", "say which requests are the route's");
            }
            Some(RoutePath::Any)
        }
    };
    let name = table.get("name")?;
    let mut made = Route::new(name.text()?.to_owned(), methods, hosts, path?);
    if let Ok(route) = &mut made {
        route.line = table.place.line;
    }
    made.map_err(|error| {
        let key = match error {
            RouteError::Pattern(_) => "path",
            RouteError::Method(_) => "method",
            RouteError::Host(_) => "host",
            RouteError::Name(_) | RouteError::Shape(_) => "name",
        };
        table.peek(key).unwrap_or(name).malformed(error);
    })
    .ok()
}

fn pattern(item: &Item<'_>) -> Option<RoutePath> {
    let text = item.text()?;
    let pattern = Pattern::parse(text).map_err(|error| item.malformed(error)).ok()?;
    Some(RoutePath::Pattern(pattern))
}
