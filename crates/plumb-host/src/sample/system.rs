//! Load, pressure, open files.

use plumb_procfs::counter::{float, moved, percent};
use plumb_procfs::kernel::Pressure;
use serde::{Deserialize, Serialize};

use crate::snapshot::{Part, Snapshot};

/// Load averages and threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadSample {
    /// Load over one minute.
    pub load_1: f64,
    /// Load over five minutes.
    pub load_5: f64,
    /// Load over fifteen minutes.
    pub load_15: f64,
    /// Threads that run or could run, now.
    pub runnable: u64,
    /// Threads there are (perfmon: System\Threads).
    pub threads: u64,
}

/// Shares of the interval in which tasks waited for something. `some`: at least one; `full`: every
/// one that had work. Absent where the kernel does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PressureSample {
    /// For a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_some_pct: Option<f64>,
    /// For memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_some_pct: Option<f64>,
    /// For memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_full_pct: Option<f64>,
    /// For disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_some_pct: Option<f64>,
    /// For disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_full_pct: Option<f64>,
}

/// Open files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesSample {
    /// File handles in use (Windows calls them handles).
    pub open: u64,
    /// How many there may be.
    pub limit: u64,
}

pub(super) fn load(before: &Snapshot, now: &Snapshot) -> Option<LoadSample> {
    let load = now.loadavg.get().filter(|_| now.loadavg.is_newer_than(before))?;
    let [load_1, load_5, load_15] = load.load_hundredths.map(|load| float(load) / 100.0);
    Some(LoadSample { load_1, load_5, load_15, runnable: load.runnable, threads: load.threads })
}

pub(super) fn files(before: &Snapshot, now: &Snapshot) -> Option<FilesSample> {
    let files = now.file_nr.get().filter(|_| now.file_nr.is_newer_than(before))?;
    Some(FilesSample { open: files.open, limit: files.limit })
}

pub(super) fn pressure(before: &Snapshot, now: &Snapshot) -> Option<PressureSample> {
    let pair = |resource: usize| waits(&before.pressure[resource], &now.pressure[resource]);
    let (cpu_some_pct, _) = pair(0);
    let (memory_some_pct, memory_full_pct) = pair(1);
    let (io_some_pct, io_full_pct) = pair(2);
    let any = cpu_some_pct.or(memory_some_pct).or(io_some_pct);
    any.map(|_| PressureSample {
        cpu_some_pct,
        memory_some_pct,
        memory_full_pct,
        io_some_pct,
        io_full_pct,
    })
}

/// The shares of `some` and `full`.
fn waits(before: &Part<Pressure>, now: &Part<Pressure>) -> (Option<f64>, Option<f64>) {
    let Some((before, now, interval_ns)) = now.since(before) else { return (None, None) };
    let share =
        |us: Option<u64>| us.map(|us| percent(us.saturating_mul(1000), interval_ns).min(100.0));
    let full = now.full_us.zip(before.full_us).and_then(|(now, before)| moved(now, before));
    (share(moved(now.some_us, before.some_us)), share(full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_shares_of_the_interval() {
        let at = |at_ns, some_us, full_us| Part::new(at_ns, Pressure { some_us, full_us });
        let (some, full) = waits(&at(0, 0, Some(0)), &at(1_000_000_000, 250_000, Some(2_000_000)));
        assert!((some.unwrap() - 25.0).abs() < 1e-9);
        assert!((full.unwrap() - 100.0).abs() < 1e-9, "the kernel counts a little ahead");
        assert_eq!(waits(&Part::default(), &at(1, 1, None)), (None, None));
    }
}
