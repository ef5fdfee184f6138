//! Takes samples one after the other, as `plumb host watch --json` does every 100 ms, without
//! waiting in between: for counting the instructions of a sample.
//!
//! ```text
//! sample_cost SAMPLES
//! ```
//!
//! The clock is held still and moved on by 100 ms from sample to sample, so that what is read
//! more seldom is read as often as it would be. The difference of two counts over different
//! numbers of samples is free of start-up.

use std::error::Error;
use std::io::{Write as _, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_host::sample::Line;
use plumb_host::{Monitor, MonitorPlan, Subject};
use plumb_measure::Clock;

const EVERY_NS: u64 = 100_000_000;

#[derive(Clone, Default)]
struct Still(Arc<AtomicU64>);

impl Clock for Still {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let samples: u64 = std::env::args().nth(1).ok_or("usage: sample_cost SAMPLES")?.parse()?;
    let without = vec![
        Subject::PressureCpu,
        Subject::PressureMemory,
        Subject::PressureIo,
        Subject::Rdma,
        Subject::Smc,
    ];
    let clock = Still::default();
    let plan = MonitorPlan { without, ..MonitorPlan::default() };
    let mut monitor = Monitor::new(&plan, Box::new(clock.clone()));
    let mut text = Vec::new();
    let mut out = stdout().lock();
    for _ in 0..samples {
        clock.0.fetch_add(EVERY_NS, Ordering::Relaxed);
        if let Some(sample) = monitor.sample() {
            Line::of("host", sample).write(&mut text);
            out.write_all(&text)?;
        }
    }
    Ok(())
}
