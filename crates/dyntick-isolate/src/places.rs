// SPDX-License-Identifier: GPL-2.0-only
//! The paths that isolating may change. Any other path in a journal was not written by dyntick, and is not restored: a
//! journal that another user could write must not become a way to write any file as root. Pure; [`crate::Live`] refuses
//! paths with symbolic links when it opens them.

use crate::change::{Change, EXT_SERVERS, FAIR_SERVERS};
use std::path::{Component, Path};

/// The mount point of the cgroup v2 hierarchy, itself or a folder below it.
pub(crate) const CGROUPS: &str = "/sys/fs/cgroup";
/// The name of the control group.
pub(crate) const GROUP: &str = "dyntick-isolate";
/// The folder of all devices; a network device's own folder may be anywhere below it.
const DEVICES: &str = "/sys/devices";
const PACKET_STEERING: &str = "net/*/queues/*/rps_cpus";
const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// The files with a value, as [`crate::Facts`] finds them. `#` matches a number, `*` a name.
const SETTINGS: &[&str] = &[
    "/proc/sys/vm/stat_interval",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/watchdog_cpumask",
    "/proc/irq/default_smp_affinity",
    "/proc/irq/#/smp_affinity_list",
    "/sys/devices/system/machinecheck/machinecheck0/check_interval",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/devices/virtual/workqueue/*/cpumask",
    "/sys/kernel/rcu_normal",
    "/sys/devices/system/cpu/cpu#/power/pm_qos_resume_latency_us",
];

/// Returns true if isolating makes such changes, and so may undo this one.
pub fn may_be_changed(change: &Change) -> bool {
    match change {
        Change::Setting { path, .. } => is_setting(path),
        // The affinity of a thread has no path.
        Change::Affinity { .. } => true,
        Change::Controller { path } => is_below(path, CGROUPS) && path.ends_with("cgroup.subtree_control"),
        Change::Partition { folder, origin, .. } => {
            let home = origin == Path::new(CGROUPS) || is_below(origin, CGROUPS);
            is_below(folder, CGROUPS) && folder.ends_with(GROUP) && home
        }
        Change::Folders { prefix } => is_instance(prefix),
    }
}

fn is_setting(path: &Path) -> bool {
    let servers = [FAIR_SERVERS, EXT_SERVERS].map(|folder| format!("{folder}/cpu#/runtime"));
    let mut patterns = SETTINGS.iter().copied().chain(servers.iter().map(String::as_str));
    patterns.any(|pattern| matches(path, pattern)) || is_packet_steering(path)
}

fn is_packet_steering(path: &Path) -> bool {
    let length = Path::new(PACKET_STEERING).components().count();
    let device = path.ancestors().nth(length).filter(|device| device.starts_with(DEVICES));
    device.is_some_and(|device| matches(path, &format!("{}/{PACKET_STEERING}", device.display())))
}

/// Matches `dyntick-PID-` in the folder of trace instances.
fn is_instance(prefix: &Path) -> bool {
    let owner =
        prefix.file_name().and_then(|name| name.to_str()?.strip_prefix("dyntick-")?.strip_suffix('-'));
    prefix.parent() == Some(Path::new(INSTANCES)) && owner.is_some_and(is_number)
}

fn is_below(path: &Path, folder: &str) -> bool {
    is_plain(path) && path != Path::new(folder) && path.starts_with(folder)
}

fn matches(path: &Path, pattern: &str) -> bool {
    let (names, wanted) = (path.components(), Path::new(pattern).components());
    is_plain(path)
        && names.clone().count() == wanted.clone().count()
        && names.zip(wanted).all(|(name, wanted)| {
            match (name.as_os_str().to_str(), wanted.as_os_str().to_str()) {
                (Some(name), Some(wanted)) => names_match(name, wanted),
                _ => false,
            }
        })
}

fn names_match(name: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('#') {
        Some(before) => name.strip_prefix(before).is_some_and(is_number),
        None => wanted == "*" || name == wanted,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns true for an absolute path as written: `Path` itself skips `.` and doubled slashes.
fn is_plain(path: &Path) -> bool {
    let normal = |component: Component<'_>| matches!(component, Component::RootDir | Component::Normal(_));
    path.is_absolute() && path.components().all(normal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, PartitionKind};

    fn setting(path: &str) -> bool {
        let (old, new) = ("0".to_owned(), "1".to_owned());
        may_be_changed(&Change::Setting { path: path.into(), format: Format::Text, old, new, via: None })
    }

    fn partition(folder: &str, origin: &str) -> bool {
        may_be_changed(&Change::Partition {
            folder: folder.into(),
            cpus: "3".parse().unwrap(),
            kind: PartitionKind::Isolated,
            origin: origin.into(),
        })
    }

    #[test]
    fn only_known_settings_are_restored() {
        for path in [
            "/proc/sys/vm/stat_interval",
            "/proc/irq/24/smp_affinity_list",
            "/sys/devices/virtual/workqueue/writeback/cpumask",
            "/sys/devices/system/cpu/cpu12/power/pm_qos_resume_latency_us",
            "/sys/devices/virtual/net/lo/queues/rx-0/rps_cpus",
            "/sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/queues/rx-0/rps_cpus",
            "/sys/kernel/debug/sched/fair_server/cpu3/runtime",
            "/sys/kernel/debug/sched/ext_server/cpu3/runtime",
        ] {
            assert!(setting(path), "{path}");
        }
        for path in [
            "/etc/shadow",
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/modprobe",
            "/sys/kernel/uevent_helper",
            "/proc/irq/x/smp_affinity_list",
            "/proc/irq/../sys/kernel/core_pattern",
            "/sys/devices/virtual/workqueue/../cpumask",
            "/sys/devices/virtual/workqueue/a/b/cpumask",
            "/sys/devices/system/cpu/cpu/power/pm_qos_resume_latency_us",
            "/sys/devices/virtual/../../net/lo/queues/rx-0/rps_cpus",
            "/sys/devices/virtual/net/lo/queues/rx-0/x/rps_cpus",
            "/home/u/net/lo/queues/rx-0/rps_cpus",
            "/sys/class/net/lo/queues/rx-0/rps_cpus",
            "proc/sys/vm/stat_interval",
            "/proc/sys/vm/stat_interval/x",
            "",
        ] {
            assert!(!setting(path), "{path}");
        }
    }

    #[test]
    fn only_own_folders_are_removed() {
        assert!(partition("/sys/fs/cgroup/dyntick-isolate", "/sys/fs/cgroup"));
        assert!(partition("/sys/fs/cgroup/unified/dyntick-isolate", "/sys/fs/cgroup/unified/user.slice/x"));
        assert!(!partition("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup"));
        assert!(!partition("/home/u/dyntick-isolate", "/sys/fs/cgroup"));
        assert!(!partition("/sys/fs/cgroup/dyntick-isolate", "/home/u"));
        assert!(!partition("/sys/fs/cgroup/dyntick-isolate", "/sys/fs/cgroup/../../../home/u"));
        let controller = |path: &str| may_be_changed(&Change::Controller { path: path.into() });
        assert!(controller("/sys/fs/cgroup/cgroup.subtree_control"));
        assert!(!controller("/home/u/cgroup.subtree_control") && !controller("/sys/fs/cgroup/cgroup.procs"));
        let folders = |prefix: &str| may_be_changed(&Change::Folders { prefix: prefix.into() });
        assert!(folders("/sys/kernel/tracing/instances/dyntick-77-"));
        assert!(
            !folders("/sys/kernel/tracing/instances/") && !folders("/sys/kernel/tracing/instances/dyntick-")
        );
        assert!(!folders("/home/dyntick-77-"));
    }
}
