// SPDX-License-Identifier: GPL-2.0-only
//! The parameters that this program knows: the option, architecture and versions that each needs, the values that it
//! takes, and the names that are tried although no kernel has them.

use crate::kconfig::GOVERNORS;
use crate::{Architecture, Dialect};
use std::fmt;
use strsim::damerau_levenshtein;

/// One parameter of the command line.
#[derive(Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The option without which a kernel ignores it, without `CONFIG_`.
    pub option: Option<&'static str>,
    /// The only architecture that has it.
    pub only: Option<Architecture>,
    /// The version that it came with.
    pub since: (u32, u32),
    /// Its values.
    pub values: Values,
}

impl Parameter {
    /// Says if a kernel is too old for it. Enterprise kernels may have it from later ones.
    pub fn is_newer_than(&self, dialect: Dialect) -> bool {
        dialect.enterprise.is_none() && dialect.version < self.since
    }
}

/// The values that a parameter takes.
#[derive(Debug)]
pub enum Values {
    /// Any text; a wrong one has its own rule, or cannot be recognised.
    Any,
    /// Yes or no (`lib/kstrtox.c: kstrtobool`).
    Boolean,
    /// A number.
    Number,
    /// A text that begins with one of these.
    Beginnings(&'static [&'static str]),
    /// Idle states with figures in place of the driver's (`drivers/idle/intel_idle.c: cmdline_table_adjust`, 7.2).
    IdleStates,
    /// One of these words, on the kernels that have it.
    Words(&'static [Word]),
    /// A text that begins with a digit, or one of these words.
    NumberOr(&'static [&'static str]),
}

/// A value of a parameter, and the kernels that know it.
#[derive(Debug)]
pub struct Word {
    text: &'static str,
    since: (u32, u32),
    before: (u32, u32),
    only: Option<Architecture>,
    /// The version from which on PREEMPT_RT does not know it.
    not_on_rt: (u32, u32),
}

const NEVER: (u32, u32) = (u32::MAX, 0);

const fn word(text: &'static str) -> Word {
    Word { text, since: (0, 0), before: NEVER, only: None, not_on_rt: NEVER }
}

const fn since(text: &'static str, since: (u32, u32)) -> Word {
    Word { since, ..word(text) }
}

const fn on(only: Architecture, text: &'static str, from: (u32, u32)) -> Word {
    Word { only: Some(only), ..since(text, from) }
}

/// `none` and `voluntary` need a kernel without PREEMPT_LAZY; since 7.0 all with PREEMPT_DYNAMIC have that, PREEMPT_RT
/// since 6.13 (`kernel/sched/core.c: sched_dynamic_mode`).
const fn not_lazy(text: &'static str) -> Word {
    Word { before: (7, 0), not_on_rt: (6, 13), ..word(text) }
}

impl Word {
    fn is_known(&self, dialect: Dialect) -> bool {
        let here = self.only.is_none() || dialect.architecture.is_none() || self.only == dialect.architecture;
        let version = dialect.version;
        // Enterprise kernels have later words, as el8 has tsc=nowatchdog.
        here && (self.since <= version || dialect.enterprise.is_some())
            && version < self.before
            && !(dialect.is_rt && self.not_on_rt <= version)
    }
}

impl Values {
    /// Says if a kernel knows a value.
    pub fn knows(&self, value: &str, dialect: Dialect) -> bool {
        match self {
            Values::Any => true,
            Values::Boolean => boolean(value).is_some(),
            Values::Number => value.parse::<i64>().is_ok(),
            Values::Beginnings(all) => all.iter().any(|begin| value.starts_with(begin)),
            Values::IdleStates => value.len() < 256 && value.split(',').all(is_idle_state),
            Values::Words(words) => words.iter().any(|word| word.text == value && word.is_known(dialect)),
            Values::NumberOr(words) => {
                words.contains(&value) || value.starts_with(|first: char| first.is_ascii_digit())
            }
        }
    }

    /// The values that a kernel knows, for a message.
    pub fn listed(&self, dialect: Dialect) -> Vec<&'static str> {
        match self {
            Values::Any => Vec::new(),
            Values::Boolean => vec!["on", "off"],
            Values::Number => vec!["a number"],
            Values::Beginnings(all) => all.to_vec(),
            Values::IdleStates => vec![
                "NAME:LATENCY:RESIDENCY in µs, e.g. C6:100:400, with a residency of at least the latency",
            ],
            Values::Words(words) => {
                let known = words.iter().filter(|word| word.is_known(dialect));
                let mut known: Vec<&str> = known.map(|word| word.text).collect();
                known.dedup();
                known
            }
            Values::NumberOr(words) => [&["a number"], *words].concat(),
        }
    }

    /// The value that was meant by one that this kernel does not know: the only one of its values that differs by one
    /// letter, or another word for yes or no.
    pub fn meant(&self, value: &str, dialect: Dialect) -> Option<&'static str> {
        if let (Values::Words(_) | Values::Beginnings(_) | Values::NumberOr(_), 3..) = (self, value.len()) {
            let known = self.listed(dialect).into_iter();
            let mut alike = known.filter(|known| damerau_levenshtein(known, value) == 1);
            if let (Some(only), None) = (alike.next(), alike.next()) {
                return Some(only);
            }
        }
        self.meant_by_yes_or_no(value)
    }

    fn meant_by_yes_or_no(&self, value: &str) -> Option<&'static str> {
        let (on, off) = match self {
            Values::Number => (Some("1"), Some("0")),
            Values::Beginnings(all) if all.contains(&"0") => (Some("1"), Some("0")),
            Values::NumberOr(words) if words.contains(&"off") => (None, Some("off")),
            Values::Words(words) if words.iter().any(|word| word.text == "never") => (None, Some("never")),
            Values::Words(words) if words.iter().any(|word| word.text == "enable") => {
                (Some("enable"), Some("disable"))
            }
            _ => (None, None),
        };
        match value.to_ascii_lowercase().as_str() {
            "off" | "no" | "n" | "false" | "never" | "disable" | "disabled" | "0" => off,
            "on" | "yes" | "y" | "true" | "enable" | "enabled" | "1" => on,
            _ => None,
        }
    }
}

/// Returns true if intel_idle takes `NAME:LATENCY:RESIDENCY`; an empty figure leaves its own, up to three more are
/// ignored (`validate_cmdline_cstate`). It refuses all states for one that is wrong.
fn is_idle_state(text: &str) -> bool {
    let fields: Vec<&str> = text.split(':').collect();
    let (3..=6, [_, latency, residency]) = (fields.len(), &fields[..fields.len().min(3)]) else {
        return false;
    };
    let figure = |text: &str, range: std::ops::RangeInclusive<u32>| match text {
        "" => Some(None),
        text => text.parse().ok().filter(|us| range.contains(us)).map(Some),
    };
    match (figure(latency, 1..=5_000), figure(residency, 1..=100_000)) {
        (Some(Some(latency)), Some(Some(residency))) => residency >= latency,
        (latency, residency) => latency.is_some() && residency.is_some(),
    }
}

/// `lib/kstrtox.c: kstrtobool`.
pub fn boolean(value: &str) -> Option<bool> {
    let lower = value.to_ascii_lowercase();
    match lower.chars().next()? {
        'y' | 't' | '1' => Some(true),
        'n' | 'f' | '0' => Some(false),
        _ if lower.starts_with("on") => Some(true),
        _ if lower.starts_with("of") => Some(false),
        _ => None,
    }
}

use Architecture::{Arm64, X86};

const fn any(name: &'static str) -> Parameter {
    Parameter { name, option: None, only: None, since: (0, 0), values: Values::Any }
}

const fn needs(name: &'static str, option: &'static str) -> Parameter {
    Parameter { option: Some(option), ..any(name) }
}

const fn x86(name: &'static str) -> Parameter {
    Parameter { only: Some(X86), ..any(name) }
}

const fn from(since: (u32, u32), parameter: Parameter) -> Parameter {
    Parameter { since, ..parameter }
}

const fn takes(parameter: Parameter, values: Values) -> Parameter {
    Parameter { values, ..parameter }
}

/// The parameters, from `Documentation/admin-guide/kernel-parameters.txt` and the functions that parse them, in 5.10,
/// 6.1, 6.12, 7.2 and 7.3.
pub const PARAMETERS: &[Parameter] = &[
    // kernel/sched/isolation.c, kernel/time/tick-sched.c.
    needs("nohz_full", "NO_HZ_FULL"),
    needs("isolcpus", "CPU_ISOLATION"),
    takes(needs("nohz", "NO_HZ_COMMON"), Values::Boolean),
    takes(any("skew_tick"), Values::Number),
    takes(any("highres"), Values::Boolean),
    // kernel/rcu/tree_nocb.h, tree.c, update.c.
    needs("rcu_nocbs", "RCU_NOCB_CPU"),
    needs("rcu_nocb_poll", "RCU_NOCB_CPU"),
    needs("rcutree.enable_rcu_lazy", "RCU_LAZY"),
    from((6, 12), any("rcutree.nohz_full_patience_delay")),
    any("rcutree.kthread_prio"),
    any("rcutree.use_softirq"),
    any("rcupdate.rcu_normal_after_boot"),
    any("rcupdate.rcu_expedited"),
    any("rcupdate.rcu_normal"),
    // kernel/sched/core.c: sched_dynamic_mode.
    takes(
        needs("preempt", "PREEMPT_DYNAMIC"),
        Values::Words(&[
            not_lazy("none"),
            not_lazy("voluntary"),
            word("full"),
            on(X86, "lazy", (6, 13)),
            on(Arm64, "lazy", (6, 17)),
        ]),
    ),
    // kernel/irq/.
    from((4, 9), any("irqaffinity")),
    needs("threadirqs", "IRQ_FORCED_THREADING"),
    any("irqpoll"),
    any("irqfixup"),
    needs("psi", "PSI"),
    // kernel/watchdog.c: hardlockup_panic_setup.
    takes(any("nmi_watchdog"), Values::Beginnings(&["0", "1", "panic", "nopanic", "r"])),
    any("nosoftlockup"),
    any("nowatchdog"),
    any("watchdog_thresh"),
    any("softlockup_panic"),
    // mm/huge_memory.c: setup_transparent_hugepage; mm/Kconfig: not with PREEMPT_RT.
    takes(
        needs("transparent_hugepage", "TRANSPARENT_HUGEPAGE"),
        Values::Words(&[word("always"), word("madvise"), word("never")]),
    ),
    // mm/mempolicy.c: setup_numabalancing.
    takes(any("numa_balancing"), Values::Words(&[word("enable"), word("disable")])),
    // kernel/cpu.c: mitigations_parse_cmdline.
    takes(any("mitigations"), Values::Beginnings(&["off", "auto"])),
    any("nosmt"),
    any("maxcpus"),
    any("nr_cpus"),
    any("possible_cpus"),
    any("workqueue.power_efficient"),
    from((6, 6), any("workqueue.unbound_cpus")),
    any("cpufreq.default_governor"),
    any("cpuidle.off"),
    takes(
        any("cpuidle.governor"),
        Values::Words(&[word("menu"), word("teo"), word("ladder"), word("haltpoll")]),
    ),
    any("clocksource"),
    // arch/x86/kernel/process.c: idle_setup; arch/arm64/kernel/idle.c from 7.3 on.
    takes(
        any("idle"),
        Values::Words(&[
            on(X86, "poll", (0, 0)),
            on(X86, "halt", (0, 0)),
            on(X86, "nomwait", (0, 0)),
            on(Arm64, "wfi", (7, 3)),
            on(Arm64, "yield", (7, 3)),
            on(Arm64, "nop", (7, 3)),
        ]),
    ),
    // arch/x86/kernel/tsc.c: tsc_setup.
    takes(
        x86("tsc"),
        Values::Words(&[
            word("reliable"),
            word("noirqtime"),
            word("unstable"),
            since("nowatchdog", (5, 2)),
            since("recalibrate", (6, 4)),
            since("watchdog", (6, 4)),
        ]),
    ),
    // arch/x86/kernel/cpu/mce/core.c: mcheck_enable.
    takes(
        x86("mce"),
        Values::NumberOr(&[
            "off",
            "no_cmci",
            "no_lmce",
            "dont_log_ce",
            "print_all",
            "ignore_ce",
            "bootlog",
            "nobootlog",
            "bios_cmci_threshold",
            "recovery",
        ]),
    ),
    x86("nomce"),
    x86("hpet"),
    x86("nohpet"),
    x86("noapic"),
    x86("nolapic"),
    x86("no_timer_check"),
    x86("acpi_irq_nobalance"),
    x86("intel_iommu"),
    x86("amd_iommu"),
    x86("processor.max_cstate"),
    x86("intel_idle.max_cstate"),
    from((7, 0), takes(x86("intel_idle.table"), Values::IdleStates)),
    // drivers/cpufreq/intel_pstate.c: intel_pstate_setup.
    takes(
        x86("intel_pstate"),
        Values::Words(&[
            word("disable"),
            word("active"),
            word("passive"),
            word("force"),
            word("no_hwp"),
            word("hwp_only"),
            word("support_acpi_ppc"),
            word("per_cpu_perf_limits"),
            since("no_cas", (6, 17)),
        ]),
    ),
    // drivers/cpufreq/amd-pstate.c: amd_pstate_param.
    takes(
        x86("amd_pstate"),
        Values::Words(&[word("disable"), word("passive"), since("active", (6, 3)), since("guided", (6, 4))]),
    ),
];

/// The row of a parameter; hyphens count as underscores.
pub fn known(name: &str) -> Option<&'static Parameter> {
    let name = name.replace('-', "_");
    PARAMETERS.iter().find(|parameter| parameter.name == name)
}

/// The parameters that a kernel without some option ignores silently, with the option.
pub fn with_option() -> impl Iterator<Item = (&'static str, &'static str)> {
    PARAMETERS.iter().filter_map(|parameter| Some((parameter.name, parameter.option?)))
}

/// The option without which a kernel ignores a parameter of its command line, `NAME` or `NAME=VALUE`; none where it
/// needs no option.
pub fn option_of(parameter: &str) -> Option<&'static str> {
    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
    match name {
        "cpuidle.governor" => {
            GOVERNORS.iter().find(|(governor, _)| *governor == value).map(|(_, option)| *option)
        }
        _ => known(name)?.option,
    }
}

/// The thing that was meant by a name that no kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    /// This parameter, with the same value.
    Parameter(&'static str),
    /// This sysctl.
    Sysctl(&'static str),
    /// Anything else, in words.
    Words(&'static str),
}

impl fmt::Display for Meant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(name) => write!(f, "'{name}' was probably meant"),
            Self::Sysctl(name) => write!(f, "the sysctl {name} was probably meant"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

/// Names that are tried in practice and that no kernel has (`kernel-parameters.txt` and the handlers of 6.1, 6.12 and
/// 7.3).
const TRIED: &[(&str, Meant)] = &[
    ("isolated_cpus", Meant::Parameter("isolcpus")),
    ("isolate_cpus", Meant::Parameter("isolcpus")),
    ("isol_cpus", Meant::Parameter("isolcpus")),
    ("isolated_cores", Meant::Parameter("isolcpus")),
    ("cpuisol", Meant::Parameter("isolcpus")),
    ("cpu_isolation", Meant::Parameter("isolcpus")),
    ("full_nohz", Meant::Parameter("nohz_full")),
    ("no_hz_full", Meant::Parameter("nohz_full")),
    ("nohz_cpus", Meant::Parameter("nohz_full")),
    ("nohz_full_cpus", Meant::Parameter("nohz_full")),
    ("rcu_nocb_cpus", Meant::Parameter("rcu_nocbs")),
    ("rcutree.rcu_nocbs", Meant::Parameter("rcu_nocbs")),
    ("rcupdate.rcu_nocbs", Meant::Parameter("rcu_nocbs")),
    ("rcutree.rcu_nocb_poll", Meant::Parameter("rcu_nocb_poll")),
    ("rcu_nocbs_poll", Meant::Parameter("rcu_nocb_poll")),
    ("rcu_expedited", Meant::Parameter("rcupdate.rcu_expedited")),
    ("rcu_normal_after_boot", Meant::Parameter("rcupdate.rcu_normal_after_boot")),
    ("irqthreads", Meant::Parameter("threadirqs")),
    ("threadirq", Meant::Parameter("threadirqs")),
    ("threaded_irqs", Meant::Parameter("threadirqs")),
    ("irq_affinity", Meant::Parameter("irqaffinity")),
    ("mitigation", Meant::Parameter("mitigations")),
    ("numa_balance", Meant::Parameter("numa_balancing")),
    ("nmiwatchdog", Meant::Parameter("nmi_watchdog")),
    ("noht", Meant::Parameter("nosmt")),
    ("nohyperthreading", Meant::Parameter("nosmt")),
    ("intel_cstate", Meant::Parameter("intel_idle.max_cstate")),
    ("intel.max_cstate", Meant::Parameter("intel_idle.max_cstate")),
    ("processor_idle.max_cstate", Meant::Parameter("processor.max_cstate")),
    ("intel_idle_max_cstate", Meant::Parameter("intel_idle.max_cstate")),
    ("processor_max_cstate", Meant::Parameter("processor.max_cstate")),
    (
        "workqueue.cpumask",
        Meant::Words(
            "workqueue.unbound_cpus=LIST from 6.6 on, or a write to /sys/devices/virtual/workqueue/cpumask",
        ),
    ),
    ("noirqbalance", Meant::Words("irqbalance is a service: systemctl disable irqbalance")),
    ("hrtimers", Meant::Words("high-resolution timers are on by default; highres=off turns them off")),
    ("hrtimer", Meant::Words("high-resolution timers are on by default; highres=off turns them off")),
    ("nohalt", Meant::Words("only ia64 had it; idle=poll on x86, nohlt on arm64")),
    ("tickless", Meant::Words("idle CPUs stop their tick by default (nohz=on)")),
];

/// Sysctls that are put on the command line as if they were parameters; only the last part of their name, as it is
/// tried.
const SYSCTLS: &[(&str, &str)] = &[
    ("timer_migration", "kernel.timer_migration"),
    ("sched_rt_runtime", "kernel.sched_rt_runtime_us"),
    ("sched_rt_runtime_us", "kernel.sched_rt_runtime_us"),
    ("sched_rt_period_us", "kernel.sched_rt_period_us"),
    ("watchdog_cpumask", "kernel.watchdog_cpumask"),
    ("soft_watchdog", "kernel.soft_watchdog"),
    ("hung_task_timeout_secs", "kernel.hung_task_timeout_secs"),
    ("sched_autogroup_enabled", "kernel.sched_autogroup_enabled"),
    ("perf_event_paranoid", "kernel.perf_event_paranoid"),
    ("stat_interval", "vm.stat_interval"),
    ("swappiness", "vm.swappiness"),
    ("compaction_proactiveness", "vm.compaction_proactiveness"),
    ("nr_hugepages", "vm.nr_hugepages"),
    ("dirty_ratio", "vm.dirty_ratio"),
];

/// Modules that are always built in, with all parameters that any of 5.10 to 7.3 has: the kernel does not list a wrong
/// name of theirs as unknown.
const BUILT_IN: &[(&str, &[&str])] = &[
    (
        "workqueue",
        &[
            "cache_shard_size",
            "cpu_intensive_thresh_us",
            "cpu_intensive_warning_thresh",
            "debug_force_rr_cpu",
            "default_affinity_scope",
            "disable_numa",
            "panic_on_stall",
            "panic_on_stall_time",
            "power_efficient",
            "unbound_cpus",
            "watchdog_thresh",
        ],
    ),
    ("cpuidle", &["off", "governor"]),
];

/// Real parameters that are near to a known one (all that `kernel-parameters.txt` of 6.1 and 6.12 has).
const NEIGHBOURS: &[&str] = &["watchdog", "highmem", "acpi_irq_balance"];

/// The thing that was probably meant by a name that no kernel has; none for a name that may be right.
pub fn meant(name: &str) -> Option<Meant> {
    let name = name.replace('-', "_");
    let of =
        |table: &[(&str, Meant)]| table.iter().find(|(tried, _)| *tried == name).map(|(_, meant)| *meant);
    let last = ["kernel.", "vm."].iter().find_map(|begin| name.strip_prefix(begin)).unwrap_or(&name);
    let sysctl = SYSCTLS.iter().find(|(tried, full)| *tried == last || *full == name);
    of(TRIED)
        .or_else(|| sysctl.map(|(_, full)| Meant::Sysctl(full)))
        .or_else(|| misspelt(&name).map(Meant::Parameter))
        .or_else(|| of_module(&name))
}

/// A parameter that is spelt nearly so. Names of fewer than five letters are too near to too many words.
fn misspelt(name: &str) -> Option<&'static str> {
    if known(name).is_some() || NEIGHBOURS.contains(&name) {
        return None;
    }
    let long = PARAMETERS.iter().map(|parameter| parameter.name).filter(|known| known.len() >= 7);
    let meant = long.min_by_key(|known| damerau_levenshtein(known, name))?;
    let allowed = if meant.len() < 8 { 1 } else { 2 };
    (damerau_levenshtein(meant, name) <= allowed).then_some(meant)
}

/// A parameter that a built-in module does not have.
fn of_module(name: &str) -> Option<Meant> {
    let (module, parameter) = name.split_once('.')?;
    let (_, all) = BUILT_IN.iter().find(|(known, _)| *known == module)?;
    (!all.contains(&parameter)).then_some(Meant::Words("/sys/module has the parameters of this module"))
}

/// Says if the kernel's list of unknown parameters can hold a name: those of modules (with a dot) are never in it
/// (`init/main.c: unknown_bootoption`).
pub fn is_listed_if_unknown(name: &str) -> bool {
    !name.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_like_a_parameter_was_meant() {
        assert_eq!(meant("nohz_ful"), Some(Meant::Parameter("nohz_full")));
        assert_eq!(meant("isolcpu"), Some(Meant::Parameter("isolcpus")));
        assert_eq!(meant("mitgations"), Some(Meant::Parameter("mitigations")));
        for right in [
            "nohz_full",
            "nohz-full",
            "watchdog",
            "quiet",
            "nohz",
            "highmem",
            "idle",
            "workqueue.power_efficient",
        ] {
            assert_eq!(meant(right), None, "{right}");
        }
    }

    #[test]
    fn names_that_are_tried_mean_something_else() {
        assert_eq!(meant("isolated_cpus"), Some(Meant::Parameter("isolcpus")));
        assert_eq!(meant("timer_migration"), Some(Meant::Sysctl("kernel.timer_migration")));
        assert_eq!(meant("kernel.sched_rt_runtime_us"), Some(Meant::Sysctl("kernel.sched_rt_runtime_us")));
        assert_eq!(meant("sysctl.kernel.timer_migration"), None);
        assert!(matches!(meant("workqueue.cpumask"), Some(Meant::Words(_))));
        assert!(matches!(meant("workqueue.no_such"), Some(Meant::Words(_))));
    }

    #[test]
    fn parameters_need_options() {
        assert_eq!(option_of("nohz_full=1-3"), Some("NO_HZ_FULL"));
        assert_eq!(option_of("cpuidle.governor=teo"), Some("CPU_IDLE_GOV_TEO"));
        assert_eq!((option_of("cpuidle.governor=no"), option_of("quiet")), (None, None));
    }

    #[test]
    fn values_by_version_and_architecture() {
        let knows =
            |name: &str, value: &str, dialect: Dialect| known(name).unwrap().values.knows(value, dialect);
        let of = Dialect::upstream;
        assert!(knows("preempt", "none", of(6, 12)) && !knows("preempt", "none", of(7, 2)));
        assert!(!knows("preempt", "lazy", of(6, 12)) && knows("preempt", "lazy", of(6, 13)));
        let rt = Dialect { is_rt: true, ..of(6, 13) };
        assert!(!knows("preempt", "voluntary", rt) && knows("preempt", "voluntary", of(6, 13)));
        let arm = Dialect { architecture: Some(Arm64), ..of(7, 3) };
        assert!(knows("idle", "yield", arm) && !knows("idle", "poll", arm));
        assert_eq!(known("preempt").unwrap().values.listed(of(7, 2)), ["full", "lazy"]);
        let meant = |name: &str, value: &str| known(name).unwrap().values.meant(value, of(6, 12));
        assert_eq!((meant("idle", "pol"), meant("tsc", "reliabel")), (Some("poll"), Some("reliable")));
        assert_eq!((meant("idle", "mwait"), meant("amd_pstate", "none")), (None, None));
        assert_eq!(known("skew_tick").unwrap().values.meant("on", of(6, 12)), Some("1"));
        assert_eq!(known("transparent_hugepage").unwrap().values.meant("off", of(6, 12)), Some("never"));
    }
}
