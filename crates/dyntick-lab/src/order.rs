// SPDX-License-Identifier: GPL-2.0-only
//! The job of the agent, from a case.

use crate::emulator;
use crate::image::{self, ImageError};
use crate::perturb::Perturbation;
use dyntick_guest::names::{INIT, OWN_NAME};
use dyntick_guest::{Job, Script, Task, Work};
use dyntick_kernels::find::Kernel;
use dyntick_study::Case;
use dyntick_trace::events::{EVENTS, Guests, TraceEvent, of_interrupts};

/// The parameters of the emulator of idle states, if the case has a machine.
pub fn idle_states(case: &Case) -> Option<String> {
    case.machine.as_ref().map(|machine| emulator::parameters(&machine.idle, case))
}

/// The events that are recorded: those of all guests, those of idle states where there are some, and the case's own.
fn events(case: &Case) -> Vec<String> {
    let is_wanted = |event: &&TraceEvent| match event.guests {
        Guests::Always => true,
        Guests::WithStates => case.machine.is_some(),
        Guests::OnRequest => false,
    };
    let mut events: Vec<String> = of_interrupts().collect();
    events.extend(EVENTS.iter().filter(is_wanted).map(|event| event.name.to_owned()));
    let own: Vec<String> = case.events.iter().filter(|event| !events.contains(event)).cloned().collect();
    events.extend(own);
    events
}

/// The modules that its guest loads: those of its disk, and its own.
pub fn modules(case: &Case, kernel: &Kernel) -> Vec<String> {
    let of_disk = case.disk.map(|_| image::disk_modules(kernel)).unwrap_or_default();
    of_disk.into_iter().chain(case.modules.iter().cloned()).collect()
}

/// The agent's job, with the paths of the tools in the guest.
pub fn job(case: &Case, perturbation: Option<Perturbation>) -> Result<Job, ImageError> {
    let placed = |words: &[String]| -> Result<Vec<String>, ImageError> {
        let Some((program, arguments)) = words.split_first() else { return Ok(Vec::new()) };
        let path = if program == OWN_NAME {
            INIT.to_owned()
        } else {
            image::find_tool(program)?.to_string_lossy().into_owned()
        };
        Ok([path].into_iter().chain(arguments.iter().cloned()).collect())
    };
    let task = |task: &Task| {
        let work = match &task.work {
            Work::Tool(words) => Work::Tool(placed(words)?),
            builtin => builtin.clone(),
        };
        Ok(Task { work, ..task.clone() })
    };
    let script = |script: &Script| -> Result<Script, ImageError> {
        Ok(Script { run: placed(&script.run)?, ..script.clone() })
    };
    Ok(Job {
        measured_cpus: case.measured_cpus.clone(),
        sysctl: case.sysctl.clone(),
        module_parameters: idle_states(case)
            .map(|message| (emulator::NAME.to_owned(), message))
            .into_iter()
            .collect(),
        idle_driver: case.machine.as_ref().map(|_| emulator::NAME.to_owned()),
        governor: case.governor.clone(),
        write: case.write.clone(),
        disk: case.disk.is_some(),
        read: case.read.clone(),
        settle_ns: case.settle_ns,
        settle_limit_ns: case.settle_limit_ns,
        shift_ns: perturbation.map_or(0, |perturbation| perturbation.shift_ns),
        measure_ns: case.measure_ns,
        profile: case.profile,
        events: events(case),
        trace_cpus: case.trace_cpus.clone(),
        buffer_kib: (case.trace_buffer >> 10) as u32,
        tasks: case.tasks.iter().map(task).collect::<Result<_, ImageError>>()?,
        script: case.script.as_ref().map(script).transpose()?,
        shell: None,
    })
}
