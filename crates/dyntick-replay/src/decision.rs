// SPDX-License-Identifier: GPL-2.0-only
//! The inputs of a governor, and its choices.

/// The times to the next timer, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Without the tick (`tick_nohz_get_sleep_length`).
    pub sleep_length_ns: i64,
    /// With it.
    pub delta_tick_ns: i64,
}

/// The inputs of one choice, and the sleep that followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The CPU.
    pub cpu: u32,
    /// The begin of the idle period or of this part of it, ns: the kernel's `idle_entrytime`, to which its timers are
    /// counted.
    pub select_ns: u64,
    /// The event that woke the CPU, ns: the end of the sleep without the time to leave the state.
    pub wake_ns: u64,
    /// The end of the recorded sleep, ns.
    pub exit_ns: u64,
    /// The recorded sleep as the kernel counted it, ns.
    pub residency_ns: u64,
    /// The next timer with what was seen of it.
    pub seen: Lengths,
    /// The same with the earliest timer that is possible.
    pub earliest: Lengths,
    /// The same with the latest one.
    pub latest: Lengths,
    /// The recorded state; none if another driver or machine had chosen it.
    pub chosen: Option<u8>,
    /// True if the tick was stopped before the choice.
    pub tick_stopped: bool,
    /// True if the recorded kernel let the tick be stopped at this choice or had stopped it before.
    pub tick_was_off: bool,
    /// True if the tick's handler ran at the end of the sleep.
    pub got_tick: bool,
    /// True if no event shows whether the tick ran, or when the next one was due.
    pub tick_is_assumed: bool,
    /// The number of what woke the CPU: the caller's.
    pub wake: u16,
    /// The other CPU that woke it, if one did.
    pub waker: Option<u32>,
}

impl Decision {
    /// The kernel's latency limit without any request, ns (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`).
    pub const NO_LIMIT: i64 = 2_000_000_000_000;

    /// The time from the choice to the wake-up, ns.
    pub fn idle_ns(&self) -> u64 {
        self.wake_ns.saturating_sub(self.select_ns)
    }
}

/// A choice of a replayed governor. A sleep that a tick or the limit of polling cuts has several; the last one ends
/// with the recorded wake-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The time of the choice, ns.
    pub select_ns: u64,
    /// The number of the decision, from 0 in order of time.
    pub decision: u32,
    /// The state.
    pub state: usize,
    /// True if the governor let the tick be stopped.
    pub stop_tick: bool,
    /// True if it asked for the time to the next timer.
    pub asked: bool,
    /// True if the sleep ended before the recorded wake-up, and another part follows.
    pub is_cut: bool,
}
