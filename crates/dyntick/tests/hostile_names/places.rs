// SPDX-License-Identifier: GPL-2.0-only
//! Files that are named as outputs and are something else, and files under odd umasks.

use super::*;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};

/// The verbs with an output of their own; `record` holds one of `record`, where there is one.
fn verbs(record: Option<&Path>) -> Vec<Vec<String>> {
    let words = |line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let cpu = cpu();
    let mut verbs = vec![
        words("check --fail-on never --bundle FILE".to_owned()),
        words(format!("stat -C {cpu} --timeout 50 -o FILE")),
        words(format!("stat -C {cpu} --timeout 50 -I 20 -o FILE")),
        words(format!("stat -C {cpu} --timeout 50 --json -o FILE --append")),
        words(format!("latency -a {cpu} -q -l 20 --json FILE")),
        words(format!("latency -a {cpu} -q -l 20 -h 100 --histfile FILE")),
    ];
    if let Some(record) = record {
        verbs.push(words(format!("explain {} --html FILE", record.display())));
        verbs.push(words(format!("record -C {cpu} -o FILE -- true")));
    }
    verbs
}

fn run_on(verb: &[String], file: &Path) -> Output {
    let file = file.to_str().unwrap();
    let words: Vec<&str> = verb.iter().map(|word| if word == "FILE" { file } else { word }).collect();
    let output = run(&words);
    assert!(output.status.code().is_some_and(|code| code != 134), "{words:?}: {output:?}");
    output
}

/// A record, if this machine can be recorded.
fn recorded(folder: &Path) -> Option<std::path::PathBuf> {
    let path = folder.join("record.dt");
    let made = record(&path);
    if let Err(why) = &made {
        println!("without record and explain: {why}");
    }
    made.is_ok().then_some(path)
}

fn node(path: &Path, (major, minor): (u32, u32)) -> bool {
    mknodat(CWD, path, FileType::CharacterDevice, Mode::from_raw_mode(0o666), makedev(major, minor)).is_ok()
        && std::fs::OpenOptions::new().write(true).open(path).is_ok()
}

#[test]
fn devices_stay_devices() {
    let folder = tempfile::tempdir().unwrap();
    let (null, full) = (folder.path().join("null"), folder.path().join("full"));
    if !node(&null, (1, 3)) || !node(&full, (1, 7)) {
        return println!(
            "skipped: device nodes cannot be made or used here, and those in /dev are everyone's"
        );
    }
    for verb in verbs(recorded(folder.path()).as_deref()) {
        let output = run_on(&verb, &null);
        assert!(output.status.success(), "{verb:?}: {output:?}");
        assert!(null.metadata().unwrap().file_type().is_char_device(), "{verb:?} replaced the device");
        let output = run_on(&verb, &full);
        assert_eq!(output.status.code(), Some(2), "{verb:?}: {output:?}");
        let told = text(&output.stderr);
        assert!(told.contains("full") || told.contains("No space left"), "{verb:?}: {told}");
        assert!(full.metadata().unwrap().file_type().is_char_device(), "{verb:?} replaced the device");
    }
}

#[test]
fn links_are_followed_and_pipes_filled() {
    let folder = tempfile::tempdir().unwrap();
    let [file, link, fifo] = ["file", "link", "fifo"].map(|name| folder.path().join(name));
    std::os::unix::fs::symlink("file", &link).unwrap();
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for verb in verbs(recorded(folder.path()).as_deref()) {
        std::fs::write(&file, "").unwrap();
        let output = run_on(&verb, &link);
        assert!(output.status.success(), "{verb:?}: {output:?}");
        assert!(link.symlink_metadata().unwrap().is_symlink(), "{verb:?} replaced the link");
        let written = std::fs::read(&file).unwrap();
        assert!(!written.is_empty(), "{verb:?}");
        let reader = std::thread::spawn({
            let fifo = fifo.clone();
            move || std::fs::read(fifo).unwrap()
        });
        let output = run_on(&verb, &fifo);
        assert!(output.status.success(), "{verb:?}: {output:?}");
        assert!(fifo.metadata().unwrap().file_type().is_fifo(), "{verb:?} replaced the pipe");
        assert!(!reader.join().unwrap().is_empty(), "{verb:?}");
    }
}

#[test]
fn a_folder_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    for verb in verbs(None) {
        for place in [folder.path().to_owned(), folder.path().join("none/file")] {
            let begin = std::time::Instant::now();
            let output = run_on(&verb, &place);
            assert_eq!(output.status.code(), Some(2), "{verb:?}: {output:?}");
            assert!(text(&output.stderr).contains("cannot write"), "{verb:?}: {output:?}");
            assert!(output.stdout.is_empty(), "{verb:?} measured first, {:?}", begin.elapsed());
        }
    }
}

/// What the umask leaves is what a new file gets, also where it leaves nothing or everything.
#[test]
fn umasks_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let record = recorded(folder.path());
    for verb in verbs(record.as_deref()) {
        if verb.iter().any(|word| word == "-I" || word == "--append") {
            // These are opened to grow, as by any other program.
            continue;
        }
        for umask in [0o000, 0o777] {
            let file = folder.path().join(format!("file-{umask:o}"));
            let _ = std::fs::remove_file(&file);
            let mut command = dyntick();
            command.args(verb.iter().map(|word| if word == "FILE" { file.to_str().unwrap() } else { word }));
            // SAFETY: one system call between fork and exec.
            unsafe {
                command.pre_exec(move || {
                    rustix::process::umask(Mode::from_raw_mode(umask));
                    Ok(())
                });
            }
            let output = command.output().unwrap();
            assert!(output.status.success(), "{verb:?} under {umask:o}: {output:?}");
            let mode = file.metadata().unwrap().permissions().mode() & 0o7777;
            // As perf.data: what only root may read of a machine is in these.
            let is_private = verb.iter().any(|word| *word == "record" || *word == "--bundle");
            let most = if is_private { 0o600 } else { 0o666 };
            assert_eq!(mode, most & !umask, "{verb:?} under {umask:o}");
        }
    }
}

/// It is not said to be absent, for which one would mount it.
#[test]
fn tracefs_that_may_not_be_entered_is_told_as_such() {
    if !is_root() || !Path::new("/sys/kernel/tracing/instances").is_dir() {
        return println!("skipped: needs root, to become somebody else, and tracefs where it usually is");
    }
    const NOBODY: u32 = 65534;
    let mut command = dyntick();
    command.args(["record", "-C", cpu(), "-o", "/dev/null", "--", "true"]).uid(NOBODY).gid(NOBODY);
    let Ok(output) = command.output() else {
        return println!("skipped: somebody else may not run dyntick here");
    };
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("no permission for /sys/kernel/tracing") && !told.contains("is not mounted"),
        "{told}"
    );
}

/// Whoever owns a folder can put a link in the place of what root makes in it.
#[test]
fn runs_are_not_written_into_folders_of_other_users() {
    use std::os::unix::fs::chown;
    if !is_root() {
        return println!("skipped: needs root, to give a folder away");
    }
    const NOBODY: u32 = 65534;
    let place = tempfile::tempdir().unwrap();
    let study = "title='t'\nquestion='q'\n[defaults]\nkernel='debian:6.12'\n[[case]]\nname='a'\n";
    std::fs::write(place.path().join("s.toml"), study).unwrap();
    let told = |words: &[&str]| {
        let output =
            dyntick().args(["lab", "run", "s.toml"]).args(words).current_dir(place.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        text(&output.stderr)
    };
    for given in ["out/s/runs", "out/s", "out", "."] {
        std::fs::create_dir_all(place.path().join("out/s/runs")).unwrap();
        chown(place.path().join(given), Some(NOBODY), None).unwrap();
        let said = told(&[]);
        assert!(said.contains("belongs to another user"), "{given}: {said}");
        if given.contains('/') {
            assert!(told(&["--out", "out/s"]).contains("belongs to another user"), "{given}");
        }
        chown(place.path().join(given), Some(0), None).unwrap();
    }
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(told(&[]).contains("may be written by other users"));
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let out = place.path().join("out");
    chown(&out, None, Some(NOBODY)).unwrap();
    std::fs::set_permissions(&out, std::fs::Permissions::from_mode(0o2775)).unwrap();
    assert!(told(&[]).contains("may be written by other users"), "by a group");
    chown(&out, None, Some(0)).unwrap();
    std::fs::set_permissions(&out, std::fs::Permissions::from_mode(0o755)).unwrap();
    let target = place.path().join("target");
    std::fs::create_dir(&target).unwrap();
    chown(&target, Some(NOBODY), None).unwrap();
    std::os::unix::fs::symlink("target", place.path().join("link")).unwrap();
    assert!(told(&["--out", "link"]).contains("belongs to another user"), "where a link leads");
    chown(&target, Some(0), None).unwrap();
    std::os::unix::fs::lchown(place.path().join("link"), Some(NOBODY), None).unwrap();
    assert!(told(&["--out", "link"]).contains("belongs to another user"), "whose the link is");
    assert!(std::fs::read_dir(place.path().join("out/s/runs")).unwrap().next().is_none());
}

/// A record that is given no name.
#[test]
fn a_fifo_of_somebody_else_does_not_hold_a_record() {
    let place = tempfile::tempdir().unwrap();
    mknodat(CWD, place.path().join("dyntick.dt"), FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    let output =
        dyntick().args(["record", "-C", cpu(), "--", "true"]).current_dir(place.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("not a regular file of yours"), "{output:?}");
}

/// PID 1 of a namespace is not the agent of a guest, which would mount over this machine's /proc.
#[test]
fn the_first_process_of_a_namespace_is_no_agent() {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]);
    let output = unshare.arg(dyntick().get_program()).arg("--version").output();
    match output {
        Ok(output) if text(&output.stderr).starts_with("unshare:") => {
            println!("skipped: no namespaces here: {}", text(&output.stderr));
        }
        Ok(output) => {
            assert!(output.status.success() && text(&output.stdout).starts_with("dyntick "), "{output:?}");
        }
        Err(error) => println!("skipped: no unshare here: {error}"),
    }
}

/// Where a reader of others' files lacks a limit, it may have half of the machine's memory and no more.
#[test]
fn who_reads_others_files_leaves_half_of_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("record");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    // Nobody ever writes into the pipe, and each verb waits for that.
    for words in [&["explain"][..], &["check", "--from"]] {
        let mut reader = dyntick().args(words).arg(&fifo).stdin(Stdio::null()).spawn().unwrap();
        let limits = format!("/proc/{}/limits", reader.id());
        let begin = std::time::Instant::now();
        let limit = loop {
            let limits = std::fs::read_to_string(&limits).unwrap();
            let line = limits.lines().find_map(|line| line.strip_prefix("Max data size")).unwrap();
            match line.split_whitespace().next().unwrap().parse::<u64>() {
                Ok(limit) => break limit,
                Err(_) => assert!(begin.elapsed().as_secs() < 20, "{words:?}: {line}"),
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        reader.kill().unwrap();
        reader.wait().unwrap();
        assert_eq!(limit, dyntick_system::own_memory(), "{words:?}");
    }
}
