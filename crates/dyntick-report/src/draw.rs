// SPDX-License-Identifier: GPL-2.0-only
//! The common parts of all pictures: texts, axes, and their own background.

use crate::palette::{Colour, dark_style};
use dyntick_model::text::clean_line;
use maud::{Markup, PreEscaped, html};
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr;

/// The width of a picture, px.
pub(crate) const WIDTH: usize = 1080;

/// The space around a picture's contents, px.
pub(crate) const MARGIN: usize = 16;

/// The width of an average lower-case letter at 13 px, px; no common sans-serif font has a larger one.
pub(crate) const LETTER: f64 = 7.6;

/// The destination of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Its own file.
    File,
    /// A page, which has the styles of all its pictures.
    Page,
}

/// A picture under construction. Its markup escapes texts by construction, and each is also cleaned: a character that
/// XML forbids, e.g. from a guest's console, would make the complete picture unreadable.
pub(crate) struct Picture {
    body: String,
    title: String,
}

impl Picture {
    pub(crate) fn new(title: &str) -> Self {
        Self { body: String::new(), title: legal(title) }
    }

    /// Adds shapes.
    pub(crate) fn add(&mut self, shapes: Markup) {
        self.body.push_str(&shapes.0);
        self.body.push('\n');
    }

    /// The shapes so far, as a part of another picture.
    pub(crate) fn shapes(self) -> Markup {
        PreEscaped(self.body)
    }

    /// A line of text; `anchor` is `start`, `middle` or `end`.
    pub(crate) fn text(&mut self, x: usize, y: usize, anchor: &str, text: &str) {
        self.add(words("ink", "#1f1f1f", (x, y), anchor, text));
    }

    /// An empty field for marks.
    pub(crate) fn field(&mut self, x: usize, y: usize, width: usize, height: usize) {
        self.add(html! {
            rect class="field" fill="#f1f1ef" x=(x) y=(y) width=(width) height=(height) {}
        });
    }

    /// Adds the legend from `y` downwards, and returns the y below it.
    pub(crate) fn legend(&mut self, (x, mut y): (usize, usize), entries: &[(Cow<'_, str>, Colour)]) -> usize {
        let left = x + 22;
        for (meaning, colour) in entries {
            self.add(html! {
                rect class=(colour.fill_class()) fill=(colour.light()) x=(x) y=(y) width="13" height="13" rx="2" {}
            });
            for line in lines(meaning, WIDTH - MARGIN - left) {
                self.text(left, y + 11, "start", &line);
                y += 17;
            }
            y += 4;
        }
        y
    }

    /// The complete picture. It loads nothing, and its background makes it legible on any page. Colours are attributes,
    /// which every viewer supports; viewers that support styles can make it dark.
    pub(crate) fn finish(self, height: usize, place: Place) -> Markup {
        let file = place == Place::File;
        html! {
            svg xmlns=[file.then_some("http://www.w3.org/2000/svg")] viewBox={ "0 0 " (WIDTH) " " (height) }
                width=(WIDTH) height=(height) role="img" aria-label=(self.title)
                font-family="system-ui, sans-serif" font-size="13" {
                title { (self.title) }
                @if file { style { (PreEscaped(dark_style())) } }
                rect class="page" fill="#ffffff" stroke="#d4d4d4" x=".5" y=".5" width=(WIDTH - 1)
                    height=(height - 1) rx="6" {}
                "\n" (PreEscaped(self.body))
            }
        }
    }
}

/// A less important text, e.g. the label of an axis.
pub(crate) fn soft_text(x: usize, y: usize, anchor: &str, text: &str) -> Markup {
    words("soft", "#5a5a5a", (x, y), anchor, text)
}

fn words(class: &str, fill: &str, (x, y): (usize, usize), anchor: &str, text: &str) -> Markup {
    html! { text class=(class) fill=(fill) x=(x) y=(y) text-anchor=(anchor) { (legal(text)) } }
}

/// A thin line, e.g. an axis.
pub(crate) fn rule(path: &str) -> Markup {
    html! { path class="rule" stroke="#9a9a9a" d=(path) {} }
}

/// A text on one line, of characters that XML allows.
pub(crate) fn legal(text: &str) -> String {
    clean_line(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// A text as lines of at most this many px.
pub(crate) fn lines(text: &str, px: usize) -> Vec<String> {
    let letters = ((px as f64 / LETTER) as usize).max(1);
    textwrap::wrap(text, letters).into_iter().map(|line| line.into_owned()).collect()
}

/// The largest possible width of a line of text, px.
pub(crate) fn width_of(text: &str) -> usize {
    (text.width() as f64 * LETTER).ceil() as usize
}

/// Round positions for the labels of an axis: at most `most`, all multiples of 1, 2 or 5 times a power of ten, within
/// `begin..=end`.
pub(crate) fn round_steps(begin: f64, end: f64, most: usize) -> Vec<f64> {
    let length = end - begin;
    if length <= 0.0 || !length.is_finite() || most == 0 {
        return vec![begin];
    }
    let rough = length / most as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough * 0.999)
        .unwrap_or(10.0 * power);
    let first = (begin / step - 1e-9).ceil() as i64;
    let last = (end / step + 1e-9).floor() as i64;
    (first..=last).map(|number| number as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_that_xml_forbids_are_replaced() {
        let escaped = |text: &str| html! { (legal(text)) }.into_string();
        assert_eq!(escaped("a\u{1b}[1m<b> \"&\"\0"), "a\u{fffd}[1m&lt;b&gt; &quot;&amp;&quot;\u{fffd}");
        assert_eq!(escaped("a\tb\nc\u{9b}\u{202e}\u{ffff}"), "a b c\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn labels_have_round_positions() {
        assert_eq!(round_steps(0.0, 10.043, 6), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(round_steps(0.0, 0.0, 6), [0.0]);
    }

    proptest! {
        #[test]
        fn steps_stay_inside_and_are_few(begin in 0.0..1e9f64, length in 1e-3..1e12f64, most in 1usize..12) {
            let steps = round_steps(begin, begin + length, most);
            prop_assert!(steps.len() <= most + 1);
            let slack = length * 1e-6;
            prop_assert!(steps.iter().all(|s| (begin - slack..=begin + length + slack).contains(s)));
        }
    }
}
