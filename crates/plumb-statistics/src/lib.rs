//! The statistics of a comparison: exact rank tests, and what tells whether they may be used.
//!
//! Everything here works on effects `e = ln(candidate / baseline)`, one a pair of blocks, or on
//! the blocks of two separate runs. Nothing is deleted from the samples, nothing is assumed of
//! their distribution but that the two orders within a pair are alike under no effect.

mod bootstrap;
mod change_point;
mod holm;
mod mean;
mod number;
mod random;
mod rank;
mod rank_sum;
mod series;
mod signed_rank;
mod warmup;

pub use bootstrap::percentile_interval;
pub use change_point::{
    CHANGE_LEVEL, CHANGE_SIDE_MIN, CHANGE_VALUES_MAX, ChangePoint, change_points,
};
pub use holm::holm;
pub use mean::{half_width, standard_error, student};
pub use number::{real, rounded, signed_real, truncated};
pub use random::SplitMix64;
pub use rank::{Interval, TestResult};
pub use rank_sum::{mann_whitney, shift, shift_interval};
pub use series::{
    Drift, autocorrelation, correlation_time, drift, mean, median, standard_deviation, trend,
};
pub use signed_rank::{hodges_lehmann, interval, wilcoxon};
pub use warmup::{WarmUp, mser5};
