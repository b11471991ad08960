// SPDX-License-Identifier: GPL-2.0-only
//! A boot with the parameters of a finding keeps all requested isolation, and leads to no other finding.

use dyntick_check::{Content, Finding, Machine, Reboot, Report, Severity, Snapshot};
use dyntick_model::boot::{Composed, is_composed};
use dyntick_model::{CommandLine, CpuList, Dialect, Fix, Isolation, Masks, Outcome, Reader};
use proptest::prelude::*;
use std::collections::BTreeSet;

const POSSIBLE: u32 = 8;

/// The kernels that read a line differently.
const RELEASES: [&str; 9] = [
    "3.10.0-1160.el7.x86_64",
    "4.18.0-553.el8.x86_64",
    "5.4.0-150-test",
    "5.14.0-570.el9.aarch64",
    "5.15.0-1037-test",
    "6.1.46-test",
    NEW,
    "6.19.1-test",
    "7.2.13-arm64",
];

const NEW: &str = "6.12.117-test";

fn asked(line: &CommandLine, release: &str) -> Isolation {
    let dialect = Dialect { has_full: Some(true), ..Dialect::of(&release.parse().unwrap()) };
    Isolation::replay(line, Reader { possible: POSSIBLE, present: &CpuList::first(POSSIBLE), dialect })
}

/// A machine of eight CPUs whose kernel follows its command line, with a busy task on each CPU.
fn booted(line: &CommandLine, release: &str) -> Snapshot {
    let asked = asked(line, release);
    let full = asked.tick.difference(&CpuList::first(1)).to_string();
    let files = [
        ("/proc/cmdline", line.to_string()),
        ("/proc/sys/kernel/osrelease", release.to_owned()),
        ("/sys/devices/system/cpu/possible", "0-7".to_owned()),
        ("/sys/devices/system/cpu/present", "0-7".to_owned()),
        ("/sys/devices/system/cpu/online", "0-7".to_owned()),
        ("/sys/devices/system/cpu/isolated", asked.domain.to_string()),
        ("/sys/devices/system/cpu/nohz_full", full),
    ];
    let config =
        "CONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y\nCONFIG_TRANSPARENT_HUGEPAGE=y";
    let mut snapshot = Snapshot::default();
    snapshot.insert(format!("/boot/config-{release}"), Content::Text(config.to_owned()));
    for cpu in 1..POSSIBLE {
        let pid = 100 + cpu;
        let folder = format!("/proc/{pid}/task/{pid}");
        let stat = format!("{pid} (work) R 1 0 0 0 -1 4194304 {}", "0 ".repeat(40));
        snapshot.insert(format!("{folder}/stat"), Content::Text(stat));
        snapshot.insert(format!("{folder}/status"), Content::Text(format!("Cpus_allowed_list:\t{cpu}\n")));
    }
    for (path, text) in files {
        snapshot.insert(path, Content::Text(format!("{text}\n")));
    }
    snapshot
}

fn findings(line: &str, named: Option<&str>) -> Vec<Finding> {
    findings_on(line, named, NEW)
}

fn findings_on(line: &str, named: Option<&str>, release: &str) -> Vec<Finding> {
    let files = booted(&CommandLine::parse(line), release);
    let named = named.map(|named| named.parse().unwrap());
    Report::of(&Machine::new(&files, named.as_ref()).unwrap(), &files).findings
}

fn fix(line: &str, named: Option<&str>, rule: &str) -> String {
    let findings = findings(line, named);
    let finding = findings.iter().find(|finding| finding.rule == rule);
    finding.unwrap_or_else(|| panic!("{rule} of {line}: {findings:#?}")).fixes[0].to_string()
}

#[test]
fn isolated_cpus_stay_isolated() {
    let case = |line: &str, rule: &str, expected: &str| assert_eq!(fix(line, None, rule), expected, "{line}");
    let both = "boot with nohz_full=2-5 isolcpus=domain,managed_irq,2-5";
    case("nohz_full=2-5 isolcpus=2-3", "load-balanced", both);
    case(
        "nohz_full=2-5 isolcpus=2-3",
        "managed-irq-missing",
        "boot with nohz_full=2-5 isolcpus=domain,managed_irq,2-3",
    );
    case("isolcpus=2-5 nohz_full=2-3", "tick-kept", "boot with nohz_full=2-5 isolcpus=domain,2-5");
    case("isolcpus=nohz,domain,2-3", "managed-irq-missing", "boot with isolcpus=nohz,domain,managed_irq,2-3");
    case("isolcpus=managed_irq,domain,0-7", "all-cpus-isolated", "boot with isolcpus=domain,managed_irq,1-7");
    case("nohz_full=2-9 isolcpus=2", "refused-parameter", "boot with nohz_full=2-7 isolcpus=domain,2");
    case(
        "isolcpu=3 isolcpus=managed_irq,2",
        "parameter-typo",
        "boot with isolcpus=domain,managed_irq,2-3 rcu_nocbs=3",
    );
    // The kernel follows another list of the same kind: that has the machine's CPUs.
    case("isolcpu=3 isolcpus=managed_irq,domain,2", "parameter-typo", "boot without isolcpu=3");
    case("nohz_full=2-9 nohz_full=3", "refused-parameter", "boot without nohz_full=2-9");
    case("isolcpus=2 irqaffinity=0-2", "irqaffinity-overlap", "boot with isolcpus=domain,2 irqaffinity=0-1");
}

/// An impossible CPU in another parameter has its own finding.
#[test]
fn misspelt_parameter_removes_no_other_from_the_line() {
    for line in ["nohz_full=9 isolcpu=2", "nohz_full=2 rcu_nocbs=2 isolcpu=2", "nohz_full=9 isolcpu=9"] {
        let findings = findings(line, None);
        let typo = findings.iter().find(|finding| finding.rule == "parameter-typo").unwrap();
        let off: Vec<&Fix> = typo.fixes.iter().filter(|fix| matches!(fix, Fix::Unboot(_))).collect();
        let own = line.rsplit(' ').next().unwrap();
        assert_eq!(off, [&Fix::Unboot(own.to_owned())], "{line}");
    }
}

#[test]
fn named_cpu_joins_the_isolated_ones() {
    let line = "nohz_full=2-3 isolcpus=domain,managed_irq,2-3";
    assert_eq!(
        fix(line, Some("6"), "not-isolated"),
        "boot with nohz_full=2-3,6 isolcpus=domain,managed_irq,2-3,6 irqaffinity=0-1,4-5,7"
    );
}

/// The parameters that a finding adds and removes, if it is about isolation and complete.
fn composed(finding: &Finding) -> Option<Composed> {
    let mut composed = Composed::default();
    for fix in &finding.fixes {
        match fix {
            Fix::Boot(with) => composed.with.extend(with.split(' ').map(str::to_owned)),
            Fix::Unboot(without) => composed.without.push(without.clone()),
            _ => {}
        }
    }
    let ours = |word: &String| is_composed(word.split('=').next().unwrap_or_default());
    (!composed.with.is_empty()
        && composed.with.iter().all(ours)
        && !finding.fixes[0].to_string().contains("LIST"))
    .then_some(composed)
}

/// The boot line for all findings together.
fn reboot(line: &CommandLine, named: Option<&str>) -> Option<Reboot> {
    reboot_on(line, named, NEW)
}

fn reboot_on(line: &CommandLine, named: Option<&str>, release: &str) -> Option<Reboot> {
    let files = booted(line, release);
    let named = named.map(|named| named.parse().unwrap());
    Report::of(&Machine::new(&files, named.as_ref()).unwrap(), &files).reboot
}

#[test]
fn advice_in_words_is_no_parameter() {
    let line = CommandLine::parse("idle=off nohz_full=2-3 isolcpus=2");
    let reboot = reboot(&line, None).unwrap();
    assert_eq!(reboot.line, "idle=off nohz_full=2-3 isolcpus=domain,managed_irq,2-3", "{reboot:?}");
}

#[test]
fn unambiguous_value_is_corrected() {
    let line = |text: &str| reboot(&CommandLine::parse(text), None).map(|reboot| reboot.line);
    assert_eq!(line("nmi_watchdog=off").as_deref(), Some("nmi_watchdog=0"));
    assert_eq!(line("nmi_watchdog=yes quiet").as_deref(), Some("quiet nmi_watchdog=1"));
    assert_eq!(line("transparent_hugepage=off").as_deref(), Some("transparent_hugepage=never"));
    assert_eq!(line("transparent_hugepage=on"), None, "always or madvise");
    assert_eq!(line("nmi_watchdog=maybe"), None);
}

#[test]
fn line_fixes_the_findings_that_it_causes() {
    let line = CommandLine::parse("nohz_full=1-9 nohz_full=2-3 isolcpus=managed_irq,2-3");
    let reboot = reboot(&line, None).unwrap();
    assert_eq!(reboot.line, "nohz_full=2-3 isolcpus=domain,managed_irq,2-3", "{reboot:?}");
}

#[test]
fn owner_decides_if_all_together_leave_no_cpu() {
    assert_eq!(reboot(&CommandLine::parse("isolcpus=managed_irq,0 rcu_nocbs=0 isolcpu=1-7"), None), None);
    assert_eq!(reboot(&CommandLine::parse("isolcpus=managed_irq,0 isolcpu=1-6"), Some("7")), None);
    assert!(reboot(&CommandLine::parse("isolcpu=1-6"), Some("7")).is_some());
}

/// A corrected parameter takes the place of other lists if all must be equal. The property below met this by chance.
#[test]
fn corrected_parameter_contradicts_no_other() {
    let (text, release) = ("isolcpu=nohz,2 isolcpus=nohz,0", "4.18.0-553.el8.x86_64");
    for composed in findings_on(text, None, release).iter().filter_map(composed) {
        let fixed = composed.applied(&CommandLine::parse(text));
        assert!(!is_undecided(&asked(&fixed, release)), "{text} -> {fixed}");
    }
}

/// The corrected parameter stands behind the others, so one that was refused for an earlier list would now be first.
/// The property below met this by chance.
#[test]
fn corrected_parameter_leaves_nothing_that_was_refused() {
    let (text, release) = ("isolcpu=0 isolcpus=0 nohz_full=0-7", "6.19.1-test");
    let fixed: Vec<CommandLine> = findings_on(text, None, release)
        .iter()
        .filter_map(composed)
        .map(|composed| composed.applied(&CommandLine::parse(text)))
        .collect();
    assert!(!fixed.is_empty());
    assert!(fixed.iter().all(|line| asked(line, release).domain.contains(0)), "{fixed:?}");
}

/// Returns true if two lists contradict each other: the line cannot decide between them.
fn is_undecided(asked: &Isolation) -> bool {
    asked.outcomes.iter().any(|(_, outcome)| *outcome == Outcome::Mismatch)
}

/// The boot CPU, if it cannot stay isolated: its tick was to stop, or the kernel has one mask for all.
fn boot_cpu(asked: &Isolation, release: &str) -> CpuList {
    let is_one = Dialect::of(&release.parse().unwrap()).masks() == Masks::One;
    if is_one || asked.tick.contains(0) { CpuList::first(1) } else { CpuList::default() }
}

/// Two rules report the same about a CPU, depending on the line.
fn subject(rule: &'static str) -> &'static str {
    if rule == "isolcpus-without-domain" { "load-balanced" } else { rule }
}

fn line() -> impl Strategy<Value = String> {
    let parameter = "(nohz_full|isolcpus|isolcpus|isolcpu|irqaffinity|rcu_nocbs)=\
                     ((nohz|domain|managed_irq|domian),){0,2}[0-7](-[5-8])?|quiet|rcu_nocbs|isolcpus=all|nohz_full=0-7";
    prop::collection::vec(parameter, 0..4).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]
    #[test]
    fn a_fixed_line_asks_for_as_much_and_is_no_worse(
        text in line(),
        named in prop::option::of("[1-7]"),
        release in prop::sample::select(&RELEASES[..]),
    ) {
        let line = CommandLine::parse(&text);
        let before = asked(&line, release);
        let found = findings_on(&text, named.as_deref(), release);
        let known: BTreeSet<&str> = found.iter().map(|finding| subject(finding.rule)).collect();
        for finding in &found {
            let Some(composed) = composed(finding) else { continue };
            let fixed = composed.applied(&line);
            let after = asked(&fixed, release);
            if is_undecided(&before) {
                continue;
            }
            // The kernel itself takes the boot CPU out of nohz_full, and a finding reports it.
            let tick = before.tick.difference(&CpuList::first(1));
            prop_assert!(tick.is_subset(&after.tick), "{}: {text} -> {fixed}", finding.rule);
            let kept = boot_cpu(&before, release);
            prop_assert!(before.domain.difference(&kept).is_subset(&after.domain), "{}: {text} -> {fixed}", finding.rule);
            prop_assert!(before.managed_irq.difference(&kept).is_subset(&after.managed_irq), "{}: {text} -> {fixed}", finding.rule);
            let names: Vec<&str> = composed.with.iter().map(|word| word.split('=').next().unwrap()).collect();
            let once: BTreeSet<&str> = names.iter().copied().collect();
            prop_assert_eq!(names.len(), once.len(), "{} -> {}", text, fixed);
            for finding in findings_on(&fixed.to_string(), named.as_deref(), release) {
                // A CPU that is isolated only now, or in more ways, is judged only now: whatever it lacks is shown.
                let gained = [
                    after.tick.difference(&before.tick),
                    after.domain.difference(&before.domain),
                    after.managed_irq.difference(&before.managed_irq),
                ];
                let gained = gained.iter().fold(CpuList::default(), |sum, cpus| sum.union(cpus));
                let judged_anew = !finding.cpus.is_empty() && finding.cpus.is_subset(&gained);
                let lesser = finding.severity < Severity::Error && judged_anew;
                // A list with the boot CPU has its own finding, and is judged in detail without that CPU.
                let hidden = known.contains("boot-cpu-isolated") || known.contains("all-cpus-isolated");
                let lesser = lesser || finding.severity < Severity::Error && hidden;
                // A misspelt parameter removes no other from the line.
                let lesser = lesser || finding.rule == "redundant-parameter";
                prop_assert!(known.contains(subject(finding.rule)) || lesser, "{text} -> {fixed}: {finding:#?}");
            }
        }
    }

    /// After a boot with the line for all findings together, no finding asks for another.
    #[test]
    fn the_line_for_all_findings_asks_for_as_much(
        text in line(),
        named in prop::option::of("[1-7]"),
        release in prop::sample::select(&RELEASES[..]),
    ) {
        let line = CommandLine::parse(&text);
        let Some(first) = reboot_on(&line, named.as_deref(), release) else { return Ok(()) };
        let (before, fixed) = (asked(&line, release), CommandLine::parse(&first.line));
        if is_undecided(&before) {
            return Ok(());
        }
        let after = asked(&fixed, release);
        let tick = before.tick.difference(&CpuList::first(1));
        prop_assert!(tick.is_subset(&after.tick), "{text} -> {fixed}");
        let kept = boot_cpu(&before, release);
        prop_assert!(before.domain.difference(&kept).is_subset(&after.domain), "{text} -> {fixed}");
        prop_assert!(before.managed_irq.difference(&kept).is_subset(&after.managed_irq), "{text} -> {fixed}");
        // The kernel refuses a second one of these.
        let is_followed = |word: &&str| after.outcomes.iter().all(|(ignored, _)| ignored != word);
        let names = fixed.iter().filter(is_followed).filter_map(|word| Some(word.split_once('=')?.0));
        let names: Vec<&str> = names.filter(|name| ["nohz_full", "isolcpus"].contains(name)).collect();
        let once: BTreeSet<&str> = names.iter().copied().collect();
        prop_assert_eq!(names.len(), once.len(), "{} -> {}", text, fixed);
        prop_assert_eq!(reboot_on(&fixed, named.as_deref(), release), None, "{} -> {}", text, fixed);
        for finding in findings_on(&fixed.to_string(), named.as_deref(), release) {
            let graver = finding.severity > Severity::Note;
            prop_assert!(!graver || composed(&finding).is_none(), "{} -> {}: {:#?}", text, fixed, finding);
        }
    }
}
