// SPDX-License-Identifier: GPL-2.0-only
//! The emulator of idle states on real kernels: what a wake-up costs, by the emulator's own records
//! and by the kernel's events, which know nothing of each other.
//!
//! `DYNTICK` names the binary under test, as in `lab.rs`.

use crate::harness::{dyntick, is_full, text};
use dyntick_lab::emulator::records::{self, Record};
use dyntick_lab::{profiles, store};
use dyntick_model::{Event, EventKind};
use dyntick_trace::Recording;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

/// States that cost nothing, 1 us and 290 us, and the last 60 us more where the package slept.
const MACHINE: &str = "
title = 'test'
cores = 2
[sources]
s = 'none'
[active]
watts = 1
basis = 'measured'
source = 's'
[uncore]
watts = 1
basis = 'measured'
source = 's'
[[state]]
name = 'POLL'
exit-latency = '0us'
target-residency = '0us'
polling = true
source = 's'
power = { watts = 1, basis = 'measured', source = 's' }
[[state]]
name = 'FREE'
exit-latency = '0us'
target-residency = '0us'
source = 's'
power = { watts = 1, basis = 'measured', source = 's' }
[[state]]
name = 'C1'
exit-latency = '1us'
target-residency = '40us'
source = 's'
power = { watts = 1, basis = 'measured', source = 's' }
[[state]]
name = 'C6'
exit-latency = '350us'
target-residency = '800us'
tlb-flushed = true
source = 's'
power = { watts = 1, basis = 'measured', source = 's' }
[[package-state]]
name = 'PC6'
needs = 'C6'
exit-latency = '350us'
core-exit-latency = '290us'
power = { watts = 1, basis = 'measured', source = 's' }
source = 's'
";

/// A folder with that machine and a study of it, which has been run.
struct Study {
    folder: tempfile::TempDir,
}

impl Study {
    fn new(cases: &str) -> Self {
        Self::with(MACHINE, cases)
    }

    fn with(machine: &str, cases: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("own.toml"), machine).unwrap();
        let head = "title = 'test'\nquestion = 'test'\n[machine]\nprofile = './own.toml'\n\
                    [defaults]\nsettle = '100ms'\nevents = ['power:cpu_idle']\n";
        std::fs::write(folder.path().join("study.toml"), format!("{head}{cases}")).unwrap();
        Self { folder }
    }

    fn run(&self, out: &str) -> Vec<Guest> {
        self.run_with(out, &[])
    }

    fn run_with(&self, out: &str, arguments: &[&str]) -> Vec<Guest> {
        let mut command = dyntick();
        command.args(["lab", "run"]).arg(self.folder.path().join("study.toml"));
        let out = self.folder.path().join(out);
        let output = command.arg("--out").arg(&out).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let mut runs: Vec<PathBuf> =
            std::fs::read_dir(out.join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
        runs.sort();
        runs.into_iter().map(|folder| Guest { folder }).collect()
    }
}

/// The files that a guest left.
struct Guest {
    folder: PathBuf,
}

impl Guest {
    fn raw(&self, name: &str) -> Vec<u8> {
        let path = self.folder.join("raw").join(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The increase of a counter in a file of counters during the window.
    fn grown(&self, file: &str, name: &str) -> i64 {
        let count = |moment: &str| {
            let text = text(&self.raw(&format!("file.{file}.{moment}")));
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<i64>().ok());
            value.unwrap_or_else(|| panic!("{file} has no {name}: {text}"))
        };
        count("after") - count("before")
    }

    /// The sleeps of CPU 1 that are complete in the trace.
    fn sleeps(&self, events: &[Event]) -> Vec<Record> {
        let all = records::read(&self.raw("file.cpu1.after"));
        let first = events.first().unwrap().ts;
        all.into_iter().filter(|record| record.entered_ns > first).collect()
    }

    /// The events of CPU 1.
    fn events(&self) -> Vec<Event> {
        let metadata = serde_json::from_slice(&self.raw("trace.json")).unwrap();
        let raw = BTreeMap::from([(1, self.raw("trace.cpu1"))]);
        Recording { metadata, raw }.decode(u64::MAX).unwrap().events
    }

    /// Instructions of the kernel on CPU 1 in the window.
    fn instructions(&self) -> u64 {
        let (folder, plan) = store::plans([self.folder.clone()]).next().unwrap();
        let profile = profiles::load(&folder, &plan.unwrap().case).unwrap();
        let kinds = profiles::kinds_on(&profile.phases[0].1, &[1].into_iter().collect());
        kinds.values().flat_map(|kind| kind.functions.values()).sum()
    }
}

/// From where the emulator was done to where the kernel says that it left the idle state.
fn until_left(record: &Record, events: &[Event]) -> Option<u64> {
    let left = |event: &&Event| {
        event.ts >= record.ready_ns && matches!(event.kind, EventKind::CpuIdle { state: None })
    };
    events.iter().find(left).map(|event| event.ts - record.ready_ns)
}

/// The local timer, a call of the other CPU, and the serial port wake CPU 1 from each of the states, which
/// is the only one that it has: a governor would choose by how the guest's tasks happen to fall. The ticks
/// of the CPUs are kept apart, so that they do not wait for one another's turn.
fn wakes() -> String {
    let cases = [FREE, C1, C6].map(|state| {
        format!(
            "[[case]]
name = 'only-{state}'
write = {{ '/proc/irq/4/smp_affinity' = '2', {} }}
task = [
    {{ cpu = 0, run = ['busybox', 'sh', '-c', 'while usleep 3100; do echo -n . > /dev/ttyS0; done'] }},
    {{ cpu = 1, run = ['busybox', 'sh', '-c', 'while usleep 4700; do :; done'] }},
]
script = {{ cpu = 0, run = ['dyntick', 'guest-packets', 'poisson:500us', '-n', '400', '--from', '0', '--to', '1'], in-window = true }}
",
            only(state)
        )
    });
    format!(
        "append = 'skew_tick=1'
read = ['/sys/kernel/debug/cstate_emulator/records/cpu1', '/sys/kernel/debug/cstate_emulator/package_states']
{}",
        cases.concat()
    )
}

const FREE: u8 = 1;
const C1: u8 = 2;
const C6: u8 = 3;
const LOCAL_TIMER: u8 = 0xec;
/// The vector of remote wake-ups, since they are queued for the woken CPU.
const CALL_FUNCTION_SINGLE: u8 = 0xfb;

/// The least that a wake-up of each kind took from `ready` to the kernel's own event, and how many
/// took hardly more. In virtual time a CPU may have to wait for its turn, so some take long.
fn least(guests: &[(Vec<Event>, Vec<Record>)]) -> BTreeMap<(u8, &'static str), (u64, usize)> {
    const HARDLY_MORE: u64 = 16;
    let mut kinds: BTreeMap<(u8, &str), Vec<u64>> = BTreeMap::new();
    for (events, record) in
        guests.iter().flat_map(|(events, sleeps)| sleeps.iter().map(move |one| (events, one)))
    {
        let kind = match record.vector {
            Some(LOCAL_TIMER) => "timer",
            Some(CALL_FUNCTION_SINGLE) => "call",
            Some(vector) if vector < LOCAL_TIMER => "device",
            _ => continue,
        };
        kinds.entry((record.state, kind)).or_default().extend(until_left(record, events));
    }
    let least = |all: Vec<u64>| {
        let least = *all.iter().min().unwrap();
        (least, all.iter().filter(|one| **one <= least + HARDLY_MORE).count())
    };
    kinds.into_iter().map(|(kind, all)| (kind, least(all))).collect()
}

fn observed(guest: &Guest) -> (Vec<Event>, Vec<Record>) {
    let events = guest.events();
    let sleeps = guest.sleeps(&events);
    (events, sleeps)
}

#[test]
fn a_wake_up_takes_the_exit_latency_whatever_woke_the_cpu() {
    let kernels: &[&str] = if is_full() { &["debian:6.12", "debian:6.1"] } else { &["debian:6.12"] };
    for kernel in kernels {
        let study = Study::new(&format!("kernel = '{kernel}'\n{}", wakes()));
        let guests: Vec<(Vec<Event>, Vec<Record>)> = study.run("out").iter().map(observed).collect();
        let sleeps: Vec<&Record> = guests.iter().flat_map(|(_, sleeps)| sleeps).collect();
        for record in sleeps.iter().filter(|record| !record.during_entry) {
            let latency = record.ready_ns - record.woken_ns;
            match (record.state, record.package) {
                (FREE, _) => assert_eq!(latency, 0, "{record:?}"),
                (C1, _) => assert!(lasted(latency, 1_000), "{record:?}"),
                (C6, 1) => assert!(lasted(latency, 350_000), "{record:?}"),
                // Alone, or while another CPU waits for the package: at most what that takes.
                _ => assert!((290_000..350_000 + NOTICED).contains(&latency), "{record:?}"),
            }
        }
        let of_package = |package| sleeps.iter().filter(|r| r.state == C6 && r.package == package).count();
        assert!(of_package(0) > 10 && of_package(1) > 3, "{kernel}: {} {}", of_package(0), of_package(1));

        let least = least(&guests);
        let (reference, _) = least[&(C1, "timer")];
        for kind in ["timer", "call", "device"] {
            for state in [C1, C6] {
                let (ns, count) = least[&(state, kind)];
                assert!(ns.abs_diff(reference) <= 8, "{kernel}: {kind} {state}: {ns} and {reference}");
                assert!(count >= 4, "{kernel}: {kind} {state}: {count} of {ns}");
            }
        }
        // The emulator's own way, which a state without latency cannot be shorter than.
        let floor = least.iter().filter(|((state, _), _)| *state == FREE).map(|(_, (ns, _))| ns - reference);
        assert!(floor.min().is_some_and(|floor| floor < 500), "{kernel}: {least:?}");

        // The kernel's own timer, as it was set.
        let timer = sleeps.iter().filter(|record| record.vector == Some(LOCAL_TIMER));
        let late = timer.map(|record| record.woken_ns as i64 - record.next_timer_ns).min();
        assert!(late.is_some_and(|late| (0..1000).contains(&late)), "{kernel}: {late:?}");
    }
}

/// The time that the emulator needs to notice the end of a wait, ns. It depends on when the timer counts.
const NOTICED: u64 = 32;

/// True if a wait took its time, and not less.
fn lasted(ns: u64, wanted: u64) -> bool {
    (wanted..wanted + NOTICED).contains(&ns)
}

#[test]
fn a_wake_up_during_entry_waits_for_its_end_and_the_exit() {
    // Of 350 us 250 are for entering. No package, whose states have an exit of their own.
    let (machine, _) = MACHINE.split_once("[[package-state]]").unwrap();
    let machine =
        machine.replace("target-residency = '800us'", "target-residency = '800us'\nentry = '250us'");
    let study = Study::with(
        &machine,
        &format!(
            "kernel = 'debian:6.12'
read = ['/sys/kernel/debug/cstate_emulator/records/cpu1']
[[case]]
name = 'entering'
write = {{ {} }}
script = {{ cpu = 0, run = ['dyntick', 'guest-packets', 'poisson:500us', '-n', '400', '--from', '0', '--to', '1'], in-window = true }}
",
            only(C6)
        ),
    );
    let guest = study.run("out").remove(0);
    let events = guest.events();
    let (during, after): (Vec<Record>, Vec<Record>) = guest
        .sleeps(&events)
        .into_iter()
        .filter(|record| record.state == C6)
        .partition(|one| one.during_entry);
    assert!(during.len() > 10 && after.len() > 10, "{} and {}", during.len(), after.len());
    for record in &during {
        assert!(record.woken_ns < record.entered_ns + 250_000, "{record:?}");
        assert!(lasted(record.ready_ns - record.entered_ns, 350_000), "{record:?}");
    }
    for record in &after {
        assert!(record.woken_ns >= record.entered_ns + 250_000, "{record:?}");
        assert!(lasted(record.ready_ns - record.woken_ns, 100_000), "{record:?}");
    }
    // The kernel, which knows nothing of it, slept as long. In virtual time some wait for their turn.
    let late: Vec<u64> = during.iter().filter_map(|record| until_left(record, &events)).collect();
    let hardly = late.iter().filter(|ns| **ns < 1_000).count();
    assert!(hardly > 10 && late.len() == during.len(), "{late:?}");
}

/// Lines of `write` that leave CPU 1 this state only.
fn only(state: u8) -> String {
    let others = (0..=C6).filter(|other| *other != state);
    let file = |state| format!("'/sys/devices/system/cpu/cpu1/cpuidle/state{state}/disable' = 1");
    others.map(file).collect::<Vec<_>>().join(", ")
}

/// CPU 1 sleeps in C6 only, and is woken by its own timers and by the other CPU.
fn mixed(name: &str, keys: &str) -> String {
    format!(
        "[[case]]
name = '{name}'
write = {{ {} }}
task = [{{ cpu = 1, run = ['busybox', 'sh', '-c', 'while usleep 4700; do :; done'] }}]
script = {{ cpu = 0, run = ['dyntick', 'guest-packets', 'poisson:500us', '-n', '400', '--from', '0', '--to', '1'], in-window = true }}
{keys}
",
        only(C6)
    )
}

const READ: &str = "kernel = 'debian:6.12'
read = ['/sys/kernel/debug/cstate_emulator/records/cpu1', '/sys/devices/system/cpu/cpu1/cpuidle/state3/latency']
";

/// That machine without the package, and with what was measured of C6.
fn measured() -> String {
    let (machine, _) = MACHINE.split_once("[[package-state]]").unwrap();
    let measured = "measured = { exit-latency = '100us', source = 's', remark = 'r',
        quantiles = [[0, '80us'], [50, '100us'], [99, '120us'], [100, '200us']] }\n";
    machine.replace("exit-latency = '350us'\n", &format!("exit-latency = '350us'\n{measured}"))
}

#[test]
fn exits_take_the_tables_latency_or_what_was_measured() {
    // Fixed latencies are seen with other tests, too.
    let cases = [("random", "exit = 'distribution'"), ("measured", "exit = 'measured'"), ("table", "")];
    let cases = if is_full() { &cases[..] } else { &cases[..1] };
    let study = Study::with(
        &measured(),
        &(READ.to_owned() + &cases.iter().map(|(name, keys)| mixed(name, keys)).collect::<String>()),
    );
    let runs = study.run("out");
    let exits = |guest: &Guest| -> Vec<u64> {
        assert_eq!(text(&guest.raw("file.latency.after")).trim(), "350", "the kernel is told the table's");
        let sleeps =
            guest.sleeps(&guest.events()).into_iter().filter(|one| one.state == C6 && !one.during_entry);
        let mut exits: Vec<u64> = sleeps.map(|one| one.ready_ns - one.woken_ns).collect();
        exits.sort_unstable();
        assert!(exits.len() > 200, "{}", exits.len());
        exits
    };
    let all: Vec<Vec<u64>> = runs.iter().map(exits).collect();
    let random = &all[0];
    for (exits, wanted) in all[1..].iter().zip([100_000, 350_000]) {
        assert!(exits.iter().all(|exit| lasted(*exit, wanted)), "{exits:?}");
    }

    assert!(random[0] >= 80_000 && random[random.len() - 1] < 200_000 + NOTICED, "{random:?}");
    // By chance alone the share of the lower half is farther off less than once in a thousand sequences.
    let share = |ns: u64| random.partition_point(|exit| *exit <= ns) as f64 / random.len() as f64;
    assert!((0.35..0.65).contains(&share(100_000)), "{} {random:?}", share(100_000));
    assert!(share(120_000) > 0.9, "{} {random:?}", share(120_000));

    // The kernel, which knows nothing of it, leaves its state when the emulator is done.
    for guest in &runs {
        let events = guest.events();
        let after: Vec<u64> =
            guest.sleeps(&events).iter().filter_map(|record| until_left(record, &events)).collect();
        let soon = after.iter().filter(|ns| **ns < 1_000).count();
        assert!(soon * 2 > after.len(), "{after:?}");
    }
    let files = |folder: &Path| store::comparable_files(folder).unwrap();
    let again = &study.run_with("again", &["--case", "random"])[0];
    assert!(files(&runs[0].folder) == files(&again.folder), "the drawn latencies repeat");
}

#[test]
fn a_cpu_that_wakes_ahead_of_its_timer_pays_for_other_wake_ups_only() {
    let cases = mixed("early", "pre-wake = true");
    let study = Study::with(&measured(), &(READ.to_owned() + &cases));
    let guest = study.run("out").remove(0);
    let events = guest.events();
    let sleeps = guest.sleeps(&events);
    let mut woken = BTreeMap::new();
    for record in sleeps.iter().filter(|one| one.state == C6) {
        const EXIT: i64 = 350_000;
        let (entered, came) = (record.entered_ns as i64, record.woken_ns as i64);
        // The exit begins with the interrupt, or so early that it ends when the timer is due. A timer that was due
        // before the core slept is not waited for.
        let overdue = record.next_timer_ns < entered;
        let ahead = if overdue { came } else { record.next_timer_ns.saturating_sub(EXIT).max(entered) };
        let wanted = (came.min(ahead) + EXIT - came).max(0);
        let took = record.ready_ns as i64 - came;
        assert!((wanted - NOTICED as i64..=wanted + NOTICED as i64).contains(&took), "{wanted}: {record:?}");
        let hidden = took < NOTICED as i64;
        *woken.entry((record.vector == Some(LOCAL_TIMER), hidden)).or_insert(0) += 1;
    }
    let count = |kind| woken.get(&kind).copied().unwrap_or(0);
    assert!(count((true, true)) > 20, "timers that nobody waited for: {woken:?}");
    assert!(count((false, false)) > 20, "others that paid: {woken:?}");
    let timers = sleeps.iter().filter(|one| one.vector == Some(LOCAL_TIMER) && one.ready_ns == one.woken_ns);
    let late: Vec<u64> = timers.filter_map(|record| until_left(record, &events)).collect();
    assert!(late.iter().filter(|ns| **ns < 1_000).count() * 2 > late.len(), "{late:?}");
}

#[test]
fn a_package_is_awake_while_its_last_cpu_is_entering() {
    if !is_full() {
        return;
    }
    // Entering takes 250 us, and CPU 1 sleeps for 100.
    let machine =
        MACHINE.replace("target-residency = '800us'", "target-residency = '800us'\nentry = '250us'");
    let study = Study::with(
        &machine,
        &format!(
            "kernel = 'debian:6.12'
measure = '200ms'
read = ['/sys/kernel/debug/cstate_emulator/records/cpu1', '/sys/kernel/debug/cstate_emulator/package_states']
[[case]]
name = 'entering'
write = {{ {} }}
task = [{{ cpu = 1, run = ['dyntick', 'guest-packets', 'fixed:100us', '-n', '100000', '--from', '1', '--to', '1'] }}]
",
            only(C6)
        ),
    );
    let guest = study.run("out").remove(0);
    let (during, _): (Vec<Record>, Vec<Record>) =
        guest.sleeps(&guest.events()).into_iter().partition(|record| record.during_entry);
    assert!(during.len() > 50, "{}", during.len());
    for record in &during {
        assert_eq!(record.package, 0, "{record:?}");
    }
}

#[test]
fn a_tick_that_cannot_be_given_back_is_refused() {
    let study =
        Study::new("kernel = 'debian:6.12'\nappend = 'highres=off nohz=off'\n[[case]]\nname = 'periodic'\n");
    let mut command = dyntick();
    command.args(["lab", "run"]).arg(study.folder.path().join("study.toml"));
    let output = command.arg("--out").arg(study.folder.path().join("out")).output().unwrap();
    assert!(!output.status.success());
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(told.contains("wait=halt cannot give a periodic tick its timer back"), "{told}");
}

#[test]
fn latencies_are_skipped_and_repeat_to_the_bit() {
    if !is_full() {
        return;
    }
    let study = Study::new(&format!(
        "kernel = 'debian:6.12'
profile = true
measure = '100ms'
task = [{{ cpu = 0, run = ['dyntick', 'guest-packets', 'fixed:2ms', '-n', '2000', '--from', '0', '--to', '1'] }}]
[[case]]
name = 'deep'
write = {{ {} }}
[[case]]
name = 'shallow'
write = {{ {} }}
",
        only(C6),
        only(C1)
    ));
    let guests = study.run("out");
    let [deep, shallow] = [&guests[0], &guests[1]].map(Guest::instructions);
    // Spun, 50 latencies of 290 us would be 14.5 million instructions.
    eprintln!("kernel instructions with 290 us {deep}, with 1 us {shallow}");
    assert!(deep < shallow + 50 * 290_000 / 10, "{deep} and {shallow}");
    let files = |folder: &Path| store::comparable_files(folder).unwrap();
    let again = &study.run_with("again", &["--case", "deep"])[0];
    assert!(files(&guests[0].folder) == files(&again.folder), "{}", again.folder.display());
}

#[test]
fn a_package_does_not_sleep_while_a_cpu_is_busy() {
    let study = Study::new(
        "kernel = 'debian:6.12'
measure = '500ms'
read = ['/sys/kernel/debug/cstate_emulator/package_states', '/sys/kernel/debug/cstate_emulator/idle_states']
[[case]]
name = 'busy'
task = [{ cpu = 0, run = 'spin' }]
[[case]]
name = 'idle'
",
    );
    let guests = study.run("out");
    let entries = |guest: &Guest| guest.grown("package_states", "package0_C6_entries");
    assert_eq!(entries(&guests[0]), 0);
    assert!(entries(&guests[1]) > 0);
}

/// As many states as the kernel has room for, and four tables that make no sense.
const TABLES: &str = "
m=/modules/00-cstate_emulator.ko
rmmod cstate_emulator && cat /sys/devices/system/cpu/cpuidle/current_driver
insmod $m states=POLL,C1:1000:1000,C1:2000:2000
insmod $m states=POLL,C1:2000:2000,C6:1000:9000
insmod $m states=POLL,C1:2000:2000:exits=0@1000/500000@2000
insmod $m states=POLL,C1:1:1,C2:2:2,C3:3:3,C4:4:4,C5:5:5,C6:6:6,C7:7:7,C8:8:8,C9:9:9,C10:10:10
insmod $m states=POLL,C1:1000:2000,A:2000:2000,B:3000:3000:tlb,C:4000:4000,D:5000:5000:off,E:6000:6000,F:7000:7000,G:8000:8000,H:9000:9000:unusable:entry=4000 wait=halt
cat /sys/devices/system/cpu/cpuidle/current_driver
cd /sys/devices/system/cpu/cpu1/cpuidle
for s in state*; do echo $s $(cat $s/name $s/latency $s/residency $s/disable); done
dmesg | grep 'cstate_emulator: states'
";

#[test]
fn tables_are_shown_by_the_kernel_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("own.toml"), MACHINE).unwrap();
    let mut shell = dyntick();
    shell.args(["lab", "shell", "--virtual", "--machine", "./own.toml", "--"]);
    shell.args(["busybox", "sh", "-c", TABLES]).current_dir(folder.path());
    let Output { stdout, stderr, .. } = shell.output().unwrap();
    let said = text(&stdout).replace('\r', "");
    let has =
        |line: &str| assert!(said.lines().any(|one| one.contains(line)), "{line}: {said}{}", text(&stderr));
    has("none");
    has("states: 'C1:2000:2000': there are two states of this name");
    has("states: 'C6:1000:9000': a deeper state has no shorter latency");
    has("states: 'C1:2000:2000:exits=0@1000/500000@2000': options are");
    has("states: 'C10:10:10': the kernel has room for 10 states");
    has("cstate_emulator");
    has("state0 POLL 0 0 0");
    has("state1 C1 1 2 0");
    has("state5 D 5 5 1");
    has("state9 H 9 9 0");
}
