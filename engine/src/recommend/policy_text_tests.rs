//! What is written reads back as what it was.

use super::*;
use crate::policy::read::read;
use crate::site::read::{Folder, read as read_site};

const SITE: &str = r#"
timezone = "Asia/Kolkata"
[keys]
user = { from = "cookie:uid" }
phone = { from = "path:phone" }
[[tier]]
name = "nginx"
instances = 8
balance = "round-robin"
[[route]]
name = "otp"
path = "/otp/{phone}"
[[route]]
name = "menu"
path = "/menu"
"#;

/// One limit of every algorithm, and every key of a match.
const POLICY: &str = r#"
name = "all"
[[limit]]
name = "a \"quoted\\ name # not a comment"
at = "nginx"
match = { route = ["otp", "menu"], method = ["GET"], host = ["*.example"], path = ["/a/{b}", "regex:^/x"], logged_in = false, key_prefix = { phone = ["+91", "\"\u2028"] }, field = { "x.y" = ["1"] }, not = { user_agent = ["*bot*"] } }
key = ["ip/24", "route", "phone"]
ipv6_prefix = 56
algorithm = "nginx"
rate = "8r/m"
burst = 7
delay = "none"
counters = "local"
[[limit]]
name = "seconds"
key = "ip/128"
algorithm = "nginx"
rate = "120r/m"
burst = 75_000
delay = 3
reclaim = "none"
missing_key = "shared"
[[limit]]
name = "clock"
key = "global"
algorithm = "fixed-window"
limit = 10_000
window = "1h"
anchor = "clock"
timezone = "Asia/Kolkata"
[[limit]]
name = "first"
key = "user"
algorithm = "fixed-window"
limit = 5
window = "90s"
anchor = "first-request"
boundary = "closed"
count_refused = true
[[limit]]
name = "month"
key = "user"
algorithm = "fixed-window"
limit = 5
window = "month"
anchor = "calendar"
[[limit]]
name = "log"
key = "phone"
algorithm = "sliding-log"
limit = 5
window = "1h"
boundary = "closed"
count_refused = true
missing_key = "refuse"
store = "redis"
on_store_error = "refuse"
[[limit]]
name = "counter"
key = "phone"
algorithm = "sliding-counter"
limit = 5
window = "1h"
estimate = "floored"
anchor = "stepped"
count_refused = false
[[limit]]
name = "counter of the clock"
key = "phone"
algorithm = "sliding-counter"
limit = 5
window = "1h"
estimate = "interpolated"
anchor = "clock"
timezone = "Europe/Paris"
count_refused = false
[[limit]]
name = "bucket"
key = "user"
algorithm = "token-bucket"
rate = "120/m"
burst = 90
[[limit]]
name = "bucket by interval"
key = "user"
algorithm = "token-bucket"
refill = "interval"
interval = "10s"
fill = 3
burst = 90
[[limit]]
name = "gcra"
key = "user"
algorithm = "gcra"
rate = "120/m"
burst = 89
burst_is = "extra"
[[limit]]
name = "spacing"
key = "user"
algorithm = "spacing"
min_time = "500ms"
max_concurrent = 1
[[limit]]
name = "slots"
key = "user"
algorithm = "concurrency"
limit = 2
[[limit]]
name = "waf"
key = "ip"
algorithm = "aws-waf"
limit = 100
window = "5m"
lag_detect = "0s"
[[limit]]
name = "block"
key = "global"
algorithm = "block"
"#;

fn site() -> Site {
    read_site(SITE.as_bytes(), "site.toml", &Folder::of(std::path::Path::new("site.toml"))).unwrap()
}

#[test]
fn every_algorithm_and_match_reads_back_as_it_was() {
    let site = site();
    let first = read(POLICY.as_bytes(), "p.toml", &site).unwrap();
    let mut text = String::from("name = \"all\"\n");
    for of in &first.limits {
        text.push_str(&limit(of, &site));
    }
    let again = read(text.as_bytes(), "p.toml", &site).unwrap_or_else(|p| panic!("{p:?}\n{text}"));
    assert_eq!(first.limits.len(), 15);
    for (before, after) in first.limits.iter().zip(&again.limits) {
        let after = Limit { place: before.place, ..after.clone() };
        assert_eq!(*before, after, "{text}");
    }
}

#[test]
fn nothing_ends_a_comment() {
    let text = comment("a site called x\n[[limit]]\rname\u{2028} = 1");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.iter().all(|line| line.starts_with('#')), "{text:?}");
    assert!(!text.contains('\r') && !text.contains('\u{2028}'));
    let long = comment(&"word ".repeat(100));
    assert!(long.lines().count() > 3 && long.lines().all(|line| line.len() <= WIDTH), "{long}");
}
