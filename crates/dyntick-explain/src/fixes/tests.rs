// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the advice.

use super::*;
use crate::rules;

/// A machine and its CPUs that are to be quiet.
#[derive(Clone)]
struct Place {
    kernel: &'static str,
    line: &'static str,
    online: u32,
    quiet: &'static str,
    settings: Settings,
    bpf_scheduler: bool,
    named: Named,
}

impl Place {
    /// Eight CPUs, of which two are to be quiet.
    fn new() -> Self {
        let named = Named { task: OtherTask::Movable(mover()), irq: Some(9), quota: Some(pod()) };
        let (settings, bpf_scheduler) = Default::default();
        Self { kernel: "6.12.95", line: "quiet", online: 8, quiet: "3,5", settings, bpf_scheduler, named }
    }

    fn ask<T>(&self, ask: impl FnOnce(Host<'_>, Target<'_>) -> T) -> T {
        let (kernel, line) = (self.kernel.parse().unwrap(), CommandLine::parse(self.line));
        let (online, quiet) = (CpuList::first(self.online), self.quiet.parse::<CpuList>().unwrap());
        let (settings, bpf_scheduler) = (&self.settings, self.bpf_scheduler);
        let host = Host { kernel: &kernel, line: &line, online: &online, settings, bpf_scheduler };
        ask(host, Target { cpu: quiet.last().unwrap(), quiet: &quiet, named: &self.named })
    }

    /// The advice against a cause there.
    fn advised(&self, cause: &str) -> Vec<String> {
        let rule = rules::get(&crate::CauseId::parse(cause).unwrap());
        self.ask(|host, target| fixes(rule, host, target))
            .into_iter()
            .map(|fix| fix.action.to_string())
            .collect()
    }
}

/// The quota of a group.
fn pod() -> Limit {
    Limit {
        words: "1 µs in 2 µs, cpu.max of /pod".to_owned(), file: "/sys/fs/cgroup/pod/cpu.max".to_owned()
    }
}

/// A task that can be moved.
fn mover() -> crate::Task {
    crate::Task { pid: 77, comm: "cc1".into() }
}

fn advised(cause: &str, settings: &Settings) -> Vec<String> {
    Place { settings: settings.clone(), ..Place::new() }.advised(cause)
}

fn filled(action: Fix<&'static str>) -> String {
    let fix = RuleFix { action, effect: "", versions: rules::Versions::ALL };
    let place = Place { online: 6, ..Place::new() };
    place.ask(|host, target| fill_in(&fix, host, target)).action.to_string()
}

#[test]
fn cpus_are_filled_in() {
    assert_eq!(filled(Fix::Boot("isolcpus=domain,{quiet}")), "boot with isolcpus=domain,3,5");
    assert_eq!(filled(Fix::Command("echo 0 > /x/cpu{cpu}/runtime")), "echo 0 > /x/cpu5/runtime");
    assert_eq!(filled(Fix::Command("taskset -pc {housekeeping} {task}")), "taskset -pc 0-2,4 77");
    assert_eq!(filled(Fix::Command("echo 0 > /proc/irq/{irq}/x")), "echo 0 > /proc/irq/9/x");
    assert_eq!(filled(Fix::Command("echo {mask} > /x")), "echo 00000017 > /x");
    assert_eq!(filled(Fix::Command("echo {quota}")), "echo max > /sys/fs/cgroup/pod/cpu.max");
    let of_v1 = Limit { file: "/sys/fs/cgroup/cpu/a b/cpu.cfs_quota_us".to_owned(), ..pod() };
    assert_eq!(of_v1.without().as_deref(), Some("-1 > '/sys/fs/cgroup/cpu/a b/cpu.cfs_quota_us'"));
}

/// A fix on a machine of four CPUs that was booted with this line.
fn on_booted(line: &str, action: Fix) -> (String, bool) {
    let (line, online) = (CommandLine::parse(line), CpuList::first(4));
    let (kernel, settings) = ("6.12.95".parse().unwrap(), Settings::default());
    let bpf_scheduler = false;
    let host = Host { kernel: &kernel, line: &line, online: &online, settings: &settings, bpf_scheduler };
    let fix = combined(PrintedFix { action, effect: "".into() }, host);
    (fix.action.to_string(), host.is_helped_by(&fix.action))
}

#[test]
fn present_parameters_are_kept() {
    let fix = |action: Fix| on_booted("nohz_full=2 isolcpus=domain,2", action).0;
    let isolated = "boot with nohz_full=2-3 isolcpus=domain,managed_irq,2-3";
    assert_eq!(fix(Fix::Boot("nohz_full=3".into())), isolated);
    assert_eq!(fix(Fix::Boot("tsc=reliable".into())), "boot with tsc=reliable");
    assert_eq!(fix(Fix::Command("sysctl -w vm.stat_interval=120".into())), "sysctl -w vm.stat_interval=120");
}

#[test]
fn present_parameters_are_no_fixes() {
    let is_in_force = |action: Fix| !on_booted("nohz_full=3 isolcpus=domain,3 quiet", action).1;
    assert!(is_in_force(Fix::Boot("isolcpus=domain,3".into())));
    assert!(!is_in_force(Fix::Boot("isolcpus=domain,2-3".into())));
    assert!(!is_in_force(Fix::Boot("mce=ignore_ce".into())));
    assert!(!is_in_force(Fix::Command("echo 0 > /x".into())));
}

#[test]
fn present_settings_and_missing_options_are_no_fixes() {
    let none = Settings::default();
    assert!(advised("idle-not-stopped", &none).contains(&"boot with cpuidle.governor=teo".to_owned()));
    let menu = |path: &str| path.ends_with("available_governors").then(|| "menu\n".to_owned());
    let without = settings_of(menu, None);
    let fixes = advised("idle-not-stopped", &without);
    assert!(fixes.iter().all(|fix| !fix.contains("governor")), "{fixes:?}");
    let interval = "sysctl -w vm.stat_interval=60";
    assert!(advised("workqueue:vmstat_update", &none).contains(&interval.to_owned()));
    let set = settings_of(|path| path.ends_with("stat_interval").then(|| "60\n".to_owned()), None);
    let fixes = advised("workqueue:vmstat_update", &set);
    assert!(!fixes.contains(&interval.to_owned()), "{fixes:?}");
}

/// A write to the affinity of a managed interrupt is refused.
#[test]
fn interrupt_lines_that_only_the_kernel_moves_are_not_moved() {
    let of = |fixed: &[u32]| {
        let settings = Settings { fixed_irqs: fixed.iter().copied().collect(), ..Settings::default() };
        Place { settings, ..Place::new() }
    };
    for cause in ["device", "kernel-thread:irq"] {
        let moved = "echo 0-2,4,6-7 > /proc/irq/9/smp_affinity_list".to_owned();
        assert!(of(&[8]).advised(cause).contains(&moved), "{cause}");
        assert_eq!(of(&[9]).advised(cause), ["boot with isolcpus=domain,managed_irq,3,5 rcu_nocbs=3,5"]);
    }
}

#[test]
fn lack_of_other_cpus_is_reported() {
    let all = Place { online: 2, quiet: "0-1", ..Place::new() };
    let choose = "boot with nohz_full= for the CPUs that must be quiet: name them with -C, e.g. -C 1, for all that are \
                  online were measured";
    assert_eq!(all.advised("not-adaptive"), [choose]);
    let irqs = all.advised("device");
    assert!(
        irqs.iter().any(|fix| fix.starts_with("boot with irqaffinity= for the CPUs that need not be quiet:")),
        "{irqs:?}"
    );
    let one = Place { online: 1, quiet: "0", ..Place::new() };
    assert_eq!(one.advised("not-adaptive"), ["this takes a second CPU, and the machine has one online"]);
}

/// The machines that are known to lack the things that fixes name.
fn places() -> Vec<Place> {
    let cpus = [(8, "3,5"), (8, "0-7"), (2, "1"), (2, "0-1"), (1, "0"), (4, "1-3")];
    let kernels = ["6.1.100", "6.12.95", "7.3.4"];
    let starter = |unit: Option<&str>| Starter {
        process: crate::Task { pid: 7, comm: "timerd".into() },
        unit: unit.map(str::to_owned),
    };
    let ended = |starter| OtherTask::Ended { comm: "gzip".into(), starter };
    let tasks = [
        OtherTask::Unknown,
        OtherTask::Movable(mover()),
        OtherTask::Process(crate::Task { pid: 70, comm: "pool".into() }),
        OtherTask::Bound("ktimers/1".into()),
        OtherTask::Bound("kworker/1:2".into()),
        ended(None),
        ended(Some(starter(None))),
        ended(Some(starter(Some("timerd.service")))),
        OtherTask::Own,
    ];
    let config = dyntick_model::KernelConfig::parse("CONFIG_HZ=250\n");
    let bare = settings_of(|_| None, Some(&config));
    let mut places = Vec::new();
    for ((online, quiet), kernel) in cpus.into_iter().flat_map(|cpus| kernels.map(|kernel| (cpus, kernel))) {
        for (task, bpf_scheduler) in
            tasks.iter().flat_map(|task| [(task.clone(), false), (task.clone(), true)])
        {
            for settings in [Settings::default(), bare.clone()] {
                let named = Named { task: task.clone(), irq: Some(9), quota: Some(pod()) };
                places.push(Place { kernel, line: "quiet", online, quiet, settings, bpf_scheduler, named });
            }
        }
    }
    places
}

#[test]
fn no_fix_is_empty_or_names_missing_things() {
    for place in places() {
        let nothing_left = place.quiet.parse::<CpuList>().unwrap() == CpuList::first(place.online);
        for rule in rules::all() {
            for fix in place.advised(rule.id) {
                let about = format!(
                    "{}, {} of {} CPUs, {:?}: '{fix}'",
                    rule.id, place.quiet, place.online, place.named.task
                );
                assert!(!fix.ends_with([' ', '=', ',']) && !fix.contains(['{', '}']), "{about}");
                assert!(!fix.contains("=,"), "{about}");
                let words: Vec<&str> = fix.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
                let is_left = |word: &str| words.contains(&word);
                for word in ["HOUSEKEEPING-CPUS", "MASK", "PID", "TID", "IRQ", "GROUP", "DEVICE", "UNIT"] {
                    assert!(!is_left(word), "{about}");
                }
                if nothing_left {
                    assert!(
                        !fix.contains("taskset -") && !fix.starts_with("boot with nohz_full=N"),
                        "{about}"
                    );
                }
                let moves = fix.contains("taskset -") && fix.ends_with(" 77");
                assert!(!moves || place.named.task == OtherTask::Movable(mover()), "{about}");
                let domain = fix.contains("isolcpus=") && fix.contains("domain");
                assert!(!(place.bpf_scheduler && domain), "{about}");
            }
        }
    }
}

#[test]
fn bound_task_is_not_moved() {
    let with = |task: OtherTask| Place { named: Named { task, ..Place::new().named }, ..Place::new() };
    let first = |place: &Place, cause: &str| place.advised(cause).remove(0);
    let bound = with(OtherTask::Bound("cpuhp/3".into()));
    let sentence = "stop or move what gives cpuhp/3 its work: it is bound and cannot be moved itself";
    assert_eq!(bound.advised("kernel-thread"), [sentence]);
    let starter = |unit: Option<&str>| {
        let process = crate::Task { pid: 7, comm: "timerd".into() };
        OtherTask::Ended {
            comm: "gzip".into(),
            starter: Some(Starter { process, unit: unit.map(str::to_owned) }),
        }
    };
    assert_eq!(first(&with(starter(None)), "other-task:gzip"), "taskset -apc 0-2,4,6-7 7");
    let unit = "systemctl set-property --runtime timerd.service AllowedCPUs=0-2,4,6-7";
    assert_eq!(first(&with(starter(Some("timerd.service"))), "other-task:gzip"), unit);
    let helper = OtherTask::Ended {
        comm: "modprobe".into(),
        starter: Some(Starter { process: crate::Task { pid: 35, comm: "kworker/u8:1".into() }, unit: None }),
    };
    let of_helper = with(helper).advised("other-task:modprobe");
    assert_eq!(of_helper[0], "echo 000000d7 > /sys/devices/virtual/workqueue/cpumask");
    assert!(of_helper.iter().all(|fix| !fix.contains("35")), "{of_helper:?}");
    assert_eq!(
        with(OtherTask::Process(crate::Task { pid: 70, comm: "pool".into() })).advised("other-task:x")[0],
        "taskset -apc 0-2,4,6-7 70"
    );
    let unknown = OtherTask::Ended { comm: "gzip".into(), starter: None };
    assert!(
        first(&with(unknown), "other-task:gzip").starts_with("keep gzip off the CPU: AllowedCPUs=0-2,4,6-7")
    );
    let worker = |comm: &str| with(OtherTask::Bound(comm.into())).advised("workqueue:some_fn");
    let masks = |fixes: &[String]| fixes.iter().any(|fix| fix.contains("/workqueue/cpumask"));
    assert!(!masks(&worker("kworker/3:1")) && masks(&worker("kworker/u8:1")));
}

#[test]
fn bpf_scheduler_still_loads_after_the_advice() {
    let with = Place { bpf_scheduler: true, ..Place::new() };
    let partition = "put the CPU into an isolated cpuset partition (cpuset.cpus.partition=isolated)";
    for cause in ["dependency-sched", "other-task:x", "wakeup:x"] {
        assert!(with.advised(cause).iter().any(|fix| fix == partition), "{cause}: {:?}", with.advised(cause));
    }
    assert_eq!(with.advised("not-adaptive"), ["boot with nohz_full=3,5 isolcpus=managed_irq,3,5"]);
    let boot = |place: &Place| {
        place.ask(|host, target| {
            boot_with(
                [rules::named::OTHER_TASK, rules::named::NOT_ADAPTIVE].into_iter(),
                host,
                target,
                |_| true,
            )
        })
    };
    assert_eq!(boot(&with), ["nohz_full=3,5", "isolcpus=managed_irq,3,5"]);
    assert_eq!(boot(&Place::new())[1], "isolcpus=domain,managed_irq,3,5");
}

#[test]
fn kernel_without_adaptive_ticks_is_reported() {
    let online = |path: &str| path.ends_with("/cpu/online").then(|| "0-7\n".to_owned());
    let fixes = advised("not-adaptive", &settings_of(online, None));
    assert_eq!(
        fixes,
        ["a kernel with CONFIG_NO_HZ_FULL, booted with nohz_full=: this kernel has no CONFIG_NO_HZ_FULL"]
    );
}

#[test]
fn fix_tried_on_other_kernels_says_so() {
    let effect = |kernel: &'static str, cause: &str| {
        let rule = rules::get(&crate::CauseId::parse(cause).unwrap());
        let place = Place { kernel, ..Place::new() };
        place.ask(|host, target| fixes(rule, host, target)).remove(0).effect.into_owned()
    };
    let note = "Tried on 6.1, 6.12 or 7.2, not on this kernel.";
    assert!(
        effect("7.3.4", "not-adaptive").ends_with(note) && !effect("6.12.95", "not-adaptive").contains(note)
    );
    assert!(!effect("7.3.4", "timer:x").contains(note), "it says that it was not tried at all");
}

#[test]
fn control_group_is_quoted_for_a_shell() {
    for (path, text) in
        [("a/b.slice", Some("a/b.slice")), ("a b", Some("'a b'")), ("a'b", Some("'a'\\''b'")), ("a\nb", None)]
    {
        assert_eq!(quoted(path).as_deref(), text);
    }
}

#[test]
fn known_numbers_and_lists_are_filled_into_all_commands() {
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

/// The kernel's defaults, and what the measurement holds itself, are in force without a parameter or a file.
#[test]
fn settings_in_effect_are_no_fixes() {
    let config = |text: &str| settings_of(|_| None, Some(&dyntick_model::KernelConfig::parse(text)));
    let preempt = |settings: &Settings| advised("late-preemption-off", settings);
    let has = |fixes: &[String], text: &str| fixes.iter().any(|fix| fix.contains(text));
    let voluntary = config("CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n");
    assert!(has(&preempt(&voluntary), "preempt=full") && has(&preempt(&voluntary), "image-rt"));
    let full = config("CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n");
    assert!(!has(&preempt(&full), "preempt=full") && has(&preempt(&full), "image-rt"));
    let debugfs = |models: &'static str| {
        settings_of(|path| path.ends_with("sched/preempt").then(|| models.to_owned()), None)
    };
    assert!(!has(&preempt(&debugfs("none voluntary (full)")), "preempt=full"));
    assert!(has(&preempt(&debugfs("none (voluntary) full")), "preempt=full"));
    let version = "Linux version 6.12.1 #1 SMP PREEMPT_RT x\n";
    let rt = settings_of(|path| (path == "/proc/version").then(|| version.to_owned()), None);
    assert!(!has(&preempt(&rt), "preempt=full") && !has(&preempt(&rt), "image-rt"));

    let idle = |settings: Settings| advised("late-idle", &settings);
    assert_eq!(idle(Settings { idle_polls: true, ..Settings::default() }), [] as [String; 0]);
    let limited = "echo n/a > /sys/devices/system/cpu/cpu5/power/pm_qos_resume_latency_us";
    assert!(has(&idle(Settings::default()), limited));
    let files = |path: &str| match path {
        "/sys/devices/system/cpu/online" => Some("0-7\n".to_owned()),
        "/sys/devices/system/cpu/cpu5/power/pm_qos_resume_latency_us" => Some("n/a\n".to_owned()),
        "/sys/devices/virtual/workqueue/cpumask" => Some("07\n".to_owned()),
        _ => None,
    };
    assert!(!has(&idle(settings_of(files, None)), limited));

    let cpumask = |settings: &Settings| has(&advised("workqueue:some_fn", settings), "workqueue/cpumask");
    assert!(cpumask(&Settings::default()) && !cpumask(&settings_of(files, None)), "0-2 are within 0-2,4,6-7");
    let smi = |counts_smi| advised("late-interrupts-off", &Settings { counts_smi, ..Settings::default() });
    assert!(has(&smi(false), "--smi") && !has(&smi(true), "--smi"));
}

/// A number alone does not tell what is moved.
#[test]
fn task_of_a_command_is_named() {
    let place = Place::new();
    let effects = |cause: &str, place: &Place| {
        let rule = rules::get(&crate::CauseId::parse(cause).unwrap());
        place.ask(|host, target| fixes(rule, host, target)).remove(0).effect.into_owned()
    };
    assert!(effects("other-task:cc1", &place).starts_with("cc1 [77]: "));
    let task = OtherTask::Process(crate::Task { pid: 70, comm: "pool".into() });
    let several = Place { named: Named { task, ..place.named.clone() }, ..place };
    assert!(effects("other-task:x", &several).contains("all threads of pool [70]"));
}
