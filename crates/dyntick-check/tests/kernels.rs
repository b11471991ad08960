// SPDX-License-Identifier: GPL-2.0-only
//! Findings depend on the kernel: its version, its configuration, its drivers.

use crate::good::{files, good};
use dyntick_check::{Finding, Machine, Report};

/// The findings on the good machine with some files replaced, or removed (`-`), and another release.
fn on(release: &str, changes: &[(&str, &str)]) -> Vec<Finding> {
    let mut all = files();
    let config = all.remove("/boot/config-6.12.117-test").unwrap();
    all.insert(format!("/boot/config-{release}"), config);
    all.insert("/proc/sys/kernel/osrelease".to_owned(), release.to_owned());
    for (path, text) in changes {
        let path = path.replace("RELEASE", release);
        match *text {
            "-" => all.remove(&path),
            text => all.insert(path, text.replace("\\n", "\n")),
        };
    }
    let files = good(&all);
    Report::of(&Machine::new(&files, None).unwrap(), &files).findings
}

fn one<'a>(rule: &str, findings: &'a [Finding]) -> Option<&'a Finding> {
    findings.iter().find(|finding| finding.rule == rule)
}

fn fixes(finding: &Finding) -> Vec<String> {
    finding.fixes.iter().map(ToString::to_string).collect()
}

const BY_FLAG: &[(&str, &str)] = &[("/proc/cmdline", "isolcpus=nohz,domain,managed_irq,2-3 irqaffinity=0-1")];
const ISOLATED_ALONE: &[(&str, &str)] = &[
    ("/proc/cmdline", "isolcpus=domain,managed_irq,2-3 irqaffinity=0-1 rcu_nocbs=2-3"),
    ("/sys/devices/system/cpu/nohz_full", ""),
];

#[test]
fn flag_nohz_is_not_nohz_full_before_6_14() {
    let found = on("6.12.117-test", BY_FLAG);
    let fixes = fixes(one("isolcpus-nohz", &found).unwrap());
    assert_eq!(fixes, ["boot with nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1"]);
    assert_eq!(one("isolcpus-nohz", &on("6.14.1-test", BY_FLAG)), None);
}

#[test]
fn timer_hierarchy_excludes_isolated_cpus_since_6_19() {
    let has = |release: &str| one("timers-of-others", &on(release, ISOLATED_ALONE)).is_some();
    assert!(!has("6.8.12-test") && has("6.9.1-test") && has("6.18.3-test") && !has("6.19.1-test"));
    let found = on("6.12.117-test", ISOLATED_ALONE);
    let fixes = fixes(one("timers-of-others", &found).unwrap());
    assert!(fixes[0].starts_with("boot with nohz_full=2-3 isolcpus=domain,managed_irq,2-3"), "{fixes:?}");
}

/// The shepherd considers partitions since 6.9.
#[test]
fn vmstat_skips_partitions_since_6_9() {
    let partition = [
        ("/proc/cmdline", "irqaffinity=0-1 rcu_nocbs=2-3"),
        ("/sys/devices/system/cpu/nohz_full", ""),
        ("/sys/devices/system/cpu/isolated", ""),
        ("/sys/fs/cgroup/quiet/cpuset.cpus.partition", "isolated\\n2-3"),
    ];
    assert!(one("vmstat", &on("6.6.30-test", &partition)).is_some());
    assert!(one("vmstat", &on("6.9.1-test", &partition)).is_none());
    assert!(one("vmstat", &on("6.6.30-test", ISOLATED_ALONE)).is_none());
    // Since 7.0 nohz_full= alone does not count (7.2: include/linux/sched/isolation.h: cpu_is_isolated).
    let tickless =
        [("/proc/cmdline", "nohz_full=2-3 irqaffinity=0-1"), ("/sys/devices/system/cpu/isolated", "")];
    assert!(one("vmstat", &on("6.12.117-test", &tickless)).is_none());
    assert!(one("vmstat", &on("7.2.13-test", &tickless)).is_some());
}

#[test]
fn configuration_is_found_among_the_modules() {
    let boot = ("/boot/config-RELEASE", "-");
    assert!(one("kernel-config", &on("7.2.13-test", &[boot])).is_some());
    let modules = ("/usr/lib/modules/RELEASE/config", "CONFIG_NO_HZ_FULL=y");
    assert!(one("kernel-config", &on("7.2.13-test", &[boot, modules])).is_none());
    let elsewhere = ("/usr/lib/modules/7.2.1-test/config", "CONFIG_NO_HZ_FULL=y");
    assert!(one("kernel-config", &on("7.2.13-test", &[boot, elsewhere])).is_some());
}

#[test]
fn callbacks_run_in_threads_on_preempt_rt() {
    let line = ("/proc/cmdline", "isolcpus=domain,managed_irq,2-3 irqaffinity=0-1");
    let none = ("/sys/devices/system/cpu/nohz_full", "");
    let rt = (
        "/boot/config-RELEASE",
        "CONFIG_HZ=250\\nCONFIG_NO_HZ_FULL=y\\nCONFIG_RCU_NOCB_CPU=y\\nCONFIG_PREEMPT_RT=y",
    );
    let effect = |changes: &[(&str, &str)]| {
        one("callbacks-not-offloaded", &on("6.12.117-test", changes)).unwrap().effect.clone()
    };
    assert!(effect(&[line, none]).contains("softirq context"));
    assert!(effect(&[line, none, rt]).contains("rcuc/N"));
    let said = ("/proc/cmdline", "isolcpus=domain,managed_irq,2-3 irqaffinity=0-1 rcutree.use_softirq=1");
    assert!(effect(&[said, none, rt]).contains("softirq context"));
}

#[test]
fn buddy_detector_needs_no_nmi() {
    let watched = ("/proc/sys/kernel/watchdog_cpumask", "0-3");
    let soft = ("/proc/sys/kernel/soft_watchdog", "0");
    let buddy = ("/boot/config-RELEASE", "GOODCONFIG\\nCONFIG_HARDLOCKUP_DETECTOR_BUDDY=y");
    let found = |changes: &[(&str, &str)]| {
        one("nmi-watchdog", &on("6.12.117-test", changes)).map(|finding| finding.effect.clone())
    };
    assert!(found(&[watched, soft]).unwrap().contains("An NMI"));
    assert!(found(&[watched, soft, buddy]).unwrap().starts_with("A timer interrupt every 4 s"));
    assert_eq!(found(&[watched, buddy]), None, "soft-watchdog reports the same timer");
}

#[test]
fn clocksource_watchdog_calls_since_7_1() {
    let effect = |release: &str| {
        let found = on(release, &[("/proc/cpuinfo", "flags : constant_tsc nonstop_tsc")]);
        one("clocksource-watchdog", &found).unwrap().effect.clone()
    };
    assert!(effect("7.0.5-test").starts_with("A timer"));
    assert!(effect("7.1.1-test").starts_with("A function call"));
}

#[test]
fn menu_looks_at_the_next_timer_since_7_1() {
    let changes = [
        ("/sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us", "0"),
        ("/sys/devices/system/cpu/cpuidle/current_governor", "menu"),
        ("/boot/config-RELEASE", "GOODCONFIG\\nCONFIG_CPU_IDLE_GOV_TEO=y"),
    ];
    let reported = |release: &str| one("menu-stopped-tick", &on(release, &changes)).unwrap().clone();
    assert!(!reported("7.0.5-test").effect.contains("two ticks away"));
    assert!(fixes(&reported("7.0.5-test"))[1].contains("teo governor does not help"));
    assert!(reported("7.1.1-test").effect.contains("two ticks away"));
    assert_eq!(fixes(&reported("7.1.1-test")).len(), 1);
}

#[test]
fn c_state_limit_of_one_driver_is_not_copied_to_the_other() {
    let found = on(
        "6.12.117-test",
        &[(
            "/proc/cmdline",
            "nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1 processor.max_cstate=3",
        )],
    );
    let fixes = fixes(one("max-cstate", &found).unwrap());
    assert!(fixes[0].contains("max_cstate=ROW") && !fixes[0].contains("max_cstate=3"), "{fixes:?}");
}

/// `irqaffinity=` always includes the boot CPU.
#[test]
fn no_parameter_keeps_interrupts_off_the_boot_cpu() {
    let changes = [
        ("/proc/cmdline", "isolcpus=domain,managed_irq,0,2-3 rcu_nocbs=0,2-3"),
        ("/sys/devices/system/cpu/isolated", "0,2-3"),
        ("/proc/irq/default_smp_affinity", "3"),
    ];
    let found = on("6.12.117-test", &changes);
    let fixes = fixes(one("irq-default", &found).unwrap());
    assert!(fixes[0].contains("always adds to irqaffinity="), "{fixes:?}");
    assert_eq!(fixes[1..], ["echo 00000002 > /proc/irq/default_smp_affinity"]);
}

#[test]
fn unbound_work_is_kept_away_at_boot_since_6_6() {
    let wide = [("/sys/devices/virtual/workqueue/cpumask", "f")];
    let reported = |release: &str| fixes(one("workqueue-cpumask", &on(release, &wide)).unwrap());
    assert_eq!(reported("6.12.117-test")[1], "boot with workqueue.unbound_cpus=0-1");
    assert_eq!(reported("6.1.192-test").len(), 1);
}

/// In active mode powersave follows the load, by a preference.
#[test]
fn performance_preference_is_accepted() {
    let powersave = ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave");
    let preference = "/sys/devices/system/cpu/cpu3/cpufreq/energy_performance_preference";
    let found = |changes: &[(&str, &str)]| one("frequency-governor", &on("6.12.117-test", changes)).cloned();
    assert_eq!(found(&[powersave, (preference, "performance")]), None);
    let fixes = fixes(&found(&[powersave, (preference, "power")]).unwrap());
    assert!(fixes[1].ends_with("(not tried here: no guest has it)"), "{fixes:?}");
    let amd = ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_driver", "amd-pstate-epp");
    assert!(found(&[powersave, amd]).unwrap().message.starts_with("the processor scales"));
}

/// The severity of a task on a PREEMPT_RT CPU shows the detected kind of kernel.
#[test]
fn realtime_kernel_is_detected_without_its_configuration() {
    let asleep = ("/sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us", "0");
    let is_rt = |release: &str, changes: &[(&str, &str)]| {
        let changes = [&[asleep, ("/boot/config-RELEASE", "-")], changes].concat();
        one("deep-idle", &on(release, &changes)).unwrap().severity == dyntick_check::Severity::Warning
    };
    assert!(!is_rt("6.12.117-test", &[]));
    for release in ["6.8.1-1015-realtime", "5.14.0-570.el9.x86_64+rt", "4.18.0-147.rt24.93.el8.x86_64"] {
        assert!(is_rt(release, &[]), "{release}");
    }
    assert!(is_rt("6.12.117-test", &[("/sys/kernel/realtime", "1")]));
    let version = |flags| format!("Linux version 6.12.117-test (root@rt) (gcc #2) #1 SMP {flags} Debian");
    for (flags, expected) in [("PREEMPT_RT", true), ("PREEMPT RT", true), ("PREEMPT_DYNAMIC", false)] {
        assert_eq!(is_rt("6.12.117-test", &[("/proc/version", &version(flags))]), expected, "{flags}");
    }
    // The build is better evidence than the name.
    assert!(!is_rt("6.12.117-rt45", &[("/proc/version", &version("PREEMPT_DYNAMIC"))]));
    let thread = |name: &str| format!("60 ({name}) S 2 0 0 0 -1 69238848 0");
    for (name, expected) in [("ktimers/3", true), ("rcuc/3", true), ("ksoftirqd/3", false)] {
        let status = ("/proc/60/task/60/status", "Cpus_allowed_list: 3");
        let threads = [("/proc/60/task/60/stat", thread(name)), (status.0, status.1.to_owned())];
        let threads: Vec<_> = threads.iter().map(|(path, text)| (*path, text.as_str())).collect();
        assert_eq!(is_rt("6.12.117-test", &threads), expected, "{name}");
    }
}

#[test]
fn name_alone_makes_no_kernel_real_time() {
    let found = on("6.1.46-rt13", &[("/proc/sys/kernel/sched_rt_runtime_us", "-1")]);
    let finding = one("not-realtime", &found).unwrap();
    assert_eq!(finding.evidence[1].value, "# CONFIG_PREEMPT_RT is not set");
    let real = [("/boot/config-RELEASE", "GOODCONFIG\\nCONFIG_PREEMPT_RT_FULL=y")];
    assert_eq!(one("not-realtime", &on("4.18.0-147.rt24.93.el8", &real)), None);
    let line = "BOOT_IMAGE=/boot/vmlinuz-rt nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1";
    assert!(one("not-realtime", &on("6.12.117-test", &[("/proc/cmdline", line)])).is_some());
    // If nothing shows how it was built, only its name is left.
    assert_eq!(one("not-realtime", &on("6.1.46-rt13", &[("/boot/config-RELEASE", "-")])), None);
}

/// `rcu_normal` wins over `rcu_expedited`, and PREEMPT_RT sets it at the end of the boot.
#[test]
fn grace_periods_are_expedited_until_they_are_normal() {
    const LINE: &str =
        "nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1 rcupdate.rcu_expedited=1";
    let found = |more: &str, changes: &[(&str, &str)]| {
        let line = format!("{LINE}{more}");
        let changes = [&[("/proc/cmdline", line.as_str())], changes].concat();
        one("rcu-expedited", &on("6.12.117-test", &changes)).map(fixes)
    };
    let fixes = found("", &[]).unwrap();
    assert_eq!(
        fixes[..2],
        ["boot without rcupdate.rcu_expedited=1", "echo 1 > /sys/kernel/rcu_normal"],
        "{fixes:?}"
    );
    assert_eq!(found(" rcupdate.rcu_normal_after_boot=1", &[]), None);
    let rt = ("/boot/config-RELEASE", "GOODCONFIG\\nCONFIG_PREEMPT_RT=y");
    assert_eq!(found("", &[rt]).unwrap(), ["boot without rcupdate.rcu_expedited=1"]);
    assert!(found(" rcupdate.rcu_normal_after_boot=0", &[rt]).unwrap().len() > 1);
    let (expedited, normal) = ("/sys/kernel/rcu_expedited", "/sys/kernel/rcu_normal");
    assert_eq!(found("", &[(expedited, "0"), (normal, "0")]), None, "switched off since");
    let by_hand = [("/proc/cmdline", "nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1")];
    let by_hand = on("6.12.117-test", &[by_hand[0], (expedited, "1"), (normal, "0")]);
    assert_eq!(self::fixes(one("rcu-expedited", &by_hand).unwrap()), ["echo 0 > /sys/kernel/rcu_expedited"]);
}

/// The log has the reason. A guest's counter belongs to its hypervisor.
#[test]
fn fix_depends_on_why_the_tsc_is_unstable() {
    const WATCHDOG: &str = "6,1,0,-;tsc: Marking TSC unstable due to clocksource watchdog";
    const WARP: &str = "4,1,0,-;Measured 512 cycles TSC warp between CPUs, turning off TSC clock.\n\
        6,2,0,-;tsc: Marking TSC unstable due to check_tsc_sync_source failed";
    const LINE: &str = "nohz_full=2-3 isolcpus=domain,managed_irq,2-3 irqaffinity=0-1";
    let reported = |log: &str, release: &str, word: &str, flags: &str| {
        let line = format!("{LINE} {word}");
        let cpuinfo = format!("flags : constant_tsc nonstop_tsc tsc_adjust {flags}");
        let found = on(release, &[("/dev/kmsg", log), ("/proc/cmdline", &line), ("/proc/cpuinfo", &cpuinfo)]);
        one("tsc-unstable", &found).map(|finding| (finding.message.clone(), fixes(finding).join("; ")))
    };
    let (_, plain) = reported(WATCHDOG, "6.12.117-test", "", "").unwrap();
    assert!(plain.contains("boot with tsc=nowatchdog or tsc=reliable"), "{plain}");
    let (message, asked) = reported(WATCHDOG, "4.18.0-240.el8", "tsc=reliable", "").unwrap();
    assert!(message.ends_with("although 'tsc=reliable' is on the line"), "{message}");
    assert!(!asked.contains("boot with") && asked.contains("before 5.4"), "{asked}");
    let (_, guest) = reported(WATCHDOG, "6.12.117-test", "", "hypervisor").unwrap();
    assert!(guest.contains("hypervisor") && !guest.contains("firmware"), "{guest}");
    let (_, warp) = reported(WARP, "6.12.117-test", "", "").unwrap();
    assert!(warp.contains("No parameter helps") && !warp.contains("boot with"), "{warp}");
    assert_eq!(
        reported("4,1,0,-;clocksource: Marking clocksource 'acpi_pm' as unstable", "6.12.117-test", "", ""),
        None
    );
    // The function's name in 7.1.
    assert!(
        reported(
            "4,1,0,-;clocksource: Marking clocksource tsc unstable due to inter CPU skew",
            "7.1.1-test",
            "",
            ""
        )
        .is_some()
    );
}

/// The versions between 6.12 and 7.2 were not measured; the source distinguishes them.
#[test]
fn fair_server_costs_nothing_if_it_charges_the_running_task_first() {
    let armed = [("/sys/kernel/debug/sched/fair_server/cpu3/runtime", "50000000")];
    let effect = |release: &str| one("fair-server", &on(release, &armed)).map(|found| found.effect.clone());
    assert!(effect("6.12.117-test").unwrap().contains("measured on 6.12.95"));
    assert!(effect("6.14.1-test").unwrap().contains("update_curr in dl_server_timer"));
    assert_eq!(effect("6.19.1-test"), None);
}
