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
    Tick "tick" "Stopping the tick, its accounting, timers and clocks: NO_HZ…, CONTEXT_TRACKING…, HRTIMER_…, …CLOCKSOURCE…",
    Rcu "rcu" "RCU and the offloading of its callbacks: RCU_…, …_RCU",
    Hz "hz" "Ticks per second: HZ, HZ_…",
    Cpuidle "cpuidle" "Idle states, their drivers and governors: CPU_IDLE…, …_IDLE, ACPI_PROCESSOR…",
    Preempt "preempt" "Preemption models: PREEMPT…",
}

/// The names of a group's options, as of Linux 7.2 (`kernel/time/Kconfig`, `drivers/clocksource/Kconfig`,
/// `kernel/rcu/Kconfig`, `kernel/Kconfig.hz`, `drivers/cpuidle/Kconfig`, `kernel/Kconfig.preempt`): names, and
/// beginnings, parts and ends of names.
#[derive(Default)]
struct Names {
    whole: &'static [&'static str],
    begin: &'static [&'static str],
    part: &'static [&'static str],
    end: &'static [&'static str],
}

impl Group {
    fn names(self) -> Names {
        match self {
            Group::Tick => Names {
                whole: &[
                    "CPU_ISOLATION",
                    "HIGH_RES_TIMERS",
                    "HZ_PERIODIC",
                    "LEGACY_TIMER_TICK",
                    "SCHED_HRTICK",
                    "IRQ_TIME_ACCOUNTING",
                    "HAVE_IRQ_TIME_ACCOUNTING",
                    "PARAVIRT_TIME_ACCOUNTING",
                    "PARAVIRT_CLOCK",
                    "HAVE_PV_STEAL_CLOCK_GEN",
                    "GENERIC_TIME_VSYSCALL",
                    "POSIX_TIMERS",
                    "X86_PM_TIMER",
                    "HYPERV_TIMER",
                    "RISCV_TIMER",
                ],
                begin: &[
                    "NO_HZ",
                    "TICK_",
                    "ARCH_HAS_TICK_",
                    "CONTEXT_TRACKING",
                    "VIRT_CPU_ACCOUNTING",
                    "HRTIMER_",
                    "TIMER_",
                    "POSIX_CPU_TIMERS",
                    "HAVE_POSIX_CPU_TIMERS",
                    "HPET",
                    "X86_TSC",
                    "ARM_ARCH_TIMER",
                ],
                // Drivers of clock sources (CLKSRC, CLKEVT, CLKBLD), too; clocks of devices (CLK, PTP) are none.
                part: &["CLOCKSOURCE", "CLOCKEVENTS", "SCHED_CLOCK", "CLKSRC", "CLKEVT", "CLKBLD"],
                end: &["_CONTEXT_TRACKING", "_CONTEXT_TRACKING_USER", "_VIRT_CPU_ACCOUNTING_GEN"],
            },
            Group::Rcu => Names {
                whole: &["SRCU"],
                begin: &["RCU_", "TASKS_RCU", "FORCE_TASKS_", "NEED_TASKS_RCU"],
                end: &["_RCU", "_SRCU"],
                ..Names::default()
            },
            Group::Hz => Names { whole: &["HZ"], begin: &["HZ_"], ..Names::default() },
            Group::Cpuidle => Names {
                whole: &["HALTPOLL_CPUIDLE", "ARCH_CPUIDLE_HALTPOLL"],
                begin: &["CPU_IDLE", "ACPI_PROCESSOR", "CPUIDLE"],
                end: &["_IDLE", "_CPUIDLE"],
                ..Names::default()
            },
            Group::Preempt => Names {
                whole: &["ARCH_SUPPORTS_RT"],
                begin: &["PREEMPT", "HAVE_PREEMPT", "ARCH_HAS_PREEMPT"],
                ..Names::default()
            },
        }
    }

    /// Returns true if an option, without `CONFIG_`, belongs to the group.
    pub fn has(self, option: &str) -> bool {
        // NO_HZ_IDLE and GENERIC_CLOCKEVENTS_BROADCAST_IDLE end as the driver INTEL_IDLE does.
        if self == Group::Cpuidle && Group::Tick.has(option) {
            return false;
        }
        let names = self.names();
        names.whole.contains(&option)
            || names.begin.iter().any(|begin| option.starts_with(begin))
            || names.part.iter().any(|part| option.contains(part))
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
            ("HRTIMER_REARM_DEFERRED", "Tick"),
            ("HPET_TIMER", "Tick"),
            ("X86_TSC", "Tick"),
            ("HAVE_UNSTABLE_SCHED_CLOCK", "Tick"),
            ("ARCH_WANTS_CLOCKSOURCE_READ_INLINE", "Tick"),
            ("GENERIC_CLOCKEVENTS_BROADCAST_IDLE", "Tick"),
            ("CLKEVT_I8253", "Tick"),
            ("HZ", "Hz"),
            ("HZ_1000", "Hz"),
            ("HZ_PERIODIC", "Tick Hz"),
            ("RCU_NOCB_CPU", "Rcu"),
            ("PREEMPT_RCU", "Rcu Preempt"),
            ("INTEL_IDLE", "Cpuidle"),
            ("CPU_IDLE_GOV_TEO", "Cpuidle"),
            ("PREEMPT_RT", "Preempt"),
            ("SMP", ""),
            ("HZP", ""),
            ("TOUCHSCREEN_TSC2007", ""),
            ("COMMON_CLK", ""),
            ("PTP_1588_CLOCK", ""),
            ("SND_HRTIMER", ""),
            ("RCU_CPU_STALL_TIMEOUT", "Rcu"),
        ] {
            assert_eq!(of(option), groups, "{option}");
        }
    }
}
