//! The good site file, value by value, and its schema.

use std::path::PathBuf;

use super::*;
use crate::document::schema;
use crate::format::detect::Format;
use crate::site::facts::{AfterOutage, Balance, ClientKind, OutageKind, QuotaPeriod};
use crate::site::matching::{StatusRange, TextField};
use crate::units::time::parse_rfc3339;

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Reads the good site file.
pub(crate) fn good_site() -> Site {
    let path = root().join("tests/data/files-good/site.toml");
    let bytes = std::fs::read(&path).unwrap();
    read(&bytes, "site.toml", &Folder::of(&path)).unwrap_or_else(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}

/// Compares a committed schema with the one the field tables give; `SHADOWCAP_BLESS=1` writes it.
pub(crate) fn assert_schema(name: &str, made: &str) {
    let path = root().join("schemas").join(name);
    if std::env::var_os("SHADOWCAP_BLESS").is_some() {
        std::fs::write(&path, made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&committed), value(made), "{name}: run with SHADOWCAP_BLESS=1");
}

fn at(text: &str) -> i64 {
    parse_rfc3339(text).unwrap()
}

#[test]
fn the_schema_is_the_committed_one() {
    assert_schema("site.schema.json", &schema(&SITE, "shadowcap site file"));
}

#[test]
fn all_formats_can_be_named() {
    use Format::*;
    let all = [
        NginxCombined,
        NginxCustom,
        NginxJson,
        ApacheCommon,
        ApacheCombined,
        ApacheVhostCombined,
        ApacheCustom,
        Alb,
        ElbClassic,
        Jsonl,
        Csv,
        Parquet,
    ];
    let names: Vec<&str> =
        ["auto", "nginx", "apache"].into_iter().chain(all.map(Format::name)).collect();
    assert_eq!(input::FORMATS, names);
}

#[test]
fn who_and_where_is_read() {
    let site = good_site();
    assert_eq!(site.name.as_deref(), Some("tiffin"));
    assert_eq!((site.zone.name(), site.identity.as_str()), ("Asia/Kolkata", "user"));
    let client = site.input.client_ip.unwrap();
    assert_eq!(
        (client.from.as_str(), client.recursive, client.hop),
        ("x_forwarded_for", true, None)
    );
    assert_eq!(client.trusted, ["10.0.0.0/8".parse().unwrap()]);
    assert_eq!(site.input.fields["user"], "user_id");
    assert_eq!(
        site.keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(),
        ["user", "phone"]
    );
    assert_eq!((site.keys_available["ip"], site.max_in_flight["user"]), (50_000, 4));
    let tier = &site.tiers[0];
    assert_eq!((tier.instances, tier.instances_max), (8, 8));
    assert_eq!(tier.balance, Some(Balance::RoundRobin));
    assert!(site.routes[0].matches(b"POST", None, b"/v1/otp/123"));
    assert!(site.routes[1].matches(b"GET", Some(b"api.example"), b"/v1/menu/7"));
    assert!(!site.routes[1].matches(b"GET", Some(b"other.example"), b"/v1/menu/7"));
    assert_eq!(site.labels[0].ranges.len(), 4);
    let scraper = &site.attackers[0];
    assert_eq!(scraper.from_us, Some(at("2026-11-24T13:30:00Z")));
    assert_eq!(scraper.to_us, Some(at("2026-11-24T15:30:00Z")));
    let matching = scraper.matching.as_ref().unwrap();
    assert_eq!((&matching.route, &matching.label), (&vec![1], &vec![0]));
    assert_eq!(matching.logged_in, Some(false));
    let list = site.attackers[1].list.as_ref().unwrap();
    assert_eq!(
        (list.key.as_str(), list.values.as_slice()),
        ("user", ["u-1".into(), "u-2".into()].as_slice())
    );
    let ordered = site.customers[0].matching.as_ref().unwrap();
    assert_eq!(ordered.status, [StatusRange { first: 200, last: 299 }]);
    assert_eq!(site.link.unwrap().within_us, 1_800_000_000);
    let client = &site.clients[0];
    assert_eq!((client.name.as_str(), client.kind), ("app54", ClientKind::HonoursRetryAfter));
    assert_eq!((client.attempts, client.backoff_us, client.cap_us), (3, 1_000_000, 60_000_000));
    let agent = &client.matching.texts[0];
    assert_eq!(agent.of, TextField::UserAgent);
    assert!(agent.fits(b"x Tiffin/5.4 (\xff)") && !agent.fits(b"Tiffin/5.3"));
}

#[test]
fn what_it_costs_and_must_hold_is_read() {
    let site = good_site();
    assert_eq!(site.duplicates[0].within_us, 120_000_000);
    let sms = &site.actions[0];
    assert_eq!((sms.unit_cost, sms.units_max), (Some("0.25".parse().unwrap()), 1));
    let quota = sms.provider_quota.as_ref().unwrap();
    assert_eq!((quota.amount, quota.per), ("25000".parse().unwrap(), QuotaPeriod::Month));
    assert_eq!((quota.late_us, sms.response_us), (600_000_000, Some(900_000_000)));
    let abroad = &site.actions[1];
    assert_eq!(abroad.priced_key.as_deref(), Some("phone"));
    let price = |text: &str| text.parse::<rust_decimal::Decimal>().unwrap();
    assert_eq!(abroad.prices, [("+1".into(), price("0.9")), ("+91".into(), price("0.25"))]);
    assert_eq!(abroad.dedupe.as_ref().unwrap().within_us, None);
    let outage = &site.outages[0];
    assert_eq!(outage.to_us - outage.from_us, 300_000_000);
    assert_eq!((outage.kind, outage.after), (OutageKind::Down, AfterOutage::Kept));
    assert_eq!(outage.share_per_million, 1_000_000);
    assert_eq!(site.attacks[0].keys["phone"], 50_000);
    let load = site.traffic.unwrap();
    assert_eq!(load.requests_per_s_milli, 1_200_000);
    assert_eq!(load.store_calls_per_request_milli, Some(1_400));
    assert_eq!(site.infrastructure.unwrap().items.len(), 4);
    let hungry = &site.requirements[0];
    assert_eq!((hungry.max, hungry.between_min), (Some(0.into()), Some((1_140, 1_320))));
    assert_eq!(hungry.horizon_us, 86_400_000_000);
    let source = std::fs::read_to_string(root().join("tests/data/files-good/site.toml")).unwrap();
    assert_eq!(source.lines().nth(hungry.line - 1), Some("[[require]]"));
    assert_eq!(site.protects[0].windows_us, [600_000_000, 3_600_000_000]);
    assert_eq!(site.protects[0].headroom_milli, 2_000);
}

#[test]
fn a_file_without_facts_is_a_site() {
    let site = read(b"", "site.toml", &Folder::of("site.toml".as_ref())).unwrap();
    assert_eq!((site.identity.as_str(), site.zone), ("ip", Zone::UTC));
}

#[test]
fn dates_alone_begin_where_the_zone_says() {
    let text = "timezone = \"Asia/Kolkata\"\n[[outage]]\nname = \"a\"\nstore = \"redis\"\nfrom = 2027-06-01\nto = 2027-06-01T00:00:00.000001+05:30\n";
    let site = read(text.as_bytes(), "site.toml", &Folder::of("site.toml".as_ref())).unwrap();
    let outage = &site.outages[0];
    assert_eq!(outage.from_us, at("2027-05-31T18:30:00Z"));
    assert_eq!(outage.to_us, outage.from_us + 1);
}
