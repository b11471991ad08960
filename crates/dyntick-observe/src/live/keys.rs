// SPDX-License-Identifier: GPL-2.0-only
//! The keys: the meanings of slots.

use super::names::{MEMBER, Names};
use dyntick_bpf::Slot;
use dyntick_bpf::layout::{FIXED, FOUND, SOFTIRQ, SOFTIRQS, UNNAMED, family, fixed, vector};
use dyntick_model::{Interrupt, Softirq, Symbol, TickDependency};
use serde::Serialize;

/// The meaning of a count. Keys overlap as the kernel's own work does: an hrtimer expires
/// within a local timer interrupt, a work item runs in the time slice of a kernel thread.
/// [`Key::is_whole`] is true for those whose durations may be added up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Key {
    /// Interrupts that no device sends.
    #[serde(rename = "vector")]
    Interrupt {
        /// Its source.
        #[serde(rename = "vector")]
        source: Interrupt,
    },
    /// The tick's own timer.
    Tick {
        /// True if the tick was stopped, and this a single interrupt for the timer wheel.
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
    /// A function that another CPU called here (kernels from 6.5 on report it).
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
        /// The softirq.
        softirq: Softirq,
    },
    /// A work item, by its function. Its duration is what its kworker ran of it on this CPU, while task switches are
    /// counted too; else it is from begin to end, sleep included.
    Work {
        /// The kernel function.
        function: Symbol,
    },
    /// Time slices of kernel threads of one name.
    KernelThread {
        /// The name; none for all whose names found no room.
        comm: Option<Symbol>,
    },
    /// Time slices of user tasks of one name. One is counted under the name that the task had when it began; a
    /// task that takes another name, e.g. by executing a program, begins another one.
    Task {
        /// The name; none for all whose names found no room.
        comm: Option<Symbol>,
        /// The owner of the tasks.
        whose: Whose,
    },
    /// Time slices of the idle task.
    Idle,
    /// Page faults; counted only.
    PageFault {
        /// True for faults of user code, false for those of the kernel.
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
        /// The reason.
        dependency: TickDependency,
    },
    /// Causes that found the table full, so that only their family is known.
    Unnamed {
        /// The family, as its members' keys are called.
        family: &'static str,
    },
}

/// The owner of a user task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// A followed thread ([`super::Source::follow`]), or one that it started.
    Command,
    /// The process that counts.
    Observer,
    /// Any other task.
    Other,
}

/// A thread, by the key of its time slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thread {
    /// The kernel's.
    Kernel,
    /// A user task.
    Task(Whose),
}

impl Thread {
    /// Returns the key of this thread's time slices, with its name or for all without one.
    pub(super) fn turns(self, comm: Option<Symbol>) -> Key {
        match self {
            Thread::Kernel => Key::KernelThread { comm },
            Thread::Task(whose) => Key::Task { comm, whose },
        }
    }

    /// Returns the thread of a slot's family.
    fn of_family(number: u32) -> Option<Self> {
        Some(match number {
            family::KERNEL_THREAD => Thread::Kernel,
            family::TASK => Thread::Task(Whose::Other),
            family::COMMAND => Thread::Task(Whose::Command),
            family::OBSERVER => Thread::Task(Whose::Observer),
            _ => return None,
        })
    }
}

/// The families in the order of their numbers, from 1; those of tasks that are counted apart are not here.
const FAMILIES: [&str; 9] =
    ["hrtimer", "timer", "called", "work", "device", "kernel-thread", "task", "nmi", "tick-kept"];

impl Key {
    /// Returns true if this is an interruption of its own, and not a part of another: the durations of such keys
    /// may be added up. Time slices of tasks count as such, also those of the measured task.
    pub fn is_whole(&self) -> bool {
        use Key::*;
        matches!(
            self,
            Interrupt { .. }
                | Device { .. }
                | Softirq { .. }
                | KernelThread { .. }
                | Task { .. }
                | Nmi { .. }
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

    /// Returns the same key with another name of that function.
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

    /// Returns true if it counts the turns of the command's tasks or of the process that counts, which interrupt
    /// nothing.
    pub fn is_own_task(&self) -> bool {
        matches!(self, Key::Task { whose: Whose::Command | Whose::Observer, .. })
    }

    /// Returns true if this counts several causes, since a table had no room for their names.
    pub(super) fn is_unnamed(&self) -> bool {
        matches!(self, Key::Unnamed { .. } | Key::Task { comm: None, .. } | Key::KernelThread { comm: None })
    }

    /// Returns true if it counts the time slices of a program's tasks, whose number has no limit.
    pub(super) fn is_program(&self) -> bool {
        matches!(self, Key::Task { .. } | Key::KernelThread { .. })
    }

    /// Returns the key that is counted if there is no room for its name.
    pub(super) fn without_name(&self) -> Self {
        match self {
            Key::KernelThread { .. } => Key::KernelThread { comm: None },
            Key::Task { whose, .. } => Key::Task { comm: None, whose: *whose },
            key => key.family().map_or_else(|| key.clone(), |family| Key::Unnamed { family }),
        }
    }

    /// Returns the key of the slot at this place; none if this version knows no meaning of the place.
    pub(super) fn of(place: usize, slot: &Slot, names: &Names) -> Option<Self> {
        match place {
            FIXED.. => found(slot, names),
            SOFTIRQ.. if place < SOFTIRQ + SOFTIRQS => {
                Some(Key::Softirq { softirq: Softirq::from_number((place - SOFTIRQ) as u32)? })
            }
            UNNAMED.. => unnamed((place - UNNAMED) as u32),
            _ => fixed_place(place),
        }
    }
}

/// Returns the key of the place for causes of a family that found no room.
fn unnamed(number: u32) -> Option<Key> {
    if let Some(thread) = Thread::of_family(number) {
        return Some(thread.turns(None));
    }
    Some(Key::Unnamed { family: FAMILIES.get((number as usize).checked_sub(1)?)? })
}

fn fixed_place(place: usize) -> Option<Key> {
    let of = |source| Some(Key::Interrupt { source });
    match place {
        vector::LOCAL_TIMER => of(Interrupt::Timer),
        vector::RESCHEDULE => of(Interrupt::Reschedule),
        vector::CALL_FUNCTION => of(Interrupt::FunctionCall),
        vector::CALL_FUNCTION_SINGLE => of(Interrupt::FunctionCallSingle),
        vector::IRQ_WORK => of(Interrupt::IrqWork),
        vector::PLATFORM_IPI => of(Interrupt::Platform),
        vector::THERMAL => of(Interrupt::Thermal),
        vector::THRESHOLD => of(Interrupt::Threshold),
        vector::DEFERRED_ERROR => of(Interrupt::DeferredError),
        vector::ERROR => of(Interrupt::Controller),
        vector::SPURIOUS => of(Interrupt::Spurious),
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
    if let Some(thread) = Thread::of_family(number) {
        return Some(thread.turns(Some(text())));
    }
    Some(match number {
        family::HRTIMER => Key::Hrtimer { function: function() },
        family::TIMER => Key::Timer { function: function() },
        family::CALLED => Key::Called { function: function() },
        family::WORK => Key::Work { function: function() },
        family::NMI => Key::Nmi { function: function() },
        // The programs add 1, since interrupt 0 exists and key 0 does not.
        family::DEVICE => Key::Device { irq: (what as u32).wrapping_sub(1), name: text() },
        family::TICK_KEPT => Key::TickKept { dependency: TickDependency::from_mask(what as u32).ok()? },
        _ => return None,
    })
}

/// Returns true if the slot at this place is a program's, which it may have to give up.
pub(super) fn is_program_slot(place: usize) -> bool {
    place >= FIXED + FOUND
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

    #[test]
    fn tasks_are_of_three_sorts() {
        let names = Names::default();
        for (number, whose) in [
            (family::TASK, Whose::Other),
            (family::COMMAND, Whose::Command),
            (family::OBSERVER, Whose::Observer),
        ] {
            let key = found(&slot(u64::from(number) << 56 | 1, b"cc1"), &names).unwrap();
            assert_eq!(key, Key::Task { comm: Some("cc1".into()), whose });
            let full = Key::of(UNNAMED + number as usize, &slot(0, b""), &names);
            assert_eq!(full, Some(key.without_name()));
            assert!(full.is_some_and(|key| key.is_unnamed() && key.is_program()));
        }
    }

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
        assert!(UNNAMED + (family::OBSERVER as usize) < FIXED);
    }

    #[test]
    fn devices_are_numbered_from_zero() {
        let key = found(&slot(u64::from(family::DEVICE) << 56 | 5, b"ttyS0"), &Names::default());
        assert_eq!(key, Some(Key::Device { irq: 4, name: "ttyS0".into() }));
    }
}
