// SPDX-License-Identifier: GPL-2.0-only
//! The fixes of a report as a shell script for root.

use crate::finding::{Finding, Fix, Offered, Severity};
use crate::report::Report;
use crate::shell::{comment, quoted};

/// The commands that fix what is a warning or worse, as a shell script. All else stands in comments:
/// what takes a reboot or a decision, also where a command would do for now, for it may stand in the way of the
/// other commands; and the commands of notes, which trade something of the whole machine (swap, turbo, reports
/// of hardware errors) for a little quiet.
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
    let first = finding.offered().next();
    let command = finding.offered().find(|offered| matches!(offered.fix, Fix::Command(_)));
    let body = match (command, first) {
        (Some(command), Some(first)) if by_boot(first.fix) => {
            commented("", first) + &commented("or, until then: ", command)
        }
        (Some(Offered { fix: Fix::Command(command), tried }), _) if runs(finding, command) => {
            format!("{}{command}\n", mark(tried))
        }
        (Some(other), _) | (None, Some(other)) => commented("", other),
        (None, None) => String::new(),
    };
    format!("\n{head}{body}")
}

fn mark(tried: bool) -> &'static str {
    if tried { "" } else { "# Not tried here:\n" }
}

fn commented(before: &str, offered: Offered<'_>) -> String {
    format!("{}{}", mark(offered.tried), comment(&format!("{before}{}", offered.fix)))
}

fn by_boot(first: &Fix) -> bool {
    matches!(first, Fix::Boot(_) | Fix::Unboot(_))
}

/// Rules make commands of one line; one that is not is shown and not run.
fn runs(finding: &Finding, command: &str) -> bool {
    finding.severity >= Severity::Warning && quoted(command).is_ok()
}
