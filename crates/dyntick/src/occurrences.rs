// SPDX-License-Identifier: GPL-2.0-only
//! How often something took a CPU, in words: only the kernel's doing is called an interruption.

use dyntick_explain::CauseId;
use dyntick_explain::rules::{self, named};
use dyntick_report::numbers;

/// How often a cause occurred: `interruptions` of its `count`; the others are page faults or time slices of other user
/// tasks.
pub fn of_cause(cause: &CauseId, count: u64, interruptions: u64) -> String {
    let others = match count.saturating_sub(interruptions) {
        0 => None,
        others if rules::get(cause) == named::PAGE_FAULT => Some(page_faults(others)),
        others => Some(time_slices(others)),
    };
    let own = (interruptions > 0 || count == 0).then(|| numbers::counted(interruptions, "interruption"));
    own.into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

/// What took a CPU and is no interruption, each with a comma before it; nothing where there was none.
pub fn beside(faults: u64, other_tasks: u64, other_tasks_ns: u64) -> String {
    let mut text = String::new();
    if faults > 0 {
        text += &format!(", {}", page_faults(faults));
    }
    if other_tasks > 0 {
        text += &format!(", {} ({})", time_slices(other_tasks), numbers::duration(other_tasks_ns as f64));
    }
    text
}

fn page_faults(count: u64) -> String {
    numbers::counted(count, "page fault")
}

fn time_slices(count: u64) -> String {
    format!("{} of other user tasks", numbers::counted(count, "time slice"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_called_what_it_is() {
        let rule = |id: &str| CauseId::of(rules::all().iter().find(|rule| rule.id == id).unwrap());
        assert_eq!(of_cause(&rule("page-fault"), 46, 0), "46 page faults");
        assert_eq!(of_cause(&rule("other-task"), 3, 0), "3 time slices of other user tasks");
        assert_eq!(of_cause(&rule("other-task"), 3, 2), "2 interruptions, 1 time slice of other user tasks");
        assert_eq!(of_cause(&rule("fair-server"), 1, 1), "1 interruption");
        assert_eq!(beside(0, 0, 0), "");
        assert_eq!(beside(1, 2, 5000), ", 1 page fault, 2 time slices of other user tasks (5.0 µs)");
    }
}
