// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "kernel-thread:migration",
    title: "Stopper thread (migration/N) ran",
    explanation: "The migration thread (stop class) has the highest priority of all. It moves a running \
        task to another CPU (sched_setaffinity, exec, load balancing), halts all CPUs together \
        (stop_machine, whose function is multi_cpu_stop) to hot-plug a CPU, to change MTRRs, to load \
        microcode or to patch code where there is no other way, or shows the soft-lockup watchdog that the \
        CPU still schedules.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("set affinities before the quiet phase"),
            effect: "No running task must be moved.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Boot("isolcpus=domain,{quiet}"),
            effect: not_tried!("No load balancing on the CPU."),
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/stop_machine.c: cpu_stopper_thread",
    names_origin: true,
};
