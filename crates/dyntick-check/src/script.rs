// SPDX-License-Identifier: GPL-2.0-only
//! The fixes of a report as a shell script for root.

use crate::finding::{Finding, Mend, Severity};
use crate::report::Report;
use crate::shell::{comment, quoted};

/// The commands that mend what is a warning or worse, as a shell script. All else stands in comments:
/// what takes a reboot or a decision, and the commands of notes, which trade something of the whole
/// machine (swap, turbo, reports of hardware errors) for a little quiet.
pub fn script(report: &Report) -> String {
    let head = "#!/bin/sh\n# By dyntick check. Read it first: it is to be run as root.\n";
    let findings = report.findings.iter().map(of_finding);
    let reboot = report.reboot.iter().map(|reboot| {
        format!("\n{}", comment(&format!("What takes a reboot, all together; boot with: {}", reboot.line)))
    });
    findings.chain(reboot).fold(head.to_owned(), |text, part| text + &part)
}

fn of_finding(finding: &Finding) -> String {
    let head = comment(&format!("{}: {}", finding.severity.word(), finding.message));
    let command = finding.mends.iter().find(|mend| matches!(mend, Mend::Command(_)));
    let body = match (command, finding.mends.first()) {
        (Some(Mend::Command(command)), _) if runs(finding, command) => format!("{command}\n"),
        (Some(other), _) | (None, Some(other)) => comment(&other.to_string()),
        (None, None) => String::new(),
    };
    let mark = if finding.tried || finding.mends.is_empty() { "" } else { "# Not tried here.\n" };
    format!("\n{head}{mark}{body}")
}

/// Rules make commands of one line; one that is not is shown and not run.
fn runs(finding: &Finding, command: &str) -> bool {
    finding.severity >= Severity::Warning && quoted(command).is_ok()
}
