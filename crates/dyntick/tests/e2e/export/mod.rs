// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick export` on this machine: its counts against the kernel's, scraped by the real Prometheus and read by the
//! real node_exporter (`scripts/setup test` unpacks both), and killed. `DYNTICK` names the binary under test.

mod exporter;
mod guest;
mod kills;
mod prometheus;
mod textfile;
mod unit;

use crate::harness::dyntick;
use exporter::{Busy, Exporter};

/// The number of local timer interrupts of CPU 0 in `/proc/interrupts`.
fn local_timer_interrupts() -> f64 {
    let text = std::fs::read_to_string("/proc/interrupts").unwrap();
    let row = text.lines().find_map(|line| line.trim_start().strip_prefix("LOC:")).unwrap();
    row.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

const LOCAL_TIMER: &str = "dyntick_cpu_interruptions_total{cpu=\"0\",cause=\"local_timer\"}";

#[test]
fn counts_are_the_kernels_and_never_fall() {
    let _busy = Busy::on_cpu_0();
    // The first text may be of the exporter's start.
    let outer = local_timer_interrupts();
    let exporter = Exporter::start(&[]);
    let first = exporter.scrape();
    let inner = local_timer_interrupts();
    let last = loop {
        let (inner_end, last) = (local_timer_interrupts(), exporter.scrape());
        let outer_end = local_timer_interrupts();
        // Until then the same text is sent again.
        if last["dyntick_export_readings_total"] > first["dyntick_export_readings_total"] {
            break (inner_end - inner, last, outer_end - outer);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let (least, last, most) = last;
    for (series, value) in &first {
        assert!(
            series.contains("_info") || last[series] >= *value,
            "{series} fell from {value} to {}",
            last[series]
        );
    }
    if last["dyntick_counting"] == 0.0 {
        eprintln!("skipped: interruptions cannot be counted here");
        return;
    }
    let counted = last[LOCAL_TIMER] - first[LOCAL_TIMER];
    assert!(
        least <= counted + 1.0 && counted <= most + 1.0,
        "between {least} and {most} came, {counted} were counted"
    );
    assert!(last["dyntick_cpu_ticks_total{cpu=\"0\"}"] > 0.0);
    assert!(last["dyntick_export_cpu_seconds_total"] > first["dyntick_export_cpu_seconds_total"]);
}

#[test]
fn signals_end_it() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let exporter = Exporter::start(&[]);
        assert!(!exporter.scrape().is_empty());
        let address = exporter.address.clone();
        assert_eq!(exporter.end_by(signal).code(), Some(0));
        assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
    }
}

#[test]
fn wrong_input_is_refused() {
    let taken = Exporter::start(&[]);
    for (arguments, words) in [
        (&["-C", "4000"][..], "not online"),
        (&["-C", "0", "--listen", "localhost"], "must be a port"),
        (&["-C", "0", "--listen", &taken.address], "cannot listen at"),
        (&["-C", "0", "--textfile", "/no/such/folder/file"], "there is no folder"),
        (&["-C", "0", "-n", "1"], "--textfile"),
        (&["-C", "0", "-I", "1", "--textfile", "x"], "is not from 100 to 3600000"),
    ] {
        let output = dyntick().arg("export").args(arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
}

/// If no CPU is isolated, `export` measures none by default.
#[test]
fn isolated_cpus_are_measured_by_default() {
    let isolated = ["isolated", "nohz_full"].iter().any(|name| {
        let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/{name}")).unwrap_or_default();
        text.trim().starts_with(|c: char| c.is_ascii_digit())
    });
    if isolated {
        eprintln!("skipped: CPUs are isolated here");
        return;
    }
    let output = dyntick().args(["export", "--listen", "0"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("no CPU is isolated"), "{told}");
}
