// SPDX-License-Identifier: GPL-2.0-only
//! Tests of what is advised.

use super::*;
use crate::rules;

/// What is advised against a cause on CPU 3 of eight; all fixes whatever the kernel.
fn advised(cause: &str, line: &str, settings: &Settings) -> Vec<String> {
    let (line, online, quiet) = (CommandLine::parse(line), CpuList::first(8), "3,5".parse().unwrap());
    let kernel = "6.12.95".parse().unwrap();
    let host = Host { kernel: &kernel, line: &line, online: &online, settings };
    let named = Named { task: Some(77), irq: Some(9) };
    let target = Target { cpu: 3, quiet: &quiet, named };
    let fixes = fixes(rules::get(&crate::CauseId::parse(cause).unwrap()), host, target);
    fixes.into_iter().map(|fix| fix.action.to_string()).collect()
}

fn filled(action: Fix<&'static str>) -> String {
    let (line, online, quiet) = (CommandLine::default(), CpuList::first(6), "3,5".parse().unwrap());
    let (kernel, settings) = ("6.12.95".parse().unwrap(), Settings::default());
    let host = Host { kernel: &kernel, line: &line, online: &online, settings: &settings };
    let named = Named { task: Some(77), irq: Some(9) };
    let fix = RuleFix { action, effect: "", versions: rules::Versions::ALL };
    fill_in(&fix, host, Target { cpu: 3, quiet: &quiet, named }).action.to_string()
}

#[test]
fn cpus_are_filled_in() {
    assert_eq!(filled(Fix::Boot("isolcpus=domain,{quiet}")), "boot with isolcpus=domain,3,5");
    assert_eq!(filled(Fix::Command("echo 0 > /x/cpu{cpu}/runtime")), "echo 0 > /x/cpu3/runtime");
    assert_eq!(filled(Fix::Command("taskset -pc {housekeeping} {task}")), "taskset -pc 0-2,4 77");
    assert_eq!(filled(Fix::Command("echo 0 > /proc/irq/{irq}/x")), "echo 0 > /proc/irq/9/x");
    assert_eq!(filled(Fix::Command("echo {mask} > /x")), "echo 00000017 > /x");
}

/// A fix on a machine of four CPUs that was booted with this line.
fn on_booted(line: &str, action: Fix) -> (String, bool) {
    let (line, online) = (CommandLine::parse(line), CpuList::first(4));
    let (kernel, settings) = ("6.12.95".parse().unwrap(), Settings::default());
    let host = Host { kernel: &kernel, line: &line, online: &online, settings: &settings };
    let fix = beside(PrintedFix { action, effect: "".into() }, host);
    (fix.action.to_string(), host.is_helped_by(&fix.action))
}

#[test]
fn what_was_booted_with_is_kept() {
    let fix = |action: Fix| on_booted("nohz_full=2 isolcpus=domain,2", action).0;
    let isolated = "boot with nohz_full=2-3 isolcpus=domain,managed_irq,2-3";
    assert_eq!(fix(Fix::Boot("nohz_full=3".into())), isolated);
    assert_eq!(fix(Fix::Boot("tsc=reliable".into())), "boot with tsc=reliable");
    assert_eq!(fix(Fix::Command("sysctl -w vm.stat_interval=120".into())), "sysctl -w vm.stat_interval=120");
}

#[test]
fn what_was_booted_with_is_no_fix() {
    let is_in_force = |action: Fix| !on_booted("nohz_full=3 isolcpus=domain,3 quiet", action).1;
    assert!(is_in_force(Fix::Boot("isolcpus=domain,3".into())));
    assert!(!is_in_force(Fix::Boot("isolcpus=domain,2-3".into())));
    assert!(!is_in_force(Fix::Boot("mce=ignore_ce".into())));
    assert!(!is_in_force(Fix::Command("echo 0 > /x".into())));
}

#[test]
fn what_is_set_and_what_is_not_built_is_no_fix() {
    let none = Settings::default();
    assert!(
        advised("idle-not-stopped", "quiet", &none).contains(&"boot with cpuidle.governor=teo".to_owned())
    );
    let menu = |path: &str| path.ends_with("available_governors").then(|| "menu\n".to_owned());
    let without = Settings::of(menu, None);
    let fixes = advised("idle-not-stopped", "quiet", &without);
    assert!(fixes.iter().all(|fix| !fix.contains("governor")), "{fixes:?}");
    let interval = "sysctl -w vm.stat_interval=60";
    assert!(advised("workqueue:vmstat_update", "quiet", &none).contains(&interval.to_owned()));
    let set = Settings::of(|path| path.ends_with("stat_interval").then(|| "60\n".to_owned()), None);
    let fixes = advised("workqueue:vmstat_update", "quiet", &set);
    assert!(!fixes.contains(&interval.to_owned()), "{fixes:?}");
}

#[test]
fn where_all_cpus_are_measured_the_user_chooses() {
    let (line, online, settings) = (CommandLine::default(), CpuList::first(2), Settings::default());
    let kernel = "6.12.95".parse().unwrap();
    let host = Host { kernel: &kernel, line: &line, online: &online, settings: &settings };
    let fix = RuleFix { action: Fix::Boot("nohz_full={quiet}"), effect: "", versions: rules::Versions::ALL };
    let target = Target { cpu: 0, quiet: &online, named: Named::default() };
    assert_eq!(fill_in(&fix, host, target).action.to_string(), "boot with nohz_full=N");
}

#[test]
fn no_command_of_any_rule_keeps_a_number_or_a_list_that_is_known() {
    for fix in rules::all().iter().flat_map(|rule| rule.fixes) {
        let text = filled(fix.action);
        assert!(!text.contains(['{', '}']), "{text}");
        if matches!(fix.action, Fix::Advice(_)) {
            continue; // In words, N is a number.
        }
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let left = words.filter(|word| ["N", "cpuN", "MASK", "CPUS", "HOUSEKEEPING"].contains(word));
        assert_eq!(left.count(), 0, "{text}");
    }
}
