// SPDX-License-Identifier: GPL-2.0-only
//! Documents as one HTML file that loads nothing and works without its script.

mod anchors;
mod blocks;
mod claims;
mod findings;

use crate::Document;
use crate::palette::dark_style;
use anchors::Anchors;
use dyntick_model::text::clean;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/page.js");
/// The policy for a browser: it allows the page's own style, and its own script by the SHA-256, and nothing else,
/// whatever text is in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
                      script-src 'sha256-40AGECU4VqgMM7lhse2b312RG+aA+yfIVr+VR3vGcLM='; base-uri 'none'; form-action 'none'";

/// Renders a document.
pub fn html(document: &Document) -> String {
    let anchors = Anchors::of(document);
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (document.title) }
                style { (PreEscaped(STYLE)) (PreEscaped(dark_style())) }
            }
            body {
                main {
                    header {
                        h1 { (document.title) }
                        @if !document.question.is_empty() { p.question { (document.question) } }
                        @for paragraph in &document.lead { p.lead { (paragraph) } }
                    }
                    @for (number, block) in document.blocks.iter().enumerate() {
                        @if anchors.contents_before(number) { (contents(&anchors)) }
                        (blocks::block(block, &anchors, number))
                    }
                }
                (foot(document))
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // Markup is escaped; control characters are not, and may come from a guest or a task.
    clean(&page.into_string())
}

/// The links to all sections.
fn contents(anchors: &Anchors<'_>) -> Markup {
    markup! {
        nav.contents aria-label="Contents" {
            ul { @for (id, text) in anchors.headings() { li { a href={ "#" (id) } { (text) } } } }
        }
    }
}

/// The command that generates the page again, and the program that made it.
fn foot(document: &Document) -> Markup {
    let Some(origin) = &document.origin else { return markup! {} };
    markup! {
        footer {
            p { "Repeat with " code { (origin.command) } (copy(&origin.command)) }
            p { "Made by " (origin.program) "." }
        }
    }
}

/// A button that copies a text; the script shows it if copying is possible.
fn copy(text: &str) -> Markup {
    markup! { " " button.copy type="button" hidden data-copy=(text) { "copy" } }
}

#[cfg(test)]
mod tests;
