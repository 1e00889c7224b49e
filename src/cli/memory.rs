//! How much memory there is to use: the machine's, or what its cgroup allows.

use std::fs;

/// Share of the memory there is that is used unless `--memory` says otherwise, percent.
const DEFAULT_PERCENT: u64 = 60;

/// The default of `--memory` in bytes; `None` where the system doesn't tell (other than Linux).
pub(crate) fn default_limit() -> Option<u64> {
    let total = machine()?.min(cgroup().unwrap_or(u64::MAX));
    Some(total / 100 * DEFAULT_PERCENT)
}

fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The limit of cgroup v2, else v1; `max` and absence are none.
fn cgroup() -> Option<u64> {
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
}
