// SPDX-License-Identifier: GPL-2.0-only
//! The known causes.
//!
//! A rule that detects has its own file, which this file names as a module and in `DETECTING`. A rule that describes a
//! single function (`timer:mce_timer_fn`) consists of words only: it is a row of `MEMBERS` in the file of its class,
//! and is found by its id.

/// The effect of a fix for firmware, devices, counters or registers of real machines, which no guest can show.
macro_rules! untried {
    ($effect:expr) => {
        concat!($effect, " Not tried here: no guest shows it.")
    };
}

/// The effect of a fix that a guest could show, but none has yet.
macro_rules! not_tried {
    ($effect:expr) => {
        concat!($effect, " Not tried here.")
    };
}

/// The effect of a fix that moves interrupts, with those that it cannot move: `irq_can_set_affinity_usr` is false for
/// managed ones (`kernel/irq/proc.c: write_irq_affinity`, which returns EIO, from 6.12 on EPERM), and
/// `irq_setup_affinity` keeps their mask.
macro_rules! but_managed {
    ($effect:expr) => {
        concat!(
            $effect,
            " Managed interrupts (a queue per CPU: NVMe, virtio, mlx5) cannot be moved: isolcpus=managed_irq keeps \
             them away."
        )
    };
}

/// The effect of `nohz_full=`, with its price: the instructions were counted on 6.12 (`docs/src/context-tracking.md`).
macro_rules! with_nohz_full {
    ($effect:literal) => {
        concat!(
            $effect,
            " Its price: each kernel entry takes some 300 instructions more, and each wake-up some 600, so it is for \
             work that stays in user mode, and not for work that sleeps between its periods. From 6.12 until 7.2 the CPU \
             then has the fair server (fair-server), which has a separate fix."
        )
    };
}

mod anonymous_call;
mod anonymous_irq_work;
mod command_task;
mod command_tick;
mod command_wakeup;
mod cpu_quota;
mod dependency_clock_unstable;
mod dependency_deadline;
mod dependency_perf;
mod dependency_posix_timer;
mod dependency_rcu;
mod dependency_rcu_exp;
mod dependency_sched;
mod dependency_sched_ext;
mod device;
mod empty_timer;
mod fair_server;
mod function_call;
mod hrtimer;
mod idle_not_stopped;
mod ipi;
mod irq_work;
mod kernel_thread;
mod late;
mod nmi;
mod not_adaptive;
mod other_task;
mod page_fault;
mod remote_timer;
mod signal;
mod softirq;
mod timekeeper;
mod timer;
mod unseen;
mod until_first_check;
mod vector;
mod wakeup;
mod wheel_empty;
mod workqueue;

pub use crate::rule::{Rule, RuleFix, UNTRIED, Versions, remark};
pub(crate) use late::LESS_SLACK;

use crate::case::{Case, Finding};
use crate::{CauseId, Kind, names};
use dyntick_model::{Map, Symbol};
use serde::de::{Deserialize, Deserializer, Error};
use std::sync::LazyLock;

/// A function that returns a finding if a rule covers the case.
type Detect = fn(&Case<'_>) -> Option<Finding>;

/// The rules that detect. The first one wins, so certain causes, and those deeper in the chain of causation, come
/// first.
static DETECTING: &[(&Rule, Detect)] = &[
    (&remote_timer::RULE, remote_timer::detect),
    (&not_adaptive::RULE, not_adaptive::detect),
    (&timekeeper::RULE, timekeeper::detect),
    (&idle_not_stopped::RULE, idle_not_stopped::detect),
    (&fair_server::RULE, fair_server::detect),
    (&workqueue::RULE, workqueue::detect),
    (&function_call::RULE, function_call::detect),
    (&dependency_posix_timer::RULE, dependency_posix_timer::detect),
    (&dependency_perf::RULE, dependency_perf::detect),
    (&dependency_clock_unstable::RULE, dependency_clock_unstable::detect),
    (&dependency_rcu::RULE, dependency_rcu::detect),
    (&dependency_rcu_exp::RULE, dependency_rcu_exp::detect),
    (&softirq::RULE, softirq::detect),
    (&kernel_thread::RULE, kernel_thread::detect),
    (&dependency_deadline::RULE, dependency_deadline::detect),
    (&dependency_sched_ext::RULE, dependency_sched_ext::detect),
    (&cpu_quota::RULE, cpu_quota::detect),
    (&command_tick::RULE, command_tick::detect),
    (&dependency_sched::RULE, dependency_sched::detect),
    (&command_wakeup::RULE, command_wakeup::detect),
    (&wakeup::RULE, wakeup::detect),
    (&timer::RULE, timer::detect),
    (&until_first_check::RULE, until_first_check::detect),
    (&hrtimer::RULE, hrtimer::detect),
    (&wheel_empty::RULE, wheel_empty::detect),
    (&empty_timer::RULE, empty_timer::detect),
    (&signal::RULE, signal::detect),
    (&nmi::RULE, nmi::detect),
    (&irq_work::RULE, irq_work::detect),
    (&ipi::RULE, ipi::detect),
    (&anonymous_call::RULE, anonymous_call::detect),
    (&anonymous_irq_work::RULE, anonymous_irq_work::detect),
    (&command_task::RULE, command_task::detect),
    (&other_task::RULE, other_task::detect),
    (&device::RULE, device::detect),
    (&page_fault::RULE, page_fault::detect),
    (&vector::RULE, vector::detect),
];

/// The ones of them that may cover a time slice of a user's task, in the same order. A busy CPU has a million of these.
static OF_SLICES: &[Detect] = &[
    function_call::detect,
    signal::detect,
    nmi::detect,
    ipi::detect,
    command_task::detect,
    other_task::detect,
];

/// The rules of members of a class, found by their ids: a table for each class.
static MEMBERS: &[&[Rule]] = &[
    function_call::MEMBERS,
    hrtimer::MEMBERS,
    ipi::MEMBERS,
    irq_work::MEMBERS,
    kernel_thread::MEMBERS,
    softirq::MEMBERS,
    timer::MEMBERS,
    workqueue::MEMBERS,
];

/// The rules that other code names: those of late wake-ups, and those of causes that no event shows.
static NAMED: &[&Rule] = &[
    &late::IDLE,
    &late::INTERRUPTS_OFF,
    &late::OWN,
    &late::PATH,
    &late::PREEMPTION_OFF,
    &late::REAL_TIME_LIMIT,
    &late::NOTHING,
    &late::SLACK,
    &late::THROTTLED,
    &late::UNSEEN,
    &unseen::CLOCK_DISTRUSTED,
    &unseen::HYPERVISOR_STEAL,
    &unseen::SMI,
    &unseen::UNKNOWN,
];

/// All rules.
pub fn all() -> &'static [&'static Rule] {
    static ALL: LazyLock<Vec<&Rule>> = LazyLock::new(|| {
        let detecting = DETECTING.iter().map(|(rule, _)| *rule);
        detecting.chain(members()).chain(NAMED.iter().copied()).collect()
    });
    &ALL
}

fn members() -> impl Iterator<Item = &'static Rule> {
    MEMBERS.iter().copied().flatten()
}

/// The cause of an interruption by the first rule that detects one.
pub(crate) fn detect(case: &Case<'_>) -> Option<Finding> {
    let by_all = || DETECTING.iter().find_map(|(_, detect)| detect(case));
    if !matches!(case.kind, Kind::OtherTask | Kind::CommandTask) {
        return by_all();
    }
    let finding = OF_SLICES.iter().find_map(|detect| detect(case));
    debug_assert_eq!(by_all(), finding, "another rule covers a time slice");
    finding
}

/// The rules that other code names: each has the name of its file.
#[allow(missing_docs)]
pub mod named {
    use super::*;

    pub static ANONYMOUS_CALL: &Rule = &anonymous_call::RULE;
    pub static ANONYMOUS_IRQ_WORK: &Rule = &anonymous_irq_work::RULE;
    pub static CLOCK_DISTRUSTED: &Rule = &unseen::CLOCK_DISTRUSTED;
    pub static COMMAND_TASK: &Rule = &command_task::RULE;
    pub static DEPENDENCY_CLOCK_UNSTABLE: &Rule = &dependency_clock_unstable::RULE;
    pub static DEPENDENCY_PERF: &Rule = &dependency_perf::RULE;
    pub static DEPENDENCY_POSIX_TIMER: &Rule = &dependency_posix_timer::RULE;
    pub static DEPENDENCY_RCU: &Rule = &dependency_rcu::RULE;
    pub static DEPENDENCY_RCU_EXP: &Rule = &dependency_rcu_exp::RULE;
    pub static DEPENDENCY_SCHED: &Rule = &dependency_sched::RULE;
    pub static DEVICE: &Rule = &device::RULE;
    pub static EMPTY_TIMER: &Rule = &empty_timer::RULE;
    pub static FAIR_SERVER: &Rule = &fair_server::RULE;
    pub static FUNCTION_CALL: &Rule = &function_call::RULE;
    pub static HRTIMER: &Rule = &hrtimer::RULE;
    pub static HYPERVISOR_STEAL: &Rule = &unseen::HYPERVISOR_STEAL;
    pub static IPI: &Rule = &ipi::RULE;
    pub static KERNEL_THREAD: &Rule = &kernel_thread::RULE;
    pub static LATE_IDLE: &Rule = &late::IDLE;
    pub static LATE_INTERRUPTS_OFF: &Rule = &late::INTERRUPTS_OFF;
    pub static LATE_OWN: &Rule = &late::OWN;
    pub static LATE_PATH: &Rule = &late::PATH;
    pub static LATE_PREEMPTION_OFF: &Rule = &late::PREEMPTION_OFF;
    pub static LATE_REAL_TIME_LIMIT: &Rule = &late::REAL_TIME_LIMIT;
    pub static LATE_SLACK: &Rule = &late::SLACK;
    pub static LATE_THROTTLED: &Rule = &late::THROTTLED;
    pub static LATE_NOTHING: &Rule = &late::NOTHING;
    pub static LATE_UNSEEN: &Rule = &late::UNSEEN;
    pub static NOT_ADAPTIVE: &Rule = &not_adaptive::RULE;
    pub static NMI: &Rule = &nmi::RULE;
    pub static OTHER_TASK: &Rule = &other_task::RULE;
    pub static PAGE_FAULT: &Rule = &page_fault::RULE;
    pub static SMI: &Rule = &unseen::SMI;
    pub static SOFTIRQ: &Rule = &softirq::RULE;
    pub static TIMER: &Rule = &timer::RULE;
    pub static UNKNOWN: &Rule = &unseen::UNKNOWN;
    pub static VECTOR: &Rule = &vector::RULE;
    pub static WORKQUEUE: &Rule = &workqueue::RULE;
}

/// The rule of a cause: that of the member if it has its own, else that of its class.
pub fn get(cause: &CauseId) -> &'static Rule {
    /// By class and member: of a class without rules for members no name is hashed.
    static MEMBERS: LazyLock<Map<&Rule, Map<&str, &Rule>>> = LazyLock::new(|| {
        let member_of = |class: &Rule, rule: &'static Rule| rule.id.strip_prefix(class.id)?.strip_prefix(':');
        let of = |class| members().filter_map(|rule| Some((member_of(class, rule)?, rule))).collect();
        DETECTING.iter().map(|(class, _)| (*class, of(class))).collect()
    });
    let own = cause.member_name().and_then(|member| MEMBERS.get(cause.class())?.get(&**member));
    own.copied().unwrap_or(cause.class())
}

/// The title of a cause, followed by the member if the rule is that of the class.
pub fn title(cause: &CauseId) -> String {
    let rule = get(cause);
    match cause.member_name().filter(|_| rule.id == cause.class().id) {
        Some(member) => format!("{}: {member}", rule.title),
        None => rule.title.to_owned(),
    }
}

impl CauseId {
    /// The cause of a kernel thread's time slice: `kernel-thread` and the thread's name without the number of its CPU,
    /// NUMA node or process.
    pub fn kernel_thread(comm: &Symbol) -> Self {
        let member = match names::thread_family(comm) {
            family if family.len() < comm.len() => family.into(),
            _ => comm.clone(),
        };
        Self::member(named::KERNEL_THREAD, member)
    }

    /// Parses a text; `None` if there is no such class.
    pub fn parse(text: &str) -> Option<Self> {
        let with_id = |id: &str| all().iter().copied().find(|rule| rule.id == id);
        match text.split_once(':') {
            Some((class, member)) => Some(Self::member(with_id(class)?, member)),
            None => Some(Self::of(with_id(text)?)),
        }
    }
}

/// Reads its text; a text that no rule is about is an error.
impl<'de> Deserialize<'de> for CauseId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| Error::custom(format!("no rule is about {text}")))
    }
}

#[cfg(test)]
mod tests {
    use super::named::*;
    use super::*;
    use dyntick_model::Fix;
    use serde::de::value::StrDeserializer;
    use std::collections::BTreeSet;

    #[test]
    fn each_rule_has_its_own_id() {
        let ids: BTreeSet<&str> = all().iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), all().len());
    }

    /// A rule that is found by the name of a member must belong to a class that is detected.
    #[test]
    fn rules_for_one_function_belong_to_a_class() {
        assert!(NAMED.iter().all(|rule| !rule.id.contains(':')));
        for rule in members() {
            let class = rule.id.split_once(':').map(|(class, _)| class);
            assert!(DETECTING.iter().any(|(other, _)| Some(other.id) == class), "{}", rule.id);
        }
        assert!(DETECTING.iter().all(|(rule, _)| !rule.id.contains(':')));
    }

    #[test]
    fn causes_are_parsed_from_their_texts() {
        let parse = |text: &str| CauseId::parse(text).map(|cause| (cause.to_string(), get(&cause).id));
        let own = ("workqueue:vmstat_update".to_owned(), "workqueue:vmstat_update");
        assert_eq!(parse("workqueue:vmstat_update"), Some(own));
        assert_eq!(parse("workqueue:new").unwrap().1, "workqueue");
        assert_eq!(parse("fair-server").unwrap().1, "fair-server");
        assert_eq!(parse("no-such-class:x"), None);
        let read = |text| CauseId::deserialize(StrDeserializer::<serde::de::value::Error>::new(text));
        assert_eq!(read("workqueue:new").unwrap().to_string(), "workqueue:new");
        assert!(read("no-such-class:x").unwrap_err().to_string().contains("no rule is about"));
    }

    #[test]
    fn most_specific_rule_is_found() {
        let id = |member: &str| get(&CauseId::member(named::WORKQUEUE, member)).id;
        assert_eq!(id("vmstat_update"), "workqueue:vmstat_update");
        assert_eq!(id("something_new"), "workqueue");
    }

    #[test]
    fn fixes_depend_on_the_kernel() {
        let settings = |kernel: &str| {
            let kernel = kernel.parse().unwrap();
            let rule = get(&CauseId::member(named::WORKQUEUE, "vmstat_update"));
            rule.fixes_for(&kernel).map(|fix| fix.action).collect::<Vec<_>>()
        };
        let isolated = Fix::Boot("isolcpus=domain,{quiet}");
        assert!(settings("6.12.95").contains(&isolated));
        assert!(!settings("6.1.0-56").contains(&isolated));
    }

    /// No events are kept as evidence for the time slice of a task.
    #[test]
    fn rules_of_time_slices_name_the_origin() {
        let possible = [COMMAND_TASK, FUNCTION_CALL, KERNEL_THREAD, OTHER_TASK, SOFTIRQ, WORKQUEUE];
        assert!(possible.iter().all(|rule| rule.names_origin));
    }

    #[test]
    fn texts_are_complete() {
        for rule in all() {
            assert!(!rule.title.is_empty() && !rule.source.is_empty(), "{}", rule.id);
            assert!(!rule.title.ends_with('.') && rule.explanation.ends_with('.'), "{}", rule.id);
            assert!(rule.fixes.iter().all(|fix| fix.effect.ends_with('.')), "{}", rule.id);
            assert!(!rule.explanation.contains("  "), "{}", rule.id);
        }
    }

    /// User space cannot move the managed ones.
    #[test]
    fn fixes_that_move_interrupts_name_the_managed_ones() {
        let moves = |fix: &&RuleFix| fix.moves_interrupts();
        let all: Vec<&RuleFix> = all().iter().flat_map(|rule| rule.fixes).filter(moves).collect();
        assert!(all.len() > 5, "{all:?}");
        assert!(all.iter().all(|fix| fix.effect.contains("isolcpus=managed_irq")), "{all:?}");
    }
}
