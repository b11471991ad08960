// SPDX-License-Identifier: GPL-2.0-only
//! A gate for pipelines: limits that a measurement must keep, and the judgement on each.

use crate::ci::{self, TestCase, TestResult};
use dyntick_explain::rules;
use dyntick_model::text::{clean_line, nearest};
use dyntick_model::units::Nanos;
use dyntick_model::{CpuList, Softirq};
use dyntick_observe::live::Kind;
use dyntick_record::{Ledger, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A limit, e.g. `interruptions 2/s`: a quantity, and the most that is allowed of it on each CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    what: Quantity,
    most: Amount,
    /// The limit as it was given.
    text: String,
}

/// The quantity of a limit.
#[derive(Clone, Debug, PartialEq)]
enum Quantity {
    /// All interruptions.
    Interruptions,
    /// The periodic ticks among them.
    Ticks,
    /// One cause, or all whose name begins so.
    Cause(String),
    /// The share of its time that the command lost.
    Lost,
}

/// The most that is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    PerSecond(f64),
    Count(f64),
    /// A share of the time, 0 to 1.
    Share(f64),
    /// The longest one, ns.
    Longest(f64),
}

/// The figures of one CPU, or of the command's threads, as far as they were counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// The CPU; `None` for the command.
    pub cpu: Option<u32>,
    /// The length of the measurement, s.
    pub seconds: f64,
    /// All interruptions; `None` for the command, and on a CPU if nothing was counted there.
    pub interruptions: Option<Counted>,
    /// The causes. One may be a part of another, so they do not add up.
    pub causes: Vec<Counted>,
    /// The classes of causes whose functions could not be distinguished, e.g. `hrtimer` if addresses have no names.
    pub unnamed: BTreeSet<&'static str>,
    /// The share of its time that the command lost, 0 to 1.
    pub lost: Option<f64>,
    /// The number of events that came and were not counted.
    pub missed: u64,
    /// True if it was not measured all the time: the figures may exceed a limit, but keep none.
    pub is_partial: bool,
    /// The kinds of causes of which a trace of another tool has no event: nothing says that none occurred. Figures of
    /// them may exceed a limit, but keep none.
    pub unrecorded: BTreeSet<Kind>,
}

impl Figures {
    /// Adds the classes of which a cause without a name was counted.
    pub fn with_anonymous(mut self) -> Self {
        let counted = |name: &str| self.causes.iter().any(|cause| cause.name == name && cause.count > 0);
        let unnamed: Vec<&str> =
            ANONYMOUS.iter().filter(|(_, name)| counted(name)).map(|(class, _)| *class).collect();
        self.unnamed.extend(unnamed);
        self
    }

    /// The figures of CPUs on which nothing could be counted.
    pub fn uncounted(cpus: &CpuList) -> Vec<Self> {
        cpus.iter().map(|cpu| Self { cpu: Some(cpu), ..Self::default() }).collect()
    }

    /// The share of its time that a command lost, with the parts of it.
    pub fn of_ledger(ledger: &Ledger, seconds: f64) -> Self {
        let lost = |part: &Part| Counted {
            name: part.title.clone(),
            count: part.count,
            ns: part.ns,
            longest_ns: part.longest_ns,
            ..Counted::default()
        };
        let parts = ledger.folded();
        Self {
            seconds,
            causes: parts.iter().filter(|part| part.lost && part.ns.is_some()).map(lost).collect(),
            lost: Some(ledger.lost_share),
            ..Self::default()
        }
    }
}

/// One cause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// Its name, as in the JSON of the verb.
    pub name: String,
    /// The number of interruptions, time slices or page faults.
    pub count: u64,
    /// True if these are interruptions.
    pub interrupts: bool,
    /// Ticks among them; `None` if they cannot be distinguished from other timers.
    pub ticks: Option<u64>,
    /// Their time, ns; `None` if it is not known.
    pub ns: Option<u64>,
    /// The longest one, ns; `None` if it is not known.
    pub longest_ns: Option<u64>,
}

/// The judgement on a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// True if every limit was kept; null if one could not be judged and none was exceeded.
    pub held: Option<bool>,
    /// Each limit on each CPU.
    pub of: Vec<Judged>,
}

/// The judgement on one limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// The limit, as it was given.
    pub limit: String,
    /// The CPU; null for the command.
    pub cpu: Option<u32>,
    /// The most that is allowed: per second, a number, a share (0 to 1) or ns, as the limit says.
    pub most: f64,
    /// The figure, in the same unit; null if it was not counted.
    pub was: Option<f64>,
    /// True if the limit was kept; null if the figure was not counted.
    pub held: Option<bool>,
    /// The causes that contribute most, the largest first.
    pub culprits: Vec<String>,
}

/// The number of culprits that are named.
const CULPRITS: usize = 3;

impl Limit {
    /// Judges these figures, which are those of all CPUs and of the command.
    fn judge(&self, figures: &[Figures]) -> Vec<Judged> {
        let is_of_command = self.what == Quantity::Lost;
        let of = figures.iter().filter(|of| of.cpu.is_none() == is_of_command);
        let mut judged: Vec<Judged> = of.map(|of| self.judge_one(of)).collect();
        if judged.is_empty() {
            let (limit, most) = (self.to_string(), self.most.value());
            judged.push(Judged { limit, cpu: None, most, was: None, held: None, culprits: Vec::new() });
        }
        judged
    }

    fn judge_one(&self, figures: &Figures) -> Judged {
        let mut causes: Vec<&Counted> =
            figures.causes.iter().filter(|cause| self.what.is_about(cause)).collect();
        match self.most {
            Amount::PerSecond(_) | Amount::Count(_) => causes.sort_by_key(|cause| Reverse(cause.count)),
            Amount::Longest(_) => causes.sort_by_key(|cause| Reverse((cause.longest_ns, cause.count))),
            Amount::Share(_) => causes.sort_by_key(|cause| Reverse((cause.ns, cause.count))),
        }
        let all: Vec<&Counted> = match self.what {
            Quantity::Interruptions => figures.interruptions.iter().collect(),
            _ => causes.clone(),
        };
        let count = || all.iter().map(|cause| self.what.count(cause)).sum::<Option<u64>>();
        let was = match self.most {
            Amount::Share(_) if self.what == Quantity::Lost => figures.lost,
            Amount::PerSecond(_) => count().map(|count| count as f64 / figures.seconds),
            Amount::Count(_) => count().map(|count| count as f64),
            Amount::Share(_) => {
                let ns: Option<u64> = all.iter().map(|cause| cause.ns).sum();
                ns.map(|ns| ns as f64 / 1e9 / figures.seconds)
            }
            Amount::Longest(_) => {
                let each: Option<Vec<u64>> = all.iter().map(|cause| cause.longest_ns).collect();
                each.map(|each| each.into_iter().max().unwrap_or(0) as f64)
            }
        };
        let most = self.most.value();
        let is_certain = |was: &f64| *was > most || self.with_missed(figures, *was) <= most;
        let was = was.filter(|was| self.is_counted(figures, *was) && is_certain(was));
        let name = self.what.to_string();
        causes.retain(|cause| cause.count > 0 && cause.name != name);
        Judged {
            limit: self.to_string(),
            cpu: figures.cpu,
            most,
            was,
            held: was.map(|was| was <= most),
            culprits: causes
                .iter()
                .take(CULPRITS)
                .map(|cause| self.culprit(cause, figures.seconds))
                .collect(),
        }
    }

    /// The figure if all events that were not counted had been of this limit: each is one interruption at most, of any
    /// duration.
    fn with_missed(&self, figures: &Figures, was: f64) -> f64 {
        match self.most {
            _ if figures.is_partial => f64::INFINITY,
            _ if self.what.needs().iter().any(|kind| figures.unrecorded.contains(kind)) => f64::INFINITY,
            _ if figures.missed == 0 => was,
            Amount::PerSecond(_) => was + figures.missed as f64 / figures.seconds,
            Amount::Count(_) => was + figures.missed as f64,
            Amount::Share(_) | Amount::Longest(_) => f64::INFINITY,
        }
    }

    /// A cause with its contribution, in the unit of the limit.
    fn culprit(&self, cause: &Counted, seconds: f64) -> String {
        let contribution = match (self.most, cause.ns, cause.longest_ns) {
            (Amount::Longest(_), _, Some(ns)) => longest(ns as f64),
            (Amount::Share(_), Some(ns), _) if self.what == Quantity::Lost => {
                format!("{:.3}s", ns as f64 / 1e9)
            }
            (Amount::Share(_), Some(ns), _) => share(ns as f64 / 1e9 / seconds),
            _ => format!("{:.3}/s", cause.count as f64 / seconds),
        };
        // A cause of late wake-ups, as `latency` names them.
        let name = cause.name.strip_prefix(LATENCY).and_then(|name| name.strip_prefix(':'));
        format!("{} {contribution}", name.unwrap_or(&cause.name))
    }
}

fn longest(ns: f64) -> String {
    format!("{:.1}us", ns / 1000.0)
}

fn share(share: f64) -> String {
    format!("{:.3}%", share * 100.0)
}

impl Limit {
    /// Returns false if this figure says nothing: nothing was counted, or what has no name may be of the limit's cause.
    /// A limit that is exceeded by what has a name is exceeded.
    fn is_counted(&self, figures: &Figures, was: f64) -> bool {
        let Quantity::Cause(name) = &self.what else {
            let ticks = || figures.interruptions.as_ref().is_some_and(|all| all.ticks.is_some());
            return match self.what {
                Quantity::Lost => true,
                Quantity::Ticks => ticks(),
                _ => figures.interruptions.is_some(),
            };
        };
        if !self.what.is_known() {
            return !figures.causes.is_empty();
        }
        let class = name.split(':').next().unwrap_or_default();
        let has_unnamed = if OF_FUNCTIONS.contains(&class) {
            figures.unnamed.contains(class) && (name != class || TIMERS.contains(&class))
        } else {
            // A kind of tick, or what is known from the functions that ran.
            !OF_OTHERS.contains(&class) && !figures.unnamed.is_empty()
        };
        let is_exceeded = name != class && was > self.most.value();
        figures.interruptions.is_some() && (!has_unnamed || is_exceeded)
    }
}

impl Quantity {
    /// Returns false for the figure of another verb.
    fn is_known(&self) -> bool {
        !matches!(self, Quantity::Cause(name) if name == LATENCY)
    }

    fn is_about(&self, cause: &Counted) -> bool {
        match self {
            Quantity::Lost => true,
            Quantity::Interruptions => cause.interrupts,
            Quantity::Ticks => cause.interrupts && cause.ticks != Some(0),
            Quantity::Cause(name) => {
                cause.name == *name
                    || cause.name.starts_with(&format!("{name}:"))
                    || ANONYMOUS.contains(&(name, &cause.name))
            }
        }
    }

    /// The kinds of causes without which it is not known: not those that are a part of others or only reasons.
    fn needs(&self) -> Vec<Kind> {
        let is_needed = |kind: &Kind| match self {
            Quantity::Cause(_) => true,
            _ => !matches!(kind, Kind::Ticks | Kind::Works | Kind::Nmis),
        };
        self.kinds().into_iter().filter(is_needed).collect()
    }

    /// The kinds of causes from which it is counted.
    fn kinds(&self) -> Vec<Kind> {
        let Quantity::Cause(name) = self else {
            return match self {
                Quantity::Ticks => vec![Kind::Timers, Kind::Ticks],
                Quantity::Lost => vec![Kind::Tasks],
                // Page faults are no interruptions.
                _ => Kind::ALL.into_iter().filter(|kind| *kind != Kind::Faults).collect(),
            };
        };
        match name.split(':').next().unwrap_or_default() {
            "timer" | "hrtimer" => vec![Kind::Timers],
            "function-call" | "ipi" | "irq-work" => vec![Kind::Ipis],
            "device" | "vector" => vec![Kind::Devices],
            "softirq" => vec![Kind::Softirqs],
            "workqueue" => vec![Kind::Works],
            "kernel-thread" | "other-task" => vec![Kind::Tasks],
            "page-fault" => vec![Kind::Faults],
            "nmi" => vec![Kind::Nmis],
            _ => Kind::ALL.to_vec(),
        }
    }

    fn count(&self, cause: &Counted) -> Option<u64> {
        if *self == Quantity::Ticks { cause.ticks } else { Some(cause.count) }
    }
}

impl Amount {
    fn value(self) -> f64 {
        let (Amount::PerSecond(value) | Amount::Count(value) | Amount::Share(value) | Amount::Longest(value)) =
            self;
        value
    }
}

impl Display for Quantity {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quantity::Interruptions => "interruptions",
            Quantity::Ticks => "ticks",
            Quantity::Lost => "lost",
            Quantity::Cause(name) => name,
        })
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The form of a limit, for messages.
const FORM: &str = "must be WHAT MOST, e.g. 'interruptions 2/s', 'ticks 0', 'softirq:RCU 10/s', 'interruptions 0.1%' (of \
                    the time), 'interruptions 50us' (the longest; also ns and ms), 'latency 50us' (of dyntick latency), 'lost 1%' (of the command's \
                    time)";

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || FORM.to_owned();
        let (what, most) = text.trim().rsplit_once(char::is_whitespace).ok_or_else(form)?;
        let (number, unit) =
            most.split_at(most.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(most.len()));
        let number: f64 = number.parse().map_err(|_| form())?;
        let most = match unit {
            "/s" => Amount::PerSecond(number),
            "" => Amount::Count(number),
            "%" => Amount::Share(number / 100.0),
            _ => match most.parse() {
                Ok(Nanos(ns)) => Amount::Longest(ns as f64),
                Err(_) => return Err(form()),
            },
        };
        if matches!(most, Amount::Share(share) if share > 1.0) {
            return Err(format!("{text}: a share of the time is at most 100%"));
        }
        let what = match what.trim() {
            "interruptions" => Quantity::Interruptions,
            "ticks" => Quantity::Ticks,
            "lost" if matches!(most, Amount::Share(_)) => Quantity::Lost,
            "lost" => return Err("lost is a share of the command's time: lost 1%".to_owned()),
            "" => return Err(form()),
            LATENCY if !matches!(most, Amount::Longest(_)) => {
                return Err("latency is a duration: latency 50us".to_owned());
            }
            name => {
                refuse_unknown(name)?;
                Quantity::Cause(name.to_owned())
            }
        };
        Ok(Self { what, most, text: clean_line(text.trim()) })
    }
}

/// The figure of `dyntick latency`, which is no cause.
pub const LATENCY: &str = "latency";

/// The begin of the names of reasons for late wake-ups.
const OF_LATENCY: &str = "late-";

/// Refuses the name of a cause that cannot occur, e.g. a misspelt one: it would be counted 0 times.
fn refuse_unknown(name: &str) -> Result<(), String> {
    let (class, member) = name.split_once(':').unwrap_or((name, ""));
    let known: BTreeSet<&str> = rules::all().iter().filter_map(|rule| rule.id.split(':').next()).collect();
    if class.starts_with(OF_LATENCY) {
        return Err(format!(
            "{name} is a reason of late wake-ups, which are not counted: limit latency instead, e.g. 'latency 50us'"
        ));
    }
    if class != LATENCY && !known.contains(class) {
        let listed: Vec<&str> =
            ["interruptions", "ticks", "lost", LATENCY].into_iter().chain(known).collect();
        return Err(format!(
            "no cause is called {name}{}; the book has them all: causes.md",
            meant(class, &listed)
        ));
    }
    if name.ends_with(':') {
        return Err(format!("{name} is the name of no cause: {class} stands for all of them"));
    }
    let softirqs = Softirq::ALL.map(Softirq::kernel_name);
    if class == "softirq" && !member.is_empty() && !softirqs.contains(&member) {
        return Err(format!("no softirq is called {member}{}", meant(&member.to_uppercase(), &softirqs)));
    }
    Ok(())
}

/// The name that was probably meant, for a message.
fn meant(wrong: &str, names: &[&str]) -> String {
    nearest(wrong, names).map_or(String::new(), |name| format!(" (did you mean {name}?)"))
}

/// The figures that a verb will have, known before it measures.
#[derive(Clone, Debug)]
pub enum Measures {
    /// Latencies of wake-ups, and nothing else.
    Latencies,
    /// Interruptions.
    Interruptions {
        /// The kinds of causes that are counted.
        kinds: BTreeSet<Kind>,
        /// True if the time of a command's threads is, too.
        command: bool,
    },
}

impl Measures {
    /// All kinds of causes; `command` if the time of a command's threads too.
    pub fn interruptions(command: bool) -> Self {
        Self::Interruptions { kinds: Kind::ALL.into(), command }
    }
}

impl Limit {
    /// The reason for which such a measurement has no figure for this limit, if so: it would not be judged, or be
    /// counted 0 times.
    pub fn unjudged(&self, measures: &Measures) -> Option<String> {
        let is_latency = !self.what.is_known();
        let Measures::Interruptions { kinds, command } = measures else {
            return (!is_latency).then(|| {
                format!("{self}: this verb measures latency alone ('latency 50us'); stat, explain and top count causes")
            });
        };
        if is_latency {
            return Some(format!("{self}: only dyntick latency measures it"));
        }
        if self.what == Quantity::Lost && !command {
            return Some(format!("{self}: it is a share of a command's time, and there is no command"));
        }
        let missing: Vec<&str> =
            self.what.kinds().into_iter().filter(|kind| !kinds.contains(kind)).map(Kind::name).collect();
        (!missing.is_empty())
            .then(|| format!("{self}: -e leaves out what it is counted from ({})", missing.join(", ")))
    }

    /// The function of the kernel that the limit's cause names; none if it names something else.
    pub fn function(&self) -> Option<&str> {
        let Quantity::Cause(name) = &self.what else { return None };
        let (class, function) = name.split_once(':')?;
        let is_ruled = rules::all().iter().any(|rule| rule.id == name);
        (OF_FUNCTIONS.contains(&class) && !is_ruled).then_some(function)
    }
}

/// The classes of causes whose members are functions of the kernel.
pub const OF_FUNCTIONS: [&str; 6] = ["timer", "hrtimer", "function-call", "ipi", "workqueue", "irq-work"];

/// The classes whose members include the tick, if it has no name.
const TIMERS: [&str; 2] = ["timer", "hrtimer"];

/// Classes with the cause that stands for their members without a name.
const ANONYMOUS: [(&str, &str); 2] =
    [("function-call", "anonymous-call"), ("irq-work", "anonymous-irq-work")];

/// Other classes that are counted without the names of functions.
const OF_OTHERS: [&str; 8] =
    ["softirq", "device", "vector", "nmi", "kernel-thread", "other-task", "page-fault", "command-task"];

impl Gate {
    /// Judges figures; `None` if there are no limits.
    pub fn judge(limits: &[Limit], figures: &[Figures]) -> Option<Self> {
        let of: Vec<Judged> = limits.iter().flat_map(|limit| limit.judge(figures)).collect();
        (!limits.is_empty()).then(|| Self::of(of))
    }

    fn of(of: Vec<Judged>) -> Self {
        let held = of.iter().map(|one| one.held).min_by_key(rank).flatten();
        Self { held, of }
    }

    /// The judgement on this interval and the earlier ones of its measurement: of each limit on each CPU the first that
    /// exceeded it, else one that could not be judged, else this one.
    pub fn after(self, earlier: Option<Self>) -> Self {
        let Some(earlier) = earlier else { return self };
        let worse = |(earlier, later): (Judged, Judged)| {
            let is_later_worse = rank(&later.held) < rank(&earlier.held);
            if is_later_worse || earlier.held == Some(true) { later } else { earlier }
        };
        Self::of(earlier.of.into_iter().zip(self.of).map(worse).collect())
    }

    /// The exit status: 3 if a limit was exceeded, 2 if one could not be judged, else 0.
    pub fn status(&self) -> u8 {
        match self.held {
            Some(true) => 0,
            Some(false) => 3,
            None => 2,
        }
    }

    /// A line for each limit that was not kept, or could not be judged.
    pub fn complaints(&self) -> Vec<String> {
        self.of.iter().filter(|one| one.held != Some(true)).map(Judged::complaint).collect()
    }

    /// The judgement as JUnit XML, which CI systems read: a test case for each limit on each CPU.
    /// `why` says why one could not be judged.
    pub fn junit(&self, suite: &str, command: Option<u8>, why: Option<&str>) -> String {
        let failed = command.filter(|status| *status != 0);
        let of_command = failed.map(|status| TestCase {
            name: "the command".to_owned(),
            result: TestResult::Error(format!("it ended with status {status}")),
        });
        let of_limit = |one: &Judged| TestCase {
            name: format!("{}{}", one.place(), one.limit),
            result: match one.held {
                Some(true) => TestResult::Passed,
                Some(false) => TestResult::Failed(one.complaint()),
                None => {
                    TestResult::Error(one.complaint() + &why.map_or(String::new(), |why| format!(": {why}")))
                }
            },
        };
        ci::junit(suite, &of_command.into_iter().chain(self.of.iter().map(of_limit)).collect::<Vec<_>>())
    }
}

/// The order of judgements, the worst first.
fn rank(held: &Option<bool>) -> u8 {
    match held {
        Some(false) => 0,
        None => 1,
        Some(true) => 2,
    }
}

impl Judged {
    fn place(&self) -> String {
        self.cpu.map_or(String::new(), |cpu| format!("CPU {cpu}: "))
    }

    fn complaint(&self) -> String {
        let (place, limit) = (self.place(), &self.limit);
        let Some(was) = self.was else { return format!("{place}{limit}: it could not be counted") };
        let was = match limit
            .rsplit_once(' ')
            .map_or("", |(_, most)| most.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'))
        {
            "%" => share(was),
            unit @ ("" | "/s") => format!("{was:.3}{unit}"),
            _ => longest(was),
        };
        let by =
            if self.culprits.is_empty() { String::new() } else { format!(": {}", self.culprits.join(", ")) };
        clean_line(&format!("{place}{limit} exceeded: {was}{by}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Vec<Figures> {
        let cause = |name: &str, count, ticks, us: u64| Counted {
            name: name.to_owned(),
            count,
            interrupts: true,
            ticks: Some(ticks),
            ns: Some(us * 1000),
            longest_ns: Some(us * 500),
        };
        let causes = vec![cause("not-adaptive", 500, 500, 9000), cause("softirq:RCU", 20, 0, 40)];
        let of_command = Figures { cpu: None, seconds: 2.0, lost: Some(0.02), ..Figures::default() };
        let interruptions = Some(cause("", 520, 500, 9040));
        vec![Figures { cpu: Some(3), seconds: 2.0, interruptions, causes, ..Figures::default() }, of_command]
    }

    fn judged(limit: &str) -> (Option<f64>, Option<bool>) {
        let gate = Gate::judge(&[limit.parse().unwrap()], &figures()).unwrap();
        assert_eq!(gate.of.len(), 1, "{limit}");
        (gate.of[0].was, gate.held)
    }

    #[test]
    fn limits_are_judged_in_their_unit() {
        assert_eq!(judged("interruptions 260/s"), (Some(260.0), Some(true)));
        assert_eq!(judged("interruptions 2/s"), (Some(260.0), Some(false)));
        assert_eq!(judged("ticks 499"), (Some(500.0), Some(false)));
        assert_eq!(judged("softirq 20"), (Some(20.0), Some(true)));
        assert_eq!(judged("softirq:RCU 9/s"), (Some(10.0), Some(false)));
        assert_eq!(judged("interruptions 0.5%"), (Some(0.00452), Some(true)));
        assert_eq!(judged("interruptions 50us"), (Some(4_520_000.0), Some(false)));
        assert_eq!(judged("lost 1%"), (Some(0.02), Some(false)));
    }

    #[test]
    fn uncounted_is_neither_kept_nor_exceeded() {
        let limits = ["interruptions 2/s".parse().unwrap()];
        let gate = Gate::judge(&limits, &Figures::uncounted(&CpuList::first(1))).unwrap();
        assert_eq!((gate.held, gate.status()), (None, 2));
        assert_eq!(gate.complaints(), ["CPU 0: interruptions 2/s: it could not be counted"]);
        assert_eq!(Gate::judge(&[], &[]), None);
        let mut unknown = figures();
        unknown[0].interruptions.as_mut().unwrap().longest_ns = None;
        let gate = Gate::judge(&["interruptions 9ms".parse().unwrap()], &unknown).unwrap();
        assert_eq!(gate.held, None, "the longest is not known");
        let mut untold = figures();
        untold[0].causes[0].ticks = None;
        let gate = Gate::judge(&["ticks 0".parse().unwrap()], &untold).unwrap();
        assert_eq!(
            (gate.held, gate.of[0].was),
            (None, None),
            "ticks are not distinguished from other timers"
        );
        let mut foreign = figures();
        foreign[0].unrecorded = [Kind::Ipis, Kind::Nmis].into();
        let of_foreign = |limit: &str| Gate::judge(&[limit.parse().unwrap()], &foreign).unwrap().held;
        assert_eq!(of_foreign("interruptions 260/s"), None, "an interrupt of another CPU may have come");
        assert_eq!(of_foreign("interruptions 2/s"), Some(false));
        assert_eq!((of_foreign("function-call 0"), of_foreign("nmi 0")), (None, None));
        assert_eq!((of_foreign("ticks 500"), of_foreign("softirq 20")), (Some(true), Some(true)));
        let mut unrecorded = figures();
        unrecorded[0].causes.clear();
        unrecorded[0].interruptions.as_mut().unwrap().ticks = None;
        let gate = Gate::judge(&["ticks 0".parse().unwrap()], &unrecorded).unwrap();
        assert_eq!(gate.held, None, "no event shows ticks");
        let judged = |limit: &str| Gate::judge(&[limit.parse().unwrap()], &figures()).unwrap().held;
        assert_eq!(judged("fair-server 0"), Some(true), "it never occurred");
    }

    #[test]
    fn limit_is_kept_only_with_all_that_was_missed() {
        let judged = |limit: &str, of: Figures| Gate::judge(&[limit.parse().unwrap()], &[of]).unwrap().held;
        let missed = |missed| Figures { missed, ..figures().remove(0) };
        assert_eq!(judged("interruptions 522", missed(2)), Some(true));
        assert_eq!(judged("interruptions 261/s", missed(2)), Some(true));
        assert_eq!(judged("interruptions 522", missed(3)), None);
        assert_eq!(judged("interruptions 519", missed(3)), Some(false), "exceeded without those");
        assert_eq!(judged("interruptions 1s", missed(1)), None, "it may have been the longest");
        let partial = || Figures { is_partial: true, ..figures().remove(0) };
        assert_eq!(judged("interruptions 1000", partial()), None);
        assert_eq!(judged("interruptions 1", partial()), Some(false));
    }

    #[test]
    fn figure_that_may_hide_behind_an_address_is_not_counted() {
        let judged = |limit: &str, figures: &Figures| {
            Gate::judge(&[limit.parse().unwrap()], std::slice::from_ref(figures)).unwrap().held
        };
        let mut hidden = figures().remove(0);
        hidden.unnamed = OF_FUNCTIONS.into();
        hidden.causes.iter_mut().for_each(|cause| cause.ticks = None);
        for limit in
            ["hrtimer:hrtimer_wakeup 0", "hrtimer 0", "function-call:flush_tlb_func 0", "fair-server 0"]
        {
            assert_eq!(judged(limit, &hidden), None, "{limit}");
            assert_eq!(judged(limit, &Figures { unnamed: BTreeSet::new(), ..hidden.clone() }), Some(true));
        }
        assert_eq!(judged("softirq 20", &hidden), Some(true), "softirqs need no names");
        // A kernel that does not tell the functions of calls.
        let call =
            |name: &str| Counted { name: name.to_owned(), count: 7, interrupts: true, ..Counted::default() };
        hidden.causes = vec![call("anonymous-call"), call("function-call:rcu_exp_handler")];
        let older = Figures { unnamed: BTreeSet::new(), ..hidden }.with_anonymous();
        for (limit, held) in [
            ("function-call:flush_tlb_func 0", None),
            ("function-call:rcu_exp_handler 0", Some(false)),
            ("function-call 13", Some(false)),
            ("function-call 14", Some(true)),
            ("workqueue 0", Some(true)),
        ] {
            assert_eq!(judged(limit, &older), held, "{limit}");
        }
    }

    #[test]
    fn faults_and_tasks_are_limited_by_name_and_no_interruptions() {
        let mut figures = figures();
        let slices = Counted { name: "other-task".to_owned(), count: 9, ns: Some(1), ..Counted::default() };
        figures[0].causes.push(slices);
        let judged = |limit: &str| Gate::judge(&[limit.parse().unwrap()], &figures).unwrap().of.remove(0);
        assert_eq!(judged("other-task 8").held, Some(false));
        assert_eq!(judged("page-fault 0").held, Some(true));
        assert_eq!(judged("interruptions 2/s").culprits.len(), 2);
    }

    #[test]
    fn worst_interval_is_the_judgement() {
        let limits = ["interruptions 2/s".parse().unwrap(), "ticks 600".parse().unwrap()];
        let interval = |count: Option<u64>| {
            let mut figures = Figures::uncounted(&CpuList::first(1));
            let counted = |count| Counted { count, ticks: Some(0), ..Counted::default() };
            (figures[0].interruptions, figures[0].seconds) = (count.map(counted), 1.0);
            Gate::judge(&limits, &figures).unwrap()
        };
        let all = |counts: &[Option<u64>]| {
            counts.iter().map(|count| interval(*count)).reduce(|all, one| one.after(Some(all))).unwrap()
        };
        let first = all(&[Some(1), Some(3), Some(4), None, Some(0)]);
        assert_eq!((first.held, first.of[0].was, first.of[1].was), (Some(false), Some(3.0), None));
        assert_eq!(all(&[Some(1), None, Some(1)]).held, None);
        assert_eq!(all(&[Some(1), Some(2)]).of[0].was, Some(2.0));
    }

    #[test]
    fn complaint_names_the_culprits() {
        let gate = Gate::judge(&["interruptions 2/s".parse().unwrap()], &figures()).unwrap();
        let line =
            "CPU 3: interruptions 2/s exceeded: 260.000/s: not-adaptive 250.000/s, softirq:RCU 10.000/s";
        assert_eq!((gate.status(), gate.complaints()), (3, vec![line.to_owned()]));
        let complaint = |limit: &str, figures: &[Figures]| {
            Gate::judge(&[limit.parse().unwrap()], figures).unwrap().complaints().remove(0)
        };
        let mut of_few = figures();
        of_few[0].causes[1].longest_ns = Some(9_000_000);
        of_few[0].interruptions.as_mut().unwrap().longest_ns = Some(9_000_000);
        assert_eq!(
            complaint("interruptions 50us", &of_few),
            "CPU 3: interruptions 50us exceeded: 9000.0us: softirq:RCU 9000.0us, not-adaptive 4500.0us",
            "the longest first, however rare it was"
        );
        assert_eq!(
            complaint("interruptions 0.1%", &of_few),
            "CPU 3: interruptions 0.1% exceeded: 0.452%: not-adaptive 0.450%, softirq:RCU 0.002%"
        );
        let xml = gate.junit("a", Some(7), None);
        assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"1\"") && xml.contains("status 7"), "{xml}");
        let xml = gate.junit("a <b> & \"c\"", Some(0), None);
        assert!(xml.contains(
            "<testsuite name=\"a &lt;b&gt; &amp; &quot;c&quot;\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">"
        ));
        assert!(
            xml.contains(&format!(
                "name=\"CPU 3: interruptions 2/s\"><failure message=\"{line}\"/></testcase>"
            )),
            "{xml}"
        );
    }

    #[test]
    fn misspelt_limits_are_refused() {
        for text in [
            "",
            "interruptions",
            "2/s",
            "interruptions 2/min",
            "interruptions x/s",
            "lost 3/s",
            "ticks -1",
            "lost 200%",
            "latency 50",
        ] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
        let refused = |text: &str| text.parse::<Limit>().unwrap_err();
        assert!(refused("tikcs 0").contains("did you mean ticks?"), "{}", refused("tikcs 0"));
        assert!(refused("softirq:rcu 0").contains("did you mean RCU?"), "{}", refused("softirq:rcu 0"));
        assert!(refused("softirq: 0").contains("softirq stands for all of them"));
        assert!(
            refused("longest 2ms").starts_with("no cause is called longest"),
            "{}",
            refused("longest 2ms")
        );
        for text in ["interruptions 2/s", "ticks 0", "lost 1%", "hrtimer:x 50us", "latency 2ms"] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn limit_without_a_figure_is_refused_before_the_measurement() {
        let refused = |limit: &str, measures: &Measures| limit.parse::<Limit>().unwrap().unjudged(measures);
        let (alone, all) = (Measures::interruptions(false), Measures::interruptions(true));
        for limit in ["interruptions 2/s", "ticks 0", "softirq:RCU 1", "interruptions 50us"] {
            assert_eq!((refused(limit, &alone), refused(limit, &all)), (None, None), "{limit}");
            assert!(refused(limit, &Measures::Latencies).unwrap().contains("latency alone"), "{limit}");
        }
        assert_eq!(refused("latency 50us", &Measures::Latencies), None);
        assert_eq!(refused("latency 50us", &all).unwrap(), "latency 50us: only dyntick latency measures it");
        assert!(refused("lost 1%", &alone).is_some() && refused("lost 1%", &all).is_none());
        let kinds = BTreeSet::from([Kind::Softirqs]);
        let softirqs = Measures::Interruptions { kinds, command: true };
        assert_eq!(refused("softirq:RCU 1", &softirqs), None);
        let ticks = "ticks 0: -e leaves out what it is counted from (timers, ticks)";
        assert_eq!(refused("ticks 0", &softirqs).unwrap(), ticks);
        assert!(refused("interruptions 1/s", &softirqs).is_some() && refused("lost 1%", &softirqs).is_some());
        assert!("late-idle 3".parse::<Limit>().unwrap_err().contains("latency 50us"));
    }
}
