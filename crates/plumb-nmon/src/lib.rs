//! nmon files: what a host recorded is read and summed up, and such files are written. The CSV of
//! Windows (`typeperf`, `relog -f csv`) is read as such a recording.
//!
//! | module | what it holds |
//! |---|---|
//! | [`open`], [`read`] | a file becomes an [`Nmon`] of one or more [`Recording`]s |
//! | [`Recording`] | facts about the host, every section with its statistics, processes |
//! | [`Recording::summary`] | the table of counters with average, minimum and maximum |
//! | [`Recording::cores_busy`] | processors busy, and the rule by which they were counted |
//! | [`Recording::doubts`] | figures that cannot be true beside the others of their snapshot |
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
mod disk;
mod document;
mod doubt;
mod facts;
mod gauge;
mod input;
mod outline;
mod perfmon;
mod process;
mod reader;
mod reading;
mod recording;
mod role;
mod section;
mod series;
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
pub use doubt::{Doubt, Doubts, HALF_DECIMAL, Rule};
pub use facts::{Facts, System};
pub use perfmon::{
    CounterObject, PerfmonError, apart as machine_and_counter, unit as counter_unit,
};
pub use process::{Process, Taken};
pub use reader::{Nmon, Options, ReadError, open, read};
pub use recording::{BusyRule, CoresBusy, Recording, Traffic};
pub use role::InterfaceRank;
pub use section::{Column, Section};
pub use series::Series;
pub use snapshot::{
    CpuShares, Disk, Host, Interface, Memory, MountPoint, Processes, Snapshot, Table, TopProcess,
};
pub use stamp::{Stamp, Timeline};
pub use stat::Stat;
pub use summary::Row;
pub use trouble::{Trouble, TroubleKind, Troubles};
pub use window::{Moment, NoMoment, Window};
pub use writer::{WriteError, Writer};
