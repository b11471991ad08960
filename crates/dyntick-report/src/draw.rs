// SPDX-License-Identifier: GPL-2.0-only
//! What all pictures share: colours, texts, axes, and a background of their own.

use dyntick_model::text::clean;
use std::collections::BTreeSet;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// How wide a picture is, px.
pub(crate) const WIDTH: usize = 1080;

/// Space around a picture's contents, px.
pub(crate) const MARGIN: usize = 16;

/// No sans-serif font in use has wider lower-case letters at 13 px on average, px.
const LETTER: f64 = 7.6;

/// Colours that the colour-blind can tell apart (the first six after Okabe and Ito, 2008), each for
/// a white and for a black page, and as a colour of a 256-colour terminal.
const COLOURS: [(&str, &str, u8); 8] = [
    ("#0072b2", "#3d8fe0", 32),
    ("#d55e00", "#e8651a", 166),
    ("#009e73", "#1fb888", 36),
    ("#cc79a7", "#e39cc4", 175),
    ("#e69f00", "#f2c14e", 178),
    ("#56b4e9", "#9bd8ff", 117),
    ("#882255", "#c2457c", 125),
    ("#222222", "#f4f4f4", 244),
];

/// The colour of whatever comes after the eighth.
const OTHER: (&str, &str, u8) = ("#b0b0b0", "#7a7a7a", 240);

/// One of the colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour(usize);

impl Colour {
    /// What all names after the eighth get.
    pub(crate) const OTHER: Colour = Colour(COLOURS.len());

    /// The attributes of a shape that is filled with it. The class lets a dark page replace it.
    pub(crate) fn fill(self) -> String {
        format!("class=\"c{}\" fill=\"{}\"", self.0, self.entry().0)
    }

    /// The attributes of a line of this colour.
    pub(crate) fn stroke(self) -> String {
        format!("class=\"s{}\" fill=\"none\" stroke=\"{}\"", self.0, self.entry().0)
    }

    /// As a colour of a 256-colour terminal.
    pub(crate) fn terminal(self) -> u8 {
        self.entry().2
    }

    fn entry(self) -> (&'static str, &'static str, u8) {
        COLOURS.get(self.0).copied().unwrap_or(OTHER)
    }
}

/// A colour for each name. A name asks for the colour that follows from its letters, so that it looks
/// the same in another picture whatever stands beside it; only where two ask for the same one does the
/// later in the alphabet take the next. The first eight names get a colour of their own.
pub(crate) fn colours<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<Colour> {
    let mut by_name: Vec<(&str, Colour)> = Vec::new();
    let first: BTreeSet<&str> = names.clone().take(COLOURS.len()).collect();
    for name in first {
        let wanted = hash(name) as usize % COLOURS.len();
        let free = (0..COLOURS.len())
            .map(|step| Colour((wanted + step) % COLOURS.len()))
            .find(|colour| by_name.iter().all(|(_, taken)| taken != colour));
        by_name.push((name, free.unwrap_or(Colour::OTHER)));
    }
    let of = |name: &str| by_name.iter().find(|(known, _)| *known == name).map(|(_, colour)| *colour);
    names.map(|name| of(name).unwrap_or(Colour::OTHER)).collect()
}

/// FNV-1a: the same everywhere and for ever, which the standard library's hashes do not promise.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// A picture in the making.
pub(crate) struct Picture {
    /// What has been drawn.
    pub(crate) body: String,
    title: String,
}

impl Picture {
    pub(crate) fn new(title: &str) -> Self {
        Self { body: String::new(), title: title.to_owned() }
    }

    /// A line of text; `anchor` is `start`, `middle` or `end`.
    pub(crate) fn text(&mut self, x: usize, y: usize, anchor: &str, text: &str) {
        self.words("ink", "#1f1f1f", (x, y), anchor, text);
    }

    /// A line of text that matters less, as the labels of an axis.
    pub(crate) fn soft_text(&mut self, x: usize, y: usize, anchor: &str, text: &str) {
        self.words("soft", "#5a5a5a", (x, y), anchor, text);
    }

    fn words(&mut self, class: &str, fill: &str, (x, y): (usize, usize), anchor: &str, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" fill=\"{fill}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }

    /// An empty field on which marks stand.
    pub(crate) fn field(&mut self, x: usize, y: usize, width: usize, height: usize) {
        let _ = writeln!(
            self.body,
            "<rect class=\"field\" fill=\"#f1f1ef\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
        );
    }

    /// A thin line, as of an axis.
    pub(crate) fn rule(&mut self, path: &str) {
        let _ = writeln!(self.body, "<path class=\"rule\" stroke=\"#9a9a9a\" d=\"{path}\"/>");
    }

    /// What each colour means, from `y` on downwards; gives the y below it.
    pub(crate) fn legend<'a>(
        &mut self,
        (x, mut y): (usize, usize),
        entries: impl Iterator<Item = (&'a str, Colour)>,
    ) -> usize {
        let left = x + 22;
        for (meaning, colour) in entries {
            let _ = writeln!(
                self.body,
                "<rect {} x=\"{x}\" y=\"{y}\" width=\"13\" height=\"13\" rx=\"2\"/>",
                colour.fill()
            );
            for line in lines(meaning, WIDTH - MARGIN - left) {
                self.text(left, y + 11, "start", &line);
                y += 17;
            }
            y += 4;
        }
        y
    }

    /// The whole file. It loads nothing, and its background makes it legible on any page. Colours are
    /// attributes, which every viewer knows; those that know styles can make it dark.
    pub(crate) fn finish(self, height: usize) -> String {
        let title = escaped(&self.title);
        let mut dark = String::new();
        for (number, (_, colour, _)) in COLOURS.iter().chain([&OTHER]).enumerate() {
            let _ = write!(dark, ".c{number}{{fill:{colour}}}.s{number}{{stroke:{colour}}}");
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
             height=\"{height}\" role=\"img\" aria-label=\"{title}\" font-family=\"system-ui, sans-serif\" \
             font-size=\"13\">\n<title>{title}</title>\n\
             <style>@media screen and (prefers-color-scheme: dark){{.page{{fill:#1b1c1f;stroke:#3c3d42}}\
             .field{{fill:#28292e}}.ink{{fill:#ececec}}.soft{{fill:#b4b4b4}}.rule{{stroke:#75767c}}{dark}}}</style>\n\
             <rect class=\"page\" fill=\"#ffffff\" stroke=\"#d4d4d4\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" \
             rx=\"6\"/>\n{}</svg>\n",
            WIDTH - 1,
            height - 1,
            self.body
        )
    }
}

/// A text as lines of at most so many px.
pub(crate) fn lines(text: &str, px: usize) -> Vec<String> {
    let letters = ((px as f64 / LETTER) as usize).max(1);
    textwrap::wrap(text, letters).into_iter().map(|line| line.into_owned()).collect()
}

/// How wide a line of text may come out, px.
pub(crate) fn width_of(text: &str) -> usize {
    (text.width() as f64 * LETTER).ceil() as usize
}

/// A text within markup. Characters that XML forbids even when escaped become the replacement
/// character: one of them, from a guest's console say, would make the whole picture unreadable.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push(' '),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Round positions for the labels of an axis: at most `most`, all multiples of 1, 2 or 5 times a power
/// of ten, within `begin..=end`.
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
    fn a_name_keeps_its_colour_in_other_company() {
        let two = colours(["not_adaptive", "dependency:sched"].into_iter());
        let swapped = colours(["dependency:sched", "not_adaptive"].into_iter());
        assert_eq!(two, [swapped[1], swapped[0]]);
        assert_eq!(two[1], colours(["dependency:sched"].into_iter())[0]);
    }

    #[test]
    fn eight_names_get_eight_colours_and_the_ninth_is_grey() {
        let names: Vec<String> = (0..9).map(|number| format!("cause-{number}")).collect();
        let colours = colours(names.iter().map(String::as_str));
        let distinct: BTreeSet<usize> = colours[..8].iter().map(|colour| colour.0).collect();
        assert_eq!(distinct.len(), 8);
        assert_eq!(colours[8], Colour::OTHER);
    }

    #[test]
    fn what_xml_forbids_is_replaced() {
        assert_eq!(escaped("a\u{1b}[1m<b> \"&\"\0"), "a\u{fffd}[1m&lt;b&gt; &quot;&amp;&quot;\u{fffd}");
        assert_eq!(escaped("a\tb\nc\u{9b}\u{202e}\u{ffff}"), "a b c\u{fffd}\u{fffd}\u{fffd}");
    }

    #[test]
    fn round_positions() {
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
