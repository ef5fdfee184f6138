//! A run is a folder, and so is an experiment; every file in them is a format that other tools
//! already read.
//!
//! | what | where |
//! |---|---|
//! | [`RunFolder`], [`ExperimentFolder`], [`CheckFolder`], [`PathsFolder`] | made by this process, written whole, never overwritten |
//! | [`Place`] | what these are made in, and recordings of hosts |
//! | [`Held`] | keeps other processes from working in a folder meanwhile |
//! | [`read_record`], [`read_comparison`], [`read_check`], [`read_checkup`] | records, held against their digests and their own figures |
//! | [`IntervalLog`], [`read_responses`], [`read_host_tracks`] | what a chart needs of a run, without the rest |
//! | [`Found`] | which runs and experiments lie below the paths that were named, and what cannot be shown |
//! | [`Baselines`] | which runs others are compared with |
//! | [`wall_ns`] | moments as records write them |

mod backlog;
mod baseline;
mod check;
mod digest;
mod error;
mod experiment;
mod find;
mod folder_of;
mod held;
mod host_track;
mod interval_log;
mod moment;
mod names;
mod order;
mod paths;
mod place;
mod read;
mod responses;
mod run;
mod track;
mod unread;

pub use baseline::{BASELINES_SCHEMA, Baseline, Baselines, baseline_name};
pub use check::{Check, CheckFolder};
pub use digest::record_digest;
pub use error::FolderError;
pub use experiment::{Experiment, ExperimentFolder};
pub use find::{Block, Found, FoundExperiment, FoundRun};
pub use folder_of::FolderOf;
pub use held::Held;
pub use host_track::read_host_tracks;
pub use interval_log::IntervalLog;
pub use moment::wall_ns;
pub use names::{CHECK, CHECKUP, EXPERIMENT, RECORD};
pub use paths::{NetPaths, PathsFolder};
pub use place::Place;
pub use read::{
    is_check, is_checkup, is_experiment, read_check, read_checkup, read_comparison, read_ladder,
    read_order, read_record, read_responses,
};
pub use responses::{FloorTimes, ResponseTimes, Responses};
pub use run::RunFolder;
pub use track::{Counter, HostTrack, TrackPlace};
pub use unread::Unread;
