// SPDX-License-Identifier: GPL-2.0-only
//! The text of the metrics, and the equality of its sums with those of `dyntick-count`.

use super::*;
use dyntick_count::{CountedBy, Measured, per_cpu};
use dyntick_model::{CpuList, Interrupt, Softirq, StateReading, TickDependency};
use dyntick_observe::live::{Count, CpuMeters, IdleState, Key, Lost, RunTime, Snapshot, Whose};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A measurement of one second on these CPUs.
fn measured(cpus: BTreeMap<u32, BTreeMap<Key, Count>>) -> Measured {
    Measured {
        cpus: cpus.keys().copied().collect::<CpuList>(),
        with_slices: true,
        with_ticks: true,
        ns: 1_000_000_000,
        at_ns: 1_000_000_000,
        counts: Some(Snapshot { ns: 1_000_000_000, cpus, ..Snapshot::default() }),
        source: Some(CountedBy::Bpf),
        ..Measured::default()
    }
}

fn count(count: u64, ns: u64) -> Count {
    Count { count, ns, ..Count::default() }
}

/// An isolated CPU, with hostile names of devices and idle states.
fn example() -> Totals {
    let counts = [
        (Key::Interrupt { source: Interrupt::Timer }, count(4, 21_500)),
        (Key::Tick { stopped: false }, count(3, 11_400)),
        (Key::Interrupt { source: Interrupt::FunctionCallSingle }, count(2, 1_000)),
        (Key::Called { function: "flush_tlb_func".into() }, count(1, 400)),
        (Key::Device { irq: 24, name: "evil\"\\\n} 1".into() }, count(1, 900)),
        (Key::Device { irq: 5, name: "".into() }, count(1, 100)),
        (Key::KernelThread { comm: Some("kworker/3:0".into()) }, count(1, 2_000)),
        (Key::KernelThread { comm: Some("ksoftirqd/3".into()) }, count(1, 3_000)),
        (Key::PageFault { user: true }, count(42, 0)),
        (Key::Task { comm: Some("app".into()), whose: Whose::Other }, count(2, 900_000_000)),
        (Key::Task { comm: Some("dyntick".into()), whose: Whose::Observer }, count(1, 7_000)),
        (Key::TickKept { dependency: TickDependency::Sched }, count(4, 0)),
        (Key::TickStopped, count(4, 0)),
    ];
    let mut measured = measured([(3, counts.into())].into());
    let state =
        |name: &str, usage, time_us| IdleState { name: name.to_owned(), usage, time_us, above: 1, below: 2 };
    let idle = vec![state("POLL", 1, 3), state("C1\"", 7, 90_000), state("C1\"", 1, 10_000)];
    let meters = CpuMeters { idle, smis: Some(1), ..CpuMeters::default() };
    measured.meters.cpus.insert(3, meters);
    measured.counts.as_mut().unwrap().lost = Lost { recursion: 5, unnamed: 2, ..Lost::default() };
    let mut totals = Totals::new("0.1.0");
    totals.add(&measured);
    let c1 = StateReading {
        name: "C1\"".to_owned(),
        latency_us: 2,
        residency_us: 2,
        disabled: false,
        counters: BTreeMap::new(),
    };
    totals.learn(&[(3, vec![c1])].into());
    totals.own.cpu_ns = 12_345_678;
    totals.own.readings.took(40_000);
    totals.own.programs = Some(RunTime { runs: 100, ns: 9_000 });
    totals
}

#[test]
fn openmetrics_text_is_stable() {
    insta::assert_snapshot!(text(&example(), Format::OpenMetrics).unwrap());
}

#[test]
fn prometheus_text_has_no_openmetrics_lines() {
    let text = text(&example(), Format::Prometheus).unwrap();
    assert!(text.contains("# TYPE dyntick_cpu_interruption_seconds_total counter\n"), "{text}");
    assert!(!text.contains("# EOF") && !text.contains("# UNIT"), "{text}");
}

#[test]
fn no_count_is_claimed_if_counting_is_impossible() {
    let mut measured = measured([(0, BTreeMap::new())].into());
    (measured.counts, measured.source) = (None, None);
    let idle = vec![IdleState { name: "C1".to_owned(), usage: 3, ..IdleState::default() }];
    measured.meters.cpus.insert(0, CpuMeters { idle, ..CpuMeters::default() });
    let mut totals = Totals::new("0.1.0");
    totals.add(&measured);
    let text = text(&totals, Format::OpenMetrics).unwrap();
    assert!(text.contains("dyntick_counting 0\n") && text.contains("source=\"none\""), "{text}");
    assert!(text.contains("dyntick_cpuidle_entries_total{cpu=\"0\",state=\"C1\"} 3\n"), "{text}");
    assert!(!text.contains("dyntick_cpu_ticks") && !text.contains("dyntick_cpu_interruptions"), "{text}");
}

/// Without the address of the tick's function no hrtimer can be identified as a tick, which is not a count of zero.
#[test]
fn no_ticks_are_claimed_if_they_are_unknown() {
    let mut measured =
        measured([(0, [(Key::Interrupt { source: Interrupt::Timer }, count(4, 9))].into())].into());
    measured.with_ticks = false;
    let mut totals = Totals::new("0.1.0");
    totals.add(&measured);
    let text = text(&totals, Format::OpenMetrics).unwrap();
    assert!(
        !text.contains("dyntick_cpu_ticks_total") && text.contains("cause=\"local_timer\"} 4\n"),
        "{text}"
    );
}

/// The keys of interruptions and of other events, with more devices than have labels.
fn key() -> impl Strategy<Value = Key> {
    let name = || (0..60u32).prop_map(|number| format!("name{number}").into());
    let whose = prop::sample::select(vec![Whose::Observer, Whose::Other]);
    prop_oneof![
        prop::sample::select(Interrupt::ALL.to_vec()).prop_map(|source| Key::Interrupt { source }),
        Just(Key::Tick { stopped: false }),
        name().prop_map(|function| Key::Called { function }),
        (0..30u32, name()).prop_map(|(irq, name)| Key::Device { irq, name }),
        (0..10u32).prop_map(|number| Key::Softirq { softirq: Softirq::from_number(number).unwrap() }),
        prop::option::of(name()).prop_map(|comm| Key::KernelThread { comm }),
        (prop::option::of(name()), whose).prop_map(|(comm, whose)| Key::Task { comm, whose }),
        Just(Key::Idle),
        any::<bool>().prop_map(|user| Key::PageFault { user }),
        name().prop_map(|function| Key::Nmi { function }),
        Just(Key::TickKept { dependency: TickDependency::Rcu }),
        prop::sample::select(vec!["device", "nmi"]).prop_map(|family| Key::Unnamed { family }),
    ]
}

fn interval() -> impl Strategy<Value = BTreeMap<u32, BTreeMap<Key, Count>>> {
    let sum = (1..1000u64, 0..1_000_000u64).prop_map(|(number, ns)| count(number, ns));
    let counts = || prop::collection::btree_map(key(), sum.clone(), 0..60);
    (counts(), counts()).prop_map(|(first, second)| [(2, first), (3, second)].into())
}

/// The samples of a text by their names and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample =
        |line: &str| line.rsplit_once(' ').map(|(name, value)| (name.to_owned(), value.parse().unwrap()));
    let all: Vec<(String, f64)> = lines.filter_map(sample).collect();
    let by_name: BTreeMap<String, f64> = all.iter().cloned().collect();
    assert_eq!(by_name.len(), all.len(), "no two series have the same labels");
    by_name
}

fn sum_of(samples: &BTreeMap<String, f64>, begin: &str) -> f64 {
    samples.iter().filter(|(name, _)| name.starts_with(begin)).map(|(_, value)| value).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The series of a CPU add up to the counts of `dyntick-count`; none decreases or disappears, and there are few.
    #[test]
    fn sums_equal_the_counts(intervals in prop::collection::vec(interval(), 1..6)) {
        let mut totals = Totals::new("0.1.0");
        let mut before = BTreeMap::new();
        let mut expected: BTreeMap<u32, [u64; 4]> = BTreeMap::new();
        for interval in intervals {
            let measured = measured(interval);
            for (cpu, counts) in measured.cpus.iter().zip(per_cpu(&measured)) {
                let sums = [counts.interruptions(), counts.time.interruptions_ns, counts.ticks, counts.page_faults()];
                expected.entry(cpu).or_default().iter_mut().zip(sums).for_each(|(all, more)| *all += more);
            }
            totals.add(&measured);
            let now = samples(&text(&totals, Format::OpenMetrics).unwrap());
            for (name, value) in &before {
                prop_assert!(now.get(name).is_some_and(|now| now >= value), "{} fell", name);
            }
            before = now;
        }
        for (cpu, [interruptions, ns, ticks, page_faults]) in expected {
            let of = |name: &str| sum_of(&before, &format!("{name}{{cpu=\"{cpu}\""));
            prop_assert_eq!(of("dyntick_cpu_interruptions_total"), interruptions as f64);
            prop_assert!((of("dyntick_cpu_interruption_seconds_total") - ns as f64 / 1e9).abs() < 1e-12);
            prop_assert_eq!(of("dyntick_cpu_ticks_total"), ticks as f64);
            prop_assert_eq!(of("dyntick_cpu_page_faults_total"), page_faults as f64);
            let causes: BTreeSet<&Cause> = totals.cpus[&cpu].interruptions.keys().collect();
            prop_assert!(causes.len() <= Cause::known().count() + MOST_DEVICES + 2, "{:?}", causes);
        }
    }
}
