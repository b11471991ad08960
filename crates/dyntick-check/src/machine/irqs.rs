// SPDX-License-Identifier: GPL-2.0-only
//! The device interrupts, from `/proc/irq`, `/sys/kernel/irq` and `/proc/interrupts`.

use super::Machine;
use crate::snapshot::Snapshot;
use crate::sources::{INTERRUPTS, IRQ_ACTIONS, IRQ_AFFINITY, IRQ_EFFECTIVE};
use dyntick_model::CpuList;
use dyntick_model::text::clean_line;

/// One interrupt of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Irq {
    /// The IRQ number.
    pub number: u32,
    /// The handlers' names, without control characters: modules and user space choose them.
    pub actions: String,
    /// The CPUs that it may go to (`smp_affinity`).
    pub affinity: CpuList,
    /// The CPUs that it goes to; the same as `affinity` if the kernel does not say.
    pub effective: CpuList,
    /// The file with `effective`.
    pub file: String,
}

pub(super) fn read(files: &Snapshot) -> Vec<Irq> {
    let mut irqs: Vec<Irq> =
        files.matching(IRQ_AFFINITY).filter_map(|(path, text)| irq(files, path, text)).collect();
    irqs.sort_by_key(|irq| irq.number);
    irqs
}

fn irq(files: &Snapshot, path: &str, text: &str) -> Option<Irq> {
    let number = path.strip_prefix("/proc/irq/")?.split('/').next()?;
    let id = number.parse().ok()?;
    let of = |pattern: &str| pattern.replace('*', number);
    let actions = files.text(&of(IRQ_ACTIONS))?.trim();
    let affinity: CpuList = text.trim().parse().ok()?;
    let effective = files.text(&of(IRQ_EFFECTIVE)).and_then(|text| text.trim().parse::<CpuList>().ok());
    let effective = effective.filter(|cpus| !cpus.is_empty());
    (!actions.is_empty()).then(|| Irq {
        number: id,
        actions: clean_line(actions),
        file: if effective.is_some() { of(IRQ_EFFECTIVE) } else { path.to_owned() },
        effective: effective.unwrap_or_else(|| affinity.clone()),
        affinity,
    })
}

impl Machine<'_> {
    /// The count of a row of `/proc/interrupts` on some CPUs since boot.
    pub fn interrupts(&self, row: &str, cpus: &CpuList) -> u64 {
        let text = self.text(INTERRUPTS).unwrap_or_default();
        let header = text.lines().next().unwrap_or_default().split_ascii_whitespace();
        let columns: Vec<Option<u32>> = header.map(|name| name.strip_prefix("CPU")?.parse().ok()).collect();
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(row)?.strip_prefix(':'));
        let counts =
            line.unwrap_or_default().split_ascii_whitespace().map_while(|count| count.parse::<u64>().ok());
        let on = columns.into_iter().zip(counts).filter(|(cpu, _)| cpu.is_some_and(|cpu| cpus.contains(cpu)));
        on.map(|(_, count)| count).fold(0, u64::saturating_add)
    }
}
