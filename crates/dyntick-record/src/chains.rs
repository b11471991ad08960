// SPDX-License-Identifier: GPL-2.0-only
//! The most frequent chains of a cause. Chains that differ only in the numbers of their tasks are one.

use crate::ChainCount;
use dyntick_explain::{Chain, Step};
use dyntick_model::Map;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The maximum number of chains of a cause that are shown.
const MOST_CHAINS: usize = 3;

/// The most frequent chains; equally frequent ones are in the order of their texts. Returns the number of the others,
/// too.
pub(crate) fn foremost(chains: &Map<Chain, u64>) -> (Vec<ChainCount>, usize) {
    let mut folded: BTreeMap<Vec<String>, Folded> = BTreeMap::new();
    for (chain, count) in chains {
        let texts = chain.texts();
        let pieces: Vec<Vec<Piece>> = texts.iter().map(|text| pieces(text)).collect();
        let steps: Vec<String> =
            pieces.iter().map(|step| step.iter().map(|piece| piece.text).collect()).collect();
        let new = || Folded { numbers: numbers(&pieces), chain: chain.clone(), count: 0 };
        folded.entry(steps).or_insert_with(new).add(&pieces, *count);
    }
    let mut all: Vec<ChainCount> = folded.into_values().map(Folded::chain).collect();
    all.sort_by_cached_key(|chain| (Reverse(chain.count), chain.steps.texts()));
    let more = all.len().saturating_sub(MOST_CHAINS);
    all.truncate(MOST_CHAINS);
    (all, more)
}

/// A text without the numbers of its tasks.
pub fn without_numbers(text: &str) -> String {
    pieces(text).iter().map(|piece| piece.text).collect()
}

/// A part of a text that ends with the number of a task, or with the text.
struct Piece<'a> {
    text: &'a str,
    number: Option<&'a str>,
}

/// Cuts a text at the numbers of its tasks, which follow their names as ` [123]`.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((before, number, behind)) = cut(rest) {
        pieces.push(Piece { text: before, number: Some(number) });
        rest = behind;
    }
    pieces.push(Piece { text: rest, number: None });
    pieces
}

fn cut(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let begin = from + text[from..].find(" [")?;
        let (number, behind) = text[begin + 2..].split_once(']')?;
        if !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()) {
            return Some((&text[..begin], number, behind));
        }
        from = begin + 2;
    }
}

/// The numbers in a chain, in order.
fn numbers(pieces: &[Vec<Piece<'_>>]) -> Vec<Option<String>> {
    pieces.iter().flatten().filter_map(|piece| piece.number).map(|number| Some(number.to_owned())).collect()
}

/// Chains that differ only in numbers of tasks.
struct Folded {
    /// The numbers; none for one in which they differ.
    numbers: Vec<Option<String>>,
    /// The first of the chains.
    chain: Chain,
    count: u64,
}

impl Folded {
    fn add(&mut self, pieces: &[Vec<Piece<'_>>], count: u64) {
        for (known, number) in self.numbers.iter_mut().zip(numbers(pieces)) {
            *known = known.take().filter(|known| Some(known) == number.as_ref());
        }
        self.count += count;
    }

    /// The chain, without the numbers that differ.
    fn chain(self) -> ChainCount {
        if self.numbers.iter().all(Option::is_some) {
            return ChainCount { steps: self.chain, count: self.count };
        }
        let mut numbers = self.numbers.iter();
        let without = |text: String| {
            let mut words = String::new();
            for piece in pieces(&text) {
                words += piece.text;
                if piece.number.is_some() {
                    let known = numbers.next().and_then(Option::as_ref);
                    words += &known.map_or(String::new(), |number| format!(" [{number}]"));
                }
            }
            Step::Stored { words: words.into() }
        };
        let steps: Vec<Step> = self.chain.texts().into_iter().map(without).collect();
        ChainCount { steps: steps.into(), count: self.count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(steps: &[&str]) -> Chain {
        steps.iter().map(|step| Step::Stored { words: (*step).into() }).collect::<Vec<_>>().into()
    }

    fn folded(chains: &[(&[&str], u64)]) -> (Vec<(Vec<String>, u64)>, usize) {
        let chains = chains.iter().map(|(steps, count)| (chain(steps), *count)).collect();
        let (foremost, more) = foremost(&chains);
        (foremost.iter().map(|one| (one.steps.texts(), one.count)).collect(), more)
    }

    #[test]
    fn chains_that_differ_in_numbers_of_tasks_are_one() {
        let (all, more) = folded(&[
            (&["gzip [158] ran on CPU 1 instead of loop [155]"], 4),
            (&["gzip [160] ran on CPU 1 instead of loop [155]"], 3),
            (&["gzip [160] ran on CPU 2 instead of loop [155]"], 5),
            (&["a [x] b [7]", "c"], 1),
        ]);
        let expected = [
            ("gzip ran on CPU 1 instead of loop [155]", 7),
            ("gzip [160] ran on CPU 2 instead of loop [155]", 5),
            ("a [x] b [7]", 1),
        ];
        let first: Vec<(&str, u64)> = all.iter().map(|(steps, count)| (steps[0].as_str(), *count)).collect();
        assert_eq!((first.as_slice(), more), (&expected[..], 0));
    }

    #[test]
    fn most_frequent_chains_are_shown_and_the_others_counted() {
        let texts: Vec<String> = (0..9).map(|number| format!("timer on CPU {number}")).collect();
        let steps: Vec<[&str; 1]> = texts.iter().map(|text| [text.as_str()]).collect();
        let all: Vec<(&[&str], u64)> =
            steps.iter().zip(1..).map(|(steps, count)| (&steps[..], count)).collect();
        let (shown, more) = folded(&all);
        assert_eq!((shown.len(), more, shown[0].1), (MOST_CHAINS, 9 - MOST_CHAINS, 9));
    }
}
