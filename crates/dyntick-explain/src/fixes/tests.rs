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
        let named = Named { task: OtherTask::Movable(77), irq: Some(9), group: Some("pod".to_owned()) };
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
    assert_eq!(filled(Fix::Command("echo max > /x/{group}/cpu.max")), "echo max > /x/pod/cpu.max");
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
        OtherTask::Movable(77),
        OtherTask::Process(70),
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
                let named = Named { task: task.clone(), irq: Some(9), group: Some("pod".to_owned()) };
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
        let unknown = matches!(place.named.task, OtherTask::Unknown);
        for rule in rules::all() {
            for fix in place.advised(rule.id) {
                let about = format!(
                    "{}, {} of {} CPUs, {:?}: '{fix}'",
                    rule.id, place.quiet, place.online, place.named.task
                );
                assert!(!fix.ends_with([' ', '=', ',']) && !fix.contains(['{', '}']), "{about}");
                assert!(!fix.contains("=,"), "{about}");
                assert!(!fix.contains("GROUP/cpu.max"), "{about}");
                let words: Vec<&str> = fix.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
                let is_left = |word: &str| words.contains(&word);
                assert!(!is_left("HOUSEKEEPING-CPUS") && !is_left("MASK"), "{about}");
                assert!(unknown || !is_left("PID"), "{about}");
                if nothing_left {
                    assert!(
                        !fix.contains("taskset -") && !fix.starts_with("boot with nohz_full=N"),
                        "{about}"
                    );
                }
                let moves = fix.contains("taskset -") && fix.ends_with(" 77");
                assert!(!moves || matches!(place.named.task, OtherTask::Movable(77)), "{about}");
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
    assert_eq!(with(OtherTask::Process(70)).advised("other-task:x")[0], "taskset -apc 0-2,4,6-7 70");
    let unknown = OtherTask::Ended { comm: "gzip".into(), starter: None };
    assert!(
        first(&with(unknown), "other-task:gzip")
            .starts_with("keep gzip off the CPU: systemctl set-property UNIT")
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
    let note = "Tried on 6.1 or 6.12, not on this kernel.";
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
