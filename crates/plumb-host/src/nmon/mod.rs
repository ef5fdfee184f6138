//! nmon files: read what a host recorded, sum it up, and write such files.
//!
//! | module | what it holds |
//! |---|---|
//! | [`open`], [`read_from`], [`read`] | a file becomes an [`Nmon`] of one or more [`Recording`]s |
//! | [`Recording`] | facts about the host, every section with its statistics, processes |
//! | [`Recording::summary`] | the table of counters with average, minimum and maximum |
//! | [`Recording::cores_busy`] | processors busy, and the rule by which they were counted |
//! | [`Writer`] | [`Snapshot`]s become a file that nmon's own readers take |
//!
//! A file is read twice: once for what may stand anywhere (times, headers, facts), once for its
//! figures. What is compressed is unpacked meanwhile on a thread beside. Memory grows with the
//! number of columns, and by some 150 bytes with every snapshot; the figures themselves are kept only on
//! request ([`Series`]).
//!
//! # Source
//! Files of nmon 16n (Linux); IBM AIX 7.2, "Recording configuration details" and "Processor
//! statistics"; the readers pyNmonAnalyzer 1.0.9, nmonchart and nmon2influxdb.

mod cell;
mod document;
pub(crate) mod doubt;
mod facts;
mod gauge;
mod input;
mod outline;
mod process;
mod reader;
mod reading;
mod recording;
mod role;
mod section;
mod snapshot;
mod stamp;
mod stat;
mod summary;
mod tables;
mod trouble;
mod unpack;
mod window;
mod writer;

pub use document::Document;
pub use facts::{Facts, System};
pub use process::Process;
pub use reader::{Nmon, Options, ReadError, Series, open, read, read_from};
pub use recording::{BusyRule, CoresBusy, Recording, Traffic};
pub use section::{Column, Section};
pub use snapshot::{
    CpuShares, Disk, Host, Interface, Memory, MountPoint, Processes, Snapshot, Table, TopProcess,
};
pub use stamp::{Stamp, Timeline};
pub use stat::Stat;
pub use summary::Row;
pub use trouble::{Trouble, TroubleKind, Troubles};
pub use window::{Moment, NoMoment, Window};
pub use writer::{WriteError, Writer};
