// SPDX-License-Identifier: GPL-2.0-only
//! The book's table of figures says what [`dyntick_study::figure::table`] says.
//!
//! `INSTA_UPDATE=always cargo test -p dyntick-study --test figures_page` writes it anew.

use dyntick_study::figure::{Figure, Key, OfCpus, table};

const BEGIN: &str = "| figure | unit | from | meaning |\n";

fn table() -> String {
    let rows: String = table::ALL.iter().map(|figure| row(figure)).collect();
    format!("{BEGIN}| --- | --- | --- | --- |\n{rows}")
}

fn row(figure: &Figure) -> String {
    let name = figure.name;
    let names = match figure.key {
        Key::None => format!("`{name}`"),
        Key::Optional(form) => format!("`{name}`, `{name}:{form}`"),
        Key::Required { form, .. } => format!("`{name}:{form}`"),
    };
    let of_cpus = match figure.of_cpus {
        OfCpus::Sum => String::new(),
        OfCpus::Mean => ". Of several CPUs the mean".to_owned(),
        OfCpus::Weighted(by) => format!(". Of several CPUs their mean, weighted by `{}`", by.name),
    };
    let unit = figure.unit.filter(|unit| *unit != "1").unwrap_or_default();
    format!("| {names} | {unit} | {} | {}{of_cpus} |\n", figure.source.name(), figure.text)
}

#[test]
fn the_table_is_that_of_the_figures() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/studies.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the table of figures begins");
    let after: String = rest.split_inclusive('\n').skip_while(|line| line.starts_with('|')).collect();
    let right = format!("{before}{}{after}", table());
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(path, &right).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(
        kept == right,
        "docs/src/studies.md is not what the table of figures says; write it anew with INSTA_UPDATE=always"
    );
}
