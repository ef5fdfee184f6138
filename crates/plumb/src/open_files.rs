//! How many files this process may have open.

use anyhow::bail;
use plumb_measure::counted;

/// Files that a run has open beside its connections: its own, and those of whoever watches.
const FILES_MIN: u64 = 32;

/// Refuses a limit at which not even the files of a run itself can be open.
pub(crate) fn check_limit() -> anyhow::Result<()> {
    match raise_limit() {
        Some(few) if few < FILES_MIN => bail!(
            "no more than {} may be open at a time, and a run needs {FILES_MIN} beside its connections: raise \
             the limit of open files (ulimit -n 1024)",
            counted(few, "file")
        ),
        _ => Ok(()),
    }
}

/// Thousands of connections need thousands of descriptors: takes as many as are allowed, which it returns;
/// `None`: no limit.
pub(crate) fn raise_limit() -> Option<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // refused: a run that needs more says so when it runs out
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current
}
