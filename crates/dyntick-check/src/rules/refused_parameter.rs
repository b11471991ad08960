// SPDX-License-Identifier: GPL-2.0-only
use super::*;

pub(super) static RULE: Rule = Rule {
    id: "refused-parameter",
    title: "The kernel ignores nohz_full= or isolcpus= completely",
    severity: Severity::Error,
    reads: &[CMDLINE, POSSIBLE],
    source: "kernel/sched/isolation.c: housekeeping_setup; lib/bitmap.c: bitmap_parselist",
    find,
};

fn find(machine: &Machine<'_>) -> Vec<Finding> {
    let told = |(parameter, outcome): &(String, Outcome)| {
        let name = parameter.split('=').next().unwrap_or_default();
        let why = match outcome {
            Outcome::NoList(error) => error.to_string(),
            Outcome::Beyond(beyond) => format!("{} not possible on this machine", cpus_are(beyond)),
            Outcome::IllegalFlag(word) => format!("'{word}' is not a flag"),
            Outcome::NoneLeft => {
                "with an earlier parameter no CPU is left that has both its tick and load balancing"
                    .to_owned()
            }
            Outcome::Empty => "it names no CPU that can be isolated".to_owned(),
            _ => return None,
        };
        let exists = format!("boot with {name}=LIST, with CPUs of {}", CpuList::first(machine.possible));
        let finding = RULE
            .error(format!("'{parameter}' is ignored completely: {why}"))
            .seen([said(parameter)])
            .seen(machine.evidence(POSSIBLE))
            .so("None of it is in effect: one bad CPU or word makes the kernel drop the parameter.");
        if *outcome == Outcome::NoneLeft {
            return Some(finding.so("None of it is in effect.").advice(
                "leave one CPU that is started at boot out of both nohz_full= and isolcpus=: since 6.19 the \
                 kernel requires it",
            ));
        }
        let known =
            if let Outcome::Beyond(beyond) = outcome { fixed(machine, parameter, beyond) } else { None };
        Some(match known {
            Some(parameter) => finding.composed(machine.composed(&asks(machine, &parameter))),
            None => finding.advice(exists),
        })
    };
    machine.asked.outcomes.iter().filter_map(told).collect()
}

/// The parameter without the CPUs that cannot exist.
fn fixed(machine: &Machine<'_>, parameter: &str, beyond: &CpuList) -> Option<String> {
    let (name, value) = parameter.split_once('=')?;
    let at = value.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let (flags, list) = value.split_at(at);
    let all: CpuList = list.replace('N', &(machine.possible - 1).to_string()).parse().ok()?;
    let rest = all.difference(beyond);
    (!rest.is_empty()).then(|| format!("{name}={flags}{rest}"))
}
