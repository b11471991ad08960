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

/// A new file gets the permissions that the umask leaves, even if it leaves none or all.
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

/// A run is refused, or a warning is printed, if another user could redirect its files. The user's own links are
/// followed.
#[test]
fn runs_are_not_led_elsewhere_by_other_users() {
    use std::os::unix::fs::{chown, lchown, symlink};
    if !is_root() {
        return println!("skipped: needs root, to give a folder away");
    }
    const NOBODY: u32 = 65534;
    let place = tempfile::tempdir().unwrap();
    // A kernel that does not exist: nothing is run, and its error comes after those about the folder.
    let study = "title='t'\nquestion='q'\n[defaults]\nkernel='./none'\n[[case]]\nname='a'\n";
    std::fs::write(place.path().join("s.toml"), study).unwrap();
    let at = |name: &str| place.path().join(name);
    let mode =
        |name: &str, mode| std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
    let told = |words: &[&str]| {
        let output =
            dyntick().args(["lab", "run", "s.toml"]).args(words).current_dir(place.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        text(&output.stderr)
    };
    let passes = |said: &str| said.contains("the kernel of a: cannot read");
    for given in ["out/s", "out", "."] {
        std::fs::create_dir_all(at("out/s/runs")).unwrap();
        chown(at(given), Some(NOBODY), None).unwrap();
        let said = told(&[]);
        assert!(said.contains("belongs to user 65534, who could move") && passes(&said), "{given}: {said}");
        chown(at(given), Some(0), None).unwrap();
    }
    chown(at("out/s/runs"), Some(NOBODY), None).unwrap();
    for words in [&[][..], &["--out", "out/s"]] {
        let said = told(words);
        assert!(
            said.contains("runs belongs to user 65534") && said.contains("--out DIR") && !passes(&said),
            "{said}"
        );
    }
    chown(at("out/s/runs"), Some(0), None).unwrap();
    mode(".", 0o777);
    let said = told(&[]);
    let close = format!("chmod o-w {}", place.path().display());
    assert!(
        said.contains("may be written by all users") && said.contains(&close) && !passes(&said),
        "{said}"
    );
    mode(".", 0o755);
    chown(at("out"), None, Some(NOBODY)).unwrap();
    mode("out", 0o2775);
    let said = told(&[]);
    assert!(said.contains("may be written by group 65534") && passes(&said), "{said}");
    std::fs::remove_dir_all(at("out")).unwrap();

    std::fs::create_dir(at("disk")).unwrap();
    for (link, words) in [("out", &[][..]), ("link", &["--out", "link"])] {
        symlink("disk", at(link)).unwrap();
        assert!(passes(&told(words)), "{link}: {}", told(words));
        lchown(at(link), Some(NOBODY), None).unwrap();
        let said = told(words);
        assert!(said.contains("is a symbolic link of user 65534") && !passes(&said), "{link}: {said}");
        std::fs::remove_file(at(link)).unwrap();
    }
    symlink("absent", at("out")).unwrap();
    assert!(told(&[]).contains("out is a symbolic link to absent, which is not there"));
    for folder in ["/usr/local/x", "/etc/x"] {
        let said = told(&["--out", folder]);
        assert!(said.contains("confined programs") && said.contains("--out DIR"), "{said}");
    }
    assert_eq!(std::fs::read_dir(at("disk")).unwrap().count(), 0);
}

/// Before kernels are built and guests run for it.
#[test]
fn a_folder_that_cannot_be_written_is_told_at_once() {
    use std::os::unix::process::CommandExt;
    let place = tempfile::tempdir().unwrap();
    let study = "title='t'\nquestion='q'\n[defaults]\nkernel='./none'\n[[case]]\nname='a'\n";
    std::fs::write(place.path().join("s.toml"), study).unwrap();
    std::fs::create_dir_all(place.path().join("out/s/runs")).unwrap();
    let own = place.path().join("dyntick");
    std::fs::copy(dyntick().get_program(), &own).unwrap();
    for closed in ["out/s/runs", "out/s", "out"] {
        for (name, mode) in
            [(".", 0o755), ("out", 0o755), ("out/s", 0o755), ("out/s/runs", 0o755), (closed, 0o500)]
        {
            std::fs::set_permissions(place.path().join(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let mut run = Command::new(&own);
        run.args(["lab", "run", "s.toml"])
            .current_dir(place.path())
            .env("DYNTICK_CACHE", place.path().join("cache"));
        if is_root() {
            run.uid(65534).gid(65534);
        }
        let output = run.output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot write") && said.contains("--out DIR"), "{closed}: {said}");
        assert!(!place.path().join("cache").exists(), "nothing was fetched");
    }
}

/// A record that is given no name.
#[test]
fn a_fifo_of_somebody_else_does_not_hold_a_record() {
    let place = tempfile::tempdir().unwrap();
    mknodat(CWD, place.path().join("dyntick.dt"), FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    let output =
        dyntick().args(["record", "-C", cpu(), "--", "true"]).current_dir(place.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("not your own regular file"), "{output:?}");
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

/// A reader of other users' files that has no memory limit may use at most half of the machine's memory.
#[test]
fn who_reads_others_files_leaves_half_of_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("record");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    // No process ever writes to the pipe, and each verb waits for that.
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
