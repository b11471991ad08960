// SPDX-License-Identifier: GPL-2.0-only
//! The text of `dyntick idle`: the answer, then the states.

use crate::occurrences;
use dyntick_contract::idle::{Idle, Woken};
use dyntick_idle::LengthClass;
use dyntick_idle::usage::{CpuUse, FEW, Judged, MANY, Ruling, StateUse, exits_us, worst};
use dyntick_report::{Block, Cell, Column, Document, Table, numbers, row};

/// The document of a reading; with all states of each CPU if it is `full`.
pub fn document(idle: &Idle, full: bool) -> Document {
    let mut blocks = Vec::new();
    if !idle.cpus.is_empty() {
        blocks.push(Block::Table(table(idle, full)));
    }
    if !idle.woken.is_empty() {
        blocks.push(Block::Table(woken(idle, full)));
    }
    if !idle.lengths.is_empty() {
        blocks.push(Block::Table(lengths(idle)));
    }
    Document { title: title(idle), lead: lead(idle), blocks, ..Document::default() }
}

fn title(idle: &Idle) -> String {
    let cpus = occurrences::cpus(&idle.cpus.iter().map(|cpu| cpu.cpu).collect());
    let time = match idle.seconds {
        Some(seconds) if idle.of_interval => format!("mean of intervals of {seconds:.1} s"),
        Some(seconds) => format!("{seconds:.1} s"),
        None if idle.of_interval => "mean of the intervals".to_owned(),
        None if idle.since_boot => "since the boot".to_owned(),
        None => "between two dumps".to_owned(),
    };
    let named = |what: &str, name: &Option<String>| name.as_ref().map(|name| format!("{what} {name}"));
    let parts = [named("driver", &idle.driver), named("governor", &idle.governor)];
    let parts: Vec<String> = [cpus, time].into_iter().chain(parts.into_iter().flatten()).collect();
    format!("Idle states: {}", parts.join(", "))
}

/// The answer: whether the choices were right, what they cost, and what to try.
fn lead(idle: &Idle) -> Vec<String> {
    let judged = &idle.judged;
    let share =
        |wrong: Option<u64>| numbers::percent(wrong.unwrap_or(0) as f64 / judged.entries.max(1) as f64);
    let sleeps = numbers::counted(judged.entries, "sleep");
    let mut lines = match judged.ruling {
        Ruling::NoneEntered if idle.cpus.is_empty() => vec![
            "These CPUs have no idle states that a governor chooses from: the kernel has no idle driver here, as in most \
             virtual machines and with idle=poll."
                .to_owned(),
        ],
        Ruling::NoneEntered => {
            vec!["No sleep ended in this time: the CPUs were busy, or slept on throughout, which is counted at its end.".to_owned()]
        }
        Ruling::Unknown if idle.traced.is_some() => vec![format!(
            "{sleeps} ended. Whether their states were right is not known: the latencies of the states are not in the file, nor the \
             event power:cpu_idle_miss."
        )],
        Ruling::Unknown if idle.of_interval => vec![format!(
            "{sleeps} ended in an interval. Whether their states were right is not known: not all states have their columns of wrong \
             sleeps (`C6+` and `C6-` of turbostat --show cpuidle)."
        )],
        Ruling::Unknown => vec![format!(
            "{sleeps} ended. Whether their states were right is not known: the counters `above` and `below` (Linux 5.4) are \
             missing here."
        )],
        Ruling::TooFew => vec![format!("{sleeps} ended, too few to judge (fewer than {FEW}): measure for longer.")],
        Ruling::TooDeep => vec![
            format!(
                "The idle governor chose too deep a state for {} of {sleeps}: the CPU woke before the state had paid, and waited for \
                 its exit in vain.",
                share(judged.too_deep)
            ),
            cost(idle),
        ],
        Ruling::TooShallow => vec![format!(
            "The idle governor chose too shallow a state for {} of {sleeps}: a deeper one would have saved power. No latency is lost \
             by that.",
            share(judged.too_shallow)
        )],
        Ruling::Right => vec![format!(
            "The idle governor chose right for {} of {sleeps}; {} were too deep, {} too shallow. Fewer than {MANY} of 100 wrong ones \
             of a kind are not worth a change.",
            share(right(judged)),
            share(judged.too_deep),
            share(judged.too_shallow)
        )],
    };
    lines.extend(limits(idle));
    lines
}

fn right(judged: &Judged) -> Option<u64> {
    Some(judged.entries.saturating_sub(judged.too_deep?.saturating_add(judged.too_shallow?)))
}

/// The cost of too deep sleeps, where it is largest, and a limit that excludes the state.
fn cost(idle: &Idle) -> String {
    let mut text = match idle.judged.exits_us {
        Some(us) => {
            let of_time = idle
                .seconds
                .map(|seconds| us as f64 / 1e6 / (seconds * idle.cpus.len() as f64).max(f64::MIN_POSITIVE));
            let of_time = of_time.map(|share| format!(", {} of the CPUs' time", numbers::percent(share)));
            format!(
                "That is at most {} in exits, by the kernel's worst case of each{}.",
                numbers::duration(us as f64 * 1e3),
                of_time.unwrap_or_default()
            )
        }
        None => "What it cost is not known: the exit latencies are missing here.".to_owned(),
    };
    if let Some((cpu, state)) = worst(&idle.cpus) {
        text += &format!(
            " Most of it on CPU {cpu} in {}: {} of {} sleeps.",
            state.name,
            state.too_deep.unwrap_or(0),
            state.entries
        );
        if let Some(limit) = limit_below(idle, cpu, state) {
            text += &format!(
                " To try it without: echo {limit} > /sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us; \
                 0 there takes the limit back."
            );
        }
    }
    text
}

/// The limit of exit latency, µs, that excludes this state of a CPU of this machine and allows the next shallower one
/// with a latency. None if the CPU has a limit, which it would replace.
fn limit_below(idle: &Idle, cpu: u32, state: &StateUse) -> Option<u64> {
    idle.limits.as_ref().filter(|limits| !limits.of_cpus_us.contains_key(&cpu))?;
    let own = idle.cpus.iter().find(|one| one.cpu == cpu)?;
    let latencies = own.states.iter().filter_map(|state| state.exit_latency_us);
    latencies.filter(|us| *us > 0 && Some(*us) < state.exit_latency_us).max()
}

/// The limits in force, which exclude states.
fn limits(idle: &Idle) -> Option<String> {
    let limits = idle.limits.as_ref()?;
    let of_all = limits.of_all_us.map(|us| {
        let holders: Vec<&str> = limits.held_by.iter().map(String::as_str).collect();
        let holders =
            if holders.is_empty() { String::new() } else { format!(", held by {}", holders.join(", ")) };
        format!("all CPUs {us} µs{holders}")
    });
    let of_one = |(cpu, us): (&u32, &u32)| format!("CPU {cpu} {us} µs");
    const SHOWN: usize = 3;
    let more = limits.of_cpus_us.len().saturating_sub(SHOWN) as u64;
    let more = (more > 0).then(|| format!("and {}", numbers::counted(more, "more CPU")));
    let of_cpus = limits.of_cpus_us.iter().take(SHOWN).map(of_one);
    let all: Vec<String> = of_all.into_iter().chain(of_cpus).chain(more).collect();
    (!all.is_empty()).then(|| {
        format!(
            "Limits of exit latency are in force (PM QoS), which exclude deeper states: {}.",
            all.join("; ")
        )
    })
}

fn table(idle: &Idle, full: bool) -> Table {
    let columns = vec![
        Column::text("CPU"),
        Column::text("state"),
        Column::figure("exit", "").spare(2),
        Column::figure("pays from", "").spare(1),
        Column::figure("sleeps", ""),
        Column::figure("mean", "").spare(3),
        Column::figure("of idle time", ""),
        Column::figure("too deep", ""),
        Column::figure("too shallow", ""),
        Column::figure("exits in vain", "").spare(4),
    ];
    let sums = sums(&idle.cpus);
    let shown: Vec<(String, &CpuUse)> = if full || idle.cpus.len() == 1 {
        idle.cpus.iter().map(|cpu| (cpu.cpu.to_string(), cpu)).collect()
    } else {
        vec![("all".to_owned(), &sums)]
    };
    let rows =
        shown.iter().flat_map(|(name, cpu)| cpu.states.iter().map(move |state| row_of(name, cpu, state)));
    let mut notes = vec![
        "too deep: shorter than the state pays from (`above`); too shallow: long enough for a deeper state (`below`); exits in vain: \
         their number times the kernel's exit latency."
            .to_owned(),
    ];
    if !full && idle.cpus.len() > 1 {
        notes
            .push(format!("Sums of {}; --full shows each.", numbers::counted(idle.cpus.len() as u64, "CPU")));
    }
    Table { columns, rows: rows.collect(), notes, ..Table::default() }
}

/// The number of ends of sleeps that are shown in short.
const MOST_WOKEN: usize = 6;

/// The ends of the sleeps.
fn woken(idle: &Idle, full: bool) -> Table {
    let all: u64 = idle.woken.iter().map(|one| one.sleeps).sum();
    let shown = if full { idle.woken.len() } else { MOST_WOKEN };
    let row = |one: &Woken| {
        let chain = one.chain.texts().join(" → ");
        let text = if chain.is_empty() { one.title.clone() } else { format!("{}: {chain}", one.title) };
        row![
            Cell::Count(one.sleeps),
            Cell::Share(one.sleeps as f64 / all.max(1) as f64),
            Cell::Duration(one.total_ns as f64 / one.sleeps.max(1) as f64),
            Cell::known(one.too_deep.map(Cell::Count)),
            text,
        ]
    };
    let rest = idle.woken.len().saturating_sub(shown) as u64;
    let notes =
        (rest > 0).then(|| format!("And {}; --full shows them.", numbers::counted(rest, "more"))).into_iter();
    Table {
        caption: "What woke the CPUs".to_owned(),
        columns: vec![
            Column::figure("sleeps", ""),
            Column::figure("of all", "").spare(2),
            Column::figure("mean", "").spare(1),
            Column::figure("too deep", "").spare(3),
            Column::text("woken by"),
        ],
        rows: idle.woken.iter().take(shown).map(row).collect(),
        notes: notes.collect(),
    }
}

/// The lengths of the sleeps, and the states that were chosen for each.
fn lengths(idle: &Idle) -> Table {
    let names = idle.cpus.iter().map(|cpu| &cpu.states).max_by_key(|states| states.len());
    let names = names.into_iter().flatten().map(|state| Column::figure(&state.name, ""));
    let range = |class: &LengthClass| {
        let from = numbers::duration(class.from_ns as f64);
        match class.below_ns {
            Some(below) => format!("{from} to {}", numbers::duration(below as f64)),
            None => format!("from {from}"),
        }
    };
    let row = |class: &LengthClass| {
        let mut cells = row![range(class), Cell::Count(class.sleeps)];
        cells.extend(class.states.iter().map(|count| Cell::Count(*count)));
        cells
    };
    let pays =
        "A class begins where a deeper state begins to pay. Right is the deepest state that pays from there.";
    let has_states =
        idle.cpus.iter().flat_map(|cpu| &cpu.states).any(|state| state.target_residency_us.is_some());
    Table {
        caption: "How long the CPUs slept, and in which state".to_owned(),
        columns: [Column::text("slept"), Column::figure("sleeps", "")].into_iter().chain(names).collect(),
        rows: idle.lengths.iter().map(row).collect(),
        notes: has_states.then(|| pays.to_owned()).into_iter().collect(),
    }
}

fn row_of(cpu: &str, all: &CpuUse, state: &StateUse) -> Vec<Cell> {
    let us = |us: Option<u64>| Cell::known(us.map(|us| Cell::Duration(us as f64 * 1e3)));
    let count = |count: Option<u64>| Cell::known(count.map(Cell::Count));
    let idle_us: Option<u64> = all.states.iter().map(|state| state.time_us).sum();
    let share = state
        .time_us
        .zip(idle_us)
        .filter(|(_, all)| *all > 0)
        .map(|(own, all)| Cell::Share(own as f64 / all as f64));
    let mean = state
        .time_us
        .filter(|_| state.entries > 0)
        .map(|us| Cell::Duration(us as f64 * 1e3 / state.entries as f64));
    let name =
        if state.disabled == Some(true) { format!("{} (disabled)", state.name) } else { state.name.clone() };
    row![
        cpu,
        name,
        us(state.exit_latency_us),
        us(state.target_residency_us),
        Cell::Count(state.entries),
        Cell::or_blank(mean),
        Cell::known(share),
        count(state.too_deep),
        count(state.too_shallow),
        us(exits_us(state)),
    ]
}

/// The sums over CPUs, by the names of states; a latency that differs between CPUs is not shown.
fn sums(cpus: &[CpuUse]) -> CpuUse {
    let mut sums: Vec<StateUse> = Vec::new();
    for state in cpus.iter().flat_map(|cpu| &cpu.states) {
        let Some(sum) = sums.iter_mut().find(|sum| sum.name == state.name) else {
            sums.push(state.clone());
            continue;
        };
        let add = |sum: Option<u64>, own: Option<u64>| Some(sum?.saturating_add(own?));
        let same = |sum: Option<u64>, own: Option<u64>| sum.filter(|_| sum == own);
        sum.exit_latency_us = same(sum.exit_latency_us, state.exit_latency_us);
        sum.target_residency_us = same(sum.target_residency_us, state.target_residency_us);
        sum.disabled = sum.disabled.filter(|_| sum.disabled == state.disabled);
        sum.entries = sum.entries.saturating_add(state.entries);
        sum.time_us = add(sum.time_us, state.time_us);
        sum.too_deep = add(sum.too_deep, state.too_deep);
        sum.too_shallow = add(sum.too_shallow, state.too_shallow);
        sum.rejected = add(sum.rejected, state.rejected);
    }
    CpuUse { cpu: 0, states: sums }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_contract::idle::WokenBy;
    use dyntick_explain::Chain;
    use dyntick_formats::idle_counters;
    use dyntick_idle::usage::{judge, usage};
    use dyntick_model::LatencyLimits;

    /// A reading of two CPUs, with these too deep and too shallow sleeps of CPU 1 in C6.
    fn idle(above: u64, below: u64) -> Idle {
        let dump: String = (0..2)
            .flat_map(|cpu| [("POLL", 0, 0, 3), ("C1", 1, 1, 40), ("C6", 290, 600, 957)].map(|state| (cpu, state)))
            .zip([0, 1, 2, 0, 1, 2])
            .map(|((cpu, (name, latency, residency, usage)), state)| {
                let wrong = if (cpu, name) == (1, "C6") { (above, below) } else { (0, 0) };
                let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
                format!(
                    "{path}/name:{name}\n{path}/latency:{latency}\n{path}/residency:{residency}\n{path}/usage:{usage}\n\
                     {path}/time:{}\n{path}/above:{}\n{path}/below:{}\n{path}/disable:0\n",
                    usage * (1 + residency),
                    wrong.0,
                    wrong.1
                )
            })
            .collect();
        let snapshots = idle_counters::parse(&dump).unwrap();
        let cpus = usage(None, &snapshots[0]).unwrap();
        Idle {
            files: Vec::new(),
            traced: None,
            seconds: Some(10.0),
            since_boot: false,
            of_interval: false,
            driver: Some("intel_idle".to_owned()),
            governor: Some("menu".to_owned()),
            limits: Some(LatencyLimits::default()),
            judged: judge(&cpus),
            cpus,
            woken: Vec::new(),
            lengths: Vec::new(),
        }
    }

    fn text(idle: &Idle, full: bool) -> String {
        dyntick_report::terminal(&document(idle, full), 100, false)
    }

    #[test]
    fn too_deep_choices_have_their_cost_and_a_limit_to_try() {
        insta::assert_snapshot!(text(&idle(400, 20), false));
    }

    #[test]
    fn sleeps_of_a_trace_have_ends_and_lengths() {
        let woken = |by, title: &str, sleeps| Woken {
            by,
            cause: None,
            title: title.to_owned(),
            chain: Chain::default(),
            sleeps,
            total_ns: sleeps * 70_000,
            too_deep: Some(sleeps / 2),
        };
        let class = |from_ns, below_ns, states: [u64; 3]| LengthClass {
            from_ns,
            below_ns,
            sleeps: states.iter().sum(),
            states: states.to_vec(),
        };
        let traced = Idle {
            traced: Some("a record of dyntick".to_owned()),
            woken: vec![
                woken(WokenBy::Timer, "Timed sleep ended (nanosleep, poll, futex timeout)", 1900),
                woken(WokenBy::Device, "Device interrupt: nvme0q1", 100),
            ],
            lengths: vec![
                class(0, Some(1000), [6, 0, 0]),
                class(1000, Some(600_000), [0, 80, 400]),
                class(600_000, None, [0, 0, 1514]),
            ],
            ..idle(400, 20)
        };
        insta::assert_snapshot!(text(&traced, false));
    }

    #[test]
    fn right_choices_are_left_alone() {
        let limits = LatencyLimits {
            of_all_us: Some(200),
            held_by: ["cyclictest".to_owned()].into(),
            of_cpus_us: [(1, 20)].into(),
        };
        insta::assert_snapshot!(text(&Idle { limits: Some(limits), ..idle(30, 20) }, true));
    }

    #[test]
    fn every_answer_is_a_sentence() {
        let answer = |idle: &Idle| lead(idle).remove(0);
        let none = Idle { cpus: Vec::new(), judged: judge(&[]), ..idle(0, 0) };
        let mut unknown = idle(0, 0);
        unknown.cpus.iter_mut().flat_map(|cpu| &mut cpu.states).for_each(|state| state.too_deep = None);
        unknown.judged = judge(&unknown.cpus);
        let mut slept = idle(0, 0);
        slept.cpus.iter_mut().flat_map(|cpu| &mut cpu.states).for_each(|state| state.entries = 0);
        slept.judged = judge(&slept.cpus);
        let mut few = idle(0, 0);
        few.cpus.iter_mut().flat_map(|cpu| &mut cpu.states).for_each(|state| state.entries = 4);
        few.judged = judge(&few.cpus);
        let all = [none, unknown, slept, few, idle(0, 900)].map(|idle| answer(&idle)).join("\n");
        insta::assert_snapshot!(all);
    }
}
