// SPDX-License-Identifier: GPL-2.0-only
//! The positions of a study's settings, for errors that are known only once a guest has booted.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A setting with its position in the text of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingAt {
    /// The file of the guest's kernel that it writes.
    pub file: String,
    /// The name, as in the study.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
}

/// All settings (`sysctl`, `write`) in the text of a study, whose root table this is, in their order.
pub fn settings(text: &str, root: &DeTable<'_>) -> Vec<SettingAt> {
    let mut found = Vec::new();
    search_table(text, root, &mut found);
    found.sort_by_key(|setting| (setting.line, setting.column));
    found
}

fn search_table(text: &str, table: &DeTable<'_>, found: &mut Vec<SettingAt>) {
    for (key, value) in table {
        if let Some(settings) = value.get_ref().as_table() {
            for name in settings.keys() {
                let file = file_of(key.get_ref(), name.get_ref());
                found.extend(file.map(|file| setting_at(text, file, name.get_ref(), name.span().start)));
            }
        }
        search(text, value, found);
    }
}

fn search(text: &str, value: &Spanned<DeValue<'_>>, found: &mut Vec<SettingAt>) {
    match value.get_ref() {
        DeValue::Table(table) => search_table(text, table, found),
        DeValue::Array(items) => {
            for item in items {
                search(text, item, found);
            }
        }
        _ => {}
    }
}

/// The file that a setting writes, by the table that it is in; `None` if it is no setting.
fn file_of(table: &str, name: &str) -> Option<String> {
    match table {
        "sysctl" => Some(format!("/proc/sys/{}", name.replace('.', "/"))),
        "write" => Some(name.to_owned()),
        _ => None,
    }
}

fn setting_at(text: &str, file: String, name: &str, at: usize) -> SettingAt {
    // A quoted name begins after its quote.
    let quote = usize::from(text[at..].starts_with(['"', '\'']));
    let before = &text[..at + quote];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    SettingAt { file, name: name.to_owned(), line, column }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, file: &str) -> Vec<(usize, usize)> {
        let (root, _) = DeTable::parse_recoverable(text);
        let all = settings(text, root.get_ref());
        let of_file = all.iter().filter(|setting| setting.file == file);
        of_file.map(|setting| (setting.line, setting.column)).collect()
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
