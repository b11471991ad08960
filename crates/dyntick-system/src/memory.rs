// SPDX-License-Identifier: GPL-2.0-only
//! The memory that there is for this process: the machine's, or what a control group leaves of it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::{Component, Path, PathBuf};

/// All that this process and those that it starts can have, bytes.
pub fn memory() -> u64 {
    of_machine().min(of_group())
}

/// The memory that this process may use: half of the machine's, or its control group's if that is less. An
/// eighth of that is for the kernel's part and the program's, which count there too: the group's end is a signal.
pub fn own_memory() -> u64 {
    let of_group = of_group();
    (of_machine() / 2).min(of_group - of_group / 8)
}

fn of_machine() -> u64 {
    let system = rustix::system::sysinfo();
    system.totalram.saturating_mul(system.mem_unit.into())
}

/// Lets this process, and what it starts, have [`own_memory`] each (`RLIMIT_DATA`). Readers of others' files have
/// limits of their own; where one is missing, this process ends and not another one of the machine, nor by a signal.
pub fn leave_half_of_memory() {
    let limit = getrlimit(Resource::Data);
    let own = own_memory();
    let current = Some(limit.current.map_or(own, |current| current.min(own)));
    // It cannot fail: a lower limit is anybody's to set.
    let _ = setrlimit(Resource::Data, Rlimit { current, maximum: limit.maximum });
}

/// The least limit of the control groups that this process is in (cgroups(7)).
fn of_group() -> u64 {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    limit(&groups, Path::new("/sys/fs/cgroup"))
}

/// The limit by /proc/self/cgroup and the mount points of the hierarchies. In a container that does not see its own
/// group by its path, that group is the top one.
fn limit(groups: &str, mounted: &Path) -> u64 {
    let limits = groups.lines().flat_map(|line| {
        let fields: Vec<&str> = line.splitn(3, ':').collect();
        let (roots, file): (&[&str], _) = match fields[..] {
            ["0", "", _] => (&["", "unified"], "memory.max"),
            [_, controllers, _] if controllers.split(',').any(|one| one == "memory") => {
                (&["memory"], "memory.limit_in_bytes")
            }
            _ => (&[], ""),
        };
        let named = Path::new(fields.last().unwrap_or(&"")).components();
        let group: PathBuf = named.filter(|part| matches!(part, Component::Normal(_))).collect();
        let files = group
            .ancestors()
            .flat_map(|above| roots.iter().map(move |root| mounted.join(root).join(above).join(file)));
        files.collect::<Vec<_>>()
    });
    let read = |file: &Path| std::fs::read_to_string(file).ok()?.trim().parse().ok();
    limits.filter_map(|file| read(&file)).min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_above_a_group_holds() {
        let mounted = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = mounted.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let limit = |groups: &str| limit(groups, mounted.path());
        put("a/b/memory.max", "max\n");
        assert_eq!(limit("0::/a/b\n"), u64::MAX);
        put("a/memory.max", "1000\n");
        put("a/c/memory.max", "5000\n");
        assert_eq!((limit("0::/a/b\n"), limit("0::/a/c\n"), limit("0::/d\n")), (1000, 1000, u64::MAX));
        put("memory/x/memory.limit_in_bytes", "9223372036854771712\n");
        put("memory/x/y/memory.limit_in_bytes", "300\n");
        let both = "5:cpu,cpuacct:/\n4:memory:/x/y\n0::/\n";
        assert_eq!((limit(both), limit("4:memory:/x")), (300, 9_223_372_036_854_771_712));
        // A container that is shown the path of its group outside.
        put("memory/memory.limit_in_bytes", "200\n");
        assert_eq!(limit("4:memory:/docker/0123\n"), 200);
        put("memory.max", "100\n");
        assert_eq!((limit("0::/\n"), limit("0::/../outside\n")), (100, 100));
        assert_eq!(limit("damaged"), u64::MAX);
    }
}
