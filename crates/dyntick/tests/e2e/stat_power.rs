// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick stat --power` on the machine at hand, and in a guest in which files stand for the counters.
//!
//! `DYNTICK` names the binary under test, as in `lab.rs`.

use crate::harness::{dyntick, in_guest, tools};
use serde_json::Value;

/// Most machines that run this test are virtual, and have none.
#[test]
fn power_is_told_or_what_it_needs() {
    let arguments = ["stat", "--power", "-C", "0", "-e", "none", "--timeout", "300", "--json"];
    let output = dyntick().args(arguments).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let missing = json["missing"].as_array().unwrap().iter().find(|missing| missing["what"] == "power");
    match (json["power"].as_array(), missing) {
        (Some(zones), None) => {
            assert!(zones.iter().any(|zone| zone["watts"].as_f64().unwrap() > 0.0), "{json:#}");
        }
        (None, Some(missing)) => {
            assert!(missing["needs"].as_str().unwrap().contains("/sys/class/powercap"), "{missing}")
        }
        both => panic!("{both:?}"),
    }
}

/// 3 J until the counter's end, and 2 J after it.
#[test]
fn the_energy_of_a_run_is_the_counters() {
    const SCRIPT: &str = r#"
zone() { mkdir -p "/tmp/rapl/$1" && echo "$2" > "/tmp/rapl/$1/name" && echo 7000000 > "/tmp/rapl/$1/energy_uj" &&
  echo 10000000 > "/tmp/rapl/$1/max_energy_range_uj"; }
dyntick stat --power -C 1 -e none --timeout 10 2>&1 | grep -c 'power .*needs'
zone intel-rapl:0 package-0; zone intel-rapl:0:0 dram
mount --bind /tmp/rapl /sys/class/powercap || exit
work='echo 2000000 > /sys/class/powercap/intel-rapl:0/energy_uj; echo 7250000 > /sys/class/powercap/intel-rapl:0:0/energy_uj; sleep 0.5'
dyntick stat --power -C 1 -e none --json -o /tmp/o sh -c "$work" && tr -d '\n' < /tmp/o && echo
dyntick stat --power -C 1 -e none -x ';' sh -c "echo 2500000 > /sys/class/powercap/intel-rapl:0/energy_uj" 2>&1
dyntick stat --power -C 1 -e none sh -c "echo 4000000 > /sys/class/powercap/intel-rapl:0/energy_uj" 2>&1
"#;
    let tools = tools(&["tr", "mount", "sleep", "mkdir", "grep"]);
    let printed = in_guest(&[&["--memory", "1G"][..], &tools].concat(), &["sh", "-c", SCRIPT]);
    let mut lines = printed.lines();
    assert_eq!(lines.next(), Some("1"), "without counters it says what it needs: {printed}");
    let json: Value = serde_json::from_str(lines.next().unwrap()).unwrap_or_else(|_| panic!("{printed}"));
    let zones = json["power"].as_array().unwrap();
    let told: Vec<_> =
        zones.iter().map(|zone| (&zone["zone"], &zone["turbostat"], zone["joules"].as_f64())).collect();
    let expected = [("package-0", "PkgWatt", 5.0), ("package-0/dram", "RAMWatt", 0.25)];
    let expected =
        expected.map(|(zone, column, joules)| (Value::from(zone), Value::from(column), Some(joules)));
    let expected: Vec<_> = expected.iter().map(|(zone, column, joules)| (zone, column, *joules)).collect();
    assert_eq!(told, expected, "{printed}");
    let (watts, ns) = (zones[0]["watts"].as_f64().unwrap(), zones[0]["measured_ns"].as_f64().unwrap());
    assert!(ns >= 5e8 && (watts - 5.0 / (ns / 1e9)).abs() < 1e-9, "{zones:?}");
    assert!(printed.contains(";;energy_uj;package-0;500000;"), "{printed}");
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("package-0 PkgWatt 1.500") && words.contains("dram RAMWatt 0.000"), "{printed}");
}
