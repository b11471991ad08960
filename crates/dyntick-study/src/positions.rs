// SPDX-License-Identifier: GPL-2.0-only
//! The positions of a study's settings, for errors that are known only once a guest has booted.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A setting with its position in the text of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingAt {
    /// The name, as in the study.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

/// The positions of all settings (`sysctl`, `write`) that write this file of the guest's kernel.
pub fn positions_of(text: &str, file: &str) -> Vec<SettingAt> {
    let (root, _) = DeTable::parse_recoverable(text);
    let mut found = Vec::new();
    search_table(text, root.get_ref(), file, &mut found);
    found.sort_by_key(|setting| (setting.line, setting.column));
    found
}

fn search_table(text: &str, table: &DeTable<'_>, file: &str, found: &mut Vec<SettingAt>) {
    for (key, value) in table {
        if let Some(settings) = value.get_ref().as_table() {
            for name in settings.keys().filter(|name| file_of(key.get_ref(), name.get_ref()) == file) {
                found.push(position(text, name.get_ref(), name.span().start));
            }
        }
        search(text, value, file, found);
    }
}

fn search(text: &str, value: &Spanned<DeValue<'_>>, file: &str, found: &mut Vec<SettingAt>) {
    match value.get_ref() {
        DeValue::Table(table) => search_table(text, table, file, found),
        DeValue::Array(items) => {
            for item in items {
                search(text, item, file, found);
            }
        }
        _ => {}
    }
}

/// The file that a setting writes, by the table that it is in; empty if it is no setting.
fn file_of(table: &str, name: &str) -> String {
    match table {
        "sysctl" => format!("/proc/sys/{}", name.replace('.', "/")),
        "write" => name.to_owned(),
        _ => String::new(),
    }
}

fn position(text: &str, name: &str, at: usize) -> SettingAt {
    // A quoted name begins after its quote.
    let quote = usize::from(text[at..].starts_with(['"', '\'']));
    let before = &text[..at + quote];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    SettingAt { name: name.to_owned(), line, column }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, file: &str) -> Vec<(usize, usize)> {
        positions_of(text, file).iter().map(|setting| (setting.line, setting.column)).collect()
    }

    #[test]
    fn setting_is_found_by_its_file_and_not_by_its_name() {
        let text = "title = '\"vm.swappiness\"'\n[defaults]\nsysctl = { \"vm.stat_interval\" = 1, \"vm.swappiness\" = 2 }\n\
                    [[case]]\nsysctl = { 'vm.swappiness' = 3 }\n[case.write]\n'/sys/x' = '1'\n";
        assert_eq!(at(text, "/proc/sys/vm/swappiness"), [(3, 37), (5, 13)]);
        assert_eq!(at(text, "/sys/x"), [(7, 2)]);
        assert_eq!(at(text, "/proc/sys/vm"), []);
        assert_eq!(at("", "/sys/x"), []);
    }
}
