// SPDX-License-Identifier: GPL-2.0-only
//! The table of a run's figures, in which each is found without a search through all.

use dyntick_formats::Observation;
use serde::{Deserialize, Serialize, Serializer};
use std::cmp::Ordering;
use std::ops::Deref;

/// All figures of a run, in a fixed order.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "Vec<Observation>")]
pub struct Observations {
    rows: Vec<Observation>,
    /// Places in `rows`, by figure, key and place: a run may have a million numbers, and a study a thousand questions.
    order: Vec<u32>,
}

impl From<Vec<Observation>> for Observations {
    fn from(rows: Vec<Observation>) -> Self {
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        // Stable: rows of one name stay as they came.
        order.sort_by(|a, b| name(&rows[*a as usize]).cmp(&name(&rows[*b as usize])));
        Self { rows, order }
    }
}

impl Serialize for Observations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.rows.serialize(serializer)
    }
}

impl Deref for Observations {
    type Target = [Observation];

    fn deref(&self) -> &[Observation] {
        &self.rows
    }
}

impl Observations {
    /// The rows of a figure and key, in their order.
    pub fn of(&self, figure: &str, key: &str) -> impl Iterator<Item = &Observation> {
        let compared = |place: u32| name(&self.rows[place as usize]).cmp(&(figure, key));
        let from = self.order.partition_point(|place| compared(*place) == Ordering::Less);
        let to = self.order.partition_point(|place| compared(*place) != Ordering::Greater);
        self.order[from..to].iter().map(|place| &self.rows[*place as usize])
    }

    /// The rows of `figure:key`, or of the figure alone if it has no key.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Observation> {
        let (figure, key) = name.split_once(':').unwrap_or((name, ""));
        self.of(figure, key)
    }
}

fn name(row: &Observation) -> (&str, &str) {
    (&row.figure, &row.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_its_rows_in_their_order() {
        let names = ["b:x", "a", "b:y", "b", "a:", "b:x"];
        let row = |(number, name): (usize, &&str)| {
            let (figure, key) = name.split_once(':').unwrap_or((name, ""));
            let value = number as f64;
            Observation { cpu: None, figure: figure.into(), key: key.into(), value, unit: "1".into() }
        };
        let all = Observations::from(names.iter().enumerate().map(row).collect::<Vec<_>>());
        let values = |name: &str| all.named(name).map(|row| row.value).collect::<Vec<f64>>();
        assert_eq!(values("b:x"), [0.0, 5.0]);
        assert_eq!((values("a"), values("b"), values("b:y")), (vec![1.0, 4.0], vec![3.0], vec![2.0]));
        assert_eq!((values("c"), values("b:z"), values("")), (vec![], vec![], vec![]));
        assert_eq!(all.len(), 6);
    }
}
