//! Holm's step-down correction: decides which of many small p-values are still significant.

/// Adjusted p-values in the given order; compare each with the family's level directly.
///
/// The i-th smallest of m is multiplied by m - i + 1, raised to at least the previous adjusted value, and capped at
/// 1 (Holm 1979, *A Simple Sequentially Rejective Multiple Test Procedure*, Scand. J. Statist. 6:65). This is valid
/// for dependent tests. A NaN counts as 1 (no evidence), but still as a test; other values are clamped to 0..=1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let p: Vec<f64> = p.iter().map(|&v| if v.is_nan() { 1.0 } else { v.clamp(0.0, 1.0) }).collect();
    let mut ascending: Vec<usize> = (0..p.len()).collect();
    ascending.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut reached = 0.0_f64;
    for (step, &index) in ascending.iter().enumerate() {
        let remaining = (p.len() - step) as f64;
        reached = reached.max((p[index] * remaining).min(1.0));
        adjusted[index] = reached;
    }
    adjusted
}
