// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "anonymous-call",
    title: "Function-call IPI from another CPU, function unknown",
    explanation: "Kernels before 6.5 do not report which function was called or which CPU asked for it. \
        Memory-map changes of the same program, membarrier, and the patching of kernel code are the usual \
        causes.",
    fixes: &[Fix {
        setting: Setting::Program("boot kernel 6.5 or newer, whose events name the function and the sender"),
        effect: "The cause is then named.",
        versions: Versions::before(6, 5),
    }],
    versions: Versions::ALL,
    source: "kernel/smp.c: generic_smp_call_function_single_interrupt",
    names_origin: false,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let chain = [format!("{} was interrupted to call a function", case.cpu())];
    (*case.kind == Kind::FunctionCall)
        .then(|| Finding::new(CauseId::class("anonymous-call"), chain))
        .flatten()
}
