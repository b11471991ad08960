// SPDX-License-Identifier: GPL-2.0-only
//! One command line for all findings together, since a fix for one finding alone may undo another.

use crate::finding::{Finding, Severity};
use crate::machine::{Machine, NoLine};
use crate::rules::{self, asks};
use crate::sources::CMDLINE;
use dyntick_model::boot::{Composed, Wanted, is_composed};
use dyntick_model::{CommandLine, CpuList, Fix, parameters};
use schemars::JsonSchema;
use serde::Serialize;

/// The change of the command line that fixes everything that a parameter can fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reboot {
    /// The parameters to set, each replacing all others of its name.
    pub with: Vec<String>,
    /// The parameters to remove, as the line spells them.
    pub without: Vec<String>,
    /// The resulting line.
    pub line: String,
    /// The parameters of the line that a warning or an error is about, and whose right value only their owner knows:
    /// there is only advice for them.
    pub kept: Vec<String>,
}

impl Reboot {
    /// Composes one line from the warnings and errors that are best fixed by a parameter. `None` if there are none,
    /// there is nothing to change, or all together would leave no CPU for everything else: each finding then shows
    /// its own parameter, and the choice is the owner's. The findings that the machine would have after that boot
    /// count too: a CPU is judged by its isolation, and by load balancing once its tick may stop.
    pub(crate) fn of(machine: &Machine<'_>, findings: &[Finding]) -> Option<Self> {
        // The present line leaves no CPU already, so none that keeps its lists fixes everything.
        if matches!(machine.composed(&Wanted::default()), Err(NoLine::NoneLeft)) {
            return None;
        }
        let mut asked = Asked::default();
        asked.add(machine, findings);
        for _ in 0..ROUNDS {
            let line = asked.composed(machine)?.applied(&machine.line);
            let files = machine.booted_with(&line);
            let Some(next) = Machine::new(&files, machine.named.then_some(&machine.target)).ok() else {
                break;
            };
            let before = asked.clone();
            asked.add(&next, &rules::findings(&next));
            if asked == before {
                break;
            }
        }
        let whole = asked.composed(machine)?;
        let line = whole.applied(&machine.line);
        (line != machine.line).then(|| Self {
            with: whole.with,
            without: whole.without,
            kept: kept(findings, &line),
            line: line.to_string(),
        })
    }
}

/// The parameters of a line that a warning or an error is about, and for which there is only advice.
fn kept(findings: &[Finding], line: &CommandLine) -> Vec<String> {
    let advised = findings.iter().filter(|finding| {
        finding.severity >= Severity::Warning && finding.fixes.iter().all(|fix| matches!(fix, Fix::Advice(_)))
    });
    let said = advised.flat_map(|finding| &finding.evidence).filter(|seen| seen.file == CMDLINE);
    said.filter(|seen| line.iter().any(|word| word == seen.value)).map(|seen| seen.value.clone()).collect()
}

/// The limit of rounds; no line has needed more than two.
const ROUNDS: usize = 4;

/// The parameters that findings ask for.
#[derive(Clone, Debug, Default, PartialEq)]
struct Asked {
    whole: Composed,
    /// The isolation to compose, if any is asked for.
    wanted: Option<Wanted>,
    /// True if the tick belongs in `nohz_full=`.
    full: bool,
}

impl Asked {
    fn add(&mut self, machine: &Machine<'_>, findings: &[Finding]) {
        for fix in findings.iter().filter(|finding| by_boot(finding)).flat_map(|finding| &finding.fixes) {
            match fix {
                Fix::Boot(text) => {
                    for word in text.split(' ') {
                        if is_composed(name(word)) {
                            self.full |= name(word) == "nohz_full";
                            let sum = self.wanted.take().unwrap_or_default();
                            self.wanted = Some(sum.and(&asked(machine, word)));
                        } else {
                            add(&mut self.whole.with, word)
                        }
                    }
                }
                Fix::Unboot(word) => add(&mut self.whole.without, word),
                Fix::Command(_) | Fix::Advice(_) => {}
            }
        }
    }

    /// Composes them with the current line; `None` if no CPU would be left for everything else.
    fn composed(&self, machine: &Machine<'_>) -> Option<Composed> {
        let mut whole = self.whole.clone();
        if let Some(wanted) = &self.wanted {
            let composed = if self.full { machine.composed_apart(wanted) } else { machine.composed(wanted) };
            let composed = composed.ok()?;
            for word in &composed.with {
                add(&mut whole.with, word);
            }
            for word in &composed.without {
                add(&mut whole.without, word);
            }
        }
        Some(whole)
    }
}

/// Returns true if a known parameter is the best fix. A parameter that would isolate other CPUs than the present ones
/// is the owner's decision, and is reported by itself.
fn by_boot(finding: &Finding) -> bool {
    if finding.rule == rules::IN_PLACE {
        return false;
    }
    let first = matches!(finding.fixes.first(), Some(Fix::Boot(_) | Fix::Unboot(_)));
    first && finding.severity >= Severity::Warning && finding.fixes.iter().all(is_complete)
}

/// Returns false for a fix that describes a parameter in words.
fn is_complete(fix: &Fix) -> bool {
    match fix {
        Fix::Boot(text) => text.split(' ').all(is_parameter),
        _ => true,
    }
}

fn is_parameter(word: &str) -> bool {
    match word.split_once('=') {
        Some((name, value)) => !name.is_empty() && !value.is_empty() && !word.contains("LIST"),
        None => parameters::known(word).is_some(),
    }
}

/// The isolation that one parameter asks for.
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
