// SPDX-License-Identifier: GPL-2.0-only
//! A machine's files, read behind a root, and through a bundle.

use dyntick_check::Content;
use dyntick_snapshot::{self as snapshot, bundle};
use std::fs::File;
use std::path::Path;

#[test]
fn this_machine_comes_back_whole_out_of_its_bundle() {
    let files = snapshot::read(Path::new("/")).unwrap();
    assert!(files.text("/proc/sys/kernel/osrelease").is_some());
    let own = format!("/proc/{}/", std::process::id());
    assert!(
        !files.iter().any(|(path, _)| path.starts_with(&own)),
        "a fix must not name a process that ends at once"
    );
    assert!(files.iter().any(|(path, _)| path.ends_with("/status")), "some thread");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.tar.gz");
    bundle::write(&files, &path).unwrap();
    let mut expected = files.clone();
    let line = files.text("/proc/cmdline").unwrap();
    let for_kernel = line.split(" -- ").next().unwrap();
    expected.insert("/proc/cmdline", Content::Text(for_kernel.to_owned()));
    assert_eq!(bundle::read(&path).unwrap(), expected);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn nothing_private_is_read() {
    let root = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("proc/cmdline", "nohz_full=1 quiet -- --password hush-hush\n");
    put("proc/7/task/7/status", "Name:\tx\nUid:\t1000\nCpus_allowed_list:\t0-1\n");
    put("proc/7/environ", "SECRET=hush-hush");
    put("proc/7/cmdline", "x\0hush-hush");
    put("dev/kmsg", "6,1,2,-;user hush-hush logged in\n6,2,3,-;Housekeeping: must include one present CPU\n");
    let files = snapshot::read(root.path()).unwrap();
    let all: Vec<(&str, &Content)> = files.iter().collect();
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!(files.text("/proc/7/task/7/status"), Some("Cpus_allowed_list:\t0-1\n"));
    // A line to boot with needs the words for the first program; a bundle, which others get, does not have them.
    assert_eq!(files.text("/proc/cmdline"), Some("nohz_full=1 quiet -- --password hush-hush\n"));
    let path = root.path().join("machine.tar.gz");
    bundle::write(&files, &path).unwrap();
    let bundled = bundle::read(&path).unwrap();
    assert_eq!(bundled.text("/proc/cmdline"), Some("nohz_full=1 quiet"));
    assert!(!format!("{bundled:?}").contains("hush-hush"));
}

/// Links to the folder itself make as many paths of a pattern as one likes, and a link may name a file of the
/// reader's machine.
#[test]
fn a_folder_that_somebody_made() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().unwrap();
    let cgroup = root.path().join("sys/fs/cgroup");
    std::fs::create_dir_all(&cgroup).unwrap();
    std::fs::write(cgroup.join("cpu.max"), "max 100000\n").unwrap();
    (0..3).for_each(|link| symlink(".", cgroup.join(format!("loop{link}"))).unwrap());
    let kernel = root.path().join("proc/sys/kernel");
    std::fs::create_dir_all(&kernel).unwrap();
    symlink("/proc/sys/kernel/osrelease", kernel.join("osrelease")).unwrap();
    symlink("/proc/cpuinfo", root.path().join("proc/cmdline")).unwrap();
    std::fs::write(root.path().join("proc/cpuinfo"), "model name\t: theirs\n").unwrap();
    let files = snapshot::read(root.path()).unwrap();
    assert_eq!(files.text("/proc/sys/kernel/osrelease"), None, "a link to itself, and not to ours");
    assert_eq!(files.text("/proc/cmdline"), Some("model name\t: theirs\n"), "a link within the folder");
    assert!(files.text("/sys/fs/cgroup/loop2/loop0/loop1/cpu.max").is_some());
    (3..60).for_each(|link| symlink(".", cgroup.join(format!("loop{link}"))).unwrap());
    let error = snapshot::read(root.path()).unwrap_err().to_string();
    assert!(error.contains("more than the files of any machine"), "{error}");
}

/// An archive that root unpacks may have devices in it, and opening alone starts a watchdog.
#[test]
fn nothing_but_files_is_opened_in_a_folder() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("proc")).unwrap();
    let fifo = root.path().join("proc/cmdline");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    std::os::unix::fs::symlink("/proc/cmdline", root.path().join("proc/config.gz")).unwrap();
    let files = snapshot::read(root.path()).unwrap();
    let why = Content::Failed("it is not a regular file".to_owned());
    let unread: Vec<_> = files.unread().collect();
    assert_eq!(unread, [("/proc/cmdline", &why), ("/proc/config.gz", &why)]);
}

#[test]
fn files_of_a_folder_have_one_limit_together() {
    let root = tempfile::tempdir().unwrap();
    let net = root.path().join("sys/class/net");
    let queues = net.join("eth0/queues/rx-0");
    std::fs::create_dir_all(&queues).unwrap();
    File::create(queues.join("rps_cpus")).unwrap().set_len(4 << 20).unwrap();
    (1..300).for_each(|link| std::os::unix::fs::symlink("eth0", net.join(format!("eth{link}"))).unwrap());
    let error = snapshot::read(root.path()).unwrap_err().to_string();
    assert!(error.contains("more than the files of any machine"), "{error}");
}

#[test]
fn other_files_and_damaged_bundles_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.tar.gz");
    let said = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        bundle::read(&path).unwrap_err().to_string()
    };
    assert!(said(b"hello").contains("is not a support bundle"));
    assert!(said(b"").contains("is not a support bundle"));
    bundle::write(&snapshot::read(Path::new("/")).unwrap(), &path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let half = said(&whole[..whole.len() / 2]);
    assert!(half.contains("is damaged") && half.contains("create it again"), "{half}");
    assert!(
        bundle::read(&folder.path().join("none")).unwrap_err().to_string().contains("none: No such file")
    );
    let nowhere = folder.path().join("no/such/folder/b.tar.gz");
    assert!(bundle::write(&snapshot::read(Path::new("/")).unwrap(), &nowhere).is_err());
}
