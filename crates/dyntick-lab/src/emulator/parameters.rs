// SPDX-License-Identifier: GPL-2.0-only
//! The parameters of the module, from a machine's idle states.

use super::records;
use dyntick_guest::names::LONGEST_FILE;
use dyntick_model::{Clock, Exit, IdleState, IdleTable, Quantile};
use dyntick_study::Case;

/// The number of sleeps recorded on each CPU if a case reads them: as many as fit into a file that a case may read.
const RECORDS: u64 = LONGEST_FILE / records::BYTES as u64;

/// The parameters of the module for this table. In virtual time latencies are slept for, on the
/// wall clock they are spun for.
pub fn parameters(table: &IdleTable, case: &Case) -> String {
    let states: Vec<String> =
        table.states.iter().enumerate().map(|(at, one)| state(table, at, one)).collect();
    let mut parameters = vec![
        format!("states={}", states.join(",")),
        format!("wait={}", if case.clock == Clock::Virtual { "halt" } else { "spin" }),
    ];
    let package = package(table);
    if !package.is_empty() {
        parameters.push(format!("package={package}"));
        // Without a package state it does not matter which CPUs share a package, and the module refuses the parameter.
        if !case.packages.is_empty() {
            let lists: Vec<String> = case.packages.iter().map(ToString::to_string).collect();
            parameters.push(format!("packages={}", lists.join("/")));
        }
    }
    if table.pre_wake {
        parameters.push("prewake=1".to_owned());
    }
    if case.read.iter().any(|path| records::is_file(path)) {
        parameters.push(format!("records={RECORDS}"));
    }
    parameters.join(" ")
}

fn state(table: &IdleTable, at: usize, state: &IdleState) -> String {
    if state.polling {
        return "POLL".to_owned();
    }
    let mut text = format!("{}:{}:{}", state.name, state.exit_latency_ns, state.target_residency_ns);
    let options = [
        (state.tlb_flushed, "tlb"),
        (state.irq_enable, "irq-enable"),
        (state.unusable, "unusable"),
        (state.off, "off"),
    ];
    for (_, option) in options.into_iter().filter(|(set, _)| *set) {
        text.push(':');
        text.push_str(option);
    }
    // Before `exit`, which it would replace.
    if state.entry_ns > 0 {
        text.push_str(&format!(":entry={}", state.entry_ns));
    }
    text.push_str(&exit(table, at, state));
    text
}

/// The exit latency, if it differs from the one that the kernel is given.
fn exit(table: &IdleTable, at: usize, state: &IdleState) -> String {
    match table.measured(at) {
        Some(measured) if table.exit == Exit::Distribution => {
            let point = |point: &Quantile| format!("{}@{}", point.millionths, point.ns);
            format!(":exits={}", measured.quantiles.iter().map(point).collect::<Vec<_>>().join("/"))
        }
        Some(measured) => format!(":exit={}", measured.exit_latency_ns),
        // The table's latency may include the package's exit, which a core alone does not pay, and the entry.
        None => match table.leaving_ns(at) {
            own if own == state.exit_latency_ns => String::new(),
            own => format!(":exit={}", own.saturating_sub(state.entry_ns)),
        },
    }
}

fn package(table: &IdleTable) -> String {
    let levels = table.package_states.iter().filter_map(|package| {
        let name = &table.states.get(package.needs)?.name;
        Some(format!("{name}:{}", package.exit_latency_ns.saturating_sub(package.core_exit_latency_ns)))
    });
    levels.collect::<Vec<_>>().join(",")
}
