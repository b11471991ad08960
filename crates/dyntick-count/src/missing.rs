// SPDX-License-Identifier: GPL-2.0-only
//! The things that this kernel or machine does not count, and their needs.

use dyntick_observe::live::{LiveError, Missing, Source, TICKS, Unavailable, Wanted};

/// The name of the energy of packages, if it is missing.
pub const POWER: &str = "power";

/// The functions that other CPUs call, on a kernel that does not tell them.
pub const CALLED: &str = "which functions other CPUs call";

/// The kind of a timer, on a kernel that hides the addresses of its functions: those of no kind have a name.
pub const NAMES: &str = "the names of functions, and so which timers are ticks";

/// Returns the requested things that this source cannot count.
pub(crate) fn of_source(source: &Source, wanted: &Wanted) -> Vec<Missing> {
    let mut missing: Vec<Missing> =
        source.missing().iter().filter_map(|tracepoint| of_tracepoint(tracepoint)).collect();
    if wanted.details_over_ns.is_some() && matches!(source, Source::Tracefs(..)) {
        let what = "the list of long interruptions (--over)".to_owned();
        missing.push(Missing { what, needs: "eBPF, or dyntick record".to_owned() });
    }
    missing
}

/// The information that a kernel without this tracepoint does not report, or one that hides its functions; none if
/// most users lose nothing.
fn of_tracepoint(tracepoint: &str) -> Option<Missing> {
    let (what, needs) = match tracepoint {
        "csd:csd_function_entry" => (CALLED, "Linux 6.5 or newer"),
        TICKS => (NAMES, "root, or CAP_SYSLOG, to read addresses in /proc/kallsyms"),
        "nmi:nmi_handler" | "timer:tick_stop" | "sched:sched_switch" => (tracepoint, "this tracepoint"),
        _ => return None,
    };
    Some(Missing { what: what.to_owned(), needs: needs.to_owned() })
}

/// All that is counted, since nothing can be.
pub(crate) fn of_all(error: &Unavailable) -> Missing {
    Missing { what: "causes and durations".to_owned(), needs: needs(error) }
}

/// Returns the unmet needs of counting.
fn needs(error: &Unavailable) -> String {
    let bpf = error.bpf.as_ref().map(|error| match error {
        LiveError::NotPermitted => {
            "root, or CAP_BPF and CAP_PERFMON; or --source tracefs and write access to /sys/kernel/tracing"
                .to_owned()
        }
        other => other.to_string(),
    });
    let both = bpf.into_iter().chain(error.tracefs.as_ref().map(ToString::to_string));
    both.collect::<Vec<_>>().join("; and without eBPF: ")
}

/// The time of the command's threads, which only eBPF programs account for; with the error of loading them, if that was
/// tried.
pub(crate) fn of_command_time(error: Option<&LiveError>) -> Missing {
    let needs = error.map_or_else(|| "eBPF, or dyntick explain -- COMMAND".to_owned(), ToString::to_string);
    Missing { what: "where the command's time went".to_owned(), needs }
}

/// Threads of the command whose forks were overwritten before they were read.
pub(crate) fn of_threads(lost: u64) -> Missing {
    let what = format!("{lost} threads of the command, counted as other tasks");
    Missing { what, needs: "room in the trace buffer of forks".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_sources_need_is_reported() {
        let refused = || Some(LiveError::Refused("no bpf".to_owned()));
        let both = Unavailable { bpf: refused(), tracefs: Some(LiveError::NoCpu) };
        assert_eq!(
            needs(&both),
            "the kernel rejects the eBPF programs: no bpf; and without eBPF: no CPU was given to count on"
        );
        let permission = Unavailable { bpf: Some(LiveError::NotPermitted), tracefs: None };
        assert!(needs(&permission).contains("CAP_BPF") && needs(&permission).contains("--source tracefs"));
    }
}
