// SPDX-License-Identifier: GPL-2.0-only
//! The reasons for which a kernel keeps its tick.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The dependency that the `timer:tick_stop` event names.
/// Values as in `include/linux/tick.h`, `enum tick_dep_bits` (6.1 to 7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TickDependency {
    /// Nothing: the tick was stopped.
    None,
    /// A POSIX CPU timer, an interval timer or RLIMIT_CPU is armed.
    PosixTimer,
    /// A perf event in frequency mode exists, or one was throttled.
    PerfEvents,
    /// More than one task wants this CPU.
    Sched,
    /// `sched_clock()` is unstable.
    ClockUnstable,
    /// A grace period waits for this CPU, or callbacks run on it.
    Rcu,
    /// An expedited grace period waits for this CPU.
    RcuExp,
}

/// A dependency mask that no known kernel reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown tick dependency mask {0:#x}")]
pub struct UnknownDependency(pub u32);

impl TickDependency {
    /// Parses the mask in the event, of which the kernel sets exactly one bit.
    pub fn from_mask(mask: u32) -> Result<Self, UnknownDependency> {
        Ok(match mask {
            0x00 => Self::None,
            0x01 => Self::PosixTimer,
            0x02 => Self::PerfEvents,
            0x04 => Self::Sched,
            0x08 => Self::ClockUnstable,
            0x10 => Self::Rcu,
            0x20 => Self::RcuExp,
            other => return Err(UnknownDependency(other)),
        })
    }

    /// The kernel's own name for it, as printed by the trace event.
    pub fn kernel_name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::PosixTimer => "POSIX_TIMER",
            Self::PerfEvents => "PERF_EVENTS",
            Self::Sched => "SCHED",
            Self::ClockUnstable => "CLOCK_UNSTABLE",
            Self::Rcu => "RCU",
            Self::RcuExp => "RCU_EXP",
        }
    }
}

impl std::fmt::Display for TickDependency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.kernel_name())
    }
}

/// The functions of the tick's hrtimer: `tick_sched_timer` until 6.8, and `tick_nohz_handler` since
/// (kernel/time/tick-sched.c). Before, the second was that of a tick without high resolution, so the first
/// one that a kernel has counts.
pub const TICK_FUNCTIONS: [&str; 2] = ["tick_sched_timer", "tick_nohz_handler"];

/// A function's name without the offset (`f+0x1/0x2`) or the compiler's suffix (`f.isra.0`) of its symbol.
pub fn function_of(symbol: &str) -> &str {
    match symbol.bytes().position(|byte| matches!(byte, b'+' | b'.')) {
        Some(end) if end > 0 => &symbol[..end],
        _ => symbol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_the_kernel() {
        assert_eq!(TickDependency::from_mask(4), Ok(TickDependency::Sched));
        assert_eq!(TickDependency::from_mask(0), Ok(TickDependency::None));
        assert_eq!(TickDependency::from_mask(6), Err(UnknownDependency(6)));
    }
}
