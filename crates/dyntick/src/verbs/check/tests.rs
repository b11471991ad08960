// SPDX-License-Identifier: GPL-2.0-only

use super::*;
use dyntick_check::{Content, Machine, Snapshot};

const SHEET: Sheet = Sheet { width: 80, colour: false };

/// A machine with a misspelt parameter, a parameter that turns nohz off, and an unreadable file.
fn report() -> Report {
    let mut files = Snapshot::default();
    for (path, text) in [
        ("/proc/cmdline", "isolcpu=2 nohz=off nohz_full=1-9\n"),
        ("/proc/sys/kernel/osrelease", "6.12.117-test\n"),
        (
            "/boot/config-6.12.117-test",
            "CONFIG_NO_HZ_COMMON=y\nCONFIG_NO_HZ_FULL=y\nCONFIG_CPU_ISOLATION=y\n",
        ),
        ("/sys/devices/system/cpu/possible", "0-3\n"),
        ("/sys/devices/system/cpu/online", "0-3\n"),
    ] {
        files.insert(path, Content::Text(text.to_owned()));
    }
    Report::of(&Machine::new(&files, None).unwrap(), &files)
}

#[test]
fn in_full() {
    insta::assert_snapshot!(SHEET.text(&text::document(&report(), Detail::Everything)));
}

#[test]
fn on_a_screen() {
    insta::assert_snapshot!(fitting(&report(), SHEET, None));
}

#[test]
fn fixes_are_shown_if_they_fit() {
    let report = report();
    let lines = |height| fitting(&report, SHEET, height).lines().count();
    let with_fixes = lines(None);
    assert_eq!(lines(Some(with_fixes + 1)), with_fixes);
    assert!(lines(Some(with_fixes)) < with_fixes, "a line for each");
}

#[test]
fn untrusted_names_stay_on_their_line() {
    let mut report = report();
    report.findings[0].evidence[0].value = "x\nerror    forged".to_owned();
    let text = SHEET.text(&text::document(&report, Detail::Everything));
    assert!(!text.lines().any(|line| line.starts_with("error    forged")), "{text}");
    assert!(text.contains("forged"), "{text}");
}

/// A folder of which only the command line and the CPUs were kept does not tell what the kernel made of them.
#[test]
fn lists_that_no_file_tells_are_unknown() {
    let of = |more: &[(&str, &str)]| {
        let mut files = Snapshot::default();
        let always = [
            ("/proc/cmdline", "nohz_full=2-3 isolcpus=domain,2-3\n"),
            ("/proc/sys/kernel/osrelease", "6.12.1\n"),
            ("/sys/devices/system/cpu/possible", "0-3\n"),
            ("/sys/devices/system/cpu/online", "0-3\n"),
        ];
        for (path, text) in always.iter().chain(more) {
            files.insert(*path, Content::Text((*text).to_owned()));
        }
        Report::of(&Machine::new(&files, None).unwrap(), &files)
    };
    let title = |report: &Report| text::document(report, Detail::Fix).title;
    let bare = of(&[]);
    assert!(title(&bare).ends_with("nohz_full unknown, isolated unknown"), "{}", title(&bare));
    assert_eq!((&bare.nohz_full, bare.judged.to_string()), (&None, "2-3".to_owned()));
    let text = SHEET.text(&text::document(&bare, Detail::Fix));
    assert!(text.contains("/proc/*/task/*/stat"), "{text}");
    let booted = [("/sys/devices/system/cpu/isolated", "\n")];
    assert!(title(&of(&booted)).ends_with("nohz_full none, isolated none"), "a kernel without the option");
    let known =
        of(&[("/sys/devices/system/cpu/isolated", "2-3\n"), ("/sys/devices/system/cpu/nohz_full", "3\n")]);
    assert!(title(&known).ends_with("nohz_full 3, isolated 2-3"), "{}", title(&known));
}

/// Parameters that the kernel refuses are named, and not called "none".
#[test]
fn refused_parameters_are_named_where_nothing_is_isolated() {
    let question = |line: &str, more: &[(&str, &str)]| {
        let mut files = Snapshot::default();
        let always = [
            ("/proc/cmdline", line),
            ("/proc/sys/kernel/osrelease", "6.12.1\n"),
            ("/sys/devices/system/cpu/possible", "0-3\n"),
            ("/sys/devices/system/cpu/online", "0-1\n"),
        ];
        for (path, text) in always.iter().chain(more) {
            files.insert(*path, Content::Text((*text).to_owned()));
        }
        text::document(&Report::of(&Machine::new(&files, None).unwrap(), &files), Detail::Fix).question
    };
    let without = [("/sys/devices/system/cpu/isolated", "\n")];
    let refused = question("quiet nohz_full=1\n", &without);
    assert!(refused.contains("asks for nohz_full=1, which this kernel refuses"), "no option: {refused}");
    let malformed = question("isolcpus=1-x nohz_full=9\n", &[]);
    assert!(
        malformed.contains("asks for isolcpus=1-x nohz_full=9, which this kernel refuses"),
        "{malformed}"
    );
    for asked in ["quiet\n", "isolcpus=managed_irq,1\n"] {
        assert!(question(asked, &without).starts_with("No CPU is isolated: only"), "{asked}");
    }
    assert!(question("quiet\n", &[]).contains("asks for none: only"));
    assert!(question("isolcpus=2-3\n", &[]).starts_with("No isolated CPU is online"));
}

/// The two properties of the kernel without which the findings about named CPUs mislead.
#[test]
fn kernel_of_named_cpus_is_described() {
    let question = |config: &str, line: &str| {
        let mut files = Snapshot::default();
        for (path, text) in [
            ("/proc/cmdline", line),
            ("/proc/sys/kernel/osrelease", "6.12.1\n"),
            ("/boot/config-6.12.1", config),
            ("/sys/devices/system/cpu/possible", "0-3\n"),
            ("/sys/devices/system/cpu/online", "0-3\n"),
        ] {
            files.insert(path, Content::Text(text.to_owned()));
        }
        let cpus = "2".parse().unwrap();
        let machine = Machine::new(&files, Some(&cpus)).unwrap();
        text::document(&Report::of(&machine, &files), Detail::Fix).question
    };
    let voluntary = "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n";
    let plain = question(voluntary, "quiet\n");
    assert!(plain.contains("no CONFIG_NO_HZ_FULL") && plain.ends_with("model: voluntary."), "{plain}");
    let adaptive = question(&format!("CONFIG_NO_HZ_FULL=y\n{voluntary}"), "preempt=full\n");
    assert_eq!(adaptive, "Checked: CPU 2. Preemption model: full.");
    assert!(question("CONFIG_NO_HZ_FULL=y\nCONFIG_PREEMPT_RT=y\n", "").ends_with("model: PREEMPT_RT."));
}
