// SPDX-License-Identifier: GPL-2.0-only
//! The kprobes of this process, set and removed.

use dyntick_trace::Probe;
use std::fs::OpenOptions;
use std::io::Write;

const DEFINITIONS: &str = "/sys/kernel/tracing/kprobe_events";
const PREFIX: &str = "dyntick_";

/// Probes of this process, gone when this is dropped.
#[derive(Debug, Default)]
pub struct Probes(Vec<String>);

impl Probes {
    /// Sets a probe and returns the name of its event, `group:name`.
    pub fn set(&mut self, probe: Probe) -> std::io::Result<String> {
        self.define(probe, probe.definition)
    }

    /// The same with another definition.
    pub fn define(&mut self, probe: Probe, definition: &str) -> std::io::Result<String> {
        let Probe { name, at_return, .. } = probe;
        let group = format!("{PREFIX}{}", std::process::id());
        let kind = if at_return { 'r' } else { 'p' };
        define(&format!("{kind}:{group}/{name} {definition}"))?;
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
