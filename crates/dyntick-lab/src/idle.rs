// SPDX-License-Identifier: GPL-2.0-only
//! Idle states and wake-ups of a run, with the latency limits that its CPUs selected idle states within.

use dyntick_guest::received::Accounts;
use dyntick_idle::{
    Account, Energy, Observed, Sleep, State, States, Tick, Wakeup, account, energy, observe, tally,
};
use dyntick_model::{CpuList, Event, LatencyLimits, Reading, StateReading};
use dyntick_stats::Histogram;
use dyntick_study::Case;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The idle states of a run's CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunIdle {
    /// The window, ns.
    pub window: (u64, u64),
    /// The states, as this guest's kernel has them.
    pub states: States,
    /// The time that the two trace points of a sleep add to it, ns: see [`trace_cost_ns`].
    pub cost_ns: u64,
    /// Each CPU's states over the window, counted from the trace.
    pub accounts: BTreeMap<u32, Vec<Account>>,
    /// The kernel's counts next to those of the trace.
    pub comparisons: Vec<Comparison>,
    /// The longest that each CPU stayed in each state at a stretch within the window, ns: of a sleep that had not
    /// ended when the window closed, what was in it.
    pub longest_ns: BTreeMap<u32, Vec<u64>>,
    /// The latencies of wake-ups on the measured CPUs in the window, ns, by the state that had to be left; the last
    /// ones are of CPUs that were awake.
    pub wakeups: Vec<Histogram>,
    /// The choices of each state on the measured CPUs.
    pub choices: Vec<Choices>,
    /// Modelled, of the measured CPUs.
    pub energy: Option<Energy>,
    /// Modelled, of all CPUs, or of the packages that the measured ones are in.
    pub energy_of_all: Option<Energy>,
    /// The latency limits within which states were selected; `None` if they were not recorded.
    pub limits: Option<Limits>,
}

/// The choices of one state in the sleeps that ended in the window, each with the state that would have been right for
/// it within the latency limit, if that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// The number of choices for which each state would have been right.
    pub right: Vec<u64>,
    /// The number of choices with the tick stopped.
    pub tick_stopped: u64,
    /// The time to the CPU's next hrtimer, ns, if one was seen to be armed.
    pub next_timer_ns: Histogram,
    /// The choices of the menu governor with the tick stopped, if its kernel reports them.
    pub predicted: Predictions,
}

/// Predictions of the menu governor, ns. [`Predictions::NO_TIMER`] stands for no timer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predictions {
    /// The predicted idle times.
    pub predicted_ns: Histogram,
    /// The times to the next timer.
    pub next_timer_ns: Histogram,
    /// The times by which it chose.
    pub used_ns: Histogram,
    /// The idle times.
    pub idle_ns: Histogram,
}

impl Choices {
    /// The number of choices.
    pub fn count(&self) -> u64 {
        self.right.iter().sum()
    }

    fn add(&mut self, sleep: &Sleep, state: &State, right: usize) {
        if let Some(count) = self.right.get_mut(right) {
            *count += 1;
        }
        self.tick_stopped += u64::from(sleep.tick == Tick::Stopped);
        if let Some(timer_ns) = sleep.next_timer_ns {
            self.next_timer_ns.add(timer_ns.saturating_sub(sleep.entry_ns), 1);
        }
        if let Some(prediction) = sleep.prediction.filter(|prediction| prediction.tick_stopped) {
            let timer = |ns: Option<u64>| ns.unwrap_or(Predictions::NO_TIMER);
            self.predicted.predicted_ns.add(prediction.predicted_ns, 1);
            self.predicted.next_timer_ns.add(timer(prediction.next_timer_ns), 1);
            self.predicted.used_ns.add(timer(prediction.used_timer_ns()), 1);
            self.predicted.idle_ns.add(sleep.idle_ns(state), 1);
        }
    }
}

impl Predictions {
    /// No timer is set that far.
    pub const NO_TIMER: u64 = u64::MAX;
}

/// One of the kernel's counters next to the trace's count, over the time between its two readings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// The CPU.
    pub cpu: u32,
    /// The state's name.
    pub state: String,
    /// The counter's name; `time` in us.
    pub counter: String,
    /// The increase of the kernel's counter.
    pub kernel: u64,
    /// The trace's count; least and most, where the kernel may have counted a sleep while its number was read.
    pub trace: (u64, u64),
}

impl Comparison {
    /// Returns true if both agree.
    pub fn agrees(&self) -> bool {
        (self.trace.0..=self.trace.1).contains(&self.kernel)
    }
}

/// The setting of a run, without its events.
pub struct Setting<'a> {
    /// The case.
    pub case: &'a Case,
    /// Ticks per second of its kernel.
    pub hz: u32,
    /// The window, ns.
    pub window: (u64, u64),
    /// The kernel's accounts before it.
    pub before: &'a Accounts,
    /// The kernel's accounts after it.
    pub after: &'a Accounts,
    /// The latency limits, where they are recorded.
    pub limits: Option<Limits>,
}

/// Analyses these events; `None` if the guest has no idle states.
pub fn of_run(events: &[Event], setting: &Setting<'_>) -> Option<RunIdle> {
    let case = setting.case;
    let states = states(setting)?;
    let mut observed = observe(events, setting.hz);
    // For a CPU's sleeps to be found without looking at all others'; each CPU's stay in order of time.
    observed.sleeps.sort_by_key(|sleep| sleep.cpu);
    let cost_ns = trace_cost_ns(&observed, setting);
    let count = |cpu: &u32| (*cpu, account(&states, &observed, *cpu, setting.window, cost_ns));
    let accounts: BTreeMap<u32, Vec<Account>> =
        setting.after.keys().filter(|cpu| case.traces(**cpu)).map(count).collect();
    let longest = |cpu: &u32| (*cpu, longest_ns(&states, &observed, *cpu, setting.window));
    let model =
        |cpus: &CpuList| case.machine.as_ref().map(|one| energy(one, &observed, cpus, setting.window));
    Some(RunIdle {
        comparisons: comparisons(&states, &observed, cost_ns, setting),
        longest_ns: accounts.keys().map(longest).collect(),
        wakeups: wakeups(&states, &observed.wakeups, setting),
        choices: choices(&states, &observed.sleeps, cost_ns, setting),
        energy: model(&case.measured_cpus),
        energy_of_all: case.trace_cpus.is_none().then(|| model(&package_of(case))).flatten(),
        limits: setting.limits.clone(),
        window: setting.window,
        accounts,
        cost_ns,
        states,
    })
}

/// The latencies of wake-ups on the measured CPUs in the window, as [`RunIdle`] has them.
fn wakeups(states: &States, all: &[Wakeup], setting: &Setting<'_>) -> Vec<Histogram> {
    let awake = states.0.len();
    let mut latencies = vec![Histogram::default(); awake + 1];
    for wakeup in all.iter().filter(|wakeup| setting.case.measured_cpus.contains(wakeup.cpu)) {
        if (setting.window.0..setting.window.1).contains(&(wakeup.start_ns + wakeup.latency_ns)) {
            latencies[wakeup.state.unwrap_or(awake).min(awake)].add(wakeup.latency_ns, 1);
        }
    }
    latencies
}

/// The choices of each state on the measured CPUs, as [`RunIdle`] has them.
fn choices(states: &States, sleeps: &[Sleep], cost_ns: u64, setting: &Setting<'_>) -> Vec<Choices> {
    let none = Choices { right: vec![0; states.0.len()], ..Choices::default() };
    let mut choices = vec![none; states.0.len()];
    for sleep in sleeps.iter().filter(|sleep| setting.case.measured_cpus.contains(sleep.cpu)) {
        let Some(state) = states.get(sleep.state) else { continue };
        let idle_ns = sleep.idle_ns(state).saturating_sub(cost_ns);
        let limit_ns = in_force(setting.limits.as_ref(), sleep.cpu).known_ns();
        if let Some(right) = states.ideal(idle_ns, limit_ns) {
            if (setting.window.0..setting.window.1).contains(&sleep.exit_ns) {
                choices[sleep.state].add(sleep, state, right);
            }
        }
    }
    choices
}

/// The longest stays of a CPU in each state, as [`RunIdle`] has them.
fn longest_ns(states: &States, observed: &Observed, cpu: u32, (begin, end): (u64, u64)) -> Vec<u64> {
    let mut longest = vec![0; states.0.len()];
    let mut stay = |state: usize, entry: u64, exit: u64| {
        if let Some(longest) = longest.get_mut(state) {
            *longest = exit.min(end).saturating_sub(entry.max(begin)).max(*longest);
        }
    };
    of_cpu(&observed.sleeps, cpu).iter().for_each(|sleep| stay(sleep.state, sleep.entry_ns, sleep.exit_ns));
    let open = observed.unfinished.iter().filter(|open| open.cpu == cpu);
    open.for_each(|open| stay(open.state, open.entry_ns, end));
    longest
}

/// All CPUs of the packages that the measured ones are in.
fn package_of(case: &Case) -> CpuList {
    let measured = |package: &&CpuList| package.iter().any(|cpu| case.measured_cpus.contains(cpu));
    if case.packages.is_empty() {
        CpuList::first(case.cpus)
    } else {
        case.packages.iter().filter(measured).flat_map(CpuList::iter).collect()
    }
}

/// The states of the first CPU: all CPUs of a guest have the same (`received::idle` refuses others). The machine has
/// their times to the nanosecond; sysfs does not.
fn states(setting: &Setting<'_>) -> Option<States> {
    let readings = setting.before.values().next()?;
    let table = setting.case.machine.as_ref().map(|machine| States::from(&machine.idle)).unwrap_or_default();
    let state = |(place, reading): (usize, &StateReading)| {
        let exact = table.get(place).filter(|state| state.name == reading.name).cloned();
        let state = exact.unwrap_or_else(|| reading.into());
        State { disabled: state.disabled || reading.disabled, ..state }
    };
    Some(States(readings.iter().enumerate().map(state).collect()))
}

/// The time by which the trace exceeds the kernel's count of a sleep, from `cpu_idle` to `cpu_idle`, ns: the kernel
/// reads its clock between them (`cpuidle_enter_state`). In virtual time it is the same number of instructions for
/// nearly every sleep. The kernel counts time by CPU and state only, so that there is a mean for each of these.
fn trace_cost_ns(observed: &Observed, setting: &Setting<'_>) -> u64 {
    let mut excesses = Vec::new();
    for (cpu, place, before, after) in readings(setting, "time") {
        let own = || of_cpu(&observed.sleeps, cpu).iter().filter(|sleep| sleep.state == place);
        let traced: Vec<u64> =
            own().filter(|one| surely(one, before, after)).map(Sleep::duration_ns).collect();
        if traced.is_empty() || own().filter(|one| possibly(one, before, after)).count() > traced.len() {
            continue;
        }
        let kernel_ns = (after.value.saturating_sub(before.value) * 1000) as i64;
        excesses
            .push(Excess { ns: traced.iter().sum::<u64>() as i64 - kernel_ns, sleeps: traced.len() as i64 });
    }
    cost_ns(&excesses)
}

/// The excess of the trace over the kernel's count for the sleeps of one CPU in one state.
struct Excess {
    ns: i64,
    sleeps: i64,
}

/// The least mean. Now and then another CPU runs between a trace point and the kernel's reading of its clock, which can
/// only add to a mean: a single turn adds 100 ns to that of 3000 sleeps.
fn cost_ns(excesses: &[Excess]) -> u64 {
    /// sysfs rounds the sum to 1 µs, which is 10 ns of a mean of 100 sleeps.
    const FEWEST: i64 = 100;
    let mean = |excess: &Excess| excess.ns / excess.sleeps;
    let least = excesses.iter().filter(|excess| excess.sleeps >= FEWEST).map(mean).min();
    let of_most = || excesses.iter().max_by_key(|excess| excess.sleeps).map(mean);
    least.or_else(of_most).map_or(0, |cost_ns| cost_ns.max(0) as u64)
}

/// A CPU's sleeps, of all in order of their CPUs.
fn of_cpu(sleeps: &[Sleep], cpu: u32) -> &[Sleep] {
    let begin = sleeps.partition_point(|sleep| sleep.cpu < cpu);
    let end = sleeps.partition_point(|sleep| sleep.cpu <= cpu);
    &sleeps[begin..end]
}

/// Returns true if the kernel certainly counted a sleep between two readings of a number.
fn surely(sleep: &Sleep, before: Reading, after: Reading) -> bool {
    sleep.exit_ns > before.to_ns && sleep.counted_ns <= after.from_ns
}

/// Returns true if the kernel may have counted a sleep between two readings: it may have done so during a reading.
fn possibly(sleep: &Sleep, before: Reading, after: Reading) -> bool {
    sleep.counted_ns > before.from_ns && sleep.exit_ns <= after.to_ns
}

type Counted = (u32, usize, Reading, Reading);

/// A counter of each CPU and state, before and after.
fn readings<'a>(setting: &'a Setting<'_>, counter: &'a str) -> impl Iterator<Item = Counted> + 'a {
    let traced = setting.after.iter().filter(|(cpu, _)| setting.case.traces(**cpu));
    traced.flat_map(move |(cpu, after)| {
        let before = setting.before.get(cpu).into_iter().flatten();
        before.zip(after).enumerate().filter_map(move |(place, (before, after))| {
            Some((*cpu, place, *before.counters.get(counter)?, *after.counters.get(counter)?))
        })
    })
}

fn comparisons(states: &States, observed: &Observed, cost_ns: u64, setting: &Setting<'_>) -> Vec<Comparison> {
    let mut all = Vec::new();
    for counter in ["usage", "above", "below", "rejected", "time"] {
        for (cpu, place, before, after) in readings(setting, counter) {
            let count = |counted: &dyn Fn(&Sleep) -> bool| {
                let sleeps = of_cpu(&observed.sleeps, cpu).iter().filter(|sleep| counted(sleep));
                let account = tally(states, sleeps, cost_ns).swap_remove(place);
                match counter {
                    "usage" => account.usage,
                    "above" => account.above,
                    "below" => account.below,
                    // The trace has no word for an entry that was given up.
                    "rejected" => 0,
                    _ => account.time_ns / 1000,
                }
            };
            let least = count(&|sleep| surely(sleep, before, after));
            let most = count(&|sleep| possibly(sleep, before, after));
            all.push(Comparison {
                cpu,
                state: states.0[place].name.clone(),
                counter: counter.to_owned(),
                kernel: after.value.saturating_sub(before.value),
                trace: (least, most.max(least)),
            });
        }
    }
    all
}

impl RunIdle {
    /// The accounts of these CPUs together.
    pub fn of_cpus(&self, cpus: &CpuList) -> Vec<Account> {
        let mut sum = vec![Account::default(); self.states.0.len()];
        let wanted = self.accounts.iter().filter(|(cpu, _)| cpus.contains(**cpu));
        for (place, account) in wanted.flat_map(|(_, accounts)| accounts.iter().enumerate()) {
            let sum = &mut sum[place];
            sum.usage += account.usage;
            sum.time_ns += account.time_ns;
            sum.resident_ns += account.resident_ns;
            sum.above += account.above;
            sum.below += account.below;
            sum.residency.merge(&account.residency);
        }
        sum
    }

    /// The wake-up latencies, ns: of tasks for which this state had to be left, or of all.
    pub fn wakeup_latency(&self, state: Option<usize>) -> Histogram {
        let mut all = Histogram::default();
        for (place, latencies) in self.wakeups.iter().enumerate() {
            if state.is_none_or(|state| state == place) {
                all.merge(latencies);
            }
        }
        all
    }

    /// The latency limit within which this CPU's states were selected.
    pub fn limit(&self, cpu: u32) -> InForce {
        in_force(self.limits.as_ref(), cpu)
    }

    /// The differences between the kernel's counts and the trace's, except `time`, which the trace cannot have exactly.
    pub fn disagreements(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(|one| one.counter != "time" && !one.agrees())
    }
}

/// The latency limits just before the window and just after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Before the window.
    pub before: LatencyLimits,
    /// After the window.
    pub after: LatencyLimits,
}

/// The latency limit of a CPU in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InForce {
    /// The limit is the same before and after the window, µs; `None` if no process has requested one.
    Always(Option<u32>),
    /// Another after the window than before it, µs.
    Changed(Option<u32>, Option<u32>),
    /// The guest could not read it.
    NotRecorded,
}

impl InForce {
    /// Within which a choice is judged, ns; none where there was no limit, or it is not known for each moment.
    pub fn known_ns(self) -> Option<u64> {
        match self {
            Self::Always(us) => us.map(|us| u64::from(us) * 1000),
            Self::Changed(..) | Self::NotRecorded => None,
        }
    }
}

/// The limit of this CPU.
pub fn in_force(limits: Option<&Limits>, cpu: u32) -> InForce {
    let Some(Limits { before, after }) = limits else { return InForce::NotRecorded };
    let (before, after) = (before.of_cpu(cpu), after.of_cpu(cpu));
    if before == after { InForce::Always(before) } else { InForce::Changed(before, after) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_of_other_cpus_are_no_cost() {
        let excess = |ns: i64, sleeps: i64| Excess { ns, sleeps };
        // 300 us of turns in the state with most sleeps.
        let of_turns =
            [excess(567 * 210, 567), excess(3000 * 210 + 300_000, 3000), excess(40 * 210 - 900, 40)];
        assert_eq!(cost_ns(&of_turns), 210);
        assert_eq!(
            cost_ns(&[excess(40 * 210, 40), excess(2000, 2)]),
            210,
            "few sleeps: those of the largest group"
        );
        assert_eq!((cost_ns(&[]), cost_ns(&[excess(-500, 200)])), (0, 0));
    }

    #[test]
    fn only_a_limit_that_stayed_is_judged_by() {
        let of_all = |of_all_us| LatencyLimits { of_all_us, ..LatencyLimits::default() };
        let limits = |before, after| Limits { before: of_all(before), after: of_all(after) };
        let message = |limits: Option<Limits>| {
            let message = in_force(limits.as_ref(), 1);
            (message, message.known_ns())
        };
        assert_eq!(message(None), (InForce::NotRecorded, None));
        assert_eq!(message(Some(limits(None, None))), (InForce::Always(None), None));
        assert_eq!(message(Some(limits(Some(20), Some(20)))), (InForce::Always(Some(20)), Some(20_000)));
        assert_eq!(message(Some(limits(Some(0), None))), (InForce::Changed(Some(0), None), None));
    }
}
