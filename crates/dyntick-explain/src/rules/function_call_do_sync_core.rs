// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:do_sync_core",
    title: "Kernel text patching: sync-core IPI (static keys, ftrace, BPF)",
    explanation: "Enabling a trace event, a BPF program or a static key, or loading a module, patches \
        kernel instructions in place, and every CPU is interrupted to serialise (sync_core).",
    fixes: &[RuleFix {
        action: Fix::Advice("attach tracers and load modules before the quiet phase"),
        effect: "Each change costs up to three interrupts of all CPUs.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "arch/x86/kernel/alternative.c: text_poke_sync",
    names_origin: true,
};
