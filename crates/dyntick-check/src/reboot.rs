// SPDX-License-Identifier: GPL-2.0-only
//! One command line for all findings together: what each of them says alone loses what another says.

use crate::finding::{Finding, Severity};
use crate::machine::Machine;
use crate::rules::{self, asks};
use dyntick_model::boot::{Composed, Wanted, is_composed};
use dyntick_model::{CommandLine, CpuList, Fix, parameters};
use schemars::JsonSchema;
use serde::Serialize;

/// What to boot with, so that everything is fixed that a parameter fixes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reboot {
    /// Parameters, each in place of all of its name.
    pub with: Vec<String>,
    /// Parameters of the line that are to go, as they are written.
    pub without: Vec<String>,
    /// The line that comes of it.
    pub line: String,
}

impl Reboot {
    /// From the findings that are a warning or worse and are best fixed by a parameter; none where there is no
    /// such finding, nothing to change, or all together would leave no CPU for everything else: each finding
    /// says then what it needs, and which of them holds is for the owner to decide. What the machine would
    /// lack that is booted so is part of it: a CPU is judged by what it is set aside from, by load balancing
    /// once its tick may stop.
    pub(crate) fn of(machine: &Machine<'_>, findings: &[Finding]) -> Option<Self> {
        let mut asked = Asked::default();
        asked.add(machine, findings);
        for _ in 0..ROUNDS {
            let line = asked.composed(machine)?.applied(&machine.line);
            let files = machine.booted_with(&line);
            let Some(next) = Machine::new(&files, machine.named.then_some(&machine.target)).ok() else {
                break;
            };
            let before = asked.clone();
            asked.add(&next, &rules::all().iter().flat_map(|rule| (rule.find)(&next)).collect::<Vec<_>>());
            if asked == before {
                break;
            }
        }
        let whole = asked.composed(machine)?;
        let line = whole.applied(&machine.line);
        (line != machine.line).then(|| Self {
            with: whole.with,
            without: whole.without,
            line: line.to_string(),
        })
    }
}

/// No line needed more than two.
const ROUNDS: usize = 4;

/// What findings ask to boot with.
#[derive(Clone, Debug, Default, PartialEq)]
struct Asked {
    whole: Composed,
    /// What is to be composed, where anything of it is asked for.
    wanted: Option<Wanted>,
    /// Whether the tick is to stand in `nohz_full=`.
    full: bool,
}

impl Asked {
    fn add(&mut self, machine: &Machine<'_>, findings: &[Finding]) {
        for fix in findings.iter().filter(|finding| by_boot(finding)).flat_map(|finding| &finding.fixes) {
            match fix {
                Fix::Boot(text) => {
                    for word in text.split(' ') {
                        match is_composed(name(word)) {
                            true => {
                                self.full |= name(word) == "nohz_full";
                                let sum = self.wanted.take().unwrap_or_default();
                                self.wanted = Some(sum.and(&asked(machine, word)));
                            }
                            false => add(&mut self.whole.with, word),
                        }
                    }
                }
                Fix::Unboot(word) => add(&mut self.whole.without, word),
                Fix::Command(_) | Fix::Advice(_) => {}
            }
        }
    }

    /// Together with what the machine was booted with; none where no CPU would be left for everything else.
    fn composed(&self, machine: &Machine<'_>) -> Option<Composed> {
        let mut whole = self.whole.clone();
        let compose = |wanted: &Wanted| match self.full {
            true => machine.composed_apart(wanted),
            false => machine.composed(wanted),
        };
        if let Some(wanted) = &self.wanted {
            let composed = compose(wanted).ok()?;
            composed.with.iter().for_each(|word| add(&mut whole.with, word));
            composed.without.iter().for_each(|word| add(&mut whole.without, word));
        }
        Some(whole)
    }
}

/// Whether a parameter is the best that fixes it, and is known to the letter. One that isolates other CPUs in the place
/// of those that are is for the owner to decide, and is reported by itself.
fn by_boot(finding: &Finding) -> bool {
    if finding.rule == rules::IN_PLACE {
        return false;
    }
    // Some say in words what a parameter may be.
    let is_parameter = |word: &str| match word.split_once('=') {
        Some((name, value)) => !name.is_empty() && !value.is_empty() && !word.contains("LIST"),
        None => parameters::known(word).is_some(),
    };
    let whole = |fix: &Fix| match fix {
        Fix::Boot(text) => text.split(' ').all(is_parameter),
        _ => true,
    };
    let first = matches!(finding.fixes.first(), Some(Fix::Boot(_) | Fix::Unboot(_)));
    first && finding.severity >= Severity::Warning && finding.fixes.iter().all(whole)
}

/// What one parameter about isolation asks for.
fn asked(machine: &Machine<'_>, word: &str) -> Wanted {
    let line = CommandLine::parse(word);
    let left = line.cpus("irqaffinity", machine.possible).and_then(Result::ok);
    let interrupts = left.map_or_else(CpuList::default, |left| machine.present.difference(&left));
    Wanted { interrupts, ..asks(machine, word) }
}

fn name(word: &str) -> &str {
    word.split('=').next().unwrap_or_default()
}

fn add(words: &mut Vec<String>, word: &str) {
    if !words.iter().any(|known| known == word) {
        words.push(word.to_owned());
    }
}
