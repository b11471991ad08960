// SPDX-License-Identifier: GPL-2.0-only
//! The settings of a machine and the configuration of its kernel that matter to fixes.

use crate::rules::{self, RuleFix};
use dyntick_model::parameters::option_of;
use dyntick_model::{CpuList, Fix, GOVERNORS, Hole, KernelConfig, Settings};
use std::collections::BTreeSet;

/// The file that lists the cpuidle governors that a kernel is built with.
const AVAILABLE_GOVERNORS: &str = "/sys/devices/system/cpu/cpuidle/available_governors";

/// The files that list the online CPUs, and those of `nohz_full=`.
const ONLINE: &str = "/sys/devices/system/cpu/online";
const NOHZ_FULL: &str = "/sys/devices/system/cpu/nohz_full";

/// The file that lists the flags of the CPUs.
const CPUINFO: &str = "/proc/cpuinfo";

/// The file with the times of the CPUs since boot.
const STAT: &str = "/proc/stat";

/// The first words of advice for virtual machines whose hypervisor counts steal.
const IN_A_GUEST: &str = "this is a virtual machine";

/// The file that names the driver of idle states; its text is `none` if there is none.
const IDLE_DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// The file that lists the tracers that a kernel is built with.
const TRACERS: &str = "/sys/kernel/tracing/available_tracers";

/// The option of the tracer that finds where interrupts are disabled, and its command in advice.
const IRQSOFF_TRACER: &str = "IRQSOFF_TRACER";
const IRQSOFF_COMMAND: &str = "trace-cmd record -p irqsoff";

/// The vendor whose CPUs count system management interrupts, as in `/proc/cpuinfo`.
const INTEL: &str = "GenuineIntel";

/// The flag that has them counted.
const SMI_FLAG: &str = "--smi";

/// The first words of advice that limits idle states, and the file that limits those of one CPU.
const OF_IDLE_STATES: &str = "hold /dev/cpu_dma_latency";
const IDLE_LIMIT: &str = "/power/pm_qos_resume_latency_us";

/// The preemption models, with the present one in parentheses (`kernel/sched/debug.c: sched_dynamic_show`).
const PREEMPTION: &str = "/sys/kernel/debug/sched/preempt";

/// The description of the build, which names PREEMPT_RT (`init/Makefile: build-version`).
const VERSION: &str = "/proc/version";

/// The parameter that chooses the model in which a kernel is preempted almost everywhere.
const PREEMPT_FULL: &str = "preempt=full";

/// The first words of the command that installs a PREEMPT_RT kernel.
const INSTALL_RT: &str = "apt install linux-image-rt";

/// Reads the settings of a machine with `read`, which returns the contents of a file. The configuration of its kernel
/// is passed if it is known.
pub fn settings_of(read: impl Fn(&str) -> Option<String>, config: Option<&KernelConfig>) -> Settings {
    let without = match config {
        Some(config) => missing_options(config),
        None => {
            let governors = read(AVAILABLE_GOVERNORS);
            // A kernel with the option has the file, whatever it was booted with (drivers/base/cpu.c).
            let lacks_nohz_full = read(ONLINE).is_some() && read(NOHZ_FULL).is_none();
            let lacks_irqsoff = read(TRACERS).is_some_and(|tracers| !tracers.contains("irqsoff"));
            let lacks = |option: &&str| match *option {
                "NO_HZ_FULL" => lacks_nohz_full,
                IRQSOFF_TRACER => lacks_irqsoff,
                option => lacks_governor(governors.as_deref(), option),
            };
            options().filter(lacks).map(str::to_owned).collect()
        }
    };
    let realtime = config.is_some_and(|config| config.is_enabled("PREEMPT_RT"))
        || read(VERSION).is_some_and(|version| version.contains("PREEMPT_RT"));
    let in_force = (realtime || is_preempted_fully(&read, config)).then(|| PREEMPT_FULL.to_owned());
    Settings { in_force: in_force.into_iter().collect(), realtime, ..settings_with(read, without) }
}

/// Returns true if the kernel is known to be preempted almost everywhere: as debugfs shows, else by its configuration,
/// which a parameter may have changed.
fn is_preempted_fully(read: impl Fn(&str) -> Option<String>, config: Option<&KernelConfig>) -> bool {
    match read(PREEMPTION) {
        Some(models) => models.contains("(full)"),
        None => {
            let is_chosen = read("/proc/cmdline").is_some_and(|line| line.contains("preempt="));
            !is_chosen && config.is_some_and(|config| config.is_enabled("PREEMPT"))
        }
    }
}

/// Returns the options that fixes need and that a kernel of this configuration does not have.
pub fn missing_options(config: &KernelConfig) -> BTreeSet<String> {
    options().filter(|option| !config.is_enabled(option)).map(str::to_owned).collect()
}

/// Reads the settings of a machine whose kernel is built without these options.
pub fn settings_with(read: impl Fn(&str) -> Option<String>, without: BTreeSet<String>) -> Settings {
    let online = read(ONLINE).and_then(|list| list.trim().parse::<CpuList>().ok()).unwrap_or_default();
    let paths = fixes().filter_map(|fix| setting(text(&fix.action))).map(|setting| setting.path);
    let paths = paths.flat_map(|path| of_each_cpu(&path, &online));
    let known = |path: String| read(&path).map(|value| (path, value.trim().to_owned()));
    let cpus = read(CPUINFO).unwrap_or_default();
    let is_guest = has_hypervisor_flag(&cpus);
    Settings {
        files: paths.filter_map(known).collect(),
        without,
        virtual_machine: is_guest && read(STAT).is_some_and(|stat| has_steal(&stat)),
        no_idle_states: read(IDLE_DRIVER).is_some_and(|driver| driver.trim() == "none"),
        no_smi_counter: is_guest || !cpus.is_empty() && !cpus.contains(INTEL),
        ..Settings::default()
    }
}

/// The path of a setting, or that of each CPU if each has its own.
fn of_each_cpu(path: &str, online: &CpuList) -> Vec<String> {
    if !path.contains(Hole::Cpu.mark()) {
        return vec![path.to_owned()];
    }
    online.iter().map(|cpu| path.replace(Hole::Cpu.mark(), &cpu.to_string())).collect()
}

/// Returns true if advice is for machines and kernels of this kind.
pub(super) fn concerns(settings: &Settings, advice: &str) -> bool {
    let of_a_guest = settings.virtual_machine || !advice.starts_with(IN_A_GUEST);
    let is_useless = (settings.no_idle_states || settings.idle_polls) && advice.starts_with(OF_IDLE_STATES)
        || (settings.no_smi_counter || settings.counts_smi) && advice.contains(SMI_FLAG)
        || settings.without.contains(IRQSOFF_TRACER) && advice.contains(IRQSOFF_COMMAND);
    of_a_guest && !is_useless
}

/// Returns true if a command limits idle states that this machine does not have.
pub(super) fn has_no_place_for(settings: &Settings, command: &str) -> bool {
    settings.no_idle_states && command.ends_with(IDLE_LIMIT)
}

/// Returns true if the machine already has the setting that a command would make.
pub(super) fn has(settings: &Settings, command: &str) -> bool {
    if settings.realtime && command.starts_with(INSTALL_RT)
        || settings.idle_polls && command.ends_with(IDLE_LIMIT)
    {
        return true;
    }
    let Some(Setting { path, value }) = setting(command) else { return false };
    let Some(now) = settings.files.get(&path) else { return false };
    // The value in force is in brackets, as in `always madvise [never]`. In a list of features those that are off
    // begin with NO_.
    *now == value
        || now.split_whitespace().any(|word| word == format!("[{value}]") || is_feature(word, value))
        || is_within(&path, now, value)
}

/// Returns true if a file of CPUs has none but those of `value`.
fn is_within(path: &str, now: &str, value: &str) -> bool {
    let cpus = |text: &str| {
        let is_mask = path.ends_with("/workqueue/cpumask") || path.ends_with("/writeback/cpumask");
        let cpus = if is_mask { CpuList::from_mask(text).ok() } else { text.parse().ok() };
        cpus.filter(|_| path.ends_with("cpumask"))
    };
    cpus(now).zip(cpus(value)).is_some_and(|(now, wanted)| !now.is_empty() && now.is_subset(&wanted))
}

/// Returns true if `/proc/stat` has any steal time: an emulator without a hypervisor counts none.
fn has_steal(stat: &str) -> bool {
    let all = stat.lines().next().unwrap_or_default();
    all.split_ascii_whitespace().nth(8).is_some_and(|steal| steal != "0")
}

fn has_hypervisor_flag(cpuinfo: &str) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// All fixes of all rules.
fn fixes() -> impl Iterator<Item = &'static RuleFix> {
    rules::all().iter().flat_map(|rule| rule.fixes)
}

/// The options that they need.
fn options() -> impl Iterator<Item = &'static str> {
    let parameters = fixes().filter_map(|fix| match fix.action {
        Fix::Boot(parameters) => Some(parameters),
        _ => None,
    });
    parameters.flat_map(|parameters| parameters.split(' ')).filter_map(option_of).chain([IRQSOFF_TRACER])
}

/// Returns true for the words of `sched/features`, which are all capitals.
fn is_feature(word: &str, value: &str) -> bool {
    word == value && value.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

fn lacks_governor(available: Option<&str>, option: &str) -> bool {
    let governor = GOVERNORS.iter().find(|(_, needs)| *needs == option);
    let available = available.map(|list| list.split_whitespace().collect::<Vec<_>>());
    governor.zip(available).is_some_and(|((name, _), available)| !available.contains(name))
}

fn text<'t>(fix: &Fix<&'t str>) -> &'t str {
    match fix {
        Fix::Boot(text) | Fix::Unboot(text) | Fix::Command(text) | Fix::Advice(text) => text,
    }
}

/// A file and the value that a command writes into it. Both may have holes.
#[derive(Debug, PartialEq, Eq)]
struct Setting<'t> {
    path: String,
    value: &'t str,
}

/// The setting that a command makes: `sysctl -w NAME=VALUE` or `echo VALUE > PATH`. `None` for any other command, and
/// for one with words that have to be replaced first.
fn setting(command: &str) -> Option<Setting<'_>> {
    let (path, value) = match (command.strip_prefix("sysctl -w "), command.strip_prefix("echo ")) {
        (Some(setting), _) => {
            let (name, value) = setting.split_once('=')?;
            (format!("/proc/sys/{}", name.replace('.', "/")), value)
        }
        (None, Some(echo)) => {
            let (value, path) = echo.split_once(" > ")?;
            (path.to_owned(), value)
        }
        (None, None) => return None,
    };
    let holes = [Hole::Cpu, Hole::Mask, Hole::Housekeeping];
    let is_plain = |text: &str| {
        let text = holes.iter().fold(text.to_owned(), |text, hole| text.replace(hole.mark(), ""));
        text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-,".contains(c))
    };
    (is_plain(&path) && is_plain(value)).then_some(Setting { path, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_compared_with_its_value() {
        let written = |command| setting(command).map(|Setting { path, value }| (path, value));
        let stat = ("/proc/sys/vm/stat_interval".to_owned(), "60");
        assert_eq!(written("sysctl -w vm.stat_interval=60"), Some(stat));
        assert_eq!(written("echo 0 > /sys/kernel/mm/ksm/run"), Some(("/sys/kernel/mm/ksm/run".into(), "0")));
        assert_eq!(written("echo {mask} > /x"), Some(("/x".into(), "{mask}")));
        for command in ["umount /x", "echo {quota}", "echo 0 > /x/cpu{cpu}/y; echo 1 > /z", "sysctl -w a=b c"]
        {
            assert_eq!(setting(command), None, "{command}");
        }
    }

    #[test]
    fn present_value_is_recognised_in_each_form() {
        let read = |path: &str| match path {
            "/proc/sys/vm/stat_interval" => Some("60\n".to_owned()),
            "/sys/kernel/mm/transparent_hugepage/enabled" => Some("always madvise [never]\n".to_owned()),
            "/sys/kernel/debug/sched/features" => Some("GENTLE NO_HRTICK NO_DOUBLE_TICK\n".to_owned()),
            "/proc/sys/kernel/nmi_watchdog" => Some("1\n".to_owned()),
            _ => None,
        };
        let settings = settings_of(read, None);
        assert!(
            has(&settings, "sysctl -w vm.stat_interval=60")
                && !has(&settings, "sysctl -w vm.stat_interval=6")
        );
        assert!(has(&settings, "echo never > /sys/kernel/mm/transparent_hugepage/enabled"));
        assert!(has(&settings, "echo NO_HRTICK > /sys/kernel/debug/sched/features"));
        assert!(
            !has(&settings, "sysctl -w kernel.nmi_watchdog=0")
                && !has(&settings, "echo 0 > /sys/kernel/mm/ksm/run")
        );
    }

    #[test]
    fn advice_for_virtual_machines_is_given_only_there() {
        let of = |flags: &'static str, steal: u32| {
            let read = |path: &str| match path {
                CPUINFO => Some(format!("processor: 0\nflags\t\t: fpu {flags}\n")),
                STAT => Some(format!("cpu  9 0 9 900 0 0 1 {steal} 0 0\ncpu0 9 0 9 900 0 0 1 {steal} 0 0\n")),
                _ => None,
            };
            settings_of(read, None)
        };
        assert!(concerns(&of("hypervisor lahf_lm", 7), "this is a virtual machine: see steal"));
        assert!(!concerns(&of("hypervisor lahf_lm", 0), "this is a virtual machine: see steal"));
        assert!(!concerns(&of("lahf_lm", 0), "this is a virtual machine: see steal"));
        assert!(concerns(&of("lahf_lm", 0), "use a longer --interval"));
    }

    #[test]
    fn tools_are_advised_only_where_they_work() {
        let advice = |words: &str| {
            let of_rules = fixes().map(|fix| text(&fix.action));
            of_rules.filter(|text| text.contains(words)).collect::<Vec<&str>>()
        };
        let (smi, irqsoff) = (advice(SMI_FLAG), advice(IRQSOFF_COMMAND));
        assert!(!smi.is_empty() && !irqsoff.is_empty());
        let cpu = |vendor: &'static str| {
            settings_of(|path| (path == CPUINFO).then(|| format!("vendor_id\t: {vendor}\n")), None)
        };
        assert!(smi.iter().all(|words| concerns(&cpu("GenuineIntel"), words)));
        assert!(!smi.iter().any(|words| concerns(&cpu("AuthenticAMD"), words)));
        let tracers =
            |list: &'static str| settings_of(|path| (path == TRACERS).then(|| list.to_owned()), None);
        assert!(irqsoff.iter().all(|words| concerns(&tracers("irqsoff function nop"), words)));
        assert!(!irqsoff.iter().any(|words| concerns(&tracers("function nop"), words)));
        let config = KernelConfig::parse("CONFIG_IRQSOFF_TRACER=y\n");
        assert!(irqsoff.iter().all(|words| concerns(&settings_of(|_| None, Some(&config)), words)));
        assert!(
            irqsoff.iter().all(|words| concerns(&settings_of(|_| None, None), words)),
            "nothing is known"
        );
    }

    #[test]
    fn idle_states_are_not_limited_without_a_driver() {
        let of = |driver: &'static str| {
            settings_of(|path| (path == IDLE_DRIVER).then(|| format!("{driver}\n")), None)
        };
        let advice = rules::all().iter().flat_map(|rule| rule.fixes).filter_map(|fix| match fix.action {
            Fix::Advice(words) if words.contains("cpu_dma_latency") => Some(words),
            _ => None,
        });
        let advice: Vec<&str> = advice.collect();
        assert!(!advice.is_empty() && advice.iter().all(|words| concerns(&of("intel_idle"), words)));
        assert!(!advice.iter().any(|words| concerns(&of("none"), words)));
        let command = "echo n/a > /sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us";
        assert!(has_no_place_for(&of("none"), command) && !has_no_place_for(&of("intel_idle"), command));
        assert!(!has_no_place_for(&settings_of(|_| None, None), command), "nothing is known");
    }

    #[test]
    fn missing_governor_is_known_from_either_source() {
        let governors =
            |list: &'static str| move |path: &str| (path == AVAILABLE_GOVERNORS).then(|| list.to_owned());
        assert!(settings_of(governors("ladder menu\n"), None).lacks("cpuidle.governor=teo"));
        assert!(!settings_of(governors("menu teo\n"), None).lacks("cpuidle.governor=teo"));
        assert!(!settings_of(|_| None, None).lacks("cpuidle.governor=teo"), "nothing is known");
        let config = KernelConfig::parse("CONFIG_NO_HZ_FULL=y\n");
        let built = settings_of(|_| None, Some(&config));
        assert!(
            built.lacks("cpuidle.governor=teo") && built.lacks("rcu_nocbs=3") && !built.lacks("nohz_full=3")
        );
    }
}
