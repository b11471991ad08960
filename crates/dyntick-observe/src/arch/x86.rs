// SPDX-License-Identifier: GPL-2.0-only
//! The rows of x86's `/proc/interrupts` (arch/x86/kernel/irq.c: `arch_show_interrupts`).

use dyntick_model::Interrupt;

/// A row that counts one thing.
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// The sources that it counts; empty if no event shows them.
    pub sources: &'static [Interrupt],
}

const fn row(name: &'static str, sources: &'static [Interrupt]) -> Row {
    Row { name, sources }
}

/// The rows that count one thing each. `CAL` includes the requests for TLB flushes, which the row `TLB` counts again.
pub static ROWS: [Row; 12] = [
    row("LOC", &[Interrupt::Timer]),
    row("RES", &[Interrupt::Reschedule]),
    row("CAL", &[Interrupt::FunctionCall, Interrupt::FunctionCallSingle]),
    row("IWI", &[Interrupt::IrqWork]),
    row("TRM", &[Interrupt::Thermal]),
    row("THR", &[Interrupt::Threshold]),
    row("DFR", &[Interrupt::DeferredError]),
    row("SPU", &[Interrupt::Spurious]),
    row("MCE", &[]),
    row("HYP", &[]),
    row("PIN", &[]),
    row("NPI", &[]),
];
