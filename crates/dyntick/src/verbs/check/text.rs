// SPDX-License-Identifier: GPL-2.0-only
//! The findings as a document, the worst first.

use dyntick_check::rules;
use dyntick_check::{Finding, Offered, Report, Severity, Unread};
use dyntick_model::text::clean_line;
use dyntick_model::{CpuList, Fix};
use dyntick_report::{self as report, Block, Document, Level};
use std::collections::BTreeSet;

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

/// The document.
pub fn document(report: &Report, detail: Detail) -> Document {
    let mut blocks = vec![Block::Paragraph(counts(report, detail))];
    if !report.findings.is_empty() {
        let findings = report.findings.iter().map(|one| finding(one, detail)).collect();
        blocks.push(Block::Findings(findings));
    }
    if let Some(reboot) = &report.reboot {
        let what = if reboot.kept.is_empty() { "all warnings" } else { "the other warnings" };
        let what = format!("To fix {what} and errors that need a reboot, boot with");
        blocks.push(Block::Command(what, clean_line(&reboot.line)));
        if !reboot.kept.is_empty() {
            let kept = clean_line(&reboot.kept.join(" "));
            blocks
                .push(Block::Paragraph(format!("It keeps {kept}, whose right value only its owner knows.")));
        }
    }
    if !report.unread.is_empty() {
        let lines: Vec<String> = alike(&report.unread).iter().map(|alike| not_read(alike, detail)).collect();
        blocks.push(Block::Paragraph(lines.join("\n")));
    }
    Document { title: title(report), question: checked(report), blocks, ..Document::default() }
}

fn title(report: &Report) -> String {
    clean_line(&format!(
        "Linux {}, CPUs {}; nohz_full {}, isolated {}",
        report.kernel,
        report.online,
        listed(report.nohz_full.as_ref()),
        listed(report.isolated.as_ref())
    ))
}

/// The CPUs of a list of the kernel, which no file may tell.
fn listed(cpus: Option<&CpuList>) -> String {
    match cpus {
        None => "unknown".to_owned(),
        Some(none) if none.is_empty() => "none".to_owned(),
        Some(cpus) => cpus.to_string(),
    }
}

/// The CPUs that were checked, if they are not those that the machine isolates.
fn checked(report: &Report) -> String {
    if report.named {
        let plural = if report.judged.len() == 1 { "" } else { "s" };
        return format!("Checked: CPU{plural} {}.{}", report.judged, kernel(report));
    }
    if !report.judged.is_empty() {
        return String::new();
    }
    let lists = [&report.isolated, &report.nohz_full];
    let is_unknown = lists.iter().any(|cpus| cpus.is_none());
    let is_offline = lists.into_iter().flatten().any(|cpus| !cpus.is_empty()) || (is_unknown && report.asks);
    if is_offline {
        return "No isolated CPU is online: only the command line was checked.".to_owned();
    }
    let refused = clean_line(&report.refused.join(" "));
    let why = match (is_unknown, refused.is_empty()) {
        (true, true) => {
            "No file tells which CPUs are isolated, and the command line asks for none".to_owned()
        }
        (true, false) => {
            format!(
                "No file tells which CPUs are isolated. The command line asks for {refused}, which this kernel refuses"
            )
        }
        (false, true) => "No CPU is isolated".to_owned(),
        (false, false) => {
            format!("No CPU is isolated: the command line asks for {refused}, which this kernel refuses")
        }
    };
    let it =
        if report.refused.is_empty() { ": only the command line was" } else { ". Only the command line was" };
    format!("{why}{it} checked; use -C CPUS to see what they need.")
}

/// The properties of the kernel that decide what the named CPUs can be.
fn kernel(report: &Report) -> String {
    let tick = match report.can_stop_tick {
        Some(true) => "",
        Some(false) => {
            " This kernel has no CONFIG_NO_HZ_FULL: a CPU that runs a task keeps its tick, whatever is set."
        }
        None => {
            " No file tells if this kernel has CONFIG_NO_HZ_FULL, to stop the tick of a CPU that runs a task."
        }
    };
    let preemption = report.preemption.map_or(String::new(), |model| format!(" Preemption model: {model}."));
    format!("{tick}{preemption}")
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

/// The files that could not be read, those for the same reason together.
fn alike(unread: &[Unread]) -> Vec<Vec<&Unread>> {
    let mut groups: Vec<Vec<&Unread>> = Vec::new();
    for one in unread {
        let same = |other: &Unread| (&other.reason, other.needs) == (&one.reason, one.needs);
        match groups.iter_mut().find(|group| same(group[0])) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// The number of rules that are named where not everything is asked for.
const MOST_RULES: usize = 6;

fn not_read(alike: &[&Unread], detail: Detail) -> String {
    let (reason, needs) = (&alike[0].reason, alike[0].needs);
    let needs = if needs.is_empty() { String::new() } else { format!("; needs {needs}") };
    let files: Vec<&str> = alike.iter().map(|one| one.file.as_str()).collect();
    let rules: BTreeSet<&str> = alike.iter().flat_map(|one| &one.rules).copied().collect();
    let partly = if detail == Detail::Everything || rules.len() <= MOST_RULES {
        format!("so only partly checked: {}", rules.into_iter().collect::<Vec<_>>().join(", "))
    } else {
        format!("so {} rules are only partly checked; --full names them", rules.len())
    };
    clean_line(&format!("Not read: {} ({reason}{needs}), {partly}.", files.join(", ")))
}
