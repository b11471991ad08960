// SPDX-License-Identifier: GPL-2.0-only
//! The text of a diff: the files that it changes, and its damage.

use std::collections::BTreeSet;

/// The files that a diff changes, without their first folder.
pub fn changed_files(diff: &str) -> Vec<String> {
    let named = |line: &str| {
        let path = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ "))?;
        let path = path.split('\t').next()?.trim();
        (path != "/dev/null").then(|| path.split_once('/').map_or(path, |(_, inner)| inner).to_owned())
    };
    // git's lines for renames and modes name a file without the first folder.
    let moved = |line: &str| {
        let words = ["rename from ", "rename to ", "copy from ", "copy to "];
        words.iter().find_map(|word| line.strip_prefix(word)).map(|path| path.trim().to_owned())
    };
    // Only before the first hunk of a file are these its name; in a hunk they are changed lines.
    let mut files = BTreeSet::new();
    let mut hunk = Hunk::default();
    for line in diff.lines() {
        if let Some(next) = Hunk::announced(line) {
            hunk = next;
        } else if hunk.is_complete() {
            files.extend(named(line).or_else(|| moved(line)));
        } else {
            hunk.take(line);
        }
    }
    files.into_iter().collect()
}

/// The first line, from 1, at which patch(1) would call a diff malformed (GNU patch 2.7, `pch.c: another_hunk`).
pub fn damaged_line(diff: &str) -> Option<usize> {
    /// The number of lines at the end of a file that count as empty ones, which were cut off.
    const CUT_OFF: u32 = 2;
    let mut hunk = Hunk::default();
    let mut lines = 0;
    for (at, line) in diff.lines().enumerate() {
        lines = at + 1;
        if hunk.is_complete() {
            hunk = Hunk::announced(line).unwrap_or_default();
        } else if !hunk.take(line) {
            return Some(lines);
        }
    }
    (hunk.old.max(hunk.new) > CUT_OFF).then_some(lines)
}

/// The least number of lines around the changes of a hunk, on the side that has more, in a diff.
pub fn least_context(diff: &str) -> usize {
    let mut least = usize::MAX;
    let mut hunk = Hunk::default();
    let mut lines: Vec<bool> = Vec::new();
    for line in diff.lines() {
        if hunk.is_complete() {
            hunk = Hunk::announced(line).unwrap_or_default();
            lines.clear();
        } else {
            hunk.take(line);
            lines.push(!line.starts_with(['+', '-', '\\']));
            if hunk.is_complete() {
                let lead = lines.iter().take_while(|is_context| **is_context).count();
                let tail = lines.iter().rev().take_while(|is_context| **is_context).count();
                least = least.min(lead.max(tail));
            }
        }
    }
    if least == usize::MAX { 0 } else { least }
}

/// The numbers of old and new lines of a hunk that are still to come.
#[derive(Clone, Copy, Default)]
struct Hunk {
    old: u32,
    new: u32,
}

impl Hunk {
    /// The numbers that `@@ -1,5 +1,6 @@` announces.
    fn announced(line: &str) -> Option<Self> {
        let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
        let new = rest.split_once(" @@")?.0;
        let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
        Some(Self { old: count(old)?, new: count(new)? })
    }

    fn is_complete(self) -> bool {
        self.old == 0 && self.new == 0
    }

    /// Counts a line of the hunk. Returns false if it cannot be one.
    fn take(&mut self, line: &str) -> bool {
        let (old, new, is_one) = match line.bytes().next() {
            Some(b'-') => (true, false, true),
            Some(b'+') => (false, true, true),
            Some(b'\\') => (false, false, true),
            // An empty line is context whose space was cut off; before a tab it may be, too.
            None | Some(b' ' | b'\t' | b'\r') => (true, true, true),
            Some(_) => (true, true, false),
        };
        let fits = (!old || self.old > 0) && (!new || self.new > 0);
        self.old = self.old.saturating_sub(u32::from(old));
        self.new = self.new.saturating_sub(u32::from(new));
        is_one && fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_found_where_patch_calls_it_malformed() {
        let head = "From: x\n\n--- a/x.c\n+++ b/x.c\n@@ -1,3 +1,4 @@ f()\n a\n";
        assert_eq!(damaged_line(&format!("{head}+b\n c\n d\n-- \n2.47\n")), None);
        assert_eq!(damaged_line(&format!("{head}+b\n\n d\n\\ No newline at end of file\n")), None);
        assert_eq!(damaged_line(&format!("{head}+b\nwrapped\n c\n d\n")), Some(8), "a line that was wrapped");
        assert_eq!(
            damaged_line(&format!("{head}+b\n+b\n c\n d\n")),
            Some(10),
            "one line more than announced"
        );
        assert_eq!(damaged_line(&format!("{head}+b\n c\n-- \n2.47\n")), Some(10), "one line too few");
        assert_eq!(damaged_line(&format!("{head}+b\n")), None, "two empty lines may have been cut off");
        assert_eq!(damaged_line(head), Some(6), "it ends within a hunk");
    }

    #[test]
    fn context_is_that_of_the_hunk_with_least() {
        let hunk = |context: usize| {
            let lines = " x\n".repeat(context);
            format!("@@ -1,{0} +1,{1} @@\n{lines}+b\n{lines}", 2 * context, 2 * context + 1)
        };
        let head = "--- a/x.c\n+++ b/x.c\n";
        assert_eq!(least_context(&format!("{head}{}", hunk(3))), 3);
        assert_eq!(least_context(&format!("{head}{}{}", hunk(3), hunk(1))), 1);
        assert_eq!(least_context(head), 0);
    }

    #[test]
    fn names_of_files_are_no_changed_lines() {
        let diff =
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- a/inner\n+++ b/inner\n x\n--- a/g\n+++ /dev/null\n";
        assert_eq!(changed_files(diff), ["f", "g"]);
    }
}
