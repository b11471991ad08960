// SPDX-License-Identifier: GPL-2.0-only
//! The facts of a machine that a plan needs.

use crate::change::{EXT_SERVERS, FAIR_SERVERS};
use crate::places::CGROUPS;
use crate::system::{System, Task};
use crate::{Format, Subject};
use dyntick_model::{CpuList, CpuListError};
use std::path::{Path, PathBuf};

/// A machine before any change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The online CPUs.
    pub online: CpuList,
    /// The CPUs that `isolcpus=domain,` took out of load balancing at boot.
    pub boot_isolated: CpuList,
    /// The major and minor version of the kernel.
    pub kernel: (u32, u32),
    /// The files that may have to be changed, with their values.
    pub files: Vec<SettingFile>,
    /// The hierarchy for a partition, or the reason why there is none.
    pub cpusets: Result<Cpusets, String>,
    /// All threads.
    pub tasks: Vec<Task>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// A file that may have to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFile {
    /// The purpose of the change.
    pub subject: Subject,
    /// The file.
    pub path: PathBuf,
    /// The format of its value.
    pub format: Format,
    /// Its value.
    pub value: String,
    /// For an interrupt, the CPU that it goes to.
    pub behind: Option<String>,
}

/// The hierarchy of control groups (version 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpusets {
    /// Its root.
    pub root: PathBuf,
    /// True if the children of the root have the controller.
    pub enabled: bool,
    /// The group of this process.
    pub origin: PathBuf,
}

/// The reason why a machine cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the CPUs of this machine: {path}: {reason}")]
pub struct FactsError {
    path: &'static str,
    reason: String,
}

const ONLINE: &str = "/sys/devices/system/cpu/online";

impl Facts {
    /// The online CPUs.
    pub fn online(system: &impl System) -> Result<CpuList, FactsError> {
        let error = |reason: String| FactsError { path: ONLINE, reason };
        let online = system.read(Path::new(ONLINE)).map_err(|e| error(e.to_string()))?;
        online.parse().map_err(|e: CpuListError| error(e.to_string()))
    }

    /// Reads the machine, with the files of these CPUs.
    pub fn read(system: &impl System, cpus: &CpuList) -> Result<Self, FactsError> {
        let online = Self::online(system)?;
        let text = |path: &str| system.read(Path::new(path)).unwrap_or_default();
        let bpf_scheduler = text("/sys/kernel/sched_ext/state").trim() == "enabled";
        let mut reader = Reader { system, files: Vec::new() };
        reader.of_machine();
        reader.of_interrupts();
        cpus.iter().for_each(|cpu| reader.of_cpu(cpu, bpf_scheduler));
        let files = reader.files;
        let boot_isolated = text("/sys/devices/system/cpu/isolated").parse().unwrap_or_default();
        let release = text("/proc/sys/kernel/osrelease");
        let kernel = release.trim().parse::<dyntick_model::KernelVersion>();
        let kernel = kernel.map_or((0, 0), |version| (version.major, version.minor));
        Ok(Self {
            online,
            boot_isolated,
            kernel,
            files,
            cpusets: cpusets(system),
            tasks: system.tasks(),
            notes: notes(system, kernel, bpf_scheduler),
        })
    }
}

struct Reader<'a, S> {
    system: &'a S,
    files: Vec<SettingFile>,
}

impl<S: System> Reader<'_, S> {
    /// Adds a file, unless it does not exist on this kernel: then there is nothing to change.
    fn add(&mut self, subject: Subject, path: impl Into<PathBuf>, format: Format) {
        let path = path.into();
        if let Ok(value) = self.system.read(&path) {
            let value = value.trim().to_owned();
            self.files.push(SettingFile { subject, path, format, value, behind: None });
        }
    }

    fn of_machine(&mut self) {
        use Subject::*;
        self.add(VmStat, "/proc/sys/vm/stat_interval", Format::Text);
        if self.system.folders(Path::new("/sys/devices/system/node")).iter().filter(|p| is_node(p)).count()
            > 1
        {
            self.add(NumaBalancing, "/proc/sys/kernel/numa_balancing", Format::Text);
        }
        self.add(Watchdog, "/proc/sys/kernel/watchdog_cpumask", Format::List);
        let check = "/sys/devices/system/machinecheck/machinecheck0/check_interval";
        self.add(MachineCheck, check, Format::Text);
        // Queues come first: when restoring, the mask of all must be written before theirs.
        let queues = Path::new("/sys/devices/virtual/workqueue");
        for queue in self.system.folders(queues) {
            self.add(Workqueues, queue.join("cpumask"), Format::Mask);
        }
        self.add(Workqueues, queues.join("cpumask"), Format::Mask);
        for device in self.system.folders(Path::new("/sys/class/net")) {
            for queue in self.system.folders(&device.join("queues")) {
                self.add(PacketSteering, queue.join("rps_cpus"), Format::Mask);
            }
        }
        self.add(Rcu, "/sys/kernel/rcu_normal", Format::Text);
    }

    fn of_interrupts(&mut self) {
        self.add(Subject::Interrupts, "/proc/irq/default_smp_affinity", Format::Mask);
        let table = self.system.read(Path::new("/proc/interrupts")).unwrap_or_default();
        let rows = table.lines().filter_map(|line| line.split_once(':')?.0.trim().parse::<u32>().ok());
        for irq in rows {
            let folder = PathBuf::from(format!("/proc/irq/{irq}"));
            let before = self.files.len();
            self.add(Subject::Interrupts, folder.join("smp_affinity_list"), Format::List);
            if let Some(file) = self.files.get_mut(before) {
                let effective = self.system.read(&folder.join("effective_affinity_list"));
                file.behind =
                    effective.ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
            }
        }
    }

    fn of_cpu(&mut self, cpu: u32, bpf_scheduler: bool) {
        let folder = PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}"));
        // Without an idle driver there is nothing to limit.
        if self.system.read(&folder.join("cpuidle/state0/name")).is_ok() {
            self.add(Subject::IdleStates, folder.join("power/pm_qos_resume_latency_us"), Format::Text);
        }
        // Without a BPF scheduler its server has nothing to guarantee.
        for servers in [FAIR_SERVERS].into_iter().chain(bpf_scheduler.then_some(EXT_SERVERS)) {
            self.add(Subject::FairServer, format!("{servers}/cpu{cpu}/runtime"), Format::Text);
        }
    }
}

fn is_node(path: &Path) -> bool {
    let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix("node"));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The mount point of a complete cgroup v2 hierarchy. In proc_pid_mountinfo(5), root and mount point are fields 4 and
/// 5,
/// and the type follows " - ".
fn cgroup2_mount(line: &str) -> Option<PathBuf> {
    let (head, tail) = line.split_once(" - ")?;
    let mut head = head.split(' ').skip(3);
    let (root, point) = (head.next()?, head.next()?);
    (tail.starts_with("cgroup2 ") && root == "/").then(|| PathBuf::from(point))
}

/// Finds the hierarchy of version 2, if the cpuset controller exists and is not on one of version 1.
fn cpusets(system: &impl System) -> Result<Cpusets, String> {
    let text = |path: &str| system.read(Path::new(path)).unwrap_or_default();
    let mounts = text("/proc/self/mountinfo");
    let mut roots: Vec<PathBuf> = mounts.lines().filter_map(cgroup2_mount).collect();
    // Prefers the one at its usual path.
    roots.sort_by_key(|root| !root.starts_with(CGROUPS));
    let root = roots.into_iter().next();
    let root = root.ok_or("control groups (cgroup2) are not mounted at their root here")?;
    if !root.starts_with(CGROUPS) {
        return Err(format!(
            "control groups (cgroup2) are mounted at {}, not below {CGROUPS}",
            root.display()
        ));
    }
    let list = |file: &str| system.read(&root.join(file)).unwrap_or_default();
    let has = |text: &str| text.split_ascii_whitespace().any(|word| word == "cpuset");
    if !has(&list("cgroup.controllers")) {
        let reason = if text("/proc/self/cgroup").contains(":cpuset:") {
            "the cpuset controller is on a cgroup v1 hierarchy"
        } else {
            "this kernel has no cpuset controller"
        };
        return Err(reason.to_owned());
    }
    let own = text("/proc/self/cgroup");
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let origin = root.join(own);
    Ok(Cpusets { enabled: has(&list("cgroup.subtree_control")), root, origin })
}

/// Returns true if the deadline servers of the fair class and of BPF schedulers interrupt a task that is alone on its
/// CPU, as since 6.12. By its source, 6.19 charges a running task before it enqueues a server (`dl_server_timer`,
/// e636ffb9e31b); 7.2 was measured.
pub(crate) fn servers_disturb(kernel: (u32, u32)) -> bool {
    ((6, 12)..(7, 2)).contains(&kernel)
}

fn notes(system: &impl System, kernel: (u32, u32), bpf_scheduler: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if bpf_scheduler {
        notes.push(
            "a BPF scheduler is loaded (/sys/kernel/sched_ext/root/ops): it keeps the tick of a task that it \
             schedules, unless it gives that task an infinite time slice"
                .to_owned(),
        );
    }
    if servers_disturb(kernel) && system.folders(Path::new("/sys/kernel/debug")).is_empty() {
        notes.push(
            "debugfs is not mounted or not accessible: the fair server stays on (mount -t debugfs none \
             /sys/kernel/debug)"
                .to_owned(),
        );
    }
    notes
}
