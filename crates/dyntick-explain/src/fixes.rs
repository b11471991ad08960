// SPDX-License-Identifier: GPL-2.0-only
//! Fixes for one machine: with its CPUs in them, so that they can be pasted, and without those that do not help
//! there. Every verb that advises takes them from [`fixes`].

mod instead;
mod named;
mod settings;

pub use named::{Named, NamedCounts, OtherTask, Starter};
use settings::{concerns, has, has_no_place_for};
pub use settings::{missing_options, settings_of, settings_with};

use crate::names;
use crate::rules::{Rule, RuleFix};
use dyntick_model::{CommandLine, CpuList, Dialect, Fix, Hole, KernelVersion, Reader, Settings, boot};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
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
    /// Whether a BPF scheduler is loaded. After a boot with `isolcpus=domain` it would not load
    /// (`kernel/sched/ext.c: scx_ops_enable`, from 7.x on `kernel/sched/ext/ext.c: scx_enable`).
    pub bpf_scheduler: bool,
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
    pub named: &'a Named,
}

/// What removes a cause on this machine or makes it rarer, the most effective first. Left out is what does not help
/// there: what is for other kernels, what is in force already, and what this kernel is built without. Where
/// nothing else is left than the last, that is said.
pub fn fixes(rule: &Rule, host: Host<'_>, target: Target<'_>) -> Vec<PrintedFix> {
    with_rules(rule, host, target).into_iter().map(|(_, fix)| fix).collect()
}

/// The same with the fix of the rule that each is made of.
pub fn with_rules(rule: &Rule, host: Host<'_>, target: Target<'_>) -> Vec<(&'static RuleFix, PrintedFix)> {
    let mut printed: Vec<(&'static RuleFix, PrintedFix)> = Vec::new();
    let mut add = |of_rule, fix: PrintedFix| {
        // Several of a rule may come to the same sentence.
        if printed.iter().all(|(_, other)| other.action != fix.action) {
            printed.push((of_rule, fix));
        }
    };
    for fix in rule.fixes_for(host.kernel).filter(|fix| target.concerns(fix)) {
        let offered = match instead::of(fix, host, target) {
            Some(others) => others,
            None => vec![beside(fill_in(fix, host, target), host)],
        };
        let helps = offered.into_iter().filter(|fix| host.is_helped_by(&fix.action));
        helps.for_each(|offered| add(fix, offered));
    }
    if printed.is_empty() {
        printed
            .extend(rule.fixes_for(host.kernel).find_map(|fix| Some((fix, instead::of_missing(fix, host)?))));
    }
    printed
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
            let may_be = is_useful(&parameter) && instead::of(fix, host, target).is_none();
            (may_be && host.is_helped_by(&beside(filled, host).action)).then_some(parameter)
        })
    };
    let parameters: BTreeSet<String> = rules.filter_map(best).collect();
    host.composed(&parameters.into_iter().collect::<Vec<_>>())
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
        Hole::Task => match target.named.task {
            OtherTask::Movable(task) => Some(task.to_string()),
            _ => None,
        },
        Hole::Group => target.named.group.as_deref().and_then(quoted),
    };
    PrintedFix { action: fix.action.fill(known), effect: fix.told_on(host.kernel) }
}

/// A parameter about isolation together with what the machine was booted with: the kernel refuses a
/// second one that contradicts the first, and one in its place loses what that had asked for.
fn beside(fix: PrintedFix, host: Host<'_>) -> PrintedFix {
    let Fix::Boot(parameter) = fix.action else { return fix };
    PrintedFix { action: Fix::Boot(host.composed(&[parameter]).join(" ")), ..fix }
}

/// A part of a path as a shell reads it; none where no text on one line is it.
fn quoted(path: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._:@-".contains(c);
    match path {
        path if path.chars().all(is_plain) => Some(path.to_owned()),
        path if path.chars().any(char::is_control) => None,
        path => Some(format!("'{}'", path.replace('\'', "'\\''"))),
    }
}

impl Target<'_> {
    /// Whether a fix has anything to do with what is known of the cause: what is for unbound work and threads does
    /// nothing about a thread that is bound to its CPU. The stopper is, and runs for the load balancer.
    fn concerns(self, fix: &RuleFix) -> bool {
        let OtherTask::Bound(comm) = &self.named.task else { return true };
        let is_for_unbound = match fix.action {
            Fix::Command(text) | Fix::Advice(text) => {
                text.contains("/workqueue/") && text.contains("cpumask")
            }
            Fix::Boot(parameters) => parameters.starts_with("isolcpus=domain"),
            Fix::Unboot(_) => false,
        };
        !is_for_unbound || names::is_unbound_worker(comm) || names::is_stopper(comm)
    }
}

impl<'a> Host<'a> {
    fn reader(self) -> Reader<'a> {
        Reader {
            possible: self.online.last().map_or(1, |last| last + 1),
            present: self.online,
            dialect: Dialect::of(self.kernel),
        }
    }

    /// What to boot with, composed with what the machine was booted with.
    fn composed(self, parameters: &[String]) -> Vec<String> {
        let composed = boot::beside(self.line, parameters, self.reader());
        match self.bpf_scheduler {
            true => composed.into_iter().filter_map(instead::without_domain).collect(),
            false => composed,
        }
    }

    /// Whether a fix changes anything here: it is not in force yet, and the kernel knows it.
    fn is_helped_by(self, fix: &Fix) -> bool {
        match fix {
            Fix::Boot(parameters) if parameters.is_empty() => false,
            Fix::Boot(parameters) => {
                let parameters: Vec<String> = parameters.split(' ').map(str::to_owned).collect();
                let is_known = parameters.iter().all(|parameter| !self.settings.lacks(parameter));
                is_known && !boot::is_in_force(self.line, &parameters, self.reader())
            }
            Fix::Command(command) => {
                !has(self.settings, command) && !has_no_place_for(self.settings, command)
            }
            Fix::Advice(words) => concerns(self.settings, words),
            Fix::Unboot(_) => true,
        }
    }
}

#[cfg(test)]
mod tests;
