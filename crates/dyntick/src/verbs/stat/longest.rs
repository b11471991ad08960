// SPDX-License-Identifier: GPL-2.0-only
//! The interruptions that took longer than `--over`, one by one.

use dyntick_contract::labels;
use dyntick_count::Longest;
use dyntick_observe::live::Occurrence;
use dyntick_report::{Block, Cell, Column, Table, numbers, row};

/// Parses the value of `--over`, to ns.
pub fn over(text: &str) -> Result<u64, String> {
    let us: f64 = text.parse().map_err(|_| "give a time in µs, e.g. 50 or 0.5".to_owned())?;
    if us.is_finite() && us >= 0.0 {
        Ok((us * 1000.0).round() as u64)
    } else {
        Err("must be 0 or more".to_owned())
    }
}

/// The interruptions as a table; only the longest if there are more than `limit`.
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

fn cells((at_ns, one): &(u64, Occurrence)) -> Vec<Cell> {
    let interrupted = match (one.interrupts_a_task(), one.thread) {
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
    fn longest_interruptions_are_in_the_order_of_time() {
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
    fn time_is_in_us() {
        assert_eq!((over("50"), over("0.5"), over("0")), (Ok(50_000), Ok(500), Ok(0)));
        assert!(over("50us").is_err() && over("-1").is_err() && over("inf").is_err());
    }
}
