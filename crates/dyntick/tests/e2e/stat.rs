// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick stat` on the machine at hand and, in guests, against the kernel's own counts and against what
//! recording the same events costs.
//!
//! `DYNTICK` names the binary under test, as in `lab.rs`.

use crate::harness::{self, binary, dyntick, in_guest, is_full, text};
use dyntick_contract::stat::{Cpu, Group, Long, Printed, PrintedRow};
use dyntick_observe::live::{Lost, Missing};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

fn run(command: &mut Command) -> Output {
    command.output().unwrap()
}

/// The document that `stat --json` wrote to a file; `None`, with a message, if this machine does not let it count.
fn counted(arguments: &[&str]) -> Option<(Printed, Output)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stat.json");
    let output = run(dyntick().args(["stat", "--json", "-o"]).arg(&file).args(arguments));
    let stat: Printed = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    if stat.counted {
        return Some((stat, output));
    }
    eprintln!("skipped: {:?}", stat.missing);
    None
}

/// The document in a line of what a guest printed.
fn parsed(line: Option<&str>, printed: &str) -> Printed {
    serde_json::from_str(line.unwrap_or_default()).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

fn rows(cpu: &Cpu) -> Vec<&PrintedRow> {
    let groups = [&cpu.interruptions, &cpu.user_tasks, &cpu.page_faults].into_iter().flatten().flatten();
    groups.flat_map(|group| std::iter::once(&group.row).chain(&group.parts)).collect()
}

fn count(cpu: &Cpu, name: &str) -> u64 {
    rows(cpu).iter().filter(|row| row.name == name).map(|row| row.count).sum()
}

#[test]
fn output_and_status_are_the_commands() {
    let output = run(dyntick().args(["stat", "-C", "0", "sh", "-c", "echo words; exit 3"]));
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(3), "words\n"));
    assert!(text(&output.stderr).contains("The command ended with status 3"), "{}", text(&output.stderr));
    let killed = run(dyntick().args(["stat", "-C", "0", "--", "sh", "-c", "kill -9 $$"]));
    assert_eq!(killed.status.code(), Some(128 + 9));
    for (signal, number) in [("HUP", 1), ("INT", 2), ("TERM", 15)] {
        let script = format!("kill -{signal} $$; exit 3");
        let mut command = dyntick();
        command.args(["stat", "-C", "0", "--", "sh", "-c", &script]);
        // The program that runs tests may ignore the signal, as nohup does, and a program inherits that.
        // SAFETY: signal() is safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::signal(number, libc::SIG_DFL);
                Ok(())
            });
        }
        let ended = run(&mut command);
        assert_eq!(ended.status.code(), Some(128 + number), "a command takes what dyntick itself waits for");
    }
}

#[test]
fn wrong_input_is_told_before_anything_runs() {
    for (arguments, words) in [
        (["-C", "4000", "touch"], "not online"),
        (["-e", "ghosts", "touch"], "not a kind of interruption"),
        (["-o", "/no/such/folder/file", "touch"], "cannot write /no/such/folder/file"),
        (["-C", "0", "/no/such/program"], "cannot run '/no/such/program'"),
    ] {
        let output = run(dyntick().arg("stat").args(arguments));
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}

#[test]
fn the_command_is_told_from_others() {
    let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let Some((stat, _)) = counted(&["-C", "0", "--pin", "sh", "-c", busy]) else { return };
    let (cpu, ended) = (&stat.cpus[0], stat.ended.unwrap());
    let used = (ended.user_ns + ended.system_ns) as f64;
    let turns = cpu.command_ns.unwrap() as f64;
    // The kernel's own account has a resolution of a tick on some machines.
    assert!((turns - used).abs() < 0.2 * used + 2e7, "{turns} ns in turns, {used} ns of CPU time");
    assert!(count(cpu, "tick") > 0, "{cpu:#?}");
}

/// The parts of each CPU's time add up to all of it, and each of them is what its rows say.
fn assert_times_add_up(stat: &Printed) {
    for cpu in &stat.cpus {
        let parts = [
            cpu.interrupted_ns.unwrap(),
            cpu.command_ns.unwrap(),
            cpu.observer_ns.unwrap(),
            cpu.other_tasks_ns.unwrap(),
            cpu.idle_ns.unwrap(),
        ];
        assert_eq!(parts.iter().sum::<u64>() + cpu.uncounted_ns.unwrap(), cpu.time_ns.unwrap(), "{cpu:#?}");
        assert!(cpu.time_ns.unwrap() >= stat.measured_ns, "{cpu:#?}");
        let of = |groups: &[Group]| -> u64 { groups.iter().map(|group| group.row.total_ns.unwrap()).sum() };
        assert_eq!(of(cpu.interruptions.as_ref().unwrap()), cpu.interrupted_ns.unwrap(), "{cpu:#?}");
        assert_eq!(of(cpu.user_tasks.as_ref().unwrap()), cpu.other_tasks_ns.unwrap(), "{cpu:#?}");
        assert!(cpu.unattributed_ns.unwrap() <= cpu.interrupted_ns.unwrap(), "{cpu:#?}");
        assert_works_are_parts(cpu);
        let is_interruption = |name: &str| !name.contains("user tasks") && !name.contains("page fault");
        assert!(cpu.interruptions.iter().flatten().all(|group| is_interruption(&group.row.name)), "{cpu:#?}");
    }
}

/// Work items take no longer than the kworkers that run them, of which they are parts. The counters are read one after
/// the other while the CPU runs on.
fn assert_works_are_parts(cpu: &Cpu) {
    const MEANWHILE_NS: u64 = 1_000_000;
    for group in cpu.interruptions.iter().flatten() {
        let works = group.parts.iter().filter(|part| part.name.starts_with("work item"));
        let works_ns: u64 = works.map(|work| work.total_ns.unwrap()).sum();
        assert!(works_ns <= group.row.total_ns.unwrap() + MEANWHILE_NS, "{group:#?}");
    }
}

/// On this machine, whatever it does meanwhile: by either source, with a command, without one, and twice.
#[test]
fn times_add_up() {
    let busy = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; /bin/true";
    let forms: [&[&str]; 4] = [
        &["sh", "-c", busy],
        &["--timeout", "200"],
        &["-r", "2", "sh", "-c", busy],
        &["--source", "tracefs", "sh", "-c", busy],
    ];
    for form in forms {
        let Some((stat, _)) = counted(form) else { return };
        assert_times_add_up(&stat);
    }
}

/// A million events a second over two CPUs, none of them lost. How many a second came is printed: a machine
/// that does other things gets fewer.
#[test]
fn no_event_is_lost() {
    let Some((lost, faults)) = many_faults("bpf") else { return };
    assert!(faults.iter().all(|here| *here >= EACH), "page faults of {EACH} that were counted: {faults:?}");
    assert_eq!(lost, Lost::default());
}

/// The same by trace events, where the thread that empties the buffers shares these CPUs: each event is counted
/// or known to be lost.
#[test]
fn no_trace_event_is_lost_unseen() {
    let Some((lost, faults)) = many_faults("tracefs") else { return };
    let (counted, all) = (faults.iter().sum::<u64>(), EACH * faults.len() as u64);
    assert!(counted + lost.overrun >= all, "{counted} counted and {lost:?} lost of {all}");
    assert_eq!(lost.undecoded, 0);
}

const EACH: u64 = 1_000_000;

/// Counts many page faults on two CPUs at once; returns the lost events, and the number that was counted on each CPU.
fn many_faults(source: &str) -> Option<(Lost, Vec<u64>)> {
    let online = std::thread::available_parallelism().map_or(1, usize::from);
    let cpus = if online > 1 { "0-1" } else { "0" };
    let own = binary().display().to_string();
    let probe = |cpu: u32| format!("{own} guest-probe page-fault -C {cpu} -n {EACH}");
    let both = if online > 1 { format!("{} & {}; wait", probe(0), probe(1)) } else { probe(0) };
    let (stat, output) = counted(&["--source", source, "-C", cpus, "-e", "faults", "sh", "-c", &both])?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(stat.source.as_deref(), Some(source));
    let faults: Vec<u64> = stat.cpus.iter().map(|cpu| count(cpu, "page faults of user code")).collect();
    let (all, lost) = (faults.iter().sum::<u64>() as f64, stat.lost.unwrap());
    let seconds = stat.measured_ns as f64 / 1e9;
    eprintln!("by {source}: {all} counted, {:.0} a second, lost: {lost:?}", all / seconds);
    Some((lost, faults))
}

#[test]
fn without_privileges_it_tells_what_it_can() {
    const BPF: &str =
        "root, or CAP_BPF and CAP_PERFMON; or --source tracefs and write access to /sys/kernel/tracing";
    tells_what_it_can("auto", BPF);
    // Whether tracefs is mounted or not.
    tells_what_it_can("tracefs", "needs root");
}

fn tells_what_it_can(source: &str, needs: &str) {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let mut command = dyntick();
    command.args(["stat", "--json", "--timeout", "100", "--source", source]).uid(NOBODY).gid(NOBODY);
    let Ok(output) = command.output() else {
        eprintln!("skipped: this user cannot become another one, or the other one may not run dyntick");
        return;
    };
    let stat: Printed = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((stat.counted, stat.source, output.status.code()), (false, None, Some(2)));
    let cpu = &stat.cpus[0];
    let uncounted = (&cpu.interruptions, cpu.ticks, cpu.interrupted_ns);
    assert!(matches!(uncounted, (None, None, None)), "not counted is null, and not 0: {cpu:#?}");
    let names_it = |lack: &Missing| lack.needs.contains(needs);
    assert!(stat.missing.iter().any(names_it), "{:?}", stat.missing);
    let machine = &stat.cpus[0].machine;
    assert!(machine.interrupts.values().any(|count| *count > 0), "{machine:?}");
}

/// A guest in virtual time, where each run is like the other, and what it printed.
fn guest(kernel: &str, append: &str, tools: &[&str], script: &str) -> String {
    let options = ["--memory", "1G", "--kernel", kernel, "--append", append];
    in_guest(&[&options[..], &harness::tools(tools)].concat(), &["sh", "-c", script])
}

fn assert_counts_are_the_kernels(kernel: &str, stat: &Printed) {
    let cpu = &stat.cpus[0];
    for (row, name) in [
        ("LOC", "local timer interrupts (LOC)"),
        ("RES", "rescheduling interrupts (RES)"),
        ("CAL", "function call interrupts (CAL)"),
        ("IWI", "IRQ work interrupts (IWI)"),
    ] {
        let kernels = cpu.machine.interrupts.get(row).copied().unwrap_or(0);
        let counted = count(cpu, name);
        assert!(counted <= kernels && kernels <= counted + 1, "{row} on {kernel}, {kernels}: {cpu:#?}");
    }
    // A timer that is set again before it expired expires once: every second one, where counting takes as long.
    assert!((20..=50).contains(&count(cpu, "hrtimer timerfd_tmrproc")), "{cpu:#?}");
    // Interrupts of one vector that wait for the CPU are one. A call that an earlier interrupt answers leaves its own
    // waiting, and the next call's is that one: at most every second.
    assert!((25..=60).contains(&count(cpu, "function call interrupts (CAL)")), "{cpu:#?}");
    assert!(count(cpu, "page faults of user code") >= 50);
    assert_eq!(stat.lost, Some(Lost::default()));
}

/// On a busy isolated CPU the counts are those of `/proc/interrupts`, which stat reads just before its begin
/// and just after its end. Trace events are counted if eBPF is not available, and this is reported.
///
/// On 6.12 a read of the throttle of realtime tasks loses the account of deadline bandwidth (`sched_rt_handler`), and
/// no fair server can be changed from then on: no live verb does so.
fn counts_are_the_kernels(kernel: &str) {
    const SCRIPT: &str = "
bandwidth() { grep total_bw /sys/kernel/debug/sched/debug | tr -cd '0-9\\n' | tr '\\n' ' '; echo; }
bandwidth
dyntick stat -C 1 --json -o /tmp/o dyntick guest-probe all -C 1 -n 50 && tr -d '\\n' < /tmp/o && echo
dyntick check -C 1 --fail-on never > /dev/null
dyntick explain -C 1 -o /tmp/o -- true 2> /dev/null
dyntick top -b -n 1 -d 0.1 > /dev/null
dyntick latency -a1 -t1 -l 5 -q > /dev/null
dyntick isolate -C 1 -o /tmp/o -- true 2> /dev/null
bandwidth
mkdir /tmp/none && mount --bind /tmp/none /sys/kernel/btf || exit
work='dyntick guest-probe all -C 1 -n 50'
dyntick stat -C 1 --json -o /tmp/o $work && tr -d '\\n' < /tmp/o && echo
dyntick stat -C 1 $work 2>&1
dyntick stat -C 1 -x ';' $work 2>&1
dyntick top -b -n 1 -d 0.1
dyntick stat -C 1 --source bpf $work 2>&1
ls /sys/kernel/tracing/instances | wc -l
";
    const NOTE: &str = "Counted from trace events (tracefs), which costs the measured CPUs more than eBPF does; \
                        since eBPF cannot be used: this kernel has no type information";
    let printed = guest(kernel, "isolcpus=domain,1 nohz_full=1", &["grep", "mount", "tr", "wc"], SCRIPT);
    let mut lines = printed.lines();
    let before = lines.next().unwrap();
    let has_servers = before.split_whitespace().all(|bandwidth| bandwidth != "0");
    assert!(has_servers || kernel == "debian:6.1", "each CPU has a fair server: {before}");
    let stat = parsed(lines.next(), &printed);
    assert_eq!((stat.source.as_deref(), &stat.source_note), (Some("bpf"), &None));
    assert_times_add_up(&stat);
    assert_counts_are_the_kernels(kernel, &stat);
    assert_eq!(Some(before), lines.next(), "the deadline bandwidth is as before");
    let stat = parsed(lines.next(), &printed);
    assert_eq!(stat.source.as_deref(), Some("tracefs"));
    assert_counts_are_the_kernels(kernel, &stat);
    assert!(stat.source_note.as_ref().is_some_and(|note| note.starts_with(NOTE)), "{stat:#?}");
    // The terminal breaks lines.
    let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words.matches(NOTE).count(), 4, "JSON, text, CSV and top say so: {printed}");
    assert!(words.contains("causes and durations needs this kernel has no type information"), "{printed}");
    assert!(
        printed.contains(";source;tracefs;1;") && printed.contains("hrtimer timerfd_tmrproc"),
        "{printed}"
    );
    assert_eq!(printed.lines().last(), Some("0"), "no trace instance is left");
}

#[test]
fn counts_are_those_of_6_12() {
    counts_are_the_kernels("debian:6.12");
}

#[test]
fn counts_are_those_of_6_1() {
    counts_are_the_kernels("debian:6.1");
}

/// A task that has its CPU for itself, from before the begin until the end or until some time within. On the wall
/// clock: to emulate each instruction of a busy task takes long.
#[test]
fn a_task_that_ran_before_the_begin_has_its_time() {
    const SCRIPT: &str = "
printf '#!/bin/sh\nwhile :; do :; done\n' > /tmp/busy && chmod +x /tmp/busy
for source in SOURCES; do
  taskset -c 1 /tmp/busy & sleep 0.2
  dyntick stat -C 1 --source $source --json -o /tmp/o sleep 0.3; tr -d '\n' < /tmp/o && echo
  dyntick stat -C 1 --source $source --json -o /tmp/o sh -c \"sleep 0.4; kill -9 $!; sleep 0.1\"; tr -d '\n' < /tmp/o && echo
done
";
    let sources: &[&str] = if is_full() { &["bpf", "tracefs"] } else { &["bpf"] };
    let script = SCRIPT.replace("SOURCES", &sources.join(" "));
    let mut command = dyntick();
    command.args(["lab", "shell", "--memory", "1G", "--kernel", "debian:6.12"]);
    command.args(["--append", "isolcpus=domain,1 nohz_full=1"]);
    for tool in ["taskset", "sleep", "chmod", "tr"] {
        command.args(["--tool", tool]);
    }
    let output = run(command.args(["--", "sh", "-c", &script]));
    let printed = text(&output.stdout).replace('\r', "");
    let all: Vec<Printed> = printed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(all.len(), 2 * sources.len(), "{printed}\n{}", text(&output.stderr));
    for (number, stat) in (0..).zip(&all) {
        assert_times_add_up(stat);
        let cpu = &stat.cpus[0];
        assert!(cpu.other_tasks_ns.unwrap() > cpu.time_ns.unwrap() / 2, "{cpu:#?}");
        assert!(cpu.uncounted_ns.unwrap() < cpu.time_ns.unwrap() / 20, "{cpu:#?}");
        // A time slice is counted when its end is seen. Each kernel thread that preempts the task ends one more.
        let (ended, preemptions) = (number % 2, count(cpu, "kernel threads"));
        assert!((ended..=ended + preemptions).contains(&count(cpu, "busy")), "{cpu:#?}");
        assert!(rows(cpu).iter().any(|row| row.name == "busy"), "{cpu:#?}");
    }
}

/// Programs of which many are started and gone at once.
const STORM: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// The number of times that each of them is started: more threads than a CPU has slots.
const STARTED: u64 = 250;

/// While thousands of tasks come and go, each is counted under its program's name, and all time has a cause.
#[test]
fn dead_tasks_stay_under_their_programs_names() {
    const SCRIPT: &str = "
echo '#!/bin/sh' > /tmp/alpha; chmod +x /tmp/alpha; for name in beta gamma delta; do ln /tmp/alpha /tmp/$name; done
echo 'while [ ! -e /tmp/go ]; do sleep 0.01; done
i=0; while [ $i -lt STARTED ]; do i=$((i+1)); /tmp/alpha; /tmp/beta; /tmp/gamma; /tmp/delta; done; >/tmp/done' > /tmp/storm
for source in SOURCES; do
  rm -f /tmp/go /tmp/done
  taskset -c 1 sh /tmp/storm &
  dyntick stat -C 1 --source $source --json -o /tmp/o sh -c '>/tmp/go; while [ ! -e /tmp/done ]; do sleep 0.1; done'
  tr -d '\\n' < /tmp/o && echo
done
";
    let sources: &[&str] = if is_full() { &["bpf", "tracefs"] } else { &["bpf"] };
    let script = SCRIPT.replace("STARTED", &STARTED.to_string()).replace("SOURCES", &sources.join(" "));
    let tools = ["chmod", "ln", "rm", "sleep", "taskset", "tr"];
    let printed = guest("debian:6.12", "isolcpus=domain,1", &tools, &script);
    let mut lines = printed.lines();
    for source in sources.iter().copied() {
        let stat = parsed(lines.next(), &printed);
        assert_eq!((stat.source.as_deref(), stat.lost), (Some(source), Some(Lost::default())));
        let cpu = &stat.cpus[0];
        for name in STORM {
            let turns = count(cpu, name);
            // One or two may have begun before the counting.
            assert!(turns + 2 >= STARTED, "{turns} turns of {name} by {source}: {cpu:#?}");
        }
        assert_eq!(cpu.unattributed_ns.unwrap(), 0, "{cpu:#?}");
        let (all, uncounted) = (cpu.time_ns.unwrap(), cpu.uncounted_ns.unwrap());
        eprintln!("by {source}: all but {uncounted} ns of {all} ns have a cause");
        assert!(uncounted < all / 100, "{uncounted} ns of {all} ns by {source}: {cpu:#?}");
    }
}

/// More programs than a CPU has slots, one after the other within one interval: none is without its name.
#[test]
fn many_names_in_one_interval_are_all_kept() {
    if !is_full() {
        return;
    }
    const NAMES: usize = 400;
    const SCRIPT: &str = "
i=0; while [ $i -lt NAMES ]; do i=$((i+1)); echo '#!/bin/sh' > /tmp/name$i; done; chmod +x /tmp/name*
echo 'while [ ! -e /tmp/go ]; do sleep 0.01; done
i=0; while [ $i -lt NAMES ]; do i=$((i+1)); /tmp/name$i; sleep 0.003; done; >/tmp/done' > /tmp/storm
taskset -c 1 sh /tmp/storm &
dyntick stat -C 1 --source bpf --json -o /tmp/o sh -c '>/tmp/go; while [ ! -e /tmp/done ]; do sleep 0.1; done'
tr -d '\\n' < /tmp/o && echo
";
    let script = SCRIPT.replace("NAMES", &NAMES.to_string());
    let printed = guest("debian:6.12", "isolcpus=domain,1", &["chmod", "sleep", "taskset", "tr"], &script);
    let stat = parsed(printed.lines().next(), &printed);
    assert_eq!(stat.lost, Some(Lost::default()));
    let cpu = &stat.cpus[0];
    let named = rows(cpu).iter().filter(|row| row.name.starts_with("name")).count();
    assert_eq!(named, NAMES, "{cpu:#?}");
}

/// The rows whose occurrences are listed one by one: no sums, and none that is also listed under another name.
fn one_by_one(cpu: &Cpu) -> BTreeMap<&str, Vec<&PrintedRow>> {
    let mut by_name: BTreeMap<&str, Vec<&PrintedRow>> = BTreeMap::new();
    for row in rows(cpu) {
        if !["kernel threads", "other user tasks", "no timer expired"].contains(&row.name.as_str()) {
            by_name.entry(&row.name).or_default().push(row);
        }
    }
    by_name
}

/// The number of these that took at least `ns` until they ended. A bucket begins at `ns`.
fn ended_from(rows: &[&PrintedRow], ns: u64) -> u64 {
    let buckets = rows.iter().flat_map(|row| &row.histogram);
    let long = buckets.filter(|bucket| bucket.below_ns.is_none_or(|below| below > ns));
    long.map(|bucket| bucket.count).sum()
}

/// The list of single occurrences matches the histograms, except for one that ended between the two readings.
/// Occurrences that the ring had no room for, while no process emptied it, are counted.
#[test]
fn those_that_took_long_are_told_one_by_one() {
    const SCRIPT: &str = r#"
dyntick stat -C 1 --over 2.047 --json -o /tmp/o dyntick guest-probe all -C 1 -n 200 && tr -d '\n' < /tmp/o && echo
"#;
    // More than the ring has room for take long to make.
    const TOO_MANY: &str = r#"
dyntick stat -C 1 --over 0 --json -o /tmp/o sh -c '>/tmp/go; dyntick guest-probe ipi -C 1 -n 12000; >/tmp/end' & stat=$!
while [ ! -e /tmp/go ]; do sleep 0.01; done
kill -STOP $stat; while [ ! -e /tmp/end ]; do sleep 0.1; done; kill -CONT $stat; wait $stat; grep -c at_ns < /tmp/o
sed '/^    "each": \[/,/^    \]/d' /tmp/o | tr -d '\n'
"#;
    let script = if is_full() { [SCRIPT, TOO_MANY].concat() } else { SCRIPT.to_owned() };
    let printed = guest("debian:6.12", "isolcpus=domain,1", &["tr", "sleep"], &script);
    let mut lines = printed.lines();
    let some = parsed(lines.next(), &printed);
    let longest = some.longest.unwrap();
    assert!(longest.each.len() > 20 && longest.lost == 0, "{longest:#?}");
    let by_name = one_by_one(&some.cpus[0]);
    for one in &longest.each {
        assert!(one.ns >= 2048 && one.cpu == 1, "{one:?}");
        assert!(one.at_ns < some.measured_ns, "{one:?}");
        assert!(by_name.contains_key(one.name.as_str()), "{one:?}");
    }
    for (name, rows) in by_name {
        let told = longest.each.iter().filter(|one| one.name == name).count() as u64;
        let ended = ended_from(&rows, 2048);
        assert!(told.abs_diff(ended) <= 1, "{name}: {told} told, {ended} ended");
    }
    let probe = |one: &&Long| one.interrupted.as_ref().is_some_and(|task| task.comm == "dyntick");
    assert!(longest.each.iter().filter(probe).count() > 10, "{longest:?}");

    if !is_full() {
        return;
    }
    let [kept, too_many] = lines.collect::<Vec<_>>()[..] else { panic!("{printed}") };
    // Its list is cut out.
    let too_many: Value = serde_json::from_str(too_many).unwrap();
    let (kept, lost): (u64, _) = (kept.parse().unwrap(), too_many["longest"]["lost"].as_u64().unwrap());
    let cpu: Cpu = serde_json::from_value(too_many["cpus"][0].clone()).unwrap();
    let ended: u64 = one_by_one(&cpu).values().map(|rows| ended_from(rows, 0)).sum();
    eprintln!("{kept} kept, {lost} lost, {ended} ended");
    // Turns of the command itself are left out of those that were kept, and found room in the ring.
    assert!(lost > 0 && ended.abs_diff(kept + lost) <= 20, "{kept} kept, {lost} lost, {ended} ended");
}

/// The same load with and without a tool, side by side in one guest. Only the CPU under load executes
/// anything there, and in virtual time an instruction is a nanosecond: what the load takes longer is what
/// the tool costs it.
#[test]
fn counting_costs_a_fifth_of_recording() {
    if !is_full() {
        return;
    }
    const SCRIPT: &str = r#"
echo 'dyntick guest-probe $1 -C 1 -n $2 --time > /tmp/ns' > /tmp/load
each() {
  load="sh /tmp/load $1 $3"; kind=$1 kinds=$2; shift 3
  $load; $load; echo "$kind none $(cat /tmp/ns)"
  dyntick stat -C 1 -e $kinds -o /tmp/stat $load; echo "$kind stat $(cat /tmp/ns)"
  perf record -a -o /tmp/perf "$@" $load >/tmp/log 2>&1; echo "$kind perf $(cat /tmp/ns)"
  trace-cmd record -o /tmp/trace "$@" $load >/tmp/log 2>&1; echo "$kind trace-cmd $(cat /tmp/ns)"
}
each page-fault faults 2000 -e exceptions:page_fault_user -e exceptions:page_fault_kernel
dyntick stat --source tracefs -C 1 -e faults -o /tmp/stat sh /tmp/load page-fault 2000
echo "page-fault traced $(cat /tmp/ns)"
each timer timers 200 -e irq_vectors:local_timer_entry -e irq_vectors:local_timer_exit \
  -e timer:hrtimer_expire_entry -e timer:hrtimer_expire_exit -e timer:timer_expire_entry -e timer:timer_expire_exit
"#;
    let printed = guest("debian:6.12", "isolcpus=domain,1", &["perf", "trace-cmd"], SCRIPT);
    let ns = |kind: &str, tool: &str| -> f64 {
        let begin = format!("{kind} {tool} ");
        let line = printed.lines().find_map(|line| line.strip_prefix(&begin));
        line.and_then(|ns| ns.parse().ok()).unwrap_or_else(|| panic!("no {begin}in {printed}"))
    };
    for kind in ["page-fault", "timer"] {
        let cost = |tool: &str| ns(kind, tool) - ns(kind, "none");
        let (stat, perf, trace) = (cost("stat"), cost("perf"), cost("trace-cmd"));
        eprintln!(
            "{kind}: instructions more with stat {stat:.0}, perf record {perf:.0}, \
             trace-cmd record {trace:.0}: \
             stat costs {:.2} of perf record, {:.2} of trace-cmd record",
            stat / perf,
            stat / trace
        );
        assert!(stat < perf / 5.0 && stat < trace, "{printed}");
    }
    // As it says of itself. The load is over before the thread that empties the buffer on another CPU, whose
    // instructions virtual time counts too, has much to do.
    let cost = |tool: &str| ns("page-fault", tool) - ns("page-fault", "none");
    eprintln!("page-fault: instructions more by trace events {:.0}", cost("traced"));
    assert!(cost("traced") > cost("stat"), "{printed}");
}

/// Two tasks that wake each other on one CPU, as other tasks and as the command, and without a command.
fn switches_cost(kernel: &str) {
    const SCRIPT: &str = r#"
ns() { echo "$1 $(taskset 2 perf bench sched pipe -l 5000 | grep usecs/op)"; }
ns first; ns none
dyntick stat -C 1 -e tasks -o /tmp/o & sleep 5; ns without; kill -INT $!; wait $!; ns none
dyntick stat -C 1 -e tasks -o /tmp/o sh -c '>/tmp/go; while [ ! -e /tmp/end ]; do sleep 1; done' &
while [ ! -e /tmp/go ]; do sleep 1; done; ns others; >/tmp/end; wait $!; ns none
dyntick stat -C 1 -e tasks -o /tmp/o taskset 2 perf bench sched pipe -l 5000 > /tmp/pipe
echo "own $(grep usecs/op /tmp/pipe)"; ns none
"#;
    let printed = guest(kernel, "isolcpus=domain,1", &["perf", "taskset", "grep", "sleep"], SCRIPT);
    let lines: Vec<(&str, f64)> = printed.lines().filter_map(operation).collect();
    let cost = |name: &str| -> f64 {
        let at =
            lines.iter().position(|line| line.0 == name).unwrap_or_else(|| panic!("no {name}: {printed}"));
        // An operation is two switches. An instruction is a nanosecond.
        (lines[at].1 - (lines[at - 1].1 + lines[at + 1].1) / 2.0) * 1000.0 / 2.0
    };
    let [without, others, own] = ["without", "others", "own"].map(cost);
    eprintln!(
        "{kernel}: a switch costs {without:.0}, with a command {others:.0}, one of the command's {own:.0}"
    );
    assert!(without > 0.0 && others < 2.0 * without && own < 3.0 * without, "{printed}");
}

/// The duration of an operation in µs, of a line `NAME NUMBER usecs/op`.
fn operation(line: &str) -> Option<(&str, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, number, "usecs/op"] = words[..] else { return None };
    Some((name, number.parse().ok()?))
}

#[test]
fn switches_cost_less_than_twice_with_a_command() {
    if !is_full() {
        return;
    }
    switches_cost("debian:6.12");
    switches_cost("debian:6.1");
}
