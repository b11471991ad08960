// SPDX-License-Identifier: GPL-2.0-only
//! The book's page on causes is generated from the rules.
//!
//! `INSTA_UPDATE=always cargo test -p dyntick-explain --test causes_page` updates it.

use dyntick_explain::rules::{self, Rule, Versions};

fn page() -> String {
    let mut rules: Vec<&Rule> = rules::all().to_vec();
    rules.sort_by_key(|rule| rule.id);
    let sections: Vec<String> = rules.into_iter().map(section).collect();
    format!(
        "# Every cause\n\nEach cause that `dyntick explain` knows, by its id. A rule for a class, such as `workqueue`, \
         covers the members that have no rule of their own; a member has the kernel's name \
         (`workqueue:vmstat_update`). `N` stands for the CPUs; `explain` fills in those of the machine.\n\nThis page \
         is generated from the rules, and a test keeps it up to date.\n{}",
        sections.concat()
    )
}

fn section(rule: &Rule) -> String {
    let fix = |fix: &rules::RuleFix| {
        format!("- `{}`{}: {}\n", fix.action.unfilled(), range(fix.versions), fix.remarked_effect())
    };
    let fixes: String = rule.fixes.iter().map(fix).collect();
    let origin = if rule.names_origin { "" } else { " Counts as unattributed." };
    let gap = if fixes.is_empty() { "" } else { "\n" };
    format!(
        "\n## `{}`\n\n**{}**{}. {}{origin}\n{gap}{fixes}\nSource: {}\n",
        rule.id,
        rule.title,
        range(rule.versions),
        rule.explanation,
        rule.source
    )
}

fn range(versions: Versions) -> String {
    match (versions.since, versions.until) {
        (Some(since), Some(until)) => {
            format!(" (from {}.{} until {}.{})", since.0, since.1, until.0, until.1)
        }
        (Some((major, minor)), None) => format!(" (from {major}.{minor} on)"),
        (None, Some((major, minor))) => format!(" (before {major}.{minor})"),
        (None, None) => String::new(),
    }
}

#[test]
fn page_matches_the_rules() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/causes.md");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|update| update == "always") {
        std::fs::write(path, page()).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == page(), "docs/src/causes.md differs from the rules: update it with INSTA_UPDATE=always");
}
