// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use dyntick_model::Flag;
use dyntick_model::isolation::flags_and_list;

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
            match corrected(machine, value) {
                Some(value) => finding.composed(machine.composed(&asks(machine, &format!("{name}={value}")))),
                None => finding.advice(format!(
                    "boot with {name}=LIST, with CPUs of {}",
                    CpuList::first(machine.possible)
                )),
            }
        }
    })
}

/// The version from which on a flag is known, if another kernel knows it.
fn since(word: &str) -> &'static str {
    match Flag::of(word) {
        Some(Flag::ManagedIrq) => " (before 5.6), and skips no unknown word (before 5.7)",
        Some(_) => " (before 4.15)",
        None => ", and skips no unknown word (before 5.7)",
    }
}

/// The kernel's own words about isolation: they count more than any replay.
pub(super) fn log_about_isolation(machine: &Machine<'_>) -> Vec<Evidence> {
    let texts = ["Housekeeping: ", "isolcpus: ", "all isolcpus= values", "NO_HZ: ", "NOHZ: "];
    let lines = texts.into_iter().flat_map(|text| machine.logged(text));
    lines.map(|line| Evidence { file: KERNEL_LOG.to_owned(), value: line.to_owned() }).collect()
}

/// Dashes that look like the hyphen of a range.
const DASHES: [char; 5] = ['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}'];

fn has_dash(value: &str) -> bool {
    value.contains(DASHES)
}

/// The value as it was meant, if only its spelling is wrong: other dashes, flags that the kernel does not know, flags where
/// there are none, or CPUs that cannot exist.
pub(super) fn corrected(machine: &Machine<'_>, value: &str) -> Option<String> {
    let value = value.replace(DASHES, "-");
    let (flags, list) = flags_and_list(&value);
    let known = flags.iter().filter(|word| Flag::of(word).is_some_and(|flag| machine.dialect.knows(flag)));
    let flags: String = known.map(|word| format!("{word},")).collect();
    let list = match machine.reader().list(list) {
        Ok(list) => list,
        Err(Outcome::Beyond(beyond)) => {
            let all = dyntick_model::cpus_of(list, machine.possible).ok()?;
            all.difference(&beyond)
        }
        Err(_) => return None,
    };
    (!list.is_empty()).then(|| format!("{flags}{list}"))
}
