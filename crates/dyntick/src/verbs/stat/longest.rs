// SPDX-License-Identifier: GPL-2.0-only
//! Interruptions that took longer than `--over`, one by one.

use super::measure::Measured;
use super::rows;
use crate::causes;
use dyntick_observe::live::Occurrence;
use dyntick_report::{Block, Column, Table, numbers};
use serde_json::{Value, json};

/// What `--over` said, in ns.
pub fn over(text: &str) -> Result<u64, String> {
    let us: f64 = text.parse().map_err(|_| "give a time in µs, as 50 or 0.5".to_owned())?;
    match us.is_finite() && us >= 0.0 {
        true => Ok((us * 1000.0).round() as u64),
        false => Err("must be 0 or more".to_owned()),
    }
}

/// Those that took long in one measurement.
pub struct Longest {
    /// From which duration on, ns.
    pub over_ns: u64,
    /// When each began, ns since the measurement did, and what it was.
    pub each: Vec<(u64, Occurrence)>,
    /// How many more there were that the ring buffer had no room for.
    pub lost: u64,
}

impl Longest {
    /// As a table; the longest of them where they are more than `limit`.
    pub fn block(&self, limit: usize) -> Block {
        if self.each.is_empty() && self.lost == 0 {
            let over = numbers::duration(self.over_ns as f64);
            return Block::Paragraph(format!("Nothing took longer than {over}."));
        }
        let mut durations: Vec<u64> = self.each.iter().map(|(_, one)| one.ns).collect();
        durations.sort_unstable_by(|a, b| b.cmp(a));
        let least = durations.get(limit).map_or(0, |ns| ns + 1);
        let shown: Vec<_> = self.each.iter().filter(|(_, one)| one.ns >= least).collect();
        let hidden = self.each.len() - shown.len();
        let mut notes = Vec::new();
        if hidden > 0 {
            notes.push(format!(
                "{} shorter ones are not shown; use --all to show them.",
                numbers::count(hidden as u64)
            ));
        }
        if self.lost > 0 {
            let lost = numbers::count(self.lost);
            notes.push(format!(
                "{lost} more were lost: the ring buffer was full. Use -I to empty it at each interval."
            ));
        }
        Block::Table(Table {
            caption: format!("Interruptions longer than {}", numbers::duration(self.over_ns as f64)),
            columns: vec![
                Column::figure("at", "s"),
                Column::figure("CPU", ""),
                Column::figure("took", ""),
                Column::text("what"),
                Column::text("interrupted"),
            ],
            rows: shown.into_iter().map(cells).collect(),
            notes,
        })
    }

    /// For programs.
    pub fn value(&self) -> Value {
        let each = self.each.iter().map(|(at_ns, one)| {
            json!({
                "at_ns": at_ns,
                "cpu": one.cpu,
                "ns": one.ns,
                "name": rows::name(&one.key),
                "cause": causes::cause(&one.key),
                "interrupted": interrupts(one).then(|| json!({ "pid": one.thread, "comm": one.comm })),
            })
        });
        json!({ "over_ns": self.over_ns, "each": each.collect::<Vec<_>>(), "lost": self.lost })
    }

    /// Leaves out the turns of tasks that were measured, or that measured.
    pub fn without_own(&mut self, measured: &Measured) {
        self.each.retain(|(_, one)| !measured.is_own(&one.key) && !measured.is_observer(&one.key));
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: Longest) {
        self.each.extend(other.each);
        self.lost += other.lost;
    }
}

/// Whether somebody was interrupted: the turn of a task interrupts nobody that its end could tell.
fn interrupts(one: &Occurrence) -> bool {
    use dyntick_observe::live::Key::*;
    !matches!(one.key, Task { .. } | KernelThread { .. } | Work { .. })
}

fn cells((at_ns, one): &(u64, Occurrence)) -> Vec<String> {
    let interrupted = match (interrupts(one), one.thread) {
        (false, _) => String::new(),
        (true, 0) => "idle".to_owned(),
        (true, thread) => format!("{} [{thread}]", one.comm),
    };
    vec![
        format!("{:.6}", *at_ns as f64 / 1e9),
        one.cpu.to_string(),
        numbers::duration(one.ns as f64),
        rows::name(&one.key),
        interrupted,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::Softirq;
    use dyntick_observe::live::Key;

    fn longest(durations: &[u64], lost: u64) -> Longest {
        let one = |(place, ns): (usize, &u64)| {
            let key = Key::Softirq { softirq: Softirq::Timer };
            let comm = "app".into();
            (1000 * place as u64, Occurrence { start_ns: 0, ns: *ns, cpu: 3, key, thread: 7, comm })
        };
        Longest { over_ns: 50_000, each: durations.iter().enumerate().map(one).collect(), lost }
    }

    #[test]
    fn only_the_longest_in_the_order_of_time() {
        let Block::Table(table) = longest(&[60_000, 90_000, 70_000, 80_000], 2).block(3) else { panic!() };
        let shown: Vec<&str> = table.rows.iter().map(|row| row[2].as_str()).collect();
        assert_eq!(shown.len(), 3);
        assert!(
            shown[0].starts_with("90") && shown[1].starts_with("70") && shown[2].starts_with("80"),
            "{shown:?}"
        );
        assert_eq!(table.rows[0][4], "app [7]");
        assert!(
            table.notes[0].starts_with("1 shorter") && table.notes[1].starts_with("2 more"),
            "{:?}",
            table.notes
        );
        assert!(matches!(longest(&[], 0).block(3), Block::Paragraph(text) if text.contains("Nothing")));
    }

    #[test]
    fn a_time_in_us() {
        assert_eq!((over("50"), over("0.5"), over("0")), (Ok(50_000), Ok(500), Ok(0)));
        assert!(over("50us").is_err() && over("-1").is_err() && over("inf").is_err());
    }
}
