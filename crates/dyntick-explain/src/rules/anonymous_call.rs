// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};

pub(super) static RULE: Rule = Rule {
    id: "anonymous-call",
    title: "Another CPU had this one run a function that is not reported",
    explanation: "Kernels before 6.5 do not tell which function was called or who asked for it. Memory-map \
        changes of the same program, membarrier, and the patching of kernel code are the usual \
        ones.",
    fixes: &[Fix {
        setting: Setting::Program("boot a kernel from 6.5 on, whose events name function and sender"),
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
