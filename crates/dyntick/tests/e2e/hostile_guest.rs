// SPDX-License-Identifier: GPL-2.0-only
//! Guests whose root means harm: what they write into the memory that the host reads, and onto the
//! console, stays harmless and is reported. Real kernels boot; the host's own perl is the attacker.

use crate::harness::{dyntick, is_full};
use dyntick_guest::{Archive, MAILBOX_AT};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

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
    assert!(said(&output).contains("the guest sent a file named '"), "{}", said(&output));
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
    if !is_full() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = attack(folder.path(), &forge(b"", u64::MAX)) else { return };
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("sent no results"), "{}", said(&output));
}

#[test]
fn a_flood_of_words_is_cut() {
    if !is_full() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let flood =
        r#"print STDERR ("\e[2J" x 100000); open(C,">","/dev/console"); print C ("x" x 20000); exit 3"#;
    let Some(output) = attack(folder.path(), flood) else { return };
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let text = said(&output);
    assert!(text.contains("ended with status 3"), "{text}");
    assert!(text.len() < 30_000 && !text.contains('\x1b'), "{} bytes", text.len());
}

/// A QEMU that a guest broke out of would read what root types there, and write escapes.
#[test]
fn qemu_holds_no_terminal_and_no_stream_of_dyntick() {
    let folder = tempfile::tempdir().unwrap();
    let study = folder.path().join("study.toml");
    let text = "title = 't'\nquestion = '?'\n[defaults]\nkernel = 'debian:6.12'\nmemory = '1G'\n[[case]]\nname = 'a'\n";
    std::fs::write(&study, text).unwrap();
    let out = folder.path().join("out");
    let mut dyntick = dyntick();
    dyntick.args(["lab", "run"]).arg(study).arg("--out").arg(&out);
    let mut child = dyntick.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut streams = None;
    while streams.is_none() && child.try_wait().unwrap().is_none() {
        streams = streams_of_qemu(&out);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
    let Some([input, output, error]) = streams else {
        eprintln!("the streams of QEMU cannot be seen here: not tried");
        return;
    };
    assert_eq!((input.as_str(), output.as_str()), ("/dev/null", "/dev/null"));
    assert!(error.starts_with("pipe:"), "{error}");
}

/// The targets of the three standard streams of the QEMU that writes its console to `out`; `None` until it runs.
fn streams_of_qemu(out: &Path) -> Option<[String; 3]> {
    std::fs::read_dir("/proc").ok()?.flatten().find_map(|process| {
        let command = std::fs::read(process.path().join("cmdline")).ok()?;
        let words: Vec<String> =
            command.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        let is_qemu = words.first()?.ends_with("qemu-system-x86_64");
        let is_ours = words.iter().any(|word| word.contains(out.to_str().unwrap()));
        let stream = |number: u32| {
            let link = std::fs::read_link(process.path().join(format!("fd/{number}"))).ok()?;
            Some(link.to_string_lossy().into_owned())
        };
        (is_qemu && is_ours).then(|| Some([stream(0)?, stream(1)?, stream(2)?])).flatten()
    })
}
