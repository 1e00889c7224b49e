//! What an enforcement point can't do is said, for each limit, and nothing is dropped in silence.

use std::fmt::Write as _;
use std::path::Path;

use shadowcap_engine::export::{ExportError, Exported, Target, export};
use shadowcap_engine::policy::{self, Policy};
use shadowcap_engine::site::read::Folder;
use shadowcap_engine::site::{self, Site};
use shadowcap_engine::units::escape::terminal;

const SITE: &str = r#"
[keys]
user = { from = ["cookie:uid", "sent_http_x_user"] }
device = { from = ["header:X-Device"] }
phone = { from = "path:phone", normalise = "phone", region = "IN" }
[keys_available]
ip = 1_000_000_000
[[tier]]
name = "edge"
instances = 2
balance = "random"
[[route]]
name = "otp"
path = "/otp/{phone}"
"#;

fn site() -> Site {
    let folder = Folder::of(Path::new("site.toml"));
    site::read::read(SITE.as_bytes(), "site.toml", &folder).unwrap()
}

/// A policy of limits, each without what all have: a name by its number, a key unless it is said.
fn policy(limits: &[&str]) -> Policy {
    let mut text = String::from("name = \"p\"\n");
    for (limit, number) in limits.iter().zip(1..) {
        let key = if limit.contains("key =") { "" } else { "key = \"ip\"" };
        writeln!(text, "[[limit]]\nname = \"limit {number}\"\n{limit}\n{key}").unwrap();
    }
    policy::read::read(text.as_bytes(), "policy.toml", &site())
        .unwrap_or_else(|problems| panic!("{text}\n{problems:?}"))
}

fn exported(limits: &[&str], target: Target) -> Exported {
    export(&policy(limits), &site(), target, None).unwrap()
}

/// Whether something is said of the n-th limit, as a note and in the file.
fn says(exported: &Exported, number: usize, what: &str) -> bool {
    let name = format!("limit {number}");
    let note = exported.notes.iter().find(|note| {
        note.limit.as_ref().is_some_and(|(limit, _)| *limit == name) && note.text.contains(what)
    });
    note.is_some_and(|note| exported.text.contains(&terminal(note.text.as_bytes())))
}

const NGINX: &str = "algorithm = \"nginx\"\nrate = \"10r/s\"\nburst = 5";
const LOG: &str = "algorithm = \"sliding-log\"\nlimit = 5\nwindow = \"1m\"\ncount_refused = false";
const REDIS: &str = "store = \"redis\"\non_store_error = \"allow\"";

#[test]
fn what_nginx_lacks_is_left_out_and_said() {
    let slots = "algorithm = \"concurrency\"\nlimit = 5";
    let lacking = [
        (LOG.to_owned(), "no sliding-log"),
        (format!("{NGINX}\nweight = 2"), "weights"),
        (format!("{slots}\n{REDIS}"), "counts in `redis`"),
        (format!("{slots}\non_limit = \"queue\""), "queue"),
        ("algorithm = \"concurrency\"\nlimit = 70000".to_owned(), "65535"),
        (format!("{NGINX}\nkey = \"phone\""), "phone number"),
        (format!("{NGINX}\nkey = \"user\""), "of the response"),
        (format!("{NGINX}\nmatch = {{ logged_in = true }}"), "of the response"),
        (format!("{NGINX}\nmatch = {{ field = {{ honeypot = [\"1\"] }} }}"), "no variable"),
        (format!("{NGINX}\nmatch = {{ path = [\"regex:(?u:\\\\b)x\"] }}"), "no expression"),
    ];
    for (limit, why) in lacking {
        let file = exported(&[&limit], Target::Nginx);
        assert!(says(&file, 1, "left out") && says(&file, 1, why), "{limit}: {file:?}");
        assert!(!file.text.contains("_zone "), "{limit}: {}", file.text);
    }
}

#[test]
fn what_nginx_does_otherwise_is_said_beside_the_limit() {
    let other = [
        (format!("{NGINX}\nban = \"10m\""), "no ban"),
        (format!("{NGINX}\nexpires = 2027-01-01"), "no end"),
        (format!("{NGINX}\nretry_after = \"exact\""), "Retry-After"),
        (format!("{NGINX}\ntick = \"1s\""), "clock"),
        (format!("{NGINX}\nkey = \"device\"\nmissing_key = \"refuse\""), "before limits in front"),
        (NGINX.to_owned(), "a full zone"),
    ];
    for (limit, what) in other {
        let file = exported(&[&limit], Target::Nginx);
        assert!(says(&file, 1, what), "{limit}: {file:?}");
        assert!(file.text.contains("\nlimit_req zone="), "{limit}: {}", file.text);
    }
    let refuses = exported(&["algorithm = \"block\"\nkey = \"global\""], Target::Nginx);
    assert!(refuses.notes[0].text.contains("if ($shadowcap_refused)"));
}

#[test]
fn the_order_of_nginx_is_said_where_it_is_another() {
    let block = "algorithm = \"block\"\nkey = \"global\"";
    let slots = "algorithm = \"concurrency\"\nlimit = 5";
    let file = exported(&[slots, NGINX, block, LOG], Target::Nginx);
    assert!(
        !says(&file, 1, "before") && says(&file, 2, "limit_req before") && says(&file, 3, "before")
    );
    let file = exported(&[LOG, NGINX], Target::Nginx);
    assert!(says(&file, 2, "counts what this refuses"));
    let one = format!("{NGINX}\ngroup = \"a\"");
    let two = format!("{NGINX}\ngroup = \"b\"\ncharge = \"all\"");
    let file = exported(&[&one, &two], Target::Nginx);
    assert!(says(&file, 2, "are one here") && says(&file, 2, "charges to none"));
}

#[test]
fn what_nginx_cant_ask_beside_others_is_for_a_location_of_its_own() {
    let shadow = format!("{NGINX}\nmode = \"shadow\"");
    let file = exported(&[&shadow, NGINX], Target::Nginx);
    assert!(says(&file, 1, "dry run") && !file.text.contains("\nlimit_req_dry_run"));
    assert!(
        file.text
            .contains("\n#   limit_req zone=shadowcap_1_limit_1 burst=5; limit_req_dry_run on;\n")
    );
    let alone = exported(&[&shadow, &shadow], Target::Nginx);
    assert!(alone.text.contains("\nlimit_req_dry_run on;\n"));
    assert_eq!(alone.text.matches("\nlimit_req zone=").count(), 2);

    let [one, two] = [5, 9].map(|burst| {
        format!("algorithm = \"nginx\"\nrate = \"10r/s\"\nburst = {burst}\nzone = \"z\"\nmatch = {{ method = [\"M\"] }}")
    });
    let file = exported(&[&one, &two.replace("\"M\"", "\"N\"")], Target::Nginx);
    assert_eq!(file.text.matches("\nlimit_req_zone ").count(), 1);
    assert_eq!(file.text.matches("\n#   limit_req zone=shadowcap_1_limit_1 ").count(), 2);
    assert!(says(&file, 1, "one zone") && says(&file, 2, "one zone"));
}

#[test]
fn a_file_is_for_one_place() {
    let at = |place: &str| format!("{NGINX}\nat = \"{place}\"");
    let two = policy(&[&at("here"), &at("there")]);
    let error = export(&two, &site(), Target::Nginx, None).unwrap_err();
    assert_eq!(error, ExportError::Places(vec!["here".into(), "there".into()]));
    let file = export(&two, &site(), Target::Nginx, Some("there")).unwrap();
    assert!(says(&file, 1, "stands at `here`") && file.text.contains("shadowcap_2_limit_2"));
    let nowhere = export(&two, &site(), Target::RedisLua, Some("x")).unwrap_err();
    assert_eq!(nowhere, ExportError::NoSuchPlace("x".into()));
}

#[test]
fn what_redis_lacks_is_left_out_and_said() {
    let window = |anchor: &str| {
        format!(
            "algorithm = \"fixed-window\"\nlimit = 5\nwindow = \"1h\"\nanchor = \"clock\"\n{anchor}\n{REDIS}"
        )
    };
    let bucket = |rate: &str, burst: &str| {
        format!("algorithm = \"token-bucket\"\nrate = \"{rate}\"\nburst = {burst}\n{REDIS}")
    };
    let lacking = [
        (NGINX.to_owned(), "no script for nginx"),
        ("algorithm = \"concurrency\"\nlimit = 5".to_owned(), "no script for concurrency"),
        ("algorithm = \"block\"".to_owned(), "no script for block"),
        (format!("{LOG}\nat = \"edge\"\ncounters = \"local\""), "each instance"),
        (format!("{LOG}\non_limit = \"queue\"\n{REDIS}"), "wait"),
        (window("timezone = \"Europe/Berlin\""), "summer time"),
        (bucket("7/d", "1_000_000_000_000"), "2^53"),
    ];
    for (limit, why) in lacking {
        let file = exported(&[&limit], Target::RedisLua);
        assert!(says(&file, 1, "left out") && says(&file, 1, why), "{limit}: {:?}", file.notes);
        assert!(!file.text.contains("UNITS['limit 1']"), "{limit}");
    }
    for limit in [window("timezone = \"Asia/Kolkata\""), bucket("7/d", "100_000"), LOG.to_owned()] {
        let file = exported(&[&limit], Target::RedisLua);
        assert!(
            file.notes.is_empty() && file.text.contains("UNITS['limit 1']"),
            "{:?}",
            file.notes
        );
    }
    let alarm = exported(&[&format!("{LOG}\nalarm = 3\n{REDIS}")], Target::RedisLua);
    assert!(says(&alarm, 1, "no alarm"));
    let steps = "algorithm = \"token-bucket\"\nrefill = \"interval\"\ninterval = \"1m\"\nfill = 2\nburst = 5";
    assert!(says(&exported(&[steps], Target::RedisLua), 1, "begin anew"));
    let [one, two] = [LOG, "algorithm = \"concurrency\"\nlimit = 5"]
        .map(|limit| format!("{limit}\ngroup = \"g\"\ncharge = \"none\""));
    assert!(says(&exported(&[&one, &two], Target::RedisLua), 1, "asked alone"));
}

#[test]
fn an_export_is_the_same_every_time() {
    let limits = [NGINX, LOG];
    for target in [Target::Nginx, Target::RedisLua] {
        assert_eq!(exported(&limits, target), exported(&limits, target));
    }
}
