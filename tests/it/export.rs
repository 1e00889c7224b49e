//! `export`: where the file goes, what is said beside it, and what is refused.

use std::fs;

use crate::support::{Folder, run, stderr, stdout};

const SITE: &str = "policies/tiffin/site.toml";
const POLICY: &str = "policies/tiffin/improved.toml";

fn export(more: &[&str]) -> std::process::Output {
    let given = ["export", "--site", SITE, "--policy", POLICY];
    run(&given.iter().chain(more).copied().collect::<Vec<_>>())
}

#[test]
fn a_policy_becomes_a_file_and_what_it_lacks_is_said() {
    let nginx = export(&["--to", "nginx"]);
    assert_eq!(nginx.status.code(), Some(0));
    assert!(
        stdout(&nginx).contains("\nlimit_req zone=shadowcap_1_cloud_seatbelt burst=7 nodelay;\n")
    );
    assert!(
        stderr(&nginx).contains("\u{201c}cloud menus\u{201d}: left out: nginx has no token-bucket")
    );
    let redis = export(&["--to", "redis-lua", "--at", "app"]);
    assert!(stdout(&redis).contains("UNITS['sms hard stop']"));
    assert!(
        stderr(&redis)
            .contains("line 7, \u{201c}cloud seatbelt\u{201d}: left out: it stands at `nginx`")
    );

    let folder = Folder::new();
    let out = format!("{}/shadowcap.conf", folder.path());
    let quiet = export(&["--to", "nginx", "--out", &out, "--quiet"]);
    assert!(quiet.status.success() && stdout(&quiet).is_empty() && stderr(&quiet).is_empty());
    assert_eq!(fs::read_to_string(out).unwrap(), stdout(&nginx));
}

#[test]
fn what_cant_be_exported_is_refused_with_a_way_out() {
    let at = export(&["--to", "nginx", "--at", "appp"]);
    assert_eq!(at.status.code(), Some(2));
    assert!(stderr(&at).contains("no limit stands at `appp`"));
    let target = export(&["--to", "haproxy"]);
    assert_eq!(target.status.code(), Some(2));
    assert!(stderr(&target).contains("redis-lua"));
    let folder = Folder::new();
    let policy = folder.write("policy.toml", "name = \"p\"\n");
    let over = run(&["export", "--policy", &policy, "--to", "nginx", "--out", &policy]);
    assert_eq!(over.status.code(), Some(2));
    assert_eq!(fs::read_to_string(policy).unwrap(), "name = \"p\"\n");
}
