//! `plumb lock journal dump|verify|repair`: a journal looked at while no server uses it.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use plumb_engine::Stop;
use plumb_engine::layer::{JobError, Server};

use crate::LockError;
use crate::journal::{self, Report};

/// What is done with a journal.
#[derive(Clone, Debug, Subcommand)]
pub enum JournalVerb {
    /// Print every record as a line
    Dump(Folder),
    /// Read every record, and say of each file whether it is sound
    Verify(Folder),
    /// Cut damaged files off in front of the damage, and keep what was cut beside them
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
                match reports.iter().filter(|report| report.trouble.is_some()).count() {
                    0 => Ok(()),
                    damaged => Err(LockError::Damaged(damaged)),
                }
            }
            JournalVerb::Repair(Folder { folder }) => {
                let reports = journal::repair(folder)?;
                print(out, &reports)?;
                if reports.is_empty() {
                    writeln!(out, "nothing to repair")?;
                }
                Ok(())
            }
        }
    }
}

fn print(out: &mut dyn Write, reports: &[Report]) -> Result<(), LockError> {
    for report in reports {
        let Report { records, sound_bytes, bytes, .. } = report;
        write!(
            out,
            "{}: {records} records, {sound_bytes} of {bytes} bytes",
            report.path.display()
        )?;
        match &report.trouble {
            None => writeln!(out, ", sound")?,
            Some(trouble) if report.goes_on => {
                writeln!(out, ": {trouble}; sound records follow, so this is damage")?;
            }
            Some(trouble) => writeln!(out, ": {trouble}; nothing sound follows: a torn end")?,
        }
    }
    Ok(())
}

impl Server for JournalJob {
    fn run(
        &mut self,
        out: &mut (dyn Write + Send),
        _: &mut (dyn Write + Send),
        _: &Stop,
    ) -> Result<(), JobError> {
        Ok(self.work(out)?)
    }
}
