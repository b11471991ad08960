// SPDX-License-Identifier: GPL-2.0-only
//! `record --stacks`: where a program set the timer that interrupts, on this machine. `DYNTICK` names the binary under
//! test.

use crate::harness::dyntick;
use serde_json::Value;
use std::process::Command;

/// A program that sleeps in short turns and lives for a while, on CPU 0. Only it has this name.
const SCRIPT: &str = "import ctypes, os, time
os.sched_setaffinity(0, [0])
ctypes.CDLL(None).prctl(15, b'sleeper')
for turn in range(100): time.sleep(0.003)";

#[test]
fn a_timer_is_followed_to_the_program_that_set_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.dt");
    let mut record = dyntick();
    record.args(["record", "-C", "0", "--stacks", "-o"]).arg(&file).args(["--", "python3", "-c", SCRIPT]);
    let recorded = record.output().unwrap();
    let said = String::from_utf8_lossy(&recorded.stderr);
    if !recorded.status.success() {
        assert!(said.contains("recording needs root") || said.contains("cannot start python3"), "{said}");
        eprintln!("skipped: {said}");
        return;
    }
    let html = folder.path().join("x.html");
    let explained = dyntick().args(["explain", "--json", "--html"]).args([&html, &file]).output().unwrap();
    assert!(explained.status.success(), "{}", String::from_utf8_lossy(&explained.stderr));
    let findings: Value = serde_json::from_slice(&explained.stdout).unwrap();
    let causes = findings["cpus"][0]["causes"].as_array().unwrap();
    let timer = causes.iter().find(|cause| cause["cause"] == "hrtimer:hrtimer_wakeup").unwrap();
    let own: Vec<&Value> =
        timer["stacks"].as_array().unwrap().iter().filter(|stack| stack["frames"][0] == "sleeper").collect();
    let count: u64 = own.iter().map(|stack| stack["count"].as_u64().unwrap()).sum();
    assert!(count > 50, "{timer}");
    let frames: Vec<&str> = own[0]["frames"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    // From the program by way of the system call to the timer.
    let place = |begin: &str| frames.iter().position(|frame| frame.starts_with(begin));
    // By libc's symbols, or the line in its source where its debug information is installed.
    let program = frames.iter().position(|frame| frame.contains("clock_nanosleep") && frame.ends_with(')'));
    assert!(program.is_some() && program < place("do_syscall_64"), "{frames:?}");
    assert!(place("do_syscall_64") < place("hrtimer_start_range_ns"), "{frames:?}");
    // Of no interruption more than there are.
    for cause in causes {
        let stacks = cause["stacks"].as_array().into_iter().flatten();
        let all: u64 = stacks.map(|stack| stack["count"].as_u64().unwrap()).sum();
        assert!(all <= cause["count"].as_u64().unwrap_or(0), "{cause}");
    }
    let page = std::fs::read_to_string(html).unwrap();
    assert!(
        page.contains("Call stacks that caused interruptions") && page.contains("hrtimer_start_range_ns: ")
    );
    let text = dyntick().args(["explain", "-v"]).arg(&file).output().unwrap();
    assert!(String::from_utf8_lossy(&text.stdout).contains("hrtimer:hrtimer_wakeup ×"));
}

/// Its function `arm` makes the system call itself, on line 6.
const PROGRAM: &str = r#"#include <sys/prctl.h>
#include <time.h>
static __attribute__((noinline)) long arm(void)
{
	struct timespec pause = { 0, 3000000 }; long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(35), "D"(&pause), "S"(0) : "rcx", "r11", "memory");
	return result;
}
int main(void)
{
	prctl(PR_SET_NAME, "armer");
	for (int turn = 0; turn < 100; turn++)
		if (arm())
			return 1;
	return 0;
}
"#;

#[test]
fn a_timer_is_followed_to_the_line_that_set_it() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("armer.c"), folder.path().join("armer"));
    std::fs::write(&source, PROGRAM).unwrap();
    let built = Command::new("cc")
        .args(["-g", "-O1", "-fno-omit-frame-pointer", "-o"])
        .args([&program, &source])
        .status();
    assert!(built.unwrap().success());
    let mut explain = dyntick();
    explain.args(["explain", "-C", "0", "--stacks", "--json", "-o"]).arg(folder.path().join("x.json"));
    let explained = explain.args(["--", "taskset", "-c", "0"]).arg(&program).output().unwrap();
    let said = String::from_utf8_lossy(&explained.stderr);
    if said.contains("recording needs root") {
        eprintln!("skipped: {said}");
        return;
    }
    assert!(explained.status.success(), "{said}");
    let findings: Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("x.json")).unwrap()).unwrap();
    let causes = findings["cpus"][0]["causes"].as_array().unwrap();
    let timer = causes.iter().find(|cause| cause["cause"] == "hrtimer:hrtimer_wakeup").unwrap();
    let stacks = timer["stacks"].as_array().unwrap();
    let own = stacks.iter().find(|stack| stack["frames"][0] == "armer").unwrap();
    let frames: Vec<&str> = own["frames"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let place = |frame: &str| frames.iter().position(|other| *other == frame);
    let (main, arm) = (place("main (armer.c:13)"), place("arm (armer.c:6)"));
    assert!(main.is_some() && main < arm && arm < place("do_syscall_64_[k]"), "{frames:?}");
}
