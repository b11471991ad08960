// SPDX-License-Identifier: GPL-2.0-only
//! The arguments of `latency`: cyclictest's options (rt-tests 2.4) by their letters and names, and a few of dyntick.

use crate::gate::Limits;
use anyhow::{Result, bail};
use clap::Args;
use clap::builder::TypedValueParser;
use dyntick_model::units::Nanos;
use std::path::PathBuf;

const OURS: &str = "Late wake-ups";
const PLACES: &str = "Threads and CPUs";
const TIMES: &str = "Clock and time";
const OUTPUT: &str = "Output";
const MACHINE: &str = "Machine";

/// An hour, µs.
const LONGEST_US: u64 = 3_600_000_000;
/// The largest number of threads, more than the largest machines need: each has a locked stack.
const MOST_THREADS: u64 = 8192;
/// The largest number of explained late wake-ups, for a human reader.
const MOST_STORIES: u64 = 10_000;
/// The largest number of listed late wake-ups; their memory is allocated before the measurement begins.
const MOST_SPIKES: u64 = 1_000_000;

/// The one limit of this verb.
const AT_MOST: &str =
    "Exit with status 3 if the longest latency of a thread exceeds LIMIT: 'latency 50us', with ns, us or ms";

/// The arguments of `dyntick latency`.
#[derive(Args, Clone, Debug, Default)]
#[command(disable_help_flag = true, infer_long_args = true, args_override_self = true)]
#[command(
    mut_arg("at_most", |limit| limit.help(AT_MOST)),
    mut_arg("require_counts", |required| required.hide(true)),
    after_help = "The options are those of cyclictest. -C and the group 'Late wake-ups' are dyntick's own."
)]
pub struct Arguments {
    /// Print this help
    #[arg(long, action = clap::ArgAction::Help)]
    pub help: Option<bool>,

    /// Explain wake-ups later than USEC from the kernel's trace: µs, or ns with --nsecs, or with a unit, e.g. 50us
    #[arg(long, alias = "threshold", value_name = "USEC", value_parser = threshold, help_heading = OURS)]
    pub why: Option<Threshold>,
    /// Explain the worst N of them
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = at_most(MOST_STORIES), help_heading = OURS)]
    pub why_max: usize,
    /// With --why or -b: write the explanations to FILE, as HTML
    #[arg(long, value_name = "FILE", help_heading = OURS)]
    pub html: Option<PathBuf>,
    /// With --why or -b: explain the worst wake-up of each cause and list the others, not only the worst of all
    #[arg(long, help_heading = OURS)]
    pub full: bool,
    #[command(flatten, next_help_heading = OURS)]
    pub limits: Limits,
    /// Stop at the first latency above USEC and explain it: µs, or ns with --nsecs, or with a unit, e.g. 50us
    #[arg(short, long, value_name = "USEC", value_parser = threshold, help_heading = OURS)]
    pub breaktrace: Option<Threshold>,
    /// With -b: write a marker into the kernel's own trace and stop that trace; dyntick does not trace then
    #[arg(long, help_heading = OURS)]
    pub tracemark: bool,
    /// List all latencies above USEC with their times: µs, or ns with --nsecs, or with a unit, e.g. 50us
    #[arg(long, value_name = "USEC", value_parser = threshold, conflicts_with = "why", help_heading = OURS)]
    pub spike: Option<Threshold>,
    /// List at most N of them
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = at_most(MOST_SPIKES), help_heading = OURS)]
    pub spike_nodes: usize,

    /// Measure each of CPUS, e.g. 1-3,8: the same as --affinity=CPUS --threads
    #[arg(short = 'C', long = "cpus", visible_alias = "cpu", value_name = "CPUS", help_heading = PLACES)]
    pub cpus: Option<String>,
    /// Run the threads on these CPUs in turn, e.g. 1-3,8 or !0; on all without a value
    #[arg(short, long, value_name = "CPUS", num_args = 0..=1, default_missing_value = "all", help_heading = PLACES)]
    pub affinity: Option<String>,
    /// Run N threads; without a value one for each CPU
    #[arg(short, long, value_name = "N", num_args = 0..=1, default_missing_value = "0", value_parser = at_most(MOST_THREADS), help_heading = PLACES)]
    pub threads: Option<usize>,
    /// Run one thread on each CPU, as with -a -t
    #[arg(short = 'S', long, help_heading = PLACES)]
    pub smp: bool,
    /// Run dyntick's other threads on CPUS [default: the CPUs that are not measured]
    #[arg(long, value_name = "CPUS", help_heading = PLACES)]
    pub mainaffinity: Option<String>,
    /// Set the real-time priority of the threads, 1 to 99, or 0 for none; SCHED_FIFO unless --policy says otherwise
    #[arg(short, long = "priority", alias = "prio", value_name = "PRIO", value_parser = clap::value_parser!(u32).range(0..=99), help_heading = PLACES)]
    pub priority: Option<u32>,
    /// Give each thread a priority one below that of the thread before
    #[arg(long, help_heading = PLACES)]
    pub priospread: bool,
    /// Set the scheduling policy
    #[arg(long, value_name = "NAME", ignore_case = true, help_heading = PLACES)]
    pub policy: Option<PolicyName>,
    /// Fail if the memory cannot be locked; it is locked anyway where that is allowed
    #[arg(short, long, help_heading = PLACES)]
    pub mlockall: bool,

    /// Set the interval of the first thread to USEC µs
    #[arg(short, long, value_name = "USEC", default_value_t = 1000, value_parser = interval, help_heading = TIMES)]
    pub interval: u64,
    /// Add USEC µs to the interval of each further thread; 0 with a histogram [default: 500]
    #[arg(short, long, value_name = "USEC", value_parser = microseconds, help_heading = TIMES)]
    pub distance: Option<u64>,
    /// Stop after N wake-ups; 0 is without end
    #[arg(short, long, value_name = "N", default_value_t = 0, help_heading = TIMES)]
    pub loops: u64,
    /// Stop after TIME, in s, or with a suffix m, h or d
    #[arg(short = 'D', long, value_name = "TIME", value_parser = duration, help_heading = TIMES)]
    pub duration: Option<u64>,
    /// Use this clock; 0: CLOCK_MONOTONIC, 1: CLOCK_REALTIME
    #[arg(short, long, value_name = "CLOCK", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=1), help_heading = TIMES)]
    pub clock: u8,
    /// Start all threads at the same time, each USEC µs after the thread before
    #[arg(short = 'A', long, value_name = "USEC", num_args = 0..=1, default_missing_value = "0", value_parser = microseconds, help_heading = TIMES)]
    pub aligned: Option<u64>,
    /// Start all threads USEC µs after a full second
    #[arg(long, value_name = "USEC", num_args = 0..=1, default_missing_value = "0", value_parser = microseconds, conflicts_with = "aligned", help_heading = TIMES)]
    pub secaligned: Option<u64>,
    /// Sleep for a time instead of until a time
    #[arg(short, long, help_heading = TIMES)]
    pub relative: bool,
    /// Sleep by nanosleep
    #[arg(short, long, help_heading = TIMES)]
    pub system: bool,
    /// Sleep by POSIX timers
    #[arg(short = 'x', long = "posix_timers", conflicts_with = "system", help_heading = TIMES)]
    pub posix_timers: bool,
    /// Sleep by clock_nanosleep, as is usual
    #[arg(short, long, hide = true)]
    pub nanosleep: bool,
    /// Print the clock's resolution
    #[arg(short = 'R', long, help_heading = TIMES)]
    pub resolution: bool,

    /// Print a histogram of latencies below USEC, in steps of 1: µs, or ns with --nsecs
    #[arg(short = 'h', long, value_name = "USEC", value_parser = threshold, help_heading = OUTPUT)]
    pub histogram: Option<Threshold>,
    /// Print a histogram with a column for the sum of all threads
    #[arg(short = 'H', long, value_name = "USEC", value_parser = threshold, help_heading = OUTPUT)]
    pub histofall: Option<Threshold>,
    /// Write the histogram to FILE
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub histfile: Option<PathBuf>,
    /// Write the results to FILE as JSON; '-' for standard output
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub json: Option<PathBuf>,
    /// Measure and print latencies in ns
    #[arg(short = 'N', long, help_heading = OUTPUT)]
    pub nsecs: bool,
    /// Print only a summary at the end
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
    /// Print each latency, as thread:wake-up:latency
    #[arg(short, long, help_heading = OUTPUT)]
    pub verbose: bool,
    /// With -v: print only the largest of each N latencies
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), help_heading = OUTPUT)]
    pub oscope: u64,
    /// Update the output only after a new maximum
    #[arg(short = 'M', long = "refresh_on_max", help_heading = OUTPUT)]
    pub refresh_on_max: bool,
    /// Accepted for compatibility: the output is never buffered
    #[arg(short, long, help_heading = OUTPUT)]
    pub unbuffered: bool,
    /// With -R: print every reading of the clock
    #[arg(long = "dbg_cyclictest", help_heading = OUTPUT)]
    pub dbg_cyclictest: bool,
    /// Not supported: there is no named pipe; SIGUSR1 prints the figures so far on standard error
    #[arg(short = 'F', long, value_name = "PATH", help_heading = OUTPUT)]
    pub fifo: Option<PathBuf>,

    /// Allow idle states with an exit latency of at most USEC µs (/dev/cpu_dma_latency)
    #[arg(long, value_name = "USEC", default_value_t = 0, allow_negative_numbers = true, help_heading = MACHINE)]
    pub latency: i32,
    /// Allow all idle states, to save the battery
    #[arg(long, help_heading = MACHINE)]
    pub laptop: bool,
    /// Measure the machine as it is: allow all idle states
    #[arg(long, help_heading = MACHINE)]
    pub default_system: bool,
    /// Count system management interrupts
    #[arg(long, help_heading = MACHINE)]
    pub smi: bool,
}

/// The policies by cyclictest's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PolicyName {
    Other,
    Normal,
    Batch,
    Idle,
    Fifo,
    Rr,
}

/// Parses a number of things that need memory.
fn at_most(most: u64) -> impl TypedValueParser<Value = usize> {
    clap::value_parser!(u64).range(..=most).map(|number| number as usize)
}

/// A latency as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// A number alone, as cyclictest has it: µs, or ns with `--nsecs`.
    Bare(u64),
    /// A number with its unit, ns.
    Ns(u64),
}

impl Threshold {
    /// The latency in µs, or in ns with `--nsecs`.
    ///
    /// # Errors
    /// A part of a µs without `--nsecs`.
    pub fn units(self, nsecs: bool) -> Result<u64> {
        match self {
            Threshold::Bare(number) => Ok(number),
            Threshold::Ns(ns) if nsecs => Ok(ns),
            Threshold::Ns(ns) if ns % 1000 == 0 => Ok(ns / 1000),
            Threshold::Ns(ns) => {
                bail!("cannot compare with {ns} ns: latencies are counted in µs; add --nsecs")
            }
        }
    }
}

/// Parses a latency: at most an hour in either unit.
fn threshold(text: &str) -> Result<Threshold, String> {
    let bare = text.parse().ok().map(Threshold::Bare);
    let threshold = bare.or_else(|| text.parse::<Nanos>().ok().map(|Nanos(ns)| Threshold::Ns(ns)));
    let number = |threshold: &Threshold| match threshold {
        Threshold::Bare(number) | Threshold::Ns(number) => *number,
    };
    threshold.filter(|threshold| number(threshold) <= LONGEST_US * 1000).ok_or_else(|| {
        "a latency is a number of µs (ns with --nsecs), or has a unit, e.g. 50us or 2ms".to_owned()
    })
}

/// Parses a time in full µs, at most an hour.
fn microseconds(text: &str) -> Result<u64, String> {
    let with_unit = || text.parse().ok().filter(|Nanos(ns)| ns % 1000 == 0).map(|Nanos(ns)| ns / 1000);
    let us = text.parse().ok().or_else(with_unit).filter(|us| *us <= LONGEST_US);
    us.ok_or_else(|| {
        "a time is a whole number of µs, or has a unit, e.g. 200us or 2ms; at most an hour".to_owned()
    })
}

/// Parses an interval, which is no less than a µs.
fn interval(text: &str) -> Result<u64, String> {
    match microseconds(text)? {
        0 => Err("an interval is at least 1 µs".to_owned()),
        us => Ok(us),
    }
}

fn duration(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], 1),
        Some(b'm') => (&text[..text.len() - 1], 60),
        Some(b'h') => (&text[..text.len() - 1], 3600),
        Some(b'd') => (&text[..text.len() - 1], 86400),
        _ => (text, 1),
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    // No sum of times may overflow: 292 years of ns fit.
    let possible = seconds.filter(|seconds| (1..=100 * 365 * 86400).contains(seconds));
    possible.ok_or_else(|| {
        "a duration is a whole number of seconds, or has a suffix m, h or d, e.g. 2h".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Program::try_parse_from(["latency"].into_iter().chain(line.split_ascii_whitespace()))
            .map(|p| p.arguments)
    }

    /// Every option of `cyclictest --help` and of its manual page.
    const ALL: &str = "-a | -a 2 | -a3-5,0 -t5 | --affinity=!1 | --affinity 1 | -A 100 | -A | --aligned=100 | --align=3 | \
        -b 50 | --breaktrace=50 | -c 1 | --clock=0 | --default-system | -d 0 | --distance=5 | -D 10 | -D 2h | \
        --duration=1d | -h 100 | --histogram=100 | -H 100 | --histofall=100 | --histfile=x | -i 200 | \
        --interval=200 | --json=x | --laptop | --latency=5 | -l 7 | --loops=7 | --mainaffinity=0 | --mainaffinity 0 | \
        -m | --mlockall | -M | --refresh_on_max | -N | --nsecs | -v -o 2 | --oscope=2 | -p 95 | --prio=95 | \
        --priority 95 | --policy=fifo | --policy=RR | --policy normal | --priospread | -q | --quiet | -r | --relative | \
        -R | --resolution | --secaligned | --secaligned 100 | -s | --system | -S | --smp | --spike=100 | \
        --spike-nodes=9 | --smi | -t | -t 4 | -t4 | --threads=4 | --threads | --tracemark | -u | --unbuffered | -v | \
        --verbose | --dbg_cyclictest | -x | --posix_timers | -Smp95 -i200 -h400 -q | \
        --priority 95 --nsecs --histofall 40000 --smi --duration 7200 --affinity 1-15,33-47 --threads 30 --mainaffinity 0";

    #[test]
    fn all_options_of_cyclictest_are_accepted() {
        for line in ALL.split('|') {
            parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn values_are_optional_as_in_cyclictest() {
        let arguments = parse("-a 3-5,0 -t 5 -p95").unwrap();
        assert_eq!(
            (arguments.affinity.as_deref(), arguments.threads, arguments.priority),
            (Some("3-5,0"), Some(5), Some(95))
        );
        let arguments = parse("-a -t -A").unwrap();
        assert_eq!(
            (arguments.affinity.as_deref(), arguments.threads, arguments.aligned),
            (Some("all"), Some(0), Some(0))
        );
        assert_eq!(parse("-D 2m").unwrap().duration, Some(120));
    }

    #[test]
    fn number_above_the_limit_is_refused_with_the_limit() {
        let error = parse("--why 1 --why-max 99999").unwrap_err().to_string();
        assert!(error.contains("--why-max") && error.contains("0..=10000"), "{error}");
        assert_eq!(parse("--spike 1 --spike-nodes 1000000").unwrap().spike_nodes, 1_000_000);
        assert_eq!(parse("-t 8192").unwrap().threads, Some(8192));
    }

    #[test]
    fn times_may_have_units() {
        let units = |line: &str| {
            let arguments = parse(line).unwrap();
            arguments.why.unwrap().units(arguments.nsecs).map_err(|error| error.to_string())
        };
        for line in ["--why 50", "--why 50us", "--why 50µs", "--why 0.05ms", "--why 50000ns"] {
            assert_eq!(units(line), Ok(50), "{line}");
        }
        assert_eq!((units("-N --why 50"), units("-N --why 50us")), (Ok(50), Ok(50_000)));
        assert!(units("--why 1500ns").unwrap_err().ends_with("add --nsecs"));
        let arguments = parse("-i 2ms -d 1.5ms -A 100us -h 400us -b 1ms --spike 20us").unwrap();
        assert_eq!(
            (arguments.interval, arguments.distance, arguments.aligned),
            (2000, Some(1500), Some(100))
        );
        let ns = [arguments.histogram, arguments.breaktrace, arguments.spike];
        assert_eq!(ns, [400_000, 1_000_000, 20_000].map(|ns| Some(Threshold::Ns(ns))));
        for line in ["--why 50parsecs", "-i 500ns", "-i 0us", "-i 2h", "--why -5us", "--why us"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn invalid_values_are_refused() {
        for line in [
            "-c 2",
            "-p 100",
            "-i 0",
            "-D 2y",
            "-D 0",
            "--policy deadline",
            "-o 0",
            "-x -s",
            "-A --secaligned",
            "surplus",
            "-D 99999999999d",
            "-t 8193",
            "-A 3600000001",
            "--secaligned 18446744073709551615",
            "--why 18446744073709551615",
            "--why 1 --why-max 18446744073709551615",
            "--spike 1 --spike-nodes 18446744073709551615",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
