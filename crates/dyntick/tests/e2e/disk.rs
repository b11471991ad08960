// SPDX-License-Identifier: GPL-2.0-only
//! Guests with a disk: fio on a real file system, on the wall clock.

use crate::harness::{dyntick_in as dyntick, text};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// fio writes the file past the page cache, and reads back what it wrote. Its libraries, and a test build of
/// dyntick, take much memory.
const STUDY: &str = r#"
title    = "Disks"
question = "Can a guest write to its disk?"

[defaults]
kernel       = "debian:6.12"
clock        = "wall"
memory       = "1536M"
disk         = "64M"
settle       = "100ms"
settle-limit = "2s"
measure      = "500ms"

[[case]]
name   = "fio"
script = { cpu = 1, in-window = true, run = [
  "fio", "--output-format=json", "--name=file", "--directory=/mnt/disk", "--rw=write", "--bs=16k", "--size=4m",
  "--direct=1", "--verify=crc32c", "--do_verify=1", "--verify_fatal=1",
] }
read   = ["/sys/block/vda/stat"]

[[case]]
name   = "full"
script = { cpu = 1, run = ["dd", "if=/dev/zero", "of=/mnt/disk/file", "bs=1M", "count=128"] }
"#;

fn is_here(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Requests for reads and for writes that the device has ended (Documentation/block/stat.rst).
fn requests(run: &Path, moment: &str) -> [u64; 2] {
    let told = std::fs::read_to_string(run.join(format!("raw/file.stat.{moment}"))).unwrap();
    let numbers: Vec<u64> = told.split_ascii_whitespace().map(|number| number.parse().unwrap()).collect();
    [numbers[0], numbers[4]]
}

#[test]
fn fio_writes_to_a_real_file_system_and_reads_it_again() {
    if !is_here("fio") {
        return eprintln!("skipped: fio is not on this machine");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    let arguments = ["lab", "run", "study.toml", "--json", "--jobs", "2", "--out", "out"];
    let output = dyntick(folder.path(), &arguments);
    let json: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    let run = |case: &str| json["runs"].as_array().unwrap().iter().find(|run| run["case"] == case).unwrap();

    let rows = run("fio")["observations"].as_array().unwrap_or_else(|| panic!("{}", run("fio")));
    let figure = |key: &str| {
        let row = rows.iter().find(|row| row["figure"] == "tool" && row["key"] == key);
        row.unwrap_or_else(|| panic!("there is no tool:{key} in {rows:?}"))["value"].as_f64().unwrap()
    };
    for direction in ["read", "write"] {
        assert!(figure(&format!("fio/file/{direction}/iops")) > 0.0);
        assert!(figure(&format!("fio/file/{direction}/clat/p50")) > 0.0);
    }

    let folders = std::fs::read_dir(folder.path().join("out/runs")).unwrap().flatten();
    let of_fio =
        folders.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("/fio.")).unwrap();
    let [before, after] = ["before", "after"].map(|moment| requests(&of_fio, moment));
    let grown = [after[0] - before[0], after[1] - before[1]];
    assert!(
        grown.iter().all(|requests| *requests >= 4 << 20 >> 14),
        "{grown:?} requests of 16 KiB for 4 MiB"
    );

    let failure = run("full")["failure"].as_str().unwrap_or_else(|| panic!("{}", run("full"))).to_owned();
    assert!(output.status.code() == Some(1) && failure.contains("No space left on device"), "{failure}");

    let report = dyntick(folder.path(), &["lab", "report", "study.toml", "--out", "out", "--full"]);
    let told = text(&report.stdout);
    assert!(told.contains("64 MiB, virtio-blk with ext4 on /mnt/disk"), "{told} {}", text(&report.stderr));
}
