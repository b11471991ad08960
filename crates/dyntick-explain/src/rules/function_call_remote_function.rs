// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, RuleFix, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:remote_function",
    title: "perf event opened, switched or closed from another CPU",
    explanation: "perf events of a CPU are changed by that CPU itself, so a request from another CPU \
        interrupts it. Profilers and monitoring tools that multiplex or read events do so repeatedly.",
    fixes: &[RuleFix {
        action: Fix::Advice(
            "stop profilers and monitoring tools that watch this CPU, or exclude the CPU from them (perf \
             -C)",
        ),
        effect: "No change of its events, no call.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/events/core.c: cpu_function_call, remote_function",
    names_origin: true,
};
