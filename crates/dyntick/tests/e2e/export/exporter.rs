// SPDX-License-Identifier: GPL-2.0-only
//! A running exporter and other servers, ended when they are dropped, and what they answer.

use crate::harness::dyntick;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A process, killed when it is dropped.
pub struct Server(pub Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An exporter of CPU 0, on a port that no other process has.
pub struct Exporter {
    server: Server,
    pub address: String,
    /// Held open: what it says goes somewhere.
    _said: BufReader<ChildStderr>,
}

impl Exporter {
    pub fn start(more: &[&str]) -> Self {
        let mut command = dyntick();
        command.args(["export", "-C", "0", "--listen", "0"]).args(more);
        let mut server = Server(command.stderr(Stdio::piped()).spawn().unwrap());
        let mut said = BufReader::new(server.0.stderr.take().unwrap());
        let mut all = String::new();
        let address = loop {
            assert!(said.read_line(&mut all).unwrap() > 0, "it ended: {all}");
            let address = all.lines().last().and_then(|line| line.split_once("serving http://"));
            if let Some((_, address)) = address {
                break address.trim_end_matches("/metrics").to_owned();
            }
        };
        Self { server, address, _said: said }
    }

    /// Each series with its value.
    pub fn scrape(&self) -> BTreeMap<String, f64> {
        let text = get(&self.address, "/metrics").unwrap();
        assert!(text.ends_with("# EOF\n"), "{text}");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let sample = |line: &str| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        };
        lines.map(sample).collect()
    }

    pub fn end_by(mut self, signal: i32) -> ExitStatus {
        // SAFETY: a system call, with a process that was not waited for.
        unsafe { libc::kill(self.server.0.id() as i32, signal) };
        self.server.0.wait().unwrap()
    }
}

/// A task that keeps CPU 0 busy, so that it has ticks.
pub struct Busy(#[allow(dead_code)] Server);

impl Busy {
    pub fn on_cpu_0() -> Self {
        let spin = ["-c", "0", "sh", "-c", "while :; do :; done"];
        Self(Server(Command::new("taskset").args(spin).spawn().expect("taskset")))
    }
}

/// A program of Debian's packages of Prometheus: installed, or unpacked by `scripts/setup test`.
pub fn program(name: &str) -> PathBuf {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers/usr/bin").join(name);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|folder| folder.join(name));
    let found = installed.chain([unpacked]).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("there is no {name}: run scripts/setup test"))
}

/// A file that goes with the exporter.
pub fn contrib(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(file).canonicalize().unwrap()
}

/// An address that no process listens on.
pub fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// The body of an answer; `None` if no answer comes, or one without status 200.
pub fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    // HTTP/1.0 has no chunks.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.lines().next()?.contains(" 200 ").then(|| body.to_owned())
}

/// Waits for something that takes seconds, minutes where the machine is busy.
pub fn wait_for<T>(what: &str, mut until: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = until() {
            return value;
        }
        assert!(begin.elapsed() < Duration::from_secs(300), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
