// SPDX-License-Identifier: GPL-2.0-only
//! The colours of causes and series, and their legends.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The colours, distinguishable by the colour-blind (the first six after Okabe and Ito, 2008): for a white page, for a
/// black one, and for a 256-colour terminal.
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

/// The colour of everything after the eighth.
const OTHER: (&str, &str, u8) = ("#b0b0b0", "#7a7a7a", 240);

/// One of the colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour(usize);

impl Colour {
    /// The colour of all names after the eighth.
    pub(crate) const OTHER: Colour = Colour(COLOURS.len());

    /// The colour of a program's frames in a flame graph.
    pub(crate) const PROGRAM: Colour = Colour(5);
    /// The colour of the kernel's frames in a flame graph.
    pub(crate) const KERNEL: Colour = Colour(4);

    /// The class of a shape that is filled with it, by which a dark page replaces it.
    pub(crate) fn fill_class(self) -> String {
        format!("c{}", self.0)
    }

    /// The class of a line of this colour.
    pub(crate) fn line_class(self) -> String {
        format!("s{}", self.0)
    }

    /// The colour on a white page, which viewers without styles use everywhere.
    pub(crate) fn light(self) -> &'static str {
        self.entry().0
    }

    /// The number of the colour; [`Colour::OTHER`] is the last.
    pub(crate) fn number(self) -> usize {
        self.0
    }

    /// The colour on a 256-colour terminal.
    pub(crate) fn terminal(self) -> u8 {
        self.entry().2
    }

    fn entry(self) -> (&'static str, &'static str, u8) {
        COLOURS.get(self.0).copied().unwrap_or(OTHER)
    }
}

/// The colours of several names, and their legend.
pub(crate) struct Legend<'a> {
    /// The colour of each name.
    pub(crate) colours: Vec<Colour>,
    /// The meanings with their colours, at most eight. If there are more names, the last entry is for all that have no
    /// own colour.
    pub(crate) entries: Vec<(Cow<'a, str>, Colour)>,
}

impl<'a> Legend<'a> {
    /// Makes a legend for names with their meanings, the most important first; `things` names them in the last entry.
    /// The last name represents `merged` more of them.
    pub(crate) fn of(
        names: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        things: &str,
        merged: usize,
    ) -> Self {
        let colours = colours(names.clone().map(|(name, _)| name));
        let own = names.clone().zip(&colours).filter(|(_, colour)| **colour != Colour::OTHER);
        let mut entries: Vec<(Cow<'a, str>, Colour)> =
            own.map(|((_, meaning), colour)| (meaning.into(), *colour)).collect();
        let others = colours.len() - entries.len();
        if others > 0 {
            let others = others + merged;
            entries.push((format!("{others} other {things}").into(), Colour::OTHER));
        }
        Self { colours, entries }
    }
}

/// A colour for each name. Each name prefers the colour of its hash, so that it looks the same in every picture. If two
/// names prefer the same one, the alphabetically later gets the next. Eight names get their own colour; of more, the
/// first seven.
fn colours<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<Colour> {
    let own = match names.clone().count() {
        count if count <= COLOURS.len() => count,
        _ => COLOURS.len() - 1,
    };
    let mut by_name: Vec<(&str, Colour)> = Vec::new();
    let first: BTreeSet<&str> = names.clone().take(own).collect();
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

/// FNV-1a, which is stable; the standard library's hashes do not promise that.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The style with which a dark screen replaces all colours.
pub(crate) fn dark_style() -> String {
    let mut style = String::from(
        ".page{fill:#1b1c1f;stroke:#3c3d42}.field{fill:#28292e}.ink{fill:#ececec}.soft{fill:#b4b4b4}\
         .rule{stroke:#75767c}",
    );
    for (number, (_, dark, _)) in COLOURS.iter().chain([&OTHER]).enumerate() {
        let _ = write!(style, ".c{number}{{fill:{dark}}}.s{number}{{stroke:{dark}}}");
    }
    format!("@media screen and (prefers-color-scheme: dark){{{style}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_keeps_its_colour_among_other_names() {
        let two = colours(["not_adaptive", "dependency:sched"].into_iter());
        let swapped = colours(["dependency:sched", "not_adaptive"].into_iter());
        assert_eq!(two, [swapped[1], swapped[0]]);
        assert_eq!(two[1], colours(["dependency:sched"].into_iter())[0]);
    }

    #[test]
    fn legend_has_at_most_eight_entries() {
        let names: Vec<String> = (0..31).map(|number| format!("cause-{number}")).collect();
        let legend = |count: usize| {
            let names = names[..count].iter().map(|name| (name.as_str(), name.as_str()));
            Legend::of(names, "causes", 0)
        };
        let eight = legend(8);
        let distinct: BTreeSet<usize> = eight.colours.iter().map(|colour| colour.0).collect();
        assert_eq!((distinct.len(), eight.entries.len()), (8, 8));
        assert!(!eight.colours.contains(&Colour::OTHER));
        let many = legend(31);
        assert_eq!(many.entries.len(), 8);
        assert_eq!(many.entries[7], ("24 other causes".into(), Colour::OTHER));
        let names = names.iter().map(|name| (name.as_str(), name.as_str()));
        assert_eq!(Legend::of(names, "causes", 69).entries[7].0, "93 other causes");
        assert!(many.colours[..7].iter().all(|colour| *colour != Colour::OTHER));
        assert!(many.colours[7..].iter().all(|colour| *colour == Colour::OTHER));
    }
}
