// SPDX-License-Identifier: GPL-2.0-only
//! The check for characters that move a terminal's cursor or end a line. Names are shown in errors, progress and
//! tables, where a second line could be mistaken for dyntick's own.

use super::{Source, Value};
use dyntick_model::text::{clean, clean_line};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Texts that a person writes over several lines.
const OF_LINES: [&str; 4] = ["description", "run", "command", "pattern"];

/// Notes every key and text that has others than it may.
pub fn check(source: &Source<'_>, entries: &DeTable<'_>) {
    for (key, entry) in entries {
        let has_lines = OF_LINES.contains(&key.get_ref().as_ref());
        if is_refused(key.get_ref(), false) {
            problem(source, key);
        }
        value(source, entry, has_lines);
    }
}

fn value(source: &Source<'_>, entry: &Value<'_>, has_lines: bool) {
    match entry.get_ref() {
        DeValue::String(text) if is_refused(text, has_lines) => problem(source, entry),
        DeValue::Array(all) => all.iter().for_each(|one| value(source, one, has_lines)),
        DeValue::Table(inner) => check(source, inner),
        _ => {}
    }
}

fn is_refused(text: &str, has_lines: bool) -> bool {
    if has_lines { clean(text) != text.replace('\t', " ") } else { clean_line(text) != text }
}

fn problem<T>(source: &Source<'_>, place: &Spanned<T>) {
    let which = OF_LINES.join(", ");
    source.problem(
        place.span().start,
        format!("a line break or another control character; only {which} may have several lines"),
    );
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use std::path::Path;

    fn wrong(text: &str) -> Vec<String> {
        let found = read(Path::new("x.toml"), text, "a study", |_| ());
        found.err().map_or(Vec::new(), |all| all.problems.into_iter().map(|one| one.message).collect())
    }

    #[test]
    fn a_name_has_one_line() {
        assert!(
            wrong("description = \"\"\"\na\n\tb\"\"\"\nkernel = \"é µ\"\nrun = [\"sh\", \"a\\nb\"]")
                .is_empty()
        );
        for text in [
            r#"kernel = "a\nb""#,
            r#"files = ["a", "b\u0007"]"#,
            r#"description = "a\u001b[2J""#,
            r#"[kernels."x\ny"]"#,
            r#"case = [{ name = "a\rb" }]"#,
        ] {
            let words = wrong(text);
            assert!(words.len() == 1 && words[0].contains("a line break or another"), "{text}: {words:?}");
        }
    }
}
