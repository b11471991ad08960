// SPDX-License-Identifier: GPL-2.0-only
//! The events that the trace of another tool lacks for a replay, and the assumptions instead.

use dyntick_record::About;

/// Ticks per second of a kernel that is not known: Debian's.
pub const DEFAULT_HZ: u32 = 250;

/// The events that show inputs of a choice, and what is assumed without them.
const INPUTS: [(&str, &str); 5] = [
    ("timer:hrtimer_start", "the next timer is the one that woke the CPU, else none"),
    ("timer:tick_stop", "the tick is never stopped"),
    ("timer:hrtimer_expire_entry", "no tick ends a sleep"),
    ("sched:sched_switch", "timers count from the begin of the sleep or the end of an interrupt"),
    ("irq_vectors:local_timer_entry", "what woke a CPU is another interrupt or not known"),
];

/// The remedy.
const RECORD: &str = "record it with the command of `dyntick record --idle --print trace-cmd`, or with `dyntick record --idle`";

/// The events of a trace.
pub struct Lacking<'a> {
    about: &'a About,
}

impl<'a> Lacking<'a> {
    /// Looks at a record, or at the trace of another tool.
    pub fn of(about: &'a About) -> Self {
        Self { about }
    }

    /// True if the trace has this event. A record of dyntick has all.
    fn has(&self, event: &str) -> bool {
        self.about.foreign.as_ref().is_none_or(|foreign| foreign.source.events.contains_key(event))
    }

    /// The reason why it cannot be replayed.
    pub fn refusal(&self) -> Option<String> {
        let missing = !self.has("power:cpu_idle");
        missing.then(|| {
            format!("it has no event power:cpu_idle, the begin and end of each idle period; {RECORD}")
        })
    }

    /// The reason why there is nothing to replay, of a trace with this number of sleeps.
    pub fn no_sleep(&self, sleeps: u64) -> String {
        if sleeps > 0 {
            "its sleeps are in states that the machine does not have; name another one with --machine"
                .to_owned()
        } else if self.about.foreign.is_some() {
            format!("it has no idle period that begins and ends in it; {RECORD}")
        } else {
            "it has no idle period; record with `dyntick record --idle`".to_owned()
        }
    }

    /// True if events show when timers are set.
    pub fn timers_known(&self) -> bool {
        self.has("timer:hrtimer_start")
    }

    /// The assumptions, in one line.
    pub fn note(&self, file: &str) -> Option<String> {
        let foreign = self.about.foreign.as_ref()?;
        let mut assumed = vec!["its idle states are those of --machine".to_owned()];
        if self.about.machine.hz == 0 {
            assumed.push(format!("{DEFAULT_HZ} ticks per second"));
        }
        assumed.push("no latency limit".to_owned());
        if foreign.source.limits.iter().any(|limit| limit.contains("no names of functions")) {
            assumed.push("without names of functions, the tick's timer is one as others".to_owned());
        }
        let lacking = INPUTS.iter().filter(|(event, _)| !self.has(event));
        assumed.extend(lacking.map(|(event, instead)| format!("without {event}, {instead}")));
        Some(format!("{file} is {}. Assumed: {}.", foreign.source.format, assumed.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyntick_record::Record;

    fn about(lines: &str) -> About {
        let text = format!("# tracer: nop\n{lines}");
        Record::read_from(text.as_bytes(), std::path::Path::new("x")).unwrap().about
    }

    #[test]
    fn what_a_text_lacks_is_said_in_one_line() {
        let idle = "<idle>-0 [001] d..1. 1.000001: cpu_idle: state=1 cpu_id=1\n\
                    <idle>-0 [001] d..1. 1.000901: cpu_idle: state=4294967295 cpu_id=1\n";
        let about = about(idle);
        let lacking = Lacking::of(&about);
        assert_eq!((lacking.refusal(), lacking.timers_known()), (None, false));
        let note = lacking.note("x.txt").unwrap();
        assert!(!note.contains('\n') && note.starts_with("x.txt is "), "{note}");
        for words in [
            "states are those of --machine",
            "250 ticks",
            "without timer:tick_stop, the tick is never stopped",
        ] {
            assert!(note.contains(words), "{note}");
        }
        let other = self::about("app-7 [001] d..2. 1.000001: softirq_raise: vec=9 [action=RCU]\n");
        let refusal = Lacking::of(&other).refusal().unwrap();
        assert!(refusal.contains("power:cpu_idle") && refusal.contains("--print trace-cmd"), "{refusal}");
    }
}
