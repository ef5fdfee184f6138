//! `plumb lock journal dump|verify|repair`: a journal looked at while no server uses it.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use plumb_engine::Stop;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_lock_table::journal::{self, Kind, Outlook, Report};
use plumb_measure::counted;

use crate::LockError;

/// What is done with a journal.
#[derive(Clone, Debug, Subcommand)]
pub enum JournalVerb {
    /// Print every record as a line
    Dump(Folder),
    /// Read every record; say of each file whether it is sound, and what a start would find
    ///
    /// The exit code is 0 when a server would start with this folder, and 2 when it would refuse.
    Verify(Folder),
    /// Cut damaged files off in front of the damage, and keep what was cut beside them
    ///
    /// Where more than a torn end is cut off, the next start has a new epoch, so that clients
    /// learn that something is missing.
    Repair(Folder),
}

/// Where the journal is.
#[derive(Args, Clone, Debug)]
pub struct Folder {
    /// The folder that `plumb lock serve --journal` names
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// The verb as a job.
#[derive(Debug)]
pub struct JournalJob {
    verb: JournalVerb,
}

impl JournalJob {
    /// What `verb` asks for.
    #[must_use]
    pub fn new(verb: JournalVerb) -> Self {
        Self { verb }
    }

    fn work(&self, out: &mut dyn Write) -> Result<(), LockError> {
        match &self.verb {
            JournalVerb::Dump(Folder { folder }) => {
                journal::dump(folder, |line| Ok::<(), LockError>(writeln!(out, "{line}")?))
            }
            JournalVerb::Verify(Folder { folder }) => {
                let reports = journal::verify(folder)?;
                print(out, &reports)?;
                print_outlook(out, folder)
            }
            JournalVerb::Repair(Folder { folder }) => {
                let reports = journal::repair(folder)?;
                print(out, &reports)?;
                if reports.is_empty() {
                    writeln!(out, "nothing to repair")?;
                }
                print_outlook(out, folder)
            }
        }
    }
}

fn print_outlook(out: &mut dyn Write, folder: &Path) -> Result<(), LockError> {
    let Outlook { locks, inherited, epoch, complete, lost } = journal::outlook(folder)?;
    if let Some(lost) = lost {
        writeln!(out, "{lost}")?;
    }
    let missing = if complete {
        "nothing that was acknowledged is missing"
    } else {
        "something may be missing, and the epoch will be a new one"
    };
    writeln!(
        out,
        "a start finds {} of epoch {epoch}, {inherited} of them inherited; {missing}",
        counted(u64::from(locks), "lock")
    )?;
    Ok(())
}

fn print(out: &mut dyn Write, reports: &[Report]) -> Result<(), LockError> {
    for report in reports {
        let Report { records, sound_bytes, bytes, .. } = report;
        write!(
            out,
            "{}: {}, {sound_bytes} of {bytes} bytes",
            report.path.display(),
            counted(*records, "record")
        )?;
        match &report.trouble {
            None if report.kind == Kind::Snapshot && !report.ended => {
                writeln!(out, ", not finished")?;
            }
            None if sound_bytes < bytes => writeln!(out, ": a batch was not finished: a torn end")?,
            None => writeln!(out, ", sound")?,
            Some(trouble) if report.goes_on => {
                writeln!(out, ": {trouble}; sound records follow, so this is damage")?;
            }
            Some(trouble) => writeln!(out, ": {trouble}; nothing sound follows: a torn end")?,
        }
    }
    Ok(())
}

impl Verb for JournalJob {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, _: &Stop) -> Result<(), JobError> {
        Ok(self.work(out)?)
    }
}
