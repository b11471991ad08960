// SPDX-License-Identifier: GPL-2.0-only
//! The keys of figures.

use super::super::limits::is_event;
use super::unknown;
use dyntick_explain::{Kind, rules};
use dyntick_model::{Interrupt, Softirq, TickDependency};

/// Shares at which distributions are shown and compared, with their names as figures.
pub const QUANTILES: [(&str, f64); 11] = [
    ("p1", 0.01),
    ("p5", 0.05),
    ("p10", 0.1),
    ("p25", 0.25),
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p99", 0.99),
    ("p99.9", 0.999),
    ("p99.99", 0.9999),
];

/// Functions of any kernel, rows of any `/proc/interrupts`, and whatever a tool prints.
pub fn any(_: &str, _: &str) -> Result<(), String> {
    Ok(())
}

fn one_of(name: &str, key: &str, known: &[&str]) -> Result<(), String> {
    if known.contains(&key) { Ok(()) } else { Err(unknown(name, key, known)) }
}

pub fn softirq(name: &str, key: &str) -> Result<(), String> {
    let known: Vec<&str> = (0..).map_while(Softirq::from_number).map(Softirq::kernel_name).collect();
    one_of(name, key, &known)
}

pub fn dependency(name: &str, key: &str) -> Result<(), String> {
    let known = (0..6).filter_map(|bit| TickDependency::from_mask(1 << bit).ok());
    one_of(name, key, &known.map(TickDependency::kernel_name).collect::<Vec<_>>())
}

pub fn kind(name: &str, key: &str) -> Result<(), String> {
    one_of(name, key, &Kind::NAMES)
}

pub fn vector(name: &str, key: &str) -> Result<(), String> {
    one_of(name, key, &Interrupt::ALL.map(Interrupt::name))
}

pub fn event(_: &str, key: &str) -> Result<(), String> {
    if is_event(key) { Ok(()) } else { Err(format!("'{key}' is not of the form system:name")) }
}

/// The members of a class are open (any work function), its classes are not.
pub fn cause(_: &str, cause: &str) -> Result<(), String> {
    let class = |id: &'static str| id.split(':').next().unwrap_or(id);
    let ids: Vec<&str> = rules::all().iter().map(|rule| rule.id).collect();
    let of_class = cause.split_once(':').is_some_and(|(own, _)| ids.iter().any(|id| class(id) == own));
    if of_class { Ok(()) } else { one_of("cause", cause, &ids) }
}

pub fn latency(name: &str, key: &str) -> Result<(), String> {
    one_of(name, key, &quantiles(&["mean"]))
}

fn quantiles(more: &[&'static str]) -> Vec<&'static str> {
    QUANTILES.iter().map(|(name, _)| *name).chain(more.iter().copied()).collect()
}

/// Parts whose energy is modelled: the measured CPUs' cores, what a package shares, and all together.
pub fn energy(name: &str, key: &str) -> Result<(), String> {
    let part = key.strip_suffix("_low").or_else(|| key.strip_suffix("_high")).unwrap_or(key);
    one_of(name, part, &["cores", "package", "total"])
}

/// `STATE:WHAT`, or `WHAT` of all states; the states are the machine's.
pub fn idle(name: &str, key: &str) -> Result<(), String> {
    let of_all = ["usage", "time", "resident", "above", "below", "misses"];
    let of_one = ["usage", "time", "resident", "above", "below", "longest"];
    match key.rsplit_once(':') {
        None => one_of(name, key, &of_all),
        Some((_, what)) => one_of(name, what, &of_one),
    }
}

pub fn cpuidle(name: &str, key: &str) -> Result<(), String> {
    let (state, what) = key.rsplit_once(':').unwrap_or(("", key));
    one_of(name, what, &["usage", "time", "above", "below", "rejected"])?;
    if state.is_empty() {
        return Err(format!("'{key}' needs a state, as in {name}:C6:{what}"));
    }
    Ok(())
}

pub fn wakeup(name: &str, key: &str) -> Result<(), String> {
    let what = key.rsplit_once(':').map_or(key, |(_, what)| what);
    one_of(name, what, &quantiles(&["min", "max", "mean", "count"]))
}
