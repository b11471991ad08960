// SPDX-License-Identifier: GPL-2.0-only
use super::{Fix, Rule, Setting, Versions};
use crate::case::{Case, Finding};
use crate::{CauseId, Kind};
use dyntick_model::Vector;

pub(super) static RULE: Rule = Rule {
    id: "vector",
    title: "Interrupt of the CPU or platform, not of a device",
    explanation: "Some interrupts belong to no device: the CPU's thermal sensor, its reports of corrected \
        errors, the local APIC, the hypervisor. The vector shows which one it was.",
    fixes: &[
        Fix {
            setting: Setting::Program(
                "for thermal: improve the cooling, or limit the frequency; read the kernel log",
            ),
            effect: "A CPU that is too hot is throttled as well, so this costs more than the interrupt.",
            versions: Versions::ALL,
        },
        Fix {
            setting: Setting::Program(
                "for threshold and deferred-error: look for failing memory (rasdaemon, mcelog)",
            ),
            effect: "Corrected errors are often followed by uncorrected ones.",
            versions: Versions::ALL,
        },
    ],
    versions: Versions::ALL,
    source: "arch/x86/kernel/cpu/mce/threshold.c, drivers/thermal/intel/therm_throt.c: intel_thermal_interrupt",
    names_origin: true,
    detect: Some(detect),
};

fn detect(case: &Case<'_>) -> Option<Finding> {
    let Kind::OtherVector { vector } = case.kind else { return None };
    let name = match vector {
        Vector::Thermal => "thermal",
        Vector::Threshold => "threshold",
        Vector::DeferredError => "deferred-error",
        Vector::ApicError => "apic-error",
        Vector::Spurious => "spurious",
        Vector::Platform => "platform",
        _ => return None,
    };
    let chain = [format!("the interrupt '{name}' was delivered to {}", case.cpu())];
    Finding::new(CauseId::member("vector", name), chain)
}
