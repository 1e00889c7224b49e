//! What a test needs to start a server of this machine: where it is, and a free port.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

/// A program of this machine; `None` where there is none.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/sbin")])
        .map(|folder| folder.join(program))
        .find(|path| path.is_file());
    if found.is_none() {
        skip(&format!("{program} is absent"));
    }
    found
}

/// Says why a test is skipped. With `servers` in `SHADOWCAP_REQUIRE` that is a failure.
pub(crate) fn skip(why: &str) {
    let required = std::env::var("SHADOWCAP_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|word| word == "servers"), "{why}");
    let _ = writeln!(std::io::stdout(), "skipped: {why}");
}

/// A port of the loopback address that was free a moment ago: another program may take it.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}
