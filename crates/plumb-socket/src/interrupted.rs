//! An end that somebody asked for.

use std::error;

/// Somebody asked to stop before there was an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted before an answer came")]
pub struct Interrupted;

impl Interrupted {
    /// True when `error` is that, or comes from it.
    #[must_use]
    pub fn is_behind(error: &(dyn error::Error + 'static)) -> bool {
        std::iter::successors(Some(error), |error| error.source()).any(|cause| cause.is::<Self>())
    }
}
