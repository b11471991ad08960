// SPDX-License-Identifier: GPL-2.0-only
//! The verdict: what took the time, and the one change that pays. Its rules are in the book (docs/src/verdicts.md).

use crate::ledger::{Ledger, PREEMPTED, PROBE, Part};
use crate::sums::share;
use dyntick_check::shell;
use dyntick_model::{CpuList, Fix};
use dyntick_observe::facts::Cpus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The number of losses that are named.
const MOST_LOSSES: usize = 3;

/// The share of the time from which on an interruption is named that is not worth a change, beside one that is.
const NOTICEABLE: f64 = 0.001;

/// The least time of a trap, ns: an exception of an x86 CPU and the return from it, without the work between.
const TRAP_NS: u64 = 100;

/// The share of all losses below which one is not named after the largest.
const NAMED_FROM: f64 = 0.1;

/// The share of time on unrecorded CPUs from which on it is said.
const MOSTLY_UNSEEN: f64 = 0.5;

/// The losses of time, the change against the largest of those that are worth one, and an interruption that is not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The subject of the losses: true for the threads of the command, false for the measured CPUs. Threads that slept
    /// nearly all the time are none, e.g. those of `sleep 5`.
    pub of_threads: bool,
    /// The losses: the largest, and those of at least a tenth of all; at most 3.
    pub losses: Vec<Loss>,
    /// The interruptions of the measured CPUs together, whichever task they interrupted, where those of the threads are
    /// not known; null if the losses have them.
    pub interruptions: Option<Loss>,
    /// The change that pays; null if nothing is worth one, or nothing is known to help.
    pub worth: Option<Change>,
    /// The interruption that a reader would ask about first and that is not worth a change; null if there is none.
    pub not_worth: Option<Loss>,
    /// True if all CPUs were measured: the fixes against interruptions need the CPUs that are to be quiet.
    pub needs_cpus: bool,
    /// The bar above which a loss is worth a change.
    pub bar: Bar,
    /// The share of the time that the threads spent on CPUs that were not recorded, 0 to 1, if it is most of it.
    pub unseen_share: Option<f64>,
}

/// The time that one kind of event took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// The kind, in words.
    pub what: String,
    /// The time, ns; null if only the number is known.
    pub ns: Option<u64>,
    /// The time as a share, 0 to 1: of the time that the command's threads did not sleep, else of the CPUs' time.
    pub share: f64,
    /// The number of pieces.
    pub count: u64,
    /// The longest piece, ns.
    pub longest_ns: Option<u64>,
    /// True for the periodic tick.
    pub tick: bool,
    /// The best fix; null if none is known.
    pub fix: Option<Fix>,
    /// The part of the command's time that it is, if it is one.
    #[serde(skip)]
    pub part: &'static str,
}

/// A change that pays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The loss that it removes or makes smaller.
    pub against: String,
    /// The change.
    pub change: Fix,
}

/// The bar above which a loss is worth a change: either of its limits is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bar {
    /// A share of the time, 0 to 1.
    pub share: f64,
    /// The length of one piece, ns.
    pub longest_ns: u64,
}

impl Bar {
    /// A program on a shared CPU.
    const USUAL: Self = Self { share: 0.01, longest_ns: 1_000_000 };

    /// A CPU that was isolated or made adaptive, so that nothing else runs there.
    const QUIET: Self = Self { share: 0.0001, longest_ns: 10_000 };

    /// Returns true if a loss is worth a change.
    pub fn is_exceeded_by(&self, loss: &Loss) -> bool {
        loss.share >= self.share || loss.longest_ns.is_some_and(|ns| ns >= self.longest_ns)
    }
}

/// The figures that a verdict is made from.
#[derive(Default)]
pub struct Case<'a> {
    /// The time of the command's threads, if there is a command.
    pub ledger: Option<&'a Ledger>,
    /// The causes of interruptions of the measured CPUs.
    pub causes: Vec<Cause>,
    /// The time of the measured CPUs together, ns.
    pub cpus_ns: u64,
    /// True if the measured CPUs are isolated or adaptive.
    pub quiet: bool,
    /// True if all CPUs of the machine are measured, so that none is known to be one that must be quiet.
    pub all_cpus: bool,
    /// True if a duration may include the turns of other CPUs ([`Machine::has_turns`]): the longest says nothing then.
    ///
    /// [`Machine::has_turns`]: dyntick_observe::facts::Machine::has_turns
    pub turns: bool,
    /// The command that would keep other tasks away from the measured one.
    pub isolate: Option<String>,
    /// The command that shows what threads were blocked by, where that is not known.
    pub explain: Option<String>,
}

/// A cause of interruptions.
pub struct Cause {
    /// Its figures, without a share.
    pub loss: Loss,
    /// The kind of cause.
    pub kind: Kind,
}

/// The kind of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An interruption.
    Interruption,
    /// The time slices of another user task, which are no interruptions.
    Task,
    /// Time that no event of the kernel shows, e.g. steal time.
    Unseen,
}

impl Case<'_> {
    /// The verdict on this case.
    pub fn verdict(self) -> Verdict {
        let (bar, of) = (if self.quiet { Bar::QUIET } else { Bar::USUAL }, self.cpus_ns);
        let mut causes: Vec<Cause> = self.causes.into_iter().map(|cause| cause.with_share(of)).collect();
        if self.all_cpus {
            causes.iter_mut().for_each(|cause| cause.loss.fix = None);
        }
        // The command leaves its control group, and so its quota.
        let leaves_group = self.isolate.is_some();
        let remedies = Remedies {
            tasks: self.isolate.map(Fix::Command).or_else(|| fix_of_largest(&causes, Kind::Task)),
            interruptions: fix_of_largest(&causes, Kind::Interruption),
            blocked: self
                .explain
                .map(|command| Fix::Advice(format!("see what it was blocked by: {command}"))),
        };
        let ledger = self.ledger.filter(|ledger| ledger.is_worth_a_verdict(self.cpus_ns));
        let mut losses: Vec<Loss> = match ledger {
            Some(ledger) => of_threads(ledger, &remedies),
            None => causes.iter().map(|cause| cause.loss.clone()).collect(),
        };
        let knows_its_own = |ledger: &&Ledger| ledger.parts.iter().any(|part| part.part == INTERRUPTED);
        if self.turns {
            causes
                .iter_mut()
                .map(|cause| &mut cause.loss)
                .chain(&mut losses)
                .for_each(|loss| loss.longest_ns = None);
        }
        let apart = ledger.filter(|ledger| !knows_its_own(ledger));
        let interruptions = apart.and_then(|_| of_interruptions(&causes, &remedies));
        losses.sort_by_key(|loss| Reverse(loss.ns));
        let all_ns = total(losses.iter().filter_map(|loss| loss.ns));
        let is_named =
            |loss: &Loss| loss.ns.is_some_and(|ns| ns > 0 && ns as f64 >= NAMED_FROM * all_ns as f64);
        losses.retain(is_named);
        losses.truncate(MOST_LOSSES);
        let mut candidates: Vec<&Loss> = losses.iter().chain(&interruptions).collect();
        candidates.sort_by_key(|loss| Reverse(loss.ns));
        candidates.retain(|loss| bar.is_exceeded_by(loss) && loss.fix.is_some());
        let first = candidates.first().copied();
        let of_losses =
            first.map(|first| quota_before(first, &candidates, leaves_group)).and_then(Loss::change);
        let of_traps = ledger.and_then(|ledger| ledger.change_of_traps(&bar));
        let worth = of_traps.or(of_losses).or_else(|| ledger.and_then(Ledger::change_of_waits));
        let is_asked_about = |loss: &Loss| loss.tick || worth.is_none() || loss.share >= NOTICEABLE;
        let not_worth = not_worth(causes, &bar).filter(is_asked_about);
        let unseen = ledger.map(Ledger::unseen_share).filter(|share| *share >= MOSTLY_UNSEEN);
        Verdict {
            of_threads: ledger.is_some(),
            losses,
            interruptions: interruptions.filter(|loss| loss.share >= NOTICEABLE),
            worth,
            not_worth,
            needs_cpus: self.all_cpus,
            bar,
            unseen_share: unseen,
        }
    }
}

/// The share of the CPUs' time for which threads must have been awake, or kept from being so, to be a subject.
const AWAKE_FROM: f64 = 0.005;

impl Ledger {
    fn is_worth_a_verdict(&self, cpus_ns: u64) -> bool {
        cpus_ns == 0 || self.awake_ns as f64 >= AWAKE_FROM * cpus_ns as f64
    }
}

impl Ledger {
    /// The waits that are no loss by themselves and may be one, e.g. for a lock of the program, if they outweigh half
    /// of what was lost: the longest first.
    pub fn doubtful_waits(&self) -> impl Iterator<Item = &Part> {
        let waits = self.parts.iter().filter(|part| !part.lost && !part.fixes.is_empty());
        waits.filter(|part| part.ns.is_some_and(|ns| ns > self.lost_ns / 2))
    }

    /// The change against traps that no event times, if they take the share of the bar even at the least time of each.
    fn change_of_traps(&self, bar: &Bar) -> Option<Change> {
        let traps = self.parts.iter().filter(|part| part.part == PROBE).max_by_key(|part| part.count)?;
        let is_much = traps.count.saturating_mul(TRAP_NS) as f64 >= bar.share * self.awake_ns as f64;
        let change = traps.fixes.first().filter(|_| is_much)?;
        Some(Change { against: traps.title.clone(), change: change.clone() })
    }

    fn change_of_waits(&self) -> Option<Change> {
        let wait = self.doubtful_waits().next()?;
        Some(Change { against: wait.title.clone(), change: wait.fixes.first()?.clone() })
    }
}

impl Cause {
    fn with_share(mut self, of: u64) -> Self {
        self.loss.share = share(self.loss.ns.unwrap_or(0) as f64, of as f64);
        self
    }
}

impl Loss {
    fn change(&self) -> Option<Change> {
        Some(Change { against: self.what.clone(), change: self.fix.clone()? })
    }
}

/// The name of the part of a ledger in which a CPU quota was used up.
const QUOTA: &str = "quota";

/// The loss to change first: a used-up quota comes before waits for other tasks. The time that those would give back
/// is throttled all the same. `dyntick isolate` removes both, as the command leaves its control group.
fn quota_before<'a>(first: &'a Loss, candidates: &[&'a Loss], leaves_group: bool) -> &'a Loss {
    let quota = candidates.iter().copied().find(|loss| loss.part == QUOTA);
    quota.filter(|_| first.part == PREEMPTED && !leaves_group).unwrap_or(first)
}

/// The fixes for the parts of a ledger that have none of their own.
struct Remedies {
    tasks: Option<Fix>,
    interruptions: Option<Fix>,
    blocked: Option<Fix>,
}

/// The fix of the largest cause of a kind.
fn fix_of_largest(causes: &[Cause], kind: Kind) -> Option<Fix> {
    let of = causes.iter().filter(|cause| cause.kind == kind);
    of.max_by_key(|cause| cause.loss.ns)?.loss.fix.clone()
}

/// The name of the parts of uninterruptible sleep in a ledger.
const BLOCKED: &str = "blocked";

/// The name of the part of interrupts in a ledger.
const INTERRUPTED: &str = "interrupted";

/// A sum. What a record says of the machine's counters may be any number.
fn total(of: impl Iterator<Item = u64>) -> u64 {
    of.fold(0, u64::saturating_add)
}

/// The interruptions of the measured CPUs together, for a ledger that does not know those of its threads. They are no
/// part of what its threads lost.
fn of_interruptions(causes: &[Cause], remedies: &Remedies) -> Option<Loss> {
    let all: Vec<&Loss> =
        causes.iter().filter(|cause| cause.kind == Kind::Interruption).map(|cause| &cause.loss).collect();
    let loss = Loss {
        what: "interruptions of the measured CPUs".to_owned(),
        ns: Some(total(all.iter().filter_map(|loss| loss.ns))),
        share: all.iter().map(|loss| loss.share).sum(),
        count: total(all.iter().map(|loss| loss.count)),
        longest_ns: all.iter().filter_map(|loss| loss.longest_ns).max(),
        tick: false,
        fix: remedies.interruptions.clone(),
        part: "",
    };
    (loss.count > 0).then_some(loss)
}

/// The name of the parts of page faults in a ledger, which mostly come once, when a program starts.
const FAULT: &str = "fault";

/// The losses of a command's threads.
fn of_threads(ledger: &Ledger, remedies: &Remedies) -> Vec<Loss> {
    let loss = |part: &Part| Loss {
        what: part.title.clone(),
        ns: part.ns,
        share: share(part.ns.unwrap_or(0) as f64, ledger.awake_ns as f64),
        count: part.count,
        longest_ns: part.longest_ns.filter(|ns| part.part != FAULT || *ns >= Bar::USUAL.longest_ns),
        tick: false,
        part: part.part,
        fix: match part.part {
            PREEMPTED if part.own => None,
            PREEMPTED => remedies.tasks.clone(),
            INTERRUPTED => remedies.interruptions.clone(),
            BLOCKED if part.fixes.is_empty() => remedies.blocked.clone(),
            _ => part.fixes.first().cloned(),
        },
    };
    let parts = ledger.folded();
    parts.iter().filter(|part| part.lost && part.ns.is_some()).map(loss).collect()
}

/// The tick if it is below the bar, else the largest interruption below it.
fn not_worth(causes: Vec<Cause>, bar: &Bar) -> Option<Loss> {
    let below = causes.into_iter().filter(|cause| cause.kind == Kind::Interruption).map(|cause| cause.loss);
    let below = below.filter(|loss| loss.ns.is_some_and(|ns| ns > 0) && !bar.is_exceeded_by(loss));
    below.max_by_key(|loss| (loss.tick, loss.ns))
}

/// The command that keeps other tasks away from a command: on the measured CPUs if others are left, else on the last
/// CPU, which one thread can do with. `None` if there is no command, or they are isolated already.
pub fn isolate(machine: &Cpus, cpus: &CpuList, threads: u64, command: &[String]) -> Option<String> {
    let leaves_others = |cpus: &CpuList| !cpus.is_empty() && !machine.online.is_subset(cpus);
    let last = || machine.online.iter().max().map(|cpu| CpuList::from_iter([cpu])).filter(|_| threads == 1);
    let cpus = Some(cpus.clone()).filter(leaves_others).or_else(last).filter(leaves_others)?;
    let is_possible = !command.is_empty() && !cpus.is_subset(&machine.isolated);
    is_possible.then(|| format!("dyntick isolate -C {cpus} -- {}", shell::command(command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn part(part: &'static str, title: &str, ms: u64, longest_ms: u64) -> Part {
        Part {
            part,
            title: title.to_owned(),
            task: (part == PREEMPTED).then(|| title.to_owned()),
            function: None,
            own: false,
            lost: part != "ran",
            ns: Some(ms * MS),
            count: 3,
            longest_ns: Some(longest_ms * MS),
            by: Vec::new(),
            explanation: "",
            fixes: Vec::new(),
        }
    }

    fn ledger(parts: Vec<Part>) -> Ledger {
        let sum = |lost: bool| {
            parts.iter().filter(|part| part.lost || !lost).filter_map(|part| part.ns).sum::<u64>()
        };
        Ledger { lived_ns: sum(false), lost_ns: sum(true), awake_ns: sum(false), parts, ..Ledger::default() }
    }

    fn cause(what: &str, tick: bool, ms: u64, longest_ns: u64) -> Cause {
        let fix = Some(Fix::Boot(format!("no-{what}")));
        let (ns, longest_ns) = (Some(ms * MS), Some(longest_ns));
        let loss = Loss { what: what.to_owned(), ns, longest_ns, count: 9, tick, fix, share: 0.0, part: "" };
        Cause { loss, kind: Kind::Interruption }
    }

    #[test]
    fn waits_for_any_other_task_are_one_loss_and_isolate_helps() {
        let parts = vec![
            part(PREEMPTED, "cc1", 60, 4),
            part(PREEMPTED, "gcc", 50, 4),
            part("blocked", "blocked by a lock", 70, 1),
            part("ran", "ran", 820, 9),
        ];
        let ledger = ledger(parts);
        let causes = vec![cause("tick", true, 5, 90_000), cause("softirq", false, 7, 80_000)];
        let case = Case {
            ledger: Some(&ledger),
            causes,
            cpus_ns: 1000 * MS,
            isolate: Some("dyntick isolate -C 1 -- x".to_owned()),
            ..Case::default()
        };
        let verdict = case.verdict();
        let losses: Vec<_> = verdict.losses.iter().map(|loss| (loss.what.as_str(), loss.ns)).collect();
        assert_eq!(
            losses,
            [
                ("ready to run, while other tasks had the CPU: cc1, gcc", Some(110 * MS)),
                ("blocked by a lock", Some(70 * MS))
            ]
        );
        let worth = verdict.worth.unwrap();
        assert_eq!(worth.change, Fix::Command("dyntick isolate -C 1 -- x".to_owned()));
        assert_eq!(verdict.not_worth.unwrap().what, "tick", "the one that readers ask about");
    }

    /// A group that has used up its quota gains nothing from a neighbour that goes.
    #[test]
    fn quota_comes_before_a_larger_wait_for_other_tasks() {
        let change = |quota_ms: u64, isolate: Option<&str>| {
            let mut quota = part(QUOTA, "throttled", quota_ms, quota_ms.min(40));
            quota.fixes = vec![Fix::Command("echo max > cpu.max".to_owned())];
            let ledger = ledger(vec![part(PREEMPTED, "cc1", 500, 8), quota, part("ran", "ran", 400, 9)]);
            let neighbour = Cause { kind: Kind::Task, ..cause("cc1", false, 500, 8 * MS) };
            let (causes, isolate) = (vec![neighbour], isolate.map(str::to_owned));
            let case = Case { ledger: Some(&ledger), causes, cpus_ns: 1000 * MS, isolate, ..Case::default() };
            case.verdict().worth.unwrap().change.to_string()
        };
        assert_eq!(change(100, None), "echo max > cpu.max");
        assert_eq!(change(20, None), "boot with no-cc1", "less than a tenth of what was lost");
        assert_eq!(change(100, Some("dyntick isolate -C 1 -- x")), "dyntick isolate -C 1 -- x");
    }

    #[test]
    fn many_traps_come_first_and_waits_for_locks_last() {
        let verdict = |hits| {
            let mut ledger = ledger(vec![part("fault", "faults", 1, 1), part("ran", "ran", 999, 9)]);
            let advice = |words: &str| vec![Fix::Advice(words.to_owned())];
            let mut wait = part("slept", "waited for a lock", 300, 2);
            (wait.lost, wait.fixes) = (false, advice("record the other CPU"));
            let mut traps = part(PROBE, "trapped", 0, 0);
            (traps.ns, traps.count, traps.fixes) = (None, hits, advice("remove the probe"));
            ledger.parts.extend([wait, traps]);
            Case { ledger: Some(&ledger), cpus_ns: 1000 * MS, ..Case::default() }.verdict().worth
        };
        assert_eq!(verdict(200_000).unwrap().change, Fix::Advice("remove the probe".to_owned()));
        assert_eq!(verdict(100).unwrap().change, Fix::Advice("record the other CPU".to_owned()));
    }

    #[test]
    fn change_is_shown_only_above_the_bar() {
        let verdict = |quiet, longest_ns| {
            let causes = vec![cause("tick", true, 5, longest_ns)];
            Case { causes, cpus_ns: 1000 * MS, quiet, ..Case::default() }.verdict()
        };
        let below = verdict(false, 90_000);
        assert_eq!((below.worth, below.not_worth.map(|loss| loss.what)), (None, Some("tick".to_owned())));
        for above in [verdict(false, MS), verdict(true, 90_000)] {
            assert_eq!(above.worth.unwrap().change, Fix::Boot("no-tick".to_owned()));
            assert_eq!(above.not_worth, None);
        }
        let beside_the_tick = |us: u64| {
            let mut rare = cause("softirq", false, 0, 900);
            rare.loss.ns = Some(us * 1000);
            let causes = vec![cause("tick", true, 50, MS), rare];
            Case { causes, cpus_ns: 1000 * MS, ..Case::default() }.verdict().not_worth.map(|loss| loss.what)
        };
        assert_eq!(beside_the_tick(2000).as_deref(), Some("softirq"));
        assert_eq!(beside_the_tick(900), None, "it took less than a thousandth");
    }

    #[test]
    fn time_on_unrecorded_cpus_is_said_if_it_is_most() {
        let of = |unseen| {
            let mut ledger = ledger(vec![part("ran", "ran", 40, 1), part("unseen", "unseen", unseen, 1)]);
            ledger.parts[1].lost = false;
            Case { ledger: Some(&ledger), ..Case::default() }.verdict().unseen_share
        };
        assert_eq!((of(39), of(60)), (None, Some(0.6)));
    }

    /// A file system makes one call wait in several places: that is one row, and one loss.
    #[test]
    fn waits_with_one_title_are_one_loss() {
        let at = |function: &str, ms| Part {
            function: Some(function.to_owned()),
            ..part(BLOCKED, "blocked by a page or a disk, in fdatasync()", ms, ms)
        };
        let parts =
            vec![at("jbd2_log_wait_commit", 9), at("folio_wait_bit_common", 4), part("ran", "ran", 5, 5)];
        let ledger = Ledger { parts, ..Ledger::default() };
        let folded = ledger.folded();
        assert_eq!((folded.len(), folded[0].ns, folded[0].count), (2, Some(13 * MS), 6));
        assert_eq!(folded[0].longest_ns, Some(9 * MS));
        let titles: Vec<String> = ledger.detailed().into_iter().map(|part| part.title).collect();
        let expected = [
            "blocked by a page or a disk, in fdatasync()",
            "… in jbd2_log_wait_commit",
            "… in folio_wait_bit_common",
            "ran",
        ];
        assert_eq!(titles, expected);
    }
}
