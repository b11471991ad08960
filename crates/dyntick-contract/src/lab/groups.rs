// SPDX-License-Identifier: GPL-2.0-only
//! Groups of a kernel's options by their names: those that decide about ticks, RCU, HZ, idle states and preemption.

use schemars::JsonSchema;
use serde::Serialize;

macro_rules! groups {
    ($($group:ident $name:literal $about:literal,)*) => {
        /// A group of options.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum Group {
            $(#[doc = $about] $group,)*
        }

        impl Group {
            /// All groups.
            pub const ALL: &[Self] = &[$(Self::$group,)*];

            /// The name, as in JSON and on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$group => $name,)*
                }
            }

            /// The subject of its options, and what their names begin or end with.
            pub fn about(self) -> &'static str {
                match self {
                    $(Self::$group => $about,)*
                }
            }
        }
    };
}

groups! {
    Tick "tick" "Stopping the tick, its accounting, timers and clocks: NO_HZ…, CONTEXT_TRACKING…, VIRT_CPU_ACCOUNTING…",
    Rcu "rcu" "RCU and the offloading of its callbacks: RCU_…, …_RCU",
    Hz "hz" "Ticks per second: HZ, HZ_…",
    Cpuidle "cpuidle" "Idle states, their drivers and governors: CPU_IDLE…, …_IDLE, ACPI_PROCESSOR…",
    Preempt "preempt" "Preemption models: PREEMPT…",
}

/// The names of a group's options, as of Linux 6.12 (`kernel/time/Kconfig`, `kernel/rcu/Kconfig`, `kernel/Kconfig.hz`,
/// `drivers/cpuidle/Kconfig`, `kernel/Kconfig.preempt`): names, beginnings and ends of names.
struct Names {
    whole: &'static [&'static str],
    begin: &'static [&'static str],
    end: &'static [&'static str],
}

impl Group {
    fn names(self) -> Names {
        match self {
            Group::Tick => Names {
                whole: &["CPU_ISOLATION", "HIGH_RES_TIMERS", "SCHED_HRTICK", "IRQ_TIME_ACCOUNTING"],
                begin: &[
                    "NO_HZ",
                    "TICK_",
                    "CONTEXT_TRACKING",
                    "VIRT_CPU_ACCOUNTING",
                    "GENERIC_CLOCKEVENTS",
                    "POSIX_CPU_TIMERS",
                    "CLOCKSOURCE_",
                ],
                end: &["_CONTEXT_TRACKING", "_CONTEXT_TRACKING_USER", "_VIRT_CPU_ACCOUNTING_GEN"],
            },
            Group::Rcu => Names {
                whole: &["SRCU"],
                begin: &["RCU_", "TASKS_RCU", "FORCE_TASKS_", "NEED_TASKS_RCU"],
                end: &["_RCU", "_SRCU"],
            },
            Group::Hz => Names { whole: &["HZ"], begin: &["HZ_"], end: &[] },
            Group::Cpuidle => Names {
                whole: &["HALTPOLL_CPUIDLE", "ARCH_CPUIDLE_HALTPOLL"],
                begin: &["CPU_IDLE", "ACPI_PROCESSOR", "CPUIDLE"],
                end: &["_IDLE", "_CPUIDLE"],
            },
            Group::Preempt => Names {
                whole: &["ARCH_SUPPORTS_RT"],
                begin: &["PREEMPT", "HAVE_PREEMPT", "ARCH_HAS_PREEMPT"],
                end: &[],
            },
        }
    }

    /// Returns true if an option, without `CONFIG_`, belongs to the group.
    pub fn has(self, option: &str) -> bool {
        // NO_HZ_IDLE ends as the driver INTEL_IDLE does.
        if self == Group::Cpuidle && option.starts_with("NO_HZ") {
            return false;
        }
        let names = self.names();
        names.whole.contains(&option)
            || names.begin.iter().any(|begin| option.starts_with(begin))
            || names.end.iter().any(|end| option.ends_with(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_their_groups() {
        let of = |option: &str| {
            let groups = Group::ALL.iter().filter(|group| group.has(option));
            groups.map(|group| format!("{group:?}")).collect::<Vec<_>>().join(" ")
        };
        for (option, groups) in [
            ("NO_HZ_IDLE", "Tick"),
            ("NO_HZ_FULL", "Tick"),
            ("VIRT_CPU_ACCOUNTING_GEN", "Tick"),
            ("HZ", "Hz"),
            ("HZ_1000", "Hz"),
            ("RCU_NOCB_CPU", "Rcu"),
            ("PREEMPT_RCU", "Rcu Preempt"),
            ("INTEL_IDLE", "Cpuidle"),
            ("CPU_IDLE_GOV_TEO", "Cpuidle"),
            ("PREEMPT_RT", "Preempt"),
            ("SMP", ""),
            ("HZP", ""),
        ] {
            assert_eq!(of(option), groups, "{option}");
        }
    }
}
