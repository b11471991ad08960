// SPDX-License-Identifier: GPL-2.0-only
//! `--folded`: the time of interruptions as folded stacks, the format of flamegraph.pl: a line has frames from the
//! outermost to the innermost, each followed by `;`, and a number.

use dyntick_model::text::clean_line;
use dyntick_record::{Slices, without_numbers};
use std::collections::BTreeMap;
use std::io::{Result, Write};

/// Writes a line for each CPU, kind, cause and chain with its time in ns. The chain goes from the interruption back to
/// its origin, so that chains with the same end share their frames. Chains that differ only in numbers of tasks are
/// one.
pub fn write(to: &mut dyn Write, slices: &Slices) -> Result<()> {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for ((cpu, what), ns) in &slices.sums {
        let Some(what) = slices.whats.get(*what as usize) else { continue };
        let mut line = format!("CPU {cpu};{};{}", what.kind, frame(&what.cause.to_string()));
        for step in what.chain.texts().iter().rev() {
            line.push(';');
            line += &frame(&without_numbers(step));
        }
        let sum = lines.entry(line).or_default();
        *sum = sum.saturating_add(*ns);
    }
    lines.iter().try_for_each(|(line, ns)| writeln!(to, "{line} {ns}"))
}

/// A text as a frame: without what ends frames and lines.
fn frame(text: &str) -> String {
    clean_line(text).replace(';', ",")
}
