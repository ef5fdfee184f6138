//! The level of intervals and tests.

/// The level that intervals have at least, and one minus the level of the tests.
pub const LEVEL: f64 = 0.95;

/// True for a p, adjusted, that shows a difference.
pub(super) fn shown(p: f64) -> bool {
    p <= 1.0 - LEVEL + 1e-12
}

/// How many as a figure to reckon with.
pub(super) fn share(tests: usize) -> f64 {
    f64::from(u32::try_from(tests).unwrap_or(u32::MAX))
}
