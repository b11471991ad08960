// SPDX-License-Identifier: GPL-2.0-only
//! Findings for a terminal: the worst first, with as much of each as fits on the screen.

use dyntick_check::rules;
use dyntick_check::{Finding, Offered, Report, Severity, Unread};
use dyntick_model::text::clean_line;
use std::fmt::Write;

/// How much is said of each finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    /// What is the matter.
    Line,
    /// And how to fix it.
    Fix,
    /// And what it does and was read from.
    Full,
    /// And all of it, with the source.
    Everything,
}

/// Where the text goes.
pub struct Page {
    /// Columns.
    pub width: usize,
    /// Lines, where there is a limit.
    pub height: Option<usize>,
    /// Whether it shows colours.
    pub colour: bool,
    /// Whether everything is to be told, however long it gets.
    pub verbose: bool,
}

const INDENT: &str = "         ";

/// The whole text: the fullest that fits on the page.
pub fn render(report: &Report, page: &Page) -> String {
    if page.verbose {
        return at(Detail::Everything, report, page);
    }
    let fits = |text: &String| page.height.is_none_or(|height| text.lines().count() < height);
    let texts = [Detail::Full, Detail::Fix].into_iter().map(|detail| at(detail, report, page));
    texts.into_iter().find(fits).unwrap_or_else(|| at(Detail::Line, report, page))
}

fn at(detail: Detail, report: &Report, page: &Page) -> String {
    let mut text = page.wrapped(&head(report), "");
    let airy = detail >= Detail::Full;
    for (number, finding) in report.findings.iter().enumerate() {
        if airy || number == 0 {
            text.push('\n');
        }
        text += &one(finding, detail, page);
    }
    text.push('\n');
    text += &foot(report, detail, page);
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
        let _ = write!(head, " Checked: {}.", report.judged);
    } else if report.judged.is_empty() {
        head += " No CPU is isolated: only the command line was checked; use -C CPUS to see what they need.";
    }
    head
}

fn one(finding: &Finding, detail: Detail, page: &Page) -> String {
    let word = format!("{:<9}", finding.severity.word());
    let sign = if page.colour { format!("\x1b[{}m{word}\x1b[0m", colour(finding.severity)) } else { word };
    let title = page.wrapped(&format!("{} [{}]", finding.message, finding.rule), INDENT);
    let mut text = format!("{sign}{}", title.trim_start());
    let (evidence, fixes) = match detail {
        Detail::Line => (0, 0),
        Detail::Fix => (0, 1),
        Detail::Full => (1, 2),
        Detail::Everything => (usize::MAX, usize::MAX),
    };
    for evidence in finding.evidence.iter().take(evidence) {
        let value = if evidence.value.is_empty() { "(empty)" } else { &evidence.value };
        text += &page.wrapped(&format!("{}: {value}", evidence.file), &format!("{INDENT}read   "));
    }
    if detail >= Detail::Full {
        text += &page.wrapped(&finding.effect, &format!("{INDENT}effect "));
    }
    for Offered { fix, tried } in finding.offered().take(fixes) {
        // A command stays on one line, to be copied.
        let _ = writeln!(text, "{INDENT}fix    {}", clean_line(&fix.to_string()));
        if !tried {
            let _ = writeln!(text, "{INDENT}       (not tried here)");
        }
    }
    if detail == Detail::Everything {
        let rule = rules::all().iter().find(|rule| rule.id == finding.rule);
        text += &page.wrapped(rule.map_or("", |rule| rule.source), &format!("{INDENT}source "));
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

fn foot(report: &Report, detail: Detail, page: &Page) -> String {
    let count = |severity: Severity| match report.count(severity) {
        1 => format!("1 {}", severity.word()),
        count => format!("{count} {}s", severity.word()),
    };
    let more = match detail {
        Detail::Line => " Use -v to show fixes.",
        Detail::Fix => " Use -v to show effects and evidence.",
        Detail::Full => " Use -v to show all evidence and sources.",
        Detail::Everything => "",
    };
    let mut text = match report.findings.is_empty() {
        true => "Nothing found.\n".to_owned(),
        false => {
            let counts = [Severity::Error, Severity::Warning, Severity::Note].map(count);
            format!("{}.{more}\n", counts.join(", "))
        }
    };
    if let Some(reboot) = &report.reboot {
        text += &format!("All fixes that need a reboot, together; boot with: {}\n", clean_line(&reboot.line));
    }
    for unread in &report.unread {
        text += &page.wrapped(&not_read(unread), "");
    }
    text
}

fn not_read(unread: &Unread) -> String {
    let needs = if unread.needs.is_empty() { String::new() } else { format!("; needs {}", unread.needs) };
    format!(
        "Not read: {} ({}{needs}), so only partly checked: {}.",
        unread.file,
        unread.reason,
        unread.rules.join(", ")
    )
}

impl Page {
    /// Clean lines that fit, the first behind `before`, the others below its text.
    fn wrapped(&self, text: &str, before: &str) -> String {
        let rest = " ".repeat(before.len());
        let options = textwrap::Options::new(self.width)
            .initial_indent(before)
            .subsequent_indent(&rest)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        textwrap::fill(&clean_line(text), options) + "\n"
    }
}
