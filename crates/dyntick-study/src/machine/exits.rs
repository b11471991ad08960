// SPDX-License-Identifier: GPL-2.0-only
//! The exit times of an emulated machine: the sources that its file has, and their description.

use dyntick_model::{Exit, IdleState, Machine};

/// The reason for which the machine cannot have exits of this kind, if any.
pub fn refuse(machine: &Machine, exit: Exit) -> Result<(), String> {
    let measured = || machine.idle.states.iter().filter_map(|state| state.measured.as_ref());
    let (known, key) = match exit {
        Exit::Table => (true, ""),
        Exit::Measured => (measured().next().is_some(), "exit-latency"),
        Exit::Distribution => (measured().any(|measured| !measured.quantiles.is_empty()), "quantiles"),
    };
    let lack = || {
        format!(
            "no state of the machine {} has {key} in [state.measured]: write exit = \"table\", or add the measurement to its file",
            machine.name
        )
    };
    if known { Ok(()) } else { Err(lack()) }
}

/// The source of the exit times, in words: every figure of such a guest rests on it.
pub fn in_words(machine: &Machine) -> String {
    let idle = &machine.idle;
    let message = |(place, state): (usize, &IdleState)| {
        let measured = idle.measured(place)?;
        let takes = match (idle.exit, &measured.quantiles[..]) {
            (Exit::Distribution, [least, .., most]) => format!("{} to {}", micros(least.ns), micros(most.ns)),
            _ => micros(measured.exit_latency_ns),
        };
        Some(format!("{} {takes} µs", state.name))
    };
    let measured: Vec<String> = idle.states.iter().enumerate().filter_map(message).collect();
    let measured = measured.join(", ");
    let mut words = match idle.exit {
        Exit::Table => "every exit takes the table's latency, its worst case".to_owned(),
        Exit::Measured => {
            format!("exits take the measured median ({measured}), others the table's worst case")
        }
        Exit::Distribution => {
            format!("exits are drawn from what was measured ({measured}), others take the table's worst case")
        }
    };
    if idle.pre_wake {
        words.push_str("; CPUs are woken ahead of their timers (pre-wake)");
    }
    format!("{}: {words}", machine.name)
}

/// Microseconds, with as many decimals as there are.
fn micros(ns: u64) -> String {
    (ns as f64 / 1e3).to_string()
}
