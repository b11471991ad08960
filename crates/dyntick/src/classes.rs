// SPDX-License-Identifier: GPL-2.0-only
//! The causes as classes of a timeline.

use dyntick_explain::{CauseId, rules};
use std::collections::HashMap;

/// The number of causes with their own class. A machine has some tens; a forged trace may name a million, and no
/// reader wants a longer legend.
const MOST: usize = 100;

/// The most important causes, and one class for all others.
pub struct Classes<'a> {
    named: Vec<&'a CauseId>,
    places: HashMap<&'a CauseId, usize>,
    others: usize,
}

impl<'a> Classes<'a> {
    /// Makes classes of these causes, the most important first; each is placed at its first occurrence.
    pub fn of(causes: impl Iterator<Item = &'a CauseId>) -> Self {
        let (mut named, mut places) = (Vec::new(), HashMap::new());
        for cause in causes {
            places.entry(cause).or_insert_with(|| {
                named.push(cause);
                (named.len() - 1).min(MOST)
            });
        }
        let others = named.len().saturating_sub(MOST);
        named.truncate(MOST);
        Self { named, places, others }
    }

    /// The class of a cause, if it is among these.
    pub fn place(&self, cause: &CauseId) -> Option<usize> {
        self.places.get(cause).copied()
    }

    /// The name and the meaning of each class.
    pub fn legend(&self) -> Vec<(String, String)> {
        let named = self.named.iter().map(|cause| (cause.to_string(), rules::title(cause)));
        let others =
            (self.others > 0).then(|| ("others".to_owned(), format!("{} other causes", self.others)));
        named.chain(others).collect()
    }

    /// The number of further causes that the last class represents.
    pub fn merged(&self) -> usize {
        self.others.saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::named::*;

    #[test]
    fn causes_after_the_first_ones_are_one_class() {
        let cause = |number: usize| CauseId::member(HRTIMER, format!("f{number}"));
        let causes: Vec<CauseId> = (0..MOST + 7).map(cause).collect();
        let classes = Classes::of(causes.iter().chain(&causes));
        let legend = classes.legend();
        assert_eq!(legend.len(), MOST + 1);
        assert_eq!(legend[3].0, "hrtimer:f3");
        assert_eq!((legend[MOST].1.as_str(), classes.merged()), ("7 other causes", 6));
        assert_eq!((classes.place(&causes[3]), classes.place(&CauseId::of(TIMER))), (Some(3), None));
        assert!(causes[MOST..].iter().all(|cause| classes.place(cause) == Some(MOST)));
    }

    #[test]
    fn few_causes_have_no_class_for_others() {
        assert_eq!(Classes::of([CauseId::of(TIMER), CauseId::of(HRTIMER)].iter()).legend().len(), 2);
    }
}
