// SPDX-License-Identifier: GPL-2.0-only
//! Lists that an untrusted file may make long.

/// The first `most` items, and the number of others in place of the rest; a single other is listed.
pub fn few(all: impl Iterator<Item = String>, most: usize) -> Vec<String> {
    let mut all = all;
    let mut kept: Vec<String> = all.by_ref().take(most + 1).collect();
    let others = all.count() + 1;
    if kept.len() > most && others > 1 {
        kept[most] = format!("and {others} others");
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_out_items_are_counted() {
        let kept = |count: u32| few((0..count).map(|number| number.to_string()), 3);
        assert_eq!(kept(2), ["0", "1"]);
        assert_eq!(kept(3), ["0", "1", "2"]);
        assert_eq!(kept(4), ["0", "1", "2", "3"]);
        assert_eq!(kept(5), ["0", "1", "2", "and 2 others"]);
    }
}
