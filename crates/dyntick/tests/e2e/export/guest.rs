// SPDX-License-Identifier: GPL-2.0-only
//! On a machine with an isolated CPU: a guest.

use crate::harness::in_guest;

/// Without -C that CPU alone is measured; and the kernel measures the programs where it was asked to.
#[test]
fn the_isolated_cpu_is_measured() {
    const SCRIPT: &str = "
echo 1 > /proc/sys/kernel/bpf_stats_enabled
dyntick export -I 500 -n 1 --textfile /tmp/metrics && cat /tmp/metrics";
    const GUEST: [&str; 6] =
        ["--memory", "1G", "--kernel", "debian:6.12", "--append", "isolcpus=domain,1 nohz_full=1"];
    let text = in_guest(&GUEST, &["sh", "-c", SCRIPT]);
    let value = |series: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {series} in\n{text}")).parse().unwrap()
    };
    let of_cpus: Vec<&str> = text.lines().filter(|line| line.contains("{cpu=")).collect();
    assert!(of_cpus.len() > 50 && of_cpus.iter().all(|line| line.contains("cpu=\"1\"")), "{text}");
    assert_eq!(value("dyntick_counting"), 1.0);
    assert!(value("dyntick_cpu_ticks_total{cpu=\"1\"}") <= 250.0, "an idle CPU stops its tick: {text}");
    assert_eq!(value("dyntick_events_lost_total{source=\"recursion\"}"), 0.0);
    let (runs, seconds) =
        (value("dyntick_export_program_runs_total"), value("dyntick_export_program_seconds_total"));
    assert!(runs > 0.0 && seconds > 0.0 && seconds / runs < 1e-4, "{seconds} s in {runs} runs");
}
