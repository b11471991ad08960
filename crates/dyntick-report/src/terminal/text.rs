// SPDX-License-Identifier: GPL-2.0-only
//! Texts as lines that fit.

use unicode_width::UnicodeWidthStr;

/// Lines of at most `width` columns. Words stay complete, even at hyphens, since many are settings to be copied; only a
/// word that is wider than a line is broken.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = textwrap::Options::new(width.max(1)).word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

/// The width of the longest word of a text.
pub(super) fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(|word| word.width()).max().unwrap_or(0)
}

/// A name and its value, on two lines if they do not fit on one.
pub(super) fn pair(name: &str, names: usize, value: &str, width: usize) -> Vec<String> {
    let beside = names + 2 <= width / 2 && longest_word(value) + names + 2 <= width;
    let indent = if beside { names + 2 } else { 4 };
    let mut lines = Vec::new();
    let mut first = format!("{name}{}", " ".repeat(indent.saturating_sub(name.width())));
    // The same for all names: a name exactly as wide as the indent would run into its value.
    if !beside {
        lines.extend(wrap(name, width));
        first = " ".repeat(indent);
    }
    for (number, line) in wrap(value, width - indent).into_iter().enumerate() {
        let before = if number == 0 { first.clone() } else { " ".repeat(indent) };
        lines.push(format!("{before}{line}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_does_not_run_into_its_value() {
        let widest = "the longest name of all, which is as wide as half a line".len();
        for name in ["ns", "cpu", "note", "notes", "a longer one"] {
            let lines = pair(name, widest, "packets, 6.12: it ended", 72);
            assert_eq!(lines, [name, "    packets, 6.12: it ended"]);
        }
        assert_eq!(pair("note", 6, "it ended", 72), ["note    it ended"]);
    }
}
