// SPDX-License-Identifier: GPL-2.0-only
//! From raw pages to events.

use super::{
    Field, Format, FormatError, IRQ_WORKS, Lost, Recording, RingError, SymbolTable, ring, room_for_events,
};
use dyntick_model::{CpuList, Event, EventKind, Softirq, Symbol, TickDependency, Vector};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The events of a recording and what is missing from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// All events, in order of time; of one CPU in the order in which they were recorded.
    pub events: Vec<Event>,
    /// Events that were lost, by CPU: refused by a full buffer, or missing between pages.
    pub lost: BTreeMap<u32, u64>,
    /// How many records of each event there are, by CPU and `system:name`: also of events that are
    /// only counted, and also where there are none.
    pub counts: BTreeMap<(u32, String), u64>,
    /// Records of no recorded event or with impossible contents.
    pub undecoded: u64,
}

/// Why a recording cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// An event's layout.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A damaged page.
    #[error("CPU {cpu}: {source}")]
    Ring {
        /// Whose buffer.
        cpu: u32,
        /// What is wrong.
        source: RingError,
    },
    /// More events than there is memory for.
    #[error(
        "it has {events} events, but this machine has memory for only {most}: record a shorter time, or \
         fewer CPUs, or read it on a machine with more memory"
    )]
    TooMany {
        /// How many there are.
        events: u64,
        /// How many are decoded here ([`room_for_events`]).
        most: u64,
    },
}

impl Recording {
    /// Decodes all of it.
    ///
    /// # Errors
    /// Damage, and more events than [`room_for_events`].
    pub fn decode(&self) -> Result<Decoded, DecodeError> {
        self.decode_at_most(room_for_events())
    }

    /// [`Recording::decode`] with another limit; nothing is left out, for what explains an interruption may be the
    /// very last event.
    ///
    /// # Errors
    /// Damage, and more events than `most`.
    pub fn decode_at_most(&self, most: u64) -> Result<Decoded, DecodeError> {
        let (mut events, mut count) = (Vec::new(), 0);
        let mut decoded = self.walk(&mut self.decoder()?, &mut |event| {
            count += 1;
            match count > most {
                true => events = Vec::new(),
                false => events.push(event),
            }
        })?;
        if count > most {
            return Err(DecodeError::TooMany { events: count, most });
        }
        events.sort_by_key(|event| event.ts);
        decoded.events = events;
        Ok(decoded)
    }

    /// The function addresses that occur and have no name yet. Damage is left for [`Recording::decode`] to tell.
    pub fn unknown_addresses(&self) -> BTreeSet<u64> {
        let Ok(mut decoder) = self.decoder() else { return BTreeSet::new() };
        let _ = self.walk(&mut decoder, &mut |_| ());
        decoder.symbols.into_unknown()
    }

    fn decoder(&self) -> Result<Decoder, FormatError> {
        Decoder::new(&self.metadata.formats, SymbolTable::new(&self.metadata.symbols))
    }

    /// Hands over each event, CPU by CPU. Returns all but the events.
    fn walk(&self, decoder: &mut Decoder, take: &mut dyn FnMut(Event)) -> Result<Decoded, DecodeError> {
        let mut decoded = Decoded::default();
        for (&cpu, raw) in &self.raw {
            let pages = decoder.decode(cpu, raw, self.metadata.page_size, &mut *take);
            let Pages { lost, undecoded } = pages.map_err(|source| DecodeError::Ring { cpu, source })?;
            decoded.undecoded += undecoded;
            decoded.counts.extend(decoder.take_counts().map(|(event, count)| ((cpu, event), count)));
            let refused = self.metadata.stats.get(&cpu).map_or(0, |stats| stats.lost);
            decoded.lost.insert(cpu, refused.max(lost.counted.saturating_add(lost.uncounted_places)));
        }
        Ok(decoded)
    }
}

/// Decodes pages, also while more are recorded.
pub struct Decoder {
    readers: Readers,
    symbols: SymbolTable,
    texts: Texts,
}

/// What some pages of one CPU held beside events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// What is missing from them.
    pub lost: Lost,
    /// Records of no known event or with impossible contents.
    pub undecoded: u64,
}

impl Decoder {
    /// For events with these formats, by `system:name`; functions are called as in `symbols`.
    pub fn new(formats: &BTreeMap<String, String>, symbols: SymbolTable) -> Result<Self, FormatError> {
        Ok(Self { readers: readers(formats)?, symbols, texts: Texts::default() })
    }

    /// Calls `each` with the events of these pages of a CPU, in their order.
    pub fn decode(
        &mut self,
        cpu: u32,
        raw: &[u8],
        page_size: usize,
        mut each: impl FnMut(Event),
    ) -> Result<Pages, RingError> {
        let mut undecoded = 0;
        let lost = ring::for_each(raw, page_size, |ts, record| {
            let Some(reader) = reader_of(&mut self.readers, record) else {
                undecoded += 1;
                return;
            };
            reader.count += 1;
            let Some(layout) = &reader.layout else { return };
            match layout.read(record, &mut self.symbols, &mut self.texts) {
                Some((pid, kind)) => each(Event { ts, cpu, pid, kind }),
                None => undecoded += 1,
            }
        })?;
        Ok(Pages { lost, undecoded })
    }

    /// How many records of each event there were since this was asked before, by `system:name`.
    fn take_counts(&mut self) -> impl Iterator<Item = (String, u64)> + '_ {
        self.readers.values_mut().map(|reader| (reader.event.clone(), std::mem::take(&mut reader.count)))
    }
}

/// Texts that recur, as names of tasks, are kept once.
#[derive(Default)]
struct Texts(HashMap<Vec<u8>, Symbol>);

/// How many texts are kept: tasks may have any names.
const MOST_TEXTS: usize = 1 << 16;

/// Names of tasks have 15 bytes and those of interrupts' handlers some tens; what comes from a file may have
/// thousands, and would be told with each event.
const LONGEST_TEXT: usize = 256;

impl Texts {
    fn keep(&mut self, text: &[u8]) -> Symbol {
        let text = &text[..text.len().min(LONGEST_TEXT)];
        if let Some(kept) = self.0.get(text) {
            return kept.clone();
        }
        if self.0.len() == MOST_TEXTS {
            self.0.clear();
        }
        let kept = Symbol::from(String::from_utf8_lossy(text).as_ref());
        self.0.insert(text.to_owned(), kept.clone());
        kept
    }
}

/// Reads the records of one event.
struct Reader {
    event: String,
    /// How many records were read.
    count: u64,
    /// None for an event that is only counted.
    layout: Option<Layout>,
}

struct Layout {
    pid: Field,
    fields: Vec<Field>,
    make: Make,
}

/// What becomes of a record.
enum Make {
    /// The same event each time.
    Always(EventKind),
    /// One that is made of the fields that [`layout`] names, in that order.
    Of(OfFields),
}

type OfFields = fn(&mut Fields) -> Option<EventKind>;

/// The fields of one record.
struct Fields<'a> {
    record: &'a [u8],
    fields: std::slice::Iter<'a, Field>,
    symbols: &'a mut SymbolTable,
    texts: &'a mut Texts,
}

impl Fields<'_> {
    fn number(&mut self) -> Option<u64> {
        self.fields.next()?.number(self.record)
    }

    fn function(&mut self) -> Option<Symbol> {
        let address = self.number()?;
        Some(self.symbols.name(address))
    }

    fn text(&mut self) -> Option<Symbol> {
        let text = self.fields.next()?.text(self.record)?;
        Some(self.texts.keep(text))
    }

    /// A set of CPUs: a field of variable length that is a bit mask, the lowest byte first. Behind the
    /// last CPU that Linux can have there is nothing to be found.
    fn cpus(&mut self) -> Option<CpuList> {
        let bytes = self.fields.next()?.bytes(self.record)?;
        let bytes = &bytes[..bytes.len().min(LONGEST_MASK)];
        let bits = |(position, byte): (usize, &u8)| {
            let byte = *byte;
            (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| position as u32 * 8 + bit)
        };
        Some(bytes.iter().enumerate().flat_map(bits).collect())
    }

    fn softirq(&mut self) -> Option<Softirq> {
        Softirq::from_number(self.number()? as u32)
    }
}

/// Bytes of a mask of 8192 CPUs.
const LONGEST_MASK: usize = 1024;

/// The readers by the number that stands in their records.
type Readers = HashMap<u16, Reader>;

fn readers(formats: &BTreeMap<String, String>) -> Result<Readers, FormatError> {
    let mut readers = Readers::new();
    for (event, text) in formats {
        let format = Format::parse(event, text)?;
        let field = |name: &str| {
            format
                .field(name)
                .cloned()
                .ok_or_else(|| FormatError::NoField { event: event.clone(), field: name.into() })
        };
        let alone = of_vector(event).or_else(|| of_irq_work(event));
        let layout = match (alone, layout(event)) {
            (Some(kind), _) => {
                Some(Layout { pid: field("common_pid")?, fields: Vec::new(), make: Make::Always(kind) })
            }
            (None, Some((names, make))) => {
                let fields = names.iter().map(|name| field(name)).collect::<Result<_, _>>()?;
                Some(Layout { pid: field("common_pid")?, fields, make: Make::Of(make) })
            }
            (None, None) => None,
        };
        readers.insert(format.id, Reader { event: event.clone(), count: 0, layout });
    }
    Ok(readers)
}

fn reader_of<'r>(readers: &'r mut Readers, record: &[u8]) -> Option<&'r mut Reader> {
    // `common_type` is the first field of every record.
    let id = u16::from_le_bytes(record.get(..2)?.try_into().ok()?);
    readers.get_mut(&id)
}

impl Layout {
    fn read(&self, record: &[u8], symbols: &mut SymbolTable, texts: &mut Texts) -> Option<(i32, EventKind)> {
        let pid = self.pid.number(record)? as i32;
        let mut fields = Fields { record, fields: self.fields.iter(), symbols, texts };
        match &self.make {
            Make::Always(kind) => Some((pid, kind.clone())),
            Make::Of(make) => Some((pid, make(&mut fields)?)),
        }
    }
}

/// What `power:cpu_idle` says where a state is left (`include/trace/events/power.h`).
const PWR_EVENT_EXIT: u32 = u32::MAX;

/// Which fields an event's record is read for, and what is made of them. Field names are the same
/// in 6.1, 6.12 and 7.2.
fn layout(event: &str) -> Option<(&'static [&'static str], OfFields)> {
    use EventKind::*;
    Some(match event {
        "irq:irq_handler_entry" => {
            (&["irq", "name"], |f| Some(IrqEntry { irq: f.number()? as u32, name: f.text()? }))
        }
        "irq:irq_handler_exit" => (&["irq"], |f| Some(IrqExit { irq: f.number()? as u32 })),
        "irq:softirq_raise" => (&["vec"], |f| Some(SoftirqRaise { softirq: f.softirq()? })),
        "irq:softirq_entry" => (&["vec"], |f| Some(SoftirqEntry { softirq: f.softirq()? })),
        "irq:softirq_exit" => (&["vec"], |f| Some(SoftirqExit { softirq: f.softirq()? })),
        "timer:tick_stop" => (&["success", "dependency"], |f| {
            Some(TickStop {
                success: f.number()? != 0,
                dependency: TickDependency::from_mask(f.number()? as u32).ok()?,
            })
        }),
        "timer:hrtimer_start" => (&["hrtimer", "function", "expires"], |f| {
            Some(HrtimerStart { timer: f.number()?, function: f.function()?, expires: f.number()? as i64 })
        }),
        "timer:hrtimer_cancel" => (&["hrtimer"], |f| Some(HrtimerCancel { timer: f.number()? })),
        "timer:hrtimer_expire_entry" => {
            (&["hrtimer", "function"], |f| Some(HrtimerEntry { timer: f.number()?, function: f.function()? }))
        }
        "timer:hrtimer_expire_exit" => (&["hrtimer"], |f| Some(HrtimerExit { timer: f.number()? })),
        "timer:timer_start" => (&["timer", "function", "expires", "flags"], |f| {
            Some(TimerStart {
                timer: f.number()?,
                function: f.function()?,
                expires: f.number()?,
                flags: f.number()? as u32,
            })
        }),
        "timer:timer_expire_entry" => {
            (&["timer", "function"], |f| Some(TimerEntry { timer: f.number()?, function: f.function()? }))
        }
        "timer:timer_expire_exit" => (&["timer"], |f| Some(TimerExit { timer: f.number()? })),
        "workqueue:workqueue_queue_work" => (&["work", "function", "cpu"], |f| {
            Some(WorkQueued { work: f.number()?, function: f.function()?, target: f.number()? as u32 })
        }),
        "workqueue:workqueue_execute_start" => {
            (&["work", "function"], |f| Some(WorkStart { work: f.number()?, function: f.function()? }))
        }
        "workqueue:workqueue_execute_end" => (&["work"], |f| Some(WorkEnd { work: f.number()? })),
        "sched:sched_switch" => (&["prev_pid", "prev_comm", "prev_state", "next_pid", "next_comm"], |f| {
            Some(SchedSwitch {
                prev: f.number()? as i32,
                prev_comm: f.text()?,
                prev_state: f.number()?,
                next: f.number()? as i32,
                next_comm: f.text()?,
            })
        }),
        "sched:sched_process_fork" => (&["parent_pid", "child_pid"], |f| {
            Some(SchedFork { parent: f.number()? as i32, child: f.number()? as i32 })
        }),
        "task:task_rename" => {
            (&["pid", "newcomm"], |f| Some(TaskRename { pid: f.number()? as i32, comm: f.text()? }))
        }
        "sched:sched_wakeup" | "sched:sched_wakeup_new" => (&["pid", "comm", "target_cpu"], |f| {
            Some(SchedWakeup { pid: f.number()? as i32, comm: f.text()?, target: f.number()? as u32 })
        }),
        "sched:sched_waking" => (&["pid", "target_cpu"], |f| {
            Some(SchedWaking { pid: f.number()? as i32, target: f.number()? as u32 })
        }),
        "power:cpu_idle" => (&["state"], |f| {
            let state = f.number()? as u32;
            Some(CpuIdle { state: (state != PWR_EVENT_EXIT).then_some(state) })
        }),
        "power:menu_predict" => (&["predicted_ns", "used_ns", "next_timer_ns", "tick_stopped"], |f| {
            Some(MenuPredict {
                predicted_ns: f.number()?,
                used_ns: f.number()?,
                next_timer_ns: f.number()?,
                tick_stopped: f.number()? != 0,
            })
        }),
        "power:cpu_idle_miss" => (&["state", "below"], |f| {
            Some(CpuIdleMiss { state: f.number()? as u32, below: f.number()? != 0 })
        }),
        "ipi:ipi_send_cpu" => (&["cpu", "callsite", "callback"], |f| {
            Some(IpiSend { target: f.number()? as u32, callsite: f.function()?, callback: f.function()? })
        }),
        "ipi:ipi_send_cpumask" => (&["cpumask", "callsite", "callback"], |f| {
            Some(IpiSendMask { targets: f.cpus()?, callsite: f.function()?, callback: f.function()? })
        }),
        "csd:csd_queue_cpu" => (&["cpu", "callsite", "func"], |f| {
            Some(CsdQueued { target: f.number()? as u32, callsite: f.function()?, function: f.function()? })
        }),
        "probe:call_many" => (&["targets", "callsite", "func"], |f| {
            let mask = f.number()?;
            let targets = (0..u64::BITS).filter(|bit| mask >> bit & 1 == 1).collect();
            Some(CsdQueuedMask { targets, callsite: f.function()?, function: f.function()? })
        }),
        "probe:call_single" => (&["cpu", "callsite", "func"], |f| {
            Some(CsdQueued { target: f.number()? as u32, callsite: f.function()?, function: f.function()? })
        }),
        "probe:kick" => (&["cpu", "callsite"], |f| {
            let (target, callsite) = (f.number()? as u32, f.function()?);
            Some(CsdQueued { target, callsite, function: "nohz_full_kick_func".into() })
        }),
        "probe:reschedule" => (&["cpu", "callsite"], |f| {
            let (target, callsite) = (f.number()? as u32, f.function()?);
            Some(IpiSend { target, callsite, callback: "0x0".into() })
        }),
        "csd:csd_function_entry" => (&["func"], |f| Some(CsdEntry { function: f.function()? })),
        "csd:csd_function_exit" => (&["func"], |f| Some(CsdExit { function: f.function()? })),
        "sched:sched_migrate_task" => (&["pid", "comm", "orig_cpu", "dest_cpu"], |f| {
            Some(SchedMigrate {
                pid: f.number()? as i32,
                comm: f.text()?,
                from: f.number()? as u32,
                to: f.number()? as u32,
            })
        }),
        "nmi:nmi_handler" => (&["handler", "delta_ns"], |f| {
            Some(Nmi { handler: f.function()?, duration_ns: (f.number()? as i64).max(0) as u64 })
        }),
        "exceptions:page_fault_user" => {
            (&["address", "ip"], |f| Some(PageFault { user: true, address: f.number()?, ip: f.number()? }))
        }
        "exceptions:page_fault_kernel" => {
            (&["address", "ip"], |f| Some(PageFault { user: false, address: f.number()?, ip: f.number()? }))
        }
        "timer:itimer_state" => (&["which", "value_sec", "value_nsec"], |f| {
            Some(Itimer { which: f.number()? as u32, armed: f.number()? != 0 || f.number()? != 0 })
        }),
        _ => return None,
    })
}

/// The events of the interrupt vectors, which carry nothing that their names do not tell.
fn of_vector(event: &str) -> Option<EventKind> {
    let name = event.strip_prefix("irq_vectors:")?;
    let entry = |name| EventKind::VectorEntry { vector: Vector::from_event(name) };
    let exit = |name| EventKind::VectorExit { vector: Vector::from_event(name) };
    name.strip_suffix("_entry").map(entry).or_else(|| name.strip_suffix("_exit").map(exit))
}

/// The probe of a function that was queued for interrupt context has its name.
fn of_irq_work(event: &str) -> Option<EventKind> {
    let name = event.strip_prefix("probe:")?;
    let known = IRQ_WORKS.iter().any(|(function, _)| *function == name);
    known.then(|| EventKind::IrqWork { function: name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{CpuStats, Metadata};

    /// Two CPUs with so many events each, of one word.
    fn recording(count: u32) -> Recording {
        let mut page = vec![0u8; 1024];
        page[8..12].copy_from_slice(&(count * 8).to_le_bytes());
        for record in page[16..].chunks_exact_mut(8).take(count as usize) {
            record.copy_from_slice(&[1, 0, 0, 0, 7, 0, 0, 0]);
        }
        let format = "ID: 7\n\tfield:int common_pid;\toffset:2;\tsize:2;\tsigned:0;\n";
        let formats = [("irq_vectors:local_timer_entry".to_owned(), format.to_owned())].into();
        let stats = [0, 1].map(|cpu| (cpu, CpuStats::default())).into();
        let metadata = Metadata { page_size: 1024, formats, stats, ..Metadata::default() };
        Recording { metadata, raw: [(0, page.clone()), (1, page)].into() }
    }

    #[test]
    fn more_events_than_there_is_memory_for_are_counted_and_refused() {
        let recording = recording(100);
        assert_eq!(recording.decode().unwrap().events.len(), 200);
        assert_eq!(recording.decode_at_most(200).unwrap().events.len(), 200);
        let refused = recording.decode_at_most(199).unwrap_err();
        assert_eq!(refused, DecodeError::TooMany { events: 200, most: 199 });
        assert!(refused.to_string().contains("fewer CPUs"), "{refused}");
    }
}
