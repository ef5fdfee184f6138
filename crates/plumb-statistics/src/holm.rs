//! Several tests at once.

/// Adjusts p values so that the chance of any false one among them stays below the level each
/// adjusted p is compared with.
///
/// # Source
/// Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6, 1979.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a handful of tests")]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut highest: f64 = 0.0;
    for (place, at) in order.into_iter().enumerate() {
        highest = highest.max((p.len() - place) as f64 * p[at]).min(1.0);
        adjusted[at] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_pays_for_all_and_the_order_is_kept() {
        let adjusted = holm(&[0.04, 0.01, 0.03, 0.5]);
        let expected = [0.09, 0.04, 0.09, 0.5];
        assert!(adjusted.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{adjusted:?}");
    }
}
