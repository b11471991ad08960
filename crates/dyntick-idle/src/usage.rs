// SPDX-License-Identifier: GPL-2.0-only
//! The use of idle states by the kernel's own counters, between two moments or since the boot, and what it cost.

use dyntick_model::IdleSnapshot;
use schemars::JsonSchema;
use serde::Serialize;

/// The use of an idle state of a CPU. What the counters do not have is null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StateUse {
    /// The name, as `C6`.
    pub name: String,
    /// The exit latency that the kernel knows, µs.
    pub exit_latency_us: Option<u64>,
    /// The target residency: a shorter sleep does not pay, µs.
    pub target_residency_us: Option<u64>,
    /// True if it is disabled.
    pub disabled: Option<bool>,
    /// The sleeps in it that ended.
    pub entries: u64,
    /// Their duration, µs.
    pub time_us: Option<u64>,
    /// The sleeps that were shorter than the target residency while a shallower state was enabled (`above`).
    pub too_deep: Option<u64>,
    /// The sleeps that were long enough for a deeper enabled state (`below`).
    pub too_shallow: Option<u64>,
    /// The entries that the driver or the hardware refused.
    pub rejected: Option<u64>,
}

/// The use of the idle states of a CPU, the shallowest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CpuUse {
    /// The CPU.
    pub cpu: u32,
    /// Its states.
    pub states: Vec<StateUse>,
}

/// A counter that is smaller at the second moment: the machine was booted in between.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the counter '{counter}' of state {state} of CPU {cpu} was {before} and is {after}")]
pub struct Backwards {
    cpu: u32,
    state: u32,
    counter: String,
    before: u64,
    after: u64,
}

/// The use between two moments; since the boot without a first one. CPUs and states of the second moment alone count
/// from 0.
///
/// # Errors
/// A counter that went backwards.
pub fn usage(first: Option<&IdleSnapshot>, last: &IdleSnapshot) -> Result<Vec<CpuUse>, Backwards> {
    let mut cpus: Vec<CpuUse> = Vec::new();
    for (&(cpu, state), counted) in last {
        let before = first.and_then(|first| first.get(&(cpu, state)));
        let since = |counter: &str| {
            let Some(&after) = counted.counters.get(counter) else { return Ok(None) };
            let before = before.and_then(|before| before.counters.get(counter)).copied().unwrap_or(0);
            let backwards = Backwards { cpu, state, counter: counter.to_owned(), before, after };
            after.checked_sub(before).map(Some).ok_or(backwards)
        };
        let Some(entries) = since("usage")? else { continue };
        let known = |own: Option<u64>, other: Option<Option<u64>>| own.or(other.flatten());
        let used = StateUse {
            name: [Some(counted), before]
                .into_iter()
                .flatten()
                .map(|state| state.name.clone())
                .find(|n| !n.is_empty())
                .unwrap_or_else(|| format!("state{state}")),
            exit_latency_us: known(counted.latency_us, before.map(|before| before.latency_us)),
            target_residency_us: known(counted.residency_us, before.map(|before| before.residency_us)),
            disabled: counted.disabled.or(before.and_then(|before| before.disabled)),
            entries,
            time_us: since("time")?,
            too_deep: since("above")?,
            too_shallow: since("below")?,
            rejected: since("rejected")?,
        };
        match cpus.last_mut().filter(|last| last.cpu == cpu) {
            Some(last) => last.states.push(used),
            None => cpus.push(CpuUse { cpu, states: vec![used] }),
        }
    }
    Ok(cpus)
}

/// The sums over states and CPUs, and the judgement of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Judged {
    /// The sleeps that ended.
    pub entries: u64,
    /// The sleeps in a state that was too deep; null if the kernel does not count them.
    pub too_deep: Option<u64>,
    /// The sleeps in a state that was too shallow.
    pub too_shallow: Option<u64>,
    /// The time that the exits of too deep sleeps took at most, µs: their number times the exit latency of their state,
    /// which is the kernel's worst case. Null without counters or latencies.
    pub exits_us: Option<u64>,
    /// The judgement.
    pub ruling: Ruling,
}

/// The judgement of the choices of an idle governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// There are no idle states, or none was entered.
    NoneEntered,
    /// The kernel does not count which choices were wrong.
    Unknown,
    /// There are fewer than [`FEW`] sleeps.
    TooFew,
    /// At least [`MANY`] of 100 sleeps had too deep a state.
    TooDeep,
    /// At least [`MANY`] of 100 sleeps had too shallow a state, and fewer too deep a one.
    TooShallow,
    /// Fewer than that were wrong.
    Right,
}

/// The number of sleeps below which their shares say little.
pub const FEW: u64 = 100;

/// The number of wrong sleeps of 100 that is worth an engineer's attention.
pub const MANY: u64 = 10;

/// Judges the choices on these CPUs.
pub fn judge(cpus: &[CpuUse]) -> Judged {
    let states = || cpus.iter().flat_map(|cpu| &cpu.states);
    let sum = |of: fn(&StateUse) -> Option<u64>| {
        // A state without a counter makes the sum unknown; a dump may lack it for the only state.
        states().map(of).try_fold(0, |sum: u64, count| Some(sum.saturating_add(count?)))
    };
    let entries = sum(|state| Some(state.entries)).unwrap_or_default();
    let has_states = states().next().is_some();
    let [too_deep, too_shallow, exits_us] =
        [sum(|state| state.too_deep), sum(|state| state.too_shallow), sum(exits_us)]
            .map(|sum| sum.filter(|_| has_states));
    let is_many = |wrong: Option<u64>| {
        wrong.is_some_and(|wrong| wrong.saturating_mul(100) >= entries.saturating_mul(MANY))
    };
    let ruling = match () {
        () if entries == 0 => Ruling::NoneEntered,
        () if too_deep.is_none() || too_shallow.is_none() => Ruling::Unknown,
        () if entries < FEW => Ruling::TooFew,
        () if is_many(too_deep) => Ruling::TooDeep,
        () if is_many(too_shallow) => Ruling::TooShallow,
        () => Ruling::Right,
    };
    Judged { entries, too_deep, too_shallow, exits_us, ruling }
}

/// The time that the exits of too deep sleeps in a state took at most, µs.
pub fn exits_us(state: &StateUse) -> Option<u64> {
    match state.too_deep? {
        0 => Some(0),
        wrong => Some(wrong.saturating_mul(state.exit_latency_us?)),
    }
}

/// The state of most too deep sleeps, with its CPU; none if there is no such sleep.
pub fn worst(cpus: &[CpuUse]) -> Option<(u32, &StateUse)> {
    let all = cpus.iter().flat_map(|cpu| cpu.states.iter().map(move |state| (cpu.cpu, state)));
    all.filter(|(_, state)| state.too_deep > Some(0))
        .max_by_key(|(_, state)| (exits_us(state), state.too_deep))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_model::CountedState;

    fn state(name: &str, latency_us: u64, counters: &[(&str, u64)]) -> CountedState {
        CountedState {
            name: name.to_owned(),
            latency_us: Some(latency_us),
            counters: counters.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
            ..CountedState::default()
        }
    }

    fn snapshot(entries: u64, above: u64, below: u64) -> IdleSnapshot {
        let poll = state("POLL", 0, &[("usage", 0), ("time", 0), ("above", 0), ("below", 0)]);
        let c6 = state(
            "C6",
            130,
            &[("usage", entries), ("time", 1000 * entries), ("above", above), ("below", below)],
        );
        [((1, 0), poll), ((1, 1), c6)].into()
    }

    #[test]
    fn the_difference_is_used_and_judged_by_its_shares() {
        let ruling = |entries: u64, above: u64, below: u64| {
            let cpus =
                usage(Some(&snapshot(1000, 7, 5)), &snapshot(1000 + entries, 7 + above, 5 + below)).unwrap();
            judge(&cpus).ruling
        };
        assert_eq!(ruling(1000, 100, 500), Ruling::TooDeep);
        assert_eq!(ruling(1000, 99, 100), Ruling::TooShallow);
        assert_eq!(ruling(1000, 99, 99), Ruling::Right);
        assert_eq!(ruling(99, 99, 0), Ruling::TooFew);
        assert_eq!(ruling(0, 0, 0), Ruling::NoneEntered);
        assert_eq!(judge(&[]).ruling, Ruling::NoneEntered);
        let cpus = usage(None, &snapshot(1000, 200, 10)).unwrap();
        let judged = judge(&cpus);
        assert_eq!(
            (judged.too_deep, judged.too_shallow, judged.exits_us),
            (Some(200), Some(10), Some(26_000))
        );
        let (cpu, state) = worst(&cpus).unwrap();
        assert_eq!((cpu, state.name.as_str(), state.time_us), (1, "C6", Some(1_000_000)));
    }

    #[test]
    fn what_is_not_counted_is_unknown() {
        let mut old = snapshot(1000, 0, 0);
        for state in old.values_mut() {
            state.counters.retain(|name, _| name == "usage" || name == "time");
        }
        let judged = judge(&usage(None, &old).unwrap());
        assert_eq!((judged.too_deep, judged.exits_us, judged.ruling), (None, None, Ruling::Unknown));
        let mut unknown = snapshot(1000, 200, 0);
        unknown.get_mut(&(1, 1)).unwrap().latency_us = None;
        assert_eq!(judge(&usage(None, &unknown).unwrap()).exits_us, None);
    }

    #[test]
    fn counters_that_go_backwards_are_of_two_boots() {
        let error = usage(Some(&snapshot(1000, 1, 1)), &snapshot(10, 1, 1)).unwrap_err();
        assert_eq!(error.to_string(), "the counter 'usage' of state 1 of CPU 1 was 1000 and is 10");
    }
}
