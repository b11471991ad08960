// SPDX-License-Identifier: GPL-2.0-only
//! The targets, which pass bytes to the readers.

pub mod archives;
pub mod check;
pub mod foreign;
pub mod lab;
pub mod texts;
pub mod tools;
pub mod trace;

/// A message is printed on terminals: it may have lines, and no other control character.
fn assert_clean(text: &str) {
    let bad = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert_eq!(bad, None, "a control character would reach the terminal: {text:?}");
}
