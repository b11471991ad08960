// SPDX-License-Identifier: GPL-2.0-only
//! The reasons for which a replayed choice is not the recorded one.

use crate::layout::Record;
use std::collections::HashMap;

/// The reason for a difference from the recorded choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It is soon after the begin: the kernel's governor had a history, the replayed one has none.
    Begin,
    /// With another timer that the trace allows, the recorded state is chosen.
    Timer,
    /// No event shows the tick.
    Tick,
    /// Another choice of the same CPU differed shortly before, so that the histories differ.
    Follows,
    /// None of these: an input that no event shows, or a choice that was given up before the CPU slept.
    Unknown,
}

/// The choices that a governor remembers: menu has eight intervals, and what teo counts fades as fast.
const REMEMBERED: u64 = 16;

/// Finds the reasons, in order of time.
#[derive(Default)]
pub(crate) struct Reasons {
    cpus: HashMap<u32, OfCpu>,
}

#[derive(Default)]
struct OfCpu {
    choices: u64,
    /// The choice that differed last.
    differed: Option<u64>,
}

impl Reasons {
    /// Notes a choice; the reason if it differs. `by_timer` is true if other timers lead to the recorded one.
    pub fn next(&mut self, record: &Record, differs: bool, by_timer: bool) -> Option<Reason> {
        let cpu = self.cpus.entry(record.cpu()).or_default();
        cpu.choices += 1;
        if !differs {
            return None;
        }
        let follows = cpu.differed.replace(cpu.choices).is_some_and(|last| cpu.choices - last <= REMEMBERED);
        Some(match () {
            () if cpu.choices <= REMEMBERED => Reason::Begin,
            () if by_timer => Reason::Timer,
            () if record.tick_is_assumed() => Reason::Tick,
            () if follows => Reason::Follows,
            () => Reason::Unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Decision;
    use crate::layout::{Bytes, Settings};
    use dyntick_idle::States;

    #[test]
    fn each_difference_has_a_reason() {
        let record = |cpu, tick_is_assumed| {
            let decision = Decision { cpu, tick_is_assumed, ..Decision::default() };
            let bytes = Bytes::of(&decision, decision.seen, 0, &States::default());
            Record::read(&bytes.record, None, &bytes.rest, &Settings::new())
        };
        let mut reasons = Reasons::default();
        let (plain, assumed, other) = (record(1, false), record(1, true), record(2, false));
        assert_eq!(reasons.next(&plain, true, true), Some(Reason::Begin));
        (1..40).for_each(|_| assert_eq!(reasons.next(&plain, false, true), None));
        assert_eq!(reasons.next(&plain, true, true), Some(Reason::Timer));
        assert_eq!(reasons.next(&assumed, true, false), Some(Reason::Tick));
        assert_eq!(reasons.next(&plain, true, false), Some(Reason::Follows));
        (0..REMEMBERED).for_each(|_| assert_eq!(reasons.next(&plain, false, false), None));
        assert_eq!(reasons.next(&plain, true, false), Some(Reason::Unknown));
        assert_eq!(reasons.next(&other, true, false), Some(Reason::Begin));
    }
}
