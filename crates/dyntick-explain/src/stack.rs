// SPDX-License-Identifier: GPL-2.0-only
//! The call stack of an action that interrupted a CPU.

use crate::names;
use dyntick_model::Symbol;
use std::sync::{Arc, OnceLock};

/// A call stack, the innermost function first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack {
    /// The name of the task.
    pub comm: Symbol,
    /// The process to whose memory `user` belongs; 0 for none.
    pub process: i32,
    /// The functions of the kernel.
    pub kernel: Arc<[Symbol]>,
    /// The addresses of the program; empty if the task had not requested the action, e.g. in an interrupt.
    pub user: Arc<[u64]>,
}

/// A stack whose event is recorded after the one that it belongs to.
pub(crate) type Slot = Arc<OnceLock<Stack>>;

/// The prefixes of the functions with which the kernel recorded the stack itself.
const RECORDING: [&str; 9] = [
    "trace_event_",
    "__traceiter_",
    "event_trigger",
    "stack_trace_",
    "ftrace_",
    "__ftrace_",
    "kprobe_",
    "__kprobe",
    "optimized_callback",
];

/// The prefixes of interrupt entries (arch/x86/include/asm/idtentry.h): callers below them did not request the action.
const ENTRIES: [&str; 4] = ["asm_sysvec_", "asm_common_interrupt", "asm_spurious_interrupt", "asm_exc_nmi"];

impl Stack {
    /// Creates a stack from a recorded one, without the recording functions and without the interrupted ones.
    pub(crate) fn new(comm: Symbol, kernel: &[Symbol], user: Option<(i32, Arc<[u64]>)>) -> Self {
        let begins = |frame: &Symbol, with: &[&str]| with.iter().any(|begin| frame.starts_with(begin));
        let first = kernel.iter().position(|frame| !begins(frame, &RECORDING)).unwrap_or(kernel.len());
        let kernel = &kernel[first..];
        let entry = kernel.iter().position(|frame| begins(frame, &ENTRIES));
        let own = entry.map_or(kernel.len(), |entry| entry + 1);
        let (process, user) = user.filter(|_| entry.is_none()).unwrap_or((0, [].into()));
        let kernel = kernel[..own].iter().map(names::function).collect();
        Self { comm, process, kernel, user }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(kernel: &[&str]) -> Stack {
        let kernel: Vec<Symbol> = kernel.iter().map(|name| Symbol::from(*name)).collect();
        Stack::new("x".into(), &kernel, Some((7, [0x1234].into())))
    }

    #[test]
    fn recording_and_interrupted_functions_are_left_out() {
        let asked = ["trace_event_raw_event_x", "__traceiter_x", "try_to_wake_up", "do_syscall_64"];
        let kernel: Vec<Symbol> = ["try_to_wake_up", "do_syscall_64"].map(Symbol::from).into();
        let own = stack(&asked);
        assert_eq!((&own.kernel[..], &own.user[..], own.process), (&kernel[..], &[0x1234][..], 7));
        let interrupted =
            stack(&["__traceiter_x", "hrtimer_wakeup", "asm_sysvec_apic_timer_interrupt", "main"]);
        assert_eq!(interrupted.kernel.len(), 2);
        assert_eq!((&interrupted.user[..], interrupted.process), (&[][..], 0));
        assert!(stack(&["__traceiter_x"]).kernel.is_empty());
    }
}
