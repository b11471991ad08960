// SPDX-License-Identifier: GPL-2.0-only
//! The kernels of a report: each with its name, its source, and the fragments and patches that it was built with.

use super::titles::{Titled, Titles};
use dyntick_lab::plan::{KernelParts, KernelPatch, Plan};
use dyntick_model::text::shortened;
use dyntick_model::{Recipe, Spec};
use dyntick_report::numbers::counted;

/// The number of digits of a hash that are shown.
const DIGITS: usize = 8;

/// The longest name of a part.
const LONGEST: usize = 60;

/// One kernel of a report.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    name: String,
    release: String,
    source: String,
    fragments: Vec<String>,
    patches: Vec<String>,
    key: String,
}

/// A line for each kernel. What the second and further ones share with the first is not repeated.
pub fn pairs(titles: &Titles, runs: &[Titled<'_>]) -> Vec<(String, String)> {
    let kernels = distinct(titles, runs);
    let is_one = kernels.len() == 1;
    let first = kernels.first().cloned();
    let pair = |(number, kernel): (usize, Shown)| {
        let base = first.as_ref().filter(|_| number > 0);
        let name = if is_one { "kernel".to_owned() } else { format!("kernel {}", kernel.name) };
        (name, kernel.in_words(base))
    };
    kernels.into_iter().enumerate().map(pair).collect()
}

/// The lines of those kernels whose names do not say what they are: built here, or given as a file.
pub fn own_pairs(titles: &Titles, runs: &[Titled<'_>]) -> Vec<(String, String)> {
    let is_own = |run: &Titled<'_>| {
        run.plan.kernel_parts.is_some()
            || run.plan.case.recipe.is_some()
            || matches!(run.plan.case.kernel.parse(), Ok(Spec::Path(_) | Spec::Built(_)))
    };
    if runs.iter().any(is_own) { pairs(titles, runs) } else { Vec::new() }
}

/// The changes that were made to images before they booted.
pub fn changes(runs: &[Titled<'_>]) -> Option<(String, String)> {
    let changed = |run: &Titled<'_>| Some(run.plan.kernel_source.split_once("; ")?.1.to_owned());
    let changes = super::distinct(runs.iter().filter_map(changed).collect());
    (!changes.is_empty()).then(|| ("changed before the boot".to_owned(), changes))
}

fn distinct(titles: &Titles, runs: &[Titled<'_>]) -> Vec<Shown> {
    let mut all = Vec::new();
    for run in runs {
        let shown = Shown::of(titles.kernel_name(&run.plan.case), &run.plan);
        if !all.contains(&shown) {
            all.push(shown);
        }
    }
    all
}

impl Shown {
    fn of(name: String, plan: &Plan) -> Self {
        let parts = plan.kernel_parts.clone().or_else(|| plan.case.recipe.as_ref().map(of_recipe));
        let parts = parts.unwrap_or_default();
        let source = match plan.case.kernel.parse() {
            // Its folder is no business of those who read the report.
            Ok(Spec::Path(_)) => format!("a file, SHA-256 {}", beginning(&plan.kernel_sha256)),
            _ if !parts.source.is_empty() => parts.source.clone(),
            _ => plan.kernel_source.split("; ").next().unwrap_or_default().to_owned(),
        };
        Self {
            name,
            release: plan.release.to_string(),
            source,
            fragments: parts.config.iter().map(|name| file_name(name)).collect(),
            patches: parts.patches.iter().map(in_words).collect(),
            key: beginning(&parts.key).to_owned(),
        }
    }

    fn in_words(&self, base: Option<&Self>) -> String {
        let alike = base.filter(|base| (&base.release, &base.source) == (&self.release, &self.source));
        let same = alike.is_some_and(|base| base.fragments == self.fragments);
        let mut words = match alike {
            Some(base) if same => format!("as {}", base.name),
            Some(base) => format!("source as {}", base.name),
            None => format!("{}, {}", self.release, self.source),
        };
        if !same && !self.fragments.is_empty() {
            words += &format!("; fragments {}", self.fragments.join(", "));
        }
        if !self.patches.is_empty() {
            let patches = if self.patches.len() == 1 { "patch" } else { "patches" };
            words += &format!("; {patches} {}", self.patches.join(", "));
        } else if alike.is_some_and(|base| !base.patches.is_empty()) {
            words += "; no patch";
        }
        if !self.key.is_empty() {
            words += &format!("; built as {}", self.key);
        }
        words
    }
}

/// The parts of a kernel that is not built yet, or was before they were kept.
fn of_recipe(recipe: &Recipe) -> KernelParts {
    let patch = |name: &String| KernelPatch { name: name.clone(), files: None, sha256: None };
    let patches = recipe.patches.iter().map(patch).collect();
    KernelParts { config: recipe.config.clone(), patches, ..KernelParts::default() }
}

/// `nofair.patch (1 file, 9f86d081)`
fn in_words(patch: &KernelPatch) -> String {
    let files = patch.files.map(|files| counted(files as u64, "file"));
    let hash = patch.sha256.as_ref().map(|hash| beginning(hash).to_owned());
    let remarks: Vec<String> = files.into_iter().chain(hash).collect();
    let name = file_name(&patch.name);
    if remarks.is_empty() { name } else { format!("{name} ({})", remarks.join(", ")) }
}

fn file_name(name: &str) -> String {
    shortened(name.rsplit('/').next().unwrap_or_default(), LONGEST)
}

fn beginning(hash: &str) -> &str {
    hash.get(..DIGITS).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, patches: &[&str], key: &str) -> Shown {
        Shown {
            name: name.into(),
            release: "6.12.117".into(),
            source: "Debian package linux-source-6.12 6.12.117-1".into(),
            fragments: ["lab", "no-hz-full"].map(str::to_owned).to_vec(),
            patches: patches.iter().map(|patch| (*patch).to_owned()).collect(),
            key: key.into(),
        }
    }

    #[test]
    fn a_patched_kernel_is_the_first_one_and_its_patch() {
        let before = kernel("before", &[], "96fa6079");
        let patch = KernelPatch {
            name: "/home/me/nofair.patch".into(),
            files: Some(1),
            sha256: Some("86385b1aff".into()),
        };
        let after = kernel("after", &[&in_words(&patch)], "86385b1a");
        assert_eq!(
            before.in_words(None),
            "6.12.117, Debian package linux-source-6.12 6.12.117-1; fragments lab, no-hz-full; built as 96fa6079"
        );
        assert_eq!(
            after.in_words(Some(&before)),
            "as before; patch nofair.patch (1 file, 86385b1a); built as 86385b1a"
        );
        assert_eq!(before.in_words(Some(&after)), "as after; no patch; built as 96fa6079");
        let other = Shown { fragments: vec!["lab".into()], ..kernel("other", &["a", "b"], "") };
        assert_eq!(other.in_words(Some(&before)), "source as before; fragments lab; patches a, b");
        assert_eq!(in_words(&KernelPatch { name: "x.cocci".into(), files: None, sha256: None }), "x.cocci");
    }
}
