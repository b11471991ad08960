// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick top` on this machine, in a real terminal (tmux) and without one.

use crate::harness::{binary, dyntick};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The name of the tmux server of one test, ended when it is dropped.
struct Terminal(String);

impl Terminal {
    fn start(arguments: &str) -> Self {
        let terminal = Self(format!("dyntick-top-{}", std::process::id()));
        // What follows shows whether the terminal is given back as it was.
        let command = format!("{} top {arguments}; echo back: $?; stty -a; sleep 60", binary().display());
        let started = terminal.tmux(&["new-session", "-d", "-x", "110", "-y", "40", &command]);
        assert!(started.status.success(), "{started:?}");
        terminal
    }

    fn tmux(&self, words: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.0, "-f", "/dev/null"]).args(words);
        command.env("LC_ALL", "C.UTF-8").output().expect("tmux")
    }

    fn press(&self, key: &str) {
        assert!(self.tmux(&["send-keys", key]).status.success());
    }

    /// The screen, as soon as it shows this text.
    fn shows(&self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let screen = String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned();
            if screen.contains(text) {
                return screen;
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "no '{text}' in\n{screen}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn a_person_looks_at_it() {
    let terminal = Terminal::start("-d 0.5");
    let screen = terminal.shows("interruption");
    assert!(screen.contains("ticks/s") && screen.contains("CPU 0"), "{screen}");
    terminal.press("h");
    terminal.shows("show the selected CPU");
    terminal.press("Escape");
    terminal.shows("interruption");
    terminal.press("K");
    terminal.shows("sort: ticks");
    terminal.press("Z");
    terminal.shows("PAUSED");
    terminal.press("Enter");
    terminal.press("\\");
    terminal.shows("filter: _");
    terminal.press("x");
    terminal.shows("filter: x_");
    terminal.press("Escape");
    // Keys that come in one piece with an Escape are one key.
    terminal.shows("F10 quit");
    terminal.press("F10");
    let screen = terminal.shows("back: 0");
    terminal.shows(" icanon");
    assert!(!screen.contains("main cause"), "the screen before is shown again\n{screen}");
}

/// A task that keeps CPU 0 busy, so that it has ticks: an idle CPU may have nothing at all in half a second.
struct Busy(Child);

impl Busy {
    /// Programs that are gone as soon as they are started, one after the other.
    fn with_programs(path: &std::path::Path) -> Self {
        let each = format!("while :; do {}; done", path.display());
        Self(Command::new("sh").args(["-c", &each]).spawn().expect("sh"))
    }

    fn on_cpu_0() -> Self {
        let spin = ["-c", "0", "sh", "-c", "while :; do :; done"];
        Self(Command::new("taskset").args(spin).spawn().expect("taskset"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn without_a_terminal() {
    let _busy = Busy::on_cpu_0();
    let top = |arguments: &[&str]| {
        let mut command = dyntick();
        command.arg("top").args(["-n", "2", "-d", "0.2", "-C", "0"]).args(arguments).output().unwrap()
    };
    let json = top(&["--json"]);
    assert!(json.status.success(), "{json:?}");
    let lines: Vec<serde_json::Value> = String::from_utf8(json.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert_eq!(line["cpus"][0]["cpu"], 0);
        assert!(line["seconds"].as_f64().unwrap() >= 0.19, "{line}");
        let idle = line["cpus"][0]["idle"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&idle), "{line}");
    }
    let interruptions = |line: &serde_json::Value| line["cpus"][0]["interruptions_per_s"].as_f64().unwrap();
    assert!(lines.iter().map(interruptions).sum::<f64>() > 0.0, "{lines:?}");
    let text = String::from_utf8(top(&[]).stdout).unwrap();
    assert_eq!(text.matches("interruptions/s").count(), 2, "{text}");
    let wrong = top(&["-d", "0"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let elsewhere = top(&["-C", "4000"]);
    assert_eq!(elsewhere.status.code(), Some(2), "{elsewhere:?}");
}

/// However many tasks come and go, they are one row under their program's name.
#[test]
fn short_lived_programs_have_a_row() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("short-lived");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let _busy = Busy::with_programs(&program);
    let top = dyntick().args(["top", "--json", "-n", "3", "-d", "0.5"]).output().unwrap();
    let text = String::from_utf8(top.stdout).unwrap();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let cpus = last["cpus"].as_array().unwrap();
    let causes: Vec<&serde_json::Value> =
        cpus.iter().flat_map(|cpu| cpu["causes"].as_array().unwrap()).collect();
    if causes.iter().any(|cause| cause["name"].as_str().unwrap().starts_with("interrupt ")) {
        println!("skipped: causes cannot be counted here");
        return;
    }
    assert!(
        causes.iter().any(|cause| cause["name"] == "short-lived" && cause["is_part"] == true),
        "{last:#}"
    );
}

/// The output of a command line on its own terminal, and its exit status.
fn in_terminal(command: &str) -> Option<Output> {
    let mut script = Command::new("script");
    script.args(["-qec", command, "/dev/null"]).envs([("TERM", "xterm"), ("SHELL", "/bin/sh")]);
    let output = script.stdin(Stdio::null()).output();
    if output.is_err() {
        println!("skipped: script(1) is not here");
    }
    output.ok()
}

/// A terminal may say that it is as large as it wants.
#[test]
fn a_terminal_of_any_size() {
    for size in ["rows 65535 cols 65535", "rows 20000 cols 20000", "rows 1 cols 1"] {
        // In the foreground: where the shell makes a process for timeout, top would wait for it otherwise.
        let top = format!("timeout --foreground -k 5 30 {} top -n 2 -d 0.1", binary().display());
        let Some(output) = in_terminal(&format!("stty {size}; {top}")) else { return };
        assert_eq!(output.status.code(), Some(0), "{size}: {} bytes", output.stdout.len());
        let took_over = output.stdout.windows(8).any(|bytes| bytes == b"\x1b[?1049h");
        assert!(took_over, "{size}: the screen was drawn");
        let most = 10 << 20;
        assert!(output.stdout.len() < most, "{size}: {} bytes", output.stdout.len());
    }
}

/// A job in the background waits for the terminal, and can be ended meanwhile.
#[test]
fn in_the_background() {
    // timeout leaves the foreground, as the shell waits for it and makes a process of its own.
    let top = format!("timeout -k 20 2 {} top -n 2 -d 0.1", binary().display());
    let Some(output) = in_terminal(&format!("{top}; echo ended: $?")) else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.trim_end(), "ended: 124", "SIGTERM was enough, and nothing was drawn");
}
