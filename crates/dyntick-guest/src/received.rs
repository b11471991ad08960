// SPDX-License-Identifier: GPL-2.0-only
//! The answers of a guest, checked against its limits. Its root can write anything into the pieces of its
//! archive; here they are cut and refused before anything is counted or shown by them.

use crate::Outcome;
use crate::pieces::Guest;
use dyntick_model::text::shortened;
use dyntick_model::{CpuList, LatencyLimits, StateReading};
use dyntick_trace::Metadata;
use std::collections::{BTreeMap, BTreeSet};

/// The longest line of a guest's console or notes that is shown, characters.
const LONGEST_LINE: usize = 300;

/// The longest message of a guest that is shown, characters.
const LONGEST_MESSAGE: usize = 4096;

/// Lines that are kept of a guest's notes; an agent writes a few.
const MOST_NOTES: usize = 100;

/// The kernel's names of tasks have up to 15 characters, those of workers some more in /proc.
const LONGEST_NAME: usize = 64;

/// More tasks than fit into a guest's memory.
const MOST_TASKS: usize = 1 << 16;

/// The kernel's accounts of the idle states of all CPUs at one moment.
pub type Accounts = BTreeMap<u32, Vec<StateReading>>;

/// One line of a guest's words.
pub fn line(text: &str) -> String {
    shortened(text.trim_end(), LONGEST_LINE).replace('\n', " ")
}

/// A message of a guest, which may have several lines.
pub fn message(bytes: &[u8]) -> String {
    // A character has up to four bytes; what is far behind the end of what is shown need not be decoded.
    let head = &bytes[..bytes.len().min(4 * LONGEST_MESSAGE)];
    let mut text = shortened(String::from_utf8_lossy(head).trim_end(), LONGEST_MESSAGE);
    if head.len() < bytes.len() {
        text += &format!(" … ({} bytes in all)", bytes.len());
    }
    text
}

/// The agent's result.
///
/// # Errors
/// If it cannot be true: what then would be wrong in the figures is reported.
pub fn outcome(said: Outcome, guest: Guest<'_>) -> Result<Outcome, String> {
    let (begin, end) = said.window_ns;
    if end < begin {
        return Err(format!("the window ends at {end} ns, before it begins at {begin} ns"));
    }
    if said.task_cpu_ns.len() > guest.tasks {
        return Err(format!("CPU times of {} tasks, of {}", said.task_cpu_ns.len(), guest.tasks));
    }
    let strange = said.settled.restless.difference(&CpuList::first(guest.cpus));
    if !strange.is_empty() {
        return Err(format!("CPUs {strange} were busy, and the guest has {}", guest.cpus));
    }
    let notes = said.notes.iter().take(MOST_NOTES).map(|note| line(note)).collect();
    Ok(Outcome { notes, ..said })
}

/// The names of tasks by their numbers.
///
/// # Errors
/// If there are more than a guest can have.
pub fn comms(said: BTreeMap<i32, String>) -> Result<BTreeMap<i32, String>, String> {
    if said.len() > MOST_TASKS {
        return Err(format!("{} tasks, more than a guest has", said.len()));
    }
    Ok(said.into_iter().map(|(pid, name)| (pid, shortened(&name, LONGEST_NAME))).collect())
}

/// The kernel's accounts of idle states.
///
/// # Errors
/// If they are of CPUs that the guest does not have, of more states or longer names than a kernel has, or of other
/// states on one CPU than on another.
pub fn idle(mut said: Accounts, guest: Guest<'_>) -> Result<Accounts, String> {
    /// `CPUIDLE_STATE_MAX` and `CPUIDLE_NAME_LEN` (include/linux/cpuidle.h).
    const MOST_STATES: usize = 10;
    const LONGEST_STATE: usize = 16;
    /// A kernel has a dozen for each state.
    const MOST_COUNTERS: usize = 64;
    if let Some(cpu) = said.keys().find(|cpu| **cpu >= guest.cpus) {
        return Err(format!("idle states of CPU {cpu}, and the guest has {}", guest.cpus));
    }
    let strange = |states: &&Vec<StateReading>| {
        let state = |state: &StateReading| {
            let names = || state.counters.keys().all(|name| name.len() <= LONGEST_NAME);
            state.name.len() <= LONGEST_STATE && state.counters.len() <= MOST_COUNTERS && names()
        };
        states.len() > MOST_STATES || !states.iter().all(state)
    };
    if let Some(states) = said.values().find(strange) {
        return Err(format!("{} idle states of a CPU: too many, or their names too long", states.len()));
    }
    // A CPU that is not online has none.
    said.retain(|_, states| !states.is_empty());
    let names = |states: &[StateReading]| states.iter().map(|state| state.name.clone()).collect::<Vec<_>>();
    let mut all = said.iter().map(|(cpu, states)| (cpu, names(states)));
    let first = all.next().map(|(_, names)| names).unwrap_or_default();
    match all.find(|(_, names)| *names != first) {
        Some((cpu, _)) => Err(format!("CPU {cpu} has other idle states than the first CPU")),
        None => Ok(said),
    }
}

/// The limits for the exit latency of idle states.
///
/// # Errors
/// If they are of CPUs that the guest does not have, or of more holders than are worth telling.
pub fn latency_limits(said: LatencyLimits, guest: Guest<'_>) -> Result<LatencyLimits, String> {
    const MOST_HOLDERS: usize = 64;
    if let Some(cpu) = said.of_cpus_us.keys().find(|cpu| **cpu >= guest.cpus) {
        return Err(format!("a latency limit of CPU {cpu}, and the guest has {}", guest.cpus));
    }
    if said.held_by.len() > MOST_HOLDERS {
        return Err(format!("{} commands hold the latency limit", said.held_by.len()));
    }
    let held_by: BTreeSet<String> = said.held_by.iter().map(|name| shortened(name, LONGEST_NAME)).collect();
    Ok(LatencyLimits { held_by, ..said })
}

/// The metadata of a trace of this guest.
///
/// # Errors
/// If it is of CPUs that the guest does not have, or cannot be a trace ([`Metadata::problem`]).
pub fn trace(said: Metadata, guest: Guest<'_>) -> Result<Metadata, String> {
    if let Some(cpu) = said.stats.keys().find(|cpu| **cpu >= guest.cpus) {
        return Err(format!("a trace of CPU {cpu}, and the guest has {}", guest.cpus));
    }
    match said.problem() {
        Some(problem) => Err(problem),
        None => Ok(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settled;
    use dyntick_model::Reading;

    const GUEST: Guest<'static> = Guest { cpus: 2, tasks: 0, read: &[] };

    fn honest() -> Outcome {
        Outcome {
            settled: Settled { waited_ns: 1, restless: CpuList::default() },
            window_ns: (10, 20),
            task_cpu_ns: Vec::new(),
            script: None,
            notes: vec!["a\x1b[2J".to_owned()],
        }
    }

    #[test]
    fn impossible_answers_are_refused() {
        assert_eq!(outcome(honest(), GUEST).unwrap().notes, ["a\u{fffd}[2J"]);
        assert!(outcome(Outcome { window_ns: (20, 10), ..honest() }, GUEST).is_err());
        assert!(outcome(Outcome { task_cpu_ns: vec![(0, 0)], ..honest() }, GUEST).is_err());
        let settled = Settled { waited_ns: 1, restless: [7].into_iter().collect() };
        assert!(outcome(Outcome { settled, ..honest() }, GUEST).is_err());
        let pages = |page_size| Metadata { page_size, ..Metadata::default() };
        assert!(trace(pages(4096), GUEST).is_ok() && trace(pages(0), GUEST).is_err());
        let beyond = Metadata { stats: [(2, Default::default())].into(), ..pages(4096) };
        assert!(trace(beyond, GUEST).is_err());
    }

    #[test]
    fn idle_states_are_those_of_a_kernel() {
        let state = |name: &str| StateReading {
            name: name.to_owned(),
            latency_us: 1,
            residency_us: 1,
            disabled: false,
            counters: BTreeMap::new(),
        };
        let of = |cpu: u32, states: Vec<StateReading>| idle([(cpu, states)].into(), GUEST).is_ok();
        assert!(of(0, vec![state("POLL"), state("C6")]) && of(GUEST.cpus - 1, Vec::new()));
        assert!(!of(GUEST.cpus, vec![state("C6")]), "a CPU that is not there");
        let pair = |first, second| idle([(0, first), (1, second)].into(), GUEST);
        assert!(pair(vec![state("POLL")], vec![state("C6")]).is_err());
        assert!(pair(vec![state("POLL"), state("C6")], vec![state("POLL")]).is_err());
        assert_eq!(pair(Vec::new(), vec![state("C6")]).unwrap().len(), 1, "only one is online");
        assert!(!of(0, vec![state("C6"); 1000]) && !of(0, vec![state(&"C".repeat(100))]));
        let counters = (0..1000)
            .map(|number| (number.to_string(), Reading { value: 0, from_ns: 0, to_ns: 0 }))
            .collect();
        assert!(!of(0, vec![StateReading { counters, ..state("C6") }]));
    }

    #[test]
    fn latency_limits_are_those_of_the_guest() {
        let of_cpu = |cpu| LatencyLimits { of_cpus_us: [(cpu, 20)].into(), ..LatencyLimits::default() };
        assert!(latency_limits(of_cpu(1), GUEST).is_ok() && latency_limits(of_cpu(2), GUEST).is_err());
        let held = |held_by: BTreeSet<String>| LatencyLimits { held_by, ..of_cpu(0) };
        let kept = latency_limits(held(["x".repeat(1000)].into()), GUEST).unwrap().held_by;
        assert!(kept.iter().all(|name| name.len() < 100), "{kept:?}");
        assert!(latency_limits(held((0..1000).map(|n| n.to_string()).collect()), GUEST).is_err());
    }

    #[test]
    fn a_flood_of_words_ends_soon() {
        assert!(message(&[0x1b; 700_000]).chars().count() < 5000);
        assert!(message(&[0x1b; 700_000]).contains("700000 bytes in all"));
        assert!(line(&"x".repeat(3_300_000)).len() < 400);
        let notes = vec!["x".repeat(1000); 1000];
        let kept = outcome(Outcome { notes, ..honest() }, GUEST).unwrap().notes;
        assert!(kept.len() == MOST_NOTES && kept.iter().all(|note| note.len() < 400));
    }
}
