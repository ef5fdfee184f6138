//! What the machine did while it was measured.
//!
//! A [`Monitor`] reads the kernel's own counters over descriptors that stay open: a [`Snapshot`]
//! holds them as they are, a [`Sample`] says what happened between two of them in percent, rates
//! and bytes. A [`Recorder`] takes samples on a thread of its own and writes them down; a
//! [`Usage`] sums up the samples of a run, a [`Ledger`] says whose work it was. A [`FarRecorder`]
//! does the same with the samples that another machine serves. A [`HiccupMeter`] notices when this process
//! stood still. [`Host`] is the layer as the program
//! sees it.

mod error;
pub mod facts;
pub mod far;
mod foreign;
mod hiccups;
mod idle;
mod monitor;
mod options;
mod quotas;
pub mod record;
pub mod sample;
pub mod smc;
mod snapshot;
mod spread;
mod subject;
mod usage;
pub mod view;
mod watch;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use plumb_engine::layer::{Job, JobError, Layer};

pub use error::HostError;
pub use facts::HostFacts;
pub use far::{FarHost, FarRecorder, FarServe, FarServeOptions};
pub use foreign::{
    CpuPerOperation, ForeignLoad, ForeignWork, Ledger, NotMeasured, Side, TICKS_MIN, WINDOW_MIN_NS,
};
pub use hiccups::HiccupMeter;
pub use idle::{IdleOptions, idle_cost};
pub use monitor::{Cost, Monitor, MonitorPlan};
pub use options::WatchedOptions;
pub use quotas::QuotaWatch;
pub use record::{Record, RecordOptions, Recorded, Recorder, RecorderPlan};
pub use sample::Sample;
pub use snapshot::{Part, Snapshot};
pub use spread::{ReceiveFinding, ReceiveSpread};
pub use subject::{Subject, not_watched};
pub use usage::{CpuUsage, DiskUsage, InterfaceUsage, LinkUsage, Range, Usage};
pub use watch::{Watch, WatchOptions};

/// The host layer.
#[derive(Clone, Copy, Debug)]
pub struct Host;

impl Layer for Host {
    fn command(&self) -> Command {
        // the words for people come last: the options bring words of their own
        let watch = WatchOptions::augment_args(Command::new("watch")).about(
            "Watch this machine: processors, memory, disks, network, receive work, processes",
        );
        let record = RecordOptions::augment_args(Command::new("record"))
            .about("Record this machine, as CSV and as a file for nmon's readers");
        let serve = FarServeOptions::augment_args(Command::new("serve"))
            .about("Let other machines record this one while they measure it (their --far-host)");
        Command::new("host")
            .about("This machine: watch it, record what it does, or let others record it")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(watch)
            .subcommand(record)
            .subcommand(serve)
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("watch", words)) => {
                Ok(Job::Verb(Box::new(Watch::new(WatchOptions::from_arg_matches(words)?)?)))
            }
            Some(("record", words)) => {
                Ok(Job::Verb(Box::new(Record::new(RecordOptions::from_arg_matches(words)?)?)))
            }
            Some(("serve", words)) => {
                Ok(Job::Verb(Box::new(FarServe::new(FarServeOptions::from_arg_matches(words)?)?)))
            }
            _ => Err(HostError::NoVerb.into()),
        }
    }
}
