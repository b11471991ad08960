// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick explain` on where the time of a command's threads went: in guests, each against what the kernel or the
//! command itself counted, and each fix that is a command, applied as printed.

use crate::harness::{documents, is_full, tools, trials_program};
use serde_json::Value;

/// The part of a ledger with this name, of which there is one.
fn part<'a>(document: &'a Value, name: &str) -> &'a Value {
    let parts = document["ledger"]["parts"].as_array().unwrap_or_else(|| panic!("no ledger: {document:#}"));
    let found = parts.iter().find(|part| part["part"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {:#}", document["ledger"]))
}

fn ns(document: &Value, name: &str) -> f64 {
    part(document, name)["ns"].as_f64().unwrap()
}

/// The first fix of a part, as it would be typed.
fn fix(document: &Value, name: &str) -> String {
    part(document, name)["fixes"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// Wants the parts of each thread to add up to its life.
fn adds_up(document: &Value) {
    let threads = document["ledger"]["by_thread"].as_array().unwrap();
    assert!(!threads.is_empty(), "{document:#}");
    for thread in threads {
        let sum: u64 = thread["parts"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(Some(sum), thread["lived_ns"].as_u64(), "{thread:#}");
    }
}

/// Explains a command on CPU 1, into a document of this name.
fn explained(name: &str, command: &str) -> String {
    format!("echo; echo @{name}; dyntick explain -C 1 --json -o - -- {command}; ")
}

#[test]
fn quota_and_stops_are_named_with_their_time() {
    const BUSY: &str = "timeout 1 taskset 2 /tmp/busy spin";
    const CALLS: &str = "taskset 2 sh -c 'for i in 1 2 3 4 5; do usleep 20000; done'";
    let trials = trials_program();
    let group = "busybox --install -s /bin; mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null; \
        echo '+cpu +memory' > /sys/fs/cgroup/cgroup.subtree_control; mkdir /sys/fs/cgroup/pod /sys/fs/cgroup/full; \
        echo '20000 100000' > /sys/fs/cgroup/pod/cpu.max; echo 4M > /sys/fs/cgroup/full/memory.high; ";
    // Nothing of a file in memory can be freed.
    const FILL: &str = "taskset 2 sh -c \"echo \\$\\$ > /sys/fs/cgroup/full/cgroup.procs; \
        exec dd if=/dev/zero of=/tmp/full bs=64k count=72\" 2>/dev/null";
    // More memory than the group may have, which goes to swap and comes back.
    const SWAP: &str = "taskset 2 sh -c \"echo \\$\\$ > /sys/fs/cgroup/full/cgroup.procs; \
        exec dd if=/dev/zero of=/dev/null bs=16M count=4\" 2>/dev/null";
    let in_group =
        |command: &str| format!("sh -c 'echo $$ > /sys/fs/cgroup/pod/cgroup.procs; exec {command}'");
    let limited = in_group(BUSY);
    let counted = |name: &str| {
        format!(
            "echo; echo @{name}; awk '/throttled_usec/ {{ print \"{{\\\"us\\\": \" $2 \"}}\" }}' \
             /sys/fs/cgroup/pod/cpu.stat; "
        )
    };
    let stopper = "(sleep 0.5; pkill -STOP -x busy; sleep 0.6; pkill -CONT -x busy) & ";
    let script = [
        group,
        &format!("ln -s {trials} /tmp/busy; "),
        &explained("quota", &limited),
        &counted("counted"),
        &format!("taskset 2 {trials} spin & sleep 0.1; "),
        // The last throttling, up to 80 ms, may end beyond what is explained: it must be a small part of all.
        &explained("beside", &limited.replace("timeout 1", "timeout 2")),
        "kill $!; ",
        &counted("counted beside"),
        "echo max > /sys/fs/cgroup/pod/cpu.max; ",
        &explained("without", &limited),
        &explained("full", FILL),
        "rm /tmp/full; echo max > /sys/fs/cgroup/full/memory.high; ",
        &explained("not full", FILL),
        "rm /tmp/full; echo 64M > /sys/block/zram0/disksize; mkswap /dev/zram0 >/dev/null; swapon /dev/zram0; \
         echo 8M > /sys/fs/cgroup/full/memory.max; ",
        &explained("swap", SWAP),
        &format!("echo; echo @swap counted; dyntick stat -C 1 --json -o - -- {SWAP}; "),
        "echo max > /sys/fs/cgroup/full/memory.max; ",
        &explained("no swap", SWAP),
        stopper,
        &explained("stopped", BUSY),
        &explained("calls", CALLS).replace("-C 1", "-C 1 --syscalls"),
        "flock /tmp/lock sleep 0.8 & sleep 0.1; ",
        &explained("file lock", "taskset 2 flock /tmp/lock true"),
        &format!("{trials} probed & sleep 0.2; "),
        &explained("probed", BUSY),
        "kill $!; ",
        "echo; echo @cost; dyntick record --cost --json -C 1; ",
        "echo; echo @",
    ]
    .concat();
    let machine = ["--kernel", "debian:6.12", "--append", "isolcpus=domain,1", "--module", "zram"];
    let options = [&machine[..], &tools(&["pkill", "flock", &trials])].concat();
    let documents = documents::printed_by(&options, &script);
    documents
        .iter()
        .filter(|(name, _)| !["counted", "counted beside", "swap counted", "cost"].contains(&name.as_str()))
        .for_each(|(_, document)| adds_up(document));

    // The kernel counts each run queue from its first to its last moment; threads may share one.
    let [counted, beside] =
        ["counted", "counted beside"].map(|name| documents[name]["us"].as_f64().unwrap() * 1000.0);
    for (name, counted) in [("quota", counted), ("beside", beside - counted)] {
        let quota = ns(&documents[name], "quota");
        assert!((quota / counted - 1.0).abs() < 0.1, "{name}: {quota} and {counted}");
        assert_eq!(fix(&documents[name], "quota"), "echo max > /sys/fs/cgroup/pod/cpu.max");
    }
    let title = part(&documents["beside"], "quota")["title"].as_str().unwrap();
    assert!(title.ends_with("(20000 µs in 100000 µs, cpu.max of /pod)"), "{title}");
    assert!(
        part(&documents["beside"], "preempted")["ns"].as_u64() > Some(0),
        "the neighbour has its own part"
    );
    assert_eq!(documents["quota"]["ledger"]["parts"][0]["part"], "quota", "it is the largest");
    let left = documents["without"]["ledger"]["parts"].as_array().unwrap();
    assert!(left.iter().all(|part| part["part"] != "quota"), "{left:?}");

    let slowed = |name: &str| {
        let parts = documents[name]["ledger"]["parts"].as_array().unwrap();
        parts.iter().find(|part| part["title"].as_str().unwrap().contains("memory.high")).cloned()
    };
    let full = slowed("full").unwrap_or_else(|| panic!("{:#}", documents["full"]["ledger"]));
    assert!(full["ns"].as_f64().unwrap() > 10e6 && full["lost"] == true, "{full:#}");
    assert_eq!(full["fixes"][0]["text"], "echo max > /sys/fs/cgroup/full/memory.high");
    assert!(full["title"].as_str().unwrap().ends_with("(4096 KiB, memory.high of /full)"), "{full:#}");
    assert_eq!(slowed("not full"), None);

    const UNLIMITED: &str = "echo max > /sys/fs/cgroup/full/memory.max";
    let swap = &documents["swap"];
    assert!(ns(swap, "reclaim") > 10e6 && fix(swap, "reclaim") == UNLIMITED, "{:#}", swap["ledger"]);
    let title = part(swap, "reclaim")["title"].as_str().unwrap();
    assert!(title.ends_with("(8192 KiB, memory.max of /full)"), "{title}");
    let faults = part(swap, "fault");
    let title = faults["title"].as_str().unwrap();
    assert!(title.contains("a memory limit had sent to swap") && fix(swap, "fault") == UNLIMITED, "{title}");
    let counted = &documents["swap counted"]["command_time"];
    let parts = counted["parts"].as_array().unwrap();
    let reclaim =
        parts.iter().find(|part| part["part"] == "reclaim").unwrap_or_else(|| panic!("{counted:#}"));
    assert_eq!((&reclaim["lost"], &reclaim["fixes"][0]), (&true.into(), &UNLIMITED.into()), "{reclaim:#}");
    let [explained, counted] = [ns(swap, "reclaim"), reclaim["ns"].as_f64().unwrap()];
    assert!((counted / explained - 1.0).abs() < 0.2, "the same work twice: {explained} and {counted}");
    let left = documents["no swap"]["ledger"]["parts"].as_array().unwrap();
    assert!(left.iter().all(|part| part["part"] != "reclaim"), "{left:?}");

    let locked = part(&documents["file lock"], "blocked");
    assert!((0.2e9..0.9e9).contains(&locked["ns"].as_f64().unwrap()) && locked["lost"] == true, "{locked:#}");
    assert!(locked["title"].as_str().unwrap().starts_with("waited for a lock on a file"), "{locked:#}");

    let probed = part(&documents["probed"], "probe");
    let title = probed["title"].as_str().unwrap();
    assert!(
        title.contains(&format!("{trials} at 0x")) && title.contains(" by dyntick_trials ["),
        "{probed:#}"
    );
    assert!(probed["count"].as_u64() >= Some(1000), "{probed:#}");
    assert!(fix(&documents["probed"], "probe").starts_with("end dyntick_trials ["), "{probed:#}");

    let stopped = part(&documents["stopped"], "stopped");
    assert!((0.5e9..0.8e9).contains(&stopped["ns"].as_f64().unwrap()), "{stopped:#}");
    assert!(stopped["title"].as_str().unwrap().contains("SIGSTOP from pkill"), "{stopped:#}");

    let calls = &documents["calls"]["ledger"]["system_calls"];
    let of =
        |name: &str| calls.as_array().unwrap().iter().find(|call| call["call"] == name).cloned().unwrap();
    let sleeps = of("clock_nanosleep()");
    assert_eq!(sleeps["count"], 5, "{calls:#}");
    let [lasted, ran] = ["ns", "ran_ns"].map(|key| sleeps[key].as_f64().unwrap());
    assert!((100e6..110e6).contains(&lasted) && ran < lasted / 20.0, "{sleeps:#}");
    let slack = part(&documents["calls"], "timer-slack");
    assert!((1..=5).contains(&slack["count"].as_u64().unwrap()) && slack["lost"] == false, "{slack:#}");
    assert!(slack["longest_ns"].as_u64() <= Some(50_000), "the default of prctl(2): {slack:#}");
    assert!(of("wait4()")["ns"].as_f64().unwrap() > lasted, "it includes the wait for the children");

    let cost = &documents["cost"];
    let [on, off, events] = ["calls_on", "calls_off", "events"].map(|key| cost[key].as_u64().unwrap());
    assert!(on > 0 && off > 0 && events > 0 && cost["bytes"].as_u64().unwrap() > 0, "{cost:#}");
}

/// The hierarchy of old machines, in `explain` and `stat`, beside a busy neighbour.
#[test]
fn quota_of_cgroup_v1_is_named_with_its_time_and_file() {
    if !is_full() {
        return;
    }
    let trials = trials_program();
    let limited = format!("sh -c 'echo $$ > /cpu/pod/cgroup.procs; exec timeout 1 taskset 2 {trials} spin'");
    let script = [
        "busybox --install -s /bin; umount /sys/fs/cgroup 2>/dev/null; mkdir /cpu; \
         mount -t cgroup -o cpu none /cpu; mkdir /cpu/pod; echo 20000 > /cpu/pod/cpu.cfs_quota_us; ",
        &format!("taskset 2 {trials} spin & sleep 0.1; "),
        &explained("explain", &limited),
        &format!("echo; echo @stat; dyntick stat -C 1 --json -o - -- {limited}; "),
        "echo; echo @counted; awk '/throttled_time/ { print \"{\\\"ns\\\": \" $2 \"}\" }' /cpu/pod/cpu.stat; ",
        "echo; echo @",
    ]
    .concat();
    let documents = documents::printed_with(&[&trials], "debian:6.12", "isolcpus=domain,1", &script);
    let explain = ns(&documents["explain"], "quota");
    assert_eq!(fix(&documents["explain"], "quota"), "echo -1 > /cpu/pod/cpu.cfs_quota_us");
    let time = &documents["stat"]["command_time"];
    let parts = time["parts"].as_array().unwrap().iter().filter(|part| part["part"] == "quota");
    let stat: f64 = parts.clone().map(|part| part["ns"].as_f64().unwrap()).sum();
    let first = parts.clone().next().unwrap();
    assert_eq!(first["fixes"][0], "echo -1 > /cpu/pod/cpu.cfs_quota_us", "{time:#}");
    let title = first["title"].as_str().unwrap();
    assert!(title.contains("(20000 µs in 100000 µs, cpu.cfs_quota_us of /pod)"), "{title}");
    let counted = documents["counted"]["ns"].as_f64().unwrap();
    assert!(((explain + stat) / counted - 1.0).abs() < 0.1, "{explain} and {stat} of {counted}");
    let kernels = time["quotas"][0]["throttled_ns"].as_f64().unwrap();
    assert!((stat / kernels - 1.0).abs() < 0.1, "{stat} and {kernels}");
}

#[test]
fn limit_of_real_time_tasks_is_named_with_its_time() {
    let trials = trials_program();
    let looped = explained("limited", &format!("timeout 2 taskset 2 chrt -f 50 {trials} spin"));
    let script = [
        "busybox --install -s /bin; ",
        &looped,
        "sysctl -w kernel.sched_rt_runtime_us=-1 >/dev/null; ",
        &looped.replace("@limited", "@without"),
        "echo; echo @",
    ]
    .concat();
    let documents = documents::printed_with(&["chrt", &trials], "debian:6.1", "isolcpus=domain,1", &script);
    documents.values().for_each(adds_up);
    // 50 ms of each second.
    let limited = ns(&documents["limited"], "real-time-limit");
    assert!((40e6..160e6).contains(&limited), "{limited}");
    assert_eq!(fix(&documents["limited"], "real-time-limit"), "sysctl -w kernel.sched_rt_runtime_us=-1");
    let left = documents["without"]["ledger"]["parts"].as_array().unwrap();
    assert!(left.iter().all(|part| part["part"] != "real-time-limit"), "{left:?}");
}
