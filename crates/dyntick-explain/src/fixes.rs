// SPDX-License-Identifier: GPL-2.0-only
//! Fixes for one machine: with its CPUs in them, so that they can be pasted, and without those that do not help
//! there. Every verb that advises takes them from [`fixes`].

mod settings;

pub use settings::Settings;

use crate::rules::{Rule, RuleFix};
use crate::{Interruption, Kind};
use dyntick_model::{CommandLine, CpuList, Dialect, Fix, Hole, KernelVersion, Map, Reader, boot};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The machine that is to be fixed.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// Its kernel.
    pub kernel: &'a KernelVersion,
    /// What it was booted with.
    pub line: &'a CommandLine,
    /// Its CPUs that are online.
    pub online: &'a CpuList,
    /// What it is set to and built with, as far as that could be read.
    pub settings: &'a Settings,
}

/// Where something is to be fixed.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The CPU that is interrupted.
    pub cpu: u32,
    /// All CPUs that shall be quiet: a boot parameter has to name them together. Where these are all that are online
    /// it is left to the user which.
    pub quiet: &'a CpuList,
    /// What is known of the cause.
    pub named: Named,
}

/// What removes a cause on this machine or makes it rarer, the most effective first. Left out is what does not help
/// there: what is for other kernels, what is in force already, and what this kernel is built without.
pub fn fixes(rule: &Rule, host: Host<'_>, target: Target<'_>) -> Vec<PrintedFix> {
    with_rules(rule, host, target).map(|(_, fix)| fix).collect()
}

/// The same with the fix of the rule that each is made of.
pub fn with_rules<'a>(
    rule: &Rule,
    host: Host<'a>,
    target: Target<'a>,
) -> impl Iterator<Item = (&'static RuleFix, PrintedFix)> + use<'a> {
    let fixes: Vec<&'static RuleFix> = rule.fixes_for(host.kernel).collect();
    let printed = move |fix: &'static RuleFix| (fix, beside(fill_in(fix, host, target), host));
    fixes.into_iter().map(printed).filter(move |(_, fix)| host.is_helped_by(&fix.action))
}

/// A fix for this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PrintedFix {
    /// What to do.
    #[serde(rename = "setting", serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub action: Fix,
    /// What it does and costs, and whether it was not tried in a guest.
    pub effect: Cow<'static, str>,
}

fn as_text<S: Serializer>(action: &Fix, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(action)
}

/// What to boot with against several causes together, the best parameter of each that helps here and that `is_useful`,
/// composed with what the machine was booted with; empty where there is none.
pub fn boot_with<'r>(
    rules: impl Iterator<Item = &'r Rule>,
    host: Host<'_>,
    target: Target<'_>,
    is_useful: impl Fn(&str) -> bool,
) -> Vec<String> {
    let best = |rule: &Rule| {
        rule.fixes_for(host.kernel).find_map(|fix| {
            let filled = fill_in(fix, host, target);
            let Fix::Boot(parameter) = &filled.action else { return None };
            let parameter = parameter.clone();
            (is_useful(&parameter) && host.is_helped_by(&beside(filled, host).action)).then_some(parameter)
        })
    };
    let parameters: BTreeSet<String> = rules.filter_map(best).collect();
    boot::beside(host.line, &parameters.into_iter().collect::<Vec<_>>(), host.reader())
}

/// The fix with the numbers of these CPUs in it.
fn fill_in(fix: &RuleFix, host: Host<'_>, target: Target<'_>) -> PrintedFix {
    let others = Some(host.online.difference(target.quiet)).filter(|others| !others.is_empty());
    let known = |hole: Hole| match hole {
        Hole::Cpu => Some(target.cpu.to_string()),
        Hole::Quiet => others.as_ref().map(|_| target.quiet.to_string()),
        Hole::Housekeeping => others.as_ref().map(CpuList::to_string),
        Hole::Mask => others.as_ref().map(CpuList::to_mask),
        Hole::Irq => target.named.irq.map(|irq| irq.to_string()),
        Hole::Task => target.named.task.map(|task| task.to_string()),
    };
    PrintedFix { action: fix.action.fill(known), effect: fix.told() }
}

/// A parameter about isolation together with what the machine was booted with: the kernel refuses a
/// second one that contradicts the first, and one in its place loses what that had asked for.
fn beside(fix: PrintedFix, host: Host<'_>) -> PrintedFix {
    let Fix::Boot(parameter) = fix.action else { return fix };
    let action = Fix::Boot(boot::beside(host.line, &[parameter], host.reader()).join(" "));
    PrintedFix { action, ..fix }
}

impl<'a> Host<'a> {
    fn reader(self) -> Reader<'a> {
        Reader {
            possible: self.online.last().map_or(1, |last| last + 1),
            present: self.online,
            dialect: Dialect::of(self.kernel),
        }
    }

    /// Whether a fix changes anything here: it is not in force yet, and the kernel knows it.
    fn is_helped_by(self, fix: &Fix) -> bool {
        match fix {
            Fix::Boot(parameters) => {
                let parameters: Vec<String> = parameters.split(' ').map(str::to_owned).collect();
                let is_known = parameters.iter().all(|parameter| !self.settings.lacks(parameter));
                is_known && !boot::is_in_force(self.line, &parameters, self.reader())
            }
            Fix::Command(command) => !self.settings.has(command) && !self.settings.has_no_place_for(command),
            Fix::Advice(words) => self.settings.concerns(words),
            Fix::Unboot(_) => true,
        }
    }
}

/// What is known of a cause that a fix is about: of several the most frequent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Named {
    /// The other task.
    pub task: Option<i32>,
    /// The interrupt line.
    pub irq: Option<u32>,
}

/// How often interruptions of one cause name what.
#[derive(Clone, Debug, Default)]
pub struct NamedCounts {
    tasks: Map<i32, u64>,
    irqs: Map<u32, u64>,
}

impl NamedCounts {
    /// Adds one.
    pub fn add(&mut self, one: &Interruption) {
        let irq = match one.kind {
            Kind::Device { irq, .. } => Some(irq),
            _ => one.other.as_ref().and_then(|task| served_by(&task.comm)),
        };
        if let Some(irq) = irq {
            *self.irqs.entry(irq).or_default() += 1;
        }
        if let Some(task) = one.other.as_ref().filter(|task| task.pid > 0) {
            *self.tasks.entry(task.pid).or_default() += 1;
        }
    }

    /// The most frequent.
    pub fn foremost(&self) -> Named {
        Named { task: foremost(&self.tasks), irq: foremost(&self.irqs) }
    }
}

/// The interrupt line of a thread `irq/LINE-NAME`.
fn served_by(comm: &str) -> Option<u32> {
    comm.strip_prefix("irq/")?.split_once('-')?.0.parse().ok()
}

/// The most frequent; of several the lowest.
fn foremost<T: Ord + Copy>(counts: &Map<T, u64>) -> Option<T> {
    counts.iter().max_by_key(|(one, count)| (**count, Reverse(**one))).map(|(one, _)| *one)
}

#[cfg(test)]
mod tests;
