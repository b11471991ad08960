// SPDX-License-Identifier: GPL-2.0-only
//! The common functions of text readers.

use std::borrow::Cow;

/// Parses a number; `None` for anything else, including NaN and infinities.
pub fn number(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// The longest text in an error, in characters.
const LONGEST: usize = 120;

/// The beginning of a text, for an error.
pub fn shortened(text: &str) -> String {
    dyntick_model::text::shortened(text.trim_end(), LONGEST)
}

/// The text without the escape sequences (ECMA-48 CSI) that move a terminal's cursor and colour it.
pub fn without_escapes(text: &str) -> Cow<'_, str> {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or("");
    if first.len() == text.len() {
        return text.into();
    }
    let mut plain = first.to_owned();
    for piece in pieces {
        let is_final = |byte: &u8| (0x40..=0x7e).contains(byte);
        let length = piece.bytes().take_while(|byte| (0x20..=0x3f).contains(byte)).count();
        let known = piece.as_bytes().get(length).is_some_and(is_final);
        plain.push_str(if known { &piece[length + 1..] } else { piece });
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_removed() {
        assert_eq!(without_escapes("a\u{1b}[2;37;40mb\u{1b}[3Ac\u{1b}[éd"), "abcéd");
        assert!(matches!(without_escapes("plain"), Cow::Borrowed("plain")));
        assert_eq!(without_escapes("\u{1b}["), "");
    }

    #[test]
    fn shortened_text_is_safe_for_a_terminal_and_marked() {
        let shown = shortened(&format!("\u{1b}[2J{}\n", "x".repeat(200)));
        assert!(
            shown.starts_with("\u{fffd}[2Jxxx") && shown.ends_with("x … (84 more characters)"),
            "{shown}"
        );
    }

    #[test]
    fn only_finite_numbers_are_numbers() {
        assert_eq!(
            (number("1e3"), number("nan"), number("1e999"), number("1x")),
            (Some(1e3), None, None, None)
        );
    }
}
