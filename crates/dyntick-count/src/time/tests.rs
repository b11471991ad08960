// SPDX-License-Identifier: GPL-2.0-only
//! That the parts of a CPU's time add up, whatever was counted.

use super::*;
use crate::rows::tests::measured;
use crate::{per_cpu, together};
use dyntick_model::{Interrupt, Softirq, TickDependency};
use proptest::prelude::*;

/// Every sort of key; of those that have names some.
fn key() -> impl Strategy<Value = Key> {
    let name = || (0..4u32).prop_map(|number| format!("name{number}").into());
    let whose = prop::sample::select(vec![Whose::Command, Whose::Observer, Whose::Other]);
    let families = ["hrtimer", "timer", "called", "work", "device", "nmi", "tick-kept"];
    prop_oneof![
        prop::sample::select(vec![
            Interrupt::Timer,
            Interrupt::Reschedule,
            Interrupt::FunctionCall,
            Interrupt::FunctionCallSingle,
            Interrupt::IrqWork,
            Interrupt::Thermal,
        ])
        .prop_map(|vector| Key::Interrupt { source: vector }),
        any::<bool>().prop_map(|stopped| Key::Tick { stopped }),
        name().prop_map(|function| Key::Hrtimer { function }),
        Just(Key::EmptyTimer),
        name().prop_map(|function| Key::Timer { function }),
        name().prop_map(|function| Key::Called { function }),
        (0..3u32, name()).prop_map(|(irq, name)| Key::Device { irq, name }),
        (0..10u32).prop_map(|number| Key::Softirq { softirq: Softirq::from_number(number).unwrap() }),
        name().prop_map(|function| Key::Work { function }),
        prop::option::of(name()).prop_map(|comm| Key::KernelThread { comm }),
        (prop::option::of(name()), whose).prop_map(|(comm, whose)| Key::Task { comm, whose }),
        Just(Key::Idle),
        any::<bool>().prop_map(|user| Key::PageFault { user }),
        name().prop_map(|function| Key::Nmi { function }),
        Just(Key::TickStopped),
        Just(Key::TickKept { dependency: TickDependency::Rcu }),
        prop::sample::select(families.to_vec()).prop_map(|family| Key::Unnamed { family }),
    ]
}

fn counts() -> impl Strategy<Value = BTreeMap<Key, Count>> {
    let count = (0..1000u64, 0..1_000_000u64).prop_map(|(count, ns)| Count { count, ns, ..Count::default() });
    prop::collection::btree_map(key(), count, 0..60)
}

proptest! {
    /// The parts add up to all of the time, of each CPU and of all together; the groups of interruptions add up to
    /// the interruptions, and the group of user tasks to those of others.
    #[test]
    fn parts_add_up(cpus in prop::collection::vec(counts(), 1..4), ns in 0..100_000_000u64) {
        let measured = measured(cpus, ns);
        for cpu in per_cpu(&measured).into_iter().chain([together(&measured)]) {
            let time = cpu.time;
            prop_assert_eq!(time.parts().iter().sum::<u64>(), time.ns);
            prop_assert!(time.ns >= ns);
            let shares: f64 = time.parts().iter().map(|part| time.share(*part)).sum();
            prop_assert!((shares - 1.0).abs() < 1e-9 || time.ns == 0, "{shares}");
            let of = |class: Class| -> u64 {
                let rows = cpu.groups.iter().filter(|rows| rows.class() == Some(class));
                rows.map(|rows| rows.row.count.ns).sum()
            };
            prop_assert_eq!(of(Class::Interruption), time.interruptions_ns);
            prop_assert_eq!(of(Class::UserTasks), time.other_tasks_ns);
            prop_assert!(cpu.unattributed_ns <= time.interruptions_ns);
        }
    }
}
