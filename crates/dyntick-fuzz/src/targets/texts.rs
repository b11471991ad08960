// SPDX-License-Identifier: GPL-2.0-only
//! Texts of the kernel and of other tools.

use dyntick_export::http::request;
use dyntick_formats::{cyclictest, mails as patches, qperf};
use dyntick_model::{CommandLine, CpuList, Dialect, Isolation, KernelConfig, Reader};
use dyntick_observe::counters::Counters;
use dyntick_observe::interrupts::Interrupts;
use dyntick_profile::symbols::Symbols;
use dyntick_trace::{addresses_of, resolve};
use std::collections::BTreeSet;

/// The way in which such a file is read.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A kernel command line, and what the kernel makes of it on machines of several sizes.
pub fn command_line(bytes: &[u8]) {
    let line = CommandLine::parse(&text(bytes));
    assert_eq!(CommandLine::parse(&line.to_string()), line, "it is read as it is written");
    for possible in [0, 1, 4, 8192] {
        let present = CpuList::first(possible);
        for dialect in
            [(3, 10), (5, 4), (6, 12), (7, 2)].map(|(major, minor)| Dialect::upstream(major, minor))
        {
            let isolation = Isolation::replay(&line, Reader { possible, present: &present, dialect });
            assert!(isolation.all().is_subset(&present), "no CPU is isolated that cannot be");
        }
        let _ = line.cpus("rcu_nocbs", possible);
    }
}

/// A list of CPUs, and a mask.
pub fn cpulist(bytes: &[u8]) {
    let text = text(bytes);
    if let Ok(cpus) = text.parse::<CpuList>() {
        assert_eq!(cpus.to_string().parse::<CpuList>().as_ref(), Ok(&cpus));
        assert_eq!(CpuList::from_mask(&cpus.to_mask()), Ok(cpus));
    }
    if let Ok(cpus) = CpuList::from_mask(&text) {
        assert_eq!(CpuList::from_mask(&cpus.to_mask()), Ok(cpus));
    }
}

/// Mails with patches.
pub fn mails(bytes: &[u8]) {
    if let Ok(series) = patches::read(bytes) {
        assert!(!series.patches.is_empty(), "without patches it is an error");
        let _ = (series.stated(), series.functions());
    }
}

/// A kernel's configuration.
pub fn dot_config(bytes: &[u8]) {
    let config = KernelConfig::parse(&text(bytes));
    let _ = (config.hz(), config.is_enabled("NO_HZ_FULL"), config.iter().count());
}

/// `/proc/interrupts` and the other files of counters.
pub fn counters(bytes: &[u8]) {
    let text = text(bytes);
    let (counters, interrupts) = (Counters::parse(&text), Interrupts::parse(&text));
    let _ = (counters.since(&Counters::default()), interrupts.since(&interrupts));
}

/// The kernel's symbols.
pub fn kallsyms(bytes: &[u8]) {
    let addresses: BTreeSet<u64> = [0, 0xffff_ffff_8100_0000, u64::MAX - 1, u64::MAX].into();
    let symbols = Symbols::parse(&text(bytes));
    for address in &addresses {
        let number = symbols.number(*address);
        let _ = (symbols.name(number), symbols.returns_from_interrupt(number));
    }
    let _ = (resolve(&addresses, bytes), addresses_of(&["native_iret"], bytes));
}

/// The output of cyclictest.
pub fn cyclictest(bytes: &[u8]) {
    if let Ok(threads) = cyclictest::parse(&text(bytes)) {
        threads.values().for_each(|thread| _ = (thread.histogram.total(), thread.histogram.quantile(0.99)));
    }
}

/// The output of qperf.
pub fn qperf(bytes: &[u8]) {
    let _ = qperf::parse(&text(bytes));
}

/// A request to `dyntick export`: no more than its limit is read, and what is decided is not changed by what follows.
pub fn http_request(bytes: &[u8]) {
    const MOST: usize = 8192;
    let (begin, decided) = match (1..=bytes.len()).find_map(|end| Some((end, request(&bytes[..end])?))) {
        Some(decided) => decided,
        None => return assert!(bytes.len() < MOST, "a request has an end"),
    };
    assert!(begin <= MOST, "{begin} bytes were read");
    assert_eq!(
        request(&bytes[..bytes.len().min(begin + MOST)]),
        Some(decided),
        "what comes after it changes nothing"
    );
}
