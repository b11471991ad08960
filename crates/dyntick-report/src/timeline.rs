// SPDX-License-Identifier: GPL-2.0-only
//! Events over time: lanes of marks over a window, and their density as a line of text.

use crate::palette::Legend;

/// Lanes over one window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The title.
    pub caption: String,
    /// The length of the window, ns.
    pub window_ns: u64,
    /// The length of the end of the window that is shown again, enlarged, ns. With 0, or with at least the length of
    /// the window, nothing is enlarged.
    pub zoom_ns: u64,
    /// The classes of marks with their meanings, the most frequent first. At most eight get their own colour, by the
    /// class's name.
    pub classes: Vec<(String, String)>,
    /// The number of further causes that the last class represents.
    pub merged: usize,
    /// The lanes, from top to bottom.
    pub lanes: Vec<Lane>,
}

/// One lane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// The name of the lane.
    pub name: String,
    /// A figure after the lane, e.g. `250 ticks/s`.
    pub figure: String,
    /// The marks, in order of time.
    pub marks: Vec<Mark>,
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The time, ns from the beginning of the window.
    pub at_ns: u64,
    /// The class, as an index of [`Timeline::classes`].
    pub class: usize,
}

impl Timeline {
    /// The colour of each class, and the legend.
    pub(crate) fn legend(&self) -> Legend<'_> {
        let names = self.classes.iter().map(|(name, meaning)| (name.as_str(), meaning.as_str()));
        Legend::of(names, "causes", self.merged)
    }

    /// The number of marks of each class within each of `cells` equal stretches of `begin..begin+length`, ns. Marks of
    /// unknown classes are counted after the last one.
    pub(crate) fn counts(&self, lane: &Lane, begin: u64, length: u64, cells: usize) -> Vec<Vec<usize>> {
        let mut counts = vec![vec![0; self.classes.len() + 1]; cells];
        for mark in &lane.marks {
            let Some(at) = mark.at_ns.checked_sub(begin).filter(|at| *at < length) else { continue };
            let cell = u128::from(at) * cells as u128 / u128::from(length);
            counts[cell as usize][mark.class.min(self.classes.len())] += 1;
        }
        counts
    }
}

/// One stretch of a lane, for a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The density, relative to the fullest stretch of all lanes.
    pub(crate) sign: char,
    /// The most frequent class in it.
    pub(crate) class: Option<usize>,
}

/// Every lane as equal stretches of the window, and the number of marks in the fullest one.
pub(crate) fn density(timeline: &Timeline, cells: usize) -> (Vec<Vec<Stretch>>, usize) {
    const LEVELS: [char; 9] = ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let lanes: Vec<Vec<Vec<usize>>> =
        timeline.lanes.iter().map(|lane| timeline.counts(lane, 0, timeline.window_ns, cells)).collect();
    let fullest = lanes.iter().flatten().map(|counts| counts.iter().sum()).max().unwrap_or(0);
    let stretch = |counts: &Vec<usize>| {
        let count: usize = counts.iter().sum();
        let class = (0..counts.len()).rev().max_by_key(|class| counts[*class]).filter(|_| count > 0);
        Stretch { sign: LEVELS[(count * 8).div_ceil(fullest.max(1))], class }
    };
    (lanes.iter().map(|lane| lane.iter().map(stretch).collect()).collect(), fullest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timeline(marks: Vec<Vec<u64>>) -> Timeline {
        let lane = |at: Vec<u64>| Lane {
            marks: at.into_iter().map(|at_ns| Mark { at_ns, class: 0 }).collect(),
            ..Lane::default()
        };
        Timeline {
            window_ns: 10_000,
            merged: 0,
            classes: vec![("tick".into(), "the tick".into())],
            lanes: marks.into_iter().map(lane).collect(),
            ..Timeline::default()
        }
    }

    #[test]
    fn density_is_drawn_as_text() {
        let every = |step: usize| (0..10_000).step_by(step).collect();
        let (lanes, fullest) = density(&timeline(vec![every(4), every(1000), vec![]]), 10);
        let texts: Vec<String> =
            lanes.iter().map(|lane| lane.iter().map(|stretch| stretch.sign).collect()).collect();
        assert_eq!(texts, ["██████████", "▁▁▁▁▁▁▁▁▁▁", "··········"]);
        assert_eq!(fullest, 250);
    }

    proptest! {
        #[test]
        fn no_mark_of_the_window_is_lost(
            at in prop::collection::vec(0u64..20_000, 0..200), cells in 1usize..50,
        ) {
            let timeline = timeline(vec![at.clone()]);
            let counted: usize = timeline.counts(&timeline.lanes[0], 0, 10_000, cells).iter().flatten().sum();
            prop_assert_eq!(counted, at.iter().filter(|at| **at < 10_000).count());
        }
    }
}
