// SPDX-License-Identifier: GPL-2.0-only
//! Decisions as bytes of the file that the runner reads: `standin/protocol.h`.

use crate::decision::{Decision, Lengths};
use dyntick_idle::{Miss, States};

const MAGIC: u64 = 0x3379_6c70_6552_7464;
/// The bytes before the records.
pub(crate) const INPUT_BYTES: usize = 4096;
/// The size of a record.
pub(crate) const RECORD_BYTES: usize = 64;

/// `CPUIDLE_STATE_MAX`.
pub(crate) const MOST_STATES: usize = 10;
/// `DYNTICK_CPUS`.
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
/// No state of a recording.
const NO_STATE: u8 = 255;
/// No waker.
const NO_CPU: u16 = u16::MAX;
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

/// The head of the file: states, and the number of records.
pub(crate) fn head(states: &States, hz: u32, records: u64) -> Vec<u8> {
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
    bytes.resize(INPUT_BYTES, 0);
    bytes
}

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

/// A decision as the runner reads it, with all that no choice changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record(pub(crate) [u8; RECORD_BYTES]);

impl Record {
    /// The record of a decision whose CPU chooses next at `next_ns`.
    pub(crate) fn of(decision: &Decision, lengths: Lengths, next_ns: u64, states: &States) -> Self {
        let mut bytes = [0; RECORD_BYTES];
        let mut at = 0;
        let mut put = |more: &[u8]| {
            bytes[at..at + more.len()].copy_from_slice(more);
            at += more.len();
        };
        let up_to = |ns: u64| u32::try_from(ns).unwrap_or(u32::MAX);
        put(&decision.select_ns.to_ne_bytes());
        put(&decision.idle_ns().to_ne_bytes());
        put(&decision.residency_ns.to_ne_bytes());
        put(&lengths.sleep_length_ns.to_ne_bytes());
        put(&lengths.delta_tick_ns.to_ne_bytes());
        put(&up_to(decision.latency_ns.max(0) as u64 / 1000).to_ne_bytes());
        put(&misses(decision, states).to_ne_bytes());
        put(&up_to(next_ns.saturating_sub(decision.wake_ns)).to_ne_bytes());
        put(&fits(decision, states).to_ne_bytes());
        put(&decision.disabled.to_ne_bytes());
        put(&(decision.cpu as u16).to_ne_bytes());
        put(&decision.wake.to_ne_bytes());
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(decision.tick_stopped, STOPPED)
            | flag(decision.got_tick, GOT_TICK)
            | flag(decision.tick_was_off, WAS_OFF)
            | flag(decision.tick_is_assumed, TICK_ASSUMED);
        put(&[decision.chosen.unwrap_or(NO_STATE), flags]);
        let waker = decision.waker.and_then(|cpu| u16::try_from(cpu).ok()).unwrap_or(NO_CPU);
        put(&(if u32::from(waker) < MOST_CPUS { waker } else { NO_CPU }).to_ne_bytes());
        Self(bytes)
    }

    /// The end of the last sleep of a CPU.
    pub(crate) fn end(cpu: u16) -> Self {
        let mut bytes = [0; RECORD_BYTES];
        bytes[56..58].copy_from_slice(&cpu.to_ne_bytes());
        bytes[61] = END;
        Self(bytes)
    }

    /// Marks that the sleep ends before anything happens on another CPU.
    pub(crate) fn ends(&mut self) {
        self.0[61] |= ENDS;
    }

    /// True if it is no decision.
    pub(crate) fn is_end(&self) -> bool {
        self.0[61] & END != 0
    }

    fn word<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|byte| self.0[at + byte])
    }

    /// The time of the choice, ns.
    pub fn select_ns(&self) -> u64 {
        u64::from_ne_bytes(self.word(0))
    }

    /// From there to the wake-up, ns.
    pub fn idle_ns(&self) -> u64 {
        u64::from_ne_bytes(self.word(8))
    }

    /// The time to the next timer without the tick, ns.
    pub fn sleep_length_ns(&self) -> i64 {
        i64::from_ne_bytes(self.word(24))
    }

    /// True if no event shows whether the tick ran, or when the next one was due.
    pub fn tick_is_assumed(&self) -> bool {
        self.0[61] & TICK_ASSUMED != 0
    }

    fn latency_ns(&self) -> u64 {
        u64::from(u32::from_ne_bytes(self.word(40))) * 1000
    }

    fn misses(&self) -> u32 {
        u32::from_ne_bytes(self.word(44))
    }

    /// The time from the wake-up to the CPU's next choice, ns, and at most four seconds.
    pub(crate) fn gap_ns(&self) -> u64 {
        u32::from_ne_bytes(self.word(48)).into()
    }

    fn fits(&self) -> u16 {
        u16::from_ne_bytes(self.word(52))
    }

    fn disabled(&self) -> u16 {
        u16::from_ne_bytes(self.word(54))
    }

    /// The CPU.
    pub fn cpu(&self) -> u32 {
        u16::from_ne_bytes(self.word(56)).into()
    }

    /// The number of what woke it.
    pub fn wake(&self) -> u16 {
        u16::from_ne_bytes(self.word(58))
    }

    /// The recorded state, if it is known.
    pub fn chosen(&self) -> Option<usize> {
        Some(self.0[60]).filter(|chosen| *chosen != NO_STATE).map(usize::from)
    }

    /// The state that suits the sleep, of those that are allowed.
    pub(crate) fn ideal(&self, allowed: u16) -> Option<usize> {
        deepest(self.fits() & allowed)
            .or_else(|| Some(self.disabled().trailing_ones() as usize).filter(|state| *state < MOST_STATES))
    }

    /// The deepest of these states that is enabled and within the recorded limit.
    pub(crate) fn deepest(&self, allowed: u16, states: &States) -> Option<usize> {
        let latency_ns = self.latency_ns();
        deepest(allowed & !self.disabled() & within(states, latency_ns.min(i64::MAX as u64) as i64))
    }

    /// The verdict on a choice for a sleep that nothing cuts.
    pub(crate) fn verdict(&self, state: usize, allowed: u16, stops_tick: bool) -> usize {
        let flag = |is_set: bool, flag: usize| if is_set { flag } else { 0 };
        let ticked = self.0[61] & (GOT_TICK | WAS_OFF) == GOT_TICK;
        (self.misses() >> (2 * state)) as usize & MISS
            | flag(self.ideal(allowed) == Some(state), RIGHT)
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

fn deepest(states: u16) -> Option<usize> {
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

/// What the kernel would count of a sleep in each state.
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

/// The enabled states that suit a sleep whose end is known, one bit each.
fn fits(decision: &Decision, states: &States) -> u16 {
    let idle_ns = decision.idle_ns();
    let allowed = within(states, decision.latency_ns) & !decision.disabled;
    states.0.iter().enumerate().fold(0, |bits, (place, state)| {
        bits | (u16::from(state.target_residency_ns <= idle_ns) << place & allowed)
    })
}
