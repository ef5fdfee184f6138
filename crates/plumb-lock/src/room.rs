//! How many locks a server has room for.

use plumb_engine::Stop;
use plumb_lock_table::table::Limits;

use crate::ask::PATIENCE;
use crate::target::TargetOptions;

/// Locks for which the server at `target` has room, as it says itself; `None` when it cannot be asked or
/// is no lock server of plumb.
#[must_use]
pub fn locks_at(target: &TargetOptions, stop: &Stop) -> Option<u64> {
    let figures = target.resolve().ok()?.figures(PATIENCE, stop).ok()?;
    figures.by_name.get("rows_maximum").copied()
}

/// Locks for which a table of so many KiB has room.
#[must_use]
pub fn locks_in(table_kib: u64) -> u64 {
    Limits::of_kib(table_kib).rows.into()
}
