// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick lab machines`: the machines whose idle states can be emulated, and where each figure is from.

use crate::output::Target;
use anyhow::Result;
use clap::Args;
use dyntick_contract::lab::Machines;
use dyntick_model::{Exit, IdleState, Machine, Power, Quantile};
use dyntick_report::{Block, Cell, Column, Document, Table, row};
use dyntick_study::machine::{self, exits};
use std::process::ExitCode;

/// More significant digits than a machine file has.
const EXACT: i32 = 12;

/// The arguments of `dyntick lab machines`.
#[derive(Args)]
pub struct Arguments {
    /// Name of a machine, or path of a machine file [default: list all]
    #[arg(value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

/// Lists the machines, or shows one.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    arguments.target.ensure_writable()?;
    let document = match arguments.machine {
        Some(name) => {
            let machine = machine::find(&name)?;
            if arguments.json {
                arguments.target.json(&machine)?;
                return Ok(ExitCode::SUCCESS);
            }
            one(&machine)
        }
        None => {
            let machines: Vec<Machine> =
                machine::names().into_iter().map(machine::find).collect::<Result<_, _>>()?;
            if arguments.json {
                arguments.target.json(&Machines { machines })?;
                return Ok(ExitCode::SUCCESS);
            }
            all(&machines)
        }
    };
    arguments.target.page(&document)?;
    Ok(ExitCode::SUCCESS)
}

fn all(machines: &[Machine]) -> Document {
    let row = |machine: &Machine| {
        let states: Vec<&str> = machine.idle.states.iter().map(|state| state.name.as_str()).collect();
        let deepest = machine.idle.states.last().map_or(0, |state| state.exit_latency_ns);
        row![machine.name.clone(), machine.title.clone(), states.join(" "), exactly(deepest)]
    };
    let table = Table {
        columns: vec![
            Column::text("name"),
            Column::text("machine"),
            Column::text("idle states"),
            Column::figure("deepest exit", "µs"),
        ],
        rows: machines.iter().map(row).collect(),
        notes: vec!["`dyntick lab machines NAME` shows the table and the source of each figure.".into()],
        ..Table::default()
    };
    Document {
        title: "Machines whose idle states can be emulated".into(),
        blocks: vec![Block::Table(table)],
        ..Document::default()
    }
}

/// A machine with its figures and their sources.
fn one(machine: &Machine) -> Document {
    let mut blocks = vec![Block::Table(states(machine))];
    if !machine.idle.package_states.is_empty() {
        blocks.push(Block::Table(packages(machine)));
    }
    blocks.push(Block::Table(powers(machine)));
    blocks.push(Block::Heading("Sources".into()));
    blocks.push(Block::Pairs(machine.sources.clone().into_iter().collect()));
    Document {
        title: format!("{}: {}", machine.name, machine.title),
        lead: Some(machine.description.clone()).filter(|text| !text.is_empty()).into_iter().collect(),
        blocks,
        ..Document::default()
    }
}

fn states(machine: &Machine) -> Table {
    let row = |(number, state): (usize, &IdleState)| {
        row![
            number.to_string(),
            state.name.clone(),
            state.description.clone(),
            exactly(state.exit_latency_ns),
            exactly(state.target_residency_ns),
            Cell::or_blank(state.measured.as_ref().map(|exit| exactly(exit.exit_latency_ns))),
            flags(state),
            state.source.clone(),
        ]
    };
    let measured = machine.idle.states.iter().filter_map(|state| Some((state, state.measured.as_ref()?)));
    let note = |(state, exit): (&IdleState, &dyntick_model::MeasuredExit)| {
        format!("{} measured: {}{} ({}).", state.name, quantiles(exit), exit.remark, exit.source)
    };
    Table {
        caption: "Idle states as given to the kernel, and exits as measured by others.".into(),
        columns: vec![
            Column::figure("", ""),
            Column::text("state"),
            Column::text("entered by"),
            Column::figure("exit latency", "µs"),
            Column::figure("target residency", "µs"),
            Column::figure("measured exit", "µs"),
            Column::text("flags"),
            Column::text("source"),
        ],
        rows: machine.idle.states.iter().enumerate().map(row).collect(),
        notes: std::iter::once(choice(machine)).chain(parameter(machine)).chain(measured.map(note)).collect(),
    }
}

/// `0 % 87, 50 % 96.8, 100 % 153 µs; `, or nothing.
fn quantiles(exit: &dyntick_model::MeasuredExit) -> String {
    let percent = |millionths: u32| f64::from(millionths) * 100.0 / f64::from(Quantile::ALL);
    let point = |point: &Quantile| format!("{} % {}", percent(point.millionths), micros(point.ns));
    let points: Vec<String> = exit.quantiles.iter().map(point).collect();
    if points.is_empty() { String::new() } else { format!("{} µs; ", points.join(", ")) }
}

/// The keys that select the exits of this machine, and the default.
fn choice(machine: &Machine) -> String {
    let known = |exit: &Exit| exits::refuse(machine, *exit).is_ok();
    let others = [(Exit::Measured, "measured"), (Exit::Distribution, "distribution")];
    let keys: Vec<&str> = others.into_iter().filter(|(exit, _)| known(exit)).map(|(_, key)| key).collect();
    if keys.is_empty() {
        "Emulated exits take the exit latency: nothing else is known.".to_owned()
    } else {
        format!("Emulated exits take the exit latency, or what exit = \"{}\" says.", keys.join("\", \""))
    }
}

/// The boot parameter by which a real machine has these figures; none for states that intel_idle does not enter.
fn parameter(machine: &Machine) -> Option<String> {
    let states: Vec<&IdleState> = machine.idle.states.iter().filter(|state| !state.polling).collect();
    let micros = |ns: u64| ns.div_ceil(1000);
    let row = |state: &&IdleState| {
        format!("{}:{}:{}", state.name, micros(state.exit_latency_ns), micros(state.target_residency_ns))
    };
    let rows: Vec<String> = states.iter().map(row).collect();
    states.iter().all(|state| state.description.starts_with("MWAIT")).then(|| {
        format!(
            "From Linux 7.0 on intel_idle.table={} gives intel_idle these figures, and others in their place.",
            rows.join(",")
        )
    })
}

fn flags(state: &IdleState) -> String {
    let all = [
        (state.polling, "polling"),
        (state.tlb_flushed, "tlb-flushed"),
        (state.irq_enable, "irq-enable"),
        (state.unusable, "unusable"),
        (state.off, "off"),
    ];
    let set: Vec<&str> = all.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect();
    set.join(" ")
}

fn packages(machine: &Machine) -> Table {
    let row = |state: &dyntick_model::PackageState| {
        row![
            state.name.clone(),
            format!("{} or deeper", machine.idle.states[state.needs].name),
            exactly(state.exit_latency_ns),
            exactly(state.core_exit_latency_ns),
            state.source.clone(),
        ]
    };
    Table {
        caption: "Package states: entered when all CPUs of the package are idle deeply enough.".into(),
        columns: vec![
            Column::text("state"),
            Column::text("all CPUs in"),
            Column::figure("exit latency", "µs"),
            Column::figure("of the core alone", "µs"),
            Column::text("source"),
        ],
        rows: machine.idle.package_states.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn powers(machine: &Machine) -> Table {
    let row = |what: String, power: &Power| {
        row![
            what,
            watts(power.watts),
            watts(power.low),
            watts(power.high),
            power.basis.to_string(),
            power.source.clone(),
            power.remark.clone(),
        ]
    };
    let mut rows = vec![row("core, active".into(), &machine.active)];
    rows.extend(machine.idle.states.iter().map(|state| row(format!("core, {}", state.name), &state.power)));
    rows.push(row(format!("shared by {} cores", machine.cores), &machine.uncore));
    let packages = &machine.idle.package_states;
    rows.extend(packages.iter().map(|state| row(format!("shared, {}", state.name), &state.power)));
    Table {
        caption: "Power: the value that the model uses, and its estimated range.".into(),
        columns: vec![
            Column::text("of"),
            Column::figure("power", "W"),
            Column::figure("low", "W"),
            Column::figure("high", "W"),
            Column::text("basis"),
            Column::text("source"),
            Column::text("how"),
        ],
        rows,
        notes: Vec::new(),
    }
}

/// Microseconds, with as many decimals as there are.
fn micros(ns: u64) -> String {
    (ns as f64 / 1e3).to_string()
}

/// The same as a cell.
fn exactly(ns: u64) -> Cell {
    Cell::Rounded(ns as f64 / 1e3, EXACT)
}

fn watts(watts: f64) -> Cell {
    Cell::Rounded(watts, EXACT)
}
