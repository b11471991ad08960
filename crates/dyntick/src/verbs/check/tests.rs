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
