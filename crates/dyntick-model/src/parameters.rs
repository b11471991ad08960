// SPDX-License-Identifier: GPL-2.0-only
//! Names of the kernel's parameters, and what was meant by one that is like them.

use strsim::damerau_levenshtein;

/// The parameters that this program knows about. All of at least five letters: shorter ones are too
/// near to too many words.
const KNOWN: &[&str] = &[
    "nohz_full",
    "isolcpus",
    "rcu_nocbs",
    "rcu_nocb_poll",
    "irqaffinity",
    "intel_idle.max_cstate",
    "processor.max_cstate",
    "clocksource",
    "skew_tick",
    "nosoftlockup",
    "nowatchdog",
    "nmi_watchdog",
    "transparent_hugepage",
    "threadirqs",
    "mitigations",
    "intel_pstate",
    "amd_pstate",
    "highres",
    "cpuidle.off",
    "cpuidle.governor",
    "cpufreq.default_governor",
    "rcutree.enable_rcu_lazy",
    "rcutree.nohz_full_patience_delay",
    "rcupdate.rcu_normal_after_boot",
    "workqueue.power_efficient",
    "workqueue.unbound_cpus",
    "numa_balancing",
    "preempt",
];

/// Real parameters that are near to one of those (all that `kernel-parameters.txt` of 6.1 and 6.12 has).
const NEIGHBOURS: &[&str] = &["watchdog", "highmem"];

/// The parameter that was probably meant where a name is none and is like one (hyphens are underscores).
pub fn meant(name: &str) -> Option<&'static str> {
    let name = name.replace('-', "_");
    if KNOWN.contains(&name.as_str()) || NEIGHBOURS.contains(&name.as_str()) {
        return None;
    }
    let meant = KNOWN.iter().copied().min_by_key(|known| damerau_levenshtein(known, &name))?;
    let allowed = if meant.len() < 8 { 1 } else { 2 };
    (damerau_levenshtein(meant, &name) <= allowed).then_some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_like_a_parameter_was_meant() {
        assert_eq!(meant("nohz_ful"), Some("nohz_full"));
        assert_eq!(meant("isolcpu"), Some("isolcpus"));
        for right in ["nohz_full", "nohz-full", "watchdog", "quiet", "nohz", "highmem", "idle"] {
            assert_eq!(meant(right), None, "{right}");
        }
    }
}
