//! What a measurement is.
//!
//! This crate says how long and how it ended ([`Recorder`]), how times are counted
//! ([`Histogram`]), which figures follow ([`NipingFigures`], [`Distribution`]), whether they may be
//! believed ([`Validity`]) and how a run is written down ([`RunRecord`]). It is pure: it reads no
//! clock, opens no file and knows no protocol.

mod clock;
pub mod hdr;
mod histogram;
mod niping;
mod outcome;
mod record;
mod run;
mod units;
mod validity;

pub use clock::Clock;
pub use histogram::Histogram;
pub use niping::NipingFigures;
pub use outcome::{FailureKind, Failures, Outcome};
pub use record::{Answer, Codes, Lengths, Moments, Recorder, Row};
pub use run::{
    CpuUse, Distribution, DriverFacts, Figure, Floor, HostFacts, Interval, LengthFigures, Plan,
    Program, RecordError, ResultRecord, RunRecord, SCHEMA, Status, Target, Transport,
};
pub use units::{ByteSize, Rate, Span, UnitError, show_count, show_ns};
pub use validity::{Finding, FindingKind, LoadFacts, Scope, Validity};
