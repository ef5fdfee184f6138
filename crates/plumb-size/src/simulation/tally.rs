//! What is counted while it is recorded.

use plumb_measure::Histogram;
use plumb_measure::statistics::{Bounded, mean, standard_deviation, student};

/// Batches of the recorded time.
pub(super) const BATCHES: usize = 20;
/// Operations of a batch that its 95th percentile needs.
const TAIL_MIN: u64 = 100;

/// Response times, batch by batch.
#[derive(Debug)]
pub(super) struct Tally {
    batch_s: f64,
    batch: Histogram,
    all: Histogram,
    sum_s: f64,
    batch_sum_s: f64,
    throughputs: Vec<f64>,
    means: Vec<f64>,
    p95s: Vec<f64>,
}

impl Tally {
    pub(super) fn new(for_s: f64) -> Self {
        Self {
            batch_s: for_s / count(BATCHES as u64),
            batch: Histogram::new(),
            all: Histogram::new(),
            sum_s: 0.0,
            batch_sum_s: 0.0,
            throughputs: Vec::new(),
            means: Vec::new(),
            p95s: Vec::new(),
        }
    }

    pub(super) fn batch_s(&self) -> f64 {
        self.batch_s
    }

    pub(super) fn take(&mut self, response_s: f64) {
        self.batch.record(nanoseconds(response_s));
        self.batch_sum_s += response_s;
    }

    /// A batch is over.
    pub(super) fn end_batch(&mut self) {
        let operations = self.batch.count();
        self.throughputs.push(count(operations) / self.batch_s);
        if operations > 0 {
            self.means.push(self.batch_sum_s / count(operations));
        }
        if operations >= TAIL_MIN {
            self.p95s.push(seconds(self.batch.quantile(0.95)));
        }
        self.all.merge(&self.batch);
        self.sum_s += self.batch_sum_s;
        self.batch_sum_s = 0.0;
        self.batch = Histogram::new();
    }

    pub(super) fn operations(&self) -> u64 {
        self.all.count()
    }

    pub(super) fn throughput_per_s(&self) -> Option<Bounded> {
        let whole = mean(&self.throughputs)?;
        around(whole, &self.throughputs)
    }

    pub(super) fn mean_s(&self) -> Option<Bounded> {
        if self.operations() == 0 {
            return None;
        }
        around(self.sum_s / count(self.operations()), &self.means)
    }

    pub(super) fn p95_s(&self) -> Option<Bounded> {
        around(seconds(self.all.quantile(0.95)), &self.p95s)
    }
}

/// `value` with the interval of Student that the figures of all batches give; `None` unless every
/// batch has one.
fn around(value: f64, batches: &[f64]) -> Option<Bounded> {
    if batches.len() < BATCHES {
        return None;
    }
    let error = standard_deviation(batches)? / count(batches.len() as u64).sqrt();
    Some(Bounded::around(value, student(batches.len() - 1) * error).not_negative())
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn count(operations: u64) -> f64 {
    operations as f64
}

#[expect(clippy::cast_precision_loss, reason = "times are far below 2^53 nanoseconds")]
fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

#[expect(clippy::cast_possible_truncation, reason = "beyond 584 years nothing is recorded")]
#[expect(clippy::cast_sign_loss, reason = "an operation ends after it began")]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
