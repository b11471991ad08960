// SPDX-License-Identifier: GPL-2.0-only
//! The causes of a page, with their fixes.

use super::anchors::Anchors;
use super::copy;
use crate::Finding;
use crate::palette::Colour;
use dyntick_model::Fix;
use maud::{Markup, html};

pub(super) fn finding(finding: &Finding, anchors: &Anchors<'_>) -> Markup {
    html! {
        section.card {
            h3 {
                @if let Some(colour) = anchors.colour(&finding.class) { (swatch(colour)) " " }
                @if let Some(level) = finding.level { span.level { (level.word()) } " " }
                (finding.title)
            }
            @if !finding.occurrence.is_empty() { p.occurrence { (finding.occurrence) } }
            @if !finding.explanation.is_empty() { p { (finding.explanation) } }
            dl.parts {
                @if !finding.chain.is_empty() {
                    dt { "because" }
                    dd { ol.chain { @for link in &finding.chain { li { (link) } } } }
                }
                @if !finding.functions.is_empty() {
                    dt { "ran" }
                    dd { @for function in &finding.functions { code { (function) } " " } }
                }
                @for (fix, effect) in &finding.fixes {
                    dt { "fix" }
                    dd { (self::fix(fix)) @if !effect.is_empty() { p.effect { (effect) } } }
                }
                @if !finding.source.is_empty() {
                    dt { "source" }
                    dd.source { (finding.source) }
                }
            }
        }
    }
}

/// A fix: commands as code with a button that copies them, advice as text.
fn fix(fix: &Fix) -> Markup {
    match fix {
        Fix::Boot(parameters) => html! { "boot with " code { (parameters) } (copy(parameters)) },
        Fix::Unboot(parameter) => html! { "boot without " code { (parameter) } },
        Fix::Command(command) => html! { code { (command) } (copy(command)) },
        Fix::Advice(words) => html! { (words) },
    }
}

/// The colour of the cause in the timeline.
fn swatch(colour: Colour) -> Markup {
    html! {
        svg.swatch width="14" height="14" aria-hidden="true" {
            rect class=(colour.fill_class()) fill=(colour.light()) width="14" height="14" rx="3" {}
        }
    }
}
