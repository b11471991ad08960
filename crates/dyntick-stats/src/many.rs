// SPDX-License-Identifier: GPL-2.0-only
//! Many comparisons at once.

/// The p values adjusted for their number by Holm's method (Holm 1979), in their own order: where nothing
/// differs, any of them is 0.05 or less in at most 5 % of all experiments, however they depend on one
/// another.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let (mut adjusted, mut greatest) = (vec![0.0; p.len()], 0.0f64);
    for (rank, index) in order.into_iter().enumerate() {
        greatest = greatest.max((p[index] * (p.len() - rank) as f64).min(1.0));
        adjusted[index] = greatest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(
            adjusted.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12),
            "{adjusted:?}"
        );
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }
}
