// SPDX-License-Identifier: GPL-2.0-only
//! Decisions and choices as bytes of the memory that the runner shares: `standin/protocol.h`.

use crate::decision::{Decision, Part};
use dyntick_idle::States;

const MAGIC: u64 = 0x3279_6c70_6552_7464;
/// The bytes before the decisions.
const INPUT_BYTES: usize = 4096;
/// The bytes before the parts.
pub(crate) const OUTPUT_BYTES: usize = 4096;
/// The most parts of one decision: `DYNTICK_MOST_CUTS` and the last.
const MOST_PARTS: usize = 65;
/// The size of a part.
pub(crate) const PART_BYTES: usize = 16;

const POLLING: u32 = 1;
const STOPPED: u8 = 1;
const GOT_TICK: u8 = 2;
const WAS_OFF: u8 = 4;
const STOP_TICK: u8 = 1;
const ASKED: u8 = 2;
const CUT: u8 = 4;
/// No state of a recording.
const NO_STATE: u8 = 255;
/// `CPUIDLE_NAME_LEN`, with the zero at its end.
const NAME_BYTES: usize = 16;

/// The most decisions of one replay: a step is a decision's number and one bit.
pub(crate) const MOST_DECISIONS: usize = 1 << 31;

/// The output's size for this number of decisions. Pages that are not written take no memory.
pub(crate) fn output_bytes(decisions: usize) -> usize {
    OUTPUT_BYTES + decisions * MOST_PARTS * PART_BYTES
}

/// The input's bytes: states, decisions and the order of choices and ends of sleeps.
pub(crate) fn input(states: &States, hz: u32, decisions: &[Decision]) -> Vec<u8> {
    let steps = steps(decisions);
    let mut bytes = Vec::with_capacity(INPUT_BYTES + decisions.len() * 64 + steps.len() * 4);
    for number in [MAGIC, decisions.len() as u64, steps.len() as u64] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes.extend((states.0.len() as u32).to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(poll_limit_ns(states, hz).to_ne_bytes());
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
    decisions.iter().for_each(|decision| write(decision, &mut bytes));
    steps.iter().for_each(|step| bytes.extend(step.to_ne_bytes()));
    bytes
}

fn write(decision: &Decision, bytes: &mut Vec<u8>) {
    let Decision { select_ns, wake_ns, residency_ns, .. } = *decision;
    for ns in [select_ns, wake_ns, residency_ns] {
        bytes.extend(ns.to_ne_bytes());
    }
    for ns in [decision.sleep_length_ns, decision.delta_tick_ns, decision.latency_ns] {
        bytes.extend(ns.to_ne_bytes());
    }
    bytes.extend(decision.cpu.to_ne_bytes());
    bytes.extend(decision.iowaiters.to_ne_bytes());
    bytes.extend(decision.disabled.to_ne_bytes());
    bytes.push(decision.chosen.unwrap_or(NO_STATE));
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    bytes.push(
        flag(decision.tick_stopped, STOPPED)
            | flag(decision.got_tick, GOT_TICK)
            | flag(decision.tick_was_off, WAS_OFF),
    );
    bytes.extend(0u32.to_ne_bytes());
}

/// The order in which states are chosen and sleeps end on all CPUs: a governor may have data that CPUs share.
fn steps(decisions: &[Decision]) -> Vec<u32> {
    const CHOICE: u32 = 0;
    const END: u32 = 1;
    let mut steps: Vec<(u64, bool, u32)> = Vec::with_capacity(decisions.len() * 2);
    for (number, decision) in decisions.iter().enumerate() {
        let step = (number as u32) << 1;
        steps.push((decision.select_ns, true, step | CHOICE));
        // At the same time the end of a sleep comes before a choice, so no sleep may take no time.
        steps.push((decision.exit_ns.max(decision.select_ns + 1), false, step | END));
    }
    steps.sort_unstable();
    steps.into_iter().map(|(_, _, step)| step).collect()
}

/// The time limit of polling without another one of the governor, ns (`drivers/cpuidle/cpuidle.c: cpuidle_poll_time`,
/// 6.1 to 7.2): the first target residency of at least 10 µs, and at most a sixteenth of a tick.
pub(crate) fn poll_limit_ns(states: &States, hz: u32) -> u64 {
    const LEAST_NS: u64 = 10_000;
    let most_ns = 1_000_000_000 / u64::from(hz.max(1)) / 16;
    let others = states.0.iter().skip(1).filter(|state| !state.disabled);
    let first = others.map(|state| state.target_residency_ns).find(|ns| *ns >= LEAST_NS);
    first.map_or(most_ns, |ns| ns.min(most_ns))
}

/// The first words of the output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The number of the decision that was made last, from 1; 0 for none.
    pub decision: u64,
    /// The number of parts.
    pub parts: u64,
    /// The reason for an early end; 0 for none.
    pub failure: u64,
    /// A number that belongs to it.
    pub value: i64,
}

impl Ending {
    pub fn read(bytes: &[u8; 32]) -> Self {
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at * 8 + byte]));
        Self { decision: word(0), parts: word(1), failure: word(2), value: word(3) as i64 }
    }
}

/// Reads a part; none if it names an unknown state or decision.
pub(crate) fn part(bytes: &[u8], states: usize, decisions: usize) -> Option<Part> {
    let select_ns = u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?);
    let decision = u32::from_ne_bytes(bytes.get(8..12)?.try_into().ok()?);
    let (state, flags) = (*bytes.get(12)?, *bytes.get(13)?);
    let fits = usize::from(state) < states && (decision as usize) < decisions;
    fits.then_some(Part {
        select_ns,
        decision,
        state: state.into(),
        stop_tick: flags & STOP_TICK != 0,
        asked: flags & ASKED != 0,
        is_cut: flags & CUT != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_in_order_of_time_with_ends_first() {
        let decision = |cpu, select_ns, exit_ns| Decision { cpu, select_ns, exit_ns, ..Decision::default() };
        let all = [decision(0, 10, 30), decision(1, 20, 40), decision(0, 30, 30)];
        assert_eq!(steps(&all), [0, 2, 1, 4, 5, 3]);
    }

    #[test]
    fn the_output_is_not_trusted() {
        let mut bytes = [0u8; PART_BYTES];
        bytes[8] = 3;
        bytes[12] = 2;
        bytes[13] = STOP_TICK | CUT;
        let read = part(&bytes, 3, 4).unwrap();
        assert_eq!(
            (read.decision, read.state, read.stop_tick, read.asked, read.is_cut),
            (3, 2, true, false, true)
        );
        assert_eq!((part(&bytes, 2, 4), part(&bytes, 3, 3), part(&bytes[..9], 3, 4)), (None, None, None));
    }
}
