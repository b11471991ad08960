// SPDX-License-Identifier: GPL-2.0-only
//! The rows that took most of a CPU's time, each with its best fix.

use super::notes;
use dyntick_contract::{Adviser, labels};
use dyntick_count::{Class, CpuCounts, GroupRows, Measured, Part, Row, What, rule};
use dyntick_record::MANY_FAULTS;
use dyntick_report::{Cell, Column, Table, row};
use std::cmp::Reverse;

/// The number of rows.
const FOREMOST: usize = 6;

/// The column with fixes.
const FIX: usize = 4;

/// The largest interruptions of these CPUs, and of other user tasks the sum.
pub fn table(measured: &Measured, cpu: &CpuCounts, adviser: &Adviser) -> Table {
    let mut rows: Vec<&Row> = cpu.groups.iter().flat_map(leaves).collect();
    // The time of a work item is a part of its kworker's.
    if rows.iter().any(|row| matches!(row.what, What::Part(Part::Work(_)))) {
        rows.retain(
            |row| !matches!(&row.what, What::Part(Part::KernelThread(comm)) if comm.starts_with("kworker/")),
        );
    }
    let faults = cpu.of_class(Class::PageFaults).map(|group| &group.row);
    rows.extend(faults.filter(|row| row.count.count / measured.repeats() as u64 >= MANY_FAULTS));
    // Page faults have no time, and this number of them takes more than all else.
    rows.sort_by_key(|row| Reverse((row.is_counted_only(), row.count.ns, row.count.count)));
    let hidden = rows.len().saturating_sub(FOREMOST);
    let number = cpu.cpus.iter().next().unwrap_or_default();
    let mut cells: Vec<Vec<Cell>> =
        rows.iter().take(FOREMOST).map(|row| of_row(row, number, measured, adviser)).collect();
    let tasks = cpu.of_class(Class::UserTasks).map(|group| &group.row);
    cells.extend(tasks.map(|row| of_row(row, number, measured, adviser)));
    let mut notes = notes(cpu, true);
    // Each fix would have to name CPUs that are to be quiet, and the others.
    let names_cpus = !adviser.cpus.online.is_subset(&measured.cpus);
    if !names_cpus {
        cells.iter_mut().for_each(|row| row.truncate(FIX));
        notes.push("Name the CPUs that must be quiet with -C for the fix of each.".to_owned());
    }
    if hidden > 0 {
        notes.insert(0, format!("and {hidden} more; --full lists them, with all causes and fixes"));
    }
    let mut columns = vec![
        Column::text("interruption"),
        Column::figure("per s", ""),
        Column::figure("total", ""),
        Column::longest(),
        Column::text("fix"),
    ];
    columns.truncate(if names_cpus { columns.len() } else { FIX });
    Table {
        caption: format!("Interruptions of {}", crate::occurrences::cpus(&cpu.cpus)),
        columns,
        rows: cells,
        notes,
    }
}

/// The parts of a group of interruptions, or the group if it has none. Its sum would count them twice.
fn leaves(group: &GroupRows) -> Vec<&Row> {
    match group.class() {
        Some(Class::Interruption) | None if group.parts.is_empty() => vec![&group.row],
        Some(Class::Interruption) | None => group.parts.iter().collect(),
        Some(Class::UserTasks | Class::PageFaults) => Vec::new(),
    }
}

fn of_row(row: &Row, cpu: u32, measured: &Measured, adviser: &Adviser) -> Vec<Cell> {
    let cause = adviser.cause_of(row);
    let fixes = cause.map(|cause| adviser.fixes(rule(&cause), cpu, &measured.cpus, row.irq()));
    let fix = fixes.unwrap_or_default().into_iter().next().map(|fix| fix.to_string());
    let repeats = measured.repeats() as f64;
    row![
        labels::of(&row.what),
        Cell::Rate(row.count.count as f64 / measured.seconds()),
        Cell::or_blank((!row.is_counted_only()).then_some(Cell::Duration(row.count.ns as f64 / repeats))),
        Cell::or_blank(row.count.longest_ns.map(|ns| Cell::Duration(ns as f64))),
        fix.unwrap_or_default(),
    ]
}
