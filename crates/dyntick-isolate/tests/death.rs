// SPDX-License-Identifier: GPL-2.0-only
//! A simulated machine, on which dyntick dies after any number of steps, and again while restoring.

use dyntick_isolate::apply::apply;
use dyntick_isolate::{Facts, Journal, PartitionKind, Request, System, Task, TaskId, plan, restore};
use dyntick_model::CpuList;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Files, folders and threads. Creating or removing a partition resets every thread's affinity, as Linux 6.1 does.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Machine {
    files: BTreeMap<PathBuf, String>,
    folders: BTreeSet<PathBuf>,
    threads: BTreeMap<TaskId, (String, CpuList)>,
    /// The number of steps before it dies.
    steps_left: usize,
}

const ONLINE: &str = "0-3";
const GROUP: &str = "/sys/fs/cgroup/dyntick-isolate";

fn cpus(text: &str) -> CpuList {
    text.parse().unwrap()
}

impl Machine {
    fn new(threads: &[&str], has_cpusets: bool) -> Self {
        let mut files = BTreeMap::new();
        let mut file = |path: &str, value: &str| files.insert(PathBuf::from(path), value.to_owned());
        file("/sys/devices/system/cpu/online", ONLINE);
        file("/proc/sys/kernel/osrelease", "6.1.0-56-amd64");
        file("/proc/sys/vm/stat_interval", "7");
        file("/proc/sys/kernel/watchdog_cpumask", ONLINE);
        file("/sys/devices/virtual/workqueue/cpumask", "7");
        file("/proc/irq/default_smp_affinity", "c");
        file(
            "/proc/interrupts",
            "   CPU0 CPU1 CPU2 CPU3\n 4: 0 0 0 9 IO-APIC ttyS0\n 8: 0 0 0 0 IO-APIC rtc0\n",
        );
        file("/proc/irq/4/smp_affinity_list", "0-3");
        file("/proc/irq/4/effective_affinity_list", "3");
        file("/proc/irq/8/smp_affinity_list", "3");
        file("/sys/kernel/rcu_normal", "0");
        file("/proc/self/cgroup", "0::/\n");
        if has_cpusets {
            file("/proc/self/mountinfo", "1 1 0:1 / /sys/fs/cgroup rw - cgroup2 none rw\n");
            file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu");
            file("/sys/fs/cgroup/cgroup.subtree_control", "cpu");
            file("/sys/fs/cgroup/cgroup.procs", "");
        }
        // The thread of an interrupt, e.g. `irq/9-acpi:3`.
        let thread = |(number, list): (usize, &&str)| {
            let id = TaskId { tid: number as i32 + 2, start: 5 };
            let (name, list) = list.split_once(':').unwrap_or(("thread", list));
            (id, (name.to_owned(), cpus(list)))
        };
        let threads = threads.iter().enumerate().map(thread).collect();
        Self { files, folders: BTreeSet::new(), threads, steps_left: usize::MAX }
    }

    fn step(&mut self) -> io::Result<()> {
        self.steps_left =
            self.steps_left.checked_sub(1).ok_or_else(|| io::Error::from_raw_os_error(libc::EINTR))?;
        Ok(())
    }

    fn wipe(&mut self, list: &str) {
        self.threads.values_mut().for_each(|(_, mask)| *mask = cpus(list));
    }
}

impl System for Machine {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.files.get(path).cloned().ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
    }

    fn write(&mut self, path: &Path, text: &str) -> io::Result<()> {
        self.step()?;
        self.read(path)?;
        let name = path.file_name().unwrap().to_str().unwrap();
        match (name, text) {
            ("cgroup.subtree_control", "+cpuset") => {
                drop(self.files.insert(path.into(), "cpuset cpu".into()))
            }
            ("cgroup.subtree_control", "-cpuset") => drop(self.files.insert(path.into(), "cpu".into())),
            ("cpuset.cpus.partition", kind) => {
                if self.files[path] != kind {
                    self.wipe(if kind == "member" { ONLINE } else { "0-2" });
                }
                self.files.insert(path.into(), kind.into());
            }
            _ => drop(self.files.insert(path.into(), text.into())),
        }
        // An interrupt stays on its CPU if the new mask allows it (arch/x86/kernel/apic/vector.c).
        if let Some(folder) = path.parent().filter(|_| name == "smp_affinity_list") {
            let effective = folder.join("effective_affinity_list");
            if let Some(now) = self.files.get(&effective).map(|now| cpus(now)) {
                if !now.is_subset(&cpus(text)) {
                    let first = CpuList::from_iter(cpus(text).iter().take(1));
                    self.files.insert(effective, first.to_string());
                }
            }
        }
        Ok(())
    }

    fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.folders.insert(path.into());
        for (file, value) in [("cgroup.procs", ""), ("cpuset.cpus", ""), ("cpuset.cpus.partition", "member")]
        {
            self.files.insert(path.join(file), value.into());
        }
        Ok(())
    }

    fn remove_folder(&mut self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.folders.remove(path);
        self.files.retain(|file, _| !file.starts_with(path));
        Ok(())
    }

    fn folders(&self, path: &Path) -> Vec<PathBuf> {
        self.folders.iter().filter(|folder| folder.parent() == Some(path)).cloned().collect()
    }

    fn tasks(&self) -> Vec<Task> {
        let task = |(id, (comm, cpus)): (&TaskId, &(String, CpuList))| Task {
            id: *id,
            comm: comm.clone(),
            cpus: cpus.clone(),
            kernel: comm.starts_with("irq/"),
            movable: true,
        };
        self.threads.iter().map(task).collect()
    }

    fn cpus_of(&self, id: TaskId) -> Option<CpuList> {
        self.threads.get(&id).map(|(_, cpus)| cpus.clone())
    }

    fn set_affinity(&mut self, id: TaskId, cpus: &CpuList) -> io::Result<()> {
        self.step()?;
        self.threads.get_mut(&id).unwrap().1 = cpus.clone();
        Ok(())
    }
}

struct Case {
    folder: tempfile::TempDir,
    before: Machine,
    now: Machine,
}

/// Isolates CPU 3 and dies after this number of steps.
fn isolate(threads: &[&str], has_cpusets: bool, steps: usize) -> Case {
    // In memory, like the real one: each line waits for its storage.
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let before = Machine::new(threads, has_cpusets);
    let mut now = before.clone();
    let request =
        Request { cpus: cpus("3"), kind: PartitionKind::Isolated, realtime: false, idle_latency_us: 2 };
    let plan = plan(&Facts::read(&now, &request.cpus).unwrap(), &request);
    let mut journal = Journal::take(&folder.path().join("journal")).unwrap();
    journal.begin(&request.cpus, &cpus(ONLINE), &[]).unwrap();
    now.steps_left = steps;
    apply(&mut now, &mut journal, &plan, &|| false).unwrap();
    Case { folder, before, now }
}

impl Case {
    /// Restores, and dies after this number of steps. Returns true if the journal is gone.
    fn put_back(&mut self, steps: usize) -> bool {
        let path = self.folder.path().join("journal");
        if path.exists() {
            self.now.steps_left = steps;
            restore(&mut self.now, Journal::take(&path).unwrap()).unwrap();
        }
        self.now.steps_left = usize::MAX;
        !path.exists()
    }
}

#[test]
fn isolation_changes_all_settings() {
    let case = isolate(&["0-3", "3", "0,3", "1"], true, usize::MAX);
    let file = |path: &str| case.now.files[Path::new(path)].as_str();
    assert_eq!(file("/proc/sys/vm/stat_interval"), "60");
    assert_eq!(file("/proc/sys/kernel/watchdog_cpumask"), "0-2");
    assert_eq!(file("/proc/irq/4/smp_affinity_list"), "0-2");
    assert_eq!(file("/proc/irq/8/smp_affinity_list"), "0-2");
    assert_eq!(file("/proc/irq/default_smp_affinity"), "00000004");
    assert_eq!(file("/sys/kernel/rcu_normal"), "1");
    assert_eq!(case.now.files[&Path::new(GROUP).join("cpuset.cpus.partition")], "isolated");
    let masks: Vec<String> = case.now.threads.values().map(|(_, cpus)| cpus.to_string()).collect();
    assert_eq!(masks, ["0-2", "0-2", "0", "1"]);
}

#[test]
fn settings_of_others_stay() {
    let mut case = isolate(&["0-3", "1", "0"], true, usize::MAX);
    let stat_interval = Path::new("/proc/sys/vm/stat_interval");
    case.now.write(stat_interval, "5").unwrap();
    case.now.files.remove(Path::new("/proc/irq/8/smp_affinity_list"));
    let moved = TaskId { tid: 3, start: 5 };
    case.now.set_affinity(moved, &cpus("2")).unwrap();
    assert!(case.put_back(usize::MAX));
    assert_eq!(case.now.files[stat_interval], "5");
    assert!(!case.now.files.contains_key(Path::new("/proc/irq/8/smp_affinity_list")), "a freed interrupt");
    let masks: Vec<String> = case.now.threads.values().map(|(_, cpus)| cpus.to_string()).collect();
    assert_eq!(masks, ["0-3", "2", "0"]);
}

/// The journal is full: affinities of others are kept in memory, and nothing is left isolated.
#[test]
fn full_journal_does_not_stop_the_restoration() {
    let mut case = isolate(&["0-3", "1", "0"], true, usize::MAX);
    case.now.set_affinity(TaskId { tid: 3, start: 5 }, &cpus("2")).unwrap();
    let path = case.folder.path().join("journal");
    let not_writable = std::fs::File::open(&path).unwrap();
    let restored = restore(&mut case.now, Journal::inherit(&path, not_writable)).unwrap().unwrap();
    assert_eq!(restored.failed, []);
    assert!(restored.notes[0].contains("of 1 threads"), "{:?}", restored.notes);
    assert!(!path.exists());
    case.before.set_affinity(TaskId { tid: 3, start: 5 }, &cpus("2")).unwrap();
    assert_eq!(case.now.threads, case.before.threads);
    assert_eq!(case.now.files, case.before.files);
}

/// A record after an incomplete line, as earlier versions wrote it; and an unreadable line.
#[test]
fn damaged_journal_restores_all_readable_changes() {
    let case = isolate(&["0-3", "1", "0"], true, usize::MAX);
    let path = case.folder.path().join("journal");
    let text = std::fs::read_to_string(&path).unwrap();
    let adopt = r#"{"record":"adopt","tid":3,"start":5,"comm":"thread","cpus":"2"}"#;
    let with = |lines: &str| {
        let mut now = case.now.clone();
        // The folder is removed with the journal.
        let journal = Journal::take(&path).unwrap();
        std::fs::write(&path, text.clone() + lines).unwrap();
        let restored = restore(&mut now, journal).unwrap().unwrap();
        let masks: Vec<String> = now.threads.values().map(|(_, cpus)| cpus.to_string()).collect();
        assert_eq!(now.files, case.before.files);
        (restored, masks)
    };
    let (restored, masks) = with(&format!("{}{adopt}\n", &adopt[..40]));
    assert_eq!((restored.failed.len(), restored.notes.len(), path.exists()), (0, 1, false));
    assert_eq!(masks, ["0-3", "2", "0"]);
    let (restored, masks) = with(&format!("{}\n{adopt}\n", &adopt[..40]));
    assert!(restored.failed[0].1.contains("damaged"), "it may have been a setting");
    assert_eq!((restored.failed.len(), path.exists()), (1, true));
    assert_eq!(masks, ["0-3", "2", "0"]);
}

/// It follows its interrupt, sometimes only at the next one.
#[test]
fn interrupt_thread_is_restored() {
    for moved in ["0-2", "0"] {
        let mut case = isolate(&["0-3", "irq/9-acpi:3"], true, usize::MAX);
        let id = TaskId { tid: 3, start: 5 };
        assert_eq!(case.now.threads[&id].1, cpus("0-2"), "only the kernel moves it");
        case.now.set_affinity(id, &cpus(moved)).unwrap();
        let restored = restore(&mut case.now, Journal::take(&case.folder.path().join("journal")).unwrap());
        assert_eq!(restored.unwrap().unwrap().theirs, [], "{moved}");
        assert_eq!(case.now.threads, case.before.threads, "{moved}");
    }
}

#[test]
fn second_user_of_the_controller_keeps_it() {
    let mut case = isolate(&["0-3"], true, usize::MAX);
    let other = Path::new("/sys/fs/cgroup/other");
    case.now.make_folder(other).unwrap();
    case.now.write(&other.join("cpuset.cpus"), "0-1").unwrap();
    assert!(case.put_back(usize::MAX));
    assert_eq!(case.now.files[Path::new("/sys/fs/cgroup/cgroup.subtree_control")], "cpuset cpu");
}

/// A user who could write to a journal must not make root write to any file.
#[test]
fn changes_that_isolating_never_makes_are_not_restored() {
    let mut case = isolate(&["0-3"], true, usize::MAX);
    let planted = Path::new("/proc/sys/kernel/core_pattern");
    case.now.files.insert(planted.into(), "core".into());
    case.now.make_folder(Path::new("/sys/fs/cgroup/system.slice")).unwrap();
    let path = case.folder.path().join("journal");
    let mut journal = Journal::take(&path).unwrap();
    let lines = [
        r#"{"record":"change","subject":"vm-stat","change":"setting","path":"/proc/sys/kernel/core_pattern","format":"text","old":"|/tmp/x","new":"core"}"#,
        r#"{"record":"change","subject":"partition","change":"partition","folder":"/sys/fs/cgroup/system.slice","cpus":"3","kind":"isolated","origin":"/sys/fs/cgroup"}"#,
    ];
    for line in lines {
        journal.append(&serde_json::from_str(line).unwrap()).unwrap();
    }
    let restored = restore(&mut case.now, journal).unwrap().unwrap();
    assert_eq!(case.now.files[planted], "core");
    assert!(case.now.folders.contains(Path::new("/sys/fs/cgroup/system.slice")));
    let failed: Vec<&str> = restored.failed.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(failed, ["/sys/fs/cgroup/system.slice", "/proc/sys/kernel/core_pattern"]);
    assert!(restored.failed[0].1.contains("another program has written to the journal"));
    assert!(path.exists(), "kept, for inspection");
    // All changes of dyntick itself were restored nevertheless.
    assert_eq!(case.now.files[Path::new("/proc/sys/vm/stat_interval")], "7");
    assert!(!case.now.folders.contains(Path::new(GROUP)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn death_at_any_step_leaves_all_restored(
        threads in prop::collection::vec(prop::sample::select(vec!["0-3", "3", "0,3", "1", "0-2", "irq/9-acpi:3"]), 0..6),
        has_cpusets: bool,
        first in 0usize..40,
        deaths in prop::collection::vec(0usize..30, 0..4),
    ) {
        let mut case = isolate(&threads, has_cpusets, first);
        for steps in deaths {
            case.put_back(steps);
        }
        prop_assert!(case.put_back(usize::MAX));
        case.now.steps_left = case.before.steps_left;
        prop_assert_eq!(&case.now, &case.before);
    }
}
