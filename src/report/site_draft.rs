//! A commented site file as a first draft, out of what a log shows: its format, its busiest paths as
//! routes, its keys. What no log can tell stays a comment to fill in.

use std::fmt::Write;

use shadowcap_engine::ingest::summary::Summary;
use shadowcap_engine::measure::proxies::Proxies;
use shadowcap_engine::traffic::{NONE, Traffic};
use shadowcap_engine::units::slug::slug;
use shadowcap_engine::units::time::format_seconds;

use super::number::{grouped, percent};

/// Routes that are drafted.
const MOST_ROUTES: usize = 20;

/// What a draft is made of.
pub(crate) struct Draft<'a> {
    /// The requests.
    pub(crate) traffic: &'a Traffic,
    /// What else was found.
    pub(crate) summary: &'a Summary,
    /// Addresses that look like proxies.
    pub(crate) proxies: Option<&'a Proxies>,
    /// `--log-format`, if it was given.
    pub(crate) log_format: Option<&'a str>,
    /// Whether any request has the key `user`.
    pub(crate) has_user: bool,
}

/// Writes the draft.
pub(crate) fn write(draft: &Draft<'_>) -> String {
    let mut out = String::new();
    opening(&mut out, draft);
    input(&mut out, draft);
    keys(&mut out, draft);
    routes(&mut out, draft.traffic);
    out.push_str(FOLLOWS);
    out
}

fn opening(out: &mut String, draft: &Draft<'_>) {
    let times = &draft.traffic.events.times_us;
    let _ = writeln!(
        out,
        "# Facts about a site, for shadowcap: how its logs read, who its clients are, what"
    );
    let _ = writeln!(
        out,
        "# must hold. A first draft; change it freely. `shadowcap check` looks it over."
    );
    if let (Some(first), Some(last)) = (times.first(), times.last()) {
        let (count, first, last) =
            (grouped(len(times.len())), format_seconds(*first), format_seconds(*last));
        let _ = writeln!(out, "# Drafted from {count} requests, {first} to {last} UTC.");
    }
    let _ = writeln!(out, "\nname = \"my site\"");
    let _ = writeln!(out, "timezone = \"UTC\"   # for reports, calendar windows and times of day");
    let identity = if draft.has_user { "user" } else { "ip" };
    let _ = writeln!(out, "identity = \"{identity}\"   # the key that tells people apart");
}

fn input(out: &mut String, draft: &Draft<'_>) {
    let mut formats: Vec<&str> = draft
        .summary
        .sources
        .iter()
        .filter_map(|source| source.detected.as_ref().map(|detected| detected.format.name()))
        .collect();
    formats.sort_unstable();
    formats.dedup();
    let _ = writeln!(out, "\n[input]");
    match (draft.log_format, formats.as_slice()) {
        (Some(format), _) => {
            let _ = writeln!(out, "log_format = {}", quoted(format));
        }
        (None, [only]) if !only.ends_with("-custom") => {
            let _ = writeln!(out, "format = {}", quoted(only));
        }
        (None, found) => {
            let _ = writeln!(
                out,
                "# found: {}; each file's format is found out anew",
                found.join(", ")
            );
        }
    }
    match draft.proxies {
        Some(proxies) => {
            let _ = writeln!(
                out,
                "# {} of the requests come from {} that look like proxies: say whom to believe",
                percent(proxies.requests, proxies.of),
                super::number::plural(len(proxies.addresses), "address", "addresses")
            );
        }
        None => {
            let _ = writeln!(out, "# behind a proxy, say whom to believe:");
        }
    }
    let _ = writeln!(
        out,
        "# client_ip = {{ from = \"x_forwarded_for\", trusted = [\"10.0.0.0/8\"], recursive = true }}"
    );
}

fn keys(out: &mut String, draft: &Draft<'_>) {
    let _ = writeln!(out, "\n[keys]   # beyond ip and global");
    if draft.has_user {
        let _ = writeln!(out, "user = {{ from = \"remote_user\" }}");
    } else {
        let _ = writeln!(out, "# user = {{ from = [\"cookie:uid\", \"sent_http_x_user\"] }}");
    }
    let _ = writeln!(
        out,
        "# phone = {{ from = \"path:phone\", normalise = \"phone\", region = \"IN\" }}"
    );
    let _ = writeln!(out, "# token = {{ from = \"query:token\" }}");
}

/// The busiest path templates as routes, with how many requests each has.
fn routes(out: &mut String, traffic: &Traffic) {
    let mut counts = vec![0_u64; traffic.places.len()];
    for place in traffic.events.places.iter().filter(|place| **place != NONE) {
        if let Some(count) = usize::try_from(*place).ok().and_then(|at| counts.get_mut(at)) {
            *count += 1;
        }
    }
    let mut busiest: Vec<(u64, &str)> =
        counts.into_iter().zip(traffic.places.iter().map(String::as_str)).collect();
    busiest.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let all = len(traffic.len());
    let mut names: Vec<String> = Vec::new();
    let _ = writeln!(
        out,
        "\n# Routes: the first that matches wins. These are the busiest paths; give them"
    );
    let _ = writeln!(out, "# names that people use, and put those that cost something first.");
    for (count, template) in busiest {
        let Some((method, path)) = template.split_once(' ').filter(|_| count > 0) else { continue };
        if names.len() == MOST_ROUTES || !path.starts_with('/') || !plain(method) {
            continue;
        }
        let name = free_name(&names, method, path);
        let _ = writeln!(
            out,
            "\n[[route]]   # {} requests, {}\nname = {}\nmethod = [{}]\npath = {}",
            grouped(count),
            percent(count, all),
            quoted(&name),
            quoted(method),
            quoted(path)
        );
        names.push(name);
    }
}

fn plain(method: &str) -> bool {
    !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// `GET /orders/{id}` → `get_orders_id`, numbered if taken.
fn free_name(taken: &[String], method: &str, path: &str) -> String {
    let words = slug(path).replace('-', "_");
    let words = if words.is_empty() { "root" } else { &words };
    let words: String = words.chars().filter(char::is_ascii).take(40).collect();
    let base = format!("{}_{}", method.to_lowercase(), words.trim_end_matches('_'));
    let free = |name: &String| !taken.contains(name);
    let numbered = (2..).map(|number| format!("{base}_{number}"));
    std::iter::once(base.clone()).chain(numbered).find(free).unwrap_or(base)
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

fn len(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// What no log can tell.
const FOLLOWS: &str = r#"
# Rows of equal servers, where limits may count for themselves:
# [[tier]]
# name = "nginx"
# instances = 8
# instances_max = 8
# balance = "round-robin"   # random, by-client, observed

# Who attacks (a request that matches) and who is a customer (an identity with this anywhere in the log):
# [[cohort.attacker]]
# name = "scraper"
# match = { route = ["get_menu"], logged_in = false }
# from = 2026-11-24T19:00:00Z
# to = 2026-11-24T21:00:00Z
# [[cohort.customer]]
# name = "ordered"
# match = { route = ["post_orders"], status = ["2xx"] }

# What costs money:
# [[action]]
# name = "sms"
# match = { route = ["post_otp_id"], status = ["2xx"] }
# unit_cost = "0.25"
# currency = "INR"

# What must hold, for CI (`shadowcap metrics` lists what there is):
# [[require]]
# name = "no customer refused"
# metric = "customer.identities_refused"
# max = 0
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_have_names_of_their_own() {
        let taken = vec!["get_orders_id".to_owned()];
        assert_eq!(free_name(&taken, "GET", "/orders/{id}"), "get_orders_id_2");
        assert_eq!(free_name(&taken, "GET", "/"), "get_root");
        assert_eq!(quoted("a\"\\\u{1b}"), r#""a\"\\\u001B""#);
    }
}
