// SPDX-License-Identifier: GPL-2.0-only
//! Documents as one HTML file that loads nothing.

use crate::words::{console_line, message};
use crate::{Align, Block, Document, Failure, Finding, Ruling, Table, Verdict, plot_svg, svg};
use dyntick_model::text::clean;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

const STYLE: &str = include_str!("style.css");

/// Renders a document.
pub fn html(document: &Document) -> String {
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (document.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (document.title) }
                    p.question { (document.question) }
                    @for paragraph in &document.lead { p.lead { (paragraph) } }
                    @for part in &document.blocks { (block(part)) }
                }
            }
        }
    };
    // Markup is escaped; control characters are not, and a guest or a task may have put them there.
    clean(&page.into_string())
}

fn block(block: &Block) -> Markup {
    match block {
        Block::Heading(text) => markup! { h2 { (text) } },
        Block::Paragraph(text) => markup! { p { (text) } },
        Block::Table(table) => self::table(table),
        Block::Verdicts(verdicts) => markup! { @for verdict in verdicts { (self::verdict(verdict)) } },
        Block::Findings(findings) => markup! { @for finding in findings { (self::finding(finding)) } },
        Block::Timeline(timeline) => markup! {
            figure {
                (PreEscaped(svg(timeline)))
                figcaption { (timeline.caption) }
            }
        },
        Block::Plot(plot) => markup! {
            figure {
                (PreEscaped(plot_svg(plot)))
                figcaption { (plot.caption) }
            }
        },
        Block::Failures(failures) => markup! { @for failure in failures { (self::failure(failure)) } },
        Block::Pairs(pairs) => markup! {
            dl { @for (name, value) in pairs { dt { (name) } dd { (value) } } }
        },
    }
}

fn table(table: &Table) -> Markup {
    let class = |align: Align| match align {
        Align::Left => "text",
        Align::Right => "figure",
    };
    markup! {
        div.scroll {
            table {
                @if !table.caption.is_empty() { caption { (table.caption) } }
                thead {
                    tr {
                        @for column in &table.columns {
                            th scope="col" class=(class(column.align)) {
                                (column.header)
                                @if !column.unit.is_empty() { " " span.unit { (column.unit) } }
                            }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (cell, column) in row.iter().zip(&table.columns) {
                                td class=(class(column.align)) { (cell) }
                            }
                        }
                    }
                }
            }
        }
        @for note in &table.notes { p.note { (note) } }
    }
}

fn verdict(verdict: &Verdict) -> Markup {
    markup! {
        section.verdict {
            h3 { (verdict.claim) }
            p.rulings {
                @for (variant, ruling) in &verdict.rulings {
                    span class={ "ruling " (class(*ruling)) } {
                        @if !variant.is_empty() { (variant) ": " }
                        (ruling.sign()) " " (verdict.words(*ruling))
                    }
                    " "
                }
            }
            @if !verdict.comment.is_empty() { p { (verdict.comment) } }
            details {
                summary { "the figures" }
                ul { @for line in &verdict.evidence { li { (line) } } }
            }
        }
    }
}

fn class(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Reproduced => "yes",
        Ruling::NotReproduced => "no",
        Ruling::Inconclusive | Ruling::CannotTell => "unknown",
    }
}

fn finding(finding: &Finding) -> Markup {
    markup! {
        section.finding {
            h3 { (finding.title) }
            p.occurrence { (finding.occurrence) }
            p { (finding.explanation) }
            @if !finding.chain.is_empty() { ol.chain { @for link in &finding.chain { li { (link) } } } }
            @if !finding.functions.is_empty() {
                p { "Functions: " @for function in &finding.functions { code { (function) } " " } }
            }
            @if !finding.fixes.is_empty() {
                dl.fixes { @for (setting, effect) in &finding.fixes { dt { code { (setting) } } dd { (effect) } } }
            }
            @if !finding.source.is_empty() { p.source { "Kernel source: " (finding.source) } }
        }
    }
}

fn failure(failure: &Failure) -> Markup {
    markup! {
        section.failure {
            h3 { (failure.name) }
            p { (message(&failure.reason)) }
            @if !failure.console.is_empty() {
                pre { @for line in &failure.console { (console_line(line)) "\n" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    #[test]
    fn hostile_texts_stay_texts() {
        let evil = "<script>alert(1)</script>\"&";
        let mut document = Document { title: evil.into(), question: evil.into(), ..Document::default() };
        document.blocks = vec![
            Block::Heading(evil.into()),
            Block::Table(Table {
                columns: vec![Column::text(evil)],
                rows: vec![vec![evil.into()]],
                caption: evil.into(),
                notes: vec![evil.into()],
            }),
            Block::Failures(vec![Failure {
                name: evil.into(),
                reason: evil.into(),
                console: vec![evil.into()],
            }]),
            Block::Pairs(vec![(evil.into(), evil.into())]),
        ];
        let page = html(&document);
        assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
        assert_eq!(page, html(&document), "the same document gives the same bytes");
    }

    #[test]
    fn control_characters_do_not_come_through() {
        let evil = "a\u{1b}]0;x\u{7}\u{9b}\u{7f}\u{202e}b";
        let failure = Failure { name: evil.into(), reason: evil.into(), console: vec![evil.into()] };
        let blocks = vec![Block::Failures(vec![failure]), Block::Paragraph(evil.into())];
        let page = html(&Document { title: evil.into(), blocks, ..Document::default() });
        assert!(page.chars().all(|c| c == '\n' || !c.is_control()), "{page:?}");
        assert!(!page.contains('\u{202e}') && page.contains("a\u{fffd}]0;x"), "{page}");
    }

    #[test]
    fn loads_nothing() {
        let page = html(&Document::default());
        for word in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
