// SPDX-License-Identifier: GPL-2.0-only
//! Guests whose root means harm: what they write into the memory that the host reads, and onto the
//! console, stays harmless and is told. Real kernels boot; the host's own perl is the attacker.

use dyntick_lab::guest::{Archive, MAILBOX_AT};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn dyntick() -> Command {
    let binary = std::env::var_os("DYNTICK").unwrap_or_else(|| env!("CARGO_BIN_EXE_dyntick").into());
    Command::new(binary)
}

/// A study whose only case has this perl as its script; None where this machine has no perl.
fn attack(folder: &Path, perl: &str) -> Option<Output> {
    if !Path::new("/usr/bin/perl").exists() {
        eprintln!("no /usr/bin/perl here: not tried");
        return None;
    }
    let study = folder.join("study.toml");
    let text = format!(
        "title = 'attack'\nquestion = '?'\n[defaults]\nkernel = 'debian:6.12'\nsettle = '100ms'\nmeasure = '100ms'\nmemory = '1G'\n\
         [[case]]\nname = 'a'\nscript = {{ cpu = 1, run = ['/usr/bin/perl', '-e', '{perl}'] }}\n"
    );
    std::fs::write(&study, text).unwrap();
    let out = folder.join("out");
    Some(dyntick().args(["lab", "run"]).arg(study).arg("--out").arg(out).output().unwrap())
}

/// Perl that puts these bytes where the agent puts its observations, says so, and ends the guest as the
/// agent does.
fn forge(result: &[u8], length: u64) -> String {
    let bytes: String = result.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        r#"open(M,"+<","/dev/mem");binmode M;$b={MAILBOX_AT};sysseek(M,$b+0x100000,0);syswrite(M,pack("H*","{bytes}"));sysseek(M,$b+24,0);syswrite(M,pack("Q",{length}));sysseek(M,$b+8,0);syswrite(M,pack("L",5));open(P,"+<","/dev/port");sysseek(P,0xf4,0);syswrite(P,chr(16));sleep 100"#
    )
}

fn runs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("out/runs")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn a_forged_archive_writes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let absolute = folder.path().join("PWNED_ABSOLUTE");
    let mut archive = Archive::default();
    archive.insert(absolute.to_str().unwrap(), "x");
    archive.insert("../../../PWNED_RELATIVE", "x");
    let bytes = archive.to_bytes();
    let Some(output) = attack(folder.path(), &forge(&bytes, bytes.len() as u64)) else { return };
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("the guest sent a piece called '"), "{}", said(&output));
    assert!(!absolute.exists() && !folder.path().join("PWNED_RELATIVE").exists());
    assert!(runs(folder.path()).is_empty(), "nothing of it is kept");
}

#[test]
fn a_piece_that_was_not_asked_for_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut archive = Archive::default();
    archive.insert("outcome.json", "{}");
    archive.insert("report.html", "<script>");
    let bytes = archive.to_bytes();
    let Some(output) = attack(folder.path(), &forge(&bytes, bytes.len() as u64)) else { return };
    assert_ne!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("'report.html', which the case 'a' does not yield"), "{}", said(&output));
    assert!(runs(folder.path()).is_empty());
}

#[test]
fn a_length_beyond_all_memory_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = attack(folder.path(), &forge(b"", u64::MAX)) else { return };
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("delivered nothing"), "{}", said(&output));
}

#[test]
fn a_flood_of_words_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let flood =
        r#"print STDERR ("\e[2J" x 100000); open(C,">","/dev/console"); print C ("x" x 20000); exit 3"#;
    let Some(output) = attack(folder.path(), flood) else { return };
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("ended with status 3"), "{text}");
    assert!(text.len() < 30_000 && !text.contains('\x1b'), "{} bytes", text.len());
}
