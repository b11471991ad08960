// SPDX-License-Identifier: GPL-2.0-only
//! The parser of machine files: from text to a [`Machine`]. All problems are reported at once, with their places; a
//! wrong value is read as its default.

use crate::keys::machine as keys;
use crate::reader::{self, Problems, Section, Value};
use dyntick_model::units::Nanos;
use dyntick_model::{Basis, IdleState, IdleTable, Machine, MeasuredExit, PackageState, Power, Quantile};
use std::collections::BTreeMap;
use std::path::Path;

/// The longest names that the kernel keeps: `CPUIDLE_NAME_LEN` and `CPUIDLE_DESC_LEN` of
/// `include/linux/cpuidle.h`, 6.1 to 7.2, without the closing zero.
const LONGEST_NAME: usize = 15;
const LONGEST_DESCRIPTION: usize = 31;

/// Reads a machine; `path` is for messages and for its name.
pub fn machine(path: &Path, text: &str) -> Result<Machine, Problems> {
    reader::read(path, text, "a machine", |root| read(root, path))
}

fn read(root: Section<'_, '_, '_>, path: &Path) -> Machine {
    root.only(&keys::MACHINE);
    let sources = sources(root);
    let power = |key: &str, name| match root.required(key) {
        Some(_) => root.section(key, name).map_or_else(no_power, |table| read_power(table, &sources)),
        None => no_power(),
    };
    let number = |value: &Value<'_>| root.source.number("cores", value, 1..=1024);
    Machine {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        title: root.required_text("title").unwrap_or_default(),
        description: root.text("description").unwrap_or_default().trim().replace('\n', " "),
        cores: root.required("cores").and_then(number).unwrap_or(1),
        active: power("active", "[active]"),
        uncore: power("uncore", "[uncore]"),
        idle: table(root, &sources),
        sources,
    }
}

type Sources = BTreeMap<String, String>;

fn sources(root: Section<'_, '_, '_>) -> Sources {
    let Some(section) = root.required("sources").and_then(|_| root.section("sources", "[sources]")) else {
        return Sources::new();
    };
    let read = |(key, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &Value<'_>)| {
        let key = key.get_ref().to_string();
        let text = section.source.text(&key, value).unwrap_or_default();
        (key, text)
    };
    section.table.iter().map(read).collect()
}

/// The key of a source that `[sources]` names.
fn source_of(table: Section<'_, '_, '_>, sources: &Sources) -> String {
    let Some(value) = table.required("source") else { return String::new() };
    let key = table.source.text("source", value).unwrap_or_default();
    if !key.is_empty() && !sources.contains_key(&key) {
        let known = sources.keys().cloned().collect::<Vec<_>>().join(", ");
        table.source.problem(start(value), format!("source: [sources] has no '{key}', it has {known}"));
    }
    key
}

fn read_power(table: Section<'_, '_, '_>, sources: &Sources) -> Power {
    table.only(&keys::POWER);
    let watts = |key: &str| table.get(key).and_then(|value| table.source.decimal(key, value));
    let value = table.required("watts").and_then(|value| table.source.decimal("watts", value)).unwrap_or(0.0);
    let power = Power {
        watts: value,
        low: watts("low").unwrap_or(value),
        high: watts("high").unwrap_or(value),
        basis: basis(table).unwrap_or(Basis::Measured),
        source: source_of(table, sources),
        remark: table.text("remark").unwrap_or_default(),
    };
    let refuse = |key: &str, message: String| {
        table.source.problem(table.get(key).map_or(table.at, start), message);
    };
    if power.low < 0.0 || power.low > power.watts || power.watts > power.high {
        refuse(
            "watts",
            format!(
                "low, watts and high must rise and not be negative, not {}, {}, {}",
                power.low, power.watts, power.high
            ),
        );
    }
    if power.basis == Basis::Estimated {
        for key in ["low", "high"].into_iter().filter(|key| table.get(key).is_none()) {
            refuse("basis", format!("an estimate has a range: '{key}' is missing"));
        }
        if power.remark.is_empty() {
            refuse("basis", "an estimate needs a 'remark' that says how it was made".into());
        }
    }
    power
}

fn basis(table: Section<'_, '_, '_>) -> Option<Basis> {
    let value = table.required("basis")?;
    match table.source.text("basis", value)?.as_str() {
        "measured" => Some(Basis::Measured),
        "estimated" => Some(Basis::Estimated),
        other => {
            let message = format!("basis: '{other}' is neither \"measured\" nor \"estimated\"");
            table.source.problem(start(value), message);
            None
        }
    }
}

fn no_power() -> Power {
    let (source, remark) = Default::default();
    Power { watts: 0.0, low: 0.0, high: 0.0, basis: Basis::Estimated, source, remark }
}

fn table(root: Section<'_, '_, '_>, sources: &Sources) -> IdleTable {
    let sections = root.sections("state", "[[state]]");
    if sections.is_empty() {
        root.source.problem(root.at, "a machine has at least one [[state]]");
    }
    if let Some(section) = sections.get(IdleTable::MOST_STATES) {
        let message =
            format!("the kernel has at most {} idle states (CPUIDLE_STATE_MAX)", IdleTable::MOST_STATES);
        root.source.problem(section.at, message);
    }
    let mut states: Vec<IdleState> = Vec::new();
    for section in sections {
        let state = state(section, sources);
        if let Some(shallower) = states.last() {
            refuse_descent(section, shallower, &state);
        }
        if states.iter().any(|other| other.name == state.name) {
            let at = section.get("name").map_or(section.at, start);
            section.source.problem(at, format!("two states are called '{}'", state.name));
        }
        states.push(state);
    }
    let packages = root.sections("package-state", "[[package-state]]");
    let package_states =
        packages.into_iter().map(|section| package_state(section, &states, sources)).collect();
    IdleTable { states, package_states, ..IdleTable::default() }
}

fn state(section: Section<'_, '_, '_>, sources: &Sources) -> IdleState {
    section.only(&keys::STATE);
    let flag =
        |key: &str| section.get(key).and_then(|value| section.source.switch(key, value)).unwrap_or(false);
    let power = section.required("power").and_then(|_| section.section("power", "power"));
    let measured = section.section("measured", "measured");
    let state = IdleState {
        name: short(section, "name", LONGEST_NAME, true),
        description: short(section, "description", LONGEST_DESCRIPTION, false),
        exit_latency_ns: required_duration(section, "exit-latency"),
        target_residency_ns: required_duration(section, "target-residency"),
        entry_ns: duration(section, "entry").unwrap_or(0),
        polling: flag("polling"),
        tlb_flushed: flag("tlb-flushed"),
        irq_enable: flag("irq-enable"),
        unusable: flag("unusable"),
        off: flag("off"),
        power: power.map_or_else(no_power, |table| read_power(table, sources)),
        measured: measured.map(|table| measured_exit(table, sources)),
        source: source_of(section, sources),
    };
    if state.target_residency_ns < state.exit_latency_ns && !flag("residency-below-latency") {
        let at = section.get("target-residency").map_or(section.at, start);
        let message = "target-residency is below exit-latency: were they swapped? Where the source \
                       really says so, add residency-below-latency = true";
        section.source.problem(at, message);
    }
    state
}

/// Refuses states out of order. From state to state latency and residency must not fall and power must not rise: the
/// governors rely on it.
fn refuse_descent(section: Section<'_, '_, '_>, shallower: &IdleState, state: &IdleState) {
    let refuse = |key: &str, what: &str| {
        let at = section.get(key).map_or(section.at, start);
        let message = format!(
            "{key}: {what} that of the shallower state '{}'; states go from the shallowest to the deepest",
            shallower.name
        );
        section.source.problem(at, message);
    };
    if state.exit_latency_ns < shallower.exit_latency_ns {
        refuse("exit-latency", "is below");
    }
    if state.target_residency_ns < shallower.target_residency_ns {
        refuse("target-residency", "is below");
    }
    if state.power.watts > shallower.power.watts {
        refuse("power", "is above");
    }
    if state.polling {
        refuse("polling", "only the first state can poll, not one below");
    }
}

fn measured_exit(table: Section<'_, '_, '_>, sources: &Sources) -> MeasuredExit {
    table.only(&keys::MEASURED);
    MeasuredExit {
        exit_latency_ns: required_duration(table, "exit-latency"),
        quantiles: table.get("quantiles").map_or(Vec::new(), |value| quantiles(table, value)),
        source: source_of(table, sources),
        remark: table.required_text("remark").unwrap_or_default(),
    }
}

/// Parses `[[0, "87us"], [50, "97us"], [100, "153us"]]`: each a share in percent, and the time that this share of all
/// exits does not exceed.
fn quantiles(table: Section<'_, '_, '_>, value: &Value<'_>) -> Vec<Quantile> {
    let list = table.source.list("quantiles", value).unwrap_or_default();
    let Some(points) = list.into_iter().map(|point| quantile(table, point)).collect::<Option<Vec<_>>>()
    else {
        return Vec::new();
    };
    let rise = |pair: &[Quantile]| pair[0].millionths < pair[1].millionths && pair[0].ns <= pair[1].ns;
    let ends = [points.first(), points.last()].map(|end| end.map(|point| point.millionths));
    if !points.windows(2).all(rise) || ends != [Some(0), Some(Quantile::ALL)] {
        let message = "quantiles: they must rise from [0, …] to [100, …], in percent and in time";
        table.source.problem(start(value), message);
    }
    if points.len() > IdleState::MOST_QUANTILES {
        let message = format!("quantiles: the emulator has room for {}", IdleState::MOST_QUANTILES);
        table.source.problem(start(value), message);
    }
    points
}

fn quantile(table: Section<'_, '_, '_>, point: &Value<'_>) -> Option<Quantile> {
    let pair = table.source.list("quantiles", point)?;
    let [percent, time] = pair[..] else {
        table.source.problem(start(point), "quantiles: a point is [PERCENT, \"TIME\"]");
        return None;
    };
    let share = table.source.decimal("quantiles", percent)?;
    let Nanos(ns) = table.source.parse::<Nanos>("quantiles", time)?;
    if !(0.0..=100.0).contains(&share) {
        table.source.problem(start(percent), format!("quantiles: {share} is not from 0 to 100 percent"));
        return None;
    }
    Some(Quantile { millionths: (share * f64::from(Quantile::ALL) / 100.0).round() as u32, ns })
}

fn package_state(section: Section<'_, '_, '_>, states: &[IdleState], sources: &Sources) -> PackageState {
    section.only(&keys::PACKAGE_STATE);
    let power = section.required("power").and_then(|_| section.section("power", "power"));
    let state = PackageState {
        name: short(section, "name", LONGEST_NAME, true),
        needs: needed_state(section, states).unwrap_or(0),
        exit_latency_ns: required_duration(section, "exit-latency"),
        core_exit_latency_ns: required_duration(section, "core-exit-latency"),
        power: power.map_or_else(no_power, |table| read_power(table, sources)),
        source: source_of(section, sources),
    };
    if state.core_exit_latency_ns > state.exit_latency_ns {
        let at = section.get("core-exit-latency").map_or(section.at, start);
        section.source.problem(at, "core-exit-latency is above exit-latency, of which it is a part");
    }
    state
}

fn needed_state(section: Section<'_, '_, '_>, states: &[IdleState]) -> Option<usize> {
    let value = section.required("needs")?;
    let name = section.source.text("needs", value)?;
    let place = states.iter().position(|state| state.name == name);
    if place.is_none() {
        section.source.problem(start(value), format!("needs: there is no state '{name}'"));
    }
    place
}

/// A text that the kernel keeps in a field of a fixed length.
fn short(section: Section<'_, '_, '_>, key: &str, longest: usize, required: bool) -> String {
    let text = if required { section.required_text(key) } else { section.text(key) };
    let text = text.unwrap_or_default();
    let plain = |c: char| c.is_ascii_graphic() || c == ' ';
    let at = section.get(key).map_or(section.at, start);
    if text.len() > longest {
        section.source.problem(at, format!("{key}: the kernel keeps at most {longest} bytes of it"));
    } else if !text.chars().all(plain) || (required && text.is_empty() && section.get(key).is_some()) {
        section.source.problem(at, format!("{key}: '{text}' is not plain ASCII text"));
    }
    text
}

fn required_duration(section: Section<'_, '_, '_>, key: &str) -> u64 {
    section.required(key).and_then(|_| duration(section, key)).unwrap_or(0)
}

fn duration(section: Section<'_, '_, '_>, key: &str) -> Option<u64> {
    section.source.parse::<Nanos>(key, section.get(key)?).map(|Nanos(ns)| ns)
}

fn start(value: &Value<'_>) -> usize {
    value.span().start
}
