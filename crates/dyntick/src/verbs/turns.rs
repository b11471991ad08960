// SPDX-License-Identifier: GPL-2.0-only
//! Durations in a guest in virtual time, whose CPUs run one after the other on one clock.
//!
//! QEMU gives each CPU a share of the instructions until the next timer (`icount_percpu_budget()`), and the clock goes
//! on in all of them. So an interruption that has not ended when the CPU's share has is longer by the others' shares.
//! No event of the guest marks that.

use dyntick_report::{Block, Document, Table};

/// The remark on the durations of such a guest.
pub const REMARK: &str =
    "Virtual time: a µs is 1000 instructions, and a duration includes the turns of the other CPUs";

/// A page with the remark and without the durations of which one turn decides.
pub fn page(document: Document) -> Document {
    let lead = [format!("{REMARK}; so the longest is not shown.")].into_iter().chain(document.lead).collect();
    let blocks = document.blocks.into_iter().map(without_extremes).collect();
    Document { lead, blocks, ..document }
}

fn without_extremes(block: Block) -> Block {
    let Block::Table(table) = block else { return block };
    let shown: Vec<bool> = table.columns.iter().map(|column| !column.is_extreme).collect();
    let keep = |cells| kept(cells, &shown);
    Block::Table(Table {
        columns: kept(table.columns, &shown),
        rows: table.rows.into_iter().map(keep).collect(),
        ..table
    })
}

/// The cells of the columns that are shown.
fn kept<T>(cells: Vec<T>, shown: &[bool]) -> Vec<T> {
    cells.into_iter().zip(shown).filter(|(_, shown)| **shown).map(|(cell, _)| cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_report::{Column, row};

    #[test]
    fn longest_duration_is_left_out() {
        let columns = vec![Column::figure("count", ""), Column::longest(), Column::text("cause")];
        let table = Table { columns, rows: vec![row!["1", "2 ms", "tick"]], ..Table::default() };
        let document = Document { blocks: vec![Block::Table(table)], ..Document::default() };
        let text = dyntick_report::terminal(&page(document), 100, false);
        assert!(text.contains(REMARK) && text.contains("tick"), "{text}");
        assert!(!text.contains("2 ms"), "{text}");
    }
}
