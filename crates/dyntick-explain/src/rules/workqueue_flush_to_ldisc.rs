// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "workqueue:flush_to_ldisc",
    title: "TTY input passed to the line discipline (worker)",
    explanation: "Input of a terminal or serial port is passed to the line discipline, and so to its \
        reader, by a worker.",
    fixes: &[RuleFix {
        action: Fix::Command("echo {housekeeping} > /proc/irq/{irq}/smp_affinity_list"),
        effect: not_tried!("Moves the interrupt of the port, and the worker with it."),
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "drivers/tty/tty_buffer.c: flush_to_ldisc",
    names_origin: true,
};
