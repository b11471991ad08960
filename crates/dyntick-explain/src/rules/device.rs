// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "device",
    title: "Device interrupt",
    explanation: "A network card, a disk or another device reported that a request is complete or that data \
        arrived.",
    fixes: &[
        RuleFix::command(
            "echo {housekeeping} > /proc/irq/{irq}/smp_affinity_list",
            but_managed!("Moves the interrupt."),
        ),
        RuleFix::boot(
            "isolcpus=managed_irq,domain,{quiet}",
            untried!("Keeps managed interrupts away from the CPU, as far as other CPUs can serve the queue."),
        ),
        RuleFix::boot(
            "irqaffinity={housekeeping}",
            but_managed!("The default for interrupts that are set up from then on."),
        ),
    ],
    source: "kernel/irq/handle.c: __handle_irq_event_percpu",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let Kind::Device { irq, name } = case.kind else { return None };
    let delivered = Step::Device { irq: *irq, name: name.clone(), cpu: case.cpu() };
    Finding::new(CauseId::member(&RULE, name.clone()), [delivered])
}
