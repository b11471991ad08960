// SPDX-License-Identifier: GPL-2.0-only
//! Figures that no run of a case can have, as follows from its study alone.

use super::{Figure, Source, table};
use crate::Case;
use crate::measuring::{Measuring, Meter};
use dyntick_guest::Work;
use dyntick_model::Clock;
use dyntick_model::text::known_words;

/// The reason for which no run of a case has a figure, with the remedy; `None` if a run may have it. `name` is the
/// figure's name with its key.
pub fn lack(figure: &Figure, name: &str, case: &Case) -> Option<String> {
    let key = name.split_once(':').map_or("", |(_, key)| key);
    match figure.source {
        Source::Script => of_script(case),
        Source::IdleTrace | Source::IdleCounters | Source::Model => of_machine(figure, key, case),
        Source::Profile => (!case.profile)
            .then(|| format!("needs a profile, and the case '{}' has none: set profile = true", case.id)),
        Source::Host => (case.clock == Clock::Virtual).then(|| {
            format!(
                "needs the wall clock, and the case '{}' is in virtual time: set clock = \"wall\"",
                case.id
            )
        }),
        Source::Tool => of_tool(figure, case),
        Source::Trace => of_event(figure, key, case),
        Source::Clock => of_task(figure, key, case),
        Source::Files => None,
    }
}

fn of_script(case: &Case) -> Option<String> {
    case.script.is_none().then(|| format!("needs a script, and the case '{}' has none", case.id))
}

/// The state of the guest that polls, which no table of a machine lists (`drivers/cpuidle/poll_state.c`).
const POLL: &str = "POLL";

fn of_machine(figure: &Figure, key: &str, case: &Case) -> Option<String> {
    let Some(machine) = &case.machine else {
        return Some(format!(
            "needs idle states, and the case '{}' has no machine: add [machine] profile = \"…\"",
            case.id
        ));
    };
    let (state, known): (&str, Vec<&str>) = if figure.name == table::PACKAGE_NS.name {
        (key, machine.idle.package_states.iter().map(|state| state.name.as_str()).collect())
    } else if matches!(figure.source, Source::Model) {
        return None;
    } else {
        let states = machine.idle.states.iter().map(|state| state.name.as_str());
        (key.rsplit_once(':')?.0, [POLL].into_iter().chain(states).collect())
    };
    (!known.contains(&state)).then(|| {
        let all = known_words(state, &known, &format!("`dyntick lab machines {}`", machine.name));
        format!("needs a state '{state}', and {} of the case '{}' has only {all}", machine.name, case.id)
    })
}

fn of_tool(figure: &Figure, case: &Case) -> Option<String> {
    if figure.name == table::QPERF.name {
        return of_script(case);
    }
    if figure.name == table::TOOL.name {
        let prints =
            case.script.is_some() || case.tasks.iter().any(|task| matches!(task.work, Work::Tool(_)));
        return (!prints).then(|| {
            format!("needs the output of a tool, and the case '{}' has none as script or task", case.id)
        });
    }
    let Some(measuring) = Measuring::of(case) else {
        return Some(format!(
            "needs cyclictest or packets, and the case '{}' runs neither as its script or a task itself",
            case.id
        ));
    };
    let needs_histogram = [table::LATENCY_AT_NS.name, table::LATENCY_OVERFLOWS.name].contains(&figure.name);
    let lacks = needs_histogram && measuring.meter == Meter::Cyclictest && !measuring.has_histogram();
    lacks
        .then(|| format!("needs a histogram: add --histogram=US to the cyclictest of the case '{}'", case.id))
}

fn of_event(figure: &Figure, key: &str, case: &Case) -> Option<String> {
    let is_recorded = || case.recorded_events().iter().any(|event| event == key);
    (figure.name == table::EVENT.name && !is_recorded()).then(|| {
        format!("needs an event that the case '{}' does not record: add events = [\"{key}\"]", case.id)
    })
}

fn of_task(figure: &Figure, key: &str, case: &Case) -> Option<String> {
    if ![table::TASK_USER_NS.name, table::TASK_SYSTEM_NS.name].contains(&figure.name) {
        return None;
    }
    let is_there = key.parse().is_ok_and(|number: usize| number < case.tasks.len());
    (!is_there).then(|| match case.tasks.len() {
        0 => format!("needs a task, and the case '{}' has none", case.id),
        tasks => format!("needs a task '{key}', and the case '{}' has tasks 0 to {}", case.id, tasks - 1),
    })
}
