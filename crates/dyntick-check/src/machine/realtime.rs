// SPDX-License-Identifier: GPL-2.0-only
//! PREEMPT_RT kernels, recognised by their configuration, behaviour or name.

use super::Machine;
use crate::finding::Evidence;
use crate::sources::{REALTIME, RELEASE, VERSION};

impl Machine<'_> {
    /// Returns true if the kernel is a PREEMPT_RT one.
    pub fn is_rt(&self) -> bool {
        let built = self.built_rt().map(|(is_rt, _)| is_rt);
        built.unwrap_or_else(|| self.has_rt_threads() || named_rt(&self.kernel.release))
    }

    /// Returns true, with the evidence, if the kernel was built as a PREEMPT_RT one; `None` if no readable file shows
    /// it.
    pub(crate) fn built_rt(&self) -> Option<(bool, Evidence)> {
        // A file of the real-time patches: it holds 1, and other kernels do not have it.
        if self.text(REALTIME) == Some("1") {
            return Some((true, self.evidence(REALTIME)?));
        }
        // The second is the patches' name for it before 5.4.
        let on = ["PREEMPT_RT", "PREEMPT_RT_FULL"].into_iter().find(|name| self.has(name) == Some(true));
        if let Some(option) = self.option(on.unwrap_or("PREEMPT_RT")) {
            return Some((on.is_some(), option));
        }
        let (_, flags) = self.text(VERSION)?.rsplit_once('#')?;
        let is_rt = flags.contains("PREEMPT_RT") || flags.contains("PREEMPT RT");
        // `init/Makefile: build-version`: it contains the flags whatever the build's name.
        flags
            .contains("SMP")
            .then_some((is_rt, Evidence { file: VERSION.to_owned(), value: format!("#{flags}") }))
    }

    /// The preemption model: the parameter of the command line if the kernel follows it, else the configuration's
    /// (`kernel/sched/core.c: preempt_dynamic_init`, 6.12).
    pub(crate) fn preemption(&self) -> Option<&'static str> {
        if self.is_rt() {
            return Some("PREEMPT_RT");
        }
        let models = [
            ("none", "PREEMPT_NONE"),
            ("voluntary", "PREEMPT_VOLUNTARY"),
            ("full", "PREEMPT"),
            ("lazy", "PREEMPT_LAZY"),
        ];
        let named = |value: &str| models.iter().find(|(name, _)| *name == value);
        let chosen = self.line.get("preempt").filter(|_| self.has("PREEMPT_DYNAMIC") == Some(true));
        let built = || models.iter().find(|(_, option)| self.has(option) == Some(true));
        chosen.and_then(named).or_else(built).map(|(name, _)| *name)
    }

    /// Returns true if threads run the timers and callbacks of each CPU, as on PREEMPT_RT. Other kernels have the
    /// callback threads only by a parameter, or before 5.4 by RCU_BOOST.
    fn has_rt_threads(&self) -> bool {
        let has = |name: &str| self.tasks.iter().any(|task| task.kernel && task.name.starts_with(name));
        let asked = self.line.get("rcutree.use_softirq").is_some();
        has("ktimers/") || has("ktimersoftd/") || (has("rcuc/") && self.since(5, 4) && !asked)
    }

    /// The name of a real-time kernel: its release, or the file that the boot loader took it from.
    pub(crate) fn named_rt(&self) -> Option<Evidence> {
        if named_rt(&self.kernel.release) {
            return self.evidence(RELEASE);
        }
        let image = self.line.get("BOOT_IMAGE")?;
        named_rt(image.rsplit('/').next()?).then(|| self.said("BOOT_IMAGE"))?
    }
}

/// Returns true if a part of a kernel's name says so: `6.1.0-33-rt-amd64`, `5.4.81-rt45`, `6.8.1-realtime`.
fn named_rt(name: &str) -> bool {
    let is_rt = |part: &str| {
        part == "realtime"
            || part.strip_prefix("rt").is_some_and(|patch| {
                // Patches of one series have few digits; a processor's name (rt1064) has more.
                patch.len() < 4 && patch.chars().all(|c| c.is_ascii_digit())
            })
    };
    name.to_ascii_lowercase().split(|c: char| !c.is_ascii_alphanumeric()).any(is_rt)
}

#[cfg(test)]
mod tests {
    use super::named_rt;

    #[test]
    fn real_time_kernel_names_are_recognised() {
        for name in [
            "6.1.0-33-rt-amd64",
            "5.15.133-rt69",
            "5.4.81-rt45-v8+",
            "5.4.0-rt53-00012-gabc",
            "5.14.0-284.18.1.rt14.303.el9_2.x86_64",
            "5.14.0-570.12.1.el9_6.x86_64+rt",
            "6.8.1-1015-realtime",
            "6.6.0-preempt_rt",
            "6.12.62+rpt-rpi-v8-rt",
        ] {
            assert!(named_rt(name), "{name}");
        }
        for name in [
            "6.12.117-test",
            "6.8.0-lowlatency",
            "5.10.0-smart-1",
            "6.1.21-imxrt",
            "5.10.0-rt1064",
            "6.1-art",
        ] {
            assert!(!named_rt(name), "{name}");
        }
    }
}
