//! Figures in the units of nmon, whose KB and MB are of 1,024.

use plumb_procfs::counter::float;

/// A count, as a figure.
pub(super) fn whole(count: u64) -> f64 {
    float(count)
}

/// Bytes as KB.
pub(super) fn kb(bytes: f64) -> f64 {
    bytes / 1024.0
}

/// Bytes as MB.
pub(super) fn mb(bytes: u64) -> f64 {
    whole(bytes) / 1_048_576.0
}
