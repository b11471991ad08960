// SPDX-License-Identifier: GPL-2.0-only
//! The file of `--yaml`, line by line. It is not always YAML: if two thermal zones share a name, it becomes a duplicate
//! key, which a strict parser refuses.

use super::{Stressor, TOOL};
use crate::text::number;
use crate::{Error, MAX_METRICS};

/// The indentation of lines within a section, as `stress-ng.c` prints them. Lines that are indented further have the
/// figures of single instances, whose sum or mean is above.
const ITEM: &str = "    - stressor: ";
const VALUE: usize = 6;
/// The longest section name, in bytes: each stressor has a copy of it.
const LONGEST_LINE: usize = 1000;

pub fn is(text: &str) -> bool {
    let is_section = |line: &str| line == "metrics:" || line == "system-info:";
    let is_own = |line: &str| line.starts_with(ITEM) || line.trim_start().starts_with("stress-ng-version:");
    text.lines().any(is_section) && text.lines().any(is_own)
}

/// Reads each stressor of each section that lists them.
pub fn parse(text: &str) -> Result<Vec<Stressor>, Error> {
    let mut found: Vec<Stressor> = Vec::new();
    let mut section = "";
    let mut in_item = false;
    for (index, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if line.len() > LONGEST_LINE {
            return Err(Error::line(TOOL, index, line));
        }
        if let Some(name) = line.strip_prefix(ITEM) {
            if found.len() == MAX_METRICS {
                return Err(Error::Long { size: found.len() + 1, unit: "stressors", limit: MAX_METRICS });
            }
            let (section, name) = (section.to_owned(), unquoted(name).to_owned());
            found.push(Stressor { section, name, values: Vec::new() });
            in_item = true;
        } else if indent == 0 && !line.is_empty() {
            section = line.trim_end().trim_end_matches(':');
            in_item = false;
        } else if in_item && indent == VALUE {
            let (key, value) = line.split_once(':').ok_or_else(|| Error::line(TOOL, index, line))?;
            // Lists, texts and figures without a run (nan) are not figures.
            if let (Some(stressor), Some(value)) = (found.last_mut(), number(unquoted(value))) {
                stressor.values.push((unquoted(key).to_owned(), value));
            }
        }
    }
    Ok(found)
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['\'', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_keys_and_instances_are_read() {
        let text = "---\nmetrics:\n    - stressor: 'cpu'\n      bogo-ops: 2.5e3\n      rate: nan\n      instances:\n          \
            - instance: 0\n            bogo-ops: 5\n\nthermal-zones:\n    - stressor: cpu\n      acpitz:   27.80\n      \
            acpitz:   29.80\ntimes:\n      run-time: 2.0\n...\n";
        let stressors = parse(text).unwrap();
        assert_eq!(stressors[0].values, [("bogo-ops".to_owned(), 2500.0)]);
        assert_eq!(stressors[1].values, [("acpitz".to_owned(), 27.8), ("acpitz".to_owned(), 29.8)]);
        assert_eq!(stressors.len(), 2);
    }

    #[test]
    fn long_sections_of_many_stressors_are_refused() {
        let long = format!("metrics:\n{}:\n    - stressor: x\n", "s".repeat(2 << 20));
        assert!(matches!(parse(&long), Err(Error::Line { .. })), "{:?}", parse(&long).map(|all| all.len()));
        let many = format!("metrics:\n{}", "    - stressor: x\n".repeat(MAX_METRICS + 1));
        assert!(matches!(parse(&many), Err(Error::Long { unit: "stressors", .. })));
    }

    #[test]
    fn invalid_output_is_refused() {
        let error = parse("metrics:\n    - stressor: cpu\n      bogo\n").unwrap_err();
        assert_eq!(error, Error::line(TOOL, 2, "      bogo"));
    }
}
