// SPDX-License-Identifier: GPL-2.0-only
//! The findings on machines that were booted for this test: Debian's kernels in virtual machines. Their files are from
//! their support bundles, without threads and interrupts that do not matter.

use dyntick_check::{Content, Machine, Report, Snapshot};

/// A machine in one text: `== PATH`, then the file.
fn machine(text: &str) -> Snapshot {
    let mut files = Snapshot::default();
    for part in text.split("== /").skip(1) {
        let (path, content) = part.split_once('\n').unwrap();
        files.insert(format!("/{path}"), Content::Text(content.to_owned()));
    }
    files
}

fn reported(text: &str) -> String {
    let files = machine(text);
    let report = Report::of(&Machine::new(&files, None).unwrap(), &files);
    let line = |finding: &dyntick_check::Finding| {
        let fix = finding.fixes.first().map(ToString::to_string).unwrap_or_default();
        format!("{} {}: {}\n    {fix}\n", finding.severity.word(), finding.rule, finding.message)
    };
    report.findings.iter().map(line).collect()
}

#[test]
fn nohz_full_on_6_12() {
    insta::assert_snapshot!(reported(include_str!("machines/6.12.txt")));
}

#[test]
fn isolcpus_alone_on_6_1() {
    insta::assert_snapshot!(reported(include_str!("machines/6.1.txt")));
}
