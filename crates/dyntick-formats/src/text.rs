// SPDX-License-Identifier: GPL-2.0-only
//! What readers of texts share.

use std::borrow::Cow;

/// A number; none for anything else, NaN and infinities included.
pub fn number(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// The most that an error tells of a text, characters.
const LONGEST: usize = 120;

/// The beginning, for an error.
pub fn shortened(text: &str) -> String {
    dyntick_model::text::shortened(text.trim_end(), LONGEST)
}

/// Without the escape sequences (ECMA-48 CSI) that move a terminal's cursor and colour it.
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
    fn escapes() {
        assert_eq!(without_escapes("a\u{1b}[2;37;40mb\u{1b}[3Ac\u{1b}[éd"), "abcéd");
        assert!(matches!(without_escapes("plain"), Cow::Borrowed("plain")));
        assert_eq!(without_escapes("\u{1b}["), "");
    }

    #[test]
    fn the_beginning_is_fit_for_a_terminal_and_says_that_it_is_one() {
        let told = shortened(&format!("\u{1b}[2J{}\n", "x".repeat(200)));
        assert!(told.starts_with("\u{fffd}[2Jxxx") && told.ends_with("x … (84 more characters)"), "{told}");
    }

    #[test]
    fn numbers() {
        assert_eq!(
            (number("1e3"), number("nan"), number("1e999"), number("1x")),
            (Some(1e3), None, None, None)
        );
    }
}
