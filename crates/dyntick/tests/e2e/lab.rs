// SPDX-License-Identifier: GPL-2.0-only
//! The laboratory end to end: real kernels boot, and are made to fail.
//!
//! `DYNTICK` names the binary under test (`make test` gives the release build, which guests unpack
//! faster); without it the test build is used.

use crate::harness::hog::hog;
use crate::harness::{dyntick, is_full, schema, text};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A folder with a study in it.
struct Study {
    folder: tempfile::TempDir,
}

impl Study {
    fn new(cases: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "title = 'test'\nquestion = 'test'\n[defaults]\nkernel = 'debian:6.12'\nsettle = '500ms'\nmeasure = '1s'\n{cases}"
        );
        std::fs::write(folder.path().join("study.toml"), text).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = dyntick();
        command
            .args(["lab", "run"])
            .arg(self.path("study.toml"))
            .arg("--out")
            .arg(self.path("out"))
            .args(arguments);
        command
    }

    fn runs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path("out/runs")).into_iter().flatten().flatten();
        let mut runs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        runs.sort();
        runs
    }
}

fn figure(json: &serde_json::Value, case: &str, figure: &str, cpu: u64) -> f64 {
    let run = json["runs"].as_array().unwrap().iter().find(|run| run["case"] == case).unwrap();
    let row = run["observations"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["figure"] == figure && row["cpu"] == cpu);
    row.unwrap_or_else(|| panic!("{case} has no {figure}"))["value"].as_f64().unwrap()
}

const TICKING_AND_QUIET: &str = "
[[case]]
name = 'ticking'
append = 'isolcpus=domain,1'
task = [{ cpu = '1', run = 'spin' }]
[[case]]
name = 'quiet'
append = 'isolcpus=domain,1 nohz_full=1'
task = [{ cpu = '1', run = 'spin' }]
";

/// Sleeps and wakes all the time, so that QEMU's threads take many turns.
const IDLE: &str = "
[[case]]
name = 'idle'
append = 'isolcpus=domain,1 nohz_full=1'
";

/// Linux has `cgroup.kill`, by which the agent ends the tasks of a window, from 5.14 on.
#[test]
fn tasks_end_on_a_kernel_that_does_not_kill_control_groups() {
    let task =
        "task = [{ cpu = '1', run = 'spin' }, { cpu = '0', run = ['sh', '-c', 'sleep 99 & sleep 99'] }]";
    let study =
        Study::new(&format!("[[case]]\nname = 'old'\nkernel = 'debian:5.10'\ntimeout = '120s'\n{task}\n"));
    let output = study.run(&["--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    schema::assert_valid("dyntick-lab-run", &json);
    let share = figure(&json, "old", "ticks_share_of_hz", 1);
    assert!((0.9..=1.1).contains(&share), "the task ran: {share}");
}

#[test]
fn files_of_the_kernel_become_figures() {
    let study = Study::new(
        "
[[case]]
name = 'reads'
append = 'nohz_full=1'
read = ['/proc/softirqs', '/proc/vmstat']
trace-cpus = 1
[[case]]
name = 'lacks'
read = ['/sys/kernel/debug/no_such_file']
",
    );
    let output = study.run(&["--json", "--jobs", "2"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    schema::assert_valid("dyntick-lab-run", &json);
    let run = |case: &str| json["runs"].as_array().unwrap().iter().find(|run| run["case"] == case).unwrap();
    let rows = run("reads")["observations"].as_array().unwrap();
    let value = |figure: &str, key: &str, cpu: serde_json::Value| {
        let row = rows.iter().find(|r| r["figure"] == figure && r["key"] == key && r["cpu"] == cpu);
        row.unwrap_or_else(|| panic!("there is no {figure}:{key}"))["value"].as_f64().unwrap()
    };
    assert!(value("file", "softirqs:TIMER", 0.into()) > 0.0, "CPU 0 keeps the time");
    value("file", "vmstat:pgfault", serde_json::Value::Null);
    assert!(value("interrupts", "LOC", 0.into()) > 200.0, "the housekeeping CPU ticks");
    assert_eq!(value("local_timer", "", 0.into()), 0.0, "and is not recorded");
    let failure = run("lacks")["failure"].as_str().unwrap();
    assert!(failure.contains("/sys/kernel/debug/no_such_file"), "{failure}");
}

#[test]
fn a_ticking_cpu_ticks_a_quiet_one_does_not_and_all_repeat_to_the_bit() {
    let study = Study::new(&[TICKING_AND_QUIET, IDLE].concat());
    let output = study.run(&["--json", "--jobs", "2"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let share = figure(&json, "ticking", "ticks_share_of_hz", 1);
    assert!((0.99..=1.01).contains(&share), "HZ ticks a second within 1 %: {share}");
    let quiet = figure(&json, "quiet", "local_timer_per_s", 1);
    assert!(quiet <= 2.0, "at most two timer interrupts a second: {quiet}");
    for run in json["runs"].as_array().unwrap() {
        assert_eq!(run["lost_events"], 0);
        assert_eq!(run["undecoded"], 0);
    }
    // What perf would count is what the kernel counts.
    let counted = figure(&json, "ticking", "local_timer", 1);
    let rows = json["runs"][0]["observations"].as_array().unwrap();
    let loc =
        rows.iter().find(|r| r["figure"] == "interrupts" && r["key"] == "LOC" && r["cpu"] == 1).unwrap();
    let loc = loc["value"].as_f64().unwrap();
    assert!((loc - counted).abs() <= 2.0, "trace {counted}, /proc/interrupts {loc}");

    let report = std::fs::read_to_string(study.path("out/report.html")).unwrap();
    assert!(report.contains("<svg") && !report.contains("http://www.w3.org/1999/xhtml"));
    assert!(
        report.contains("3 PAUSE instructions of its start-up code replaced by NOP"),
        "what was changed in the kernel is said"
    );
    let mut mail = dyntick();
    mail.args(["lab", "report", "--format", "mail", "--out"]).arg(study.path("out"));
    let mail = text(&mail.arg(study.path("study.toml")).output().unwrap().stdout);
    assert!(mail.is_ascii() && mail.lines().all(|line| line.len() <= 72), "{mail}");
    assert!(mail.contains("ticking") && mail.contains("quiet"), "what is kept is told again: {mail}");
    // One that is busy, and one that sleeps and wakes. Whatever the host does meanwhile: a CPU that is taken away now
    // and then changes which of QEMU's threads comes first.
    let end = AtomicBool::new(false);
    let verify = std::thread::scope(|scope| {
        scope.spawn(|| hog(0, &end));
        let runs =
            study.runs().into_iter().filter(|run| is_full() || !run.display().to_string().contains("quiet"));
        let verify = dyntick().args(["lab", "verify"]).args(runs).output().unwrap();
        end.store(true, Relaxed);
        verify
    });
    assert!(verify.status.success(), "{}", text(&verify.stdout));
    assert_eq!(text(&verify.stdout).matches("identical").count(), if is_full() { 3 } else { 2 });
}

#[test]
fn on_a_busy_host_the_wall_clock_proves_nothing() {
    let study = Study::new(
        "
[[case]]
name = 'busy'
clock = 'wall'
measure = '2s'
task = [{ cpu = 1, run = 'spin' }]
[[claim]]
text = 'it ticks'
check = [{ case = 'busy', figure = 'ticks_share_of_hz', is = '> 0' }]
",
    );
    let end = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        for cpu in 0..std::thread::available_parallelism().unwrap().get() {
            let end = &end;
            scope.spawn(move || {
                // A thread that may not preempt all others takes its time slices among them.
                while !hog(cpu, end) && !end.load(Relaxed) {}
            });
        }
        let output = study.run(&["--json"]);
        end.store(true, Relaxed);
        output
    });
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(figure(&json, "busy", "stolen_ns", 1) > 2e7, "more than 1 % of two seconds");
    assert!(json.to_string().contains("the host ran something else for up to"), "{json}");
    let run = study.runs()[0].display().to_string();
    let compared = dyntick().args(["compare", "--json", &run, &format!("again={run}")]).output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&compared.stdout).unwrap();
    assert_eq!(json["disturbed_runs"], serde_json::json!([1, 1]));
    let notes = json["notes"].to_string();
    let host = "again: a difference may come from the host: it took too much time in 1 of the runs";
    assert!(notes.contains(host), "{notes}");
    // A copy, with its seal, is the same run.
    let runs = study.path("copies/runs");
    for copy in ["one", "two"] {
        std::fs::create_dir_all(&runs).unwrap();
        let copied = Command::new("cp").args(["-a", &run]).arg(runs.join(copy)).status().unwrap();
        assert!(copied.success());
    }
    let copies = study.path("copies").display().to_string();
    let refused = dyntick().args(["compare", &run, &copies]).output().unwrap();
    let told = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && told.contains("are copies: the same run"), "{told}");
}

#[test]
fn packets_and_qperf_are_measured_in_a_window_as_long_as_they() {
    let study = Study::new(
        "append = 'nohz_full=1'
[[case]]
name = 'packets'
script = { cpu = 0, run = ['dyntick', 'guest-packets', 'poisson:500us', '-n', '200', '--from', '0', '--to', '1'], in-window = true }
[[case]]
name = 'qperf'
task = [{ cpu = 1, run = ['qperf'] }]
script = { cpu = 0, run = ['qperf', '-t', '1', '127.0.0.1', 'tcp_lat'], in-window = true }
",
    );
    let output = study.run(&["--json", "--jobs", "2"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let value = |case: &str, figure: &str, key: &str| {
        let run = json["runs"].as_array().unwrap().iter().find(|run| run["case"] == case).unwrap();
        let rows = run["observations"].as_array().unwrap();
        rows.iter().find(|r| r["figure"] == figure && r["key"] == key).unwrap()["value"].as_f64().unwrap()
    };
    assert_eq!(value("packets", "latency_cycles", ""), 200.0);
    assert!(value("packets", "latency_ns", "p50") > 1000.0, "a wake-up takes a thousand instructions");
    // 200 gaps of 500 us, and what comes before the first.
    let window = value("packets", "window_ns", "");
    assert!((0.1e9..0.4e9).contains(&window), "{window}");
    assert!(value("qperf", "qperf", "tcp_lat") > 1.0, "us");
    assert!(value("qperf", "window_ns", "") > 1e9, "qperf -t 1");
}

#[test]
fn guests_that_fail_are_told_and_the_others_go_on() {
    let study = Study::new(
        "[[case]]\nname = 'panics'\nwrite = { '/proc/sysrq-trigger' = 'c' }\n\
         [[case]]\nname = 'hangs'\ntimeout = '1s'\n\
         [[case]]\nname = 'refused'\nsysctl = { 'vm.no_such_setting' = 1 }\n\
         [[case]]\nname = 'is-whole'\nmeasure = '100ms'\n",
    );
    let output = study.run(&["--jobs", "2", "--full"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(2), "a setting that there is not is wrong input: {shown}");
    assert!(shown.contains("the guest's kernel panicked: sysrq triggered crash"), "{shown}");
    assert!(shown.contains("Kernel Offset: disabled"), "the console's last lines are shown: {shown}");
    assert!(shown.contains("had not finished after 1s, during 'boot'"), "{shown}");
    assert!(shown.contains("the guest is not as its case asks: the kernel refuses \"1\" in"), "{shown}");
    let runs = study.runs();
    assert_eq!(runs.len(), 1, "only the whole run is kept: {runs:?}");
    assert!(runs[0].to_string_lossy().contains("is-whole"));
    let mut short = dyntick();
    short.args(["lab", "report", "--case", "is-whole", "--out"]).arg(study.path("out"));
    let short = text(&short.arg(study.path("study.toml")).output().unwrap().stdout);
    assert!(
        short.contains("1 run of 1 case") && !short.contains("Incomplete"),
        "what was asked for: {short}"
    );
}

/// Two children that never end, one of which forks all the time.
const RESTLESS: &str = "cat /sys/fs/cgroup/task-0/cpuset.cpus.partition; echo complaint >&2; \
    (while :; do :; done) & (while :; do busybox true; done) & echo last; wait";

#[test]
fn what_a_task_starts_is_counted_with_it_and_ends_with_it() {
    let script = "script = { cpu = '1', run = ['busybox', 'sh', '-c', \
                  'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done'] }\nmeasure = '500ms'";
    let study = Study::new(&format!(
        "[[case]]\nname = 'alone'\n{script}\n[[case]]\nname = 'children'\n{script}\n\
         events = ['sched:sched_process_fork']\n\
         task = [{{ cpu = '1', partition = 'isolated', run = ['busybox', 'sh', '-c', '{RESTLESS}'] }}]\n"
    ));
    let output = study.run(&["--json", "--jobs", "2"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_machine = |run: usize, name: &str| {
        let rows = json["runs"][run]["observations"].as_array().unwrap();
        rows.iter().find(|row| row["figure"] == name).unwrap()["value"].as_f64().unwrap()
    };
    let busy = of_machine(1, "task_user_ns") + of_machine(1, "task_system_ns");
    assert!((0.475e9..0.525e9).contains(&busy), "the children had the CPU for half a second: {busy}");
    let slower = of_machine(1, "script_s") / of_machine(0, "script_s");
    assert!((0.95..1.05).contains(&slower), "no child runs beside the script: {slower}");
    let run = &json["runs"][1];
    let rows = run["observations"].as_array().unwrap();
    let forks = rows.iter().find(|row| row["key"] == "sched:sched_process_fork" && row["cpu"] == 1).unwrap();
    assert!(forks["figure"] == "event" && forks["value"].as_f64().unwrap() > 25.0, "{forks:?}");
    assert_eq!(run["undecoded"], 0);
    let said = Path::new(run["folder"].as_str().unwrap()).join("raw/task-0.out");
    assert_eq!(std::fs::read_to_string(said).unwrap(), "isolated\ncomplaint\nlast\n");
}

#[test]
fn an_image_is_refused_where_it_would_not_fit_and_harmless_where_it_does() {
    let study = Study::new("");
    let program = study.path("huge");
    std::fs::copy("/bin/busybox", &program).unwrap();
    // Filled: a hole would be refused by itself.
    std::fs::File::options().append(true).open(&program).unwrap().write_all(&vec![1; 98 << 20]).unwrap();
    let case = |name: &str, memory: &str| {
        format!(
            "[[case]]\nname = '{name}'\nmemory = '{memory}'\nmeasure = '100ms'\n\
             task = [{{ cpu = '1', run = ['{}', 'sh', '-c', 'while :; do :; done'] }}]\n",
            program.display()
        )
    };
    let head = std::fs::read_to_string(study.path("study.toml")).unwrap();
    let cases = case("small", "448M") + &case("large", "704M");
    std::fs::write(study.path("study.toml"), head + &cases).unwrap();
    let output = study.run(&["--jobs", "2"]);
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(shown.contains("small: the guest image has 1"), "{shown}");
    assert!(shown.contains("(1 case has enough memory: name it with --case)"), "{shown}");
    assert!(study.runs().is_empty(), "no guest is booted before the refusal");
    let output = study.run(&["--case", "large"]);
    assert!(text(&output.stderr).contains("✓ large"), "{}", text(&output.stderr));
}

/// A run is in a folder that may have come with its study, under a name that anybody can compute.
#[test]
fn a_run_that_was_not_made_here_or_is_damaged_is_run_again() {
    let study = Study::new("[[case]]\nname = 'c'\nmeasure = '100ms'\n");
    let run = || text(&study.run(&[]).stderr);
    let report = || {
        let mut report = dyntick();
        report.args(["lab", "report", "--out"]).arg(study.path("out")).arg(study.path("study.toml"));
        text(&report.output().unwrap().stdout)
    };
    let others = "were not made by this user's laboratory";
    run();
    assert!(run().contains("(cached)") && !report().contains(others));
    let seal = study.runs().remove(0).join("seal");
    std::fs::write(&seal, "0".repeat(64)).unwrap();
    assert!(report().contains(others), "{}", report());
    let said = run();
    assert!(!said.contains("(cached)"), "{said}");
    let names: Vec<String> = study.runs().iter().map(|path| path.display().to_string()).collect();
    assert!(names.len() == 2 && names.iter().any(|name| name.ends_with(".another-1")), "{names:?}");
    assert!(!report().contains(others), "the newest is this user's: {}", report());

    let newest =
        study.runs().into_iter().find(|run| !run.display().to_string().contains(".another")).unwrap();
    std::fs::write(newest.join("run.toml"), "half").unwrap();
    let again = study.run(&[]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    assert!(!text(&again.stderr).contains("(cached)"));
    let names: Vec<String> = study.runs().iter().map(|path| path.display().to_string()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().any(|name| name.ends_with(".damaged-1")), "{names:?}");
}

#[test]
fn a_shell_ends_with_its_commands_status() {
    let shell = |words: &[&str]| {
        let mut shell = dyntick();
        shell.args(["lab", "shell", "--virtual", "--"]).args(words).stdin(std::process::Stdio::null());
        let output = shell.output().unwrap();
        (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, said) = shell(&["busybox", "sh", "-c", "uname -r; exit 7"]);
    assert_eq!(code, 7, "{said}");
    assert!(said.contains("6.12"), "{said}");
    let (code, said) = shell(&["/no/such/program"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("failed: start /no/such/program"), "{said}");
}

#[test]
fn a_killed_study_repeats_only_what_was_not_whole() {
    let study = Study::new(TICKING_AND_QUIET);
    let first = study.command(&[]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    let whole = |path: &PathBuf| !path.file_name().unwrap().to_string_lossy().starts_with('.');
    // Kill it as soon as its first run is complete and the second has begun.
    while !study.runs().iter().any(whole) || study.runs().len() < 2 {
        assert!(begin.elapsed() < Duration::from_secs(300), "no run became whole");
        std::thread::sleep(Duration::from_millis(20));
    }
    // As Ctrl-C does; that SIGKILL leaves nothing behind either is seen where KVM is tried.
    rustix::process::kill_process(rustix::process::Pid::from_child(&first), rustix::process::Signal::INT)
        .unwrap();
    let stopped = first.wait_with_output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&stopped.status), Some(2));
    let said = text(&stopped.stderr);
    assert!(said.contains("complete runs are kept in") && said.contains("(1 of 2"), "{said}");
    let kept = study.runs().into_iter().find(whole).unwrap();
    let made = std::fs::metadata(kept.join("run.toml")).unwrap().modified().unwrap();

    let second = study.run(&[]);
    assert!(second.status.success(), "{}", text(&second.stderr));
    assert_eq!(text(&second.stderr).matches("(cached)").count(), 1, "{}", text(&second.stderr));
    assert_eq!(std::fs::metadata(kept.join("run.toml")).unwrap().modified().unwrap(), made);
    assert!(study.runs().iter().all(whole), "what the killed one left is gone: {:?}", study.runs());
    assert_eq!(study.runs().len(), 2);
}

fn refused(arguments: &[&str], words: &[&str]) {
    let output = dyntick().args(arguments).output().unwrap();
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    for word in words {
        assert!(shown.contains(word), "'{word}' is missing in: {shown}");
    }
}

/// The same run twice.
fn a_perturbed_run_repeats(study: &Study) {
    let verify = dyntick().args(["lab", "verify"]).arg(&study.runs()[2]).output().unwrap();
    assert!(verify.status.success(), "{}{}", text(&verify.stdout), text(&verify.stderr));
    let told = text(&verify.stdout);
    assert_eq!((told.matches("identical").count(), told.lines().count()), (1, 1), "{told}");
}

/// A perturbation changes the image and the start of the work, the same each time. Perturbed runs come in addition to
/// the case's own run.
#[test]
fn perturbed_runs_differ_and_repeat_to_the_bit() {
    let study = Study::new(
        "perturb = 2\n[[case]]\nname = 'c'\n[[claim]]\ntext = 'a window has a length'\n\
         check = [{ case = 'c', figure = 'window_ns', is = '> 0' }, { case = 'c', figure = 'window_ns', is = '< 0' }]\n",
    );
    let output = study.run(&["--json", "--jobs", "2"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 3);
    assert!(runs[0]["asked"].get("perturbation").is_none(), "the first is the case's own");
    let different = |what: &dyn Fn(&serde_json::Value) -> String| {
        runs.iter().map(what).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!(different(&|run| run["asked"]["image_sha256"].to_string()), 3);
    assert_eq!(different(&|run| run["outcome"]["window_ns"].to_string()), 3);
    assert_eq!(different(&|run| run["asked"]["perturbation"].to_string()), 3);
    // At HZ=250 a tick is 4 ms. What comes before the window waits for ticks, which must not swallow the shift.
    let phase = |run: &serde_json::Value| run["outcome"]["window_ns"][0].as_i64().unwrap() % 4_000_000;
    let shift = |run: &serde_json::Value| run["asked"]["perturbation"]["shift_ns"].as_i64().unwrap_or(0);
    for run in runs {
        let moved = (phase(run) - phase(&runs[0]) - shift(run)).rem_euclid(4_000_000);
        assert!(moved.min(4_000_000 - moved) < 300_000, "{} ns, not {}", phase(run), shift(run));
    }
    let evidence = json["verdicts"][0]["evidence"].to_string();
    assert_eq!(evidence.matches(" (2 perturbed runs: from ").count(), 2, "{evidence}");
    assert_eq!(json["verdicts"][0]["rulings"][0][1], "not-reproduced", "all agree on the second check");

    assert_eq!(study.runs().len(), 3);
    if is_full() {
        a_perturbed_run_repeats(&study);
    }

    // With one fewer nothing is run again, and with none only the case's own run is shown.
    let fewer = study.run(&["--json", "--perturb", "1"]);
    let json: serde_json::Value = serde_json::from_slice(&fewer.stdout).unwrap();
    assert_eq!(json["runs"].as_array().unwrap().len(), 2);
    assert_eq!(study.runs().len(), 3);
    for format in ["terminal", "mail"] {
        let mut report = dyntick();
        report.args(["lab", "report", "--perturb", "2", "--format", format, "--out"]).arg(study.path("out"));
        let told = text(&report.arg(study.path("study.toml")).output().unwrap().stdout);
        assert!(told.contains("; 3 of 3 runs)") && told.lines().count() <= 40, "{told}");
    }
    let wall = study.run(&["--clock", "wall"]);
    assert_eq!(wall.status.code(), Some(2));
    assert!(text(&wall.stderr).contains("use repeat (--repeat), and no perturb"), "{}", text(&wall.stderr));
}

#[test]
fn wrong_input_is_refused_by_name() {
    let study = Study::new("[[case]]\nname = 'c'\nisolcpu = '1'\n");
    let path = study.path("study.toml");
    refused(&["lab", "run", path.to_str().unwrap()], &["study.toml:9:1", "isolcpu"]);
    refused(&["lab", "run", "no-such-file.toml"], &["no-such-file.toml"]);
    refused(&["lab", "verify", "./no-such-run"], &["no-such-run is not a run", "there is no such folder"]);
    let precious = study.path("precious");
    std::fs::create_dir(&precious).unwrap();
    for verb in ["verify", "profile"] {
        let output = dyntick().args(["lab", verb]).arg(&precious).output().unwrap();
        let told = text(&output.stderr);
        assert!(told.contains("is not a run of `dyntick lab run`: it has no run.toml"), "{told}");
        assert!(!told.contains("remove"), "{told}");
    }
    let whole = Study::new("[[case]]\nname = 'c'\n");
    let path = whole.path("study.toml");
    refused(&["lab", "run", path.to_str().unwrap(), "--case", "d"], &["no case 'd'", "it has c"]);
    refused(&["lab", "run", path.to_str().unwrap(), "--repeat", "3"], &["repeat on clock = \"wall\""]);
    let often = "[[case]]\nname = 'c'\nclock = 'wall'\nrepeat = 6000\n[case.matrix]\ncpus = [2, 3]\n";
    let study = Study::new(often);
    let path = study.path("study.toml");
    refused(&["lab", "run", path.to_str().unwrap()], &["12000 runs", "at most 10000", "--case"]);
}

#[test]
fn what_a_kernel_cannot_do_is_told_before_it_boots() {
    let kernel = kernel_built_without_no_hz_full();
    let study = Study::new(&format!(
        "[[case]]\nname = 'c'\nkernel = '{}'\nappend = 'nohz_full=1'\n",
        kernel.path().join("vmlinuz-test").display()
    ));
    let output = study.run(&["--set", "measure=1s", "--set", "measure=2s"]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(2), String::new()),
        "no report of nothing"
    );
    let shown = text(&output.stderr);
    assert_eq!(shown.matches("without CONFIG_NO_HZ_FULL").count(), 1, "once, not for each case: {shown}");
    assert!(shown.contains("✗ 1 more run failed as c/measure=1s: c/measure=2s"), "{shown}");
    assert!(shown.ends_with("dyntick: nothing was measured, and no report was written\n"), "{shown}");
    assert!(study.runs().is_empty());
    // One run of the case says it for all.
    let often = study.run(&["--clock", "wall", "--repeat", "3", "--json"]);
    let shown = text(&often.stderr);
    assert_eq!((shown.matches("✗ c: ").count(), shown.matches("✗ c: not tried").count()), (2, 1), "{shown}");
    assert!(shown.contains("✗ 1 more run of c failed as its first"), "{shown}");
}

/// A real kernel image beside a configuration that says it was built without NO_HZ_FULL.
fn kernel_built_without_no_hz_full() -> tempfile::TempDir {
    let list = dyntick().args(["lab", "kernels", "--json"]).output().unwrap();
    let entries: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    schema::assert_valid("dyntick-lab-kernels", &entries);
    let specs: Vec<&str> =
        entries["kernels"].as_array().unwrap().iter().filter_map(|entry| entry["spec"].as_str()).collect();
    assert!(specs.contains(&"debian:6.12"), "{specs:?}");
    // Any case that runs has the kernel fetched; its files are found in the cache.
    Study::new("[[case]]\nname = 'fetch'\ntimeout = '1ms'\n").run(&[]);
    let kernels = std::fs::read_dir(crate::harness::cache().join("kernels"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path().join("boot"));
    let boot = kernels.into_iter().find(|boot| boot.is_dir()).unwrap();
    let image = std::fs::read_dir(boot).unwrap().flatten().map(|e| e.path());
    let image = image
        .into_iter()
        .find(|path| path.file_name().unwrap().to_string_lossy().starts_with("vmlinuz"))
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(image, folder.path().join("vmlinuz-test")).unwrap();
    let options = [
        "BLK_DEV_INITRD",
        "BINFMT_ELF",
        "DEVTMPFS",
        "DEVMEM",
        "EVENT_TRACING",
        "SERIAL_8250_CONSOLE",
        "CGROUPS",
    ];
    let config: String = options.iter().map(|option| format!("CONFIG_{option}=y\n")).collect();
    std::fs::write(folder.path().join("config-test"), config).unwrap();
    folder
}

/// A folder with a study in it may have an `out` of its own.
#[test]
fn links_that_came_with_a_study_are_not_followed() {
    let study = Study::new("[[case]]\nname = 'a'\ntimeout = '1ms'\n");
    let precious = study.path("precious");
    std::fs::write(&precious, "precious").unwrap();
    let out = study.path("out/study");
    std::fs::create_dir_all(&out).unwrap();
    std::os::unix::fs::symlink(&precious, out.join("report-incomplete.html")).unwrap();
    let run = || dyntick().args(["lab", "run", "study.toml"]).current_dir(study.path(".")).output().unwrap();
    run();
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert!(
        out.join("report-incomplete.html").symlink_metadata().unwrap().is_file(),
        "replaced, not followed"
    );

    // The folder itself may be a link of this user's own, e.g. to a larger disk.
    std::fs::remove_dir_all(&out).unwrap();
    let elsewhere = study.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &out).unwrap();
    let output = run();
    assert!(elsewhere.join("report-incomplete.html").is_file(), "{}", text(&output.stderr));
}
