//! The measure computed a second time, slowly and straight from the definitions: another reader of
//! lines, every window counted anew. Other tests compare the program with it.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use chrono::DateTime;
use regex::bytes::Regex;
use serde_json::{Value, json};

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;

/// Arrivals by client, as (client, time in µs).
pub(crate) type Arrivals = Vec<(Option<IpAddr>, i64)>;

/// Reads requests by a regular expression that looks for what surrounds a stamp.
pub(crate) fn read(text: &[u8]) -> Arrivals {
    let shape = Regex::new(
        r#"(?-u)^"?([^\[]*?(?:\[[^\[]*?)*?) ?\[(\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "(.*)" (?:\d{3}|-) (?:\d+|-)"?(?: |$|")"#,
    )
    .unwrap();
    let name =
        Regex::new(r"^(?:[A-Za-z0-9._-]*[A-Za-z][A-Za-z0-9._-]*|-|unix:)(?::\d+)?$").unwrap();
    let mut found = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        let Some(parts) = shape.captures(line).filter(|_| !line.starts_with(b"#")) else {
            continue;
        };
        let words: Vec<String> = parts[1]
            .split(|byte| *byte == b' ')
            .take(2)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        let known = words[0].parse::<IpAddr>().is_ok() || name.is_match(words[0].as_bytes());
        let address = words.iter().find_map(|word| word.parse::<IpAddr>().ok());
        if !known {
            continue;
        }
        let stamp = String::from_utf8_lossy(&parts[2]).into_owned();
        let Ok(time) = DateTime::parse_from_str(&stamp, "%d/%b/%Y:%H:%M:%S %z") else { continue };
        found.push((address, time.timestamp_micros()));
    }
    found
}

/// The rows of `measure` for key `ip`, route `*`, without names of keys.
pub(crate) fn measure(arrivals: &Arrivals, windows_s: &[i64]) -> Vec<Value> {
    let mut by_key: BTreeMap<u128, Vec<i64>> = BTreeMap::new();
    for (address, time) in arrivals {
        if let Some(address) = address {
            by_key.entry(group(*address)).or_default().push(*time);
        }
    }
    for times in by_key.values_mut() {
        times.sort_unstable();
    }
    if by_key.is_empty() {
        return vec![];
    }
    let row = |window: &i64| {
        let width = window * SECOND;
        let of_all = |count: &dyn Fn(&[i64]) -> u32| -> Vec<u32> {
            by_key.values().map(|times| count(times)).collect()
        };
        let lo = of_all(&|times| sliding(times, width));
        let hi = of_all(&|times| sliding(times, width + SECOND));
        let calendar = of_all(&|times| calendar_fullest(times, width));
        let mut histogram: BTreeMap<u32, u32> = BTreeMap::new();
        for peak in &lo {
            *histogram.entry(*peak).or_default() += 1;
        }
        json!({
            "window_s": window,
            "keys": by_key.len(),
            "peak": percentiles(&lo, Some(&hi)),
            "calendar": percentiles(&calendar, None),
            "histogram": histogram.into_iter().map(|(peak, keys)| json!([peak, keys])).collect::<Vec<_>>(),
        })
    };
    windows_s.iter().map(row).collect()
}

/// The same fields of a report's rows for key `ip`, route `*`.
pub(crate) fn rows_of(report: &Value) -> Vec<Value> {
    let rows = report["measure"].as_array().unwrap().iter();
    rows.filter(|row| row["key"] == "ip" && row["route"] == "*")
        .map(|row| {
            let fields = ["window_s", "keys", "peak", "calendar", "histogram"];
            fields.iter().map(|field| ((*field).to_owned(), row[*field].clone())).collect()
        })
        .collect()
}

/// IPv4 alone, IPv6 by /64, IPv4-mapped as IPv4.
fn group(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => v4.to_ipv6_mapped().to_bits(),
            None => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).to_bits(),
        },
    }
}

/// Every window that ends at an arrival, counted anew.
fn sliding(times: &[i64], width: i64) -> u32 {
    let inside = |end: i64| {
        let after = times.partition_point(|time| *time <= end - width);
        let until = times.partition_point(|time| *time <= end);
        u32::try_from(until - after).unwrap()
    };
    times.iter().map(|end| inside(*end)).max().unwrap()
}

fn calendar_fullest(times: &[i64], width: i64) -> u32 {
    let mut bins: BTreeMap<i64, u32> = BTreeMap::new();
    for time in times {
        *bins.entry(time.div_euclid(width)).or_default() += 1;
    }
    bins.into_values().max().unwrap()
}

fn percentiles(values: &[u32], upper: Option<&Vec<u32>>) -> Value {
    let at = |values: &[u32], per_mille: usize| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        sorted[(sorted.len() * per_mille).div_ceil(1000) - 1]
    };
    let entry = |per_mille: usize| {
        let lo = at(values, per_mille);
        match upper.map(|upper| at(upper, per_mille)) {
            Some(hi) if hi != lo => json!({ "lo": lo, "hi": hi, "kind": "proven" }),
            _ => json!(lo),
        }
    };
    json!({
        "p50": entry(500), "p90": entry(900), "p99": entry(990), "p999": entry(999), "max": entry(1000)
    })
}
