// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "anonymous-call",
    title: "Function-call IPI from another CPU, function unknown",
    explanation: "Kernels before 6.5 do not report which function was called or which CPU asked for it. \
        Memory-map changes of the same program, membarrier, and the patching of kernel code are the usual \
        causes.",
    fixes: &[RuleFix::advice(
        "boot kernel 6.5 or newer, whose events name the function and the sender",
        "The cause is then named.",
    )
    .on(Versions::before(6, 5))],
    source: "kernel/smp.c: generic_smp_call_function_single_interrupt",
    names_origin: false,
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    if *case.kind != Kind::FunctionCall {
        return None;
    }
    Finding::new(CauseId::of(&RULE), [Step::CalledSomeFunction { cpu: case.cpu() }])
}
