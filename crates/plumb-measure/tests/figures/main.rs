//! Figures against those of others, and against what is known of their operations.

mod few_samples;
mod hdrhistogram;
mod step_accounts;
