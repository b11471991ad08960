// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:do_sync_core",
    title: "Kernel text patching: sync-core IPI",
    explanation: "The kernel patched its own instructions in place, and every CPU is interrupted to serialise (sync_core): a \
        trace event, a kprobe or ftrace was switched, a BPF program attached, a module loaded, or a static key \
        changed. Many parts of the kernel have static keys, which their first user switches on and their last one off, \
        as sockets with time stamps (SO_TIMESTAMP), schedulers of control groups and perf events.",
    fixes: &[
        RuleFix {
            action: Fix::Advice("record with --stacks, which shows how the sender came to it"),
            effect: "Several parts of the kernel patch its text, and the sender's function or stack shows which one did.",
            versions: Versions::ALL,
        },
        RuleFix {
            action: Fix::Advice(
                "make that change before the quiet phase and keep it: attach tracers, load modules, hold one user of a static \
                key open",
            ),
            effect: "Each change costs up to three interrupts of all CPUs; with one user left a static key is not switched.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/kernel/alternative.c: text_poke_sync (7.x: smp_text_poke_sync_each_cpu)",
    names_origin: true,
};
