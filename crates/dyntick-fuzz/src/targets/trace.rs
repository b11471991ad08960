// SPDX-License-Identifier: GPL-2.0-only
//! Raw traces: the ring buffer's pages, the layouts of events, the stream of executed blocks.

use crate::Pieces;
use dyntick_explain::{Context, Known, explain};
use dyntick_model::CpuList;
use dyntick_profile::symbols::Symbols;
use dyntick_profile::{compare, phases};
use dyntick_trace::{CpuStats, Decoder, Metadata, Recording, SymbolTable};
use std::collections::BTreeMap;

/// The layouts of the events that a record has, from Linux 6.18, without their print formats.
const FORMATS: &str = include_str!("../../formats.txt");
const PAGE: usize = 4096;

fn formats(text: &str) -> BTreeMap<String, String> {
    let named = Pieces::split(text.as_bytes()).0.into_iter();
    named.map(|(name, format)| (name, String::from_utf8_lossy(format).into_owned())).collect()
}

/// Pages of two CPUs with known events: decoded, explained and shown. An incomplete page is filled up.
pub fn ring_pages(bytes: &[u8]) {
    let mut pages: Vec<u8> = bytes.to_vec();
    pages.resize(bytes.len().next_multiple_of(PAGE), 0);
    let half = pages.len() / PAGE / 2 * PAGE;
    let raw: BTreeMap<u32, Vec<u8>> = [(0, pages[..half].to_vec()), (1, pages[half..].to_vec())].into();
    let stats = raw.keys().map(|cpu| (*cpu, CpuStats::default())).collect();
    let metadata = Metadata { page_size: PAGE, formats: formats(FORMATS), stats, ..Metadata::default() };
    let recording = Recording { metadata, raw };
    let _ = recording.unknown_addresses();
    let Ok(decoded) = recording.decode(u64::MAX) else { return };
    let (first, last) = (decoded.events.first(), decoded.events.last());
    let window = (first.map_or(0, |event| event.ts), last.map_or(0, |event| event.ts));
    let cpus = CpuList::first(2);
    let context = Context {
        hz: 1000,
        nohz_full: "1".parse().unwrap_or_default(),
        isolated: CpuList::default(),
        rcu_nocbs: CpuList::default(),
        cpus,
        kernel: "6.18.0".parse().expect("a version"),
        window,
        timekeeper: None,
        comms: BTreeMap::new(),
        known: Known::default(),
    };
    let explanation = explain(&decoded.events, &context);
    assert_eq!(explanation.per_cpu.len(), 2);
}

/// Layouts of events, and a record that is read by them.
pub fn event_formats(bytes: &[u8]) {
    let Ok(mut decoder) =
        Decoder::new(&formats(&String::from_utf8_lossy(bytes)), SymbolTable::new(&BTreeMap::new()))
    else {
        return;
    };
    for id in 0..=u8::MAX {
        // One record of 24 words that names this event.
        let mut page = vec![0x11; PAGE];
        page[..16].fill(0);
        page[8] = 100;
        page[16..20].copy_from_slice(&24u32.to_le_bytes());
        page[20..22].copy_from_slice(&u16::from(id).to_le_bytes());
        let _ = decoder.decode(0, &page, PAGE, |event| _ = format!("{event:?}"));
    }
}

/// The plugin's records of the blocks that a guest executes.
pub fn profile_stream(bytes: &[u8]) {
    let symbols = Symbols::parse(SYMBOLS);
    let Ok(phases) = phases(bytes, &symbols) else { return };
    for phase in &phases {
        let _ = phase.profile.instructions();
        let kinds = phase.profile.on(|_| true);
        let kinds: Vec<_> = kinds.values().collect();
        kinds.windows(2).for_each(|pair| _ = compare(&pair[0].sums(), &pair[1].sums()));
        serde_json::to_string(&phase.profile).expect("a profile is JSON");
    }
}

const SYMBOLS: &str = "ffffffff81000000 T entry_SYSCALL_64\nffffffff81000100 T __x64_sys_getppid\n\
    ffffffff81000200 T asm_sysvec_apic_timer_interrupt\nffffffff81000300 T asm_exc_page_fault\n\
    ffffffff81000400 T restore_regs_and_return_to_kernel\nffffffff81000500 T native_irq_return_iret\n\
    ffffffff81000600 T do_idle\nffffffff81000700 T schedule\n";
