// SPDX-License-Identifier: GPL-2.0-only
//! Decisions as bytes of the file that the runner reads: `standin/protocol.h`.

use crate::decision::{Decision, Lengths};
use dyntick_idle::{Miss, States};
use std::collections::BTreeMap;

const MAGIC: u64 = 0x3379_6c70_6552_7464;
/// The bytes before the settings of CPUs.
const HEAD_BYTES: usize = 4096;
/// The size of a CPU's setting.
const SETTING_BYTES: usize = 8;
/// The bytes before the records.
pub(crate) const INPUT_BYTES: usize = HEAD_BYTES + MOST_CPUS as usize * SETTING_BYTES;
/// The size of a record, and of the times that do not fit into one.
pub(crate) const RECORD_BYTES: usize = 32;
/// The size of what the runner does not need of a decision.
pub(crate) const REST_BYTES: usize = 8;

/// `CPUIDLE_STATE_MAX`.
pub(crate) const MOST_STATES: usize = 10;
/// `DYNTICK_MOST_CPUS`.
pub(crate) const MOST_CPUS: u32 = 8192;
/// The most decisions of one replay: their numbers have 32 bits, and one is none of them.
pub(crate) const MOST_DECISIONS: u64 = u32::MAX as u64;

const POLLING: u32 = 1;
const STOPPED: u8 = 1;
const GOT_TICK: u8 = 2;
const WAS_OFF: u8 = 4;
const ENDS: u8 = 8;
const END: u8 = 16;
const TICK_ASSUMED: u8 = 32;
const LONG: u8 = 64;
const NO_TIMER: u32 = u32::MAX;
/// No state of a recording.
const NO_STATE: u8 = 15;
const NO_WAKER: u16 = 0x3fff;
/// `CPUIDLE_NAME_LEN`, with the zero at its end.
const NAME_BYTES: usize = 16;

const TOO_DEEP: u32 = 1;
const TOO_SHALLOW: u32 = 2;
/// The bits of a verdict: a miss, the state of the oracle, the recorded state, a tick that would have been stopped.
pub(crate) const MISS: usize = 3;
pub(crate) const RIGHT: usize = 4;
pub(crate) const SAME: usize = 8;
pub(crate) const GOES_ON: usize = 16;
pub(crate) const VERDICTS: usize = 32;

/// The limits of a CPU's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The latency limit (PM QoS), ns; [`Decision::NO_LIMIT`] for none.
    pub latency_ns: i64,
    /// The states that are disabled, one bit each.
    pub disabled: u16,
}

impl Default for Setting {
    fn default() -> Self {
        Self { latency_ns: Decision::NO_LIMIT, disabled: 0 }
    }
}

impl Setting {
    /// The states that are enabled and within both limits, one bit each.
    pub(crate) fn usable(self, limit_ns: i64, states: &States) -> u16 {
        within(states, self.latency_ns.min(limit_ns)) & !self.disabled
    }
}

/// The head of the file: states, the number of records, and the settings of CPUs.
pub(crate) fn head(states: &States, hz: u32, records: u64, settings: &Settings) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(INPUT_BYTES);
    for number in [MAGIC, records, states.0.len() as u64, poll_limit_ns(states, hz), tick_ns(hz)] {
        bytes.extend(number.to_ne_bytes());
    }
    for state in &states.0 {
        for ns in [state.exit_latency_ns, state.target_residency_ns, state.leaving_ns] {
            bytes.extend(ns.to_ne_bytes());
        }
        bytes.extend(if state.polling { POLLING } else { 0 }.to_ne_bytes());
        bytes.extend([0; 4]);
        let mut name = [0; NAME_BYTES];
        let length = state.name.len().min(NAME_BYTES - 1);
        name[..length].copy_from_slice(&state.name.as_bytes()[..length]);
        bytes.extend(name);
    }
    bytes.resize(HEAD_BYTES, 0);
    for cpu in 0..MOST_CPUS {
        let Setting { latency_ns, disabled } = settings.get(&cpu).copied().unwrap_or_default();
        let latency_us = u32::try_from(latency_ns.max(0) / 1000).unwrap_or(u32::MAX);
        bytes.extend(latency_us.to_ne_bytes());
        bytes.extend(disabled.to_ne_bytes());
        bytes.extend([0; 2]);
    }
    bytes
}

/// The settings by CPU; those that are not there have none.
pub type Settings = BTreeMap<u32, Setting>;

/// The kernel's TICK_NSEC.
fn tick_ns(hz: u32) -> u64 {
    let hz = u64::from(hz.max(1));
    (1_000_000_000 + hz / 2) / hz
}

/// The time limit of polling without another one of the governor, ns (`drivers/cpuidle/cpuidle.c: cpuidle_poll_time`,
/// 6.1 to 7.2): the first target residency of at least 10 µs, and at most a sixteenth of a tick.
fn poll_limit_ns(states: &States, hz: u32) -> u64 {
    const LEAST_NS: u64 = 10_000;
    let most_ns = 1_000_000_000 / u64::from(hz.max(1)) / 16;
    let others = states.0.iter().skip(1).filter(|state| !state.disabled);
    let first = others.map(|state| state.target_residency_ns).find(|ns| *ns >= LEAST_NS);
    first.map_or(most_ns, |ns| ns.min(most_ns))
}

/// A decision as bytes: a record, the times if they do not fit into it, and the rest.
pub(crate) struct Bytes {
    pub record: [u8; RECORD_BYTES],
    /// Read if the record says so.
    pub times: [u8; RECORD_BYTES],
    pub rest: [u8; REST_BYTES],
}

impl Bytes {
    /// The bytes of a decision whose CPU chooses next at `next_ns`.
    pub fn of(decision: &Decision, lengths: Lengths, next_ns: u64, states: &States) -> Self {
        let (idle_ns, select_ns) = (decision.idle_ns(), decision.select_ns);
        let short = |ns: u64| u32::try_from(ns).ok();
        let timer = |ns: i64| match u32::try_from(ns) {
            Ok(NO_TIMER) => None,
            Ok(ns) => Some(ns),
            Err(_) => (ns == i64::MAX - select_ns as i64).then_some(NO_TIMER),
        };
        let lengths_ns = [lengths.sleep_length_ns, lengths.delta_tick_ns];
        let [sleep_length, delta_tick] = lengths_ns.map(timer);
        let short = [short(idle_ns), short(decision.residency_ns), sleep_length, delta_tick];
        let is_short = short.iter().all(Option::is_some);
        let times = [idle_ns, decision.residency_ns, lengths_ns[0] as u64, lengths_ns[1] as u64];

        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(decision.tick_stopped, STOPPED)
            | flag(decision.got_tick, GOT_TICK)
            | flag(decision.tick_was_off, WAS_OFF)
            | flag(decision.tick_is_assumed, TICK_ASSUMED)
            | flag(!is_short, LONG);
        let waker = decision.waker.filter(|cpu| *cpu < MOST_CPUS).map_or(NO_WAKER, |cpu| cpu as u16);
        let reach = states.0.iter().rposition(|state| state.target_residency_ns <= idle_ns);
        let bits = u64::from(misses(decision, states))
            | (reach.map_or(0, |place| place as u64 + 1)) << REACH
            | u64::from(decision.chosen.filter(|chosen| *chosen < NO_STATE).unwrap_or(NO_STATE)) << CHOSEN
            | u64::from(flags) << FLAGS
            | u64::from(decision.cpu) << CPU
            | u64::from(waker) << WAKER;
        let gap_ns = u32::try_from(next_ns.saturating_sub(decision.wake_ns)).unwrap_or(u32::MAX);
        let mut bytes = Self { record: [0; RECORD_BYTES], times: [0; RECORD_BYTES], rest: [0; REST_BYTES] };
        put(&mut bytes.record, [select_ns.to_ne_bytes()]);
        put(&mut bytes.record[8..], short.map(|ns| ns.unwrap_or(0).to_ne_bytes()));
        put(&mut bytes.record[BITS..], [bits.to_ne_bytes()]);
        put(&mut bytes.times, times.map(u64::to_ne_bytes));
        put(&mut bytes.rest, [gap_ns.to_ne_bytes()]);
        put(&mut bytes.rest[4..], [decision.wake.to_ne_bytes()]);
        bytes
    }
}

fn put<const N: usize, const M: usize>(bytes: &mut [u8], words: [[u8; N]; M]) {
    bytes.chunks_mut(N).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word));
}

/// The places of bits in the last word of a record.
const BITS: usize = 24;
const REACH: u32 = 20;
const CHOSEN: u32 = 24;
const FLAGS: u32 = 28;
const CPU: u32 = 36;
const WAKER: u32 = 49;

fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|byte| bytes[at + byte])
}

fn bits(record: &[u8; RECORD_BYTES]) -> u64 {
    u64::from_ne_bytes(word(record, BITS))
}

fn has(record: &[u8; RECORD_BYTES], flag: u8) -> bool {
    bits(record) >> FLAGS & u64::from(flag) != 0
}

/// True if the times of a record are in the next one.
pub(crate) fn is_long(record: &[u8; RECORD_BYTES]) -> bool {
    has(record, LONG)
}

/// True if a record is no decision.
pub(crate) fn is_end(record: &[u8; RECORD_BYTES]) -> bool {
    has(record, END)
}

/// The record of the end of the last sleep of a CPU.
pub(crate) fn end(cpu: u16) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    put(&mut record[BITS..], [(u64::from(END) << FLAGS | u64::from(cpu) << CPU).to_ne_bytes()]);
    record
}

/// Marks that a sleep ends before anything happens on another CPU.
pub(crate) fn ends(record: &mut [u8; RECORD_BYTES]) {
    let bits = bits(record) | u64::from(ENDS) << FLAGS;
    put(&mut record[BITS..], [bits.to_ne_bytes()]);
}

/// A decision of an input, with all that no choice changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The time of the choice, ns.
    pub select_ns: u64,
    /// From there to the wake-up, ns.
    pub idle_ns: u64,
    /// The time to the next timer without the tick, ns.
    pub sleep_length_ns: i64,
    /// The number of what woke it.
    pub wake: u16,
    /// The time from the wake-up to the CPU's next choice, ns, and at most four seconds.
    pub(crate) gap_ns: u64,
    bits: u64,
    setting: Setting,
}

impl Record {
    /// Reads a record, with its times if they are in the next one.
    pub(crate) fn read(
        record: &[u8; RECORD_BYTES],
        times: Option<&[u8; RECORD_BYTES]>,
        rest: &[u8; REST_BYTES],
        settings: &Settings,
    ) -> Self {
        let select_ns = u64::from_ne_bytes(word(record, 0));
        let short = |at: usize| u32::from_ne_bytes(word(record, at));
        let (idle_ns, sleep_length_ns) = match times {
            Some(times) => (u64::from_ne_bytes(word(times, 0)), i64::from_ne_bytes(word(times, 16))),
            None if short(16) == NO_TIMER => (short(8).into(), i64::MAX - select_ns as i64),
            None => (short(8).into(), short(16).into()),
        };
        let (wake, gap_ns) = (u16::from_ne_bytes(word(rest, 4)), u32::from_ne_bytes(word(rest, 0)).into());
        let mut read = Self {
            select_ns,
            idle_ns,
            sleep_length_ns,
            wake,
            gap_ns,
            bits: bits(record),
            setting: Setting::default(),
        };
        read.setting = settings.get(&read.cpu()).copied().unwrap_or_default();
        read
    }

    fn has(&self, flag: u8) -> bool {
        self.bits >> FLAGS & u64::from(flag) != 0
    }

    /// The CPU.
    pub fn cpu(&self) -> u32 {
        (self.bits >> CPU & 0x1fff) as u32
    }

    /// The recorded state, if it is known.
    pub fn chosen(&self) -> Option<usize> {
        Some(self.bits >> CHOSEN & 15)
            .filter(|chosen| *chosen != u64::from(NO_STATE))
            .map(|chosen| chosen as usize)
    }

    /// True if no event shows whether the tick ran, or when the next one was due.
    pub fn tick_is_assumed(&self) -> bool {
        self.has(TICK_ASSUMED)
    }

    /// The states that may be chosen within a limit, one bit each.
    pub(crate) fn usable(&self, limit_ns: i64, states: &States) -> u16 {
        self.setting.usable(limit_ns, states)
    }

    /// The state that suits the sleep, of those that may be chosen.
    pub(crate) fn ideal(&self, usable: u16) -> Option<usize> {
        let reached = (1u16 << (self.bits >> REACH & 15)) - 1;
        deepest(usable & reached).or_else(|| {
            Some(self.setting.disabled.trailing_ones() as usize).filter(|state| *state < MOST_STATES)
        })
    }

    /// The verdict on a choice for a sleep that nothing cuts.
    pub(crate) fn verdict(&self, state: usize, usable: u16, stops_tick: bool) -> usize {
        let flag = |is_set: bool, flag: usize| if is_set { flag } else { 0 };
        let ticked = self.has(GOT_TICK) && !self.has(WAS_OFF);
        (self.bits >> (2 * state)) as usize & MISS
            | flag(self.ideal(usable) == Some(state), RIGHT)
            | flag(self.chosen() == Some(state), SAME)
            | flag(ticked && stops_tick, GOES_ON)
    }
}

/// The misses of a verdict.
pub(crate) fn miss(verdict: usize) -> Option<Miss> {
    match (verdict & MISS) as u32 {
        TOO_DEEP => Some(Miss::Above),
        TOO_SHALLOW => Some(Miss::Below),
        _ => None,
    }
}

/// The deepest of some states.
pub(crate) fn deepest(states: u16) -> Option<usize> {
    states.checked_ilog2().map(|state| state as usize)
}

/// The states whose exit latency is within a limit, one bit each.
pub(crate) fn within(states: &States, limit_ns: i64) -> u16 {
    let fits = |exit_latency_ns: u64| exit_latency_ns <= limit_ns.max(0) as u64;
    states
        .0
        .iter()
        .enumerate()
        .fold(0, |bits, (place, state)| bits | u16::from(fits(state.exit_latency_ns)) << place)
}

/// The misses that the kernel would count of a sleep in each state.
fn misses(decision: &Decision, states: &States) -> u32 {
    states.0.iter().enumerate().fold(0, |bits, (place, state)| {
        let duration_ns = if decision.chosen.map(usize::from) == Some(place) {
            decision.residency_ns
        } else {
            decision.idle_ns() + state.leaving_ns
        };
        let miss = match states.judge(place, duration_ns) {
            Some(Miss::Above) => TOO_DEEP,
            Some(Miss::Below) => TOO_SHALLOW,
            None => 0,
        };
        bits | miss << (2 * place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// All that is put into a record is read again, whether its times fit into 32 bits or not.
        #[test]
        fn records_are_read_as_they_were_written(
            times in (1u64..1 << 40, 0u64..1 << 34, 0u64..1 << 34),
            lengths in (-5i64..1 << 34, prop::option::of(-5i64..1 << 34)),
            numbers in (0u32..MOST_CPUS, any::<u16>(), prop::option::of(0u8..10), any::<[bool; 4]>()),
        ) {
            let (select_ns, idle_ns, residency_ns) = times;
            let never_ns = i64::MAX - select_ns as i64;
            let lengths =
                Lengths { delta_tick_ns: lengths.0, sleep_length_ns: lengths.1.unwrap_or(never_ns) };
            let (cpu, wake, chosen, [tick_stopped, got_tick, tick_was_off, tick_is_assumed]) = numbers;
            let decision = Decision {
                cpu, wake, chosen, select_ns, wake_ns: select_ns + idle_ns, residency_ns, seen: lengths,
                tick_stopped, got_tick, tick_was_off, tick_is_assumed, ..Decision::default()
            };
            let mut bytes = Bytes::of(&decision, lengths, select_ns + idle_ns + 7, &States::default());
            ends(&mut bytes.record);
            prop_assert!(!is_end(&bytes.record));
            let long = is_long(&bytes.record);
            let fits = |ns: u64| ns <= u32::MAX.into();
            let is_short = |ns: i64| ns == never_ns || (0..i64::from(u32::MAX)).contains(&ns);
            let all_fit = fits(idle_ns) && fits(residency_ns);
            prop_assert_eq!(long, !(all_fit && is_short(lengths.sleep_length_ns) && is_short(lengths.delta_tick_ns)));
            let read = Record::read(&bytes.record, long.then_some(&bytes.times), &bytes.rest, &Settings::new());
            prop_assert_eq!((read.select_ns, read.idle_ns, read.sleep_length_ns), (select_ns, idle_ns, lengths.sleep_length_ns));
            prop_assert_eq!((read.cpu(), read.wake, read.gap_ns), (cpu, wake, 7));
            prop_assert_eq!((read.chosen(), read.tick_is_assumed()), (chosen.map(usize::from), tick_is_assumed));
            prop_assert_eq!(read.verdict(0, 0, true) & GOES_ON != 0, got_tick && !tick_was_off);
        }
    }

    #[test]
    fn ends_of_sleeps_are_no_decisions() {
        let record = end(8191);
        assert!(is_end(&record) && !is_long(&record));
        assert_eq!(bits(&record) >> CPU & 0x1fff, 8191);
    }
}
