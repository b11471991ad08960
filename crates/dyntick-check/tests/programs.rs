// SPDX-License-Identifier: GPL-2.0-only
//! The resources of programs on isolated CPUs (quotas, policies, packets), and the effect of names on commands.

use crate::good::{files, good};
use dyntick_check::{Machine, Report, Severity};

/// The fixes of a rule on the good machine with some files replaced; `None` if it finds nothing.
fn fixes(rule: &str, changes: &[(&str, &str)]) -> Option<Vec<String>> {
    let mut all = files();
    all.extend(changes.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    let files = good(&all);
    let findings = Report::of(&Machine::new(&files, None).unwrap(), &files).findings;
    let finding = findings.iter().find(|finding| finding.rule == rule)?;
    Some(finding.fixes.iter().map(ToString::to_string).collect())
}

/// `/proc/PID/stat` of a program, or of a kernel thread that is bound to its CPU.
fn stat(name: &str, state: &str, kernel: bool, priority: u32, policy: u32) -> String {
    let flags = if kernel { 69_238_848 } else { 4_194_304 };
    format!("901 ({name}) {state} 1 901 901 0 -1 {flags} {}{priority} {policy}", "0 ".repeat(30))
}

/// The same for a program on a CPU.
fn on_cpu(name: &str, state: &str, cpu: u32, policy: u32) -> String {
    format!("9 ({name}) {state} 1 9 9 0 -1 4194304 {}{cpu} 0 {policy}", "0 ".repeat(29))
}

const STAT: &str = "/proc/901/task/901/stat";
const STATUS: &str = "/proc/901/task/901/status";

#[test]
fn limiting_group_is_found_above_the_task() {
    let limited = [
        ("/proc/901/cgroup", "0::/pods/a b;id"),
        ("/sys/fs/cgroup/pods/cpu.max", "200000 100000"),
        ("/sys/fs/cgroup/pods/a b;id/cpu.max", "max 100000"),
    ];
    assert_eq!(fixes("cpu-quota", &limited).unwrap(), ["echo max > /sys/fs/cgroup/pods/cpu.max"]);
    let own = [limited[0], ("/sys/fs/cgroup/pods/a b;id/cpu.max", "50000 100000")];
    assert_eq!(fixes("cpu-quota", &own).unwrap(), ["echo max > '/sys/fs/cgroup/pods/a b;id/cpu.max'"]);
    let elsewhere = [limited[0], limited[1], (STATUS, "Cpus_allowed_list: 0-1")];
    assert_eq!(fixes("cpu-quota", &elsewhere), None);
}

/// The smallest quota limits, so all must be removed.
#[test]
fn each_limiting_group_has_its_command() {
    let commands = |changes: &[(&str, &str)]| {
        let mut all = files();
        all.extend(changes.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
        let files = good(&all);
        let report = Report::of(&Machine::new(&files, None).unwrap(), &files);
        let found = report.findings.iter().filter(|finding| finding.rule == "cpu-quota");
        found.map(|finding| (finding.message.clone(), finding.fixes[0].to_string())).collect::<Vec<_>>()
    };
    let deep = [
        ("/proc/901/cgroup", "0::/a/b/c/d/e/f"),
        ("/sys/fs/cgroup/a/b/c/d/e/f/cpu.max", "100000 100000"),
        ("/sys/fs/cgroup/a/b/cpu.max", "200000 100000"),
        ("/sys/fs/cgroup/a/cpu.max", "max 100000"),
    ];
    let expected = [
        (
            "a CPU quota (cpu.max of f) limits worker on CPUs 2-3",
            "echo max > /sys/fs/cgroup/a/b/c/d/e/f/cpu.max",
        ),
        ("a CPU quota (cpu.max of b) limits worker on CPUs 2-3", "echo max > /sys/fs/cgroup/a/b/cpu.max"),
    ];
    assert_eq!(commands(&deep), expected.map(|(message, fix)| (message.to_owned(), fix.to_owned())));
    let first = [
        ("/proc/901/cgroup", "4:cpu,cpuacct:/pods/one\n0::/system"),
        ("/sys/fs/cgroup/cpu,cpuacct/pods/cpu.cfs_quota_us", "-1"),
        ("/sys/fs/cgroup/cpu,cpuacct/pods/one/cpu.cfs_quota_us", "50000"),
        ("/proc/sys/kernel/osrelease", "4.18.0-147.el8"),
    ];
    let fix = "echo -1 > /sys/fs/cgroup/cpu,cpuacct/pods/one/cpu.cfs_quota_us";
    let message = "a CPU quota (cpu.cfs_quota_us of one) limits worker on CPUs 2-3";
    assert_eq!(commands(&first), [(message.to_owned(), fix.to_owned())]);
    let alone = [("/proc/901/cgroup", "7:cpu:/one"), ("/sys/fs/cgroup/cpu/one/cpu.cfs_quota_us", "50000")];
    assert_eq!(commands(&alone)[0].1, "echo -1 > /sys/fs/cgroup/cpu/one/cpu.cfs_quota_us");
}

/// Real-time tasks are not of the class with quotas.
#[test]
fn quota_limits_only_ordinary_tasks() {
    let fifo = stat("worker", "R", false, 10, 1);
    let limited =
        [("/proc/901/cgroup", "0::/pods"), ("/sys/fs/cgroup/pods/cpu.max", "1000 100000"), (STAT, &fifo)];
    assert_eq!(fixes("cpu-quota", &limited), None);
}

#[test]
fn isolated_cpus_are_removed_from_rps_masks() {
    let queue = [
        ("/sys/class/net/eth$0/queues/rx-0/rps_cpus", "f"),
        ("/sys/class/net/eth1/queues/rx-0/rps_cpus", "00000003"),
    ];
    assert_eq!(
        fixes("packet-steering", &queue).unwrap(),
        ["echo 00000003 > '/sys/class/net/eth$0/queues/rx-0/rps_cpus'"]
    );
    assert_eq!(fixes("packet-steering", &queue[1..]), None);
}

/// A queue's table has no effect without that of the sockets, and vice versa.
#[test]
fn packets_follow_their_readers_if_both_tables_exist() {
    let (sockets, queue) =
        ("/proc/sys/net/core/rps_sock_flow_entries", "/sys/class/net/eth0/queues/rx-0/rps_flow_cnt");
    assert!(fixes("flow-steering", &[(sockets, "32768"), (queue, "4096")]).is_some());
    for off in [("0", "4096"), ("32768", "0"), ("", "4096"), ("32768", "junk")] {
        assert_eq!(fixes("flow-steering", &[(sockets, off.0), (queue, off.1)]), None, "{off:?}");
    }
    assert_eq!(fixes("flow-steering", &[(queue, "4096")]), None);
}

#[test]
fn sleeping_task_and_task_of_another_cpu_share_nothing() {
    let (runs, sleeps) = (stat("a", "R", false, 0, 0), stat("b", "S", false, 0, 0));
    let second = [
        (STAT, runs.as_str()),
        (STATUS, "Cpus_allowed_list: 3"),
        ("/proc/902/task/902/stat", sleeps.as_str()),
        ("/proc/902/task/902/status", "Cpus_allowed_list: 3"),
    ];
    assert_eq!(fixes("shared-cpu", &second), None);
    let awake = [second[0], second[1], ("/proc/902/task/902/stat", runs.as_str()), second[3]];
    assert!(fixes("shared-cpu", &awake).is_some());
    let apart = [awake[0], awake[1], awake[2], ("/proc/902/task/902/status", "Cpus_allowed_list: 2")];
    assert_eq!(fixes("shared-cpu", &apart), None);
}

/// Two programs that may run on both isolated CPUs, each with its state, CPU and policy.
fn two(programs: [(&str, u32, u32); 2], allowed: &str) -> Option<Vec<String>> {
    let stats = programs.map(|(state, cpu, policy)| on_cpu("worker", state, cpu, policy));
    let status = format!("Cpus_allowed_list: {allowed}");
    fixes(
        "stacked-tasks",
        &[
            (STAT, &stats[0]),
            (STATUS, &status),
            ("/proc/902/task/902/stat", &stats[1]),
            ("/proc/902/task/902/status", &status),
        ],
    )
}

/// Without load balancing no task moves to the idle CPU.
#[test]
fn tasks_on_several_isolated_cpus_get_advice_to_pin() {
    let fixes = two([("R", 2, 0), ("R", 2, 0)], "2-3").unwrap();
    assert!(fixes[0].starts_with("pin each one to a CPU of its own: taskset -pc"), "{fixes:?}");
    assert!(fixes[1].contains("boot without them in isolcpus="), "{fixes:?}");
    // With a housekeeping CPU among them another rule reports it; real-time tasks are pushed away.
    assert_eq!(two([("R", 2, 0), ("R", 2, 0)], "1-3"), None);
    assert_eq!(two([("R", 2, 1), ("R", 2, 1)], "2-3"), None);
    assert_eq!(two([("R", 2, 0), ("R", 2, 1)], "2-3"), None);
}

#[test]
fn tasks_of_an_unbalanced_cpuset_get_advice_to_pin() {
    let runs = on_cpu("worker", "R", 2, 0);
    let fixes = fixes(
        "stacked-tasks",
        &[
            ("/proc/cmdline", "quiet"),
            ("/sys/devices/system/cpu/isolated", ""),
            ("/sys/fs/cgroup/cpuset/cpuset.sched_load_balance", "0"),
            ("/sys/fs/cgroup/cpuset/rt/cpuset.sched_load_balance", "0"),
            ("/sys/fs/cgroup/cpuset/rt/cpuset.cpus", "2-3"),
            (STAT, &runs),
            ("/proc/902/task/902/stat", &runs),
            ("/proc/902/task/902/status", "Cpus_allowed_list: 2-3"),
        ],
    );
    assert!(fixes.unwrap()[1].starts_with("switch load balancing on in their own cpuset"));
}

#[test]
fn only_tasks_that_wait_while_a_cpu_idles_are_a_warning() {
    let severity = |first: (&str, u32), second: (&str, u32)| {
        let stat = |(state, cpu): (&str, u32)| on_cpu("worker", state, cpu, 0);
        let mut all = files();
        for (tid, place) in [(901, first), (902, second)] {
            all.insert(format!("/proc/{tid}/task/{tid}/stat"), stat(place));
            all.insert(format!("/proc/{tid}/task/{tid}/status"), "Cpus_allowed_list: 2-3".to_owned());
        }
        let files = good(&all);
        let findings = Report::of(&Machine::new(&files, None).unwrap(), &files).findings;
        findings.into_iter().find(|finding| finding.rule == "stacked-tasks").map(|finding| finding.severity)
    };
    assert_eq!(severity(("R", 2), ("R", 2)), Some(Severity::Warning));
    assert_eq!(severity(("R", 2), ("R", 3)), Some(Severity::Note));
    assert_eq!(severity(("R", 2), ("S", 2)), Some(Severity::Note));
}

/// On other kernels these threads are ordinary tasks, or absent, and the server lets them run.
#[test]
fn starved_threads_are_reported_on_preempt_rt() {
    let (task, thread) = (stat("poller", "R", false, 80, 1), stat("rcuc/3", "S", true, 1, 1));
    let mut changes = vec![
        (STAT, task.as_str()),
        (STATUS, "Cpus_allowed_list: 3"),
        ("/proc/60/task/60/stat", thread.as_str()),
        ("/proc/60/task/60/status", "Cpus_allowed_list: 3"),
    ];
    assert_eq!(fixes("starved-threads", &changes), None);
    changes.push(("/boot/config-6.12.117-test", "GOODCONFIG\nCONFIG_PREEMPT_RT=y"));
    assert_eq!(fixes("starved-threads", &changes).unwrap()[1], "boot with rcutree.kthread_prio=81");
    let above = stat("rcuc/3", "S", true, 90, 1);
    changes[2].1 = &above;
    assert_eq!(fixes("starved-threads", &changes), None);
}

/// Before the fair server, normal tasks have only throttling.
#[test]
fn realtime_task_starves_bound_threads_without_throttling() {
    let (task, worker) = (stat("poller", "R", false, 80, 1), stat("kworker/3:1", "R", true, 0, 0));
    let idle = stat("kworker/3:1", "S", true, 0, 0);
    let reported = |release: &str, runtime: &str, server: &str, worker: &str| {
        fixes(
            "starved-threads",
            &[
                ("/proc/sys/kernel/osrelease", release),
                ("/proc/sys/kernel/sched_rt_runtime_us", runtime),
                ("/sys/kernel/debug/sched/fair_server/cpu3/runtime", server),
                (STAT, &task),
                (STATUS, "Cpus_allowed_list: 3"),
                ("/proc/60/task/60/stat", worker),
                ("/proc/60/task/60/status", "Cpus_allowed_list: 3"),
            ],
        )
    };
    let fixes = reported("6.1.192-test", "-1", "50000000", &worker).unwrap();
    assert!(fixes[0].contains("chrt -o -p 0 901"), "{fixes:?}");
    assert!(fixes[1].starts_with("sysctl -w kernel.sched_rt_runtime_us=950000"), "{fixes:?}");
    assert!(
        reported("6.1.192-test", "1000000", "50000000", &worker).is_some(),
        "all of the period is no limit"
    );
    assert_eq!(reported("6.1.192-test", "950000", "50000000", &worker), None);
    assert_eq!(reported("6.1.192-test", "-1", "50000000", &idle), None);
    assert_eq!(reported("6.12.117-test", "-1", "50000000", &worker), None);
    let fixes = reported("6.12.117-test", "-1", "0", &worker).unwrap();
    assert!(fixes[1].starts_with("keep the fair server"), "{fixes:?}");
}

/// The fair server is for the fair class: tasks of a BPF scheduler have their own server since 7.0.
#[test]
fn bpf_scheduler_tasks_need_their_own_server() {
    let (task, worker) = (stat("poller", "R", false, 80, 1), stat("kworker/3:1", "R", true, 0, 0));
    let reported = |release: &str, server: &str, all: &str| {
        fixes(
            "starved-threads",
            &[
                ("/proc/sys/kernel/osrelease", release),
                ("/sys/kernel/sched_ext/state", "enabled"),
                ("/sys/kernel/sched_ext/switch_all", all),
                ("/sys/kernel/debug/sched/fair_server/cpu3/runtime", "50000000"),
                ("/sys/kernel/debug/sched/ext_server/cpu3/runtime", server),
                (STAT, &task),
                (STATUS, "Cpus_allowed_list: 3"),
                ("/proc/60/task/60/stat", &worker),
                ("/proc/60/task/60/status", "Cpus_allowed_list: 3"),
            ],
        )
    };
    assert!(reported("6.14.1-test", "50000000", "1").unwrap()[1].contains("before 7.0"));
    assert_eq!(reported("6.14.1-test", "50000000", "0"), None, "it has only the tasks that ask for it");
    assert_eq!(reported("7.2.13-test", "50000000", "1"), None);
    assert!(reported("7.2.13-test", "0", "1").is_some());
}

/// A program that may run on other isolated CPUs too is not moved to them.
#[test]
fn program_behind_a_realtime_task_gets_advice_to_move() {
    let task = stat("CPU 0/KVM", "R", false, 1, 1);
    let other = on_cpu("qemu", "R", 3, 0);
    let waiting = |allowed: &str| {
        let allowed = format!("Cpus_allowed_list: {allowed}");
        fixes(
            "starved-threads",
            &[
                ("/proc/sys/kernel/osrelease", "6.1.192-test"),
                ("/proc/sys/kernel/sched_rt_runtime_us", "-1"),
                (STAT, &task),
                (STATUS, "Cpus_allowed_list: 3"),
                ("/proc/902/task/902/stat", &other),
                ("/proc/902/task/902/status", &allowed),
            ],
        )
    };
    let fixes = waiting("2-3").unwrap();
    assert!(fixes[0].contains("virsh emulatorpin DOMAIN 0-1"), "{fixes:?}");
    assert!(fixes[0].contains("for p in 902; do taskset -pc 0-1 $p; done"), "{fixes:?}");
    assert_eq!(waiting("1-3"), None);
}

/// The device of a control loop belongs to its task's CPU; a driver's queues do not.
#[test]
fn interrupt_pinned_to_an_isolated_cpu_is_left_there() {
    let reported = |interrupts: &[(u32, &str, &str)], more: &[(&str, &str)]| {
        let mut all = files();
        all.extend(more.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
        let mut counts = "CPU0 CPU1 CPU2 CPU3\n".to_owned();
        for (number, name, affinity) in interrupts {
            all.insert(format!("/proc/irq/{number}/smp_affinity_list"), (*affinity).to_owned());
            all.insert(format!("/sys/kernel/irq/{number}/actions"), (*name).to_owned());
            counts += &format!("{number}: 0 0 7 7\n");
        }
        all.insert("/proc/interrupts".to_owned(), counts);
        let files = good(&all);
        let report = Report::of(&Machine::new(&files, None).unwrap(), &files);
        let findings = report.findings.iter().filter(|finding| finding.rule == "device-irqs");
        findings.map(|found| (found.severity, found.message.clone(), found.fixes.len())).collect::<Vec<_>>()
    };
    let put = reported(&[(36, "ttyAMA0", "3")], &[]);
    assert!(
        matches!(&put[..], [(Severity::Note, message, 1)] if message.contains("set to CPU 3 alone")),
        "{put:?}"
    );
    let severity = |interrupts: &[(u32, &str, &str)], more: &[(&str, &str)]| {
        reported(interrupts, more).iter().map(|(severity, ..)| *severity).collect::<Vec<_>>()
    };
    for (queue, other) in [
        ("enp3s0f0-4", "enp3s0f0-0"),
        ("nvme0q3", "nvme0q1"),
        ("mlx5_comp3@pci:0000:3b:00.0", "mlx5_comp0@pci:0000:3b:00.0"),
        ("virtio0-input.1", "virtio0-input.0"),
    ] {
        assert_eq!(severity(&[(60, other, "0"), (64, queue, "2")], &[]), [Severity::Warning], "{queue}");
    }
    // Another device's interrupts, and all queues of one device, were put there too.
    for (one, other) in [("eth1", "eth0"), ("mlx5_comp0@pci:0000:3b:00.1", "mlx5_comp0@pci:0000:3b:00.0")] {
        assert_eq!(severity(&[(60, other, "0"), (64, one, "2")], &[]), [Severity::Note], "{one}");
    }
    assert_eq!(severity(&[(63, "eth1-rx-0", "2"), (64, "eth1-rx-1", "3")], &[]), [Severity::Note]);
    // If no other interrupt stays outside, or irqbalance may have placed it, nothing shows a purpose.
    let spread = ("/proc/irq/default_smp_affinity", "f");
    let kept = ("/proc/irq/24/smp_affinity_list", "0-1");
    assert_eq!(severity(&[(64, "ttyS0", "2")], &[spread]), [Severity::Warning]);
    assert_eq!(severity(&[(64, "ttyS0", "2")], &[spread, kept]), [Severity::Note]);
    let runs = ("/proc/900/task/900/stat", "900 (irqbalance) S 1 900 900 0 -1 4194304 0");
    let spares = ("/etc/default/irqbalance", "IRQBALANCE_BANNED_CPUS=0");
    assert_eq!(severity(&[(64, "ttyS0", "2")], &[runs]), [Severity::Note]);
    assert_eq!(severity(&[(64, "ttyS0", "2")], &[runs, spares]), [Severity::Warning]);
}

#[test]
fn irqbalance_undoes_the_script() {
    let advice = |set: &str| {
        let changes = [
            ("/proc/irq/24/effective_affinity_list", "2"),
            ("/proc/900/task/900/stat", "900 (irqbalance) S 1 900 900 0 -1 4194304 0"),
            ("/etc/default/irqbalance", set),
        ];
        fixes("device-irqs", &changes).unwrap()[1].clone()
    };
    assert!(advice("IRQBALANCE_BANNED_CPULIST=-").starts_with("irqbalance moves interrupts back"));
    assert!(advice("").starts_with("if the write fails"));
}

/// The container runtime that writes the masks writes them again.
#[test]
fn container_runtime_resets_the_masks() {
    let reported = |more: &[(&str, &str)]| {
        let stray = [("/proc/901/task/901/status", "Cpus_allowed_list: 0-3")];
        fixes("user-threads", &[&stray, more].concat()).unwrap()
    };
    assert_eq!(reported(&[]).len(), 1);
    let kubelet = ("/proc/900/task/900/stat", "900 (kubelet) S 1 900 900 0 -1 4194304 0");
    let pod = ("/proc/901/cgroup", "0::/kubepods.slice/pod1");
    for evidence in [kubelet, pod] {
        let fixes = reported(&[evidence]);
        assert!(fixes[1].contains("reservedSystemCPUs: 2-3 with"), "{fixes:?}");
    }
}

/// `kthread()` gives a new thread all CPUs before 5.9, and later all except those of `nohz_full=`.
#[test]
fn later_threads_have_their_own_cpus() {
    let reported = |release: &str, full: &str| {
        let changes = [
            ("/proc/50/task/50/status", "Cpus_allowed_list: 0-3"),
            ("/proc/sys/kernel/osrelease", release),
            ("/sys/devices/system/cpu/nohz_full", full),
        ];
        fixes("kernel-threads", &changes).unwrap().get(1).cloned().unwrap_or_default()
    };
    assert!(reported("5.4.0-88-generic", "2-3").contains("may run on all CPUs again"));
    assert_eq!(reported("6.12.117-test", "2-3"), "");
    assert!(reported("6.12.117-test", "2").contains("all CPUs but those of nohz_full="));
    assert!(reported("7.2.13-test", "2-3").contains("isolated partition"));
}

/// `mce_timer_fn` halves the interval after each error.
#[test]
fn machine_check_interval_is_the_longest() {
    let mut all = files();
    all.insert("/sys/devices/system/machinecheck/machinecheck0/check_interval".into(), "300".into());
    let files = good(&all);
    let findings = Report::of(&Machine::new(&files, None).unwrap(), &files).findings;
    assert!(findings[0].effect.contains("down to 10 ms"), "{findings:?}");
}
