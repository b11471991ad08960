// SPDX-License-Identifier: GPL-2.0-only
//! The Debian packages of tools.

/// Tools that studies use, by name, with their packages; in the order of names.
const PACKAGES: [(&str, &str); 21] = [
    ("busybox", "busybox-static"),
    ("chrt", "util-linux"),
    ("cyclicdeadline", "rt-tests"),
    ("cyclictest", "rt-tests"),
    ("fio", "fio"),
    ("hackbench", "rt-tests"),
    ("iperf3", "iperf3"),
    ("mke2fs", "e2fsprogs"),
    ("netperf", "netperf"),
    ("numactl", "numactl"),
    ("openssl", "openssl"),
    ("oslat", "rt-tests"),
    ("perf", "linux-perf"),
    ("perl", "perl-base"),
    ("python3", "python3-minimal"),
    ("qperf", "qperf"),
    ("signaltest", "rt-tests"),
    ("sqlite3", "sqlite3"),
    ("stress-ng", "stress-ng"),
    ("sysbench", "sysbench"),
    ("taskset", "util-linux"),
];

/// The package of a tool, where it is one of those that are known.
pub fn package_of(tool: &str) -> Option<&'static str> {
    PACKAGES.iter().find(|(name, _)| *name == tool).map(|(_, package)| *package)
}

/// The way to install a missing tool.
pub fn advice(tool: &str) -> String {
    match package_of(tool) {
        Some(package) => format!("apt-get install {package}"),
        None if tool.contains('/') => "give the path of a program of this machine".to_owned(),
        None => "install the package that holds it, or give its path".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_tools_have_a_package_and_others_a_way() {
        assert!(PACKAGES.is_sorted());
        assert_eq!(advice("cyclictest"), "apt-get install rt-tests");
        assert_eq!(advice("mine"), "install the package that holds it, or give its path");
        assert_eq!(advice("./mine"), "give the path of a program of this machine");
    }
}
