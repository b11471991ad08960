// SPDX-License-Identifier: GPL-2.0-only
//! The position of a setting that a guest's kernel has refused: its name is known only there.

use crate::output;
use dyntick_lab::lab::CaseResult;
use dyntick_model::text::clean_line;
use dyntick_study::{positions_of, shipped};
use std::collections::BTreeSet;
use std::path::Path;

/// Prints the position in the study's file of each setting that a kernel has refused.
pub fn say_where(study: &Path, results: &[CaseResult]) {
    let Some(text) = text_of(study) else { return };
    let errors = results.iter().filter_map(|result| result.run.as_ref().err());
    let refused: BTreeSet<&str> = errors.filter_map(|error| error.refused_path()).collect();
    for line in refused.into_iter().flat_map(|file| lines(&text, file)) {
        output::note(clean_line(&format!("{}:{line}", study.display())));
    }
}

fn text_of(study: &Path) -> Option<String> {
    match study.to_str().filter(|_| !shipped::is_path(study)) {
        Some(name) => shipped::text(name).ok().map(str::to_owned),
        None => std::fs::read_to_string(study).ok(),
    }
}

/// `LINE:COLUMN: …` of each setting that writes this file.
fn lines(text: &str, file: &str) -> Vec<String> {
    let settings = positions_of(text, file).into_iter();
    settings
        .map(|at| format!("{}:{}: the kernel of the guest refuses '{}'", at.line, at.column, at.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_setting_is_shown_with_its_position() {
        let text =
            "title = 't'\n[defaults]\nsysctl = { \"vm.stat_intervall\" = 60, \"vm.stat_interval\" = 60 }\n";
        assert_eq!(
            lines(text, "/proc/sys/vm/stat_intervall"),
            ["3:13: the kernel of the guest refuses 'vm.stat_intervall'"]
        );
        assert!(lines("", "/proc/sys/vm/stat_intervall").is_empty(), "it came by the command line");
    }
}
