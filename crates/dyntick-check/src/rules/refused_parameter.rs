// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::machine::has_dash;
use dyntick_model::Flag;

pub(super) static RULE: Rule = Rule {
    id: "refused-parameter",
    title: "The kernel ignores nohz_full= or isolcpus= completely",
    severity: Severity::Error,
    reads: &[CMDLINE, POSSIBLE, KERNEL_LOG],
    source: "kernel/sched/isolation.c: housekeeping_setup; lib/bitmap.c: bitmap_parselist",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let outcomes = machine.asked.outcomes.iter();
    outcomes.filter_map(|(parameter, outcome)| refused(machine, parameter, outcome)).collect()
}

fn refused(machine: &Machine<'_>, parameter: &str, outcome: &Outcome) -> Option<Finding> {
    let (name, value) = parameter.split_once('=')?;
    let why = match outcome {
        Outcome::NoList(_) if has_dash(value) => {
            "the dash between its CPUs is not a hyphen, as in text that was copied from a page".to_owned()
        }
        Outcome::NoList(_) if value.contains('N') && !machine.dialect.has_last() => {
            "this kernel does not know N in lists (5.13 and newer)".to_owned()
        }
        Outcome::NoList(_) if value.contains("all") && !machine.dialect.has_all() => {
            "this kernel does not know 'all' in lists (5.14 and newer)".to_owned()
        }
        Outcome::NoList(error) => error.to_string(),
        Outcome::Beyond(beyond) => format!("{} not possible on this machine", cpus_are(beyond)),
        Outcome::IllegalFlag(word) => format!("'{word}' is not a flag"),
        Outcome::UnknownFlag(word) => format!("this kernel does not know '{word}'{}", since(word)),
        Outcome::NoneLeft => {
            "with an earlier parameter no CPU is left that has both its tick and load balancing".to_owned()
        }
        Outcome::NoCpu => "it names no CPU that can be isolated".to_owned(),
        _ => return None,
    };
    let finding = RULE
        .error(format!("'{parameter}' is ignored completely: {why}"))
        .seen(log_about_isolation(machine))
        .seen([said(parameter)])
        .seen(machine.evidence(POSSIBLE));
    Some(match outcome {
        Outcome::NoneLeft => finding.so("None of it is in effect.").advice(
            "leave one CPU that is started at boot out of both nohz_full= and isolcpus=: since 6.19 the \
             kernel requires it",
        ),
        Outcome::NoCpu => finding
            .so("The boot CPU cannot be isolated here.")
            .advice(format!("boot with {name}=LIST, with other CPUs than the boot CPU")),
        _ => {
            let finding = finding
                .so("None of it is in effect: one bad CPU or word makes the kernel drop the parameter.");
            match machine.corrected(name, value) {
                Some(value) => {
                    let meant = machine.not_followed(asks(machine, &format!("{name}={value}")));
                    if meant == nothing() {
                        finding.unboot(parameter)
                    } else {
                        finding.composed(machine.composed(&meant))
                    }
                }
                None => finding.advice(format!(
                    "boot with {name}=LIST, with CPUs of {}",
                    CpuList::first(machine.possible)
                )),
            }
        }
    })
}

/// The version since which a flag is known, if another kernel knows it.
fn since(word: &str) -> &'static str {
    match Flag::of(word) {
        Some(Flag::ManagedIrq) => " (5.6 and newer)",
        Some(_) => " (4.15 and newer)",
        None => ", and does not skip it (5.7 and newer)",
    }
}

/// The kernel's own messages about isolation: they count more than any replay.
pub(super) fn log_about_isolation(machine: &Machine<'_>) -> Vec<Evidence> {
    let texts = ["Housekeeping: ", "isolcpus: ", "all isolcpus= values", "NO_HZ: ", "NOHZ: "];
    let lines = texts.into_iter().flat_map(|text| machine.logged(text));
    lines.map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() }).collect()
}
