// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "device",
    title: "Device interrupt",
    explanation: "A network card, a disk or another device reported that a request is complete or that data \
        arrived.",
    fixes: &[
        Fix {
            setting: Setting::Command("echo HOUSEKEEPING-CPUS > /proc/irq/IRQ/smp_affinity_list"),
            effect: "Moves the interrupt. Managed interrupts (a queue per CPU) refuse the change.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("isolcpus=managed_irq,domain,N"),
            effect: untried!(
                "Keeps managed interrupts away from the CPU, as far as other CPUs can serve the \
                queue."
            ),
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Boot("irqaffinity=HOUSEKEEPING-CPUS"),
            effect: "The default for interrupts that are set up from then on.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "kernel/irq/handle.c: __handle_irq_event_percpu",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let Kind::Device { irq, name } = case.kind else { return None };
    let chain = [format!("interrupt {irq} of {name} was delivered to {}", case.cpu())];
    Finding::new(CauseId::member("device", name), chain)
}
