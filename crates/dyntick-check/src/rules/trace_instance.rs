// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "trace-instance",
    title: "A trace instance is recording, possibly one left by a killed dyntick",
    severity: Severity::Warning,
    reads: &[TRACING_ON, TRACED_EVENTS, TRACER, TASK_STAT, TASK_STATUS],
    source: "kernel/trace/trace.c: rb_simple_write; kernel/trace/trace_events.c: trace_event_buffer_lock_reserve",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let recording = machine.matching(TRACING_ON).filter(|(_, on)| *on == "1");
    recording.filter_map(|(file, _)| judge(machine, file)).collect()
}

fn judge(machine: &Machine<'_>, file: &str) -> Option<Finding> {
    let folder = file.strip_suffix("/tracing_on")?;
    let name = text::clean_line(folder.rsplit('/').next()?);
    // `0`: no event is enabled; `X`: some are.
    let events = format!("{folder}/events/enable");
    let has_events = machine.text(&events).is_some_and(|enabled| enabled != "0");
    let tracer = format!("{folder}/current_tracer");
    let has_tracer = machine.text(&tracer).is_some_and(|tracer| tracer != "nop");
    if !has_events && !has_tracer {
        return None;
    }
    let left = left_by(machine, &name);
    let (severity, message) = if left {
        (Severity::Warning, format!("the trace instance {name} of a killed dyntick is still recording"))
    } else {
        (Severity::Note, format!("the trace instance {name} is recording"))
    };
    let finding = RULE
        .finding(severity, message)
        .on(&machine.target)
        .seen(machine.evidence(file))
        .seen(machine.evidence(&events).filter(|_| has_events))
        .seen(machine.evidence(&tracer).filter(|_| has_tracer))
        .so(
            "Each recorded event takes time on the CPU where it occurs, even if the buffer is full and drops \
             it; each change of the recorded events patches kernel code, which interrupts all CPUs.",
        );
    Some(match shell::path(folder) {
        Ok(folder) if left => finding.command(format!("rmdir {folder}")),
        Ok(folder) => finding.advice(format!("if it is no longer needed: rmdir {folder}")),
        Err(why) => {
            finding.advice(format!("remove it if it is no longer needed ({why}, so no command is given)"))
        }
    })
}

/// Returns true if it belongs to a dyntick whose process is gone: `dyntick-PID-NUMBER`.
fn left_by(machine: &Machine<'_>, name: &str) -> bool {
    let owner = name.strip_prefix("dyntick-").and_then(|rest| rest.split_once('-')?.0.parse::<u32>().ok());
    owner.is_some_and(|pid| machine.tasks.iter().all(|task| task.pid != pid))
}
