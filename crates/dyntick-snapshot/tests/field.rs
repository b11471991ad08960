// SPDX-License-Identifier: GPL-2.0-only
//! Machines from public reports: each file of `field/` is one, with what must and must not be said of it.

use dyntick_check::{Content, Finding, Machine, Report, Severity, Snapshot, script};
use dyntick_model::{Architecture, CommandLine, CpuList, Dialect, Isolation, Outcome, Reader};
use std::fmt::Write as _;
use std::path::Path;

/// One machine. Its text begins with the report that it is from, then one expectation a line, then its files
/// (`== PATH`, the content).
struct Case<'a> {
    name: String,
    named: Option<CpuList>,
    expectations: Vec<Expectation<'a>>,
    files: Vec<(&'a str, &'a str)>,
}

/// A sentence about the output for one machine.
enum Expectation<'a> {
    /// The worst severity, or `nothing`.
    Worst(&'a str),
    /// A finding of this severity and rule, with this text in its message, effect, evidence or fixes.
    Says(&'a str, &'a str, &'a str),
    /// A rule without any finding.
    Silent(&'a str),
    /// A text that occurs nowhere in the output.
    Never(&'a str),
    /// A word of the complete command line.
    Boots(&'a str),
    /// A text that no command of the script has.
    NotRun(&'a str),
}

impl<'a> Case<'a> {
    fn parse(name: String, text: &'a str) -> Self {
        let (head, files) = text.split_once("== /").expect("a machine has files");
        let mut case = Case { name, named: None, expectations: Vec::new(), files: Vec::new() };
        for line in head.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').expect("an expectation has a value");
            case.expectations.push(match word {
                "named" => {
                    case.named = Some(rest.parse().expect("a CPU list"));
                    continue;
                }
                "worst" => Expectation::Worst(rest),
                "says" => {
                    let mut parts = rest.splitn(3, ' ');
                    let mut next = || parts.next().expect("severity, rule and text");
                    Expectation::Says(next(), next(), next())
                }
                "silent" => Expectation::Silent(rest),
                "never" => Expectation::Never(rest),
                "boots" => Expectation::Boots(rest),
                "not-run" => Expectation::NotRun(rest),
                _ => panic!("{}: no such expectation: {line}", case.name),
            });
        }
        case.files = files.split("== /").filter_map(|part| part.split_once('\n')).collect();
        case
    }

    /// Writes its files below a folder, reads them as `check --from` does, and lists what is not as expected.
    fn failures(&self) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in &self.files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let files = dyntick_snapshot::read(folder.path()).unwrap();
        let report = Report::of(&Machine::new(&files, self.named.as_ref()).unwrap(), &files);
        let text = text(&report);
        let script = script(&report);
        let commands: String = script.lines().filter(|line| !line.starts_with('#')).collect();
        let line = report.reboot.as_ref().map_or("", |reboot| &reboot.line);
        let mut failures = String::new();
        for expectation in &self.expectations {
            let failure = match expectation {
                Expectation::Worst(worst) => {
                    let found = report.worst().map_or("nothing", |severity| severity.word());
                    (found != *worst).then(|| format!("the worst is {found}, not {worst}"))
                }
                Expectation::Says(severity, rule, said) => {
                    let same = |finding: &&Finding| {
                        finding.rule == *rule
                            && finding.severity.word() == *severity
                            && one(finding).contains(said)
                    };
                    (!report.findings.iter().any(|finding| same(&finding)))
                        .then(|| format!("no {severity} of {rule} says '{said}'"))
                }
                Expectation::Silent(rule) => report
                    .findings
                    .iter()
                    .any(|finding| finding.rule == *rule)
                    .then(|| format!("{rule} is not silent")),
                Expectation::Never(said) => text.contains(said).then(|| format!("it says '{said}'")),
                Expectation::Boots(word) => (!line.split(' ').any(|own| own == *word))
                    .then(|| format!("'{word}' is missing in the line '{line}'")),
                Expectation::NotRun(command) => {
                    commands.contains(command).then(|| format!("the script runs '{command}'"))
                }
            };
            failure.iter().for_each(|failure| writeln!(failures, "{}: {failure}", self.name).unwrap());
        }
        if !failures.is_empty() || self.expectations.is_empty() {
            failures += &text;
        }
        failures
    }
}

fn one(finding: &Finding) -> String {
    let mut text = format!(
        "{} [{}]: {}\n    {}\n",
        finding.severity.word(),
        finding.rule,
        finding.full_message,
        finding.effect
    );
    finding.evidence.iter().for_each(|seen| writeln!(text, "    {}: {}", seen.file, seen.value).unwrap());
    finding.fixes.iter().for_each(|fix| writeln!(text, "    fix: {fix}").unwrap());
    text
}

fn text(report: &Report) -> String {
    let findings: String = report.findings.iter().map(one).collect();
    let line = report.reboot.as_ref().map_or("", |reboot| &reboot.line);
    format!("{findings}complete line: {line}\n")
}

#[test]
fn every_machine_is_judged_as_its_report_was_answered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/field");
    let mut cases: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    let only = std::env::var("FIELD_CASE").unwrap_or_default();
    let mut failures = String::new();
    for path in cases.iter().filter(|path| path.extension().is_some_and(|kind| kind == "txt")) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if name.contains(&only) {
            let text = std::fs::read_to_string(path).unwrap();
            failures += &Case::parse(name, &text).failures();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// A command line from a public file, on a machine that fits it.
struct Line<'a> {
    name: &'a str,
    release: &'a str,
    cpus: CpuList,
    dialect: Dialect,
    line: &'a str,
}

impl<'a> Line<'a> {
    fn parse(row: &'a str) -> Self {
        let [name, release, cpus, architecture, line] =
            row.splitn(5, '\t').collect::<Vec<_>>().try_into().expect("five columns");
        let architecture = match architecture {
            "x86" => Architecture::X86,
            "arm64" => Architecture::Arm64,
            "arm" => Architecture::Arm,
            other => panic!("{name}: no architecture {other}"),
        };
        let dialect = Dialect {
            architecture: Some(architecture),
            has_full: Some(true),
            ..Dialect::of(&release.parse().expect("a release"))
        };
        Self { name, release, cpus: cpus.parse().expect("CPUs"), dialect, line }
    }

    fn replay(&self, line: &str) -> Isolation {
        let possible = self.cpus.len() as u32;
        let reader = Reader { possible, present: &self.cpus, dialect: self.dialect };
        Isolation::replay(&CommandLine::parse(line), reader)
    }

    /// The machine as its kernel would describe it; EVE's follows a flag that no other kernel has.
    fn machine(&self) -> Snapshot {
        let asked = self.replay(self.line);
        let (tick, domain) = match self.name {
            "eve-inverse" => ("1-7".to_owned(), "1-7".to_owned()),
            _ => (asked.tick.difference(&CpuList::first(1)).to_string(), asked.domain.to_string()),
        };
        let cpuinfo = match self.dialect.architecture {
            Some(Architecture::X86) => {
                "vendor_id : GenuineIntel\nflags : constant_tsc nonstop_tsc tsc_adjust"
            }
            Some(Architecture::Arm) => "CPU implementer : 0x41\nCPU architecture: 7",
            _ => "CPU implementer : 0x41\nCPU architecture: 8",
        };
        let cpus = self.cpus.to_string();
        let mut files = Snapshot::default();
        for (path, text) in [
            ("/proc/cmdline", self.line),
            ("/proc/sys/kernel/osrelease", self.release),
            ("/proc/cpuinfo", cpuinfo),
            ("/sys/devices/system/cpu/possible", &cpus),
            ("/sys/devices/system/cpu/present", &cpus),
            ("/sys/devices/system/cpu/online", &cpus),
            ("/sys/devices/system/cpu/isolated", &domain),
            ("/sys/devices/system/cpu/nohz_full", &tick),
        ] {
            files.insert(path, Content::Text(format!("{text}\n")));
        }
        files
    }
}

/// A sentence about the output for one command line.
struct OfLine {
    name: &'static str,
    /// Findings that must be there: the rule, and a text.
    says: &'static [(&'static str, &'static str)],
    /// Texts that must occur nowhere.
    never: &'static [&'static str],
}

const fn of_line(
    name: &'static str,
    says: &'static [(&'static str, &'static str)],
    never: &'static [&'static str],
) -> OfLine {
    OfLine { name, says, never }
}

/// On all other lines every word is right.
const OF_LINES: &[OfLine] = &[
    of_line("dgx-spark", &[("parameter-typo", "mitigations")], &["every idle CPU spin"]),
    of_line("aerial-on-7.2", &[("unknown-value", "preempt=none"), ("parameter-typo", "nosmt")], &[]),
    of_line("eve-inverse", &[("patched-kernel", "inverse")], &["isolcpus=domain"]),
    of_line("cachyos-gaming", &[], &["isolcpus="]),
    of_line(
        "nixos-lowlat",
        &[("parameter-typo", "kernel.timer_migration"), ("parameter-typo", "hrtimer")],
        &["isolcpus="],
    ),
    of_line("x3d-ccd", &[], &["isolcpus="]),
    of_line("rpi4-ubuntu", &[], &["managed_irq"]),
    of_line("nf-stride", &[("parameter-typo", "nosoftlockup")], &["managed_irq"]),
    of_line("ocp-affinity", &[], &["isolcpus=domain"]),
    of_line("microshift", &[], &["isolcpus=domain"]),
    of_line(
        "linuxcnc-ecat",
        &[("parameter-typo", "workqueue.unbound_cpus"), ("parameter-typo", "irqbalance")],
        &[],
    ),
    of_line("grub-nproc", &[("refused-parameter", "nproc"), ("bad-cpu-list", "nproc")], &[]),
    of_line("preempt-rt-cn", &[("unknown-value", "preempt=rt")], &[]),
];

#[test]
fn every_public_command_line_is_read_as_its_kernel_reads_it() {
    let mut failures = String::new();
    for row in include_str!("field/command-lines.tsv").lines().skip(1) {
        let line = Line::parse(row);
        let files = line.machine();
        let report = Report::of(&Machine::new(&files, None).unwrap(), &files);
        let text = text(&report);
        let mut fail = |what: &str| writeln!(failures, "{}: {what}\n{text}", line.name).unwrap();
        let expected = OF_LINES.iter().find(|expected| expected.name == line.name);
        let (says, never) = expected.map_or((&[][..], &[][..]), |expected| (expected.says, expected.never));
        for (rule, said) in says {
            if !report.findings.iter().any(|found| found.rule == *rule && one(found).contains(said)) {
                fail(&format!("no {rule} says {said}"));
            }
        }
        never.iter().filter(|said| text.contains(**said)).for_each(|said| fail(&format!("it says {said}")));
        let about_words = |found: &&Finding| {
            let words = ["parameter-typo", "unknown-value", "unknown-isolcpus-flag", "refused-parameter"];
            words.contains(&found.rule) && found.severity > Severity::Note
        };
        for found in report.findings.iter().filter(about_words) {
            if !says.iter().any(|(rule, said)| found.rule == *rule && one(found).contains(said)) {
                fail(&format!("{} is a false alarm", found.message));
            }
        }
        if let Some(reboot) = &report.reboot {
            let after = line.replay(&reboot.line);
            let refused = after.outcomes.iter().filter(|(_, outcome)| *outcome != Outcome::AllCpus);
            refused
                .for_each(|(word, outcome)| fail(&format!("its kernel would refuse '{word}': {outcome:?}")));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
