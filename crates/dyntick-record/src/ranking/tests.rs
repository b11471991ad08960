// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the shares and of the order of causes.

use super::*;
use crate::counted_causes::tests::{counts, record};
use crate::others::Parents;
use dyntick_explain::{Chain, Interruption, Kind, Task};
use proptest::collection::vec;
use proptest::prelude::*;

/// The causes of CPU 3 with these interruptions, and with ticks of steal and SMIs in addition to the trace.
fn causes(some: &[(Kind, u8, u64)], steal: u64, smis: u64) -> Vec<CauseFindings> {
    let about = record(counts(7, Some(7)), counts(7 + steal, Some(7 + smis)), "");
    let (mut own, summary) = (CpuSums::default(), Summary { cpu: 3, ..Summary::default() });
    for (kind, which, duration_ns) in some {
        let cause = match kind {
            Kind::PageFault { .. } => CauseId::of(rule("page-fault")),
            Kind::CommandTask => CauseId::member(rule("command-task"), "app"),
            _ => CauseId::member(rule("timer"), format!("function_{which}")),
        };
        own.add(&Interruption {
            cpu: 3,
            start_ns: 0,
            duration_ns: *duration_ns,
            nested_ns: 0,
            kind: kind.clone(),
            cause,
            chain: Chain::from(Vec::new()),
            functions: [].into(),
            victim: Task { pid: 1, comm: "a".into() },
            other: None,
            stack: None,
            sent: None,
        });
    }
    let others = Others { about: &about, parents: &Parents::default() };
    listed(others, &summary, &own)
}

fn rule(id: &str) -> &'static rules::Rule {
    rules::all().iter().find(|rule| rule.id == id).unwrap()
}

fn kind() -> impl Strategy<Value = (Kind, u8, u64)> {
    let timed = prop_oneof![Just(Kind::Tick), Just(Kind::Hrtimer), Just(Kind::OtherTask)];
    prop_oneof![
        4 => (timed, 0..20u8, 1..9_000_000u64),
        1 => (Just(Kind::PageFault { user: true }), Just(0), Just(0)),
    ]
}

proptest! {
    /// Steal and SMIs, which are counted in addition to the trace, are part of the sum.
    #[test]
    fn shares_add_up_to_all(some in vec(kind(), 0..60), steal in 0..9u64, smis in 0..3u64) {
        let causes = causes(&some, steal, smis);
        let sum = |of: fn(&CauseFindings) -> f64| causes.iter().map(of).sum::<f64>();
        // Page faults are in no percentage.
        let shared = || causes.iter().filter(|cause| cause.cause != *"page-fault");
        let time = shared().any(|cause| cause.total_ns > Some(0));
        prop_assert!((sum(|cause| cause.time_share) - f64::from(u8::from(time))).abs() < 1e-9);
        let number = shared().any(|cause| cause.count.is_some());
        prop_assert!((sum(|cause| cause.count_share) - f64::from(u8::from(number))).abs() < 1e-9);
    }

    #[test]
    fn causes_with_the_most_time_are_first(some in vec(kind(), 0..60), steal in 0..9u64) {
        let causes = causes(&some, steal, 0);
        let timed: Vec<u64> = causes.iter().filter_map(|cause| cause.total_ns).collect();
        prop_assert!(timed.is_sorted_by(|a, b| a >= b), "{timed:?}");
        let faults = causes.iter().position(|cause| cause.cause == *"page-fault");
        prop_assert!(faults.is_none_or(|at| at + 1 == causes.len()), "page faults are last");
    }
}

#[test]
fn causes_without_a_time_follow_and_the_commands_own_are_last() {
    let some = [
        (Kind::CommandTask, 0, 7_000_000_000),
        (Kind::Tick, 1, 5000),
        (Kind::PageFault { user: true }, 0, 0),
    ];
    let causes = causes(&some, 2, 900);
    let order: Vec<String> = causes.iter().map(|cause| cause.cause.to_string()).collect();
    assert_eq!(order, ["hypervisor-steal", "timer:function_1", "smi", "command-task:app", "page-fault"]);
}
