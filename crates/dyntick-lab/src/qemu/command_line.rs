// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's command line in a guest: what every guest gets, and what a case's own parameters replace of it.

use dyntick_guest::Mailbox;
use dyntick_model::CommandLine;

/// The parameters of every guest's kernel.
///
/// No ASLR and no hardware randomness, so that runs are alike. The second half only shortens the boot, which is
/// emulated instruction by instruction: no self tests, key rings, security modules, PCI bus, surplus serial ports or
/// read-only kernel text, no BPF congestion control, and no wait for drivers that never come. None of it affects ticks
/// or idleness.
const COMMAND_LINE: &str = "console=ttyS0 quiet loglevel=3 panic=-1 nokaslr random.trust_cpu=off \
    no_timer_check mitigations=off \
    initcall_blacklist=load_system_certificate_list,jent_mod_init,crypto_kdf108_init \
    initcall_blacklist=bpf_tcp_ca_kfunc_init,bpf_dummy_struct_ops_init \
    cryptomgr.notests=1 lsm= pci=off \
    8250.nr_uarts=1 rodata=off deferred_probe_timeout=0";

/// Left out where the guest has a disk, which is on that bus.
const NO_BUS: &str = "pci=off";

/// The TSC is emulated and needs no checks. Left out if the case has its own `tsc=`: both would apply, and a clock that
/// is trusted cannot become unstable.
const TRUSTED_CLOCK: &str = "tsc=reliable";

/// The kernel first reads its second clock, next to the TSC, a few ten thousand times, and each reading is an exit of
/// the emulator. Left out if the case has any parameter about clocks.
const NO_SECOND_CLOCK: &str = "initcall_blacklist=init_acpi_pm_clocksource";

/// The parameters about clocks.
const OF_CLOCKS: [&str; 4] = ["tsc", "notsc", "clocksource", "pmtmr"];

/// Two preparations for the trace files that people read: the values of enumerations in the formats of all events, and
/// a look-up of the name of each function that can be traced, for those that the linker has replaced. They are a
/// quarter of the instructions of a boot. Left out where a case says anything of tracing.
const NO_TRACE_NAMES: &str = "initcall_blacklist=trace_eval_init,ftrace_check_for_weak_functions";

/// The prefixes of the parameters about tracing (`ftrace=`, `trace_event=`, `trace_options=`).
const OF_TRACING: [&str; 2] = ["ftrace", "trace_"];

/// One instruction is one nanosecond, so the TSC ticks at 1 GHz and needs no measuring.
const VIRTUAL_COMMAND_LINE: &str = "tsc_early_khz=1000000";

/// The complete command line of a guest whose case has the parameters `append`.
pub fn compose(append: &CommandLine, has_disk: bool, is_virtual_time: bool) -> CommandLine {
    let mut line = if has_disk {
        CommandLine::parse(&COMMAND_LINE.replace(NO_BUS, ""))
    } else {
        CommandLine::parse(COMMAND_LINE)
    };
    if append.get("tsc").is_none() {
        line.extend(&CommandLine::parse(TRUSTED_CLOCK));
    }
    if OF_CLOCKS.iter().all(|name| append.get(name).is_none()) {
        line.extend(&CommandLine::parse(NO_SECOND_CLOCK));
    }
    if !append.iter().any(|word| OF_TRACING.iter().any(|begin| word.starts_with(begin))) {
        line.extend(&CommandLine::parse(NO_TRACE_NAMES));
    }
    if is_virtual_time {
        line.extend(&CommandLine::parse(VIRTUAL_COMMAND_LINE));
    }
    line.extend(&CommandLine::parse(&Mailbox::parameter()));
    line.extend(append);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(append: &str, has_disk: bool, is_virtual_time: bool) -> String {
        compose(&CommandLine::parse(append), has_disk, is_virtual_time).to_string()
    }

    #[test]
    fn what_a_case_says_of_clocks_and_of_tracing_is_not_cut_short() {
        let left_out = |append: &str| {
            let line = of(append, false, true);
            assert!(line.ends_with(append), "{line}");
            [TRUSTED_CLOCK, NO_SECOND_CLOCK, NO_TRACE_NAMES].map(|parameter| !line.contains(parameter))
        };
        assert_eq!(left_out("nohz_full=1"), [false, false, false]);
        assert_eq!(left_out("tsc=unstable"), [true, true, false]);
        assert_eq!(left_out("clocksource=acpi_pm"), [false, true, false]);
        assert_eq!(left_out("ftrace_filter=tick_sched_timer"), [false, false, true]);
        assert_eq!(left_out("trace_event=timer:* quiet"), [false, false, true]);
    }

    #[test]
    fn a_disk_has_its_bus_and_only_virtual_time_has_its_rate() {
        assert!(of("", false, false).contains(NO_BUS));
        assert!(!of("", true, false).contains(NO_BUS));
        assert!(of("", false, true).contains(VIRTUAL_COMMAND_LINE));
        assert!(!of("", false, false).contains(VIRTUAL_COMMAND_LINE));
    }
}
