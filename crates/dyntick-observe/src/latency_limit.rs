// SPDX-License-Identifier: GPL-2.0-only
//! The limits for the exit latency of idle states that are in force (PM QoS): no governor selects a state that takes
//! longer to leave (`drivers/cpuidle/governor.c: cpuidle_governor_latency_req`, 5.10 to 7.2).

use dyntick_model::{CpuList, LatencyLimits};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The device by which the limit of all CPUs is requested and read.
pub const PATH: &str = "/dev/cpu_dma_latency";

/// The value without any request, µs (`PM_QOS_CPU_LATENCY_DEFAULT_VALUE`, include/linux/pm_qos.h).
const NONE_US: i32 = 2_000_000_000;

/// Reads the limits that are in force now. Reading changes nothing and wakes no CPU: opening the file requests the
/// default, and only a change of the tightest request is passed on (`kernel/power/qos.c: cpu_latency_qos_apply`).
///
/// # Errors
/// The device cannot be read. A kernel without the limit of single CPUs has none.
pub fn read(cpus: &CpuList) -> io::Result<LatencyLimits> {
    let of_all_us = limit_of_all(File::open(PATH)?)?;
    let of_cpu = |cpu: u32| Some((cpu, limit_of_cpu(&std::fs::read_to_string(file_of(cpu)).ok()?)?));
    Ok(LatencyLimits {
        of_all_us,
        held_by: if of_all_us.is_some() { holders(Path::new("/proc"))? } else { BTreeSet::new() },
        of_cpus_us: cpus.iter().filter_map(of_cpu).collect(),
    })
}

fn file_of(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us")
}

fn limit_of_all(mut file: impl Read) -> io::Result<Option<u32>> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    let us = i32::from_ne_bytes(bytes);
    // A request below zero allows as little as zero does.
    Ok((us < NONE_US).then_some(us.max(0) as u32))
}

/// A number is µs, but 0 is no limit and `n/a` is 0 µs (`drivers/base/power/sysfs.c`).
fn limit_of_cpu(text: &str) -> Option<u32> {
    match text.trim() {
        "n/a" => Some(0),
        number => number.parse().ok().filter(|us| *us > 0),
    }
}

/// The commands of the processes below this `/proc` that have the device open.
fn holders(proc: &Path) -> io::Result<BTreeSet<String>> {
    let is_pid = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let holds = |folder: &Path| {
        let files = std::fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
        files.filter_map(|file| file.path().read_link().ok()).any(|target| target == Path::new(PATH))
    };
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(proc)? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(is_pid) || !holds(&entry.path()) {
            continue;
        }
        match std::fs::read_to_string(entry.path().join("comm")) {
            Ok(comm) => drop(names.insert(comm.trim_end().to_owned())),
            // It ended meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn limits_as_the_kernel_writes_them() {
        let of_all = |us: i32| limit_of_all(&us.to_ne_bytes()[..]).unwrap();
        assert_eq!([0, 20, NONE_US, -5].map(of_all), [Some(0), Some(20), None, Some(0)]);
        assert!(limit_of_all(&[0; 3][..]).is_err(), "the number is four bytes");
        assert_eq!(["0\n", "n/a\n", "20\n", "x"].map(limit_of_cpu), [None, Some(0), Some(20), None]);
    }

    #[test]
    fn processes_that_have_the_device_open_hold_it() {
        let proc = tempfile::tempdir().unwrap();
        for (pid, comm, target) in
            [("7", "cyclictest\n", PATH), ("8", "sleep\n", "/dev/null"), ("self", "x\n", PATH)]
        {
            std::fs::create_dir_all(proc.path().join(pid).join("fd")).unwrap();
            std::fs::write(proc.path().join(pid).join("comm"), comm).unwrap();
            symlink(target, proc.path().join(pid).join("fd/3")).unwrap();
        }
        assert_eq!(holders(proc.path()).unwrap(), ["cyclictest".to_owned()].into());
    }
}
