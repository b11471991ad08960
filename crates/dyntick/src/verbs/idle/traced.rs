// SPDX-License-Identifier: GPL-2.0-only
//! The sleeps of a record, or of another tool's trace: the use of states, what ended each, and how long they were.

use anyhow::{Context, Result, anyhow, bail};
use dyntick_contract::idle::{Idle, Woken, WokenBy};
use dyntick_explain::{CauseId, Chain, Interruption, rules};
use dyntick_idle::usage::{CpuUse, StateUse, judge};
use dyntick_idle::{Account, Miss, Observed, Sleep, State, States, Wake, account, lengths, observe};
use dyntick_model::{CpuList, Interrupt, Machine, StateReading};
use dyntick_record::{About, FileError, Record, without_numbers};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

/// The event of idle states, and that of the kernel's judgement of them.
const CPU_IDLE: &str = "power:cpu_idle";
const CPU_IDLE_MISS: &str = "power:cpu_idle_miss";

/// Opens a record or a trace; `None` for any other file, and for a pipe, which could not be read again.
pub fn open(path: &Path) -> Result<Option<Record>> {
    if !path.is_file() {
        return Ok(None);
    }
    match Record::open(path) {
        Ok(record) => Ok(Some(record)),
        Err(FileError::Foreign(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Reads the sleeps of a record. `machine` has the states if the record does not.
pub fn idle(
    path: &Path,
    mut record: Record,
    cpus: Option<&CpuList>,
    machine: Option<&Machine>,
) -> Result<Idle> {
    let file = path.display();
    if let Some(cpus) = cpus {
        record.only(cpus).map_err(|reason| anyhow!("cannot judge {file}: {reason}"))?;
    }
    let about = &record.about;
    let decoded = record.trace.decode().with_context(|| format!("cannot read {file}"))?;
    let mut observed = observe(&decoded.events, about.machine.hz);
    observed.sleeps.retain(|sleep| is_within(about, sleep));
    if observed.sleeps.is_empty() {
        bail!("cannot judge {file}: it has no sleep ({CPU_IDLE}); record with `dyntick record --idle`");
    }
    let given = machine.map(|machine| States::from(&machine.idle)).unwrap_or_default();
    if let Some(machine) = machine {
        let deepest = observed.sleeps.iter().map(|sleep| sleep.state).max().unwrap_or(0);
        if about.idle.is_some() {
            bail!("cannot judge {file} by --machine: it has the idle states of its own machine");
        }
        if deepest >= given.0.len() {
            bail!(
                "cannot judge {file} by --machine: it has a state {deepest}, and {} has only {} states, from 0 on",
                machine.name,
                given.0.len()
            );
        }
    }
    let counts_misses = match &about.foreign {
        Some(foreign) => foreign.source.events.contains_key(CPU_IDLE_MISS),
        None => false,
    };
    let used: Vec<CpuUse> =
        about.cpus.iter().map(|cpu| use_of(cpu, about, &given, &observed, counts_misses)).collect();
    let known = common_states(about, &given);
    let states = used.iter().map(|cpu| cpu.states.len()).max().unwrap_or(0);
    let (begin, end) = about.window_ns;
    let named = |name: fn(&dyntick_record::IdleStates) -> &String| {
        about.idle.as_ref().map(name).filter(|name| !name.is_empty()).cloned()
    };
    Ok(Idle {
        files: vec![path.to_owned()],
        traced: Some(match &about.foreign {
            Some(foreign) => foreign.source.format.clone(),
            None => "a record of dyntick".to_owned(),
        }),
        seconds: Some(end.saturating_sub(begin) as f64 / 1e9),
        since_boot: false,
        of_interval: false,
        driver: named(|idle| &idle.driver),
        governor: named(|idle| &idle.governor),
        limits: about.idle.as_ref().and_then(|idle| idle.limits.clone()),
        judged: judge(&used),
        woken: woken(about, &given, &observed.sleeps, &record.interruptions(&decoded)),
        lengths: lengths(&known, states, observed.sleeps.iter()),
        cpus: used,
    })
}

/// Returns true for a sleep of a recorded CPU that ended while it was recorded.
fn is_within(about: &About, sleep: &Sleep) -> bool {
    let (begin, end) = about.window_ns;
    about.cpus.contains(sleep.cpu) && (begin..end).contains(&sleep.exit_ns)
}

/// The states of a CPU: those of the record, else the given ones, which are empty if they are not known.
fn states_of(about: &About, given: &States, cpu: u32) -> States {
    if about.idle.is_none() {
        return given.clone();
    }
    let readings = about.idle.as_ref().and_then(|idle| idle.states.get(&cpu));
    let state = |reading: &StateReading| State { disabled: reading.disabled, ..reading.into() };
    States(readings.into_iter().flatten().map(state).collect())
}

/// The states that all recorded CPUs have; empty if they differ or are not known.
fn common_states(about: &About, given: &States) -> States {
    let mut all = about.cpus.iter().map(|cpu| states_of(about, given, cpu));
    let first = all.next().unwrap_or_default();
    if all.all(|other| other == first) { first } else { States::default() }
}

/// The use of the states of a CPU, as its kernel counts it. Without known states only the kernel's own judgements, if
/// they were recorded, show which sleeps were wrong.
fn use_of(cpu: u32, about: &About, given: &States, observed: &Observed, counts_misses: bool) -> CpuUse {
    let known = states_of(about, given, cpu);
    if !known.0.is_empty() {
        let accounts = account(&known, observed, cpu, about.window_ns, 0);
        let states = known.0.iter().zip(accounts).map(|(state, account)| of_known(state, &account));
        return CpuUse { cpu, states: states.collect() };
    }
    let own = || observed.sleeps.iter().filter(|sleep| sleep.cpu == cpu);
    let states = own().map(|sleep| sleep.state + 1).max().unwrap_or(0);
    let misses = |state: usize, miss: Miss| {
        let told = observed.told.iter().filter(|(ns, of, told, what)| {
            let is_within = (about.window_ns.0..about.window_ns.1).contains(ns);
            is_within && (*of, *told, *what) == (cpu, state, miss)
        });
        counts_misses.then(|| told.count() as u64)
    };
    let state = |state: usize| {
        let sleeps = own().filter(|sleep| sleep.state == state);
        let (entries, ns) = sleeps.fold((0, 0), |(count, ns), sleep| (count + 1, ns + sleep.duration_ns()));
        StateUse {
            name: format!("state{state}"),
            entries,
            time_us: Some(ns / 1000),
            too_deep: misses(state, Miss::Above),
            too_shallow: misses(state, Miss::Below),
            ..StateUse::default()
        }
    };
    CpuUse { cpu, states: (0..states).map(state).collect() }
}

fn of_known(state: &State, account: &Account) -> StateUse {
    StateUse {
        name: state.name.clone(),
        exit_latency_us: Some(state.exit_latency_ns / 1000),
        target_residency_us: Some(state.target_residency_ns / 1000),
        disabled: Some(state.disabled),
        entries: account.usage,
        time_us: Some(account.time_ns / 1000),
        too_deep: Some(account.above),
        too_shallow: Some(account.below),
        rejected: None,
    }
}

/// The ends of sleeps that are alike: by kind, cause, and the texts of the chain without the numbers of tasks.
type Key = (WokenBy, Option<String>, String, Vec<String>);

/// The ends of the sleeps, the most frequent first. The cause of one is that of the first interruption after it.
fn woken(about: &About, given: &States, sleeps: &[Sleep], interruptions: &[Interruption]) -> Vec<Woken> {
    let known: BTreeMap<u32, States> =
        about.cpus.iter().map(|cpu| (cpu, states_of(about, given, cpu))).collect();
    let mut of_cpus: BTreeMap<u32, Vec<&Interruption>> = BTreeMap::new();
    interruptions.iter().for_each(|one| of_cpus.entry(one.cpu).or_default().push(one));
    of_cpus.values_mut().for_each(|own| own.sort_by_key(|one| (one.start_ns, Reverse(one.end_ns()))));
    let mut sums: BTreeMap<Key, Woken> = BTreeMap::new();
    for (place, sleep) in sleeps.iter().enumerate() {
        let until =
            sleeps.get(place + 1).filter(|next| next.cpu == sleep.cpu).map_or(u64::MAX, |next| next.entry_ns);
        let own = of_cpus.get(&sleep.cpu).map_or(&[][..], Vec::as_slice);
        let first = own.get(own.partition_point(|one| one.start_ns < sleep.exit_ns));
        let first = first.filter(|one| one.start_ns <= until && has_interrupt(&sleep.wake));
        let ended = ended(sleep, first.copied());
        let texts = ended.chain.texts().iter().map(|text| without_numbers(text)).collect();
        let cause = ended.cause.as_ref().map(ToString::to_string);
        let sum = sums.entry((ended.by, cause, ended.title.clone(), texts)).or_insert(ended);
        sum.sleeps += 1;
        sum.total_ns += sleep.duration_ns();
        if let Some(states) = known.get(&sleep.cpu).filter(|states| !states.0.is_empty()) {
            let is_too_deep = states.judge(sleep.state, sleep.duration_ns()) == Some(Miss::Above);
            *sum.too_deep.get_or_insert(0) += u64::from(is_too_deep);
        }
    }
    let mut all: Vec<Woken> = sums.into_values().collect();
    all.sort_by_key(|one| Reverse(one.sleeps));
    all
}

fn has_interrupt(wake: &Wake) -> bool {
    !matches!(wake, Wake::Flag | Wake::Unknown)
}

/// The end of a sleep, without counts.
fn ended(sleep: &Sleep, first: Option<&Interruption>) -> Woken {
    let (by, words) = match &sleep.wake {
        Wake::Timer(Some(function)) => (WokenBy::Timer, format!("timer: {function}")),
        Wake::Timer(None) => (WokenBy::Timer, "timer".to_owned()),
        Wake::Device(name) => (WokenBy::Device, format!("device: {name}")),
        Wake::Interrupt(interrupt) => (by_interrupt(*interrupt), format!("interrupt: {}", interrupt.name())),
        Wake::Flag => {
            (WokenBy::Flag, "no interrupt: another CPU set the flag that this one must reschedule".to_owned())
        }
        Wake::Unknown => (WokenBy::Unknown, "not recorded".to_owned()),
    };
    let cause: Option<CauseId> = first.map(|one| one.cause.clone());
    let named = cause.as_ref().filter(|cause| rules::get(cause).names_origin);
    Woken {
        by,
        title: named.map_or(words, rules::title),
        chain: first.map_or_else(Chain::default, |one| one.chain.clone()),
        cause,
        sleeps: 0,
        total_ns: 0,
        too_deep: None,
    }
}

fn by_interrupt(interrupt: Interrupt) -> WokenBy {
    match interrupt {
        Interrupt::Timer => WokenBy::Timer,
        Interrupt::Reschedule | Interrupt::FunctionCall | Interrupt::FunctionCallSingle => WokenBy::OtherCpu,
        _ => WokenBy::Interrupt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU 1 sleeps until CPU 0 wakes a task, until its tick, and until a device.
    const TEXT: &str = "# tracer: nop
 <idle>-0 [001] d..1. 1.000000: cpu_idle: state=2 cpu_id=1
 app-7 [000] d..2. 1.000100: sched_wakeup: comm=other pid=8 prio=120 target_cpu=001
 app-7 [000] d..2. 1.000101: ipi_send_cpu: cpu=1 callsite=resched_curr+0x1 callback=0x0
 <idle>-0 [001] d..1. 1.000105: cpu_idle: state=4294967295 cpu_id=1
 <idle>-0 [001] d.h1. 1.000106: reschedule_entry: vector=253
 <idle>-0 [001] d.h1. 1.000108: reschedule_exit: vector=253
 <idle>-0 [001] d..1. 1.000200: cpu_idle: state=1 cpu_id=1
 <idle>-0 [001] d..1. 1.004000: cpu_idle: state=4294967295 cpu_id=1
 <idle>-0 [001] d.h1. 1.004001: local_timer_entry: vector=236
 <idle>-0 [001] d.h1. 1.004002: hrtimer_expire_entry: hrtimer=0xff function=hrtimer_wakeup now=4
 <idle>-0 [001] d.h1. 1.004003: hrtimer_expire_exit: hrtimer=0xff
 <idle>-0 [001] d.h1. 1.004004: local_timer_exit: vector=236
 <idle>-0 [001] d..1. 1.004100: cpu_idle_miss: cpu_id=1 state=1 type=below
 <idle>-0 [001] d..1. 1.005000: cpu_idle: state=0 cpu_id=1
 <idle>-0 [001] d..1. 1.005500: cpu_idle: state=4294967295 cpu_id=1
 <idle>-0 [001] d.h1. 1.005501: irq_handler_entry: irq=24 name=nvme0q1
 <idle>-0 [001] d.h1. 1.005502: irq_handler_exit: irq=24 ret=handled
 <idle>-0 [001] d..1. 1.006000: cpu_idle: state=0 cpu_id=1
";

    #[test]
    fn sleeps_have_what_ended_them() {
        let record = Record::read_from(TEXT.as_bytes(), Path::new("x")).unwrap();
        let idle = idle(Path::new("x"), record, Some(&"1".parse().unwrap()), None).unwrap();
        let woken: Vec<(WokenBy, String, u64)> = idle
            .woken
            .iter()
            .map(|one| (one.by, one.cause.as_ref().map_or(String::new(), ToString::to_string), one.total_ns))
            .collect();
        let expected = [
            (WokenBy::Timer, "hrtimer:hrtimer_wakeup".to_owned(), 3_800_000),
            (WokenBy::Device, "device:nvme0q1".to_owned(), 500_000),
            (WokenBy::OtherCpu, "wakeup:other".to_owned(), 105_000),
        ];
        assert_eq!(woken, expected);
        assert!(idle.woken[2].chain.texts()[0].starts_with("app [7]"), "{:?}", idle.woken[2].chain.texts());
        let states: Vec<(u64, Option<u64>)> =
            idle.cpus[0].states.iter().map(|state| (state.entries, state.too_shallow)).collect();
        assert_eq!(states, [(1, Some(0)), (1, Some(1)), (1, Some(0))]);
        let lengths: Vec<u64> = idle.lengths.iter().map(|class| class.sleeps).collect();
        assert_eq!(lengths, [0, 0, 0, 2, 1, 0, 0, 0]);
    }

    #[test]
    fn sleeps_of_a_trace_are_judged_by_the_states_of_a_machine() {
        let machine = dyntick_study::machine::find("sapphire-rapids").unwrap();
        let record = || Record::read_from(TEXT.as_bytes(), Path::new("x")).unwrap();
        let judged = idle(Path::new("x"), record(), None, Some(&machine)).unwrap();
        let states = &machine.idle.states;
        let used = judged.cpus.iter().find(|cpu| cpu.cpu == 1).unwrap();
        let names: Vec<&str> = used.states.iter().map(|state| state.name.as_str()).collect();
        assert_eq!(names, states.iter().map(|state| state.name.as_str()).collect::<Vec<_>>());
        let misses: Vec<Option<u64>> = used.states.iter().map(|state| state.too_shallow).collect();
        assert!(misses.iter().all(Option::is_some), "{misses:?}");
        assert_eq!(judged.lengths[1].from_ns, states[1].target_residency_ns);
        let deeper = TEXT.replace("state=2", "state=9");
        let record = Record::read_from(deeper.as_bytes(), Path::new("x")).unwrap();
        let error = idle(Path::new("x"), record, None, Some(&machine)).unwrap_err().to_string();
        assert!(error.contains("it has a state 9, and sapphire-rapids has only"), "{error}");
    }

    #[test]
    fn trace_without_sleeps_is_refused() {
        let text = "# tracer: nop\napp-7 [001] d..1. 1.000001: softirq_raise: vec=9 [action=RCU]\n";
        let record = Record::read_from(text.as_bytes(), Path::new("x")).unwrap();
        let error = idle(Path::new("x"), record, None, None).unwrap_err().to_string();
        assert!(error.contains("it has no sleep (power:cpu_idle)"), "{error}");
    }
}
