// SPDX-License-Identifier: GPL-2.0-only
//! The fixes for one machine: with its CPUs, so that they can be pasted, and without those that do not help there.
//! Every verb that advises takes them from [`fixes`].

mod instead;
mod named;
mod settings;

pub use named::{Limit, Named, NamedCounts, OtherTask, Starter};
use settings::{concerns, has, has_no_place_for};
pub use settings::{missing_options, settings_of, settings_with};

use crate::rules::{Rule, RuleFix};
use crate::{Task, names};
use dyntick_model::{CommandLine, CpuList, Dialect, Fix, Hole, KernelVersion, Reader, Settings, boot};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The machine for which fixes are chosen.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// Its kernel.
    pub kernel: &'a KernelVersion,
    /// Its kernel command line.
    pub line: &'a CommandLine,
    /// Its online CPUs.
    pub online: &'a CpuList,
    /// Its settings and its kernel's configuration, as far as they could be read.
    pub settings: &'a Settings,
    /// True if a BPF scheduler is loaded. After a boot with `isolcpus=domain` it would not load
    /// (`kernel/sched/ext.c: scx_ops_enable`, from 7.x on `kernel/sched/ext/ext.c: scx_enable`).
    pub bpf_scheduler: bool,
}

/// The target of a fix.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The interrupted CPU.
    pub cpu: u32,
    /// All CPUs that are to be quiet, because a boot parameter names them together. If these are all online CPUs, the
    /// user has to choose.
    pub quiet: &'a CpuList,
    /// The known names of the cause.
    pub named: &'a Named,
}

/// The fixes that remove a cause on this machine or make it rarer, the most effective first. It omits those that do not
/// help there: those for other kernels, those already in force, and those that this kernel is built without. If only
/// the last are left, the result says so.
pub fn fixes(rule: &Rule, host: Host<'_>, target: Target<'_>) -> Vec<PrintedFix> {
    with_rules(rule, host, target).into_iter().map(|(_, fix)| fix).collect()
}

/// The same fixes, each with the rule's fix from which it is made.
pub fn with_rules(rule: &Rule, host: Host<'_>, target: Target<'_>) -> Vec<(&'static RuleFix, PrintedFix)> {
    let mut printed: Vec<(&'static RuleFix, PrintedFix)> = Vec::new();
    let mut add = |of_rule, fix: PrintedFix| {
        // Several fixes of a rule may give the same sentence.
        if printed.iter().all(|(_, other)| other.action != fix.action) {
            printed.push((of_rule, fix));
        }
    };
    for fix in rule.fixes_for(host.kernel).filter(|fix| target.concerns(fix, host)) {
        let offered = match instead::of(fix, host, target) {
            Some(others) => others,
            None => vec![combined(fill_in(fix, host, target), host)],
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
    /// The action.
    #[serde(rename = "setting", serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub action: Fix,
    /// Its effect and cost, and a remark if it was not tried in a guest.
    pub effect: Cow<'static, str>,
}

fn as_text<S: Serializer>(action: &Fix, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(action)
}

/// The boot parameters against several causes together: the best parameter of each that helps here and that
/// `is_useful`, composed with the machine's command line. It is empty if there is none.
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
            (may_be && host.is_helped_by(&combined(filled, host).action)).then_some(parameter)
        })
    };
    let parameters: BTreeSet<String> = rules.filter_map(best).collect();
    host.composed(&parameters.into_iter().collect::<Vec<_>>())
}

/// Returns the fix with the numbers of these CPUs.
fn fill_in(fix: &RuleFix, host: Host<'_>, target: Target<'_>) -> PrintedFix {
    let others = Some(host.online.difference(target.quiet)).filter(|others| !others.is_empty());
    let known = |hole: Hole| match hole {
        Hole::Cpu => Some(target.cpu.to_string()),
        Hole::Quiet => others.as_ref().map(|_| target.quiet.to_string()),
        Hole::Housekeeping => others.as_ref().map(CpuList::to_string),
        Hole::Mask => others.as_ref().map(CpuList::to_mask),
        Hole::Irq => target.named.irq.map(|irq| irq.to_string()),
        Hole::Task => target.movable().map(|task| task.pid.to_string()),
        Hole::Quota => target.quota(),
    };
    let effect = fix.remarked_effect_on(host.kernel);
    let effect = match target.movable().filter(|_| fix.action.has(Hole::Task)) {
        Some(task) => format!("{task}: {effect}").into(),
        None => effect,
    };
    PrintedFix { action: fix.action.fill(known), effect }
}

/// Combines a parameter about isolation with the machine's command line. The kernel refuses a second one that
/// contradicts the first, and a replacement loses the request of the first.
fn combined(fix: PrintedFix, host: Host<'_>) -> PrintedFix {
    let Fix::Boot(parameter) = fix.action else { return fix };
    PrintedFix { action: Fix::Boot(host.composed(&[parameter]).join(" ")), ..fix }
}

/// Quotes a part of a path for a shell; `None` if it is not printable on one line.
pub(crate) fn quoted(path: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._:@-".contains(c);
    match path {
        path if path.chars().all(is_plain) => Some(path.to_owned()),
        path if path.chars().any(char::is_control) => None,
        path => Some(format!("'{}'", path.replace('\'', "'\\''"))),
    }
}

impl Target<'_> {
    /// The other task, if it lives and can be moved.
    fn movable(&self) -> Option<&Task> {
        match &self.named.task {
            OtherTask::Movable(task) => Some(task),
            _ => None,
        }
    }

    /// The value that removes the CPU quota and its file, if that is known and a shell can name it.
    fn quota(self) -> Option<String> {
        self.named.quota.as_ref().and_then(Limit::without)
    }

    /// Returns true if a fix applies to the known names of the cause. A fix for unbound work and threads does not apply
    /// to a bound thread, except for the stopper, which runs for the load balancer. One that moves interrupts does not
    /// apply to a line that only the kernel moves.
    fn concerns(self, fix: &RuleFix, host: Host<'_>) -> bool {
        let is_fixed = self.named.irq.is_some_and(|irq| host.settings.fixed_irqs.contains(&irq));
        if is_fixed && fix.moves_interrupts() {
            return false;
        }
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

    /// The boot parameters, composed with the machine's command line.
    fn composed(self, parameters: &[String]) -> Vec<String> {
        let composed = boot::beside(self.line, parameters, self.reader());
        if self.bpf_scheduler {
            composed.into_iter().filter_map(instead::without_domain).collect()
        } else {
            composed
        }
    }

    /// Returns true if a fix changes anything here: it is not in force yet, and the kernel supports it.
    fn is_helped_by(self, fix: &Fix) -> bool {
        match fix {
            Fix::Boot(parameters) if parameters.is_empty() => false,
            Fix::Boot(parameters) => {
                let parameters: Vec<String> = parameters.split(' ').map(str::to_owned).collect();
                let is_known = parameters.iter().all(|parameter| !self.settings.lacks(parameter));
                let is_default = |parameter: &String| self.settings.in_force.contains(parameter);
                is_known
                    && !parameters.iter().all(is_default)
                    && !boot::is_in_force(self.line, &parameters, self.reader())
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
