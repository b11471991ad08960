// SPDX-License-Identifier: GPL-2.0-only
//! A CPU that is taken offline while it is measured, in a guest.
//!
//! `DYNTICK` names the binary under test, as in `lab.rs`.

use crate::harness::dyntick;

/// The CPU goes while the command sleeps, long after dyntick has begun.
const SCRIPT: &str = "
off() { sleep 6; echo 0 > /sys/devices/system/cpu/cpu1/online; sleep 1.1; echo 1 > /sys/devices/system/cpu/cpu1/online; }
for source in bpf tracefs; do
  off & dyntick stat -C 1 --source $source -x, --at-most 'interruptions 1000000' -- sleep 12; echo limit,$?; wait
done
off & dyntick explain -C 1 --json -o explained --at-most 'interruptions 1000000' -- sleep 12; echo explain,$?; wait
echo away,$(busybox grep -c '\"offline\": \"1\"' explained)
off & dyntick latency -C 1 -D 12 -q; echo latency,$?; wait
dyntick latency -C 1 -D 1 -q > /dev/null; echo quiet,$?
";

#[test]
fn its_figures_are_said_not_to_hold() {
    let output = dyntick()
        .args(["lab", "shell", "--virtual", "--cpus", "2", "--memory", "1G", "--kernel", "debian:6.12"])
        .args(["--tool", "sleep", "--", "sh", "-c", SCRIPT])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{printed}{}", String::from_utf8_lossy(&output.stderr));
    let with = |text: &str| printed.lines().filter(|line| line.contains(text)).collect::<Vec<_>>();
    assert_eq!(with(",offline,1,").len(), 2, "by eBPF and by trace events");
    assert_eq!(with("limit,2").len(), 2, "a limit of a CPU that was away for a while is not kept");
    assert!(printed.contains("explain,2") && printed.contains("away,1"), "its record has the CPU");
    // What was open when the CPU went did not last until it came back, 1.1 s later.
    let away = |row: &&str| row.split(',').any(|field| field.parse::<f64>().is_ok_and(|ns| ns > 5e8));
    let stopper = with(",migration/1,");
    assert!(stopper.len() == 2 && !stopper.iter().any(away), "{stopper:?}");
    assert!(printed.contains("did not stay there"), "what latency says");
    let [figures] = with("T: 0 (")[..] else { panic!("the figures until then") };
    let cycles =
        figures.split("C:").nth(1).and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok());
    assert!(cycles.is_some_and(|cycles| (1..12_000).contains(&cycles)), "{figures}");
    assert!(printed.contains("latency,2") && printed.contains("quiet,0"));
}
