// SPDX-License-Identifier: GPL-2.0-only
use super::{Rule, RuleFix};
use crate::case::{Case, Finding};
use crate::chain::vector_name;
use crate::{CauseId, Kind, Step};

pub(super) static RULE: Rule = Rule {
    id: "vector",
    title: "Interrupt of the CPU or platform, not of a device",
    explanation: "Some interrupts belong to no device: the CPU's thermal sensor, its reports of corrected \
        errors, the local APIC, the hypervisor. The vector shows which one it was.",
    fixes: &[
        RuleFix::advice(
            "for thermal: improve the cooling, or limit the frequency; read the kernel log",
            "A CPU that is too hot is throttled as well, so this costs more than the interrupt.",
        ),
        RuleFix::advice(
            "for threshold and deferred-error: look for failing memory (rasdaemon, mcelog)",
            "Corrected errors are often followed by uncorrected ones.",
        ),
    ],
    source: "arch/x86/kernel/cpu/mce/threshold.c, drivers/thermal/intel/therm_throt.c: \
        intel_thermal_interrupt",
    ..Rule::DEFAULT
};

pub(super) fn detect(case: &Case<'_>) -> Option<Finding> {
    let Kind::OtherVector { vector } = *case.kind else { return None };
    let name = vector_name(vector)?;
    Finding::new(CauseId::member(&RULE, name), [Step::Vector { vector, cpu: case.cpu() }])
}
