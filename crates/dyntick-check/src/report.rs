// SPDX-License-Identifier: GPL-2.0-only
//! The findings about one machine.

use crate::finding::{Finding, Severity};
use crate::machine::Machine;
use crate::reboot::Reboot;
use crate::rules;
use crate::snapshot::{Content, Snapshot, matcher};
use crate::sources::{FAIR_SERVER, ISOLATED, KERNEL_LOG, NOHZ_FULL, SOURCES, TASK_STAT};
use dyntick_model::CpuList;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The files that could not be read, and the rules that could not be judged without them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unread {
    /// The path, or the pattern of paths.
    pub file: String,
    /// The reason why they could not be read.
    pub reason: String,
    /// The right or mount that a reader needs.
    pub needs: &'static str,
    /// The rules that read it.
    pub rules: Vec<&'static str>,
}

/// The result of a check of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Report {
    /// `uname -r`.
    pub kernel: String,
    /// The online CPUs.
    pub online: CpuList,
    /// The CPUs with adaptive ticks; null if no file has them.
    pub nohz_full: Option<CpuList>,
    /// The CPUs outside the scheduler's load balancing; null if no file has them.
    pub isolated: Option<CpuList>,
    /// The parameters that ask for isolated or adaptive CPUs and have no effect, as written.
    pub refused: Vec<String>,
    /// True if the kernel follows others that ask for such CPUs.
    #[serde(skip)]
    pub asks: bool,
    /// True if the kernel can stop the tick of a CPU that runs a task (CONFIG_NO_HZ_FULL); null if that is not known.
    pub can_stop_tick: Option<bool>,
    /// The kernel's preemption model, by its configuration and command line: `none`, `voluntary`, `full`, `lazy` or
    /// `PREEMPT_RT`; null if that is not known.
    pub preemption: Option<&'static str>,
    /// The CPUs that were judged.
    pub judged: CpuList,
    /// True if the user named them.
    pub named: bool,
    /// The findings, the worst first.
    pub findings: Vec<Finding>,
    /// The command line that fixes all of them together, notes left out.
    pub reboot: Option<Reboot>,
    /// The files that could not be read.
    pub unread: Vec<Unread>,
}

impl Report {
    /// Applies every rule.
    pub fn of(machine: &Machine<'_>, files: &Snapshot) -> Self {
        let mut findings = rules::findings(machine);
        // Stable: within a severity the order of the rules is kept.
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Self {
            kernel: machine.kernel.release.clone(),
            online: machine.online.clone(),
            nohz_full: machine.reported_nohz_full().cloned(),
            isolated: machine.reported_isolated().cloned(),
            refused: refused(machine),
            asks: !machine.asked.tick.union(&machine.asked.domain).is_empty(),
            can_stop_tick: machine.has("NO_HZ_FULL"),
            preemption: machine.preemption(),
            judged: machine.target.clone(),
            named: machine.named,
            reboot: Reboot::of(machine, &findings),
            findings,
            unread: unread(files)
                .into_iter()
                .chain(absent(machine, files))
                .chain(unmounted(machine, files))
                .chain(overwritten(machine))
                .collect(),
        }
    }

    /// The number of findings with this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// The worst severity, if there is a finding.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

fn refused(machine: &Machine<'_>) -> Vec<String> {
    let outcomes = machine.asked.outcomes.iter().filter(|(_, outcome)| outcome.is_refusal());
    outcomes.map(|(parameter, _)| parameter.clone()).collect()
}

/// Reports the lists of CPUs and of tasks that every Linux has, if they are absent: a folder may be part of one.
fn absent(machine: &Machine<'_>, files: &Snapshot) -> Vec<Unread> {
    let refused = |pattern: &str| files.unread().any(|(path, _)| matcher(pattern)(path));
    let full = machine.reported_nohz_full().is_none().then_some(NOHZ_FULL);
    let isolated = machine.reported_isolated().is_none().then_some(ISOLATED);
    let tasks = machine.tasks.is_empty().then_some(TASK_STAT);
    let absent = [full, isolated, tasks].into_iter().flatten();
    absent.filter(|file| !refused(file)).map(|file| not_there(file, "")).collect()
}

fn not_there(file: &str, needs: &'static str) -> Unread {
    let rules = rules::all().iter().filter(|rule| rule.reads.contains(&file));
    Unread {
        file: file.to_owned(),
        reason: "not there".to_owned(),
        needs,
        rules: rules.map(|rule| rule.id).collect(),
    }
}

/// Reports debugfs if it is not mounted, which looks like a kernel without the file.
fn unmounted(machine: &Machine<'_>, files: &Snapshot) -> Option<Unread> {
    let there = files.iter().any(|(path, _)| matcher(FAIR_SERVER)(path));
    let expected = machine.since(6, 12) && !machine.of_target(&machine.nohz_full).is_empty();
    (expected && !there).then(|| not_there(FAIR_SERVER, "mount -t debugfs none /sys/kernel/debug"))
}

/// Reports the messages of the boot if the log has lost them: it then says nothing about parameters.
fn overwritten(machine: &Machine<'_>) -> Option<Unread> {
    let lost = machine.text(KERNEL_LOG).is_some() && !machine.log_reaches_boot();
    lost.then(|| Unread {
        reason: "newer messages have overwritten those of the boot; journalctl -k -b may have them"
            .to_owned(),
        ..not_there(KERNEL_LOG, "")
    })
}

/// The limit of names of one kind; a bundle may contain any number.
const MOST_OF_A_KIND: usize = 20;

fn unread(files: &Snapshot) -> Vec<Unread> {
    let mut kinds: BTreeMap<&str, Vec<Unread>> = BTreeMap::new();
    for (path, content) in files.unread() {
        let Some(source) = SOURCES.iter().find(|source| matcher(source.pattern)(path)) else { continue };
        let kind = kinds.entry(source.pattern).or_default();
        // A privilege helps only if permission was denied.
        let (reason, needs) = match content {
            Content::Failed(reason) => (reason.as_str(), ""),
            _ => ("permission denied", source.needs),
        };
        let (file, reason) = match kind.len() {
            ..MOST_OF_A_KIND => (path, reason),
            MOST_OF_A_KIND => (source.pattern, "and more files of this kind"),
            _ => continue,
        };
        let rules = rules::all().iter().filter(|rule| rule.reads.contains(&source.pattern));
        kind.push(Unread {
            file: file.to_owned(),
            reason: reason.to_owned(),
            needs,
            rules: rules.map(|rule| rule.id).collect(),
        });
    }
    kinds.into_values().flatten().collect()
}
