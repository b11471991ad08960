// SPDX-License-Identifier: GPL-2.0-only
//! The figures without a terminal: a table for each interval.

use super::screen::role;
use super::state::State;
use dyntick_contract::labels;
use dyntick_contract::top::{Cpu, Sample};
use dyntick_report::{Block, Cell, Column, Document, Table, row};
use dyntick_system::hotplug;

/// The number of causes that are shown for a CPU.
const CAUSES: usize = 6;

/// Makes the document of one interval.
pub fn document(machine: &str, sample: &Sample, state: &State) -> Document {
    let mut blocks = vec![Block::Table(cpus(sample, state))];
    blocks.extend(state.cpus(sample).into_iter().filter_map(|cpu| of_cpu(cpu, state)).map(Block::Table));
    let mut lead: Vec<String> =
        sample.power.iter().map(|power| format!("{}: {:.2} W.", power.name, power.watts)).collect();
    lead.extend(sample.source_note.clone());
    lead.extend(hotplug::note(&sample.offline).map(|note| format!("{note}.")));
    let lost = (sample.lost.events(), sample.lost.unnamed);
    lead.extend((lost.0 > 0).then(|| format!("{} events were lost.", lost.0)));
    lead.extend((lost.1 > 0).then(|| format!("{} events have no name.", lost.1)));
    lead.extend(
        sample.missing.iter().map(|lack| format!("Not available: {}; needs {}.", lack.what, lack.needs)),
    );
    let title = format!("{machine}: over {:.1} s", sample.seconds);
    Document { title, lead, blocks, ..Document::default() }
}

fn cpus(sample: &Sample, state: &State) -> Table {
    let shown = state.cpus(sample);
    let mut columns = columns(sample);
    // A column without any value is left out.
    columns.retain(|(_, cell)| shown.iter().any(|cpu| cell(cpu) != Cell::from("")));
    let rows = shown.into_iter().map(|cpu| columns.iter().map(|(_, cell)| cell(cpu)).collect()).collect();
    let columns = columns.into_iter().map(|(column, _)| column).collect();
    Table { caption: String::new(), columns, rows, notes: Vec::new() }
}

/// A column, and the function for its cells.
type OfCpu = (Column, fn(&Cpu) -> Cell);

/// The columns with their cells; without counters, only those that need none.
fn columns(sample: &Sample) -> Vec<OfCpu> {
    let figure = |name| Column::figure(name, "");
    let mut columns: Vec<OfCpu> = vec![
        (Column::text("CPU"), |cpu| cpu.cpu.to_string().into()),
        (Column::text("isolation"), |cpu| role(cpu.role).into()),
        (figure(sample.ticks_heading()), |cpu| Cell::Rate(cpu.ticks())),
    ];
    if sample.source.is_none() {
        columns.push((figure("interrupts/s"), |cpu| Cell::Rate(cpu.interruptions_per_s)));
        columns.push((figure("idle"), |cpu| Cell::Share(cpu.idle)));
        return columns;
    }
    columns.extend::<[OfCpu; 6]>([
        (figure("interruptions/s"), |cpu| Cell::Rate(cpu.interruptions_per_s)),
        (figure("time"), |cpu| Cell::or_blank(cpu.interrupted.map(Cell::Share))),
        (figure("user tasks").spare(2), |cpu| Cell::or_blank(cpu.user_tasks.map(Cell::Share))),
        (figure("idle").spare(1), |cpu| Cell::Share(cpu.idle)),
        (figure("page faults/s").spare(3), |cpu| Cell::or_blank(cpu.page_faults_per_s.map(Cell::Rate))),
        (Column::text("tick kept because"), |cpu| {
            cpu.tick_kept.map(labels::kept_because).unwrap_or_default().into()
        }),
    ]);
    columns
}

fn of_cpu(cpu: &Cpu, state: &State) -> Option<Table> {
    let causes = state.causes(cpu);
    let with_times = causes.iter().any(|cause| cause.share.is_some());
    let row = |cause: &&dyntick_contract::top::Cause| {
        let mut row = row![
            format!("{}{}", if cause.is_part { "  " } else { "" }, cause.name),
            Cell::Rate(cause.per_s),
        ];
        if with_times {
            row.push(Cell::or_blank(cause.share.map(Cell::Share)));
            row.push(Cell::or_blank(cause.mean_ns.map(Cell::Duration)));
        }
        row
    };
    let rows: Vec<_> = causes.iter().take(CAUSES).map(row).collect();
    let mut columns = vec![Column::text("interruption"), Column::figure("per s", "")];
    if with_times {
        columns.extend([Column::figure("time", ""), Column::figure("mean", "")]);
    }
    let caption = format!("CPU {}", cpu.cpu);
    let others = causes.len().saturating_sub(CAUSES);
    let notes = (others > 0).then(|| format!("{others} more; --json has all.")).into_iter().collect();
    (!rows.is_empty()).then_some(Table { caption, columns, rows, notes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_contract::top::Cause;

    fn cpu(causes: usize) -> Cpu {
        let cause = |number| Cause {
            name: format!("interrupt {number}"),
            cause: None,
            is_part: false,
            per_s: 1.0,
            share: None,
            mean_ns: None,
            meaning: None,
            fix: None,
        };
        Cpu { local_timer_per_s: 608.0, causes: (0..causes).map(cause).collect(), ..Cpu::default() }
    }

    fn text(sample: &Sample) -> String {
        dyntick_report::terminal(&document("Linux", sample, &State::default()), 100, false)
    }

    #[test]
    fn timer_interrupts_are_not_called_ticks_without_counters() {
        let sample = Sample { seconds: 1.0, cpus: vec![cpu(2)], ..Sample::default() };
        let text = text(&sample);
        assert!(text.contains("LOC/s") && text.contains("interrupts/s") && text.contains("608"), "{text}");
        for absent in
            ["ticks", "tick kept", "page faults", "user tasks", "interruptions/s", "time", "mean", "more"]
        {
            assert!(!text.contains(absent), "{absent} is not known: {text}");
        }
        let json = serde_json::to_value(&sample).unwrap();
        assert!(json["cpus"][0]["ticks_per_s"].is_null(), "{json}");
    }

    #[test]
    fn table_fits_80_columns_without_empty_columns() {
        let kept = Cpu {
            tick_kept: Some(dyntick_model::TickDependency::PosixTimer),
            interrupted: Some(0.5),
            user_tasks: Some(0.5),
            page_faults_per_s: Some(9.0),
            ..cpu(2)
        };
        let narrow = |cpus: Vec<Cpu>| {
            let sample = Sample { seconds: 1.0, cpus, source: Some("bpf"), ..Sample::default() };
            dyntick_report::terminal(&document("Linux", &sample, &State::default()), 80, false)
        };
        let text = narrow(vec![kept]);
        let heading = text.lines().find(|line| line.starts_with("CPU")).unwrap();
        assert!(heading.contains("ticks/s") && heading.contains("tick kept because"), "{text}");
        assert!(!heading.contains("isolation"), "{text}");
        let text = narrow(vec![cpu(2)]);
        assert!(!text.contains("tick kept because") && text.contains("interruptions/s"), "{text}");
    }

    #[test]
    fn omitted_causes_are_counted() {
        let sample = Sample { seconds: 1.0, cpus: vec![cpu(10)], source: Some("bpf"), ..Sample::default() };
        let text = text(&sample);
        assert!(text.contains("ticks/s") && text.contains("4 more; --json has all."), "{text}");
    }
}
