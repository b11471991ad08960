// SPDX-License-Identifier: GPL-2.0-only
//! The number of occurrences of a cause, in words: only work of the kernel is called an interruption.

use dyntick_explain::CauseId;
use dyntick_explain::rules::{self, named};
use dyntick_model::CpuList;
use dyntick_report::numbers;

/// The occurrences of a cause: `interruptions` of its `count`; the others are page faults, or time slices of other user
/// tasks or of the command's own.
pub fn of_cause(cause: &CauseId, count: u64, interruptions: u64) -> String {
    let others = match count.saturating_sub(interruptions) {
        0 => None,
        others if rules::get(cause) == named::PAGE_FAULT => Some(page_faults(others)),
        others if rules::get(cause) == named::COMMAND_TASK => Some(own_time_slices(others)),
        others => Some(time_slices(others)),
    };
    let own = (interruptions > 0 || count == 0).then(|| numbers::counted(interruptions, "interruption"));
    own.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

/// The occurrences that are not interruptions, each after a comma; empty if there were none. For other user tasks and
/// the command's own: the number of time slices, and their time, ns.
pub fn beside(faults: u64, others: (u64, u64), own: (u64, u64)) -> String {
    let mut text = String::new();
    if faults > 0 {
        text += &format!(", {}", page_faults(faults));
    }
    for (count, ns, words) in
        [(others.0, others.1, time_slices as fn(u64) -> String), (own.0, own.1, own_time_slices)]
    {
        if count > 0 {
            text += &format!(", {} ({})", words(count), numbers::duration(ns as f64));
        }
    }
    text
}

/// CPUs in words: `CPU 1`, `CPUs 0-1`.
pub fn cpus(cpus: &CpuList) -> String {
    format!("CPU{} {cpus}", if cpus.len() == 1 { "" } else { "s" })
}

fn page_faults(count: u64) -> String {
    numbers::counted(count, "page fault")
}

fn time_slices(count: u64) -> String {
    format!("{} of other user tasks", numbers::counted(count, "time slice"))
}

fn own_time_slices(count: u64) -> String {
    format!("{} of the command's own tasks", numbers::counted(count, "time slice"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_have_the_right_name() {
        let rule = |id: &str| CauseId::of(rules::all().iter().find(|rule| rule.id == id).unwrap());
        assert_eq!(of_cause(&rule("page-fault"), 46, 0), "46 page faults");
        assert_eq!(of_cause(&rule("other-task"), 3, 0), "3 time slices of other user tasks");
        assert_eq!(of_cause(&rule("other-task"), 3, 2), "2 interruptions, 1 time slice of other user tasks");
        assert_eq!(of_cause(&rule("fair-server"), 1, 1), "1 interruption");
        assert_eq!(of_cause(&rule("command-task"), 1, 0), "1 time slice of the command's own tasks");
        assert_eq!(beside(0, (0, 0), (0, 0)), "");
        assert_eq!(
            beside(1, (2, 5000), (3, 70)),
            ", 1 page fault, 2 time slices of other user tasks (5.0 µs), 3 time slices of the command's own tasks (70 ns)"
        );
    }
}
