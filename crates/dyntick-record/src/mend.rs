// SPDX-License-Identifier: GPL-2.0-only
//! Fixes with this machine's CPUs in them, so that they can be pasted.

use dyntick_explain::rules::{Fix, Setting};
use dyntick_model::{CommandLine, CpuList, boot};
use serde::Serialize;

/// A fix for this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mend {
    /// The exact command, boot parameter or change of the program. Upper-case words stand for what only
    /// the user can know.
    pub setting: String,
    /// What it does and costs.
    pub effect: &'static str,
}

impl Mend {
    /// A parameter about isolation together with what the machine was booted with: the kernel refuses a
    /// second one that contradicts the first, and one in its place loses what that had asked for.
    pub fn beside(self, line: &CommandLine, online: &CpuList) -> Self {
        let Some(parameter) = self.setting.strip_prefix("boot with ") else { return self };
        let cpus = boot::Cpus { possible: online.last().map_or(1, |last| last + 1), present: online };
        let whole = boot::beside(line, &[parameter.to_owned()], cpus).join(" ");
        Self { setting: format!("boot with {whole}"), ..self }
    }
}

/// Where something is to be mended.
pub struct Place<'a> {
    /// The CPU that is disturbed.
    pub cpu: u32,
    /// All CPUs that shall be quiet: a boot parameter has to name them together.
    pub recorded: &'a CpuList,
    /// The other CPUs that run.
    pub others: &'a CpuList,
}

impl Place<'_> {
    /// The fix with the numbers of these CPUs in it.
    pub fn mend(&self, fix: &Fix) -> Mend {
        let setting = fix.setting.to_string();
        let setting = match fix.setting {
            Setting::Program(_) => setting,
            _ => self.fill(&setting),
        };
        Mend { setting, effect: fix.effect }
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
        let place = Place { cpu: 3, recorded: &recorded, others: &others };
        assert_eq!(place.fill("boot with isolcpus=domain,N"), "boot with isolcpus=domain,3,5");
        assert_eq!(place.fill("echo 0 > /x/cpuN/runtime"), "echo 0 > /x/cpu3/runtime");
        assert_eq!(place.fill("taskset -pc OTHER-CPUS PID"), "taskset -pc 0-2,4 PID");
        assert_eq!(place.fill("echo MASK > /x"), "echo 00000017 > /x");
        assert_eq!(place.fill("nohz_full=N NOTE"), "nohz_full=3,5 NOTE");
    }

    #[test]
    fn what_was_booted_with_is_kept() {
        let line = CommandLine::parse("nohz_full=2 isolcpus=domain,2");
        let mend =
            |setting: &str| Mend { setting: setting.into(), effect: "" }.beside(&line, &CpuList::first(4));
        assert_eq!(mend("boot with nohz_full=3").setting, "boot with nohz_full=2-3 isolcpus=domain,2");
        assert_eq!(mend("boot with tsc=reliable").setting, "boot with tsc=reliable");
        assert_eq!(mend("sysctl -w vm.stat_interval=120").setting, "sysctl -w vm.stat_interval=120");
    }

    #[test]
    fn no_command_of_any_rule_keeps_a_number_or_a_list_that_is_known() {
        let (recorded, others) = ("3,5".parse().unwrap(), "0-2,4".parse().unwrap());
        let place = Place { cpu: 3, recorded: &recorded, others: &others };
        let fixes = dyntick_explain::rules::all().iter().flat_map(|rule| rule.fixes);
        for fix in fixes.filter(|fix| !matches!(fix.setting, Setting::Program(_))) {
            let text = place.mend(fix).setting;
            let words = text.split(|c: char| !c.is_ascii_alphanumeric());
            let left = words.filter(|word| ["N", "cpuN", "MASK", "CPUS", "HOUSEKEEPING"].contains(word));
            assert_eq!(left.count(), 0, "{text}");
        }
    }
}
