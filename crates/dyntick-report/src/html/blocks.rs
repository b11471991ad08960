// SPDX-License-Identifier: GPL-2.0-only
//! The sections, tables and pictures of a page.

use super::anchors::Anchors;
use super::{claims, copy, findings};
use crate::draw::Place;
use crate::numbers::grouped;
use crate::words::{console_line, message};
use crate::{Align, Block, Cell, Column, Failure, Table, flame, plot_svg, timeline_svg};
use maud::{Markup, html};

/// The block with this number in its document.
pub(super) fn block(block: &Block, anchors: &Anchors<'_>, number: usize) -> Markup {
    match block {
        Block::Heading(text) => html! { h2 id=[anchors.heading(number)] { (text) } },
        Block::Paragraph(text) => html! { p { (text) } },
        Block::Table(table) => self::table(table),
        Block::Command(what, command) => html! { p { (what) ": " code { (command) } (copy(command)) } },
        Block::Scores(verdicts) => claims::scores(verdicts, anchors.has_verdicts),
        Block::Details(summary, blocks) => html! {
            details {
                summary { (summary) }
                // Headings within details are not in the list of contents.
                @for inner in blocks { (self::block(inner, anchors, usize::MAX)) }
            }
        },
        Block::Verdicts(verdicts) => {
            html! { @for (n, verdict) in verdicts.iter().enumerate() { (claims::verdict(verdict, n)) } }
        }
        Block::Findings(findings) => {
            html! { @for finding in findings { (findings::finding(finding, anchors)) } }
        }
        Block::Timeline(timeline) => figure(&timeline.caption, timeline_svg::picture(timeline, Place::Page)),
        Block::Flame(one) => figure(&one.caption, flame::picture(one, Place::Page)),
        Block::Plot(plot) => figure(&plot.caption, plot_svg::picture(plot, Place::Page)),
        Block::Failures(failures) => html! { @for failure in failures { (self::failure(failure)) } },
        Block::Pairs(pairs) => html! {
            dl.pairs { @for (name, value) in pairs { dt { (name) } dd { (value) } } }
        },
    }
}

fn figure(caption: &str, picture: Markup) -> Markup {
    html! {
        figure {
            div.scroll tabindex="0" role="group" aria-label=(caption) { (picture) }
            figcaption { (caption) }
        }
    }
}

fn table(table: &Table) -> Markup {
    html! {
        div.table {
            @if !table.caption.is_empty() { p.caption { (table.caption) } }
            div.scroll tabindex="0" role="group" aria-label=(table.caption) {
                table {
                    @if table.columns.iter().any(Column::has_header) {
                        thead { tr { @for column in &table.columns { (header(column)) } } }
                    }
                    tbody {
                        @for row in &table.rows {
                            tr { @for (cell, column) in row.iter().zip(&table.columns) { (self::cell(cell, column)) } }
                        }
                    }
                }
            }
            @for note in &table.notes { p.note { (note) } }
        }
    }
}

fn header(column: &Column) -> Markup {
    html! {
        th scope="col" class=(class(column.align)) {
            (column.header)
            @if !column.unit.is_empty() { " " span.unit { (column.unit) } }
        }
    }
}

fn cell(cell: &Cell, column: &Column) -> Markup {
    let text = match cell.figure() {
        Some((number, unit)) if !unit.is_empty() => format!("{} {unit}", grouped(&number)),
        Some((number, _)) => grouped(&number),
        None => cell.to_string(),
    };
    html! { td class=(class(column.align)) { (text) } }
}

fn class(align: Align) -> &'static str {
    match align {
        Align::Left => "text",
        Align::Right => "figure",
    }
}

fn failure(failure: &Failure) -> Markup {
    html! {
        section.card {
            h3 { (failure.name) }
            p { (message(&failure.reason)) }
            @if !failure.console.is_empty() {
                pre { @for line in &failure.console { (console_line(line)) "\n" } }
            }
        }
    }
}
