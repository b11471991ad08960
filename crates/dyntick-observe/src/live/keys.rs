// SPDX-License-Identifier: GPL-2.0-only
//! What a slot counts.

use super::names::Names;
use dyntick_bpf::Slot;
use dyntick_bpf::layout::{FIXED, SOFTIRQ, SOFTIRQS, UNNAMED, family, fixed, vector};
use dyntick_model::{Softirq, Symbol, TickDependency, Vector};
use serde::Serialize;

/// What is counted in one place. Keys overlap as the kernel's own work does: an hrtimer expires
/// within a local timer interrupt, a work item runs in the turn of a kernel thread.
/// [`Key::is_whole`] tells those whose durations may be added up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Key {
    /// An interrupt vector; LOC, RES, CAL and IWI of `/proc/interrupts` among them.
    Vector {
        /// Which.
        vector: VectorKey,
    },
    /// The tick's own timer.
    Tick {
        /// Whether the tick was stopped, and this a single interrupt for the timer wheel.
        stopped: bool,
    },
    /// Another high-resolution timer, by its function.
    Hrtimer {
        /// The kernel function.
        function: Symbol,
    },
    /// A local timer interrupt in which no timer was due.
    EmptyTimer,
    /// A timer of the timer wheel, by its function.
    Timer {
        /// The kernel function.
        function: Symbol,
    },
    /// A function that another CPU called here (kernels from 6.5 on tell).
    Called {
        /// The kernel function.
        function: Symbol,
    },
    /// A device.
    Device {
        /// The number of its interrupt.
        irq: u32,
        /// The name that its driver gave, at most 15 bytes.
        name: Symbol,
    },
    /// A softirq.
    Softirq {
        /// Which.
        softirq: Softirq,
    },
    /// A work item, by its function. Its duration is from begin to end, sleep included.
    Work {
        /// The kernel function.
        function: Symbol,
    },
    /// The turns of a kernel thread.
    KernelThread {
        /// Its number.
        pid: u32,
        /// Its name as first seen on this CPU.
        comm: Symbol,
    },
    /// The turns of a user task.
    Task {
        /// Its number (that of the thread).
        pid: u32,
        /// Its name as last seen on this CPU.
        comm: Symbol,
    },
    /// The turns of the idle task.
    Idle,
    /// Page faults; counted only.
    PageFault {
        /// Of user code, else of the kernel.
        user: bool,
    },
    /// Non-maskable interrupts, by the handler that took them.
    Nmi {
        /// The kernel function.
        function: Symbol,
    },
    /// Decisions to stop the tick, on the way to idle or by `nohz_full`; counted only.
    TickStopped,
    /// Decisions to keep it; counted only.
    TickKept {
        /// Why.
        dependency: TickDependency,
    },
    /// What found the table full, so that only its family is known.
    Unnamed {
        /// The family, as its members' keys are called.
        family: &'static str,
    },
}

/// The vectors that have tracepoints (x86, `irq_vectors:*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum VectorKey {
    LocalTimer,
    Reschedule,
    CallFunction,
    CallFunctionSingle,
    IrqWork,
    PlatformIpi,
    Thermal,
    Threshold,
    DeferredError,
    Error,
    Spurious,
}

impl VectorKey {
    /// Of a trace event; none for a vector that is not counted.
    pub(super) fn of(vector: Vector) -> Option<Self> {
        Some(match vector {
            Vector::LocalTimer => VectorKey::LocalTimer,
            Vector::Reschedule => VectorKey::Reschedule,
            Vector::CallFunction => VectorKey::CallFunction,
            Vector::CallFunctionSingle => VectorKey::CallFunctionSingle,
            Vector::IrqWork => VectorKey::IrqWork,
            Vector::Platform => VectorKey::PlatformIpi,
            Vector::Thermal => VectorKey::Thermal,
            Vector::Threshold => VectorKey::Threshold,
            Vector::DeferredError => VectorKey::DeferredError,
            Vector::ApicError => VectorKey::Error,
            Vector::Spurious => VectorKey::Spurious,
            Vector::Other => return None,
        })
    }
}

/// The families in the order of their numbers, from 1.
const FAMILIES: [&str; 9] =
    ["hrtimer", "timer", "called", "work", "device", "kernel-thread", "task", "nmi", "tick-kept"];

impl Key {
    /// Whether this is an interruption of its own, and not a part of another: the durations of such keys
    /// may be added up. The turns of tasks count as whole, also those of the task that is measured.
    pub fn is_whole(&self) -> bool {
        use Key::*;
        matches!(
            self,
            Vector { .. } | Device { .. } | Softirq { .. } | KernelThread { .. } | Task { .. } | Nmi { .. }
        )
    }

    /// The kernel function that this is counted by, where it is by one.
    pub(super) fn function(&self) -> Option<&Symbol> {
        use Key::*;
        match self {
            Hrtimer { function } | Timer { function } | Called { function } | Work { function } => {
                Some(function)
            }
            Nmi { function } => Some(function),
            _ => None,
        }
    }

    /// The same with another name of that function.
    pub(super) fn with_function(mut self, name: impl FnOnce(&Symbol) -> Symbol) -> Self {
        use Key::*;
        match &mut self {
            Hrtimer { function } | Timer { function } | Called { function } | Work { function } => {
                *function = name(function);
            }
            Nmi { function } => *function = name(function),
            _ => {}
        }
        self
    }

    /// The family of a key that has a member's name; none for one that has its place in any table.
    pub(super) fn family(&self) -> Option<&'static str> {
        use Key::*;
        let number = match self {
            Hrtimer { .. } => family::HRTIMER,
            Timer { .. } => family::TIMER,
            Called { .. } => family::CALLED,
            Work { .. } => family::WORK,
            Device { .. } => family::DEVICE,
            KernelThread { .. } => family::KERNEL_THREAD,
            Task { .. } => family::TASK,
            Nmi { .. } => family::NMI,
            TickKept { .. } => family::TICK_KEPT,
            _ => return None,
        };
        FAMILIES.get(number as usize - 1).copied()
    }

    /// What the slot at this place counts; none for a place that means nothing to this version.
    pub(super) fn of(place: usize, slot: &Slot, names: &Names) -> Option<Self> {
        match place {
            FIXED.. => found(slot, names),
            SOFTIRQ.. if place < SOFTIRQ + SOFTIRQS => {
                Some(Key::Softirq { softirq: Softirq::from_number((place - SOFTIRQ) as u32)? })
            }
            UNNAMED.. => Some(Key::Unnamed { family: FAMILIES.get((place - UNNAMED).checked_sub(1)?)? }),
            _ => fixed_place(place),
        }
    }
}

fn fixed_place(place: usize) -> Option<Key> {
    let vector = |vector| Some(Key::Vector { vector });
    match place {
        vector::LOCAL_TIMER => vector(VectorKey::LocalTimer),
        vector::RESCHEDULE => vector(VectorKey::Reschedule),
        vector::CALL_FUNCTION => vector(VectorKey::CallFunction),
        vector::CALL_FUNCTION_SINGLE => vector(VectorKey::CallFunctionSingle),
        vector::IRQ_WORK => vector(VectorKey::IrqWork),
        vector::PLATFORM_IPI => vector(VectorKey::PlatformIpi),
        vector::THERMAL => vector(VectorKey::Thermal),
        vector::THRESHOLD => vector(VectorKey::Threshold),
        vector::DEFERRED_ERROR => vector(VectorKey::DeferredError),
        vector::ERROR => vector(VectorKey::Error),
        vector::SPURIOUS => vector(VectorKey::Spurious),
        fixed::PERIODIC_TICK => Some(Key::Tick { stopped: false }),
        fixed::STOPPED_TICK => Some(Key::Tick { stopped: true }),
        fixed::EMPTY_TIMER => Some(Key::EmptyTimer),
        fixed::FAULT_USER => Some(Key::PageFault { user: true }),
        fixed::FAULT_KERNEL => Some(Key::PageFault { user: false }),
        fixed::TICK_STOPPED => Some(Key::TickStopped),
        fixed::IDLE => Some(Key::Idle),
        _ => None,
    }
}

fn found(slot: &Slot, names: &Names) -> Option<Key> {
    let (number, what) = ((slot.key >> 56) as u32, slot.key & MEMBER);
    let function = || names.of(what);
    let text = || Symbol::from(text(&slot.name));
    Some(match number {
        family::HRTIMER => Key::Hrtimer { function: function() },
        family::TIMER => Key::Timer { function: function() },
        family::CALLED => Key::Called { function: function() },
        family::WORK => Key::Work { function: function() },
        family::NMI => Key::Nmi { function: function() },
        // The programs add 1, since interrupt 0 exists and key 0 does not.
        family::DEVICE => Key::Device { irq: (what as u32).wrapping_sub(1), name: text() },
        family::KERNEL_THREAD => Key::KernelThread { pid: what as u32, comm: text() },
        family::TASK => Key::Task { pid: what as u32, comm: text() },
        family::TICK_KEPT => Key::TickKept { dependency: TickDependency::from_mask(what as u32).ok()? },
        _ => return None,
    })
}

/// The part of a key that tells the members of a family apart.
pub(super) const MEMBER: u64 = (1 << 56) - 1;

/// The kernel's functions lie in the highest part of its memory.
const KERNEL: u64 = !MEMBER;

/// The function that a key counts by, where it counts by a function.
pub(super) fn address(key: u64) -> Option<u64> {
    let by_function = [family::HRTIMER, family::TIMER, family::CALLED, family::WORK, family::NMI];
    by_function.contains(&((key >> 56) as u32)).then_some(key | KERNEL)
}

/// The text up to the first zero.
pub(super) fn text(name: &[u8]) -> String {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_bpf::layout::{BUCKETS, FOUND};
    use std::collections::HashSet;

    fn slot(key: u64, name: &[u8]) -> Slot {
        let mut bytes = [0; 16];
        bytes[..name.len()].copy_from_slice(name);
        Slot { key, count: 1, ns: 0, longest: 0, name: bytes, histogram: [0; BUCKETS] }
    }

    #[test]
    fn every_family_has_its_key_and_its_name() {
        let names = Names::default();
        for number in 1..=FAMILIES.len() as u32 {
            let key = found(&slot(u64::from(number) << 56 | 1, b"name"), &names).unwrap();
            let json = serde_json::to_value(&key).unwrap();
            assert_eq!(json["what"], FAMILIES[number as usize - 1]);
            assert_eq!(key.family(), Some(FAMILIES[number as usize - 1]));
        }
        assert_eq!(found(&slot(0xff << 56, b""), &names), None);
    }

    #[test]
    fn places_with_a_meaning_have_different_ones() {
        let names = Names::default();
        let keys: Vec<Key> = (0..FIXED).filter_map(|place| Key::of(place, &slot(0, b""), &names)).collect();
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
        assert!(keys.len() < FIXED && FOUND.is_power_of_two());
        assert!(UNNAMED + FAMILIES.len() < FIXED);
    }

    #[test]
    fn devices_are_numbered_from_zero() {
        let key = found(&slot(u64::from(family::DEVICE) << 56 | 5, b"ttyS0"), &Names::default());
        assert_eq!(key, Some(Key::Device { irq: 4, name: "ttyS0".into() }));
    }
}
