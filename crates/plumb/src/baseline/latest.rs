//! The last run in a folder, of any plan or of one.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use plumb_command::exit;
use plumb_folder::{Found, FoundRun, RECORD, read_record};
use plumb_measure::{RunRecord, Status};

/// The last run below `runs` that came to its end and is no block of an experiment. Later ones that did
/// not are named on standard error.
///
/// # Errors
/// When there is none.
pub(super) fn of_any(runs: &Path) -> anyhow::Result<(PathBuf, RunRecord)> {
    last(runs, |_, _| Wanted::Yes)
        .ok_or_else(|| anyhow!("no run in {}: measure one, or name a RUN", runs.display()))
}

/// The last run below `runs` that measured what `baseline` did and came to its end, as [`of_any`] has
/// it; `path` is that of the baseline itself, which is none.
///
/// # Errors
/// When there is none.
pub(super) fn of_plan(
    runs: &Path,
    baseline: &RunRecord,
    path: &Path,
) -> anyhow::Result<(PathBuf, RunRecord)> {
    let its = path.canonicalize().ok();
    let is_other = |found: &Path| found.canonicalize().ok() != its;
    let wanted = |found: &Path, record: &RunRecord| match same_plan(baseline, record) {
        true if is_other(found) => Wanted::Yes,
        false if same_kind(baseline, record) => Wanted::Nearly,
        _ => Wanted::No,
    };
    last(runs, wanted).ok_or_else(|| {
        anyhow!(
            "no run in {} measures what the baseline does, beside itself: measure it again, or name \
             a RUN",
            runs.display()
        )
    })
}

/// Whether a run is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Yes,
    /// Another plan of the same kind: whoever has changed a command looks for that.
    Nearly,
    No,
}

fn last(runs: &Path, wanted: impl Fn(&Path, &RunRecord) -> Wanted) -> Option<(PathBuf, RunRecord)> {
    let found = Found::at(&[runs.to_path_buf()]).ok()?;
    let alone = found.runs.into_iter().filter(|run| run.block.is_none());
    let mut dated: Vec<((i64, i64), FoundRun)> =
        alone.filter_map(|run| Some((written_at(&run.path)?, run))).collect();
    // most are read only if the later ones are of other plans
    dated.sort_by_key(|(written, _)| std::cmp::Reverse(*written));
    let (mut passed_over, mut another) = (Vec::new(), false);
    let last = dated.into_iter().find_map(|(_, run)| {
        let record = read_record(&run.path).ok()?;
        match wanted(&run.path, &record) {
            Wanted::Yes => {}
            Wanted::Nearly if !std::mem::replace(&mut another, true) => {
                let plan = record.plan.command.join(" ");
                let path = run.path.display();
                passed_over
                    .push(format!("{path} measured something else and is passed over: {plan}"));
                return None;
            }
            Wanted::Nearly | Wanted::No => return None,
        }
        // one that is under way, or was not ended, lacks points
        if let Some(how) = unfinished(record.status) {
            passed_over.push(format!("{} {how} and is passed over", run.path.display()));
            return None;
        }
        Some((run.path, record))
    });
    if last.is_some() {
        passed_over.iter().for_each(|text| exit::note(text));
    }
    last
}

/// Why a run is not at its end, in words; `None` of one that is.
fn unfinished(status: Status) -> Option<&'static str> {
    match status {
        Status::Complete => None,
        Status::Running => Some("was not ended"),
        Status::Interrupted => Some("was interrupted"),
        Status::Broken => Some("was broken off"),
    }
}

/// When the record was written: seconds since 1970 and nanoseconds.
fn written_at(run: &Path) -> Option<(i64, i64)> {
    let record = if run.is_dir() { run.join(RECORD) } else { run.into() };
    let known = fs::metadata(record).ok()?;
    Some((known.mtime(), known.mtime_nsec()))
}

/// True when both measured with the same verb.
fn same_kind(one: &RunRecord, other: &RunRecord) -> bool {
    (&one.plan.layer, &one.plan.verb) == (&other.plan.layer, &other.plan.verb)
}

/// True when both were asked for alike.
fn same_plan(one: &RunRecord, other: &RunRecord) -> bool {
    same_kind(one, other)
        && one.target.address == other.target.address
        && one.plan.distinctive().eq(other.plan.distinctive())
}
