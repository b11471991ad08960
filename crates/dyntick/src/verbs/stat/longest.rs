// SPDX-License-Identifier: GPL-2.0-only
//! Interruptions that took longer than `--over`, one by one.

use crate::labels;
use dyntick_count::{Longest, cause};
use dyntick_explain::CauseId;
use dyntick_observe::live::Occurrence;
use dyntick_report::{Block, Cell, Column, Table, numbers, row};
use schemars::JsonSchema;
use serde::Serialize;

/// What `--over` said, in ns.
pub fn over(text: &str) -> Result<u64, String> {
    let us: f64 = text.parse().map_err(|_| "give a time in µs, as 50 or 0.5".to_owned())?;
    match us.is_finite() && us >= 0.0 {
        true => Ok((us * 1000.0).round() as u64),
        false => Err("must be 0 or more".to_owned()),
    }
}

/// As a table; the longest of them where they are more than `limit`.
pub fn block(longest: &Longest, limit: usize) -> Block {
    if longest.each.is_empty() && longest.lost == 0 {
        let over = numbers::duration(longest.over_ns as f64);
        return Block::Paragraph(format!("Nothing took longer than {over}."));
    }
    let mut durations: Vec<u64> = longest.each.iter().map(|(_, one)| one.ns).collect();
    durations.sort_unstable_by(|a, b| b.cmp(a));
    let least = durations.get(limit).map_or(0, |ns| ns + 1);
    let shown: Vec<_> = longest.each.iter().filter(|(_, one)| one.ns >= least).collect();
    let hidden = longest.each.len() - shown.len();
    let mut notes = Vec::new();
    if hidden > 0 {
        notes.push(format!(
            "{} shorter ones are not shown; use --all to show them.",
            numbers::count(hidden as u64)
        ));
    }
    if longest.lost > 0 {
        let lost = numbers::count(longest.lost);
        notes.push(format!(
            "{lost} more were lost: the ring buffer was full. Use -I to empty it at each interval."
        ));
    }
    Block::Table(Table {
        caption: format!("Interruptions longer than {}", numbers::duration(longest.over_ns as f64)),
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

/// Interruptions that took long, for programs.
#[derive(Serialize, JsonSchema)]
pub struct PrintedLongest<'a> {
    /// From which duration on.
    over_ns: u64,
    /// Each of them.
    each: Vec<Long<'a>>,
    /// How many more there were that the ring buffer had no room for.
    lost: u64,
}

/// An interruption that took long.
#[derive(Serialize, JsonSchema)]
struct Long<'a> {
    /// When it began, ns since the measurement did.
    at_ns: u64,
    /// Its CPU.
    cpu: u32,
    /// How long it took.
    ns: u64,
    /// What it is called.
    name: String,
    /// Its cause, as `explain` names it.
    cause: Option<CauseId>,
    /// The task that it interrupted; none where it is the time slice of a task.
    interrupted: Option<Interrupted<'a>>,
}

/// A task that was interrupted.
#[derive(Serialize, JsonSchema)]
struct Interrupted<'a> {
    /// Its thread's number; 0 is the idle task.
    pid: u32,
    /// Its name.
    comm: &'a str,
}

impl<'a> PrintedLongest<'a> {
    /// Of one measurement.
    pub fn of(longest: &'a Longest) -> Self {
        let long = |(at_ns, one): &'a (u64, Occurrence)| Long {
            at_ns: *at_ns,
            cpu: one.cpu,
            ns: one.ns,
            name: labels::of_key(&one.key),
            cause: cause(&one.key),
            interrupted: interrupts(one).then(|| Interrupted { pid: one.thread, comm: &one.comm }),
        };
        Self { over_ns: longest.over_ns, each: longest.each.iter().map(long).collect(), lost: longest.lost }
    }
}

/// Whether a task was interrupted: after a time slice it is not known which ran before.
fn interrupts(one: &Occurrence) -> bool {
    use dyntick_observe::live::Key::*;
    !matches!(one.key, Task { .. } | KernelThread { .. } | Work { .. })
}

fn cells((at_ns, one): &(u64, Occurrence)) -> Vec<Cell> {
    let interrupted = match (interrupts(one), one.thread) {
        (false, _) => String::new(),
        (true, 0) => "idle".to_owned(),
        (true, thread) => format!("{} [{thread}]", one.comm),
    };
    row![
        Cell::Fixed(*at_ns as f64 / 1e9, 6),
        one.cpu.to_string(),
        Cell::Duration(one.ns as f64),
        labels::of_key(&one.key),
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
        let Block::Table(table) = block(&longest(&[60_000, 90_000, 70_000, 80_000], 2), 3) else { panic!() };
        let shown: Vec<String> = table.rows.iter().map(|row| row[2].to_string()).collect();
        assert_eq!(shown.len(), 3);
        assert!(
            shown[0].starts_with("90") && shown[1].starts_with("70") && shown[2].starts_with("80"),
            "{shown:?}"
        );
        assert_eq!(table.rows[0][4], "app [7]".into());
        assert!(
            table.notes[0].starts_with("1 shorter") && table.notes[1].starts_with("2 more"),
            "{:?}",
            table.notes
        );
        assert!(matches!(block(&longest(&[], 0), 3), Block::Paragraph(text) if text.contains("Nothing")));
    }

    #[test]
    fn a_time_in_us() {
        assert_eq!((over("50"), over("0.5"), over("0")), (Ok(50_000), Ok(500), Ok(0)));
        assert!(over("50us").is_err() && over("-1").is_err() && over("inf").is_err());
    }
}
