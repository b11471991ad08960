// SPDX-License-Identifier: GPL-2.0-only
//! The number of events that are decoded at once: limited by memory, not by the size of a file. A page of a forged
//! record shrinks to a hundredth, and its events have 8 bytes each.

/// The most memory of an event while it is explained, bytes: the event, the observations of the interruption that it
/// makes, and their output. Traces of nothing but page faults came to 754 bytes an event, of interrupts that
/// never end to 751, of empty interrupts to 428; with the longest names everywhere a chain has three steps of 256 and a
/// cause 140 for three events.
const OF_EVENT: u64 = 1280;

/// The share of the machine's memory that they may take.
const SHARE: u64 = 4;

/// Real studies have runs of a million events; a machine that cannot hold them twice boots no guests.
const LEAST: u64 = 2 << 20;

/// The number of events that a machine with this much memory, in bytes, has room for: no recording of more is decoded
/// at once.
pub fn room_for_events(memory: u64) -> u64 {
    (memory / SHARE / OF_EVENT).max(LEAST)
}
