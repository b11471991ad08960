// SPDX-License-Identifier: GPL-2.0-only
//! The fixes of causes on the measured machine.

use dyntick_count::Row;
use dyntick_explain::CauseId;
use dyntick_explain::fixes::{Host, Named, Target, fixes};
use dyntick_explain::rules::Rule;
use dyntick_explain::rules::named::NOT_ADAPTIVE;
use dyntick_model::{Clock, CommandLine, CpuList, Fix, KernelVersion, Settings};
use dyntick_observe::facts::{Cpus, Machine};

/// The facts of a machine on which fixes depend.
pub struct Adviser {
    /// The machine's kernel.
    pub kernel: KernelVersion,
    /// The machine's CPUs.
    pub cpus: Cpus,
    line: CommandLine,
    settings: Settings,
    bpf_scheduler: bool,
    /// The machine's clock.
    pub clock: Clock,
    /// True if a duration includes the turns of other CPUs.
    pub turns: bool,
}

impl Adviser {
    /// Makes an adviser for a machine of which only the kernel is known.
    pub fn of_kernel(kernel: KernelVersion) -> Self {
        let (cpus, line, settings, bpf_scheduler, clock, turns) = Default::default();
        Self { kernel, cpus, line, settings, bpf_scheduler, clock, turns }
    }

    /// Makes an adviser for a machine.
    pub fn of(machine: Machine) -> Self {
        let line = CommandLine::parse(&machine.command_line);
        let turns = machine.has_turns();
        let Machine { kernel, cpus, settings, sched_ext, clock, .. } = machine;
        Self { kernel, cpus, line, settings, bpf_scheduler: sched_ext.enabled, clock, turns }
    }

    /// Returns true if the kernel is known not to throttle real-time tasks.
    pub fn lacks_real_time_limit(&self) -> bool {
        self.settings.no_real_time_limit
    }

    /// The cause of a row. A tick's cause is its dependencies, except on a kernel that never asks for them.
    pub fn cause_of(&self, row: &Row) -> Option<CauseId> {
        let never_stops = || row.is_tick() && self.settings.lacks("nohz_full=");
        row.cause.clone().or_else(|| never_stops().then(|| CauseId::of(NOT_ADAPTIVE)))
    }

    /// The fixes of a cause on a CPU, the most effective first. `quiet` are the CPUs that must not be interrupted, in
    /// addition to those that the machine isolates; `irq` is the cause's interrupt line, if it has one.
    pub fn fixes(&self, rule: &Rule, cpu: u32, quiet: &CpuList, irq: Option<u32>) -> Vec<Fix> {
        let quiet = self.cpus.nohz_full.union(&self.cpus.isolated).union(quiet);
        let host = Host {
            kernel: &self.kernel,
            line: &self.line,
            online: &self.cpus.online,
            settings: &self.settings,
            bpf_scheduler: self.bpf_scheduler,
        };
        let target = Target { cpu, quiet: &quiet, named: &Named { irq, ..Named::default() } };
        fixes(rule, host, target).into_iter().map(|fix| fix.action).collect()
    }

    /// Returns true if a cause may also be the fair server; see [`dyntick_count::may_be_the_fair_server`].
    pub fn may_be_the_fair_server(&self, cause: &CauseId) -> bool {
        dyntick_count::may_be_the_fair_server(cause, &self.kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_explain::rules::named::DEVICE;

    #[test]
    fn fix_of_a_device_names_its_interrupt() {
        let cpus = Cpus { online: CpuList::first(4), ..Cpus::default() };
        let adviser = Adviser { cpus, ..Adviser::of_kernel("6.12.0".parse().unwrap()) };
        let first = |irq| adviser.fixes(DEVICE, 3, &CpuList::from_iter([3]), irq)[0].to_string();
        assert_eq!(first(Some(36)), "echo 0-2 > /proc/irq/36/smp_affinity_list");
        assert!(first(None).starts_with("boot with isolcpus="), "no number is left to be guessed");
    }
}
