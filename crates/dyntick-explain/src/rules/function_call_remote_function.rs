// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};

pub(super) static RULE: Rule = Rule {
    id: "function-call:remote_function",
    title: "A perf event was opened, switched or closed on this CPU",
    explanation: "perf events of a CPU are changed by that CPU itself, so whoever asks from elsewhere \
        interrupts it. Profilers and monitors that multiplex or read events do it again and again.",
    fixes: &[Fix {
        setting: Setting::Program(
            "stop profilers and monitors that watch this CPU, or have them leave \
                it out (perf -C)",
        ),
        effect: "No change of its events, no call.",
        versions: Versions::ALL,
    }],
    versions: Versions::ALL,
    source: "kernel/events/core.c: cpu_function_call, remote_function",
    names_origin: true,
    detect: None,
};
