//! The last run in a folder, of any plan or of one.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use plumb_folder::{Found, FoundRun, RECORD, read_record};
use plumb_measure::{RunRecord, Status};

/// The last run below `runs` that is no block of an experiment.
///
/// # Errors
/// When there is none.
pub(super) fn of_any(runs: &Path) -> anyhow::Result<(PathBuf, RunRecord)> {
    last(runs, |_, _| true)
        .ok_or_else(|| anyhow!("no run in {}: measure one, or name a RUN", runs.display()))
}

/// The last run below `runs` that measured what `baseline` did; `path` is that of the baseline
/// itself, which is none.
///
/// # Errors
/// When there is none.
pub(super) fn of_plan(
    runs: &Path,
    baseline: &RunRecord,
    path: &Path,
) -> anyhow::Result<(PathBuf, RunRecord)> {
    let its = path.canonicalize().ok();
    let other = |found: &Path| found.canonicalize().ok() != its;
    last(runs, |found, record| same_plan(baseline, record) && other(found)).ok_or_else(|| {
        anyhow!(
            "no run in {} measures what the baseline does, beside itself: measure it again, or name \
             a RUN",
            runs.display()
        )
    })
}

fn last(runs: &Path, wanted: impl Fn(&Path, &RunRecord) -> bool) -> Option<(PathBuf, RunRecord)> {
    let found = Found::at(&[runs.to_path_buf()]).ok()?;
    let alone = found.runs.into_iter().filter(|run| run.block.is_none());
    let mut dated: Vec<((i64, i64), FoundRun)> =
        alone.filter_map(|run| Some((written_at(&run.path)?, run))).collect();
    // most are read only if the later ones are of other plans
    dated.sort_by_key(|(written, _)| std::cmp::Reverse(*written));
    dated.into_iter().find_map(|(_, run)| {
        // one that is under way, or was not ended, lacks points
        let record = read_record(&run.path).ok().filter(|it| it.status == Status::Complete)?;
        wanted(&run.path, &record).then_some((run.path, record))
    })
}

/// When the record was written: seconds since 1970 and nanoseconds.
fn written_at(run: &Path) -> Option<(i64, i64)> {
    let record = if run.is_dir() { run.join(RECORD) } else { run.into() };
    let known = fs::metadata(record).ok()?;
    Some((known.mtime(), known.mtime_nsec()))
}

/// True when both were asked for alike.
fn same_plan(one: &RunRecord, other: &RunRecord) -> bool {
    (&one.plan.layer, &one.plan.verb, &one.target.address)
        == (&other.plan.layer, &other.plan.verb, &other.target.address)
        && one.plan.distinctive().eq(other.plan.distinctive())
}
