// SPDX-License-Identifier: GPL-2.0-only
//! The kernel and the machine under it.

use super::read::{FactsError, contents, text};
use super::{Cpus, Irq, irqs};
use dyntick_model::{Clock, KernelVersion, NANOS_PER_SEC, Settings};
use rustix::thread::ClockId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A machine at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The kernel that runs.
    pub kernel: KernelVersion,
    /// Its architecture, as `uname -m` has it; empty in records of before it was read.
    #[serde(default)]
    pub architecture: String,
    /// Its command line.
    pub command_line: String,
    /// Ticks per second (`CONFIG_HZ`).
    pub hz: u32,
    /// Its CPUs.
    pub cpus: Cpus,
    /// The clocksource in use and those that could be.
    pub clocksource: Clocksource,
    /// A BPF scheduler, if one is loaded; none in records of before it was read.
    #[serde(default)]
    pub sched_ext: SchedExt,
    /// Its clock: virtual in a guest in virtual time; wall in records of before it was read.
    #[serde(default)]
    pub clock: Clock,
    /// Every interrupt line of a device, by number.
    pub irqs: BTreeMap<u32, Irq>,
    /// The settings and build options that fixes depend on; empty in records from before they were read.
    #[serde(default)]
    pub settings: Settings,
}

/// `/sys/devices/system/clocksource/clocksource0`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocksource {
    /// The one in use.
    pub current: String,
    /// All that the kernel would use.
    pub available: Vec<String>,
}

/// `/sys/kernel/sched_ext`, from 6.12 on (`kernel/sched/ext.c: task_should_scx`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedExt {
    /// True if a BPF scheduler is loaded and schedules.
    pub enabled: bool,
    /// True if it has every task that is no real-time or deadline one, and not those of SCHED_EXT alone.
    pub all: bool,
}

impl Machine {
    /// Reads this machine, without the settings, which follow from the rules of fixes. Fields that a kernel does not
    /// have are empty.
    pub fn read() -> Result<Self, FactsError> {
        let release = text("/proc/sys/kernel/osrelease")?;
        let kernel = release.parse().map_err(|error| contents("/proc/sys/kernel/osrelease", error))?;
        let command_line = text("/proc/cmdline")?;
        let cpus = Cpus::read(&command_line)?;
        let (clocksource, sched_ext) = (clocksource(), sched_ext());
        let (clock, settings) = (clock(), Settings::default());
        Ok(Self {
            kernel,
            architecture: rustix::system::uname().machine().to_string_lossy().into_owned(),
            cpus,
            command_line,
            hz: hz(),
            clocksource,
            sched_ext,
            clock,
            irqs: irqs(),
            settings,
        })
    }

    /// Returns true if its CPUs run one after the other on one virtual clock, so that a duration includes the turns of
    /// the others.
    pub fn has_turns(&self) -> bool {
        self.clock == Clock::Virtual && self.cpus.online.len() > 1
    }
}

/// The coarse clock advances once a tick, and its resolution is `TICK_NSEC` (kernel/time/posix-timers.c:
/// posix_get_coarse_res): right where no configuration can be read.
fn hz() -> u32 {
    let resolution = rustix::time::clock_getres(ClockId::MonotonicCoarse);
    let tick_ns = resolution.tv_sec as u64 * NANOS_PER_SEC + resolution.tv_nsec as u64;
    ((NANOS_PER_SEC + tick_ns / 2) / tick_ns.max(1)) as u32
}

fn clocksource() -> Clocksource {
    let file = |name: &str| {
        text(&format!("/sys/devices/system/clocksource/clocksource0/{name}")).unwrap_or_default()
    };
    let available = file("available_clocksource");
    Clocksource {
        current: file("current_clocksource"),
        available: available.split_ascii_whitespace().map(str::to_owned).collect(),
    }
}

/// The clock of this machine.
pub fn clock() -> Clock {
    let is_virtual = text(Clock::FILE).is_ok_and(|clock| clock == Clock::Virtual.to_string());
    if is_virtual { Clock::Virtual } else { Clock::Wall }
}

fn sched_ext() -> SchedExt {
    let is = |name: &str, value: &str| {
        text(&format!("/sys/kernel/sched_ext/{name}")).is_ok_and(|read| read == value)
    };
    SchedExt { enabled: is("state", "enabled"), all: is("switch_all", "1") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_this_machine() {
        let machine = Machine::read().unwrap();
        assert!([100, 250, 300, 1000].contains(&machine.hz), "{}", machine.hz);
        assert!(machine.cpus.online.contains(0) || !machine.cpus.online.is_empty());
        assert!(!machine.clocksource.current.is_empty());
    }
}
