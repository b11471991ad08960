// SPDX-License-Identifier: GPL-2.0-only
//! Our decoder against the kernel's own text output, on the machine at hand.

use dyntick_model::EventKind;
use dyntick_observe::trace::TraceSession;
use std::time::Duration;

const EVENTS: [&str; 6] = [
    "sched:sched_switch",
    "timer:tick_stop",
    "timer:hrtimer_expire_entry",
    "irq_vectors:local_timer_entry",
    "irq:softirq_entry",
    "no_such:event",
];

/// CPU, time in us, and the event's name, of a line such as
/// `  bash-12  [001] d..2.  1234.567890: sched_switch: prev_comm=…`.
fn text_key(line: &str) -> Option<(u32, u64, String)> {
    let (before, rest) = line.split_once(": ")?;
    let cpu = before.split('[').nth(1)?.split(']').next()?.parse().ok()?;
    let (seconds, micros) = before.split_ascii_whitespace().last()?.split_once('.')?;
    let time = seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?;
    Some((cpu, time, rest.split(':').next()?.to_owned()))
}

fn name(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::SchedSwitch { .. } => "sched_switch",
        EventKind::TickStop { .. } => "tick_stop",
        EventKind::HrtimerEntry { .. } => "hrtimer_expire_entry",
        EventKind::InterruptEntry { .. } => "local_timer_entry",
        EventKind::SoftirqEntry { .. } => "softirq_entry",
        other => panic!("not asked for: {other:?}"),
    }
}

fn session() -> Option<TraceSession> {
    match TraceSession::new(&EVENTS.map(String::from), 4096) {
        Ok(session) => Some(session),
        Err(error) => {
            eprintln!("skipped: no tracing on this machine: {error}");
            None
        }
    }
}

#[test]
fn no_more_is_taken_than_is_wanted() {
    let Some(session) = session() else { return };
    session.start().unwrap();
    let mut raw = std::collections::BTreeMap::new();
    // As long as each CPU has an event now and then there is a page to be had.
    while session.drain(&mut raw, 1).unwrap() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let size = |raw: &std::collections::BTreeMap<u32, Vec<u8>>| raw.values().map(Vec::len).sum::<usize>();
    let page = rustix::param::page_size();
    assert_eq!(size(&raw), page);
    while session.drain(&mut raw, 3 * page as u64).unwrap() {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(size(&raw) <= 3 * page, "{}", size(&raw));
}

#[test]
fn same_events_as_the_kernel_prints() {
    let Some(session) = session() else { return };
    session.start().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    session.stop().unwrap();
    let folder = session.folder().to_owned();
    let text = std::fs::read_to_string(folder.join("trace")).unwrap();
    let recording = session.read().unwrap();
    drop(session);
    assert!(!folder.exists(), "the instance is removed");

    assert_eq!(recording.metadata.missing_events, ["no_such:event"]);
    let decoded = recording.decode(u64::MAX).unwrap();
    assert_eq!(decoded.undecoded, 0);
    assert!(decoded.lost.values().all(|lost| *lost == 0), "{:?}", decoded.lost);

    // The kernel rounds ns to us; events of different CPUs may then change places.
    let mut printed: Vec<_> =
        text.lines().filter(|line| !line.starts_with('#')).filter_map(text_key).collect();
    let mut ours: Vec<_> =
        decoded.events.iter().map(|e| (e.cpu, (e.ts + 500) / 1000, name(&e.kind).to_owned())).collect();
    printed.sort_by_key(|(cpu, time, _)| (*cpu, *time));
    ours.sort_by_key(|(cpu, time, _)| (*cpu, *time));
    assert!(!printed.is_empty(), "a running machine has events");
    assert_eq!(ours, printed);

    let functions = decoded.events.iter().filter_map(|event| match &event.kind {
        EventKind::HrtimerEntry { function, .. } => Some(function.to_string()),
        _ => None,
    });
    assert!(functions.clone().all(|f| !f.starts_with("0x")), "every function has a name");
}
