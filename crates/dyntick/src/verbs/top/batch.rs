// SPDX-License-Identifier: GPL-2.0-only
//! The figures where there is no terminal: a table for each interval.

use super::sample::{Cpu, Sample};
use super::screen::role;
use super::state::State;
use crate::causes;
use dyntick_report::{Block, Column, Document, Table, numbers};

/// How many causes of a CPU are told.
const CAUSES: usize = 6;

/// One interval as text.
pub fn text(machine: &str, sample: &Sample, state: &State) -> String {
    let mut blocks = vec![Block::Table(cpus(sample, state))];
    blocks.extend(state.cpus(sample).into_iter().filter_map(|cpu| of_cpu(cpu, state)).map(Block::Table));
    let mut lead: Vec<String> =
        sample.power.iter().map(|power| format!("{}: {:.2} W.", power.name, power.watts)).collect();
    lead.extend(sample.source_note.clone());
    let lost = (sample.lost.events(), sample.lost.unnamed);
    lead.extend((lost.0 > 0).then(|| format!("{} events were lost.", numbers::count(lost.0))));
    lead.extend((lost.1 > 0).then(|| format!("{} events have no name.", numbers::count(lost.1))));
    lead.extend(
        sample.missing.iter().map(|lack| format!("Not available: {}; needs {}.", lack.what, lack.needs)),
    );
    let title = format!("{machine}: over {:.1} s", sample.seconds);
    let document = Document { title, lead, blocks, ..Document::default() };
    dyntick_report::terminal(&document, 100, false) + "\n"
}

fn cpus(sample: &Sample, state: &State) -> Table {
    let row = |cpu: &Cpu| {
        vec![
            cpu.cpu.to_string(),
            role(cpu.role).to_owned(),
            numbers::rate(cpu.ticks_per_s),
            numbers::rate(cpu.interruptions_per_s),
            cpu.interrupted.map(numbers::percent).unwrap_or_default(),
            numbers::percent(cpu.idle),
            cpu.tick_kept.map(causes::kept_because).unwrap_or_default().to_owned(),
        ]
    };
    let columns = vec![
        Column::text("CPU"),
        Column::text("isolation"),
        Column::figure("ticks/s", ""),
        Column::figure("interruptions/s", ""),
        Column::figure("time", ""),
        Column::figure("idle", ""),
        Column::text("tick kept because"),
    ];
    let rows = state.cpus(sample).into_iter().map(row).collect();
    Table { caption: String::new(), columns, rows, notes: Vec::new() }
}

fn of_cpu(cpu: &Cpu, state: &State) -> Option<Table> {
    let causes = state.causes(cpu);
    let row = |cause: &&super::sample::Cause| {
        vec![
            format!("{}{}", if cause.is_part { "  " } else { "" }, cause.name),
            numbers::rate(cause.per_s),
            cause.share.map(numbers::percent).unwrap_or_default(),
            cause.mean_ns.map(numbers::duration).unwrap_or_default(),
        ]
    };
    let rows: Vec<_> = causes.iter().take(CAUSES).map(row).collect();
    let columns = vec![
        Column::text("interruption"),
        Column::figure("per s", ""),
        Column::figure("time", ""),
        Column::figure("mean", ""),
    ];
    let caption = format!("CPU {}", cpu.cpu);
    (!rows.is_empty()).then(|| Table { caption, columns, rows, notes: Vec::new() })
}
