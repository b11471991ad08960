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

/// The row of a source that hardly any machine has, also a row with one number for all CPUs.
fn rare_row(source: Interrupt) -> Option<&'static str> {
    match source {
        Interrupt::Thermal => Some("TRM"),
        Interrupt::Threshold => Some("THR"),
        Interrupt::DeferredError => Some("DFR"),
        Interrupt::Controller => Some("ERR"),
        Interrupt::Spurious => Some("SPU"),
        Interrupt::Platform => Some("PLT"),
        _ => None,
    }
}

/// Returns true for a source that may come at any time, and for a rare one that has come since the boot, by the text of
/// `/proc/interrupts`.
pub fn may_come(source: Interrupt, interrupts: &str) -> bool {
    let Some(row) = rare_row(source) else { return true };
    let line =
        interrupts.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == row);
    let counts = line.map(|(_, rest)| rest).unwrap_or_default();
    counts.split_ascii_whitespace().map_while(|count| count.parse().ok()).any(|count: u64| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_sources_may_come_if_they_have_come() {
        let text = "     CPU0 CPU1\n LOC: 5 9 Local timer\n TRM: 0 3 Thermal\n SPU: 0 0 Spurious\nERR: 0\n";
        let may = |source| may_come(source, text);
        assert!(may(Interrupt::Timer) && may(Interrupt::Thermal) && may(Interrupt::FunctionCall));
        assert!(!may(Interrupt::Spurious) && !may(Interrupt::Controller) && !may(Interrupt::Platform));
        assert!(may_come(Interrupt::Controller, "ERR: 2"));
    }
}
