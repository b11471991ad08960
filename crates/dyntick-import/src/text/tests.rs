// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::{Event, EventKind, Softirq, TickDependency, Within};
use dyntick_trace::{Metadata, Recording};
use proptest::prelude::*;

#[derive(Default)]
struct Kept {
    recording: Recording,
}

impl Sink for Kept {
    fn layout(&mut self, layout: &Layout) -> std::io::Result<()> {
        let Layout { page_size, formats } = layout.clone();
        self.recording.metadata = Metadata { page_size, formats, ..Metadata::default() };
        Ok(())
    }

    fn pages(&mut self, cpu: u32, pages: &[u8]) -> std::io::Result<()> {
        self.recording.raw.entry(cpu).or_default().extend_from_slice(pages);
        Ok(())
    }
}

fn read_from(text: &str) -> (Imported, Vec<Event>) {
    let mut kept = Kept::default();
    let imported = read(&mut text.as_bytes(), &mut kept).unwrap();
    kept.recording.metadata.symbols = imported.symbols.clone();
    let events = kept.recording.decode(u64::MAX).unwrap().events;
    (imported, events)
}

const TEXT: &str = "# tracer: nop
#
# entries-in-buffer/entries-written: 4/9   #P:2
#
     two words-7       [001] d.h1.     1.000001: softirq_raise: vec=9 [action=RCU]
CPU:1 [LOST 3 EVENTS]
     two words-7       [001] d..1.     1.000002: tick_stop: success=0 dependency=SCHED
     two words-7       [001] d..2.     1.000003: sched_switch: prev_comm=two words prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
          <idle>-0     [000] d..2.     1.000004: hrtimer_start: hrtimer=0xff function=__pfx_tick_nohz_handler expires=5 softexpires=5 mode=0x0
          <idle>-0     [000] d..2.     1.000005: of_tomorrow: x=y
          <idle>-0     [000] d..2.     1.000005: timer_expire_exit: nothing
";

#[test]
fn text_becomes_events() {
    let (imported, events) = read_from(TEXT);
    let kinds: Vec<&EventKind> = events.iter().map(|event| &event.kind).collect();
    let expected = [
        &EventKind::SoftirqRaise { softirq: Softirq::Rcu },
        &EventKind::TickStop { success: false, dependency: TickDependency::Sched },
        &EventKind::SchedSwitch {
            prev: 7,
            prev_comm: "two words".into(),
            prev_state: 1,
            next: 0,
            next_comm: "swapper/1".into(),
        },
        &EventKind::HrtimerStart { timer: 0xff, function: "tick_nohz_handler".into(), expires: 5, soft: 5 },
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        (events[0].ts, events[0].cpu, events[0].pid, events[0].within),
        (1_000_001_000, 1, 7, Within::Interrupt)
    );
    assert_eq!(imported.names, [(7, "two words".to_owned())].into());
    assert_eq!((imported.cpus, imported.unreadable, imported.stats[&1].lost), (Some(2), 1, 3));
    assert_eq!(imported.seen.events["of_tomorrow"], 1);
    assert_eq!((imported.seen.adaptive, imported.seen.gaps), (Some([1].into()), [1].into()));
    assert!(imported.overwritten);
    assert!(imported.notes.iter().any(|note| note.contains("5 of 9 events")), "{:?}", imported.notes);
}

#[test]
fn interrupts_are_followed_where_lines_have_no_flags() {
    let line = |ns: u32, event: &str| format!("x 7 [000] 1.{ns:09}: {event}\n");
    let text = line(1, "irq_vectors:local_timer_entry: vector=236")
        + &line(2, "sched:sched_wakeup: comm=a pid=9 prio=1 target_cpu=000")
        + &line(3, "irq_vectors:local_timer_exit: vector=236")
        + &line(4, "irq:softirq_entry: vec=1 [action=TIMER]")
        + &line(5, "sched:sched_wakeup: comm=a pid=9 prio=1 target_cpu=000")
        + &line(6, "irq:softirq_exit: vec=1 [action=TIMER]")
        + &line(7, "sched:sched_wakeup: comm=a pid=9 prio=1 target_cpu=000");
    let (imported, events) = read_from(&text);
    let within: Vec<Within> = events.iter().map(|event| event.within).collect();
    use Within::{Interrupt, Softirq, Task};
    assert_eq!(within, [Interrupt, Interrupt, Interrupt, Softirq, Softirq, Softirq, Task]);
    assert_eq!((imported.source.as_str(), events[6].ts), ("the text of perf script", 1_000_000_007));
    assert!(imported.notes.is_empty());
}

#[test]
fn texts_are_recognised() {
    assert!(is_text(TEXT.as_bytes()));
    assert!(is_text(b"cpus=2\n"));
    assert!(is_text(b"comment\n a-1 [000] 1.000001: x: y\n"));
    assert!(!is_text(b"hello\n") && !is_text(b"cpus=2\0"));
}

proptest! {
    #[test]
    fn changed_texts_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut text = TEXT.as_bytes().to_vec();
        let length = text.len();
        text[at.index(length)] = byte;
        let _ = read(&mut &text[..], &mut Kept::default());
        let _ = read(&mut &text[cut.index(length)..], &mut Kept::default());
    }
}
