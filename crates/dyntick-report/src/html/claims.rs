// SPDX-License-Identifier: GPL-2.0-only
//! The claims of a page: a summary at its top, and each claim with the figures that decided it.

use crate::{Ruling, Verdict, score};
use maud::{Markup, html};

/// The number of claims with each ruling, and each claim with its mark.
pub(super) fn scores(verdicts: &[Verdict], linked: bool) -> Markup {
    html! {
        section.scores {
            p.score { (score(verdicts)) }
            (bar(verdicts))
            ol {
                @for (number, verdict) in verdicts.iter().enumerate() {
                    li {
                        (marks(verdict))
                        @if linked { a href={ "#" (id(number)) } { (verdict.claim) } } @else { (verdict.claim) }
                        @if !verdict.agreement.is_empty() { " (" (verdict.agreement) ")" }
                    }
                }
            }
        }
    }
}

/// The shares of the rulings as a bar, in their colours.
fn bar(verdicts: &[Verdict]) -> Markup {
    let count = |ruling: Ruling| {
        let share = |verdict: &Verdict| {
            let of_it = verdict.rulings.iter().filter(|(_, one)| *one == ruling).count();
            of_it as f64 / verdict.rulings.len().max(1) as f64
        };
        verdicts.iter().map(share).sum::<f64>()
    };
    html! {
        div.bar aria-hidden="true" {
            @for ruling in Ruling::ALL.into_iter().filter(|ruling| count(*ruling) > 0.0) {
                span class=(class(ruling)) style={ "flex:" (format!("{:.3}", count(ruling))) } {}
            }
        }
    }
}

/// One mark if all variants agree, else one for each.
fn marks(verdict: &Verdict) -> Markup {
    let all: Vec<(String, Ruling)> = match verdict.only_ruling() {
        Some(ruling) => vec![(String::new(), ruling)],
        None => verdict.rulings.clone(),
    };
    html! {
        span.marks {
            @for (variant, ruling) in &all {
                span class={ "ruling " (class(*ruling)) } {
                    (ruling.sign()) " " (verdict.word(*ruling))
                    @if !variant.is_empty() { span.variant { " " (variant) } }
                }
            }
        }
    }
}

/// A claim in full.
pub(super) fn verdict(verdict: &Verdict, number: usize) -> Markup {
    html! {
        section.card id=(id(number)) {
            h3 { (verdict.claim) }
            p.rulings {
                @for (variant, ruling) in &verdict.rulings {
                    span class={ "ruling " (class(*ruling)) } {
                        (ruling.sign()) " " (verdict.words(*ruling))
                        @if !variant.is_empty() { span.variant { " " (variant) } }
                    }
                    " "
                }
            }
            @if !verdict.comment.is_empty() { p { (verdict.comment) } }
            details {
                summary { "Figures" }
                ul { @for line in &verdict.evidence { li { (line) } } }
            }
        }
    }
}

fn id(number: usize) -> String {
    format!("claim-{}", number + 1)
}

fn class(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Reproduced => "yes",
        Ruling::NotReproduced => "no",
        Ruling::Inconclusive | Ruling::CannotTell => "unknown",
        Ruling::NotRun => "unrun",
    }
}
