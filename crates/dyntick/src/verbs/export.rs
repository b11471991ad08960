// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick export`: the interruptions of CPUs as metrics for Prometheus.

mod exporter;

use crate::{measuring, output};
use anyhow::{Context, Result, bail};
use clap::Args;
use dyntick_count::{Asker, End, Session};
use dyntick_export::http::{Limits, Server};
use dyntick_model::CpuList;
use dyntick_observe::facts::Machine;
use dyntick_observe::live::{Choice, Kind, Wanted};
use exporter::Exporter;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// The arguments of `dyntick export`.
#[derive(Args)]
#[command(after_help = "\
Without --textfile the metrics are served at http://127.0.0.1:19640/metrics. Interruptions are counted as by `dyntick stat`: \
by eBPF, which needs root, or CAP_BPF, CAP_PERFMON and CAP_SYSLOG, or from trace events (tracefs), which needs root. All \
counters begin at 0 when dyntick starts. The metrics are listed in the book, and come with a Grafana dashboard, alert rules \
and a systemd unit.

Examples:
  dyntick export                    serve those of isolated CPUs to this machine
  dyntick export -C 2-3 --listen 192.0.2.7:19640
                                    those of CPUs 2-3, to whoever may connect
  dyntick export --textfile /var/lib/prometheus/node-exporter/dyntick.prom
                                    for node_exporter's textfile collector")]
pub struct Arguments {
    /// CPUs to measure, e.g. 1-3,8 [default: isolated and nohz_full CPUs]
    #[arg(short = 'C', long = "cpu", visible_alias = "cpus", value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Serve the metrics by HTTP at this address, or at this port of localhost
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = DEFAULT, value_parser = address)]
    listen: Option<SocketAddr>,
    /// Write the metrics to FILE, for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
    /// Write FILE every MS ms
    #[arg(short = 'I', long = "interval", value_name = "MS", default_value_t = 15_000, requires = "textfile",
        value_parser = clap::value_parser!(u64).range(100..=3_600_000))]
    interval: u64,
    /// Exit after FILE was written N times
    #[arg(short = 'n', long, value_name = "N", requires = "textfile",
        value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Count by eBPF (bpf), from trace events (tracefs), or by eBPF with trace events as the fallback
    /// (auto)
    #[arg(long, value_name = "SOURCE", default_value = "auto", value_parser = measuring::source)]
    source: Choice,
}

/// The default address. Its port is far from those on Prometheus' list of exporters (from 9100 and from 10000 on), and
/// below the kernel's ephemeral ports.
const DEFAULT: &str = "127.0.0.1:19640";

/// Exports until a signal ends it, or for the requested number of times.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cpus = cpus(arguments.cpus.as_ref())?;
    if let Some(path) = &arguments.textfile {
        output::ensure_writable(path)?;
    }
    let server = arguments.address()?.map(bind).transpose()?;
    let wanted = Wanted { cpus, kinds: Kind::ALL.into(), details_over_ns: None, longest_idle_exit_ns: None };
    let mut session = Session::open(&wanted, arguments.source)?;
    let asker = session.asker();
    let exporter = Exporter::new(session.start(&[], &[], None)?, &wanted.cpus)?;
    let answers = server.map(|server| serve(server, asker)).transpose()?;
    if let Some(path) = &arguments.textfile {
        output::note(writing(path, arguments.interval, arguments.iterations));
    }
    follow(arguments, exporter, answers.as_ref())?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    /// The address to listen at, if any.
    fn address(&self) -> Result<Option<SocketAddr>> {
        Ok(match (self.listen, &self.textfile) {
            (None, None) => Some(DEFAULT.parse()?),
            (listen, _) => listen,
        })
    }
}

/// The CPUs of the user, or the isolated ones.
fn cpus(named: Option<&CpuList>) -> Result<CpuList> {
    if named.is_some() {
        return measuring::cpus(named);
    }
    let all = Machine::read()?.cpus;
    let set_aside = all.isolated.union(&all.nohz_full);
    let offline = set_aside.difference(&all.online);
    let cpus = set_aside.difference(&offline);
    if cpus.is_empty() {
        bail!("no CPU is isolated or nohz_full on this machine; name the CPUs to measure, e.g. -C 2-3");
    }
    Ok(cpus)
}

/// Parses an address with its port, or a port of localhost.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = |port: u16| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let parsed = text.parse().or_else(|_| text.parse().map(local));
    parsed.map_err(|_| format!("must be a port, or an address with a port, e.g. {DEFAULT} or [::1]:19640"))
}

fn bind(address: SocketAddr) -> Result<Server> {
    Server::bind(address, Limits::default()).with_context(|| format!("cannot listen at {address}"))
}

/// Serves in a thread, which requests each text from the counting one.
fn serve(server: Server, asker: Asker) -> Result<Sender<Arc<str>>> {
    let address = server.address().context("cannot listen")?;
    let (sender, answers) = channel();
    let metrics = move || asker.ask().then(|| answers.recv().ok()).flatten();
    let thread = std::thread::Builder::new().name("http".to_owned());
    thread.spawn(move || server.serve(metrics)).context("cannot start a thread")?;
    output::note(format_args!("serving http://{address}/metrics"));
    Ok(sender)
}

/// The note before the first file, which has the counts of one interval.
fn writing(path: &Path, interval_ms: u64, times: Option<u64>) -> String {
    let seconds = interval_ms as f64 / 1000.0;
    match times {
        Some(1) => format!("counting for {seconds} s (-I), then writing {}", path.display()),
        _ => format!("writing {} every {seconds} s (-I), first in {seconds} s", path.display()),
    }
}

/// Answers requests and writes the file when it is due, until a signal comes.
fn follow(
    arguments: &Arguments,
    mut exporter: Exporter<'_>,
    answers: Option<&Sender<Arc<str>>>,
) -> Result<()> {
    let interval = Duration::from_millis(arguments.interval);
    let mut next = arguments.textfile.as_ref().map(|path| (path, Instant::now() + interval));
    let mut left = arguments.iterations.unwrap_or(u64::MAX);
    while left > 0 {
        let end = exporter.wait(next.map(|(_, at)| at));
        match (end, &mut next) {
            (Some(End::Asked), _) => {
                let text = exporter.openmetrics()?;
                // The requesting thread waits; it ends only with this process.
                answers.map(|answers| answers.send(text));
            }
            (None, Some((path, at))) => {
                exporter.write(path)?;
                *at = (*at + interval).max(Instant::now());
                left -= 1;
            }
            _ => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_names_the_first_interval() {
        let path = Path::new("/x.prom");
        assert_eq!(writing(path, 15_000, Some(1)), "counting for 15 s (-I), then writing /x.prom");
        assert_eq!(writing(path, 500, None), "writing /x.prom every 0.5 s (-I), first in 0.5 s");
    }

    #[test]
    fn address_or_port_of_localhost_is_accepted() {
        assert_eq!(address("9"), address("127.0.0.1:9"));
        assert_eq!(address("[::1]:9").unwrap().to_string(), "[::1]:9");
        for text in ["", "localhost", "127.0.0.1", "65536", ":9"] {
            assert!(address(text).unwrap_err().contains(DEFAULT), "{text}");
        }
    }
}
