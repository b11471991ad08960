// SPDX-License-Identifier: GPL-2.0-only
//! The findings about one machine.

use crate::finding::{Finding, Severity};
use crate::machine::Machine;
use crate::reboot::Reboot;
use crate::rules;
use crate::snapshot::{Content, Snapshot, matcher};
use crate::sources::{FAIR_SERVER, SOURCES};
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
    /// The CPUs with adaptive ticks.
    pub nohz_full: CpuList,
    /// The CPUs outside the scheduler's load balancing.
    pub isolated: CpuList,
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
        let mut findings: Vec<Finding> = rules::all().iter().flat_map(|rule| (rule.find)(machine)).collect();
        // Stable: within a severity the order of the rules is kept.
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Self {
            kernel: machine.kernel.release.clone(),
            online: machine.online.clone(),
            nohz_full: machine.nohz_full.clone(),
            isolated: machine.isolated.clone(),
            judged: machine.target.clone(),
            named: machine.named,
            reboot: Reboot::of(machine, &findings),
            findings,
            unread: unread(files).into_iter().chain(unmounted(machine, files)).collect(),
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

/// Reports debugfs if it is not mounted, which looks like a kernel without the file.
fn unmounted(machine: &Machine<'_>, files: &Snapshot) -> Option<Unread> {
    let there = files.iter().any(|(path, _)| matcher(FAIR_SERVER)(path));
    let expected = machine.since(6, 12) && !machine.of_target(&machine.nohz_full).is_empty();
    (expected && !there).then(|| Unread {
        file: FAIR_SERVER.to_owned(),
        reason: "not there".to_owned(),
        needs: "mount -t debugfs none /sys/kernel/debug",
        rules: vec!["fair-server"],
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
