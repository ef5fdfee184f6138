//! The statistics of a comparison: exact rank tests, and what tells whether they may be used.
//!
//! Tests work on effects `e = ln(candidate / baseline)`, one a pair of blocks; intervals of separate
//! runs on the parts that these were measured in. Nothing is deleted from the samples, nothing is assumed of
//! their distribution but that the two orders within a pair are alike under no effect.

mod bootstrap;
mod bounded;
mod change_point;
mod holm;
mod mean;
mod number;
mod random;
mod rank;
mod ratio;
mod series;
mod shift;
mod signed_rank;
mod warmup;

pub use bootstrap::percentile_interval;
pub use bounded::Bounded;
pub use change_point::{
    CHANGE_LEVEL, CHANGE_SIDE_MIN, CHANGE_VALUES_MAX, ChangePoint, change_points,
};
pub use holm::holm;
pub use mean::{half_width, standard_error, student};
pub use number::{real, rounded, signed_real, truncated};
pub use random::SplitMix64;
pub use rank::{Interval, TestResult};
pub use ratio::{quotient_interval, ratio_half_width};
pub use series::{
    Drift, autocorrelation, correlation_time, drift, mean, median, standard_deviation, trend,
};
pub use shift::{Shift, shift};
pub use signed_rank::{hodges_lehmann, interval, wilcoxon};
pub use warmup::{MSER5_DECIDES, WarmUp, moves_one_way, mser5};
