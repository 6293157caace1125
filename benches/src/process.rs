//! What the system tells of a running daemon. Reads /proc, so Linux only.

use std::fs;

/// A number of a status file; 0 when it is not there.
pub fn field(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// An amount of memory of a process, in KiB.
pub fn kib(pid: u32, name: &str) -> f64 {
    field(&fs::read_to_string(format!("/proc/{pid}/status")).expect("the daemon runs"), name) as f64
}

/// User and system time of all its threads, in ticks of 10 ms.
pub fn ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the daemon runs");
    // The name in parentheses may hold spaces; what follows it does not.
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}
