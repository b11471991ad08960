// SPDX-License-Identifier: GPL-2.0-only
//! `--perfetto`: the interruptions and idle periods as a trace for Perfetto, with arrows from the CPU that sent an
//! interrupt, set a timer or woke a task to the CPU that was interrupted.

use crate::output;
use anyhow::{Result, bail};
use dyntick_explain::{Sent, rules};
use dyntick_model::CpuList;
use dyntick_model::text::clean_line;
use dyntick_record::{About, CauseFindings, Explained, Findings, Idle, Section, Slice, Slices, What};
use dyntick_report::perfetto::{Event, Track, Writer};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, Write};
use std::path::Path;

/// The track above all others.
const MACHINE: u64 = 1;

/// Writes the file.
pub fn write(path: &Path, explained: &Explained<'_>, findings: &Findings, slices: &mut Slices) -> Result<()> {
    if slices.in_order().is_err() {
        bail!(
            "cannot write {}: the record has more interruptions and idle periods than a viewer can open: explain \
             fewer CPUs (-C), or record for a shorter time",
            path.display()
        );
    }
    let words = words(&slices.whats, findings);
    let Ok((slices, idle)) = slices.in_order() else { return Ok(()) };
    output::file_by(path, |to| {
        let mut trace = Trace { writer: Writer::new(BufWriter::new(to)), slices, idle, words };
        trace.write(explained.about)
    })
}

/// The number of the track of a CPU's interruptions.
fn of_cpu(cpu: u32) -> u64 {
    2 + 2 * u64::from(cpu)
}

/// The number of the track of a CPU's idle periods.
fn of_idle(cpu: u32) -> u64 {
    3 + 2 * u64::from(cpu)
}

/// The texts about a kind, a cause and a chain.
struct Words {
    title: String,
    kind: &'static str,
    cause: String,
    /// The chain, from the origin on.
    because: String,
    /// Its first step.
    origin: String,
    /// The first fix, by CPU; of the threads of `--of` for all.
    fixes: BTreeMap<Option<u32>, String>,
}

fn words(whats: &[What], findings: &Findings) -> Vec<Words> {
    let of_cpus = findings.cpus.iter().map(|cpu| (Some(cpu.cpu), &cpu.section));
    let of_threads = findings.threads.iter().map(|threads| (None, &threads.section));
    let sections: Vec<(Option<u32>, &Section)> = of_cpus.chain(of_threads).collect();
    let fixes = |what: &What| {
        sections.iter().filter_map(|(cpu, section)| Some((*cpu, first_fix(section, what)?))).collect()
    };
    let words = |what: &What| {
        let steps = what.chain.texts();
        Words {
            title: clean_line(&rules::title(&what.cause)),
            kind: what.kind,
            cause: what.cause.to_string(),
            because: clean_line(&steps.join(" → ")),
            origin: clean_line(steps.first().map_or("", String::as_str)),
            fixes: fixes(what),
        }
    };
    whats.iter().map(words).collect()
}

/// The most effective fix of a cause.
fn first_fix(section: &Section, what: &What) -> Option<String> {
    let is_same = |cause: &&CauseFindings| cause.cause == what.cause;
    let fix = section.causes.iter().find(is_same)?.fixes.first()?;
    Some(clean_line(&fix.action.to_string()))
}

/// An action on a CPU that interrupted another one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Action {
    cpu: u32,
    ns: u64,
    /// The index of the interruption.
    slice: usize,
}

struct Trace<'a, W: Write> {
    writer: Writer<W>,
    slices: &'a [Slice],
    idle: &'a [Idle],
    words: Vec<Words>,
}

impl<W: Write> Trace<'_, W> {
    fn write(&mut self, about: &About) -> std::io::Result<()> {
        let actions = self.actions();
        self.tracks(about, &actions)?;
        self.interruptions()?;
        for idle in self.idle {
            let states = about.idle.as_ref().and_then(|states| states.states.get(&idle.cpu));
            let known = states.and_then(|states| states.get(idle.state as usize));
            let name = known.map_or_else(|| format!("state {}", idle.state), |state| clean_line(&state.name));
            let track = of_idle(idle.cpu);
            self.writer.begin(&Event { track, ns: idle.begin_ns, name: &name, ..Event::default() })?;
            self.writer.end(track, idle.end_ns)?;
        }
        for together in actions.chunk_by(|a, b| (a.cpu, a.ns) == (b.cpu, b.ns)) {
            self.instant(together)?;
        }
        self.writer.flush()
    }

    /// The actions with an arrow, by CPU and time.
    fn actions(&self) -> Vec<Action> {
        let action = |(slice, one): (usize, &Slice)| {
            let sent = action_of(one)?;
            Some(Action { cpu: sent.cpu, ns: sent.at_ns, slice })
        };
        let mut actions: Vec<Action> = self.slices.iter().enumerate().filter_map(action).collect();
        actions.sort_unstable();
        actions
    }

    fn tracks(&mut self, about: &About, actions: &[Action]) -> std::io::Result<()> {
        let kernel = &about.machine.kernel;
        let name = if kernel.is_known() { format!("Linux {kernel}") } else { "Linux".to_owned() };
        self.writer.track(&Track { id: MACHINE, parent: None, name: &clean_line(&name), rank: 0 })?;
        let senders = actions.iter().map(|action| action.cpu);
        let cpus: BTreeSet<u32> = about.cpus.iter().chain(senders).collect();
        let with_idle: BTreeSet<u32> = self.idle.iter().map(|idle| idle.cpu).collect();
        for cpu in cpus {
            let (id, name) = (of_cpu(cpu), format!("CPU {cpu}"));
            self.writer.track(&Track { id, parent: Some(MACHINE), name: &name, rank: cpu })?;
            if with_idle.contains(&cpu) {
                let name = format!("CPU {cpu} idle");
                self.writer.track(&Track { id: of_idle(cpu), parent: Some(id), name: &name, rank: 0 })?;
            }
        }
        Ok(())
    }

    /// Writes the interruptions. One that begins within another one ends within it: the end of the outer one is that of
    /// its last event.
    fn interruptions(&mut self) -> std::io::Result<()> {
        let mut open: Vec<(u64, u64)> = Vec::new();
        for (index, slice) in self.slices.iter().enumerate() {
            let track = of_cpu(slice.cpu);
            let is_over = |(of, end): &&(u64, u64)| *of != track || *end <= slice.begin_ns;
            while let Some((of, end)) = open.last().filter(is_over).copied() {
                open.pop();
                self.writer.end(of, end)?;
            }
            let end = open.last().map_or(slice.end_ns, |(_, outer)| slice.end_ns.min(*outer));
            self.interruption(index, slice)?;
            open.push((track, end));
        }
        open.iter().rev().try_for_each(|(track, end)| self.writer.end(*track, *end))
    }

    fn interruption(&mut self, index: usize, slice: &Slice) -> std::io::Result<()> {
        let words = &self.words[slice.what as usize];
        let fix = words.fixes.get(&Some(slice.cpu)).or_else(|| words.fixes.get(&None));
        let notes = [
            ("cause", words.cause.as_str()),
            ("entry", words.kind),
            ("because", words.because.as_str()),
            ("fix", fix.map_or("", String::as_str)),
        ];
        let notes: Vec<(&str, &str)> = notes.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        let ends = action_of(slice).map(|_| arrow(index));
        let (track, ns) = (of_cpu(slice.cpu), slice.begin_ns);
        self.writer.begin(&Event { track, ns, name: &words.title, notes: &notes, starts: &[], ends })
    }

    /// Writes the actions of one event, which may have interrupted several CPUs.
    fn instant(&mut self, actions: &[Action]) -> std::io::Result<()> {
        let [first, ..] = actions else { return Ok(()) };
        let targets: CpuList = actions.iter().map(|action| self.slices[action.slice].cpu).collect();
        let name = format!("interrupts CPU {targets}");
        let words = &self.words[self.slices[first.slice].what as usize];
        let notes: &[(&str, &str)] =
            if words.origin.is_empty() { &[] } else { &[("because", words.origin.as_str())] };
        let starts: Vec<u64> = actions.iter().map(|action| arrow(action.slice)).collect();
        let (track, ns) = (of_cpu(first.cpu), first.ns);
        self.writer.instant(&Event { track, ns, name: &name, notes, starts: &starts, ends: None })
    }
}

/// The action of another CPU that led to an interruption. One after its begin, as that which makes a tick go on, has no
/// arrow.
fn action_of(slice: &Slice) -> Option<Sent> {
    slice.sent.filter(|sent| sent.cpu != slice.cpu && sent.at_ns <= slice.begin_ns)
}

/// The number of the arrow to an interruption.
fn arrow(slice: usize) -> u64 {
    slice as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::explain::folded;
    use dyntick_record::Record;

    /// CPU 0 sends CPU 1, which sleeps, an interrupt to wake a task.
    const TEXT: &str = "# tracer: nop
 <idle>-0 [001] d..1. 1.000001: cpu_idle: state=2 cpu_id=1
 app-7 [000] d..2. 1.000100: sched_wakeup: comm=other pid=8 prio=120 target_cpu=001
 app-7 [000] d..2. 1.000101: ipi_send_cpu: cpu=1 callsite=resched_curr+0x1 callback=0x0
 <idle>-0 [001] d..1. 1.000105: cpu_idle: state=4294967295 cpu_id=1
 <idle>-0 [001] d.h1. 1.000106: reschedule_entry: vector=253
 <idle>-0 [001] d.h1. 1.000110: local_timer_entry: vector=236
 <idle>-0 [001] d.h1. 1.000112: local_timer_exit: vector=236
 <idle>-0 [001] d.h1. 1.000115: reschedule_exit: vector=253
 app-7 [000] d..2. 1.000200: softirq_raise: vec=9 [action=RCU]
";

    /// The fields of a message: a number, or bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let (mut number, mut own) = (0, &[][..]);
            match key & 7 {
                0 => number = varint(&mut bytes),
                1 => {
                    number = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                    bytes = &bytes[8..];
                }
                2 => {
                    let length = varint(&mut bytes) as usize;
                    (own, bytes) = bytes.split_at(length);
                }
                other => panic!("wire type {other}"),
            }
            fields.push((key >> 3, number, own));
        }
        fields
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for place in 0.. {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    fn number(of: &[(u64, u64, &[u8])], field: u64) -> Option<u64> {
        of.iter().find(|(own, ..)| *own == field).map(|(_, number, _)| *number)
    }

    /// An event as it is in the file.
    #[derive(Debug, PartialEq)]
    struct Written {
        kind: u64,
        track: u64,
        us: u64,
        /// The arrow that begins.
        starts: Option<u64>,
        /// The arrow that ends.
        ends: Option<u64>,
    }

    const BEGIN: u64 = 1;
    const END: u64 = 2;
    const INSTANT: u64 = 3;

    fn written(kind: u64, track: u64, us: u64) -> Written {
        Written { kind, track, us, starts: None, ends: None }
    }

    fn event(packet: &[u8]) -> Option<Written> {
        let packet = fields(packet);
        let event = fields(packet.iter().find(|(field, ..)| *field == 11)?.2);
        Some(Written {
            kind: number(&event, 9)?,
            track: number(&event, 11)?,
            us: number(&packet, 8)? / 1000 - 1_000_000,
            starts: number(&event, 47),
            ends: number(&event, 48),
        })
    }

    #[test]
    fn slices_lie_in_one_another_and_arrows_come_from_the_sender() {
        let record = Record::read_from(TEXT.as_bytes(), Path::new("x")).unwrap();
        let mut slices = Slices::new(&record.about, true);
        let explained = record.explain_to(None, &mut slices).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pftrace");
        write(&path, &explained, &explained.findings(), &mut slices).unwrap();
        let [sender, victim, idle] = [of_cpu(0), of_cpu(1), of_idle(1)];
        let expected = [
            Written { ends: Some(1), ..written(BEGIN, victim, 106) },
            written(BEGIN, victim, 110),
            written(END, victim, 112),
            written(END, victim, 115),
            written(BEGIN, idle, 1),
            written(END, idle, 105),
            Written { starts: Some(1), ..written(INSTANT, sender, 101) },
        ];
        let file = std::fs::read(&path).unwrap();
        let events: Vec<Written> = fields(&file).iter().filter_map(|(_, _, packet)| event(packet)).collect();
        assert_eq!(events, expected);
        for text in ["CPU 1 idle", "state 2", "interrupts CPU 1", "Linux"] {
            assert!(file.windows(text.len()).any(|part| part == text.as_bytes()), "{text}");
        }
        let mut output = Vec::new();
        folded::write(&mut output, &slices).unwrap();
        let folded = String::from_utf8(output).unwrap();
        let lines: Vec<(&str, &str)> = folded.lines().filter_map(|line| line.rsplit_once(' ')).collect();
        assert_eq!(lines.iter().map(|(_, ns)| *ns).collect::<Vec<_>>(), ["2000", "7000"], "{folded}");
        assert!(lines[1].0.starts_with("CPU 1;reschedule;wakeup:other;"), "{folded}");
        assert!(lines[1].0.contains(";app "), "{folded}");
    }
}
