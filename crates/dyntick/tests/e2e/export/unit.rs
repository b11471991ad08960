// SPDX-License-Identifier: GPL-2.0-only
//! The systemd unit: that its capabilities are enough, and that each of them is needed.

use super::exporter::contrib;
use crate::harness::dyntick;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The values of a setting of the unit.
fn setting(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(contrib("dyntick-export.service")).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_default().split_ascii_whitespace().map(str::to_owned).collect()
}

/// The output of an exporter as another user with these capabilities; `None` if this user cannot become that one.
fn export_with(program: &Path, capabilities: &[String]) -> Option<String> {
    let kept: Vec<String> = capabilities
        .iter()
        .map(|name| format!("+{}", name.trim_start_matches("CAP_").to_lowercase()))
        .collect();
    let set = format!("-all,{}", kept.join(","));
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]);
    for kind in ["inh-caps", "ambient-caps", "bounding-set"] {
        command.arg(format!("--{kind}={set}"));
    }
    command.arg(program).args(["export", "-C", "0", "-I", "300", "-n", "1", "--textfile", "-"]);
    let output = command.current_dir("/").output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// True if nothing is missing. Without a capability no interruption is counted, or no tick is known as one.
fn is_complete(text: &str) -> bool {
    text.contains("dyntick_counting 1\n") && text.contains("dyntick_cpu_ticks_total{cpu=\"0\"}")
}

#[test]
fn it_has_the_capabilities_that_it_needs_and_no_other() {
    let capabilities = setting("AmbientCapabilities");
    assert_eq!((capabilities.len(), &capabilities), (3, &setting("CapabilityBoundingSet")));
    // That user may not look into the folder of this one.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let program = folder.path().join("dyntick");
    std::fs::copy(dyntick().get_program(), &program).unwrap();
    let all = export_with(&program, &capabilities);
    let Some(all) = all.filter(|text| is_complete(text)) else {
        let whole = dyntick()
            .args(["export", "-C", "0", "-I", "300", "-n", "1", "--textfile", "-"])
            .output()
            .unwrap();
        // SAFETY: a system call.
        let is_root = unsafe { libc::geteuid() } == 0;
        let can = is_root && is_complete(&String::from_utf8_lossy(&whole.stdout));
        assert!(!can, "{capabilities:?} are not enough");
        eprintln!("skipped: interruptions cannot be counted here, or not as another user");
        return;
    };
    assert!(!all.is_empty());
    // Below 2 everybody sees where the kernel's functions are.
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let hides = paranoid.trim().parse().is_ok_and(|level: i32| level > 1);
    for one in capabilities.iter().filter(|name| hides || *name != "CAP_SYSLOG") {
        let others: Vec<String> = capabilities.iter().filter(|name| *name != one).cloned().collect();
        let text = export_with(&program, &others).unwrap();
        assert!(!is_complete(&text), "{one} is not needed");
    }
}
