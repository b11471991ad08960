// SPDX-License-Identifier: GPL-2.0-only
//! A look at pages on their way: the number of each event, the time of each CPU, gaps, and the CPUs that showed that
//! they may stop their tick while they are busy.

use dyntick_trace::{Field, Format, RingError, for_each_record, is_behind_a_gap};
use std::collections::{BTreeMap, BTreeSet};

/// The contents of the pages of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The number of records of each event, by `system:name`: of those that occurred.
    pub events: BTreeMap<String, u64>,
    /// The time of the first and of the last record of each CPU, ns.
    pub times: BTreeMap<u32, (u64, u64)>,
    /// The CPUs that decided on their tick while they were busy, which only those of `nohz_full=` do; `None` if no
    /// decision of any CPU is in the file.
    pub adaptive: Option<BTreeSet<u32>>,
    /// The CPUs with lost events between their pages, after the first record.
    pub gaps: BTreeSet<u32>,
}

/// The event of decisions on the tick.
const TICK_STOP: &str = "timer:tick_stop";

pub(crate) struct Survey {
    /// The names of events, and the number of their records, by the number of the event.
    counts: Vec<Option<(String, u64)>>,
    tick_stop: Option<TickStop>,
    seen: Seen,
}

struct TickStop {
    id: u16,
    pid: Field,
    success: Field,
}

impl Survey {
    /// Creates a survey of records with these formats.
    pub fn new(formats: &BTreeMap<String, String>) -> Result<Self, String> {
        let (mut counts, mut tick_stop) = (Vec::new(), None);
        for (event, text) in formats {
            let format = Format::parse(event, text).map_err(|error| error.to_string())?;
            let id = usize::from(format.id);
            counts.resize_with(counts.len().max(id + 1), || None);
            counts[id] = Some((event.clone(), 0));
            if event == TICK_STOP {
                let field = |name: &str| format.field(name).cloned();
                let fields = field("common_pid").zip(field("success"));
                tick_stop = fields.map(|(pid, success)| TickStop { id: format.id, pid, success });
            }
        }
        Ok(Self { counts, tick_stop, seen: Seen::default() })
    }

    pub fn pages(&mut self, cpu: u32, pages: &[u8], page_size: usize) -> Result<(), RingError> {
        let Self { counts, tick_stop, seen } = self;
        // Events that were lost before the first page are not between others.
        let first = usize::from(!seen.times.contains_key(&cpu));
        if page_size > 0 && pages.chunks(page_size).skip(first).any(is_behind_a_gap) {
            seen.gaps.insert(cpu);
        }
        for_each_record(pages, page_size, |ns, record| {
            let (_, last) = seen.times.entry(cpu).or_insert((ns, ns));
            *last = ns.max(*last);
            let id = record.first_chunk().map_or(0, |id| u16::from_le_bytes(*id));
            if let Some(Some((_, count))) = counts.get_mut(usize::from(id)) {
                *count += 1;
            }
            if let Some(own) = tick_stop.as_ref().filter(|own| own.id == id) {
                let adaptive = seen.adaptive.get_or_insert_default();
                if own.is_busy(record) {
                    adaptive.insert(cpu);
                }
            }
        })?;
        Ok(())
    }

    pub fn finish(self) -> Seen {
        let counted = self.counts.into_iter().flatten().filter(|(_, count)| *count > 0);
        Seen { events: counted.collect(), ..self.seen }
    }
}

impl TickStop {
    /// Returns true for a decision of a busy CPU. The idle one always succeeds (kernel/time/tick-sched.c:
    /// tick_nohz_stop_tick); a refusal is traced for CPUs of `nohz_full=` only (check_tick_dependency).
    fn is_busy(&self, record: &[u8]) -> bool {
        self.success.number(record) == Some(0) || self.pid.number(record).is_some_and(|pid| pid != 0)
    }
}
