// SPDX-License-Identifier: GPL-2.0-only
//! Probes in place of events that a kernel lacks: before 6.5 no event tells who interrupts another CPU, or
//! its own, and for which function. A probe at the function that does it tells as much.

use std::fs::OpenOptions;
use std::io::Write;

const DEFINITIONS: &str = "/sys/kernel/tracing/kprobe_events";
const PREFIX: &str = "dyntick_";

/// A probe: its name, and its place with what is fetched there
/// (`Documentation/trace/kprobetrace.rst`; `$stack0` at a function's first instruction is the address
/// that it returns to). The functions are those of 6.1's kernel/smp.c and arch/x86/kernel/smp.c, where
/// the function of a `call_single_data` stands behind its node of 16 bytes.
pub type Probe = (&'static str, &'static str);

/// What takes the place of `ipi:*` and `csd:csd_queue_cpu`.
pub const SENDERS: [Probe; 4] = [
    ("call_many", "smp_call_function_many_cond targets=+0($arg1):x64 callsite=$stack0:x64 func=$arg2:x64"),
    ("call_single", "generic_exec_single cpu=$arg1:u32 callsite=$stack0:x64 func=+16($arg2):x64"),
    ("kick", "tick_nohz_full_kick_cpu cpu=$arg1:u32 callsite=$stack0:x64"),
    ("reschedule", "native_smp_send_reschedule cpu=$arg1:u32 callsite=$stack0:x64"),
];

/// Functions that a CPU queues for its own interrupt context: what brings a tick back, what wakes who
/// reads the kernel's messages, what a perf event has to tell. Each probe has the name of its function;
/// the one that queues them (kernel/irq_work.c) may not be probed.
pub const IRQ_WORKS: [Probe; 3] = [
    ("nohz_full_kick_func", "nohz_full_kick_func"),
    ("wake_up_klogd_work_func", "wake_up_klogd_work_func"),
    ("perf_pending_irq", "perf_pending_irq"),
];

/// Probes of this process, gone when this is dropped.
#[derive(Debug, Default)]
pub struct Probes(Vec<String>);

impl Probes {
    /// Sets a probe and returns the name of its event, `group:name`.
    pub fn set(&mut self, (name, definition): Probe) -> std::io::Result<String> {
        let group = format!("{PREFIX}{}", std::process::id());
        define(&format!("p:{group}/{name} {definition}"))?;
        self.0.push(format!("{group}/{name}"));
        Ok(format!("{group}:{name}"))
    }

    /// Removes all of them; nothing may be enabled any more.
    pub fn remove(&mut self) {
        for probe in self.0.drain(..) {
            let _ = define(&format!("-:{probe}"));
        }
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Adds a line. The file must not be truncated: that removes everybody's probes.
fn define(line: &str) -> std::io::Result<()> {
    OpenOptions::new().append(true).open(DEFINITIONS)?.write_all(format!("{line}\n").as_bytes())
}

/// Removes the probes of processes that were killed before they could: of those that have no trace
/// instance, for a probe is set after its instance was made. One that is enabled the kernel keeps (EBUSY).
pub fn remove_abandoned(has_instance: &dyn Fn(u32) -> bool) {
    let defined = std::fs::read_to_string(DEFINITIONS).unwrap_or_default();
    let probes = defined.lines().filter_map(of_dyntick);
    for (_, probe) in probes.filter(|(owner, _)| !has_instance(*owner)) {
        let _ = define(&format!("-:{probe}"));
    }
}

/// The process and `dyntick_PID/name` of a line such as `p:dyntick_7/call_many …`.
fn of_dyntick(line: &str) -> Option<(u32, &str)> {
    let probe = line.split_ascii_whitespace().next()?.split_once(':')?.1;
    Some((probe.split_once('/')?.0.strip_prefix(PREFIX)?.parse().ok()?, probe))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ours_are_looked_at() {
        assert_eq!(of_dyntick("p:dyntick_77/x f arg1=%di"), Some((77, "dyntick_77/x")));
        assert_eq!(of_dyntick("p:kprobes/mine f"), None);
        assert_eq!(of_dyntick("p:dyntick_x/mine f"), None);
    }
}
