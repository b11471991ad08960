// SPDX-License-Identifier: GPL-2.0-only
//! The advice that replaces a fix that cannot be carried out: no CPU is left for the rest, the task has ended or is
//! bound, the control group is not known, a BPF scheduler would not load, or the kernel is built without the option.

use super::{Host, OtherTask, PrintedFix, Starter, Target};
use crate::names;
use crate::rules::{RuleFix, UNTRIED};
use dyntick_model::parameters::option_of;
use dyntick_model::{CpuList, Fix, Hole};

/// The replacement for a fix; `None` if the fix can be carried out. A fix whose task or interrupt line is not known has
/// none: a user could not carry it out either.
pub(super) fn of(fix: &RuleFix, host: Host<'_>, target: Target<'_>) -> Option<Vec<PrintedFix>> {
    let others = host.online.difference(target.quiet);
    let needs_others = [Hole::Housekeeping, Hole::Mask, Hole::Quiet].iter().any(|hole| fix.action.has(*hole));
    if fix.action.has(Hole::Task) {
        let of_task = of_task(fix, &others, host, target);
        if of_task.is_some() {
            return of_task;
        }
    }
    let is_unknown = fix.action.has(Hole::Task) && target.named.task == OtherTask::Unknown
        || fix.action.has(Hole::Irq) && target.named.irq.is_none();
    if is_unknown {
        return Some(Vec::new());
    }
    if fix.action.has(Hole::Quota) && target.quota().is_none() {
        return Some(vec![of_group()]);
    }
    if needs_others && others.is_empty() && missing(fix, host).is_none() {
        return Some(vec![PrintedFix {
            action: Fix::Advice(choose(fix, host)),
            effect: fix.remarked_effect(),
        }]);
    }
    let asks_for_domain =
        matches!(fix.action, Fix::Boot(parameters) if parameters.starts_with("isolcpus=domain"));
    (asks_for_domain && host.bpf_scheduler).then(|| vec![partition()])
}

/// The advice if no CPU is left to which anything could move.
fn choose(fix: &RuleFix, host: Host<'_>) -> String {
    if host.online.len() < 2 {
        return "this takes a second CPU, and the machine has one online".to_owned();
    }
    let names: Vec<&str> = match fix.action {
        Fix::Boot(parameters) => {
            parameters.split(' ').filter_map(|one| Some(one.split_once('=')?.0)).collect()
        }
        _ => Vec::new(),
    };
    let last = host.online.last().unwrap_or_default();
    let why = format!("name them with -C, e.g. -C {last}, for all that are online were measured");
    match (fix.action.has(Hole::Quiet), names.as_slice()) {
        (true, [_, ..]) => {
            format!("boot with {}= for the CPUs that must be quiet: {why}", names.join("= and "))
        }
        (false, [_, ..]) => {
            format!("boot with {}= for the CPUs that need not be quiet: {why}", names.join("= and "))
        }
        _ => format!("give the program a CPU of its own: dyntick isolate -C {last} -- COMMAND"),
    }
}

fn of_group() -> PrintedFix {
    let raise = "raise the quota of its control group, or of one above (cpu.max; cpu.cfs_quota_us in control groups v1)";
    PrintedFix {
        action: Fix::Advice(raise.to_owned()),
        effect: format!("Removes the limit. {UNTRIED}: which group it is was not seen.").into(),
    }
}

fn partition() -> PrintedFix {
    PrintedFix {
        action: Fix::Advice("put the CPU into an isolated cpuset partition (cpuset.cpus.partition=isolated)".to_owned()),
        effect: format!(
            "At run time, with cgroup v2. Not by isolcpus=domain: the BPF scheduler that is loaded does not load after \
             a boot with it. {UNTRIED}."
        )
        .into(),
    }
}

/// The advice to keep the other task away, if a command with its number is not possible.
fn of_task(fix: &RuleFix, others: &CpuList, host: Host<'_>, target: Target<'_>) -> Option<Vec<PrintedFix>> {
    let advice = |action: String, effect: &'static str| {
        Some(vec![PrintedFix { action: Fix::Advice(action), effect: effect.into() }])
    };
    match &target.named.task {
        OtherTask::Unknown | OtherTask::Movable(_) => None,
        OtherTask::Process(_) if others.is_empty() => None,
        OtherTask::Process(process) => Some(vec![PrintedFix {
            action: Fix::Command(format!("taskset -apc {others} {}", process.pid)),
            effect: format!("Moves all threads of {process}. {UNTRIED}.").into(),
        }]),
        OtherTask::Own => advice(
            "nothing: it is dyntick itself, as it begins or ends its work".to_owned(),
            "It is not there where nothing is recorded.",
        ),
        OtherTask::Bound(comm) => advice(
            format!("stop or move what gives {comm} its work: it is bound and cannot be moved itself"),
            "The chain and the functions that ran show what it did, and for whom. Not tried here: no command does it.",
        ),
        OtherTask::Ended { comm, starter } => {
            Some(of_ended(fix, comm, starter.as_ref(), others, host, target))
        }
    }
}

/// The advice for a program with short-lived processes: its starter keeps them away.
fn of_ended(
    fix: &RuleFix,
    comm: &str,
    starter: Option<&Starter>,
    others: &CpuList,
    host: Host<'_>,
    target: Target<'_>,
) -> Vec<PrintedFix> {
    if others.is_empty() {
        let effect = "Its processes come and go, so a number of one would not help.".into();
        return vec![PrintedFix { action: Fix::Advice(choose(fix, host)), effect }];
    }
    let mut all = Vec::new();
    if let Some(unit) = starter.and_then(|starter| starter.unit.as_ref()) {
        all.push(PrintedFix {
            action: Fix::Command(format!("systemctl set-property --runtime {unit} AllowedCPUs={others}")),
            effect: format!("Keeps all of the unit that starts {comm} on these CPUs. {UNTRIED}.").into(),
        });
    }
    match starter {
        // A helper of the kernel, e.g. modprobe: it begins on the CPUs of the kworker that starts it, which cannot be
        // moved and has no number that lasts (`kernel/umh.c: call_usermodehelper_exec`).
        Some(Starter { process, .. }) if names::is_worker(&process.comm) => all.push(PrintedFix {
            action: Fix::Command(format!("echo {} > /sys/devices/virtual/workqueue/cpumask", others.to_mask())),
            effect: format!(
                "Keeps unbound work, such as the start of {comm} by the kernel, on the CPUs in the mask. {UNTRIED}."
            )
            .into(),
        }),
        Some(Starter { process, .. }) => all.push(PrintedFix {
            action: Fix::Command(format!("taskset -apc {others} {}", process.pid)),
            effect: format!(
                "Moves {process}, which starts {comm}, with all its threads; what it starts from then on runs there, too. {UNTRIED}."
            )
            .into(),
        }),
        None => {}
    }
    if all.is_empty() {
        let quiet = target.quiet;
        all.push(PrintedFix {
            action: Fix::Advice(format!(
                "keep {comm} off the CPU: AllowedCPUs={others} for the systemd unit that starts it, or dyntick isolate \
                 -C {quiet} -- COMMAND"
            )),
            effect: "Its processes come and go: the number of one that has ended moves nothing. Not tried here.".into(),
        });
    }
    all
}

/// The first boot parameter of a fix that this kernel is built without.
fn missing(fix: &RuleFix, host: Host<'_>) -> Option<&'static str> {
    let Fix::Boot(parameters) = fix.action else { return None };
    parameters.split(' ').find(|parameter| host.settings.lacks(parameter))
}

/// The option that the kernel would need, if a fix lacks nothing else.
pub(super) fn of_missing(fix: &RuleFix, host: Host<'_>) -> Option<PrintedFix> {
    let missing = missing(fix, host)?;
    let (option, name) = (option_of(missing)?, missing.split('=').next()?);
    let action =
        format!("a kernel with CONFIG_{option}, booted with {name}=: this kernel has no CONFIG_{option}");
    Some(PrintedFix { action: Fix::Advice(action), effect: fix.remarked_effect_on(host.kernel) })
}

/// The parameter without the flag that prevents loading a BPF scheduler; `None` if no flag is left, because a list
/// without flags would mean that one.
pub(super) fn without_domain(parameter: String) -> Option<String> {
    let Some(list) = parameter.strip_prefix("isolcpus=") else { return Some(parameter) };
    let words: Vec<&str> = list.split(',').filter(|word| *word != "domain").collect();
    let has_flag = words.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
    has_flag.then(|| format!("isolcpus={}", words.join(",")))
}
