// SPDX-License-Identifier: GPL-2.0-only
//! The limits of texts that have none: a guest may print a line of megabytes.

use dyntick_model::text::shortened;

/// The limit of a line, characters.
const LINE: usize = 300;
/// The limit of a message, bytes.
const MESSAGE: usize = 4096;

/// A line of a console, cleaned and shortened.
pub(crate) fn console_line(line: &str) -> String {
    shortened(line, LINE)
}

/// A guest's or a tool's error message, cleaned: lines of at most 300 characters, 4 KiB in all, and the number of
/// omitted lines.
pub fn message(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    for line in lines.by_ref() {
        let line = console_line(line);
        if kept.len() + line.len() > MESSAGE {
            let more = 1 + lines.count();
            return format!("{kept}\n… ({more} more lines)");
        }
        if !kept.is_empty() {
            kept.push('\n');
        }
        kept += &line;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_message_is_unchanged() {
        assert_eq!(message("one\ntwo"), "one\ntwo");
        assert_eq!(message("a\u{1b}b"), "a\u{fffd}b");
    }

    #[test]
    fn endless_message_is_cut() {
        let line = message(&"x".repeat(3_000_000));
        assert!(line.len() < 400 && line.ends_with("… (2999700 more characters)"), "{line}");
        let many = message(&"stderr of a script\n".repeat(50_000));
        assert!(many.len() < 4200 && many.ends_with(" more lines)"), "{many}");
    }
}
