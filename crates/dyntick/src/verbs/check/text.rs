// SPDX-License-Identifier: GPL-2.0-only
//! The findings as a document, the worst first.

use dyntick_check::rules;
use dyntick_check::{Finding, Offered, Report, Severity, Unread};
use dyntick_model::text::clean_line;
use dyntick_model::{CpuList, Fix};
use dyntick_report::{self as report, Block, Document, Level};

/// The level of detail of each finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The problem.
    Line,
    /// The fixes too.
    Fix,
    /// All fixes, the effect, all evidence and the source too.
    Everything,
}

/// The file of the parameters that the kernel was booted with.
const COMMAND_LINE: &str = "/proc/cmdline";

/// The document.
pub fn document(report: &Report, detail: Detail) -> Document {
    let mut blocks = vec![Block::Paragraph(counts(report, detail))];
    if !report.findings.is_empty() {
        let findings = report.findings.iter().map(|one| finding(one, detail)).collect();
        blocks.push(Block::Findings(findings));
    }
    if let Some(reboot) = &report.reboot {
        let kept = kept(report, &reboot.line);
        let what = if kept.is_empty() { "all warnings" } else { "the other warnings" };
        let what = format!("To fix {what} and errors that need a reboot, boot with");
        blocks.push(Block::Command(what, clean_line(&reboot.line)));
        if !kept.is_empty() {
            let kept = clean_line(&kept.join(" "));
            blocks
                .push(Block::Paragraph(format!("It keeps {kept}, whose right value only its owner knows.")));
        }
    }
    if !report.unread.is_empty() {
        let lines: Vec<String> = report.unread.iter().map(not_read).collect();
        blocks.push(Block::Paragraph(lines.join("\n")));
    }
    Document { title: title(report), question: checked(report), blocks, ..Document::default() }
}

/// The parameters of a line that a warning or an error is about, and for which there is only advice.
fn kept<'a>(report: &'a Report, line: &str) -> Vec<&'a str> {
    let advised = report.findings.iter().filter(|finding| {
        finding.severity >= Severity::Warning && finding.fixes.iter().all(|fix| matches!(fix, Fix::Advice(_)))
    });
    let said = advised.flat_map(|finding| &finding.evidence).filter(|seen| seen.file == COMMAND_LINE);
    said.map(|seen| seen.value.as_str()).filter(|value| line.split(' ').any(|word| word == *value)).collect()
}

fn title(report: &Report) -> String {
    let or_none = |cpus: &CpuList| if cpus.is_empty() { "none".to_owned() } else { cpus.to_string() };
    clean_line(&format!(
        "Linux {}, CPUs {}; nohz_full {}, isolated {}",
        report.kernel,
        report.online,
        or_none(&report.nohz_full),
        or_none(&report.isolated)
    ))
}

/// The CPUs that were checked, if they are not those that the machine isolates.
fn checked(report: &Report) -> String {
    match (report.named, report.judged.is_empty()) {
        (true, _) => format!("Checked: CPU {}.", report.judged),
        (false, true) if !report.isolated.is_empty() || !report.nohz_full.is_empty() => {
            "No isolated CPU is online: only the command line was checked.".to_owned()
        }
        (false, true) => {
            "No CPU is isolated: only the command line was checked; use -C CPUS to see what they need."
                .to_owned()
        }
        (false, false) => String::new(),
    }
}

fn finding(finding: &Finding, detail: Detail) -> report::Finding {
    let (evidence, fixes) = match detail {
        Detail::Line => (0, 0),
        Detail::Fix => (0, 1),
        Detail::Everything => (usize::MAX, usize::MAX),
    };
    let evidence = finding.evidence.iter().take(evidence).map(|evidence| {
        let value = if evidence.value.is_empty() { "(empty)" } else { &evidence.value };
        clean_line(&format!("{}: {value}", evidence.file))
    });
    let rule = rules::all().iter().find(|rule| rule.id == finding.rule);
    let source = rule.filter(|_| detail == Detail::Everything).map_or("", |rule| rule.source);
    let message = if detail == Detail::Everything { &finding.full_message } else { &finding.message };
    report::Finding {
        level: Some(level(finding.severity)),
        title: clean_line(&format!("{message} [{}]", finding.rule)),
        explanation: if detail == Detail::Everything { clean_line(&finding.effect) } else { String::new() },
        chain: evidence.collect(),
        fixes: whole(finding.offered()).into_iter().take(fixes).collect(),
        source: source.to_owned(),
        ..report::Finding::default()
    }
}

/// The fixes, each marked if it was not tried. A removed parameter is merged with the one that replaces it.
fn whole<'a>(offered: impl Iterator<Item = Offered<'a>>) -> Vec<(Fix, String)> {
    let mut whole: Vec<(Fix, String)> = Vec::new();
    for Offered { fix, tried } in offered {
        match (whole.last_mut(), fix) {
            (Some((Fix::Boot(with), _)), Fix::Unboot(without)) if with.contains(" and without ") => {
                *with += &format!(" {without}");
            }
            (Some((Fix::Boot(with), _)), Fix::Unboot(without)) => {
                *with += &format!(" and without {without}");
            }
            _ => whole.push((fix.clone(), if tried { String::new() } else { "not tried here".to_owned() })),
        }
    }
    whole
}

fn level(severity: Severity) -> Level {
    match severity {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Note => Level::Note,
    }
}

fn counts(report: &Report, detail: Detail) -> String {
    if report.findings.is_empty() {
        return "Nothing found.".to_owned();
    }
    let count = |severity: Severity| match report.count(severity) {
        1 => format!("1 {}", severity.word()),
        count => format!("{count} {}s", severity.word()),
    };
    let more = match detail {
        Detail::Everything => "",
        _ => " --full shows effects, evidence, all fixes and sources.",
    };
    let counts = [Severity::Error, Severity::Warning, Severity::Note].map(count);
    format!("{}.{more}", counts.join(", "))
}

fn not_read(unread: &Unread) -> String {
    let needs = if unread.needs.is_empty() { String::new() } else { format!("; needs {}", unread.needs) };
    clean_line(&format!(
        "Not read: {} ({}{needs}), so only partly checked: {}.",
        unread.file,
        unread.reason,
        unread.rules.join(", ")
    ))
}
