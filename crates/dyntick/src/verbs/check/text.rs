// SPDX-License-Identifier: GPL-2.0-only
//! Findings for a terminal: the worst first, as few lines each as can be acted upon.

use dyntick_check::rules;
use dyntick_check::{Finding, Report, Severity, Unread};
use std::fmt::Write;

/// How to print.
pub struct Style {
    /// With effects, all evidence and sources.
    pub verbose: bool,
    /// With colours.
    pub colour: bool,
}

const WIDTH: usize = 100;
const INDENT: &str = "         ";

/// The whole text.
pub fn render(report: &Report, style: &Style) -> String {
    let mut text = wrapped(&head(report), "");
    for finding in &report.findings {
        text.push('\n');
        text += &one(finding, style);
    }
    text.push('\n');
    text += &foot(report, style);
    text
}

fn head(report: &Report) -> String {
    let or_none =
        |cpus: &dyntick_model::CpuList| if cpus.is_empty() { "none".to_owned() } else { cpus.to_string() };
    let mut head = format!(
        "Linux {}, CPUs {}; nohz_full {}, isolated {}.",
        report.kernel,
        report.online,
        or_none(&report.nohz_full),
        or_none(&report.isolated)
    );
    if report.named {
        let _ = write!(head, " Judged: CPUs {}.", report.judged);
    } else if report.judged.is_empty() {
        head +=
            " No CPU is isolated, so only the command line was judged; -C CPUS tells what they would need.";
    }
    head
}

fn one(finding: &Finding, style: &Style) -> String {
    let word = format!("{:<9}", finding.severity.word());
    let sign = if style.colour { format!("\x1b[{}m{word}\x1b[0m", colour(finding.severity)) } else { word };
    let title = wrapped(&format!("{} [{}]", capital(&finding.message), finding.rule), INDENT);
    let mut text = format!("{sign}{}", title.trim_start());
    let shown = if style.verbose { finding.evidence.len() } else { 1 };
    for evidence in finding.evidence.iter().take(shown) {
        text += &wrapped(&format!("{}: {}", evidence.file, evidence.value), &format!("{INDENT}read   "));
    }
    if style.verbose || finding.severity != Severity::Note {
        text += &wrapped(&finding.effect, &format!("{INDENT}effect "));
    }
    let mends = if style.verbose { finding.mends.len() } else { 2 };
    for mend in finding.mends.iter().take(mends) {
        // A command stays on one line, to be copied.
        let _ = writeln!(text, "{INDENT}mend   {mend}");
    }
    if style.verbose {
        let rule = rules::all().iter().find(|rule| rule.id == finding.rule);
        text += &wrapped(rule.map_or("", |rule| rule.source), &format!("{INDENT}source "));
    }
    text
}

fn colour(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "1;31",
        Severity::Warning => "33",
        Severity::Note => "2",
    }
}

fn foot(report: &Report, style: &Style) -> String {
    let count = |severity: Severity| match report.count(severity) {
        1 => format!("1 {}", severity.word()),
        count => format!("{count} {}s", severity.word()),
    };
    let mut text = match report.findings.is_empty() {
        true => "Nothing found.\n".to_owned(),
        false => {
            format!("{}, {}, {}.", count(Severity::Error), count(Severity::Warning), count(Severity::Note))
                + if style.verbose { "\n" } else { " -v tells all evidence, effects and sources.\n" }
        }
    };
    for unread in &report.unread {
        text += &wrapped(&not_read(unread), "");
    }
    text
}

fn not_read(unread: &Unread) -> String {
    let needs = if unread.needs.is_empty() { String::new() } else { format!("; needs {}", unread.needs) };
    format!(
        "Not read: {} ({}{needs}), so not judged: {}.",
        unread.file,
        unread.reason,
        unread.rules.join(", ")
    )
}

/// Lines of at most [`WIDTH`] columns, the first behind `before`, the others below its text.
fn wrapped(text: &str, before: &str) -> String {
    let rest = " ".repeat(before.len());
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(before)
        .subsequent_indent(&rest)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options) + "\n"
}

/// A sentence's first letter as such; words that are quoted or names stay as they are.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().to_string() + rest.as_str())
}
