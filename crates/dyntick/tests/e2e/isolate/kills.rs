// SPDX-License-Identifier: GPL-2.0-only
//! Killed at random moments, the machine is as it was.

use super::snapshot::Snapshot;
use crate::harness::kills::Random;
use dyntick_isolate::{Journal, Live, System};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The command takes so long, s.
const COMMAND: &str = "0.02";

fn dyntick(words: &[&str]) -> Command {
    let mut command = Command::new("dyntick");
    command.arg("isolate").args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

const ISOLATE: [&str; 6] = ["-C", "3", "--", "busybox", "sleep", COMMAND];

fn isolate() -> Child {
    dyntick(&ISOLATE).spawn().unwrap()
}

/// Runs one that is not killed.
fn succeed(words: &[&str]) {
    let output = dyntick(words).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !said.contains("not put back"),
        "{words:?}: {:?}\n{said}",
        output.status
    );
}

fn kill(pid: i32, signal: i32) {
    // SAFETY: a system call.
    unsafe { libc::kill(pid, signal) };
}

/// The children of a process that is dead come to this one, which collects them.
fn adopt_orphans() {
    // SAFETY: a system call without pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

fn write(path: &str, value: &str) {
    std::fs::write(path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// A machine with settings of its own, so that putting back defaults is not enough.
fn prepare() -> Vec<Child> {
    write("/proc/sys/vm/stat_interval", "7");
    write("/proc/irq/1/smp_affinity_list", "3");
    write("/proc/irq/8/smp_affinity_list", "2-3");
    write("/proc/irq/9/smp_affinity_list", "1");
    write("/proc/irq/default_smp_affinity", "d");
    write("/sys/devices/virtual/workqueue/writeback/cpumask", "c");
    write("/sys/class/net/lo/queues/rx-0/rps_cpus", "9");
    std::fs::create_dir("/sys/fs/cgroup/other").unwrap();
    let sleeper = |cpus: &str| {
        let mut sleeper = Command::new("busybox");
        sleeper.args(["taskset", "-c", cpus, "busybox", "sleep", "1000000"]).spawn().unwrap()
    };
    let sleepers: Vec<Child> = ["3", "0,3", "1", "0-3"].map(sleeper).into();
    std::thread::sleep(Duration::from_millis(100));
    write("/sys/fs/cgroup/other/cgroup.procs", &sleepers[1].id().to_string());
    for task in Live.tasks() {
        match task.comm.as_str() {
            "kswapd0" => Live.set_affinity(task.id, &"0".parse().unwrap()).unwrap(),
            "kcompactd0" => Live.set_affinity(task.id, &"0,3".parse().unwrap()).unwrap(),
            _ => {}
        }
    }
    sleepers
}

/// The stage that it had reached when it was killed.
fn stage() -> &'static str {
    let journal = std::fs::read_to_string(Journal::default_path()).unwrap_or_default();
    let partition = Path::new("/sys/fs/cgroup/dyntick-isolate");
    let members = std::fs::read_to_string(partition.join("cgroup.procs")).unwrap_or_default();
    match () {
        () if journal.is_empty() => "before the first or after the last change",
        () if !members.is_empty() => "while the command ran",
        () if journal.contains("\"trace\"") => "around the command",
        () if partition.exists() => "with the partition",
        () => "without the partition",
    }
}

pub fn guardians() -> Vec<i32> {
    let is_guardian = |pid: &i32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == b"isolate-guardian")
    };
    Live.tasks().iter().map(|task| task.id.tid).filter(is_guardian).collect()
}

/// The ways to die, and who puts the machine back.
fn die(way: u64, front: &mut Child, random: &mut Random, restore: u64) {
    let pid = front.id() as i32;
    match way {
        // The guardian does.
        0 => kill(pid, libc::SIGKILL),
        // `--restore` does, called at once: it may meet the guardian.
        1 => {
            kill(pid, libc::SIGKILL);
            succeed(&["--restore"]);
        }
        // Both are killed: `--restore` does, and is killed itself, and done again.
        2 => {
            let guardians = guardians();
            kill(pid, libc::SIGKILL);
            guardians.iter().for_each(|pid| kill(*pid, libc::SIGKILL));
            let mut first = dyntick(&["--restore"]).spawn().unwrap();
            std::thread::sleep(Duration::from_nanos(random.below(restore)));
            let _ = first.kill();
            let _ = first.wait();
            succeed(&["--restore"]);
        }
        // Both, the guardian at some later moment, in the midst of its work: the next dyntick does.
        3 => {
            let guardians = guardians();
            kill(pid, libc::SIGKILL);
            std::thread::sleep(Duration::from_nanos(random.below(restore)));
            guardians.iter().for_each(|pid| kill(*pid, libc::SIGKILL));
            succeed(&["-C", "3", "--", "busybox", "true"]);
        }
        // It does so itself.
        _ => kill(pid, [libc::SIGTERM, libc::SIGINT, libc::SIGHUP][random.below(3) as usize]),
    }
    let _ = front.wait();
}

const WAYS: [&str; 5] = ["guardian", "--restore at once", "--restore, killed once", "next isolate", "signal"];

/// Waits until the journal has `count` lines, or until `front` ends. Returns the highest number of lines seen.
fn records_until(front: &mut Child, count: usize) -> usize {
    let mut most = 0;
    while most < count && front.try_wait().unwrap().is_none() {
        let journal = std::fs::read(Journal::default_path()).unwrap_or_default();
        most = most.max(journal.iter().filter(|byte| **byte == b'\n').count());
        std::thread::sleep(Duration::from_micros(20));
    }
    most
}

#[test]
#[ignore = "runs in a guest"]
fn rounds() {
    let variable = |name: &str| std::env::var(name).unwrap().parse::<u64>().unwrap();
    let (rounds, mut random) =
        (variable("ROUNDS"), Random(variable("SEED").wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    adopt_orphans();
    let mut sleepers = prepare();
    // The first run makes what stays, as the folder /run itself.
    succeed(&ISOLATE);
    collect_but(&mut sleepers);
    let before = Snapshot::take();
    let begin = Instant::now();
    let most = records_until(&mut isolate(), usize::MAX);
    let whole = begin.elapsed().as_nanos() as u64;
    assert_eq!(Snapshot::take().differences(&before), [""; 0], "after a run that was not killed");

    let mut stages: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let mut equal = 0;
    for round in 0..rounds {
        let way = random.below(WAYS.len() as u64);
        let mut front = isolate();
        // At any time, most of which goes by with the recording; or right at one of the changes.
        if random.below(2) == 0 {
            std::thread::sleep(Duration::from_nanos(random.below(whole)));
        } else {
            records_until(&mut front, random.below(most as u64 + 1) as usize);
            std::thread::sleep(Duration::from_nanos(random.below(1_000_000)));
        }
        let stage = stage();
        *stages.entry((stage, WAYS[way as usize])).or_default() += 1;
        die(way, &mut front, &mut random, whole / 3);
        collect_but(&mut sleepers);
        let differences = Snapshot::take().differences(&before);
        equal += u64::from(differences.is_empty());
        for difference in &differences {
            println!("round {round}, {stage}, {}: {difference}", WAYS[way as usize]);
        }
    }
    for ((stage, way), count) in stages {
        println!("{count:>4} {stage}, put back by {way}");
    }
    let (files, threads) = before.size();
    println!(
        "{equal} of {rounds} kills left the machine as it was: {files} files and {threads} threads compared"
    );
    sleepers.iter_mut().for_each(|sleeper| sleeper.kill().unwrap());
    assert_eq!(equal, rounds);
    assert_eq!(warnings(), [""; 0]);
}

/// The warnings of the kernel, except for a harmless one. A trace instance rightly gets no memory if its maker is
/// killed meanwhile, but the kernel warns all the same (`kernel/trace/ring_buffer.c: trace_rb_cpu_prepare`, 6.12).
fn warnings() -> Vec<String> {
    let log = Command::new("busybox").arg("dmesg").output().unwrap();
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    let warned = log.lines().filter(|line| line.contains("WARNING: "));
    warned.filter(|line| !line.contains("trace_rb_cpu_prepare")).map(str::to_owned).collect()
}

/// Waits until all children but these have ended.
fn collect_but(sleepers: &mut [Child]) {
    let begin = Instant::now();
    let own = std::process::id();
    let is_child = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent =
            stat.rsplit_once(')').and_then(|(_, tail)| tail.split_ascii_whitespace().nth(1)?.parse().ok());
        parent == Some(own) && !sleepers.iter().any(|sleeper| sleeper.id() as i32 == *pid)
    };
    loop {
        let children: Vec<i32> = Live.tasks().iter().map(|task| task.id.tid).filter(is_child).collect();
        if children.is_empty() {
            return;
        }
        for child in children {
            // SAFETY: a null pointer is allowed for the status.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::WNOHANG) };
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "a child does not end");
        std::thread::sleep(Duration::from_millis(2));
    }
}
