// SPDX-License-Identifier: GPL-2.0-only
//! Exporters that are killed at random moments.

use crate::harness::dyntick;
use crate::harness::kills::{Random, files_in, instances_of, kill};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

/// A written file is complete or absent. The next dyntick removes the trace instances, and the one name that a kill
/// between two system calls leaves next to the file.
#[test]
fn kills_leave_nothing_but_complete_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dyntick.prom");
    // The kills fall into the time that a first write takes here, and a half more.
    let begin = std::time::Instant::now();
    let mut first = dyntick();
    first.args(["export", "-C", "0", "-I", "100", "-n", "1", "--textfile"]).arg(&file);
    assert!(first.output().unwrap().status.success());
    std::fs::remove_file(&file).unwrap();
    let span_ms = (begin.elapsed() * 3 / 2).as_millis() as u64;
    let (mut random, mut killed, mut written) = (Random(7), Vec::new(), 0);
    let kills = if crate::harness::is_full() { 100 } else { 12 };
    for number in 0..kills {
        let source = if number % 10 == 0 { "tracefs" } else { "auto" };
        let mut command = dyntick();
        command.args(["export", "-C", "0", "--source", source, "--listen", "0", "-I", "100", "--textfile"]);
        let mut child = command.arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(random.below(span_ms)));
        // One in four has written its file, however busy the machine is; then it writes again each 100 ms.
        while number % 4 == 3 && !file.exists() {
            assert!(child.try_wait().unwrap().is_none(), "{number} ended by itself");
            std::thread::sleep(Duration::from_millis(10));
        }
        let signal = if number % 3 == 0 { libc::SIGTERM } else { libc::SIGKILL };
        kill(&child, signal);
        child.wait().unwrap();
        killed.push(child.id());
        if let Ok(text) = std::fs::read_to_string(&file) {
            let is_complete = text.contains("dyntick_export_reading_seconds_total ") && text.ends_with('\n');
            assert!(is_complete, "{number}: {text}");
            // Half of them meet a file that is there.
            if number % 2 == 0 {
                std::fs::remove_file(&file).unwrap();
            }
            written += 1;
        }
        let other = files_in(folder.path())
            .into_iter()
            .find(|name| !["dyntick.prom", ".dyntick-new-dyntick.prom"].contains(&&**name));
        assert_eq!(other, None, "{number}");
    }
    assert!(written > 0, "none came so far as to write");
    std::fs::write(&file, "").unwrap();
    let mut next = dyntick();
    next.args(["export", "-C", "0", "-I", "100", "-n", "1", "--textfile"]).arg(&file);
    let next = next.output().unwrap();
    assert!(next.status.success(), "{next:?}");
    assert_eq!(files_in(folder.path()), ["dyntick.prom"]);
    assert_eq!(instances_of(&killed), [""; 0].map(PathBuf::from));
}
