// SPDX-License-Identifier: GPL-2.0-only
//! The sleeps that the module recorded: `struct em_record` of `kernel/cstate-emulator/emulator.h`.

use super::FOLDER;

/// One sleep of one CPU, as the emulator knows it. Times are ns of CLOCK_MONOTONIC, which is also
/// the trace clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The time at which the driver was asked to enter the state.
    pub entered_ns: u64,
    /// The time at which the CPU was woken.
    pub woken_ns: u64,
    /// The time at which the kernel was to go on: the exit latency after the CPU was woken, had finished entering, or
    /// had its package awake, whichever was latest.
    pub ready_ns: u64,
    /// The time to which the CPU's own timer was set (`cpuidle_device.next_hrtimer`).
    pub next_timer_ns: i64,
    /// The state, by its place in the table.
    pub state: u8,
    /// The interrupt that woke it; none after an NMI or a machine check.
    pub vector: Option<u8>,
    /// The package state that had to be left first, from 1; 0 where there was none.
    pub package: u8,
    /// True if it was woken before it had finished entering.
    pub during_entry: bool,
}

/// Bytes of a record.
pub(super) const BYTES: usize = 40;

/// Returns true if a file of the guest holds records.
pub fn is_file(path: &str) -> bool {
    path.strip_prefix(FOLDER).is_some_and(|rest| rest.starts_with("/records/"))
}

/// The records of a file, in the order of their time. A piece of one at the end is left out.
pub fn read(bytes: &[u8]) -> Vec<Record> {
    bytes.chunks_exact(BYTES).map(record).collect()
}

fn record(bytes: &[u8]) -> Record {
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    Record {
        entered_ns: word(0),
        woken_ns: word(8),
        ready_ns: word(16),
        next_timer_ns: word(24) as i64,
        state: bytes[32],
        vector: Some(bytes[33]).filter(|vector| *vector != 0),
        package: bytes[34],
        during_entry: bytes[35] & 1 != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_and_a_half() {
        let mut bytes: Vec<u8> = [5u64, 7, 9, u64::MAX].iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend([3, 0xec, 1, 1, 0, 0, 0, 0, 1, 2, 3]);
        let expected = Record {
            entered_ns: 5,
            woken_ns: 7,
            ready_ns: 9,
            next_timer_ns: -1,
            state: 3,
            vector: Some(0xec),
            package: 1,
            during_entry: true,
        };
        assert_eq!(read(&bytes), [expected]);
    }

    #[test]
    fn files_of_records() {
        assert!(is_file("/sys/kernel/debug/cstate_emulator/records/cpu1"));
        assert!(!is_file("/sys/kernel/debug/cstate_emulator/idle_states"));
    }
}
