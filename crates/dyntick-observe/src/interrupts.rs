// SPDX-License-Identifier: GPL-2.0-only
//! `/proc/interrupts`.

use std::collections::BTreeMap;

/// Columns that are read: Linux has no more CPUs, and each is a number in memory for two letters of text.
const MOST_CPUS: usize = 8192;

/// Names of rows are numbers of lines, or a few letters; each is kept for each CPU.
const LONGEST_NAME: usize = 32;
/// Counts that are read: rows times CPUs. 512 CPUs with 4000 lines have half as many.
const MOST_COUNTS: usize = 4 << 20;

/// The counts of `/proc/interrupts` at one moment: by row (`LOC`, `24`, …) and CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupts(BTreeMap<(String, u32), u64>);

impl Interrupts {
    /// Parses the file's text. Rows without counts per CPU (`ERR`, `MIS`) are left out.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let cpus: Vec<u32> = lines
            .next()
            .unwrap_or_default()
            .split_ascii_whitespace()
            .filter_map(|name| name.strip_prefix("CPU")?.parse().ok())
            .take(MOST_CPUS)
            .collect();
        let mut counts = BTreeMap::new();
        for (row, rest) in lines.filter_map(|line| line.split_once(':')) {
            let values: Vec<u64> = rest
                .split_ascii_whitespace()
                .map_while(|field| field.parse().ok())
                .take(cpus.len())
                .collect();
            if counts.len() + values.len() > MOST_COUNTS {
                break;
            }
            if values.len() == cpus.len() && row.trim().len() <= LONGEST_NAME {
                counts.extend(
                    cpus.iter().zip(values).map(|(cpu, value)| ((row.trim().to_owned(), *cpu), value)),
                );
            }
        }
        Self(counts)
    }

    /// Returns the number of interrupts since `before`, also if it is 0: row, CPU, count.
    pub fn since(&self, before: &Self) -> Vec<(String, u32, u64)> {
        let delta = |((row, cpu), now): (&(String, u32), &u64)| {
            let then = before.0.get(&(row.clone(), *cpu)).copied().unwrap_or(0);
            (row.clone(), *cpu, now.saturating_sub(then))
        };
        self.0.iter().map(delta).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "           CPU0       CPU2\n  4:        212          0   IO-APIC   4-edge      ttyS0\n\
                          LOC:       1000       2000   Local timer interrupts\nERR:          0\n";

    #[test]
    fn counts_by_row_and_cpu() {
        let after = BEFORE.replace("2000", "2500").replace("212", "213");
        let delta = Interrupts::parse(&after).since(&Interrupts::parse(BEFORE));
        let row = |row: &str, cpu, count| (row.to_owned(), cpu, count);
        assert_eq!(delta, [row("4", 0, 1), row("4", 2, 0), row("LOC", 0, 0), row("LOC", 2, 500)]);
    }

    #[test]
    fn a_text_that_no_kernel_writes_takes_little() {
        let cpus: String = (0..9000).map(|cpu| format!("CPU{cpu} ")).collect();
        let row = |name: &str| format!("\n{name}: {}", "1 ".repeat(9000));
        let long = Interrupts::parse(&format!("{cpus}{}{}", row(&"x".repeat(1 << 20)), row("1")));
        assert_eq!(long.0.len(), MOST_CPUS);
        let rows: String = (0..600).map(|number| row(&number.to_string())).collect();
        assert_eq!(Interrupts::parse(&(cpus + &rows)).0.len(), MOST_COUNTS);
    }

    #[test]
    fn reads_this_machine() {
        let text = std::fs::read_to_string("/proc/interrupts").unwrap();
        let now = Interrupts::parse(&text);
        assert!(now.since(&Interrupts::default()).iter().any(|(row, _, count)| row == "LOC" && *count > 0));
    }
}
