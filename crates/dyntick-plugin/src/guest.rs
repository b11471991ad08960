// SPDX-License-Identifier: GPL-2.0-only
//! The requests of a program in the guest to the plugin. Each is one instruction, and a no-operation
//! without the plugin.

use crate::protocol::{
    HERE, MAGIC, MARK, OFF, ON, WATCH_EXCEPTION, WATCH_EXCEPTION_WITH_CODE, WATCH_INTERRUPT, WATCH_SWITCH,
};

macro_rules! say {
    ($word:expr, $argument:expr) => {
        // SAFETY: a no-operation.
        unsafe {
            std::arch::asm!(
                "nop dword ptr [rax + {displacement}]",
                displacement = const MAGIC as i32 | $word as i32,
                in("rax") $argument,
                options(nostack, preserves_flags)
            )
        }
    };
}

/// Recording begins with this instruction, on all CPUs.
#[inline(always)]
pub fn on() {
    say!(ON, 0u64);
}

/// Recording ends before this instruction, on all CPUs.
#[inline(always)]
pub fn off() {
    say!(OFF, 0u64);
}

/// Writes a number into the stream.
#[inline(always)]
pub fn mark(number: u64) {
    say!(MARK, number);
}

/// Reports to the plugin the kernel's number of the CPU that executes this. To be called on every CPU
/// before anything is recorded, by a thread that stays on that CPU meanwhile.
#[inline(always)]
pub fn here(cpu: u64) {
    say!(HERE, cpu);
}

/// An address of the kernel at which there is more to record than the execution itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// `__switch_to_asm`.
    Switch,
    /// The entry of an interrupt.
    Interrupt,
    /// The entry of an exception that pushes no error code.
    Exception,
    /// The entry of an exception that pushes an error code.
    ExceptionWithCode,
}

/// Reports such an address to the plugin.
pub fn watch(what: Watch, address: u64) {
    match what {
        Watch::Switch => say!(WATCH_SWITCH, address),
        Watch::Interrupt => say!(WATCH_INTERRUPT, address),
        Watch::Exception => say!(WATCH_EXCEPTION, address),
        Watch::ExceptionWithCode => say!(WATCH_EXCEPTION_WITH_CODE, address),
    }
}
