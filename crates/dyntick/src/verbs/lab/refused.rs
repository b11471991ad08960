// SPDX-License-Identifier: GPL-2.0-only
//! Which setting of a study a guest's kernel has refused: its name is known only there.

use crate::output;
use dyntick_lab::lab::CaseResult;
use dyntick_model::text::clean_line;
use dyntick_study::shipped;
use std::collections::BTreeSet;
use std::path::Path;

/// Says where in the study's file those settings stand that failed cases name in their errors.
pub fn say_where(study: &Path, results: &[CaseResult]) {
    let Some(text) = text_of(study) else { return };
    let told: BTreeSet<String> = results
        .iter()
        .filter_map(|result| Some((result, result.run.as_ref().err()?.to_string())))
        .flat_map(|(result, error)| places(&text, &error, settings(result)))
        .collect();
    for place in told {
        output::note(clean_line(&format!("{}:{place}", study.display())));
    }
}

fn text_of(study: &Path) -> Option<String> {
    match study.to_str().filter(|_| !shipped::is_path(study)) {
        Some(name) => shipped::text(name).ok().map(str::to_owned),
        None => std::fs::read_to_string(study).ok(),
    }
}

/// The settings of a case: as the study names them, and the files that they are.
fn settings(result: &CaseResult) -> impl Iterator<Item = (&str, String)> {
    let sysctl = result.case.sysctl.keys();
    let sysctl = sysctl.map(|name| (name.as_str(), format!("/proc/sys/{}", name.replace('.', "/"))));
    sysctl.chain(result.case.write.keys().map(|path| (path.as_str(), path.clone())))
}

/// `LINE:COLUMN: …` of each setting whose file the error names.
fn places<'a>(text: &str, error: &str, settings: impl Iterator<Item = (&'a str, String)>) -> Vec<String> {
    let is_named = |file: &str| {
        let goes_on =
            |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_-./".contains(c));
        error.match_indices(file).any(|(at, _)| !goes_on(&error[at + file.len()..]))
    };
    let place = |(name, file): (&str, String)| {
        let at = is_named(&file).then(|| text.find(&format!("\"{name}\"")))?? + 1;
        let line = text[..at].matches('\n').count() + 1;
        let column = text[..at].rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Some(format!("{line}:{column}: the kernel of the guest refuses '{name}'"))
    };
    settings.filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_what_was_refused() {
        let text =
            "title = 't'\n[defaults]\nsysctl = { \"vm.stat_intervall\" = 60, \"vm.stat_interval\" = 60 }\n";
        let settings = || {
            let of = |name: &'static str| (name, format!("/proc/sys/{}", name.replace('.', "/")));
            ["vm.stat_interval", "vm.stat_intervall"].map(of).into_iter()
        };
        let error = "the kernel refuses \"60\" in /proc/sys/vm/stat_intervall: there is no such setting";
        assert_eq!(
            places(text, error, settings()),
            ["3:13: the kernel of the guest refuses 'vm.stat_intervall'"]
        );
        assert!(places(text, "the guest did not boot", settings()).is_empty());
        assert!(places("", error, settings()).is_empty(), "it came by the command line");
    }
}
