// SPDX-License-Identifier: GPL-2.0-only
//! The sources of interrupts that no device sends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The source of an interrupt that no device sends, by its purpose. The purposes are the same on every architecture;
/// the events, vectors and counters that show them are in a file `arch/ARCHITECTURE.rs` of each crate that reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interrupt {
    /// The timer of the CPU: a tick or any other hrtimer.
    #[serde(rename = "local_timer")]
    Timer,
    /// Another CPU asks this one to reschedule.
    Reschedule,
    /// Another CPU asks several to run a function.
    #[serde(rename = "call_function")]
    FunctionCall,
    /// Another CPU asks this one to run a function.
    #[serde(rename = "call_function_single")]
    FunctionCallSingle,
    /// Work that this CPU queued for itself to run in interrupt context.
    IrqWork,
    /// The thermal sensor of the CPU: throttling began or ended.
    Thermal,
    /// The number of corrected hardware errors reached its threshold.
    Threshold,
    /// A deferred hardware error.
    DeferredError,
    /// The interrupt controller of the CPU reports an error.
    #[serde(rename = "apic_error")]
    Controller,
    /// An interrupt that was gone when the CPU took it.
    Spurious,
    /// An interrupt of the platform, e.g. of a hypervisor.
    Platform,
    /// Any other source.
    Other,
}

impl Interrupt {
    /// All sources.
    pub const ALL: [Interrupt; 12] = [
        Interrupt::Timer,
        Interrupt::Reschedule,
        Interrupt::FunctionCall,
        Interrupt::FunctionCallSingle,
        Interrupt::IrqWork,
        Interrupt::Thermal,
        Interrupt::Threshold,
        Interrupt::DeferredError,
        Interrupt::Controller,
        Interrupt::Spurious,
        Interrupt::Platform,
        Interrupt::Other,
    ];

    /// Its name in figures, metrics and texts, on every architecture. These names are older than the second
    /// architecture: they are those of x86's events.
    pub fn name(self) -> &'static str {
        match self {
            Interrupt::Timer => "local_timer",
            Interrupt::Reschedule => "reschedule",
            Interrupt::FunctionCall => "call_function",
            Interrupt::FunctionCallSingle => "call_function_single",
            Interrupt::IrqWork => "irq_work",
            Interrupt::Thermal => "thermal_apic",
            Interrupt::Threshold => "threshold_apic",
            Interrupt::DeferredError => "deferred_error_apic",
            Interrupt::Controller => "error_apic",
            Interrupt::Spurious => "spurious_apic",
            Interrupt::Platform => "x86_platform_ipi",
            Interrupt::Other => "other",
        }
    }

    /// True if another CPU asks for a function to be run.
    pub fn is_function_call(self) -> bool {
        matches!(self, Interrupt::FunctionCall | Interrupt::FunctionCallSingle)
    }
}
