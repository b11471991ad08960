// SPDX-License-Identifier: GPL-2.0-only
//! How much is shown of words that have no limit: a guest may print a line of megabytes.

use dyntick_model::text::shortened;

/// Characters of a line.
const LINE: usize = 300;
/// Bytes of a message.
const MESSAGE: usize = 4096;

/// A line of a console, clean and of bearable length.
pub(crate) fn console_line(line: &str) -> String {
    shortened(line, LINE)
}

/// What went wrong in a guest's or a tool's words, clean: lines of at most 300 characters, 4 KiB in all,
/// and how much more there was.
pub fn message(text: &str) -> String {
    let mut told = String::new();
    let mut lines = text.lines();
    for line in lines.by_ref() {
        let line = console_line(line);
        if told.len() + line.len() > MESSAGE {
            let more = 1 + lines.count();
            return format!("{told}\n… ({more} more lines)");
        }
        if !told.is_empty() {
            told.push('\n');
        }
        told += &line;
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_stays() {
        assert_eq!(message("one\ntwo"), "one\ntwo");
        assert_eq!(message("a\u{1b}b"), "a\u{fffd}b");
    }

    #[test]
    fn what_has_no_end_gets_one() {
        let line = message(&"x".repeat(3_000_000));
        assert!(line.len() < 400 && line.ends_with("… (2999700 more characters)"), "{line}");
        let many = message(&"stderr of a script\n".repeat(50_000));
        assert!(many.len() < 4200 && many.ends_with(" more lines)"), "{many}");
    }
}
