// SPDX-License-Identifier: GPL-2.0-only
//! `dyntick top`: the CPUs of this machine and what interrupts them, live.

mod batch;
mod screen;
mod state;

use crate::gate::{Lack, Limits};
use crate::measuring;
use crate::output;
use anyhow::{Context, Result};
use clap::Args;
use dyntick_contract::gate::{Figures, Gate, Measures};
use dyntick_contract::top::{Power, Sample};
use dyntick_contract::{Adviser, stat};
use dyntick_count::{Measured, Running, Session};
use dyntick_model::CpuList;
use dyntick_observe::facts::Machine;
use dyntick_observe::live::{Choice, EnergyMeter, Kind, Wanted};
use dyntick_record::this_machine;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::EnterAlternateScreen;
use ratatui::layout::Rect;
use ratatui::{TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpgrp, kill_current_process_group};
use rustix::termios::tcgetpgrp;
use screen::View;
use state::{Order, State, Then};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The arguments of `dyntick top`.
#[derive(Args)]
#[command(after_help = "\
Events are counted in the kernel by eBPF, or from trace events where this kernel cannot do that. \
Without root (or CAP_BPF and CAP_PERFMON) only the counters of /proc and /sys are shown. dyntick itself stays off \
isolated CPUs, and off the measured CPUs if others are left. Press F1 for the keys.")]
pub struct Arguments {
    /// CPUs to show, e.g. 1-3,8 [default: all online CPUs]
    #[arg(short = 'C', long = "cpu", visible_alias = "cpus", value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Count by eBPF (bpf), from trace events (tracefs), or by eBPF with trace events as the fallback
    /// (auto)
    #[arg(long, value_name = "SOURCE", default_value = "auto", value_parser = measuring::source)]
    source: Choice,
    /// Update every SECONDS seconds
    #[arg(short = 'd', long, value_name = "SECONDS", default_value_t = 1.0, value_parser = delay)]
    delay: f64,
    /// Exit after N updates
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Print tables, one after the other; the default if standard output is not a terminal
    #[arg(short = 'b', long)]
    batch: bool,
    /// Sort the CPUs by this
    #[arg(short = 's', long, value_enum, default_value_t)]
    sort: Order,
    /// Show only CPUs and causes that contain TEXT
    #[arg(short = 'f', long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Print one line of JSON for each interval
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    limits: Limits,
}

/// The interval at which keys are read while nothing else happens.
const KEYS: Duration = Duration::from_millis(100);

/// Shows the machine until the user quits.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let cpus = measuring::cpus(arguments.cpus.as_ref())?;
    arguments.limits.ensure_usable(SUITE, &Measures::interruptions(false), &cpus)?;
    let uncounted = arguments.limits.judge(&Figures::uncounted(&cpus));
    let machine = this_machine()?;
    let terminal = output::is_terminal() && std::io::stdin().is_terminal();
    let screens = terminal && !arguments.batch && !arguments.json;
    if screens {
        wait_for_foreground();
    }
    let wanted = Wanted { cpus, kinds: Kind::ALL.into(), details_over_ns: None, longest_idle_exit_ns: None };
    let mut session = Session::open(&wanted, arguments.source)?;
    let running = session.start(&[], &[], None)?;
    let state = State { order: arguments.sort, filter: arguments.filter.to_lowercase(), ..State::default() };
    let mut top = Top {
        title: title(&machine),
        adviser: Adviser::of(machine),
        running,
        energy: EnergyMeter::start().ok(),
        state,
        delay: Duration::from_secs_f64(arguments.delay),
        left: arguments.iterations.unwrap_or(u64::MAX),
        limits: arguments.limits.clone(),
        judged: Judged {
            gate: None,
            lack: Some(Lack::Counts("it ended before its first interval, see --delay".to_owned())),
        },
    };
    if screens {
        top.show()?
    } else {
        top.print(arguments.json)?
    }
    let gate = top.judged.gate.or(uncounted);
    arguments.limits.end(gate.as_ref(), top.judged.lack.as_ref(), SUITE, None)
}

const SUITE: &str = "dyntick top";

/// The judgement on the intervals so far.
struct Judged {
    /// `None` before the first, and without limits.
    gate: Option<Gate>,
    lack: Option<Lack>,
}

struct Top<'a> {
    title: String,
    adviser: Adviser,
    running: Running<'a>,
    energy: Option<EnergyMeter>,
    state: State,
    delay: Duration,
    /// The number of intervals that are still to be shown.
    left: u64,
    limits: Limits,
    judged: Judged,
}

fn lack(measured: &Measured) -> Option<Lack> {
    if measured.counts.is_none() {
        return Some(Lack::Counts("it needs root, or CAP_BPF and CAP_PERFMON".to_owned()));
    }
    stat::nameless(measured).map(Lack::part)
}

impl Top<'_> {
    fn print(&mut self, json: bool) -> Result<()> {
        let mut next = Instant::now();
        while self.left > 0 {
            self.left -= 1;
            next += self.delay;
            if self.running.wait(Some(next)).is_some() {
                break;
            }
            let sample = self.sample()?;
            if json {
                output::json_line(&sample)?
            } else {
                let document = batch::document(&self.title, &sample, &self.state);
                output::rendered(output::Sheet::output().text(&document) + "\n")?;
            }
        }
        Ok(())
    }

    fn show(&mut self) -> Result<()> {
        let options = TerminalOptions { viewport: Viewport::Fixed(Rect::default()) };
        let mut terminal =
            ratatui::try_init_with_options(options).context("cannot take over the terminal")?;
        let shown = execute!(output::screen(), EnterAlternateScreen)
            .context("cannot take over the terminal")
            .and_then(|()| self.screens(&mut terminal));
        // If that fails the terminal is gone, and no report is possible: the restorer's own end would try, and abort.
        let _ = ratatui::try_restore();
        if terminal.show_cursor().is_err() {
            std::mem::forget(terminal);
        }
        shown
    }

    fn screens(&mut self, terminal: &mut ratatui::DefaultTerminal) -> Result<()> {
        let colours = output::colours();
        // The first figures come soon, and cover a short time.
        let mut next = Instant::now() + self.delay.min(Duration::from_millis(300));
        let mut sample = Sample::default();
        loop {
            let view = View { machine: &self.title, sample: &sample, state: &self.state, colours };
            fit(terminal)?;
            terminal.draw(|frame| screen::draw(frame, &view))?;
            if self.keys(&sample, next)? == Then::Quit {
                return Ok(());
            }
            if Instant::now() < next {
                continue;
            }
            next = Instant::now() + self.delay;
            if self.left == 0 {
                return Ok(());
            }
            self.left -= 1;
            // While paused the interval continues, so that the next one begins when the user resumes.
            let newest = self.sample()?;
            if !self.state.paused {
                sample = newest;
            }
        }
    }

    /// Waits for a key, a signal or the next interval.
    fn keys(&mut self, sample: &Sample, next: Instant) -> Result<Then> {
        loop {
            if self.running.wait(Some(Instant::now())).is_some() {
                return Ok(Then::Quit);
            }
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Then::Draw);
            }
            if terminal_ended(left.min(KEYS)) {
                return Ok(Then::Quit);
            }
            if !event::poll(Duration::ZERO)? {
                continue;
            }
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => return Ok(self.state.key(key, sample)),
                Event::Resize(..) => return Ok(Then::Draw),
                _ => {}
            }
        }
    }

    fn judge(&mut self, measured: &Measured) {
        let now = self.limits.judge(&stat::figures(measured, &self.adviser));
        self.judged.gate = now.map(|now| now.after(self.judged.gate.take()));
        self.judged.lack = lack(measured);
    }

    fn sample(&mut self) -> Result<Sample> {
        let measured = self.running.so_far()?;
        self.judge(&measured);
        let power = self.power();
        Ok(Sample::of(&measured, power, &self.adviser))
    }

    fn power(&mut self) -> Vec<Power> {
        let power = self.energy.as_mut().map(EnergyMeter::taken).unwrap_or_default();
        let packages = power.into_iter().filter(|zone| zone.part_of.is_none());
        packages.filter_map(|zone| Some(Power { watts: zone.watts()?, name: zone.name })).collect()
    }
}

/// Stops while another job has the terminal, as the kernel would at the first change of the terminal's settings. Later
/// is too late: signals are then blocked and waited for, and a stopped process waits for none.
fn wait_for_foreground() {
    let stdin = std::io::stdin();
    while tcgetpgrp(&stdin).is_ok_and(|foreground| foreground != getpgrp()) {
        let _ = kill_current_process_group(Signal::TTOU);
        // A process that ignores that signal waits here.
        std::thread::sleep(KEYS);
    }
}

/// Waits for input of the terminal; returns true if that is its end, after which reading a key would never return.
fn terminal_ended(timeout: Duration) -> bool {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        // Keys then come from /dev/tty. A terminal that is gone is no longer one.
        std::thread::sleep(timeout);
        return std::fs::File::open("/dev/tty").is_err();
    }
    let mut wait = [PollFd::new(&stdin, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: timeout.as_nanos().min(999_999_999) as i64 };
    let _ = poll(&mut wait, Some(&timeout));
    wait[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

/// Resizes the screen to the terminal, within limits: a terminal may claim any size, and each character of the screen
/// takes memory twice.
fn fit(terminal: &mut ratatui::DefaultTerminal) -> Result<()> {
    const LARGEST: (u16, u16) = (1000, 500);
    let size = terminal.size()?;
    let area = Rect::new(0, 0, size.width.min(LARGEST.0), size.height.min(LARGEST.1));
    if terminal.get_frame().area() != area {
        terminal.resize(area)?;
    }
    Ok(())
}

/// A description of the machine, on one line.
fn title(machine: &Machine) -> String {
    let cpus = &machine.cpus;
    let mut title = format!("Linux {}, {} CPUs", machine.kernel, cpus.online.len());
    for (what, list) in [("isolated", &cpus.isolated), ("nohz_full", &cpus.nohz_full)] {
        if !list.is_empty() {
            title += &format!(", {what} {list}");
        }
    }
    title
}

fn delay(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))?;
    if (0.1..=3600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("must be between 0.1 and 3600 seconds".to_owned())
    }
}
