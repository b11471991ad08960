// SPDX-License-Identifier: GPL-2.0-only
//! The book's page on trace events says what the table says.
//!
//! `INSTA_UPDATE=always cargo test -p dyntick-trace --test events_page` writes it anew.

use dyntick_trace::events::{EVENTS, Guests, Place, TraceEvent, of_interrupts};

fn page() -> String {
    let rows: String = EVENTS.iter().map(row).collect();
    let vectors: Vec<String> = of_interrupts().map(|name| format!("`{name}`")).collect();
    format!(
        "# Trace events\n\nThe trace events that dyntick reads, and their fields that it uses. *Live*: the CPUs on which `record` and `explain` \
         record it. *Guests*: the guests of the laboratory that record it; a case may name any other event, which is then counted. *Since*: \
         the first kernel that has it, if that is newer than 6.1.\n\nThis page is generated from \
         `crates/dyntick-trace/src/events.rs`, and a test keeps it up to date.\n\n\
         | event | fields | live | guests | since | without it |\n| --- | --- | --- | --- | --- | --- |\n{rows}\n\
         Events of the interrupt vectors (x86), on the recorded CPUs and in all guests: {}.\n",
        vectors.join(", ")
    )
}

fn row(event: &TraceEvent) -> String {
    let fields: Vec<String> = event.fields.iter().map(|field| format!("`{field}`")).collect();
    let live = match event.place {
        None => "–".to_owned(),
        Some(Place::Here) => "recorded CPUs".to_owned(),
        Some(Place::All) => "all CPUs".to_owned(),
        Some(Place::Target(field)) => format!("recorded CPUs, or `{field}` is one"),
        Some(Place::Either(one, other)) => format!("recorded CPUs, or `{one}` or `{other}` is one"),
    };
    let guests = match event.guests {
        Guests::Always => "all",
        Guests::WithStates => "with idle states",
        Guests::OnRequest => "–",
    };
    let since = event.since.map_or(String::new(), |(major, minor)| format!("{major}.{minor}"));
    format!(
        "| `{}` | {} | {live} | {guests} | {since} | {} |\n",
        event.name,
        fields.join(", "),
        event.without
    )
}

#[test]
fn the_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/trace-events.md");
    let page = page();
    if std::env::var("INSTA_UPDATE").is_ok_and(|word| word == "always") {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(kept, page, "INSTA_UPDATE=always cargo test -p dyntick-trace --test events_page");
}
