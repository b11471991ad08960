// SPDX-License-Identifier: GPL-2.0-only
//! Fixes with this machine's CPUs in them, so that they can be pasted.

use dyntick_explain::rules::{Fix, Setting};
use dyntick_explain::{Interruption, Kind};
use dyntick_model::{CommandLine, CpuList, boot};
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A fix for this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrintedFix {
    /// The exact command, boot parameter or change of the program. Upper-case words stand for what only
    /// the user can know.
    pub setting: String,
    /// What it does and costs, and whether it was not tried in a guest.
    pub effect: Cow<'static, str>,
}

impl PrintedFix {
    /// A parameter about isolation together with what the machine was booted with: the kernel refuses a
    /// second one that contradicts the first, and one in its place loses what that had asked for.
    pub fn beside(self, line: &CommandLine, online: &CpuList) -> Self {
        let Some(parameter) = self.setting.strip_prefix("boot with ") else { return self };
        let whole = boot::beside(line, &[parameter.to_owned()], cpus(online)).join(" ");
        Self { setting: format!("boot with {whole}"), ..self }
    }

    /// Whether the machine was booted with it: what has not helped is no fix.
    pub fn is_in_force(&self, line: &CommandLine, online: &CpuList) -> bool {
        let Some(whole) = self.setting.strip_prefix("boot with ") else { return false };
        let parameters: Vec<String> = whole.split(' ').map(str::to_owned).collect();
        boot::is_in_force(line, &parameters, cpus(online))
    }
}

fn cpus(online: &CpuList) -> boot::Cpus<'_> {
    boot::Cpus { possible: online.last().map_or(1, |last| last + 1), present: online }
}

/// What the trace names that a fix is about: of several the most frequent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Named {
    /// The other task.
    pub task: Option<i32>,
    /// The interrupt line.
    pub irq: Option<u32>,
}

impl Named {
    /// What interruptions of one cause name.
    pub fn by(interruptions: &[&Interruption]) -> Self {
        let irq = |one: &&Interruption| match one.kind {
            Kind::Device { irq, .. } => Some(irq),
            _ => one.other.as_ref().and_then(|task| served_by(&task.comm)),
        };
        let task = |one: &&Interruption| one.other.as_ref().map(|task| task.pid).filter(|pid| *pid > 0);
        Self {
            task: foremost(interruptions.iter().filter_map(task)),
            irq: foremost(interruptions.iter().filter_map(irq)),
        }
    }
}

/// The interrupt line of a thread `irq/LINE-NAME`.
fn served_by(comm: &str) -> Option<u32> {
    comm.strip_prefix("irq/")?.split_once('-')?.0.parse().ok()
}

/// The most frequent; of several the lowest.
fn foremost<T: Ord + Copy>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, u64> = BTreeMap::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    counts.into_iter().max_by_key(|(one, count)| (*count, Reverse(*one))).map(|(one, _)| one)
}

/// Where something is to be fixed.
pub struct Place<'a> {
    /// The CPU that is disturbed.
    pub cpu: u32,
    /// All CPUs that shall be quiet: a boot parameter has to name them together.
    pub recorded: &'a CpuList,
    /// The other CPUs that run.
    pub others: &'a CpuList,
    /// What the trace names.
    pub named: Named,
}

impl Place<'_> {
    /// The fix with the numbers of these CPUs in it.
    pub fn fill_in(&self, fix: &Fix) -> PrintedFix {
        let setting = fix.setting.to_string();
        let setting = match fix.setting {
            Setting::Program(_) => setting,
            _ => self.fill(&setting),
        };
        PrintedFix { setting, effect: fix.told() }
    }

    /// Rules write `N` for the CPU, and name the CPUs that are left.
    fn fill(&self, setting: &str) -> String {
        let mut text = setting.replace("cpuN", &format!("cpu{}", self.cpu));
        for before in ["=", ",", " "] {
            for behind in ["", " ", ","] {
                let (from, to) = (format!("{before}N{behind}"), format!("{before}{}{behind}", self.recorded));
                text = match behind {
                    "" => text.strip_suffix(&from).map_or(text.clone(), |head| format!("{head}{to}")),
                    _ => text.replace(&from, &to),
                };
            }
        }
        if let Some(irq) = self.named.irq {
            text = text.replace("/IRQ/", &format!("/{irq}/"));
        }
        if let (Some(task), Some(head)) = (self.named.task, text.strip_suffix(" PID")) {
            text = format!("{head} {task}");
        }
        if self.others.is_empty() {
            return text;
        }
        let list = self.others.to_string();
        text.replace("HOUSEKEEPING-CPUS", &list)
            .replace("OTHER-CPUS", &list)
            .replace("MASK", &self.others.to_mask())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_filled_in() {
        let (recorded, others) = ("3,5".parse().unwrap(), "0-2,4".parse().unwrap());
        let named = Named { task: Some(77), irq: Some(9) };
        let place = Place { cpu: 3, recorded: &recorded, others: &others, named };
        assert_eq!(place.fill("boot with isolcpus=domain,N"), "boot with isolcpus=domain,3,5");
        assert_eq!(place.fill("echo 0 > /x/cpuN/runtime"), "echo 0 > /x/cpu3/runtime");
        assert_eq!(place.fill("taskset -pc OTHER-CPUS PID"), "taskset -pc 0-2,4 77");
        assert_eq!(place.fill("echo 0 > /proc/irq/IRQ/x"), "echo 0 > /proc/irq/9/x");
        assert_eq!(place.fill("echo MASK > /x"), "echo 00000017 > /x");
        assert_eq!(place.fill("nohz_full=N NOTE"), "nohz_full=3,5 NOTE");
    }

    #[test]
    fn what_was_booted_with_is_kept() {
        let line = CommandLine::parse("nohz_full=2 isolcpus=domain,2");
        let fix = |setting: &str| {
            PrintedFix { setting: setting.into(), effect: "".into() }.beside(&line, &CpuList::first(4))
        };
        assert_eq!(
            fix("boot with nohz_full=3").setting,
            "boot with nohz_full=2-3 isolcpus=domain,managed_irq,2-3"
        );
        assert_eq!(fix("boot with tsc=reliable").setting, "boot with tsc=reliable");
        assert_eq!(fix("sysctl -w vm.stat_interval=120").setting, "sysctl -w vm.stat_interval=120");
    }

    #[test]
    fn what_was_booted_with_is_no_fix() {
        let line = CommandLine::parse("nohz_full=3 isolcpus=domain,3 quiet");
        let is_in_force = |setting: &str| {
            let online = CpuList::first(4);
            let fix = PrintedFix { setting: setting.into(), effect: "".into() };
            fix.beside(&line, &online).is_in_force(&line, &online)
        };
        assert!(is_in_force("boot with isolcpus=domain,3"));
        assert!(!is_in_force("boot with isolcpus=domain,2-3"));
        assert!(!is_in_force("boot with mce=ignore_ce") && !is_in_force("echo 0 > /x"));
    }

    #[test]
    fn no_command_of_any_rule_keeps_a_number_or_a_list_that_is_known() {
        let (recorded, others) = ("3,5".parse().unwrap(), "0-2,4".parse().unwrap());
        let place = Place { cpu: 3, recorded: &recorded, others: &others, named: Named::default() };
        let fixes = dyntick_explain::rules::all().iter().flat_map(|rule| rule.fixes);
        for fix in fixes.filter(|fix| !matches!(fix.setting, Setting::Program(_))) {
            let text = place.fill_in(fix).setting;
            let words = text.split(|c: char| !c.is_ascii_alphanumeric());
            let left = words.filter(|word| ["N", "cpuN", "MASK", "CPUS", "HOUSEKEEPING"].contains(word));
            assert_eq!(left.count(), 0, "{text}");
        }
    }
}
