// SPDX-License-Identifier: GPL-2.0-only
//! A CPU that is taken offline while it is measured, in a guest.
//!
//! `DYNTICK` names the binary under test, as in `lab.rs`.

use std::process::Command;

/// The CPU goes while the command sleeps, long after dyntick has begun.
const SCRIPT: &str = "
off() { sleep 6; echo 0 > /sys/devices/system/cpu/cpu1/online; sleep 1.1; echo 1 > /sys/devices/system/cpu/cpu1/online; }
for source in bpf tracefs; do
  off & dyntick stat -C 1 --source $source -x, -- sleep 12 | sed \"s/^/$source,/\"; wait
done
off & dyntick latency -C 1 -D 12 -q; echo latency,$?; wait
dyntick latency -C 1 -D 1 -q > /dev/null; echo quiet,$?
";

#[test]
fn its_figures_are_said_not_to_hold() {
    let binary = std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into());
    let output = Command::new(binary)
        .args(["lab", "shell", "--virtual", "--cpus", "2", "--memory", "1G", "--kernel", "debian:6.12"])
        .args(["--tool", "sleep", "--tool", "sed", "--", "sh", "-c", SCRIPT])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{printed}{}", String::from_utf8_lossy(&output.stderr));
    for source in ["bpf", "tracefs"] {
        let rows = || printed.lines().filter(|line| line.starts_with(source));
        assert!(rows().any(|row| row.contains(",offline,1,")), "{source}");
        // Its time is the column after those of the name and of the counts.
        let stopper: Vec<&str> = rows().filter(|row| row.contains("migration/1")).collect();
        let away = |row: &&str| row.split(',').any(|field| field.parse::<f64>().is_ok_and(|ns| ns > 5e8));
        assert!(!stopper.is_empty() && !stopper.iter().any(away), "{stopper:?}");
    }
    assert!(printed.contains("did not stay there"), "what latency says");
    assert!(printed.contains("latency,2") && printed.contains("quiet,0"));
}
