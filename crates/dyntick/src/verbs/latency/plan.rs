// SPDX-License-Identifier: GPL-2.0-only
//! The plan of a measurement from the arguments, with cyclictest's defaults.

use super::arguments::{Arguments, PolicyName, Threshold};
use anyhow::{Context, Result, bail};
use dyntick_latency::{Align, Clock, Plan, Policy, Sleep, ThreadPlan};
use dyntick_model::CpuList;
use std::time::Duration;

/// The limit of rt-tests, `HIST_MAX`.
const MOST_BINS: usize = 1_000_000;
/// The largest number of counters in all histograms together: 4 GiB.
const MOST_COUNTERS: usize = 1 << 29;
/// The default of rt-tests, `DEFAULT_DISTANCE`, µs.
const DISTANCE: u64 = 500;

/// The measurement, and the warnings to print before it.
#[derive(Debug)]
pub struct Planned {
    pub plan: Plan,
    pub warnings: Vec<String>,
    /// The requested CPUs, if any.
    pub affinity: Option<CpuList>,
}

/// The CPUs of the machine.
pub struct Cpus {
    /// The CPUs that this process may use unless the user names others.
    pub allowed: CpuList,
    /// The online CPUs; with `isolcpus=` these are more.
    pub online: CpuList,
}

/// Makes the plan.
pub fn plan(arguments: &Arguments, cpus: &Cpus) -> Result<Planned> {
    if let Some(path) = &arguments.fifo {
        bail!(
            "--fifo={} is not supported: dyntick makes no named pipe; kill -USR1 prints the figures so far on \
             standard error, and --json writes them to a file at the end",
            path.display()
        );
    }
    let mut warnings = Vec::new();
    let mut warn = |condition: bool, text: &str| {
        if condition {
            warnings.push(text.to_owned());
        }
    };
    let units = |threshold: Threshold| threshold.units(arguments.nsecs);
    let bins = arguments.histofall.or(arguments.histogram).map(units).transpose()?.unwrap_or(0) as usize;
    let set_but_smp = arguments.affinity.as_ref().or(arguments.cpus.as_ref()).is_some() && arguments.smp;
    warn(set_but_smp, "--affinity is ignored with --smp, which measures all CPUs");
    warn(
        arguments.threads.is_some() && arguments.smp,
        "--threads is ignored with --smp: one thread on each CPU",
    );
    warn(
        bins > 0 && arguments.distance.is_some(),
        "--distance is ignored: with a histogram all threads have the same interval",
    );
    warn(bins > MOST_BINS, "the histogram ends at 1000000, as cyclictest's");
    warn(
        arguments.tracemark && arguments.breaktrace.is_none(),
        "--tracemark does nothing without --breaktrace",
    );
    warn(
        arguments.html.is_some() && arguments.why.is_none() && arguments.breaktrace.is_none(),
        "--html does nothing without --why or --breaktrace",
    );
    if arguments.oscope > 1 && !arguments.verbose {
        bail!("--oscope reduces what --verbose prints: add -v");
    }

    let (affinity, count) = placement(arguments, cpus)?;
    if bins.min(MOST_BINS) * count > MOST_COUNTERS {
        bail!(
            "histograms of {} latencies for {count} threads need {} GiB: take a lower limit, or fewer threads",
            bins.min(MOST_BINS),
            (bins.min(MOST_BINS) * count * size_of::<u64>()) >> 30
        );
    }
    let (policy, mut priority) = policy(arguments, count, &mut warnings);
    let places: Vec<u32> = affinity.as_ref().unwrap_or(&cpus.allowed).iter().collect();
    let distance = if bins > 0 { 0 } else { arguments.distance.unwrap_or(DISTANCE) };
    let threads = (0..count).map(|number| {
        let own = priority;
        priority = if arguments.priospread { priority.saturating_sub(1).max(1) } else { priority };
        let interval_us = arguments.interval + distance * number as u64;
        ThreadPlan {
            cpu: Some(places[number % places.len()]),
            priority: own,
            interval_ns: interval_us * 1000,
        }
    });
    let mut plan = Plan::of(threads.collect());
    plan.policy = policy;
    plan.clock = if arguments.clock == 0 { Clock::Monotonic } else { Clock::Realtime };
    plan.sleep = sleep(arguments);
    plan.loops = Some(arguments.loops).filter(|loops| *loops > 0);
    plan.duration = arguments.duration.map(Duration::from_secs);
    let spread = arguments.aligned.map(|us| Align::Spread(us * 1000));
    plan.align = spread.or(arguments.secaligned.map(|us| Align::Second(us * 1000)));
    plan.unit_ns = if arguments.nsecs { 1 } else { 1000 };
    plan.bins = bins.min(MOST_BINS);
    plan.values = arguments.verbose;
    plan.smi = arguments.smi;
    plan.lock = arguments.mlockall;
    plan.break_above = arguments.breaktrace.map(units).transpose()?.filter(|limit| *limit > 0);
    plan.mark = arguments.tracemark;
    plan.home = home(arguments, cpus, &plan.measured())?;
    Ok(Planned { plan, warnings, affinity })
}

fn sleep(arguments: &Arguments) -> Sleep {
    match (arguments.posix_timers, arguments.system, arguments.relative) {
        (true, _, relative) => Sleep::Timer { absolute: !relative },
        (_, true, _) => Sleep::Nanosleep,
        (_, _, true) => Sleep::Relative,
        _ => Sleep::Absolute,
    }
}

/// The requested CPUs and the number of threads.
fn placement(arguments: &Arguments, cpus: &Cpus) -> Result<(Option<CpuList>, usize)> {
    if arguments.smp {
        return Ok((None, cpus.allowed.len()));
    }
    let (text, option) = match (&arguments.cpus, &arguments.affinity) {
        (Some(_), Some(_)) => bail!("-C and --affinity both name CPUs: give one of them"),
        (Some(text), None) => (Some(text), "-C"),
        (None, text) => (text.as_ref(), "--affinity"),
    };
    let affinity = text.filter(|text| *text != "all").map(|text| list(option, text, cpus)).transpose()?;
    let all = affinity.as_ref().unwrap_or(&cpus.allowed).len();
    let count = match arguments.threads {
        None if arguments.cpus.is_some() => all,
        None => 1,
        Some(0) => all,
        Some(count) => count,
    };
    Ok((affinity, count))
}

/// Parses a list, e.g. `1-3,8`, or `!0` for all except CPU 0.
fn list(option: &str, text: &str, cpus: &Cpus) -> Result<CpuList> {
    let (negated, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    if rest.contains('+') {
        bail!(
            "{option} {text}: CPUs counted from the first that is allowed ('+') are not supported: name them, e.g. 1-3,8"
        );
    }
    let named: CpuList = match rest {
        "all" => cpus.allowed.clone(),
        rest => rest.parse().with_context(|| format!("{option} {text}"))?,
    };
    let chosen = if negated { cpus.allowed.difference(&named) } else { named };
    let missing = chosen.difference(&cpus.online);
    if !missing.is_empty() {
        bail!("{option} {text}: CPU {missing} is not online; online: {}", cpus.online);
    }
    if chosen.is_empty() {
        bail!("{option} {text} leaves no CPU of {}", cpus.allowed);
    }
    Ok(chosen)
}

/// The policy and the priority of the first thread.
fn policy(arguments: &Arguments, count: usize, warnings: &mut Vec<String>) -> (Policy, u32) {
    let named = match arguments.policy {
        Some(PolicyName::Fifo) => Policy::Fifo,
        Some(PolicyName::Rr) => Policy::RoundRobin,
        Some(PolicyName::Batch) => Policy::Batch,
        Some(PolicyName::Idle) => Policy::Idle,
        Some(PolicyName::Other | PolicyName::Normal) | None => Policy::Other,
    };
    let mut priority = arguments.priority.unwrap_or(0);
    if priority == 0 && (arguments.priospread || named.is_real_time()) {
        priority = (count as u32 + 1).min(99);
        warnings.push(format!("the real-time priority is {priority}, as --priority gives none"));
    }
    if priority == 0 || named.is_real_time() {
        return (named, priority);
    }
    if arguments.policy.is_some() {
        warnings.push(format!("policy {} has no priority: the policy is SCHED_FIFO", named.name()));
    }
    (Policy::Fifo, priority)
}

/// The CPUs of this program's other threads: those that are not measured, if there are any.
fn home(arguments: &Arguments, cpus: &Cpus, measured: &CpuList) -> Result<CpuList> {
    match &arguments.mainaffinity {
        Some(text) => list("--mainaffinity", text, cpus),
        None => Ok(cpus.allowed.difference(measured)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus() -> Cpus {
        Cpus { allowed: "0-3".parse().unwrap(), online: "0-5".parse().unwrap() }
    }

    fn of(change: impl FnOnce(&mut Arguments)) -> Result<Planned> {
        let mut arguments = Arguments { interval: 1000, oscope: 1, ..Arguments::default() };
        change(&mut arguments);
        plan(&arguments, &cpus())
    }

    fn shape(planned: &Planned) -> Vec<(u32, u32, u64)> {
        planned.plan.threads.iter().map(|t| (t.cpu.unwrap(), t.priority, t.interval_ns / 1000)).collect()
    }

    #[test]
    fn threads_are_placed_as_by_cyclictest() {
        let one = of(|_| {}).unwrap();
        assert_eq!((shape(&one), one.plan.policy), (vec![(0, 0, 1000)], Policy::Other));
        let five =
            of(|a| (a.affinity, a.threads, a.priority) = (Some("2-3,0".into()), Some(5), Some(95))).unwrap();
        let expected = [(0, 95, 1000), (2, 95, 1500), (3, 95, 2000), (0, 95, 2500), (2, 95, 3000)];
        assert_eq!((shape(&five), five.plan.policy), (expected.to_vec(), Policy::Fifo));
        assert_eq!(five.plan.home.to_string(), "1");
        let spread = of(|a| {
            (a.cpus, a.priospread, a.histogram) = (Some("1-2".into()), true, Some(Threshold::Bare(9)))
        })
        .unwrap();
        assert_eq!(shape(&spread), [(1, 3, 1000), (2, 2, 1000)]);
        let all = of(|a| (a.smp, a.policy) = (true, Some(PolicyName::Rr))).unwrap();
        assert_eq!((shape(&all).len(), shape(&all)[3].1, all.plan.policy), (4, 5, Policy::RoundRobin));
        assert!(all.plan.home.is_empty(), "no CPU is left");
    }

    #[test]
    fn ignored_options_are_reported() {
        let planned = of(|a| (a.smp, a.threads, a.affinity) = (true, Some(2), Some("1".into()))).unwrap();
        assert_eq!(planned.warnings.len(), 2);
        let planned = of(|a| (a.policy, a.priority) = (Some(PolicyName::Batch), Some(5))).unwrap();
        assert_eq!((planned.plan.policy, planned.warnings.len()), (Policy::Fifo, 1));
    }

    #[test]
    fn invalid_options_are_refused_with_the_reason() {
        let refused = |change: fn(&mut Arguments)| of(change).unwrap_err().to_string();
        assert!(refused(|a| a.affinity = Some("7".into())).contains("CPU 7 is not online"));
        assert!(refused(|a| a.affinity = Some("!0-3".into())).contains("leaves no CPU"));
        assert!(refused(|a| a.affinity = Some("+1".into())).contains("not supported"));
        assert!(refused(|a| a.fifo = Some("x".into())).contains("--fifo=x is not supported"));
        assert!(refused(|a| a.oscope = 2).contains("add -v"));
        assert!(
            refused(|a| (a.threads, a.histogram) = (Some(8192), Some(Threshold::Bare(1 << 20))))
                .contains("need 61 GiB")
        );
        assert!(refused(|a| (a.affinity, a.cpus) = (Some("1".into()), Some("1".into()))).contains("both"));
    }
}
