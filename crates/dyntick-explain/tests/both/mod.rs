// SPDX-License-Identifier: GPL-2.0-only
//! The two ways to explain events.

use dyntick_explain::{Context, Evidence, Explanation, Foreknown, Interruption, Stream, Survey, explain};
use dyntick_model::{CpuList, Event};

/// Explains events both at once and one after another, which must give the same result.
pub fn explained(events: &[Event], context: &Context) -> Explanation {
    let explanation = explain(events, context);
    let cpus: CpuList = events.iter().map(|event| event.cpu).collect();
    let starts_recorded = events.iter().any(Foreknown::tells_starts);
    let foreknown = if Survey::is_needed(context) {
        let mut survey = Survey::new(context, &cpus, starts_recorded);
        events.iter().for_each(|event| survey.event(event));
        survey.finish()
    } else {
        Survey::unneeded(context, starts_recorded)
    };
    let mut stream = Stream::new(context, &cpus, foreknown);
    let mut interruptions = Vec::new();
    let mut each = |interruption: &Interruption| interruptions.push(interruption.clone());
    events.iter().for_each(|event| stream.event(event, &mut each));
    let streamed = stream.finish(&mut each);
    // Interruptions with the same begin have no order.
    let key = |one: &Interruption| (one.start_ns, one.cpu, one.duration_ns, format!("{one:?}"));
    let mut expected = explanation.interruptions.clone();
    expected.sort_by_cached_key(key);
    interruptions.sort_by_cached_key(key);
    assert_eq!(interruptions, expected);
    assert_eq!(streamed.per_cpu, explanation.per_cpu);
    let lengths = |of: &Explanation| -> Vec<(u32, Vec<u64>)> {
        let own =
            |(cpu, own): (&u32, &Vec<Evidence>)| (*cpu, own.iter().map(|one| one.duration_ns).collect());
        of.evidence.iter().map(own).collect()
    };
    assert_eq!(lengths(&streamed), lengths(&explanation));
    explanation
}
