// SPDX-License-Identifier: GPL-2.0-only
//! Lists that somebody else's file made long.

/// The first `most` of them, and how many others there are in their place; one more than `most` are all there.
pub fn few(all: impl Iterator<Item = String>, most: usize) -> Vec<String> {
    let mut all = all;
    let mut told: Vec<String> = all.by_ref().take(most + 1).collect();
    let others = all.count() + 1;
    if told.len() > most && others > 1 {
        told[most] = format!("and {others} others");
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_counted() {
        let told = |count: u32| few((0..count).map(|number| number.to_string()), 3);
        assert_eq!(told(2), ["0", "1"]);
        assert_eq!(told(3), ["0", "1", "2"]);
        assert_eq!(told(4), ["0", "1", "2", "3"]);
        assert_eq!(told(5), ["0", "1", "2", "and 2 others"]);
    }
}
