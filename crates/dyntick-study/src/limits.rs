// SPDX-License-Identifier: GPL-2.0-only
//! The checks that do not depend on the kernel, reported with the place in the file.

use super::case::CaseReader;
use super::{Case, check};
use dyntick_guest::{MAILBOX_BYTES, Moment, name_of_file, piece_of_file};
use dyntick_model::text::clean_line;
use dyntick_model::{Clock, CpuList};

/// Longer ids do not fit into a file name together with what is added to them.
const LONGEST_ID: usize = 150;

/// A guest with less memory hardly boots.
const LEAST_MEMORY: u64 = 4 * MAILBOX_BYTES;

/// A trace buffer below a few pages holds nothing.
const LEAST_TRACE_BUFFER: u64 = 64 << 10;

/// Instructions can only be recorded where they are emulated, and only virtual time repeats them.
const PROFILE_ON_WALL: &str =
    "profile: instructions are counted on the virtual clock only; set clock = \"virtual\" or remove profile";

/// Notes what makes no sense in this case.
pub fn refuse_nonsense(reader: &CaseReader<'_, '_, '_>, case: &Case) {
    name(reader, case);
    cpus(reader, case);
    exits(reader, case);
    times(reader, case);
    memory(reader, case);
    for problem in check::disk_problems(case) {
        note(reader, "disk", problem);
    }
    files(reader, case);
    if case.repeat > 1 && case.clock == Clock::Virtual {
        note(reader, "repeat", "repeat: virtual time repeats to the bit; repeat on clock = \"wall\"");
    }
    if case.perturb > 0 && case.clock != Clock::Virtual {
        note(
            reader,
            "perturb",
            "perturb: runs on the wall clock differ anyway; use repeat (--repeat), and no perturb",
        );
    }
    if case.profile && case.clock != Clock::Virtual {
        note(reader, "profile", PROFILE_ON_WALL);
    }
    calls(reader, case);
    for event in case.events.iter().filter(|event| !is_event(event)) {
        note(reader, "events", format!("events: '{event}' is not of the form system:name"));
    }
}

/// A parameter that is none of the kernel's and like one: the kernel says nothing of it, and the case would measure
/// something else than it says.
pub fn refuse_misspelt(reader: &CaseReader<'_, '_, '_>, case: &Case) {
    for problem in check::misspelt(case).into_iter().filter(|_| !check::may_be_patched(case)) {
        note(reader, "append", format!("append: {problem}"));
    }
}

fn calls(reader: &CaseReader<'_, '_, '_>, case: &Case) {
    let plain =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c));
    if !case.calls.is_empty() && !case.profile {
        note(reader, "calls", "calls: they are counted in recorded instructions; add profile = true");
    }
    if case.calls.len() > Case::MOST_CALLS {
        note(reader, "calls", format!("calls: at most {} functions", Case::MOST_CALLS));
    }
    for name in case.calls.iter().filter(|name| !plain(name)) {
        note(reader, "calls", format!("calls: '{name}' is not a kernel function such as hrtimer_interrupt"));
    }
}

/// Notes a problem at the key's place, or at the case if the key is not there.
fn note(reader: &CaseReader<'_, '_, '_>, key: &str, message: impl Into<String>) {
    let own = if key == "name" { reader.section.get(key) } else { reader.get(key) };
    reader.source().problem(own.map_or(reader.section.at, |value| value.span().start), message);
}

fn name(reader: &CaseReader<'_, '_, '_>, case: &Case) {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    let begins_well = case.name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if reader.section.get("name").is_some() && !(begins_well && case.name.chars().all(plain)) {
        note(
            reader,
            "name",
            format!("name: '{}' is not made of letters, digits, '.', '_', '+', '-'", case.name),
        );
    }
    if case.id.len() > LONGEST_ID {
        note(
            reader,
            "name",
            format!("'{}…' is too long for a folder name: shorten names or labels", head(&case.id)),
        );
    }
}

/// Returns true if a text is one line, as the names and labels of all cases of a study are.
pub fn is_id(text: &str) -> bool {
    !text.is_empty() && clean_line(text) == text
}

fn head(id: &str) -> String {
    id.chars().take(40).collect()
}

fn cpus(reader: &CaseReader<'_, '_, '_>, case: &Case) {
    let guest = CpuList::first(case.cpus);
    let within = |key: &str, what: &str, cpus: &CpuList| {
        let beyond = cpus.difference(&guest);
        if cpus.is_empty() {
            note(reader, key, format!("{what} has no CPU"));
        } else if !beyond.is_empty() {
            let message =
                format!("{what} has CPU {beyond}, but the guest has only {guest} (cpus = {})", case.cpus);
            note(reader, key, message);
        }
    };
    within("measured-cpus", "measured-cpus", &case.measured_cpus);
    if let Some(traced) = &case.trace_cpus {
        within("trace-cpus", "trace-cpus", traced);
        let dark = case.measured_cpus.difference(traced);
        if !dark.is_empty() {
            let message = format!("trace-cpus leaves out CPU {dark}, which is measured");
            note(reader, "trace-cpus", message);
        }
    }
    if case.tasks.len() > Case::MOST_TASKS {
        note(reader, "task", format!("task: a case has at most {}", Case::MOST_TASKS));
    }
    for task in &case.tasks {
        within("task", "a task", &task.cpus);
    }
    for package in &case.packages {
        within("packages", "a package", package);
    }
    if let Some(script) = &case.script {
        within("script", "the script", &script.cpus);
    }
    if guest.difference(&case.measured_cpus).is_empty() {
        let message = "all CPUs are measured: the agent needs one for itself (raise cpus)";
        note(reader, "measured-cpus", message);
    }
}

fn exits(reader: &CaseReader<'_, '_, '_>, case: &Case) {
    for key in ["exit", "pre-wake"] {
        if case.machine.is_none() && reader.section.get(key).is_some() {
            let message = format!("{key}: the case has no machine: add machine = \"…\", or remove {key}");
            note(reader, key, message);
        }
    }
}

fn times(reader: &CaseReader<'_, '_, '_>, case: &Case) {
    if case.settle_ns > case.settle_limit_ns {
        note(reader, "settle", "settle is longer than settle-limit, so the guest could never settle");
    }
    for (key, ns) in [("measure", case.measure_ns), ("timeout", case.timeout_ns)] {
        if ns == 0 {
            note(reader, key, format!("{key}: must be longer than 0"));
        }
    }
}

fn memory(reader: &CaseReader<'_, '_, '_>, case: &Case) {
    if case.trace_buffer < LEAST_TRACE_BUFFER {
        note(
            reader,
            "trace-buffer",
            format!("trace-buffer: at least {}K are needed", LEAST_TRACE_BUFFER >> 10),
        );
    }
    if case.memory < LEAST_MEMORY {
        note(reader, "memory", format!("memory: a guest needs at least {}M", LEAST_MEMORY >> 20));
    } else if case.trace_buffer.saturating_mul(case.cpus.into()) > case.memory / 2 {
        let message =
            "trace-buffer: more than half of the guest's memory for all CPUs together; raise memory";
        note(reader, "trace-buffer", message);
    }
}

/// Files of the kernel that never end, or that reading empties.
const ENDLESS: [&str; 4] = ["trace_pipe", "trace_pipe_raw", "kmsg", "kcore"];

fn files(reader: &CaseReader<'_, '_, '_>, case: &Case) {
    let piece = |path: &str| piece_of_file(path, Moment::Before);
    for (number, path) in case.read.iter().enumerate() {
        let name = name_of_file(path);
        let of_kernel = ["/proc/", "/sys/"].iter().any(|folder| path.starts_with(folder));
        let strange = path.contains("//") || path.split('/').any(|part| part == ".." || part == ".");
        let earlier = case.read[..number].iter().find(|earlier| piece(earlier) == piece(path));
        if !of_kernel || strange || name.is_empty() {
            let message = format!(
                "read: '{path}' is not a file of the kernel; write its full path, as \"/proc/softirqs\" or \"/sys/…\""
            );
            note(reader, "read", message);
        } else if ENDLESS.contains(&name) {
            note(reader, "read", format!("read: '{path}' never ends or is emptied by reading it"));
        } else if let Some(earlier) = earlier {
            let message = format!(
                "read: '{path}' and '{earlier}' have the same file name, by which figures refer to them"
            );
            note(reader, "read", message);
        }
    }
}

/// Returns true if this is of the form `system:name`.
pub fn is_event(event: &str) -> bool {
    let word = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    event.split_once(':').is_some_and(|(system, name)| word(system) && word(name))
}
