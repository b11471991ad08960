// SPDX-License-Identifier: GPL-2.0-only
//! Flame graphs: stacks as boxes, whose width is the number of their occurrences.

use crate::draw::{LETTER, MARGIN, Picture, Place, WIDTH, legal};
use crate::palette::Colour;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Stacks with their numbers of occurrences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flame {
    /// The title.
    pub caption: String,
    /// The frames, the outermost first, and the number. Functions of the kernel end with `_[k]`.
    pub stacks: Vec<(Vec<String>, u64)>,
}

/// The height of a box, px.
const BOX: usize = 18;

/// The largest depth that is drawn.
const DEEPEST: usize = 128;

/// The smallest width that is drawn, px.
const NARROWEST: f64 = 0.4;

/// The frames that were reached from the same frame below.
#[derive(Default)]
struct Node<'a> {
    count: u64,
    above: BTreeMap<&'a str, Node<'a>>,
}

impl<'a> Node<'a> {
    fn of(stacks: &'a [(Vec<String>, u64)]) -> Self {
        let mut root = Node::default();
        for (frames, count) in stacks {
            let mut node = &mut root;
            node.count = node.count.saturating_add(*count);
            for frame in frames.iter().take(DEEPEST) {
                node = node.above.entry(frame).or_default();
                node.count = node.count.saturating_add(*count);
            }
        }
        root
    }

    fn height(&self) -> usize {
        self.above.values().map(|node| 1 + node.height()).max().unwrap_or(0)
    }
}

/// A box with its position.
struct Laid<'a> {
    name: &'a str,
    count: u64,
    left: f64,
    width: f64,
    level: usize,
}

/// Draws the picture.
pub(crate) fn picture(flame: &Flame, place: Place) -> Markup {
    let root = Node::of(&flame.stacks);
    let bottom = MARGIN + BOX * root.height();
    let mut boxes = Vec::new();
    lay_out(&root, (MARGIN as f64, (WIDTH - 2 * MARGIN) as f64), 0, &mut boxes);
    let mut picture = Picture::new(&flame.caption);
    for one in &boxes {
        picture.add(drawn(one, bottom, root.count));
    }
    let meanings =
        [("functions of the kernel", Colour::KERNEL), ("causes, tasks and their programs", Colour::PROGRAM)];
    let end = picture.legend((MARGIN, bottom + 14), &meanings.map(|(text, colour)| (text.into(), colour)));
    picture.finish(end + MARGIN - 4, place)
}

fn lay_out<'a>(node: &Node<'a>, (left, width): (f64, f64), level: usize, boxes: &mut Vec<Laid<'a>>) {
    let mut from = left;
    for (name, above) in &node.above {
        let share = width * above.count as f64 / node.count.max(1) as f64;
        if share >= NARROWEST {
            boxes.push(Laid { name, count: above.count, left: from, width: share, level });
            lay_out(above, (from, share), level + 1, boxes);
        }
        from += share;
    }
}

fn drawn(one: &Laid<'_>, bottom: usize, all: u64) -> Markup {
    let colour = if one.name.ends_with("_[k]") { Colour::KERNEL } else { Colour::PROGRAM };
    let y = bottom - BOX * (one.level + 1);
    let name = legal(one.name.strip_suffix("_[k]").unwrap_or(one.name));
    let letters = ((one.width - 6.0) / LETTER).max(0.0) as usize;
    let short: String = if name.chars().count() <= letters {
        name.clone()
    } else {
        name.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
    };
    let share = 100.0 * one.count as f64 / all.max(1) as f64;
    html! {
        g {
            title { (name) ": " (one.count) " (" (format!("{share:.1}")) " %)" }
            rect class=(colour.fill_class()) fill=(colour.light()) x=(format!("{:.1}", one.left)) y=(y)
                width=(format!("{:.1}", (one.width - 0.5).max(0.3))) height=(BOX - 1) rx="1" {}
            @if letters >= 3 {
                text fill="#111111" font-size="12" x=(format!("{:.1}", one.left + 3.0)) y=(y + 13) { (short) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flame(stacks: &[(&str, u64)]) -> Flame {
        let stack = |(frames, count): &(&str, u64)| (frames.split(';').map(str::to_owned).collect(), *count);
        Flame { caption: "x".to_owned(), stacks: stacks.iter().map(stack).collect() }
    }

    #[test]
    fn common_frames_are_one_box() {
        let flame = flame(&[("app;main;write_[k]", 3), ("app;main;read_[k]", 1), ("app;other", 4)]);
        let root = Node::of(&flame.stacks);
        assert_eq!((root.count, root.height(), root.above["app"].above["main"].count), (8, 3, 4));
        let picture = picture(&flame, Place::File).into_string();
        assert_eq!(picture.matches("<g>").count(), 5);
        assert!(picture.contains("main: 4 (50.0 %)") && picture.contains("write: 3 (37.5 %)"), "{picture}");
        // It has half the width, and is above its caller.
        let width = format!("width=\"{:.1}\"", (WIDTH - 2 * MARGIN) as f64 / 2.0 - 0.5);
        assert_eq!(picture.matches(&width).count(), 2, "{width} {picture}");
    }

    #[test]
    fn hostile_stacks_are_drawn_safely() {
        let deep = vec!["<script>\u{1}".to_owned(); 100_000];
        let flame = Flame { caption: String::new(), stacks: vec![(deep, u64::MAX), (Vec::new(), u64::MAX)] };
        let picture = picture(&flame, Place::Page).into_string();
        assert!(!picture.contains("<script") && picture.matches("<g>").count() <= DEEPEST);
        assert!(self::picture(&Flame::default(), Place::File).into_string().contains("svg"));
    }
}
