// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use dyntick_explain::late::{Share, Span};

fn late(cycle: u64, latency_ns: u64, cause: Option<&'static str>) -> LateWakeUp {
    let rule = |id| dyntick_explain::rules::all().iter().find(|rule| rule.id == id).copied().unwrap();
    let story = cause.map(|id| {
        let cause = CauseId::of(rule(id));
        let span = Span { at_ns: 0, ns: latency_ns, text: "x".into(), cause: cause.clone() };
        let share = Share { cause, ns: latency_ns, chain: Default::default(), attributed: true };
        Story { spans: vec![span], causes: vec![share] }
    });
    let due_ns = 1_000_000;
    let (woke_ns, fixes) = (due_ns + latency_ns, Vec::new());
    LateWakeUp { thread: 0, cpu: Some(1), cycle, due_ns, woke_ns, latency_ns, story, fixes }
}

#[test]
fn wakeups_of_the_same_cause_form_one_group() {
    let worst = [
        late(1, 900, Some("late-idle")),
        late(2, 800, None),
        late(3, 700, Some("smi")),
        late(4, 600, Some("late-idle")),
        late(5, 500, Some("late-path")),
        late(6, 400, None),
    ];
    let cycles: Vec<Vec<u64>> =
        alike(&worst).iter().map(|group| group.iter().map(|one| one.cycle).collect()).collect();
    assert_eq!(cycles, [vec![1, 4], vec![2, 6], vec![3], vec![5]], "what is not known is no wake-up path");
}

#[test]
fn worst_are_listed_with_the_reason_without_a_recording() {
    let cpus: CpuList = "8000".parse().unwrap();
    let mut recorder = LateRecorder::start(cpus, 2, Meanwhile::default());
    assert!(recorder.trouble().is_some(), "there is no such CPU");
    let wake_up = |cycle: u64, woke_ns: u64| WakeUp {
        thread: 0,
        cpu: Some(1),
        tid: 9,
        priority: 0,
        cycle,
        due_ns: 100,
        woke_ns,
    };
    recorder.note(&[wake_up(0, 150), wake_up(1, 900), wake_up(2, 300)], false);
    recorder.note(&[wake_up(3, 120)], false);
    let report = recorder.finish();
    let listed: Vec<(u64, u64)> = report.worst.iter().map(|one| (one.cycle, one.latency_ns)).collect();
    assert_eq!(listed, [(1, 800), (2, 200)]);
    assert!(report.trouble.is_some() && report.worst.iter().all(|one| one.story.is_none()));
}

/// Other wake-ups are reported between a late wake-up and its own report, and the ring is read for each.
#[test]
fn wakeup_that_is_reported_late_has_all_flights_since() {
    let mut recorder = LateRecorder::start("8000".parse().unwrap(), 8, Meanwhile::default());
    for number in 0..40 {
        recorder.flights.insert(number, Flight::ended(1000 * (number + 1)));
        recorder.next = number + 1;
        recorder.make_room();
    }
    assert_eq!(recorder.flights.len() as u64, RECENT, "no more than the next may need");
    assert_eq!(recorder.first_flight(35_500), 34, "it was in flight 35");
    assert_eq!(recorder.first_flight(39_999), 38);
    assert_eq!(recorder.first_flight(0), 23, "what is gone is gone");
    let wake_up =
        WakeUp { thread: 0, cpu: Some(1), tid: 9, priority: 0, cycle: 7, due_ns: 35_500, woke_ns: 35_900 };
    recorder.worst.add(worst::Kept { wake_up, flights: Some((34, 39)), asked: false });
    recorder.next = 100;
    recorder.make_room();
    assert_eq!(recorder.flights.keys().copied().collect::<Vec<_>>(), (34..40).collect::<Vec<_>>());
}
