// SPDX-License-Identifier: GPL-2.0-only
//! A gate for pipelines: limits that a measurement must keep, and the judgement on each.

use dyntick_explain::rules;
use dyntick_model::Softirq;
use dyntick_model::text::{clean_line, nearest};
use dyntick_record::{Ledger, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter, Write as _};
use std::str::FromStr;

/// A limit, e.g. `interruptions 2/s`: a quantity, and the most that is allowed of it on each CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    what: Quantity,
    most: Amount,
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
    /// All interruptions; `None` for the command.
    pub interruptions: Option<Counted>,
    /// The causes. One may be a part of another, so they do not add up.
    pub causes: Vec<Counted>,
    /// The share of its time that the command lost, 0 to 1.
    pub lost: Option<f64>,
}

impl Figures {
    /// The share of its time that a command lost, with the parts of it.
    pub fn of_ledger(ledger: &Ledger, seconds: f64) -> Self {
        let lost = |part: &Part| Counted {
            name: part.title.clone(),
            count: part.count,
            ns: part.ns,
            longest_ns: part.longest_ns,
            ticks: None,
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
    /// The number of interruptions.
    pub count: u64,
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
            _ => causes.sort_by_key(|cause| Reverse((cause.ns, cause.count))),
        }
        let is_known = self.what.is_known() || !causes.is_empty();
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
        let was = was.filter(|_| is_known);
        let most = self.most.value();
        let name = self.what.to_string();
        causes.retain(|cause| cause.count > 0 && cause.name != name);
        let culprit = |cause: &&Counted| match (&self.what, cause.ns) {
            (Quantity::Lost, Some(ns)) => format!("{} {:.3}s", cause.name, ns as f64 / 1e9),
            _ => format!("{} {:.3}/s", cause.name, cause.count as f64 / figures.seconds),
        };
        Judged {
            limit: self.to_string(),
            cpu: figures.cpu,
            most,
            was,
            held: was.map(|was| was <= most),
            culprits: causes.iter().take(CULPRITS).map(culprit).collect(),
        }
    }
}

impl Quantity {
    /// Returns false for the figure of another verb.
    fn is_known(&self) -> bool {
        !matches!(self, Quantity::Cause(name) if name == LATENCY)
    }

    fn is_about(&self, cause: &Counted) -> bool {
        match self {
            Quantity::Interruptions | Quantity::Lost => true,
            Quantity::Ticks => cause.ticks != Some(0),
            Quantity::Cause(name) => cause.name == *name || cause.name.starts_with(&format!("{name}:")),
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
        let what = &self.what;
        match self.most {
            Amount::PerSecond(most) => write!(f, "{what} {most}/s"),
            Amount::Count(most) => write!(f, "{what} {most}"),
            Amount::Share(most) => write!(f, "{what} {}%", most * 100.0),
            Amount::Longest(most) => write!(f, "{what} {}us", most / 1000.0),
        }
    }
}

/// The form of a limit, for messages.
const FORM: &str = "must be WHAT MOST, e.g. 'interruptions 2/s', 'ticks 0', 'softirq:RCU 10/s', 'interruptions 0.1%' (of \
                    the time), 'interruptions 50us' (the longest), 'lost 1%' (of the command's time)";

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
            "ns" => Amount::Longest(number),
            "us" | "µs" => Amount::Longest(number * 1e3),
            "ms" => Amount::Longest(number * 1e6),
            _ => return Err(form()),
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
        Ok(Self { what, most })
    }
}

/// The figure of `dyntick latency`, which is no cause.
pub const LATENCY: &str = "latency";

/// Refuses the name of a cause that cannot occur, e.g. a misspelt one: it would be counted 0 times.
fn refuse_unknown(name: &str) -> Result<(), String> {
    let (class, member) = name.split_once(':').unwrap_or((name, ""));
    let known: BTreeSet<&str> = rules::all().iter().filter_map(|rule| rule.id.split(':').next()).collect();
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

impl Limit {
    /// The function of the kernel that the limit's cause names; none if it names something else.
    pub fn function(&self) -> Option<&str> {
        let Quantity::Cause(name) = &self.what else { return None };
        let (class, function) = name.split_once(':')?;
        let is_ruled = rules::all().iter().any(|rule| rule.id == name);
        (OF_FUNCTIONS.contains(&class) && !is_ruled).then_some(function)
    }
}

/// The classes of causes whose members are functions of the kernel.
const OF_FUNCTIONS: [&str; 6] = ["timer", "hrtimer", "function-call", "ipi", "workqueue", "irq-work"];

impl Gate {
    /// Judges figures; `None` if there are no limits. Without figures nothing was counted.
    pub fn judge(limits: &[Limit], figures: Option<&[Figures]>) -> Option<Self> {
        let of: Vec<Judged> = limits.iter().flat_map(|limit| limit.judge(figures.unwrap_or(&[]))).collect();
        let held = if of.iter().any(|one| one.held == Some(false)) {
            Some(false)
        } else if of.iter().any(|one| one.held.is_none()) {
            None
        } else {
            Some(true)
        };
        (!limits.is_empty()).then_some(Self { held, of })
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
    pub fn junit(&self, suite: &str, command: Option<u8>) -> String {
        let failed = command.filter(|status| *status != 0);
        let failures = self.of.iter().filter(|one| one.held == Some(false)).count();
        let errors = self.of.iter().filter(|one| one.held.is_none()).count() + usize::from(failed.is_some());
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" \
             errors=\"{errors}\">\n",
            escaped(suite),
            self.of.len() + usize::from(failed.is_some())
        );
        if let Some(status) = failed {
            let suite = escaped(suite);
            let _ = writeln!(
                xml,
                "  <testcase classname=\"{suite}\" name=\"the command\"><error message=\"it ended with status {status}\"/></testcase>"
            );
        }
        for one in &self.of {
            let name = escaped(&format!("{}{}", one.place(), one.limit));
            let inner = match one.held {
                Some(true) => String::new(),
                Some(false) => format!("<failure message=\"{}\"/>", escaped(&one.complaint())),
                None => format!("<error message=\"{}\"/>", escaped(&one.complaint())),
            };
            let _ = writeln!(
                xml,
                "  <testcase classname=\"{}\" name=\"{name}\">{inner}</testcase>",
                escaped(suite)
            );
        }
        xml + "</testsuite>\n"
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
            "%" => format!("{:.3}%", was * 100.0),
            "us" => format!("{:.1}us", was / 1000.0),
            unit => format!("{was:.3}{unit}"),
        };
        let by =
            if self.culprits.is_empty() { String::new() } else { format!(": {}", self.culprits.join(", ")) };
        clean_line(&format!("{place}{limit} exceeded: {was}{by}"))
    }
}

/// A text within an attribute of XML.
fn escaped(text: &str) -> String {
    let text = clean_line(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Vec<Figures> {
        let cause = |name: &str, count, ticks, us: u64| Counted {
            name: name.to_owned(),
            count,
            ticks: Some(ticks),
            ns: Some(us * 1000),
            longest_ns: Some(us * 500),
        };
        let causes = vec![cause("not-adaptive", 500, 500, 9000), cause("softirq:RCU", 20, 0, 40)];
        let of_command = Figures { cpu: None, seconds: 2.0, lost: Some(0.02), ..Figures::default() };
        let interruptions = Some(cause("", 520, 500, 9040));
        vec![Figures { cpu: Some(3), seconds: 2.0, interruptions, causes, lost: None }, of_command]
    }

    fn judged(limit: &str) -> (Option<f64>, Option<bool>) {
        let gate = Gate::judge(&[limit.parse().unwrap()], Some(&figures())).unwrap();
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
        let gate = Gate::judge(&limits, None).unwrap();
        assert_eq!((gate.held, gate.status()), (None, 2));
        assert_eq!(gate.complaints(), ["interruptions 2/s: it could not be counted"]);
        assert_eq!(Gate::judge(&[], None), None);
        let mut unknown = figures();
        unknown[0].interruptions.as_mut().unwrap().longest_ns = None;
        let gate = Gate::judge(&["interruptions 9ms".parse().unwrap()], Some(&unknown)).unwrap();
        assert_eq!(gate.held, None, "the longest is not known");
        let mut untold = figures();
        untold[0].causes[0].ticks = None;
        let gate = Gate::judge(&["ticks 0".parse().unwrap()], Some(&untold)).unwrap();
        assert_eq!(
            (gate.held, gate.of[0].was),
            (None, None),
            "ticks are not distinguished from other timers"
        );
        let judged = |limit: &str| Gate::judge(&[limit.parse().unwrap()], Some(&figures())).unwrap().held;
        assert_eq!(judged("fair-server 0"), Some(true), "it never occurred");
    }

    #[test]
    fn complaint_names_the_culprits() {
        let gate = Gate::judge(&["interruptions 2/s".parse().unwrap()], Some(&figures())).unwrap();
        let line =
            "CPU 3: interruptions 2/s exceeded: 260.000/s: not-adaptive 250.000/s, softirq:RCU 10.000/s";
        assert_eq!((gate.status(), gate.complaints()), (3, vec![line.to_owned()]));
        let xml = gate.junit("a", Some(7));
        assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"1\"") && xml.contains("status 7"), "{xml}");
        let xml = gate.junit("a <b> & \"c\"", Some(0));
        assert!(xml.contains(
            "<testsuite name=\"a &lt;b&gt; &amp; &quot;c&quot;\" tests=\"1\" failures=\"1\" errors=\"0\">"
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
        for text in ["interruptions 2/s", "ticks 0", "lost 1%", "hrtimer:x 50us"] {
            assert_eq!(text.parse::<Limit>().unwrap().to_string(), text);
        }
    }
}
