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
pub static ROWS: [Row; 13] = [
    row("LOC", &[Interrupt::Timer]),
    row("RES", &[Interrupt::Reschedule]),
    row("CAL", &[Interrupt::FunctionCall, Interrupt::FunctionCallSingle]),
    row("IWI", &[Interrupt::IrqWork]),
    row("TRM", &[Interrupt::Thermal]),
    row("THR", &[Interrupt::Threshold]),
    row("DFR", &[Interrupt::DeferredError]),
    row("SPU", &[Interrupt::Spurious]),
    row("PLT", &[Interrupt::Platform]),
    row("MCE", &[]),
    row("HYP", &[]),
    row("PIN", &[]),
    row("NPI", &[]),
];

/// The sources that hardly any machine has. Each has a row, so one that is not recorded is counted there.
const RARE: [Interrupt; 5] = [
    Interrupt::Thermal,
    Interrupt::Threshold,
    Interrupt::DeferredError,
    Interrupt::Spurious,
    Interrupt::Platform,
];

/// Returns true for a source that may come at any time, and for a rare one that has come since the boot, by the text of
/// `/proc/interrupts`.
pub fn may_come(source: Interrupt, interrupts: &str) -> bool {
    let has_come = |name: &str| {
        let mut lines = interrupts.lines().filter_map(|line| line.split_once(':'));
        let counts = lines.find(|(row, _)| row.trim() == name).map_or("", |(_, counts)| counts);
        counts.split_ascii_whitespace().map_while(|count| count.parse().ok()).any(|count: u64| count > 0)
    };
    !RARE.contains(&source) || ROWS.iter().any(|row| row.sources == [source] && has_come(row.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_sources_may_come_if_they_have_come() {
        let text = "     CPU0 CPU1\n LOC: 5 9 Local timer\n TRM: 0 3 Thermal\n SPU: 0 0 Spurious\nERR: 0\n";
        let may = |source| may_come(source, text);
        assert!(may(Interrupt::Timer) && may(Interrupt::Thermal) && may(Interrupt::FunctionCall));
        assert!(!may(Interrupt::Spurious) && !may(Interrupt::Platform));
        assert!(may(Interrupt::Controller), "its row has one number for all CPUs");
        let rare_rows = ROWS.iter().filter(|row| row.sources.iter().any(|source| RARE.contains(source)));
        assert_eq!(rare_rows.count(), RARE.len());
    }
}
