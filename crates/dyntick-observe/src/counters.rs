// SPDX-License-Identifier: GPL-2.0-only
//! Counters in files of the kernel: what `/proc`, `/sys` and debugfs show as plain numbers.

use std::collections::BTreeMap;

/// A name is kept for each CPU.
const LONGEST_NAME: usize = 64;
/// Linux has 8192 CPUs.
const MOST_WORDS: usize = 10_000;
/// Names times CPUs.
const MOST_NUMBERS: usize = 1 << 20;

/// The numbers of one file at one moment, by name and, where the file says so, by CPU.
///
/// Four forms are understood; of any other nothing is taken:
///
/// - a line of names that begins with `cpu`, then a line for each CPU: `cpu hits misses`, `1 12 0`
///   (the CPU as `1` or `cpu1`);
/// - a line of CPUs, then a line for each name, as `/proc/softirqs`: `CPU0 CPU1`, `RCU: 1 2`;
/// - a line for each name, as `/proc/vmstat`: `pgfault 120`, also with a colon or a unit (`MemFree: 12 kB`);
/// - one number alone; its name is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<(String, Option<u32>), i64>);

impl Counters {
    /// Parses the file's text.
    pub fn parse(text: &str) -> Self {
        // A line at a time: a guest may send as many as fit into its mailbox.
        let mut lines = text.lines().map(words).filter(|words| !words.is_empty());
        let Some(head) = lines.next() else { return Self::default() };
        let mut counts = Self::default();
        if head[0].eq_ignore_ascii_case("cpu") {
            lines.for_each(|line| counts.cpu_in_a_line(&head[1..], &line));
        } else if let Some(cpus) = head.iter().map(|word| cpu_of(word, true)).collect::<Option<Vec<u32>>>() {
            lines.for_each(|line| counts.name_in_a_line(&cpus, &line));
        } else {
            std::iter::once(head).chain(lines).for_each(|line| counts.pair(&line));
        }
        counts
    }

    fn cpu_in_a_line(&mut self, names: &[&str], line: &[&str]) {
        let Some(cpu) = line.first().and_then(|word| cpu_of(word, false)) else { return };
        for (name, value) in names.iter().zip(&line[1..]) {
            if let Ok(value) = value.parse() {
                self.put(name, Some(cpu), value);
            }
        }
    }

    fn name_in_a_line(&mut self, cpus: &[u32], line: &[&str]) {
        let name = line[0].trim_end_matches(':');
        for (cpu, value) in cpus.iter().zip(&line[1..]) {
            let Ok(value) = value.parse() else { return };
            self.put(name, Some(*cpu), value);
        }
    }

    fn pair(&mut self, line: &[&str]) {
        let (name, value) = match line {
            [value] => ("", value),
            [name, value] | [name, value, _] => (name.trim_end_matches(':'), value),
            _ => return,
        };
        if let Ok(value) = value.parse() {
            self.put(name, None, value);
        }
    }

    /// Keeps a number, unless its name is longer or there are more numbers than in any file of the kernel.
    fn put(&mut self, name: &str, cpu: Option<u32>, value: i64) {
        if name.len() <= LONGEST_NAME && self.0.len() < MOST_NUMBERS {
            self.0.insert((name.to_owned(), cpu), value);
        }
    }

    /// Returns the increase of each number since `before`, also if it is 0: name, CPU, difference.
    /// A number that was not there before counts from 0.
    pub fn since(&self, before: &Self) -> Vec<(String, Option<u32>, i64)> {
        let grown = |(key, now): (&(String, Option<u32>), &i64)| {
            let then = before.0.get(key).copied().unwrap_or(0);
            (key.0.clone(), key.1, now.wrapping_sub(then))
        };
        self.0.iter().map(grown).collect()
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_ascii_whitespace().take(MOST_WORDS).collect()
}

/// The CPU that a word names: `cpu1`, `CPU1`, and where it need not say so, `1`.
fn cpu_of(word: &str, must_say_so: bool) -> Option<u32> {
    let number = word.strip_prefix("cpu").or_else(|| word.strip_prefix("CPU"));
    let plain = (!must_say_so).then_some(word);
    number.or(plain)?.trim_end_matches(':').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, Option<u32>, i64)> {
        Counters::parse(text).since(&Counters::default())
    }

    fn row(name: &str, cpu: Option<u32>, value: i64) -> (String, Option<u32>, i64) {
        (name.to_owned(), cpu, value)
    }

    #[test]
    fn a_line_for_each_cpu() {
        let text = "cpu hits misses\n0 3 1\ncpu1: 5 x\nsum 8 1\n";
        assert_eq!(all(text), [row("hits", Some(0), 3), row("hits", Some(1), 5), row("misses", Some(0), 1)]);
    }

    #[test]
    fn a_line_for_each_name() {
        let text = "      CPU0  CPU2\n RCU:  1   2\n HI: 0 0\nERR: many\n";
        let rows =
            [row("HI", Some(0), 0), row("HI", Some(2), 0), row("RCU", Some(0), 1), row("RCU", Some(2), 2)];
        assert_eq!(all(text), rows);
    }

    #[test]
    fn names_without_cpus_and_one_number_alone() {
        let rows = [row("MemFree", None, 12), row("pgfault", None, 120)];
        assert_eq!(all("pgfault 120\nMemFree: 12 kB\na b c d\n"), rows);
        assert_eq!(all("7\n"), [row("", None, 7)]);
        assert_eq!(all(""), []);
        assert_eq!(all("no numbers at all\n"), []);
    }

    #[test]
    fn differences_may_be_negative() {
        let grown = Counters::parse("a 5\nb 1").since(&Counters::parse("a 2\nb 4\nc 9"));
        assert_eq!(grown, [row("a", None, 3), row("b", None, -3)]);
    }

    #[test]
    fn reads_this_machine() {
        let softirqs = all(&std::fs::read_to_string("/proc/softirqs").unwrap());
        assert!(softirqs.iter().any(|(name, cpu, count)| name == "TIMER" && cpu.is_some() && *count > 0));
        let vmstat = all(&std::fs::read_to_string("/proc/vmstat").unwrap());
        assert!(vmstat.iter().any(|(name, cpu, count)| name == "pgfault" && cpu.is_none() && *count > 0));
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "(?s)([a-zA-Z]{0,3}[cC]?[pP]?[uU]?[-0-9: ]{0,20}\n?){0,10}") {
            let _ = Counters::parse(&text).since(&Counters::default());
        }
    }

    #[test]
    fn names_that_no_file_of_the_kernel_has_are_left_out() {
        let counts = Counters::parse(&format!("{} 1\nb 2\n", "x".repeat(LONGEST_NAME + 1)));
        assert_eq!(counts.since(&Counters::default()), [("b".to_owned(), None, 2)]);
    }
}
