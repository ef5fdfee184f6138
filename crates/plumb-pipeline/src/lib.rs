//! Verdicts as pipelines take them.
//!
//! Every record that holds a verdict becomes a [`Verdict`] of cases once; each form is written from
//! that.
//!
//! | module | what it makes |
//! |---|---|
//! | [`Verdict::of_run`], [`of_comparison`](Verdict::of_comparison), [`of_check`](Verdict::of_check), [`of_checkup`](Verdict::of_checkup) | cases of a record |
//! | [`junit`] | a test report, as build servers read it |
//! | [`sarif`] | results, as code hosts show them |
//! | [`summary`] | a few lines of Markdown for a pull request |

mod baseline;
mod check;
mod comparison;
pub mod junit;
mod run;
pub mod sarif;
pub mod summary;
#[cfg(test)]
mod testing;
mod verdict;

pub use baseline::{Doubt, Held, deciding, interval_words, limit, undecided};
pub use verdict::{Case, Grade, Remark, State, Verdict};
